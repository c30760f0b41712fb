"""Recordings of a real run: begun and ended beside it, after a kill, on a full disk; replays."""

import json
import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from hilgw.record.pcapng import RecordingError
from hilgw.record.recording import Recording
from hilgw.testing.sim import DEADLINE_S, wait_until
from tests.e2e.running import COMMAND, ROOT, Gateway, report_in, run, run_program, start

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
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            parent = each.joinpath("stat").read_text().rpartition(")")[2].split()[1]
            words = each.joinpath("cmdline").read_bytes()
        except OSError:
            continue  # some process of this machine has ended
        if parent == str(gateway.process.pid) and b"hilgw.record.writer" in words:
            found.append(each)
    return found


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
        found = Recording(path)
        events = list(found.events())
        assert (found.truncated, found.error) == (False, None)
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
    found = Recording(path)
    assert list(found.events())
    assert (found.truncated, found.error) == (False, None)


FAST = ("--speed", "max", "--duration", "3s")


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
