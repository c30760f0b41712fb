"""A recording on the pages: at each time, the model is that of a page that was open meanwhile."""

import json
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.errors import AdapterError
from hilgw.events.kinds import FIELDS, NAMED, NAMES
from hilgw.protocols.pcapng.blocks import RecordingError
from hilgw.protocols.pcapng.events import CLOCK
from hilgw.record.writer import Files, Settings
from hilgw.testing.sim import wait_until
from hilgw.units import NS_PER_MS, NS_PER_S
from hilgw.view.gateway import SILENT_NS, UP, GatewayView
from hilgw.web import sources
from hilgw.web.pages import overview, recordings, robot
from hilgw.web.pages.drawing import drawing_of
from hilgw.web.pages.plots import Plots
from hilgw.web.sources import LEAST_NS, Events, Recorded
from tests.cases import cases
from tests.record.samples import COMMAND, PACKET, VALUE
from tests.view.samples import sample

BEGIN, EPOCH = 5 * NS_PER_S, 1_700_000_000 * NS_PER_S
STEP_NS = 100 * NS_PER_MS
LENGTH = 2000  # events
STATUS_EVERY = 10
UPRIGHT = {"rotation": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}
HEAD = {
    "topology": {"robots": {"rover": ["ds"]}, "stations": {"uart0": "lab"}, "mocks": ["module"]},
    "scene": {"mono_ns": 99 * NS_PER_S, "objects": {"wall": {"position": [1, 2, 0], **UPRIGHT}}},
}


def some_events(seed: int = 1) -> Iterator[dict[str, Any]]:
    """What a gateway may see: one each STEP_NS."""
    draw = random.Random(seed)
    yield {"event": "port", "name": "uart0", "state": "up", "reason": ""}
    yield {"event": "armed", "robot": "rover", "armed": True, "text": ""}
    while True:
        number = draw.randrange(1000)
        yield draw.choice(
            [
                {"event": "bytes", "part": "uart0", "direction": "sent", "data": "00ff"},
                VALUE | {"value": float(number)},
                COMMAND | {"given": {"velocity": float(number)}},
                PACKET | {"data": f"{number:04x}", "received_by": ["uart0"]},
                PACKET | {"data": "00", "received_by": [], "not_received": "range"},
                {"event": "refused", "name": "uart0", "reason": "full", "text": str(number)},
                {"event": "port", "name": "uart0", "state": f"s{number}", "reason": ""},
                {"event": "armed", "robot": "rover", "armed": number % 2 == 0, "text": ""},
                {"event": "output", "source": "rover.body", "line": str(number)},
                {"event": "placed", "name": "rover", "position": [number, 0, 0], **UPRIGHT},
            ]
        )


@dataclass
class Clock:
    """Real time, in nanoseconds: it stands still until a test moves it."""

    now: int = 77 * NS_PER_S

    def __call__(self) -> int:
        return self.now


def files_in(folder: Path, head: dict[str, Any] = HEAD) -> tuple[Path, Files]:
    """A recording that begins, and who writes it."""
    path = folder / "run.pcapng"
    path.unlink(missing_ok=True)
    path.touch()
    files = Files(Settings(str(path), head, ["uart0"], EPOCH), lambda report: None)
    files.write([clock(BEGIN)])
    return path, files


def clock(time_ns: int) -> tuple[Any, ...]:
    return CLOCK, time_ns, time_ns, (time_ns + EPOCH) / NS_PER_S


def made(folder: Path, count: int = LENGTH, head: dict[str, Any] = HEAD) -> Path:
    """A recording with so many events."""
    path, files = files_in(folder, head)
    for number, event in zip(range(count), some_events(), strict=False):
        time_ns = BEGIN + number * STEP_NS
        if number % STATUS_EVERY == 0:
            files.write([("status", time_ns, (json.dumps(status(number)),))])
        files.write([plain(event, time_ns)])
    files.close()
    return path


def plain(event: dict[str, Any], time_ns: int) -> tuple[Any, ...]:
    """The event as the process that writes gets it."""
    if event["event"] == "bytes":
        return "bytes", time_ns, event["part"], bytes.fromhex(event["data"]), True
    names = next(FIELDS[kind] for kind, name in NAMES.items() if name == event["event"])
    if event["event"] == "status":
        event = {**event, "status": json.dumps(event["status"])}
    if event["event"] == "packet":
        data, missed = bytes.fromhex(event["data"]), (*event["missed"].items(),)
        event = {**event, "data": data, "missed": missed, "received_by": (*event["received_by"],)}
    return event["event"], time_ns, tuple(event[name] for name in names)


def status(number: int) -> dict[str, Any]:
    """As a gateway has it, once a second."""
    none = dict.fromkeys((f"{way}_{what}_per_s" for way in ("received", "sent")
                          for what in ("bytes", "packets")), 0.0)  # fmt: skip
    port = {"state": "up", "reason": "", "since_s": 1.0, "port": "/dev/ttyUSB0", **none}
    port |= {"sent_packets_per_s": float(number), "last_byte_s": None, "last_loss": None}
    robot = {"armed": True, "latched": None, "late_steps": {"count": number}, "mode": None}
    return {
        "ports": {"uart0": port},
        "robots": {"rover": robot},
        "losses": {"not_received": {"range": number}},
        "queues": {},
        "latency_bounds_s": [0.001],
        "latency": {"line": {"uart0": {"count": number, "buckets": [number]}}},
        "mono_ns": 3,
    }


def lead(shown: Recorded, to_ns: int) -> None:
    """As a user who drags the slider."""
    shown.seek(to_ns)
    shown.follow()


def opened(path: Path, **more: Any) -> tuple[Recorded, GatewayView, Clock]:
    """Without its threads: the test does what they do."""
    clock = Clock()
    shown = Recorded(path, clock, **more)
    shown.read()
    (view,) = shown.bench.gateways.values()
    return shown, view, clock


def live(until: int) -> GatewayView:
    """What a page has that was open from the begin on."""
    view = GatewayView("", "", 0, BEGIN)
    for number, event in zip(range(LENGTH), some_events(), strict=False):
        time_ns = BEGIN + number * STEP_NS
        if time_ns <= until:
            times = {"mono_ns": time_ns, "time_ns": time_ns, "wall_s": (time_ns + EPOCH) / 1e9}
            if number % STATUS_EVERY == 0:
                view.take({"event": "status", "status": status(number), **times}, time_ns)
            view.take({**event, **times}, time_ns)
    return view


def same(view: GatewayView, other: GatewayView, now: int) -> None:
    """Of the events before the window, a recording has what is a state, and counts."""

    def newer(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [each for each in events if each["mono_ns"] >= now - LEAST_NS]

    for kind in NAMED:
        assert newer(list(view.newest[kind].values())) == newer(list(other.newest[kind].values()))
    for kind in ("port", "armed", "placed"):
        assert view.newest[kind] == other.newest[kind]
    for ring in ("packets", "traces", "log"):
        assert newer(getattr(view, ring).since(0)) == newer(getattr(other, ring).since(0))
    assert view.rate("packet", now) == other.rate("packet", now)
    assert view.wall_ns == other.wall_ns


CELL = st.tuples(
    st.sampled_from(sorted(NAMED)),
    st.sampled_from("ab"),  # the name of the robot or other part
    st.sampled_from(["", "refused"]),
    st.sampled_from([0, 5, 30, 90]),  # seconds since the one before: keyframes are between them
)


@cases(0.6)
@given(
    events=st.lists(CELL, min_size=8, max_size=20), jumps=st.lists(st.integers(0, 99), max_size=3)
)
def test_the_cells_of_a_recording_are_those_of_a_page_at_each_time(
    events: list[tuple[str, str, str, int]], jumps: list[int]
) -> None:
    time_ns, passed = BEGIN, list[dict[str, Any]]()
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "WINDOW_EVENTS", 2)
        patch.setattr(sources, "MARK_EVENTS", 1)
        path, files = files_in(Path(folder))
        for kind, name, outcome, gap_s in events:
            for _ in range(0, gap_s, 5):  # as each second: it makes the keyframes come in time
                time_ns += 5 * NS_PER_S
                files.write([clock(time_ns)])
            about = dict.fromkeys(NAMED[kind][:1], name)
            about |= {"outcome": outcome} if kind == "command" else {}
            made = sample(
                kind, **about, time_ns=time_ns, mono_ns=time_ns, wall_s=(time_ns + EPOCH) / NS_PER_S
            )
            passed.append(made)
            files.write([plain(made, time_ns)])
        files.close()
        shown, view, _ = opened(path)
        for jump in [100, *jumps]:
            lead(shown, BEGIN + (time_ns - BEGIN) * jump // 100)
            now, page = shown.now(), GatewayView("", "", 0, BEGIN)
            for event in passed:
                if event["time_ns"] <= now:
                    page.take(event, now)
            assert cells_of(view) == cells_of(page)


def cells_of(view: GatewayView) -> dict[str, dict[str, Any]]:
    """The newest events, without `accepted_ns`, which depends on refused commands before them."""
    others = ("since_ns", "accepted_ns", "time_ns", "wall_s")
    return {
        kind: {
            name: {key: each for key, each in event.items() if key not in others}
            for name, event in newest.items()
        }
        for kind, newest in view.newest.items()
    }


def test_it_plays_at_its_speed_and_begins_again_at_its_end(tmp_path: Path) -> None:
    shown, view, clock = opened(made(tmp_path))
    clock.now += NS_PER_S
    shown.follow()
    assert shown.now() == BEGIN
    shown.play(True)
    for speed in (1.0, 4.0, 0.25, 16.0):
        before = shown.now()
        shown.play(True, speed)
        for _ in range(4):
            clock.now += NS_PER_S // 4
            shown.follow()
            same(view, live(shown.now()), shown.now())
        assert shown.now() == before + int(speed * NS_PER_S)
    shown.play(False)
    before = shown.now()
    clock.now += 100 * NS_PER_S
    assert shown.now() == before
    shown.play(True)
    clock.now += 100 * NS_PER_S
    shown.follow()
    assert shown.now() == shown.end_ns
    same(view, live(shown.end_ns), shown.end_ns)
    shown.play(False)
    shown.play(True)
    shown.follow()
    assert shown.now() == BEGIN
    same(view, live(BEGIN), BEGIN)


def test_a_recording_that_plays_fast_is_not_silent(tmp_path: Path) -> None:
    shown, view, clock = opened(made(tmp_path))
    shown.follow()
    shown.play(True, 16.0)
    clock.now += 50 * NS_PER_MS  # between two looks at the file
    assert shown.now() - view.message_ns > SILENT_NS
    assert view.state(shown.now()) == UP


def test_a_series_has_the_points_of_the_window_also_when_nothing_plays(tmp_path: Path) -> None:
    """And it keeps them when the playhead is faster than a page."""
    shown, view, clock = opened(made(tmp_path))
    lead(shown, BEGIN + 30 * NS_PER_S)
    plots = Plots()
    plots.find([view], shown.now())
    names = [each for each in plots.names if each.endswith("rover: ds")]
    for _ in range(2):
        plots.update(names, shown.now(), paused=False)
        shown.follow()
    plots.update(names, shown.now(), paused=False)
    values = [
        (number * STEP_NS + BEGIN, event["value"])
        for number, event in zip(range(LENGTH), some_events(), strict=False)
        if event["event"] == "value"
    ]
    ((_, _, points),) = plots.shown(10)
    assert points == [each for each in values if each[0] <= shown.now()][-len(points) :]
    assert points[0][0] <= shown.now() - 10 * NS_PER_S + 2 * NS_PER_S
    shown.play(True, 16.0)
    clock.now += 250 * NS_PER_MS
    shown.follow()
    plots.update(names, shown.now(), paused=False)
    ((_, _, more),) = plots.shown(0)
    newer = [each for each in values if points[0][0] <= each[0] <= shown.now()]
    assert more[-len(newer) :] == newer
    assert all(before < after for before, after in pairwise(time for time, _ in more))


def test_the_pages_show_it_as_they_show_a_gateway(tmp_path: Path) -> None:
    shown, view, _ = opened(made(tmp_path))
    lead(shown, BEGIN + 30 * NS_PER_S)
    now = shown.now()
    text = "".join(overview.parts(view, now).values())
    for word in ("robot rover", "air lab", "mocks", "module", "out of range", "uart0"):
        assert word in text
    assert view.status["ports"]["uart0"]["sent_packets_per_s"] == 300
    assert view.status_ns == now
    assert view.losses()[0][:3] == ("not_received", "range", 300)
    assert ">300<" in overview.parts(view, now)["Robots"]  # late steps
    assert "line uart0" in overview.parts(view, now)["Latency"]
    drawing = drawing_of(view, now)
    assert set(drawing.objects) == {"rover", "wall"}
    assert drawing.objects["rover"].pose == drawing_of(live(now), now).objects["rover"].pose
    for table in (robot.sensors, robot.motors):
        assert table(view, "rover", now)
    assert robot.output(view, "rover")
    assert recordings.folder_of(view) == str(tmp_path)


def test_before_the_first_status_of_a_recording_its_values_have_no_age(tmp_path: Path) -> None:
    path, files = files_in(tmp_path, HEAD)
    for number, event in zip(range(2), some_events(), strict=False):
        files.write([plain(event, BEGIN + number * STEP_NS)])
    files.close()
    shown, view, _ = opened(path)
    lead(shown, shown.end_ns)
    text = overview.parts(view, shown.now())[""]
    assert "robot rover" in text and "0 packets/s" in text and " old" not in text


def test_a_head_of_an_older_version_is_shown_without_the_layout(tmp_path: Path) -> None:
    shown, view, _ = opened(made(tmp_path, head={}))
    lead(shown, shown.end_ns)
    assert "robot rover" in overview.parts(view, shown.now())[""]
    assert set(drawing_of(view, shown.now()).objects) == {"rover"}


@pytest.mark.parametrize(
    "head",
    [
        {"scene": 3},
        {"topology": None},
        {"scene": {"objects": {"rover": {"position": [1, 2, 3]}}}},
        {"topology": {"stations": [1]}},
    ],
)
def test_a_head_that_no_gateway_writes_is_an_error(tmp_path: Path, head: dict[str, Any]) -> None:
    with pytest.raises(RecordingError, match="an event head that is not valid"):
        Recorded(made(tmp_path, head=head))


def test_what_cannot_be_read_is_shown(tmp_path: Path) -> None:
    path = made(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[:-3])
    assert opened(path)[0].bench.problem == f"{path}: ends within an event, as after a kill"
    path.write_bytes(data[:-2000] + b"\xff" * 40 + data[-1960:])
    shown, view, _ = opened(path)
    assert shown.bench.problem.startswith(f"{path}: ")
    lead(shown, shown.end_ns)
    same(view, live(shown.end_ns), shown.end_ns)
    path.write_bytes(data[:100])
    with pytest.raises(RecordingError):
        Recorded(path)


def test_too_many_states_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_STATES", 20)
    shown, _, _ = opened(made(tmp_path))
    assert len(shown.states) == 20
    assert "too many to be kept" in shown.bench.problem


def test_frames_are_decoded_and_a_decoder_that_fails_ends_them_alone(tmp_path: Path) -> None:
    def with_frames(events: Events) -> Events:
        for event in events:
            yield event
            if event["event"] == "bytes":
                frame = {"event": "frame", "station": "uart0", "direction": "sent", "text": "A"}
                yield {**event, **frame}
            if event["time_ns"] > BEGIN + 40 * NS_PER_S:
                raise AdapterError("failed on a frame", where="uart0")

    shown, view, _ = opened(made(tmp_path), with_frames=with_frames)
    lead(shown, BEGIN + 20 * NS_PER_S)
    assert [each for each in view.traces.since(0) if each["event"] == "frame"]
    lead(shown, shown.end_ns)
    assert shown.bench.problem == "no frames: uart0: failed on a frame"
    shown.follow()
    same(view, live(shown.end_ns), shown.end_ns)


@pytest.mark.wall_clock("threads")
def test_its_threads_read_it_and_follow_the_playhead(tmp_path: Path) -> None:
    shown = Recorded(made(tmp_path))
    (view,) = shown.bench.gateways.values()
    shown.start()
    wait_until(lambda: shown.end_ns == BEGIN + (LENGTH - 1) * STEP_NS, what="it is read")
    shown.seek(shown.end_ns)
    wait_until(lambda: view.newest["port"] == live(shown.end_ns).newest["port"], what="it is shown")
    shown.close()


def test_pages_do_not_wait_for_a_file_that_is_decoded(tmp_path: Path) -> None:
    """Another thread has the model while events of a jump are read."""
    held: list[bool] = []

    def with_frames(events: Events) -> Events:
        for event in events:
            with ThreadPoolExecutor(1) as pool:

                def take() -> bool:
                    free = shown.bench.lock.acquire(blocking=False)
                    if free:
                        shown.bench.lock.release()
                    return free

                held.append(not pool.submit(take).result())
            yield event

    shown, view, _ = opened(made(tmp_path, 100), with_frames=with_frames)
    lead(shown, shown.end_ns)
    assert len(held) > 100
    assert not any(held)
    same(view, live(shown.end_ns), shown.end_ns)


def test_a_motor_that_was_commanded_once_long_ago_is_shown_at_each_time(tmp_path: Path) -> None:
    """Its newest command is not an event of the window: a keyframe has it."""
    path, files = files_in(tmp_path)
    command = {**COMMAND, "given": {"velocity": 3.0}, "applied": {"velocity": 3.0}}
    files.write([plain(command, BEGIN + NS_PER_S)])
    for second in range(2, 900):
        files.write([("notice", BEGIN + second * NS_PER_S, ("note", str(second)))])
    files.close()
    shown, view, _ = opened(path)
    for second in (899, 450, 70, 2, 898):
        lead(shown, BEGIN + second * NS_PER_S)
        (newest,) = view.newest["command"].values()
        assert newest["applied"] == {"velocity": 3.0}
        assert newest["mono_ns"] == BEGIN + NS_PER_S
        assert view.shown["command"].total == (second < 80)


def test_a_jump_leads_to_an_open_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "WINDOW_EVENTS", 10)
    monkeypatch.setattr(sources, "MARK_EVENTS", 5)
    shown, view, _ = opened(made(tmp_path))
    assert (shown.begin_ns, shown.end_ns) == (BEGIN, BEGIN + (LENGTH - 1) * STEP_NS)
    times = [0.5, 59.9, 30.0, 12.34, 12.4, 0.0, -9.0, 59.0, 1e9, 58.9]
    for seconds in [*times, *reversed(times)]:
        lead(shown, BEGIN + int(seconds * NS_PER_S))
        now = min(max(BEGIN + int(seconds * NS_PER_S), BEGIN), shown.end_ns)
        assert shown.now() == shown.bench.now() == now
        same(view, live(now), now)
        assert view.state(now) == UP
