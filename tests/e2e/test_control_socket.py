"""The control socket of the installed command: from other shells, and beside hostile programs."""

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from hilgw.client import Gateway as Client, arming
from hilgw.client.connection import ask_on, connected, messages_on
from hilgw.client.control_paths import live_sockets
from hilgw.errors import HilgwError
from hilgw.protocols.gateway.messages import LOOK
from hilgw.protocols.gateway.requests import Watch
from hilgw.testing.sim import DEADLINE_S, wait_until
from tests.apart.sitecustomize import VARIABLE
from tests.e2e import running
from tests.e2e.control_loop_peers import (
    RobotServer,
    configuration,
    connect,
    port_in,
    set_value,
    write_configuration,
)
from tests.e2e.running import Gateway, run


def test_a_stopped_gateway_is_named_and_the_other_disarms_its_robot(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(
            "version: 1\nwebots: R2020a\nrobots:\n"
            f'  {name}: {{body: {{kind: wc2ec, connect: "tcp://127.0.0.1:1", simulated: true}}, '
            "safety: {armed: true}}\n"
        )
    folder = tmp_path / "run" / "hilgw"
    one = Gateway(tmp_path, ["one.yaml"], ready=False)
    wait_until(lambda: list(folder.glob("*.sock")))
    [path] = folder.glob("*.sock")
    one.output = one.output.rename(tmp_path / "one.txt")
    with Gateway(tmp_path, ["two.yaml"], ready=False) as two:
        wait_until(lambda: len(list(folder.glob("*.sock"))) == 2)
        one.process.send_signal(signal.SIGSTOP)
        try:
            done = run("disarm", "one", "two", cwd=tmp_path)
        finally:
            one.process.send_signal(signal.SIGCONT)
        assert done.returncode == 5
        named = [line for line in done.stderr.splitlines() if f"{path}" in line]
        assert len(named) == 1 and "stop NOT confirmed" in named[0], done.stderr
        assert f"process {one.process.pid}: " in named[0] and "one.yaml" in named[0]
        for gateway, name in ((two, "two"), (one, "one")):  # one: once it goes on
            disarmed = f"disarmed until `hilgw arm {name}`"
            wait_until(lambda gateway=gateway, disarmed=disarmed: disarmed in gateway.text())
        one.stop()


@pytest.mark.parametrize(
    "runtime", [None, "", "run", "/nowhere/at/all"], ids=["unset", "empty", "folder", "gone"]
)
def test_any_shell(runtime: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop from any shell reaches the robot. runtime: XDG_RUNTIME_DIR of the shell that stops;
    None: not set. The short name leaves room in the path of a socket, as the next one's."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    for name in ("sessions", "other", "run"):
        (tmp_path / name).mkdir(mode=0o700)
    (tmp_path / "sessions" / f"{os.getuid()}").symlink_to(tmp_path / "run")
    robots = RobotServer()
    file = write_configuration(tmp_path, configuration(robots.port))
    with running.Gateway(tmp_path, ["--config", file], ready=False) as gateway:
        robot = robots.accept()
        wait_until(lambda: port_in(gateway.text()))
        controller = connect(port_in(gateway.text()))
        controller.send(set_value(1, 5.0))
        robot.wait_for(set_value(1, 5.0))
        environment = running.environment(tmp_path / "other")
        environment.pop("XDG_RUNTIME_DIR")
        if runtime is not None:
            environment["XDG_RUNTIME_DIR"] = runtime
        monkeypatch.setattr(running, "environment", lambda _: environment)
        done = running.run_program(*running.COMMAND, "disarm", "--all", cwd=tmp_path / "other")
        assert (done.returncode, done.stdout) == (0, "cab: disarmed\n"), done.stderr
        robot.wait_for(set_value(1, 0.0))
        controller.finish()
        robot.finish()
    robots.close()


def test_bytes_between_a_bridge_and_a_mock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mock, bridge = tmp_path / "m", tmp_path / "b"
    mock.mkdir()
    bridge.mkdir()
    (bridge / "run").symlink_to(mock / "run")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(mock / "run"))
    line = ["mock", "uart-node", "--link", "./a"]
    with (
        Gateway(mock, line),
        Gateway(bridge, ["bridge", str(mock / "a"), "--listen", "127.0.0.1:0"]) as program,
    ):
        asked = {}
        for path in live_sockets(LOOK):
            connection = connected(path, DEADLINE_S)
            config = ask_on(connection, Watch(), 5)["config"]
            asked["bridge" if "bridge" in config else "mock"] = connection, path
        match = re.search(r"listening on (.*):(\d+)\n", program.text())
        assert match is not None
        with socket.create_connection((match[1], int(match[2])), DEADLINE_S) as client:
            client.sendall(b"\xa5")
            ends = ("bridge", "port", "sent"), ("mock", "uart_node0", "received")
            for name, part, direction in ends:
                connection, path = asked[name]
                events = (each for each in messages_on(connection) if each["event"] == "bytes")
                wanted = {"part": part, "direction": direction, "data": "a5"}
                assert any(wanted.items() <= event.items() for event in events)
                connection.close()
                with pytest.raises(HilgwError, match="send is not for this program"):
                    Client(path).send("a", "b")
                assert Client(path).report()
    assert not live_sockets(LOOK)


HOSTILE = r"""
import socket, sys

kind, path = sys.argv[1:]
held = []

def connect():
    made = socket.socket(socket.AF_UNIX)
    made.setblocking(False)
    made.connect(path)
    return made

print("begins", flush=True)
while True:
    try:
        if kind == "reconnects":
            connect().close()
        elif kind == "asks without end":
            while len(held) < 64:
                held.append(connect())
            for each in held:
                try:
                    each.send(b'{"do": "status", "version": 2}\n' * 100)
                    each.recv(1 << 20)
                except BlockingIOError:
                    pass
        else:  # more connections than there are places
            held.append(connect())
            held[-1].send(b'{"do": "dis' if len(held) % 2 else b"")
            if len(held) > 300:
                held.pop(0).close()
    except BlockingIOError:
        pass  # the queue of connections is full
    except OSError:
        while held:
            held.pop().close()
"""


@pytest.mark.parametrize(
    ("kinds", "times"),
    [
        (("reconnects", "reconnects"), 35),
        (("holds", "reconnects"), 35),
        (("asks without end", "asks without end"), 30),
    ],
)
def test_a_disarm_is_confirmed_each_time(
    kinds: tuple[str, ...], times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However busy the machine is: no answer is late."""
    monkeypatch.setattr(arming, "ASK_ALL_S", DEADLINE_S)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    robots = RobotServer()
    file = write_configuration(tmp_path, configuration(robots.port))
    with ExitStack() as stack:
        stack.enter_context(Gateway(tmp_path, [file], ready=False))
        stack.callback(robots.close)
        stack.callback(robots.accept().finish)
        folder = tmp_path / "run" / "hilgw"
        wait_until(lambda: list(folder.glob("*.sock")))
        (path,) = folder.glob("*.sock")
        for kind in kinds:
            program = [sys.executable, "-I", "-S", "-c", HOSTILE, kind, str(path)]
            child = stack.enter_context(subprocess.Popen(program, stdout=subprocess.PIPE))
            stack.callback(child.kill)
            assert child.stdout is not None and child.stdout.readline() == b"begins\n"
        for _ in range(times):
            assert arming.disarm() == ["cab"]
