"""A replay gives what a device sent, after what hilgw sends; what differs is a departure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.record.replay import PATIENCE_NS, Replay
from hilgw.record.script import Script, ScriptStep, StepKind, scripts_of
from tests.view.samples import recorded

BEGIN, MS = 7 * 10**9, 1_000_000
SENT, RECEIVED, OPENED, LOST, CLOSED = StepKind


def script(*steps: tuple[StepKind, int, bytes], end_ms: int = 10_000) -> Script:
    """A line that is open from its begin; times in ms."""
    made = [
        ScriptStep(kind, BEGIN + at * MS, data) for kind, at, data in ((OPENED, 0, b""), *steps)
    ]
    return Script(tuple(made), 1, BEGIN, BEGIN + end_ms * MS)


class ReplayedLine:
    """A replay whose host has another clock than the recording, from 0 on; in ms."""

    def __init__(self, of: Script) -> None:
        self.departures: list[Any] = []
        self.replay = Replay("x0", of, self._departed)
        self.replay.advance(0)
        self.replay.connect(0)
        self.came: list[tuple[float, bytes]] = []

    def _departed(self, *departure: Any) -> None:
        self.departures.append(departure)

    def until(self, ms: float) -> ReplayedLine:
        while (due := self.replay.next_deadline()) is not None and due <= ms * MS:
            self.replay.advance(due)
            if data := self.replay.take(due):
                self.came.append((due / MS, data))
        return self

    def send(self, ms: float, data: bytes) -> ReplayedLine:
        self.until(ms).replay.receive(data, round(ms * MS))
        return self.until(ms)


ASKED = (
    (SENT, 10, b"ask 1;"),
    (RECEIVED, 15, b"one"),
    (SENT, 20, b"ask 2;"),
    (RECEIVED, 22, b"two"),
)


@pytest.mark.parametrize("pieces", [(b"ask 1;ask 2;",), (b"as", b"k 1;a", b"sk 2;")])
def test_a_frame_may_come_in_pieces_or_with_another(pieces: tuple[bytes, ...]) -> None:
    bench = ReplayedLine(script(*ASKED))
    for piece in pieces:
        bench.send(10, piece)
    assert (bench.until(99).replay.matched, bench.departures) == (2, [])
    assert bench.came == [(15, b"one"), (17, b"two")]  # as if it was asked for at once
    assert bench.replay.next_deadline() is None


@pytest.mark.parametrize(
    ("sent", "departure", "came"),
    [
        # another frame; one more; one less; none; one behind the last
        ((b"ask 9;", b"ask 2;"), (1, b"ask 1;", b"ask 9;"), b"onetwo"),
        ((b"new;", b"ask 1;", b"ask 2;"), (1, b"ask 1;", b"new;"), b"onetwo"),
        ((b"ask 2;",), (1, b"ask 1;", b"ask 2;"), b"two"),
        ((b"ask 1;",), (2, b"ask 2;", b""), b"onetwo"),
        ((b"ask 1;", b"ask 2;", b"more"), (2, b"", b"more"), b"onetwo"),
    ],
)
def test_a_departure_has_both_frames_and_the_replay_goes_on(
    sent: tuple[bytes, ...], departure: tuple[int, bytes, bytes], came: bytes
) -> None:
    bench = ReplayedLine(script(*ASKED))
    for number, each in enumerate(sent):
        bench.send(10 + 10 * number, each)
    bench.until(30 + PATIENCE_NS / MS)
    assert bench.departures == [departure]
    assert b"".join(data for _, data in bench.came) == came


def line(ms: int, data: bytes, direction: str = "received", part: str = "x0") -> dict[str, Any]:
    event = {"event": "bytes", "part": part, "direction": direction, "data": data.hex()}
    return event | {"time_ns": BEGIN + ms * MS}


def test_the_stop_that_ended_the_run_is_not_asked_for(tmp_path: Path) -> None:
    """Nor is another one, as a longer replay sends it; its bytes come with a time before it."""
    stopped = {"event": "stopped", "robot": "x", "reason": "gateway_ended", "text": ""}
    path = recorded(
        tmp_path / "a.pcapng",
        line(0, b"go", "sent"),
        stopped | {"time_ns": BEGIN + 40 * MS},
        line(39, b"stop", "sent"),
        {"event": "notice", "source": "x0", "text": "", "time_ns": BEGIN + 90 * MS},
        begin_ns=BEGIN,
    )
    found = scripts_of(path)["x0"].at(0.0)
    shorter, longer = ReplayedLine(found).send(0, b"go"), ReplayedLine(found).send(0, b"go")
    shorter.replay.end()
    assert (shorter.send(5, b"halt").departures, shorter.replay.after_end) == ([], 0)
    assert (longer.send(50, b"halt").departures, longer.replay.after_end) == ([], 4)
    assert ReplayedLine(found).send(0, b"go").until(9_000).departures == []
    assert ReplayedLine(found).send(0, b"go").send(5, b"halt").departures == [(2, b"", b"halt")]


def test_several_frames_that_are_never_sent_are_waited_for_once() -> None:
    steps = [(SENT, at, b"%d" % at) for at in range(10, 15)]
    bench = ReplayedLine(script(*steps, (RECEIVED, 20, b"x"))).until(5_000)
    assert bench.departures == [(1, b"10", b"")]
    assert bench.came == [(20 + PATIENCE_NS / MS, b"x")]


def test_a_connection_ends_as_recorded_and_the_next_goes_on() -> None:
    bench = ReplayedLine(
        script((RECEIVED, 5, b"a"), (LOST, 8, b""), (OPENED, 50, b""), (RECEIVED, 60, b"b"))
    )
    bench.until(100)
    assert bench.replay.closing and bench.came == [(5, b"a")]
    bench.replay.disconnect(100 * MS)
    bench.until(200).replay.connect(200 * MS)
    assert bench.until(300).came[1:] == [(210, b"b")]


def test_a_replay_from_a_time_on_begins_with_the_setup() -> None:
    setup = ((SENT, 1, b"hello"), (RECEIVED, 3, b"ready"))
    of = script(*setup, (RECEIVED, 500, b"old"), (RECEIVED, 5_010, b"new"))
    of = Script(of.steps, 3, of.begin_ns, of.end_ns)
    bench = ReplayedLine(of.at(5.0)).send(1, b"hello").until(9_000)
    assert [data for _, data in bench.came] == [b"ready", b"new"]
    assert bench.came[-1][0] < 100


steps = st.lists(
    st.tuples(st.sampled_from(StepKind), st.integers(-5, 4_000), st.binary(min_size=1, max_size=3)),
    max_size=12,
)
acts = st.lists(st.one_of(st.binary(max_size=4), st.booleans(), st.integers(0, 3_000)), max_size=12)


@given(of=steps, acts=acts)
def test_any_recording_is_played_to_its_end(
    of: list[tuple[StepKind, int, bytes]], acts: list[bytes | bool | int]
) -> None:
    """Steps in any order and at any times, and a hilgw that sends and connects as it wants."""
    bench, now = ReplayedLine(script(*of)), 0
    for act in acts:
        if isinstance(act, bytes):
            bench.send(now, act)
        elif isinstance(act, bool):
            (bench.replay.connect if act else bench.replay.disconnect)(now * MS)
        else:
            now += act
            bench.until(now)
    assert bench.replay.matched <= bench.replay.frames
