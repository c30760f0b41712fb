"""The process of a recording: nothing waits for it, and what it does not take is counted."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from hilgw.engine.event_loop.scheduler import Timer
from hilgw.engine.recording.recorder import BUFFER_BYTES, MOST_GATHERED, SLOW, RecordingProcess
from hilgw.errors import HilgwError
from hilgw.record.recording import Recording
from hilgw.record.writer import Event, Report, Settings

pytestmark = pytest.mark.process
HANGS = (sys.executable, "-c", "import signal; signal.pause()")
FAILS = (sys.executable, "-c", "raise SystemExit(3)")


def line(number: int, data: bytes = b"x") -> Event:
    return ("bytes", number, "uart0", data, True)


def settings(path: Path) -> Settings:
    return Settings(str(path), {"configuration": "a"}, ["uart0"], 0)


def numbers(path: Path) -> list[int]:
    found = Recording(path)
    events = [each["time_ns"] for each in found.events()]
    assert (found.truncated, found.error) == (False, None)
    return events


@pytest.mark.parametrize("waits", [False, True])
async def test_what_is_put_is_written(tmp_path: Path, timer: Timer, waits: bool) -> None:
    path = tmp_path / "run.pcapng"
    reports: list[Report] = []
    process = RecordingProcess(settings(path), timer, reports.append, waits=waits)
    for number in range(2 * MOST_GATHERED + 10):
        process.put(line(number))
    await process.stop()
    assert numbers(path) == list(range(2 * MOST_GATHERED + 10))
    assert process.report() == reports[-1] == Report(str(path), path.stat().st_size, 0, "")
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_hang_delays_nothing(
    tmp_path: Path, timer: Timer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its memory is bounded, and the end of the gateway kills it."""
    monkeypatch.setattr("hilgw.engine.recording.recorder.END_S", 0.01)
    reports: list[Report] = []
    process = RecordingProcess(
        settings(tmp_path / "a.pcapng"), timer, reports.append, command=HANGS
    )
    for number in range(20 * MOST_GATHERED):
        process.put(line(number, bytes(1000)))
    await process.stop()
    assert process.report().lost * 1000 > 20 * MOST_GATHERED * 1000 - 2 * BUFFER_BYTES
    assert next(each.error for each in reports) == SLOW
    assert "ended with code -9" in process.report().error


async def test_a_process_that_fails_is_named(tmp_path: Path, timer: Timer) -> None:
    failed = asyncio.Event()
    process = RecordingProcess(
        settings(tmp_path / "a.pcapng"), timer, lambda report: failed.set(), command=FAILS
    )
    await failed.wait()
    for number in range(MOST_GATHERED):
        process.put(line(number))
    await process.stop()
    assert process.report().lost == MOST_GATHERED
    assert process.report().error == "the process that records ended with code 3"


async def test_a_recording_replaces_no_file(tmp_path: Path, timer: Timer) -> None:
    path = tmp_path / "a.pcapng"
    path.write_text("mine")
    with pytest.raises(HilgwError, match="exists already; a recording replaces no file"):
        RecordingProcess(settings(path), timer)
    assert path.read_text() == "mine"
    with pytest.raises(HilgwError, match=r"b/a\.pcapng: cannot be made: No such file"):
        RecordingProcess(settings(tmp_path / "b" / "a.pcapng"), timer)


GATEWAY = """
import asyncio, sys
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.engine.recording.recorder import RecordingProcess
from hilgw.record.writer import Settings

async def run():
    timer = Timer(asyncio.get_running_loop())
    process = RecordingProcess(Settings(sys.argv[1], {}, ["uart0"], 0), timer)
    while True:
        now = timer.now()
        process.put(("bytes", now, "uart0", b"x" * 100, True))
        print(now, flush=True)
        await asyncio.sleep(0.001)

asyncio.run(run())
"""


@pytest.mark.wall_clock
@pytest.mark.parametrize("after", [1, 77, 333])
async def test_a_gateway_that_is_killed_loses_little(tmp_path: Path, after: int) -> None:
    """100 ms of events at most; what is there opens without an error."""
    path = tmp_path / "run.pcapng"
    pipe = asyncio.subprocess.PIPE
    gateway = await asyncio.create_subprocess_exec(
        sys.executable, "-c", GATEWAY, str(path), stdout=pipe, stderr=pipe
    )
    assert gateway.stdout is not None
    assert gateway.stderr is not None
    for _ in range(after):
        last = int(await gateway.stdout.readline())
    os.kill(gateway.pid, signal.SIGKILL)
    while rest := await gateway.stdout.readline():
        last = int(rest)
    await gateway.wait()
    assert await gateway.stderr.read() == b""  # ends when the process that writes has ended
    if after == 1 and not path.stat().st_size:
        return  # killed within the first 100 ms
    assert last - numbers(path)[-1] < 100_000_000


async def test_an_event_that_cannot_be_written_is_counted(tmp_path: Path, timer: Timer) -> None:
    process = RecordingProcess(settings(tmp_path / "a.pcapng"), timer)
    process.put(("notice", 1, object()))
    await process.stop()
    assert process.report().lost == 1
    assert "an event is not valid" in process.report().error
