"""The way out to people never waits for them."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import TextIO

import pytest

from hilgw.cli.output.console import HELD_BYTES, ConsoleWriter, console_writer, finish

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
