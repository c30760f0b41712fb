"""Recordings of a real run, after a kill and on a full disk, and the tests made of them."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hilgw.protocols.pcapng.blocks import RecordingError, encode
from hilgw.protocols.pcapng.events import Writer
from hilgw.record.recording import Recording
from hilgw.testing.sim import DEADLINE_S, wait_until
from tests.e2e.running import COMMAND, ROOT, Gateway, in_process, report_in, run, run_program, start
from tests.record.mutants import blocks_of
from tests.view.samples import sample

UART = ["--config", str(ROOT / "configs" / "uart.yaml")]
OFTEN = ["--set", "robots.rover.controller.period_ms=5"]
LOST_NS = 100_000_000


def tshark(path: Path, *options: str) -> list[str]:
    done = run_program("tshark", "-r", str(path), *options, cwd=path.parent)
    assert done.returncode == 0, done.stderr
    assert "cut short" not in done.stderr
    return done.stdout.splitlines()


def writers_of(gateway: Gateway) -> list[Path]:
    """The processes that write its recordings."""
    processes = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = process.joinpath("stat").read_text().rpartition(")")[2].split()[1]
            words = process.joinpath("cmdline").read_bytes()
        except OSError:
            continue  # some process of this machine has ended
        if parent == str(gateway.process.pid) and b"hilgw.record.writer" in words:
            processes.append(process)
    return processes


@pytest.mark.judge("tshark")
@pytest.mark.wall_clock
def test_beside_a_run_and_after_its_kill(tmp_path: Path) -> None:
    """`record:` with rotation records the run, another one has a name; then the kill. The file of
    the configuration is another one meanwhile."""
    config, text = tmp_path / "uart.yaml", (ROOT / "configs" / "uart.yaml").read_text()
    config.write_text(text)
    limits = ["--set", 'record={folder: "kept", max_mb: 0.05, files: 3}']
    with Gateway(tmp_path, ["--config", str(config), *OFTEN, *limits]) as gateway:
        config.write_text("edited")
        for name in ("../x", "a/b", "..", ".a", "a" * 65, "a b", ""):
            refused = run("record", name, cwd=tmp_path)
            assert refused.returncode == 2, name
            assert "name must be" in refused.stderr
        assert run("record", "a1", cwd=tmp_path).returncode == 0
        assert "is running" in run("record", "a1", cwd=tmp_path).stderr
        assert run("note", "antenna turned", cwd=tmp_path).returncode == 0
        ended = run("record", "a1", "--end", cwd=tmp_path)
        assert ended.stdout.startswith(f"recorded {tmp_path}/kept/a1"), ended.stderr
        assert "no recording 'a1' is running" in run("record", "a1", "--end", cwd=tmp_path).stderr
        (tmp_path / "kept" / "mine.pcapng").touch()
        assert "exists already" in run("record", "mine", cwd=tmp_path).stderr
        (tmp_path / "kept" / "mine.pcapng").unlink()
        watch_is_read_by_tshark(tmp_path)
        witness = start(tmp_path, *COMMAND, "watch", "--json", stdout=subprocess.PIPE)
        assert witness.stdout.readline()
        wait_until(lambda: len(list(tmp_path.glob("kept/20*"))) > 2, what="rotation")
        writers = writers_of(gateway)
        os.kill(gateway.process.pid, signal.SIGKILL)
        last_ns = json.loads(witness.communicate()[0].splitlines()[-1])["time_ns"]
    (writer,) = writers
    wait_until(lambda: not writer.exists(), what="the writer has ended")
    assert Recording(tmp_path / "kept" / "a1.pcapng").head["configuration"] == text
    noted = [each for path in tmp_path.glob("kept/a1*") for each in Recording(path).events()]
    assert [e["text"] for e in noted if e["event"] == "notice"] == ["antenna turned"]
    files = sorted(tmp_path.glob("kept/20*"), key=lambda path: path.stat().st_mtime_ns)
    assert len(files) == 3
    for path in files:
        recording = Recording(path)
        events = list(recording.events())
        assert (recording.truncated, recording.error) == (False, None)
        assert path.stat().st_mode & 0o777 == 0o600
        assert events
    assert len(tshark(path)) >= len(events)
    assert last_ns - events[-1]["time_ns"] < LOST_NS


def watch_is_read_by_tshark(folder: Path) -> None:
    """Live, as Wireshark reads it: `wireshark -k -i -`."""
    watch = start(folder, *COMMAND, "watch", "uart0", "--pcapng", stdout=subprocess.PIPE)
    fields = ["-T", "fields", "-e", "frame.interface_name", "-e", "rtacser.eventtype"]
    command = ["tshark", "-i", "-", "-c", "100", *fields]
    given = {"capture_output": True, "text": True, "check": True, "timeout": 2 * DEADLINE_S}
    shown = subprocess.run(command, stdin=watch.stdout, **given)
    watch.send_signal(signal.SIGTERM)
    watch.communicate()
    rows = {tuple(line.split("\t")) for line in shown.stdout.splitlines()}
    assert {("events", ""), ("medium", ""), ("uart0", "0x01"), ("uart0", "0x02")} <= rows


def has_events(path: Path) -> bool:
    """Whether this file, which is being written, has some already."""
    try:
        return any(Recording(path).events())
    except RecordingError:
        return False


def test_a_disk_that_takes_no_more_ends_no_run(tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    options = [*UART, *OFTEN, "--record", path.name, "--report", "out.json"]
    with Gateway(tmp_path, options) as gateway:
        (writer,) = writers_of(gateway)
        wait_until(lambda: has_events(path), what="the first events")
        most = path.stat().st_size  # the next try has no room, however little it writes
        resource.prlimit(int(writer.name), resource.RLIMIT_FSIZE, (most, most))
        wait_until(lambda: "a: events are lost: File too large" in gateway.text(), what="a loss")
        before = gateway.report()["stations"]["uart0"]["delivered"]
        wait_until(lambda: gateway.report()["stations"]["uart0"]["delivered"] > before + 40)
        assert gateway.stop() == 130
        text = gateway.text()
    assert text.count("a: events are lost: File too large") == 1
    recorded = report_in(tmp_path)["recordings"]["a.pcapng"]
    assert recorded["lost"] > 100
    assert f"EVENTS LOST: {recorded['error']}" in text.split("summary")[1]
    recording = Recording(path)
    assert list(recording.events())
    assert (recording.truncated, recording.error) == (False, None)


FAST = ("--speed", "max", "--duration", "3s")


MOVING = """
version: 1
backend: loopback
robots:
  rover:
    devices:
      tx: {node: Emitter, channel: 5}
    controller: {kind: beacon, emitter: tx, period_ms: 10}
    motion: {kind: waypoints, points: [[0, 0, 0], [2, 0, 0]], speed: 1, closed: false}
  mast:
    devices:
      rx: {node: Receiver, channel: 5}
    position: [1, 0, 0]
"""


def poses_of(path: Path) -> list[dict[str, Any]]:
    return [each for each in Recording(path).events() if each["event"] == "placed"]


def test_poses_of_a_moving_object_have_a_rate(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(MOVING)
    words = ("run", "lab.yaml", *FAST, "--report", "report.json", "--record")
    assert run(*words, "all.pcapng", cwd=tmp_path).returncode == 0
    few = ("few.pcapng", "--set", "record={poses_hz: 10, at_start: false}")
    done = run(*words, *few, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    every, some = (poses_of(tmp_path / f"{name}.pcapng") for name in ("all", "few"))
    moving = [each["time_ns"] for each in some if each["name"] == "rover"]
    assert len(every) > 150 and 18 <= len(moving) <= 23
    assert all(later - now >= 90_000_000 for now, later in pairwise(moving[1:-1]))
    assert some[-1]["position"] == every[-1]["position"] == [2, 0, 0]  # where it stands at the end
    recorded = json.loads((tmp_path / "report.json").read_text())["recordings"]["few.pcapng"]
    assert recorded["poses_left_out"] == len(every) - len(some)
    assert f"{recorded['poses_left_out']} poses left out" in done.stdout
    left_out = [e for e in Recording(tmp_path / "few.pcapng").events() if e["event"] == "left_out"]
    assert sum(each["sampled"]["placed"] for each in left_out) == recorded["poses_left_out"]
    code, shown, _ = in_process("show", "few.pcapng", cwd=tmp_path)
    assert code == 0 and "left out: " in shown and " of placed" in shown


def test_the_run_of_the_page_is_recorded_and_replayed(tmp_path: Path) -> None:
    record = ("run", "uart", "--backend", "loopback", *FAST, "--record", "run.pcapng")
    assert run(*record, cwd=tmp_path).returncode == 0
    reports = []
    for name in ("a.json", "b.json"):
        done = run("run", "uart", "--replay", "run.pcapng", *FAST, "--report", name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        reports.append((tmp_path / name).read_bytes())
    assert reports[0] == reports[1]
    replayed = json.loads(reports[0])["replays"]["uart0"]
    assert (replayed["matched"], replayed["departures"]) == (replayed["frames"], 0)
    # Without a duration it ends with its recording.
    replay = ("run", "uart", "--replay", "run.pcapng", "--speed", "max", "--report", "c.json")
    assert run(*replay, cwd=tmp_path).returncode == 0
    assert 3.0 <= json.loads((tmp_path / "c.json").read_text())["duration_s"] < 3.5
    changed = ("--set", "robots.rover.controller.payload=other", "--on-departure", "stop")
    done = run("run", "uart", "--replay", "run.pcapng", *changed, *FAST, cwd=tmp_path)
    assert done.returncode == 8
    assert "departs from the recording at frame 1 of" in done.stderr


def test_options_of_a_replay_need_one(tmp_path: Path) -> None:
    done = run("run", "uart", "--only", "uart0", cwd=tmp_path)
    assert (done.returncode, "--only is of --replay FILE" in done.stderr) == (2, True)


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
