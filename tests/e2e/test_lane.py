"""A hundred `disarm` beside programs that fill the control socket without end."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from hilgw.client import arming
from hilgw.testing.sim import DEADLINE_S, wait_until
from tests.e2e.control_loop_peers import RobotServer, configuration, write_configuration
from tests.e2e.running import Gateway

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
