"""hilgw capture2test: the test that it writes, and what cannot become one."""

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from hilgw.record.events import Writer
from hilgw.record.pcapng import encode
from hilgw.record.recording import Recording
from tests.e2e.running import ROOT, in_process, run, run_program
from tests.record.mutants import blocks_of
from tests.view.samples import sample

CONFIG = """
version: 1
backend: mock
medium: {step_ms: 32}
robots:
  rover:
    devices:
      tx: {node: Emitter, type: serial, channel: 5}
      rx: {node: Receiver, type: serial, channel: 5}
    body: {kind: create2, port: /dev/ttyUSB0}
    controller: {kind: python, file: brain.py}
adapters:
  uart0: {kind: uart, port: /dev/ttyUSB1, channel: 5, framing: cobs-crc16,
          mock: {replies: {ping: pong}}}
"""
BRAIN = """
import math
from controller import Robot

robot = Robot()
tx, rx, wheel = map(robot.getDevice, ("tx", "rx", "left wheel motor"))
rx.enable(32)
wheel.setPosition(math.inf)
wheel.setVelocity(0)
sent = 0
while robot.step(32) != -1:
    if sent < 6 and (not sent or rx.getQueueLength()):
        if sent:
            rx.nextPacket()
        tx.send(b"ping %d" % sent)
        wheel.setVelocity(sent % 3)
        sent += 1
"""
TRIES = 5
RUN = ("rover.yaml", "--duration", "2s", "--set", "robots.rover.controller.args=[--lab]")
CHANGES = {
    "packet": ('b"ping %d" % sent', 'b"ping %d" % (sent + (sent == 5))', "ping 6"),
    "motor": ("sent % 3", "sent % 3 or 4", "drive left 124"),
}


def ruff(*words: str, cwd: Path) -> int:
    return run_program(sys.executable, "-m", "ruff", *words, cwd=cwd).returncode


def test_the_test_passes_and_fails_when_the_program_changes(tmp_path: Path) -> None:
    labs = {"max": tmp_path / "fast", "1": tmp_path / "real"}  # by the speed of the recorded run

    for speed, lab in labs.items():
        lab.mkdir()
        (lab / "rover.yaml").write_text(CONFIG)
        (lab / "brain.py").write_text(BRAIN)
        for number in range(TRIES):
            file = f"run{number}.pcapng"
            done = run("run", *RUN, "--speed", speed, "--record", file, cwd=lab)
            assert (done.returncode, done.stderr) == (0, "")
            code, out, err = in_process("capture2test", file, "--output", "test_run.py", cwd=lab)
            if "depends on time" not in err:  # as it does where the machine stands still in a run
                break
        assert (code, err) == (0, "") and "run: pytest test_run.py" in out
        text = (lab / "test_run.py").read_text()
        for shown in (out, text):
            assert "react to the answers of the recorded device" in shown
            assert "another firmware, answers is not tested" in shown
        assert len(text.splitlines()) <= 60 and 'b"ping 1"' in text and "args=[--lab]" in text, text
        assert ruff("check", "--isolated", "test_run.py", cwd=lab) == 0
        assert ruff("format", "--isolated", "--check", "test_run.py", cwd=lab) == 0
    for name, (old, new, _) in CHANGES.items():
        shutil.copytree(labs["max"], tmp_path / name)
        (tmp_path / name / "brain.py").write_text(BRAIN.replace(old, new))
    command = ("-m", "pytest", "-vv", "--import-mode=importlib", f"--basetemp={tmp_path}/of_tests")
    done = run_program(sys.executable, *command, *sorted(map(str, tmp_path.glob("*/test_run.py"))),
                       cwd=tmp_path)  # fmt: skip
    assert "2 failed, 2 passed" in done.stdout, done.stdout
    assert all(f"{lab.name}/test_run.py::test_run PASSED" in done.stdout for lab in labs.values())
    assert all(word in done.stdout for *_, word in CHANGES.values())
    assert "expected: -> " in done.stdout and "; sent: -> " in done.stdout
    shown = re.findall(r"^hilgw show (.*)$", done.stdout, re.M)
    assert len(shown) == 2
    assert any(event["event"] == "bytes" for event in Recording(Path(shown[0])).events())


def port(state: str, ms: int) -> dict[str, Any]:
    event = {"event": "port", "name": "uart0", "state": state, "reason": ""}
    return {**event, "time_ns": 10**9 + ms * 10**6}


LINE = {"event": "bytes", "part": "uart0", "direction": "sent", "data": "00", "time_ns": 2 * 10**9}
WHOLE = (port("closed", 0), port("up", 1), LINE, port("closed", 2000))


@pytest.mark.parametrize(
    ("events", "cut", "error"),
    [
        (WHOLE[:2], 0, "has no bytes of a line"),
        (WHOLE[1:], 0, "begins in the middle of a run"),
        (WHOLE, 5, "ends within an event"),
        (WHOLE, 0, "brain.py; write the path of the program"),
    ],
)
def test_what_cannot_become_a_test_is_one_error_and_no_file(
    tmp_path: Path, events: tuple[dict[str, Any], ...], cut: int, error: str
) -> None:
    writer = Writer({"configuration": CONFIG, "config": "/gone/rover.yaml"}, [], 0)
    data = writer.begin(10**9) + b"".join(map(writer.encode, events))
    (tmp_path / "run.pcapng").write_bytes(data[: len(data) - cut])
    code, _, err = in_process("capture2test", "run.pcapng", cwd=tmp_path)
    assert code and error in err and len(err.strip().splitlines()) == 1, err
    assert [each.name for each in tmp_path.iterdir()] == ["run.pcapng"]


def test_a_file_that_is_there_is_replaced_with_force_only(tmp_path: Path) -> None:
    (tmp_path / "test_a.pcapng").write_bytes(b"mine")
    code, _, err = in_process("capture2test", "a.pcapng", cwd=tmp_path)
    assert code == 1 and "test_a.pcapng: exists already" in err and "--force" in err
    code, _, err = in_process("capture2test", "a.pcapng", "--output", "a.txt", cwd=tmp_path)
    assert code == 2 and "test_antenna.py" in err


def test_a_stop_and_the_arming_of_one_of_two_bodies_are_those_of_their_robot(
    tmp_path: Path,
) -> None:
    (tmp_path / "shadow.yaml").write_text((ROOT / "configs" / "shadow.yaml").read_text())
    options = ["--speed", "max", "--duration", "1s", "--record", "run.pcapng"]
    assert run("run", "shadow.yaml", *options, cwd=tmp_path).returncode == 0
    path = tmp_path / "run.pcapng"
    recording, blocks = Recording(path), blocks_of(path.read_bytes())
    events = list(recording.events())
    at_ns, half = events[len(events) // 2]["time_ns"], len(blocks) // 2
    writer = Writer({}, [], recording.head["epoch_ns"])
    writer.begin(0)
    texts = {False: "", True: "armed: its motors may move"}  # as of a real one
    stop, arm = (sample("armed", robot="rover.remote", armed=a, text=t) for a, t in texts.items())
    more = b"".join(writer.encode({**each, "time_ns": at_ns}) for each in (stop, arm))
    begin, rest = (b"".join(map(encode, some)) for some in (blocks[:half], blocks[half:]))
    path.write_bytes(begin + more + rest)
    code, out, err = in_process("capture2test", path.name, "--output", "test_run.py", cwd=tmp_path)
    assert code == 0 and "run: pytest test_run.py" in out, err
