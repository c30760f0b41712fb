"""The recordings of a gateway: complete, begun and ended at will, written by a process."""

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hilgw.assemble.gateway import build
from hilgw.config.load import load_text
from hilgw.config.shipped import folder
from hilgw.control.modes import RobotMode
from hilgw.engine.event_loop.scheduler import Timer
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import (
    KINDS,
    CommandEvent,
    LineEvent,
    Observer,
    Observers,
    ValueEvent,
)
from hilgw.engine.recording import recordings as module
from hilgw.engine.recording.event_stream import EventStream
from hilgw.engine.recording.recorder import (
    BUFFER_BYTES,
    MOST_GATHERED,
    SLOW,
    TOGETHER,
    KeptEvents,
    RecordingProcess,
)
from hilgw.engine.recording.recordings import Recordings
from hilgw.engine.simulated.event_loop import PacedLoop
from hilgw.errors import HilgwError
from hilgw.events.kinds import Value
from hilgw.events.wire import encode_event
from hilgw.record.compare import compare
from hilgw.record.recording import Recording
from hilgw.record.writer import Event, Report, Settings
from hilgw.testing.sim import Clock
from tests import work

pytestmark = pytest.mark.process
SIMULATED = "backend: loopback\nspeed: max\n"


class Seen(Observer):
    """Counts what the engine reports."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def transmitted(self, *_: object) -> None:
        self.counts["packet"] += 1

    def delivered(self, *_: object) -> None:
        self.counts["delivered"] += 1

    def line_bytes(self, event: LineEvent) -> None:
        self.counts["bytes"] += 1

    def sensor_value(self, event: ValueEvent) -> None:
        self.counts["value"] += 1

    def motor_command(self, event: CommandEvent) -> None:
        self.counts["command"] += 1

    def notice(self, *_: object) -> None:
        self.counts["notice"] += 1


def run(
    name: str,
    tmp_path: Path,
    act: Callable[[Gateway, Recordings], None],
    seconds: float = 3.0,
    **limits: Any,
) -> tuple[Recordings, Counter[str]]:
    """Runs a shipped configuration in simulated time. act: called before it begins."""
    shipped = folder()
    assert shipped is not None
    text = (shipped / f"{name}.yaml").read_text()
    lines = [each for each in text.splitlines() if not each.startswith(("backend:", "speed:"))]
    config = load_text(SIMULATED + "\n".join(lines), name).config
    seen = Seen()

    async def main() -> Recordings:
        gateway = build(config, asyncio.get_running_loop(), seen)
        made = Recordings(gateway, tmp_path / "named", lambda: {"configuration": text}, limits)
        act(gateway, made)
        await gateway.run(asyncio.Event(), seconds)
        await made.close()
        gateway.close()
        return made

    with asyncio.Runner(loop_factory=lambda: PacedLoop("max")) as runner:
        return runner.run(main()), seen.counts


@pytest.mark.parametrize("name", ["uart", "create2", "dynamixel"])
def test_all_events_are_recorded_and_two_runs_are_equal(tmp_path: Path, name: str) -> None:
    recordings = []
    for number in "12":
        path = tmp_path / f"{number}.pcapng"
        made, counts = run(name, tmp_path, lambda gateway, each: each.begin("a", path))  # noqa: B023
        recording = Recording(path)
        events = Counter(str(each["event"]) for each in recording.events())
        assert (recording.truncated, recording.error) == (False, None)
        assert {kind: events[kind] for kind in counts} == dict(counts)
        assert counts["bytes"] > 10
        report = made.report()[str(path)]
        counts = {"bytes": path.stat().st_size, "lost": 0, "error": "", "poses_left_out": 0}
        assert report == {"file": str(path), **counts}
        recordings.append(recording)
    assert compare(*recordings).differences == []
    shown = list(recordings[0].events())
    statuses = [each["status"]["ports"].values() for each in shown if each["event"] == "status"]
    assert shown[-1]["event"] == "status", "of its end, when the real clock has hardly moved"
    before, after = (sum(port["received_bytes"] for port in statuses[n]) for n in (0, -1))
    assert before < after


class Watched(EventStream):
    """What `hilgw watch --json` prints of all events, as a list."""

    def __init__(self, gateway: Gateway) -> None:
        super().__init__(device=gateway.device_of)
        self._now = gateway.timer.now
        self.events: list[dict[str, Any]] = []

    def emit(self, takers: Any, event: Any) -> None:
        self.events.append(json.loads(encode_event(event, 0, 0.0, self._now())))


def test_a_recording_has_each_event_that_watch_shows(tmp_path: Path) -> None:
    """Packets lost and refused, a port that goes down and comes back, arming, poses, modes, notes
    and output: event by event, with all their keys."""
    path, watched = tmp_path / "a.pcapng", list[Watched]()

    def act(gateway: Gateway, recordings: Recordings) -> None:
        watched.append(Watched(gateway))
        recordings.begin("a", path)
        for state in gateway.states():
            watched[0].emit(True, state)
        gateway.observer.add(watched[0], set(KINDS) - {"frame"})
        loops, seen = gateway.control_loops, gateway.observer
        host, modem = next(
            (host, mock) for host in gateway.hosts for mock in host.mocks if mock.name == "xbee0"
        )
        for ms, function in (
            (500, lambda: loops.disarm("cab")),
            (600, lambda: loops.arm("cab")),
            (700, lambda: gateway.place("cab", None)),
            (800, lambda: host.unplug(modem)),
            (850, lambda: gateway.send("xbee0", b"x" * 999, None)),
            (900, lambda: gateway.send("xbee0", b"", None)),
            (1000, lambda: host.plug(modem)),
            (1100, lambda: gateway.send("cab.tx", b"\xff", 77)),
            (1200, lambda: seen.notice("note", "antenna turned")),
            (1300, lambda: seen.output("cab.controller", "Tür\x1b[2J")),
            (1400, lambda: seen.mode("cab", RobotMode.REMOTE)),
        ):
            gateway.timer.call_at(gateway.timer.now() + ms * 10**6, function)

    run("wc2ec", tmp_path, act)
    armed = [each["armed"] for each in watched[0].events if each["event"] == "armed"]
    assert armed[-2:] == [False, True]
    events = [*Recording(path).events()]
    kinds = {"bytes", "packet", "value", "command", "delivered", "refused", "port", "armed", "mode"}
    assert {each["event"] for each in watched[0].events} >= kinds | {"placed", "output", "notice"}
    assert "status" in {each["event"] for each in events}  # of recordings alone
    for kind in sorted({each["event"] for each in watched[0].events + events} - {"status"}):
        shown, kept = (
            [
                {key: value for key, value in each.items() if key not in ("mono_ns", "wall_s")}
                for each in all
                if each["event"] == kind
            ]
            for all in (watched[0].events, events)
        )
        assert kept == shown


async def test_the_states_of_many_devices_are_recorded_in_turns() -> None:
    """The event loop is free in between; what ends before that records no more of them."""
    turn, made, clock = 0, list[int](), Clock()

    def states() -> Iterator[Value]:
        for number in range(5 * TOGETHER):
            made.append(turn)
            yield Value("rover", f"ds{number}", 1.0, ["value"], ["m"], since_ns=0)

    gateway: Any = SimpleNamespace(
        timer=clock,
        states=states,
        device_of=None,
        observer=Observers(),
        lines=SimpleNamespace(tap=lambda add: None, untap=lambda add: None),
    )
    kept = KeptEvents(gateway, {})
    for turn in range(1, 4):  # noqa: B007 - `states` reads it
        await asyncio.sleep(0)
    kept.end()
    for _ in range(4):
        await asyncio.sleep(0)
    assert [made.count(each) for each in range(5)] == [*[TOGETHER] * 4, 0]


def test_clients_record_in_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "MOST", 3)
    ended: list[Any] = []

    def act(gateway: Gateway, recordings: Recordings) -> None:
        file = Path(recordings.begin_named("run.1").file)
        assert file == tmp_path / "named" / "run.1.pcapng"
        assert (file.stat().st_mode | file.parent.stat().st_mode) & 0o077 == 0
        with pytest.raises(HilgwError, match=r"the recording 'run\.1' is running; end it first"):
            recordings.begin_named("run.1")
        recordings.begin_named("run.2")
        status = recordings.status()
        assert status["folder"] == str(tmp_path / "named")
        assert [each["file"] for each in status["running"].values()] == [
            str(tmp_path / "named" / f"{name}.pcapng") for name in status["running"]
        ]
        assert list(status["running"]) == ["run.1", "run.2"]
        recordings.begin_at_start("own.pcapng")
        own = recordings.status()["running"]["own"]["file"]
        assert own == str(tmp_path / "own.pcapng")  # clients run elsewhere
        with pytest.raises(HilgwError, match="3 recordings are running; end one first"):
            recordings.begin("b", tmp_path / "b.pcapng")
        assert not (tmp_path / "b.pcapng").exists()
        gateway.timer.call_at(
            gateway.timer.now() + 10**9, lambda: ended.append(recordings.end("run.1"))
        )
        with pytest.raises(HilgwError, match=r"no recording 'run\.3' is running; did you mean"):
            recordings.end("run.3")

    made, _ = run("uart", tmp_path, act)
    first, second = (
        [each["time_ns"] for each in Recording(tmp_path / "named" / f"run.{n}.pcapng").events()]
        for n in "12"
    )
    assert ended and first[-1] <= 2 * 10**9 < second[-1]
    assert second[: len(first) - 1] == first[:-1]  # the last one is the status at its end
    assert len(made.report()) == 3


def test_a_size_that_is_raised_is_a_notice_of_the_gateway_once(tmp_path: Path) -> None:
    notices = list[tuple[str, str]]()

    class Notices(Observer):
        def notice(self, source: str, text: str) -> None:
            notices.append((source, text))

    def act(gateway: Gateway, recordings: Recordings) -> None:
        gateway.observer.add(Notices(), ["notice"])
        recordings.begin("a", tmp_path / "a.pcapng")

    run("uart", tmp_path, act, max_bytes=1)  # reported at its start, and at its end
    ((source, text),) = notices
    assert source == module.SOURCE and text.startswith("a: max_mb 1e-06 counts as 0.")


def test_a_packet_and_its_delivery_cost_a_recording_three_calls(tmp_path: Path) -> None:
    counts, path = Counter[str](), tmp_path / "a.pcapng"
    with work.counting(counts):
        _, seen = run("uart", tmp_path, lambda gateway, made: made.begin("a", path), 10.0)
    names = ("event_stream.transmitted", "event_stream.delivered", "recorder.delivered")
    calls = sum(counts[each] for each in (*names, "recorder.pass_on", "recorder.put"))
    assert seen["packet"] == seen["delivered"] > 20
    assert calls < 3.5 * seen["packet"]


HANGS = (sys.executable, "-c", "import signal; signal.pause()")
FAILS = (sys.executable, "-c", "raise SystemExit(3)")


def line(number: int, data: bytes = b"x") -> Event:
    return ("bytes", number, "uart0", data, True)


def settings(path: Path) -> Settings:
    return Settings(str(path), {"configuration": "a"}, ["uart0"], 0)


def numbers(path: Path) -> list[int]:
    recording = Recording(path)
    events = [each["time_ns"] for each in recording.events()]
    assert (recording.truncated, recording.error) == (False, None)
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
