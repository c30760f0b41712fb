"""Ways out: files that replace only hilgw's own, and a console that never waits for people."""

import fcntl
import io
import json
import os
import shlex
import stat
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TextIO

import pytest

from hilgw.cli.output import files
from hilgw.cli.output.console import HELD_BYTES, ConsoleWriter, console_writer, finish
from hilgw.cli.output.terminal import Terminal, log_terminal, open_log
from hilgw.engine.observer import Observers, State
from hilgw.errors import HilgwError
from tests.cli.conftest import Command
from tests.e2e.running import COMMAND, run_program

REPORT = {"duration_s": 1.0, "stations": {}}
# Contents that neither --report nor --ready-file may replace.
FOREIGN = [b"version: 1\n", b'{"name": "package"}', b"\xff\0", b"12 monkeys"]


@pytest.mark.parametrize("content", FOREIGN)
def test_a_foreign_file_is_left_alone(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "notes"
    file.write_bytes(content)
    for check in (files.expect_report, files.clear):
        with pytest.raises(HilgwError) as caught:
            check(str(file))
        assert caught.value.fix == "name another file, or remove this one"
    assert file.read_bytes() == content


@pytest.mark.parametrize("option", ["--report", "--ready-file"])
@pytest.mark.parametrize("start", ["run world.yaml", "bridge none --listen 127.0.0.1:0"])
def test_no_command_replaces_the_configuration(start: str, option: str, hilgw: Command) -> None:
    Path("world.yaml").write_text("version: 1\n")
    code, _, err = hilgw(*start.split(), option, "world.yaml")
    assert code == 1 and "exists and is not a" in err
    assert Path("world.yaml").read_text() == "version: 1\n"


def test_own_and_empty_files_are_replaced(tmp_path: Path) -> None:
    report, ready = tmp_path / "report.json", tmp_path / "ready"
    for before in ("", json.dumps(REPORT)):
        report.write_text(before)
        files.expect_report(str(report))
        files.write_report(str(report), REPORT)
        assert json.loads(report.read_text()) == REPORT
    for before in ("", "123\n"):
        ready.write_text(before)
        files.clear(str(ready))
        assert not ready.exists()


def test_a_report_is_written_whole_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report, link, ready = tmp_path / "report.json", tmp_path / "link", tmp_path / "ready"
    files.write_report(str(report), REPORT)
    report.chmod(0o640)
    link.symlink_to(report)
    files.write_report(str(link), {**REPORT, "duration_s": 2.0})
    assert json.loads(report.read_text())["duration_s"] == 2.0
    assert report.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    real = Path.write_text

    def slow(file: Path, text: str, **more: str) -> int:
        size = real(file, text, **more)
        assert not ready.exists()
        return size

    def full(file: Path, text: str, **more: str) -> int:
        real(file, text[:10], **more)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", slow)
    files.write(str(ready), "123\n")
    assert ready.read_text() == "123\n"  # complete as soon as it exists
    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(HilgwError, match="No space left"):
        files.write_report(str(report), REPORT)
    assert json.loads(report.read_text())["duration_s"] == 2.0
    assert sorted(tmp_path.iterdir()) == [link, ready, report]


def test_devices_and_pipes_are_written_to(tmp_path: Path) -> None:
    files.expect_report("/dev/null")
    files.write_report("/dev/null", REPORT)
    files.clear("/dev/null")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    files.expect_report(str(pipe))  # without reading it
    files.clear(str(pipe))
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    files.write_report(str(pipe), REPORT)
    reader.join(10)
    assert json.loads(received[0]) == REPORT
    assert pipe.is_fifo()


# --log: every event and line with the time of day; a log that fails ends with one notice.
def test_a_run_is_logged_with_the_time_of_day(hilgw: Command) -> None:
    log = Path("run.log")
    log.write_text("before\n")
    words = "-c xbee --speed max --duration 9s --set airs.lab.nodes.spare.link=null"
    code, out, _ = hilgw(*words.split(), "-q", "--log", "run.log")
    assert code == 0 and '"ping 1"' not in out  # quiet on the screen
    first, *lines = log.read_text().splitlines()
    assert first == "before" and lines
    for line in lines:
        datetime.fromisoformat(line.partition("  ")[0])
    text = "\n".join(lines)
    for part in ("ready", "xbee0        up", '"ping 1"', "delivered", "the ledger adds up"):
        assert part in text, part


def test_a_log_that_cannot_be_opened_ends_before_the_start(hilgw: Command) -> None:
    with pytest.raises(HilgwError, match="cannot write"):
        open_log("no/run.log")
    code, out, err = hilgw("-c", "xbee", "--log", "no/run.log")
    assert code == 1 and "no/run.log" in err and "up" not in out


class Full(io.StringIO):
    """A file on a full disk."""

    name = "run.log"

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


def test_a_log_on_a_full_disk_ends_with_one_notice() -> None:
    out = io.StringIO()
    screen = Terminal(out)
    both = Observers(screen, log_terminal(Full(), screen))
    for number in range(10):
        both.state("xb0", State.UP, f"{number}")
        both.notice("xb0", "more")
    assert out.getvalue().count("run.log: No space left on device; the log ends here") == 1
    assert out.getvalue().count("xb0") == 20


def sh(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a shell script with the command hilgw."""
    command = f'hilgw() {{ {shlex.join(COMMAND)} "$@"; }}\n{script}'
    return run_program("/bin/sh", "-c", command, cwd=folder)


@pytest.mark.process
@pytest.mark.parametrize(
    "line",
    [
        *("--help >/dev/full", "ports --json >/dev/full"),
        *(f"check one.yaml {closed}" for closed in (">&-", "2>&-", "<&- >&- 2>&-")),
    ],
)
def test_a_full_disk_is_one_message_and_closed_streams_are_none(line: str, tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("version: 1\n")
    done = sh(f"hilgw {line}", tmp_path)
    full = (1, "", "hilgw: cannot write: No space left on device\n")
    expected = full if "full" in line else (0, done.stdout, "")
    assert (done.returncode, done.stdout, done.stderr) == expected


def test_files_are_looked_at_before_the_start(tmp_path: Path, hilgw: Command) -> None:
    for path, expected in (("", "directory"), (str(tmp_path), "directory"), ("/none/x", "folder")):
        with pytest.raises(HilgwError, match=expected):
            files.expect(path)
    files.expect(str(tmp_path / "new"))
    assert list(tmp_path.iterdir()) == []
    code, _, _ = hilgw("--config", "none.yaml", "--report", "/none/x.json")
    assert code == 3  # the configuration is looked at first
    Path("one.yaml").write_text("version: 1\n")
    code, out, err = hilgw("-q", "--config", "one.yaml", "--ready-file", "/none/x")
    assert (code, out) == (1, "")
    assert err.startswith("hilgw: /none/x: cannot write: no such folder; make the folder")


def test_only_files_and_dead_links_are_cleared(tmp_path: Path) -> None:
    old, link, fifo = tmp_path / "old", tmp_path / "link", tmp_path / "fifo"
    old.write_text("1")
    link.symlink_to(tmp_path / "nowhere")
    os.mkfifo(fifo)
    for path in (old, link, fifo):
        files.clear(str(path))
    assert list(tmp_path.iterdir()) == [fifo]
    assert stat.S_ISFIFO(fifo.stat().st_mode)


SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ
PIPE_BYTES = 4096


@pytest.fixture
def pipe() -> Iterator[tuple[int, TextIO]]:
    """A pipe that takes 4 KiB: the end to read, and a stream to write that would wait."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, SET_PIPE_SIZE, PIPE_BYTES)
    with os.fdopen(writer, "w") as stream:
        yield reader, stream
    os.close(reader)


def begun(stream: TextIO) -> ConsoleWriter:
    out = console_writer(stream)
    assert isinstance(out, ConsoleWriter)
    return out


def rest_of(reader: int) -> str:
    os.set_blocking(reader, False)
    taken = b""
    with suppress(BlockingIOError):
        while piece := os.read(reader, 65536):
            taken += piece
    return taken.decode()


def emit(out: ConsoleWriter, text: str) -> None:
    out.write(text + "\n")
    out.flush()


def test_what_is_not_read_is_kept_then_left_out_and_counted(pipe: tuple[int, TextIO]) -> None:
    reader, stream = pipe
    out = begun(stream)
    for number in range(2000):
        emit(out, f"{number:099}")
    first = os.read(reader, PIPE_BYTES)
    out.flush()  # one more pipe full goes
    emit(out, "left out too")
    text = first.decode()
    while piece := rest_of(reader):
        text += piece
        out.flush()
    kept = text.count("\n")
    assert [int(line) for line in text.splitlines()] == list(range(kept))
    assert 0 <= PIPE_BYTES + HELD_BYTES - len(text) < 200  # lines go whole
    emit(out, "again")
    assert rest_of(reader) == f"... {2000 - kept + 1} lines dropped: not read in time\nagain\n"
    finish(out)


def test_at_the_end_it_waits_a_little_and_reports_what_is_missing(
    pipe: tuple[int, TextIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, stream = pipe
    monkeypatch.setattr("hilgw.cli.output.console.PATIENCE_S", 0.01)
    out = begun(stream)
    emit(out, "x" * 2 * PIPE_BYTES)
    finish(out)
    assert rest_of(reader) == "x" * PIPE_BYTES


def test_a_reader_that_is_gone_is_an_error_and_no_end(pipe: tuple[int, TextIO]) -> None:
    reader, stream = pipe
    out = begun(stream)
    spare = os.open("/dev/null", os.O_RDONLY)
    os.dup2(spare, reader)
    os.close(spare)
    with pytest.raises(BrokenPipeError):
        emit(out, "x")
    finish(out)


def test_characters_that_the_terminal_has_not() -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "w", encoding="ascii") as stream:
        out = begun(stream)
        emit(out, "rövér 🤖")
        finish(out)
    assert rest_of(reader) == "r\\xf6v\\xe9r \\U0001f916\n"
    os.close(reader)


def test_a_terminal_stays_one() -> None:
    master, slave = os.openpty()
    with os.fdopen(slave, "w") as stream:
        out = begun(stream)
        assert out.isatty()
        emit(out, "x")
        assert os.read(master, 10) == b"x\r\n"
        finish(out)
    os.close(master)
