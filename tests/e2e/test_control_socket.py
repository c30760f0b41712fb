"""The control socket of the installed command: signals, kills, and a second gateway."""

import json
import re
import signal
import socket
from pathlib import Path

from hilgw.testing.sim import wait_until
from tests.e2e.running import Gateway, run


def test_a_gateway_ends_in_silence_beside_clients_and_sweeps_the_dead(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("version: 1\n")
    folder = tmp_path / "run" / "hilgw"
    killed = Gateway(tmp_path, ["--config", "one.yaml"])
    killed.stop(signal.SIGKILL)
    [dead] = folder.iterdir()
    gateway = Gateway(tmp_path, ["--config", "one.yaml"])
    [path] = folder.iterdir()
    assert path != dead
    clients = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(20)]
    for client in clients:
        client.connect(str(path))
        client.send(b'{"do": "report", "version": 2}\n')
        with client.makefile() as answers:
            answer = json.loads(answers.readline())
        assert answer["report"]["control_socket"] == {"refused": 0}
    second = run("--config", "one.yaml", "--control", str(path), cwd=tmp_path)
    assert (second.returncode, second.stderr.count("\n")) == (1, 1), second.stderr
    assert "another program has this control socket" in second.stderr
    assert run("place", "rover", "1", "2", "3", cwd=tmp_path).returncode == 1  # unknown, and asked
    assert gateway.stop(signal.SIGTERM) == 143
    assert "Traceback" not in gateway.text()
    assert not list(folder.iterdir())
    for client in clients:
        client.close()


def test_several_gateways_are_distinguished_by_their_configuration(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(
            f"version: 1\nrobots: {{{name}: {{devices: {{tx: {{node: Emitter}}}}}}}}\n"
        )

    def send(*options: str) -> tuple[int, str]:
        done = run("send", "one.tx", "hi", *options, cwd=tmp_path)
        return done.returncode, done.stdout + done.stderr

    first = Gateway(tmp_path, ["one.yaml"])
    with Gateway(tmp_path, ["two.yaml"]):
        code, text = send()  # the gateway that has one.tx
        assert code == 0 and re.fullmatch(
            rf"one\.tx: 2 B queued \(gateway {tmp_path}/one\.yaml at .*\.sock\)\n", text
        )
        done = run("arm", "--all", cwd=tmp_path)
        assert done.returncode == 2 and "--config" in done.stderr
        assert "one.yaml" in done.stderr and "two.yaml" in done.stderr
        for named in ("one", "one.yaml", str(tmp_path / "one.yaml"), "./one.yaml"):
            assert send("--config", named) == (0, "one.tx: 2 B queued\n")
        code, text = send("--config", "two")
        assert code == 1 and "one.tx" in text
        code, text = send("--config", "three")
        assert code == 5 and "no running gateway has the configuration three" in text
        first.stop()
        assert send("--config", "two")[0] == 1  # it has no one.tx
        assert send("--config", "one")[0] == 5


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
