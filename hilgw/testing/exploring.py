"""What the rules are tried with: streams, cuts and noise, made by hypothesis and repeatable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hilgw.adapters.base import Dropped, Event, Heard, Notice, Write
from hilgw.testing.rules import require, shown
from hilgw.testing.watch import DEADLINES, WatchedSession

__tracebackhide__ = True  # a failure is shown at the rule, not in here

T = TypeVar("T")

SECOND_NS = 1_000_000_000
MOST_DEADLINES = 10_000


def explore(strategy: st.SearchStrategy[T], check: Callable[[T], None], examples: int) -> None:
    """`check` on examples of `strategy`; the same ones in each run. Fails on the simplest."""

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(strategy)
    def attempt(value: T) -> None:
        check(value)

    attempt()


def cuts(data: bytes, places: Sequence[int]) -> list[bytes]:
    """The same bytes in pieces, cut at these places."""
    edges = [0, *sorted({place % (len(data) + 1) for place in places}), len(data)]
    return [data[a:b] for a, b in pairwise(edges) if a < b]


def noise(frames: Sequence[bytes], check_bits: int) -> st.SearchStrategy[bytes]:
    """Bytes that hold no good frame: chance, what frames begin and end with, pieces of frames.

    Pieces that promise more than they hold only where the check is strong enough to tell.
    """
    marks = sorted({frame[:1] for frame in frames} | {frame[-1:] for frame in frames})
    frame = st.sampled_from(sorted(frames, key=len))

    def piece(source: tuple[bytes, int, int]) -> bytes:
        data, start, end = source
        start %= len(data)
        end %= len(data)
        if check_bits < 16:
            start = max(start, 1)
        return data[min(start, end) : max(start, end)] if start or end else b""

    pieces = st.tuples(frame, st.integers(0, 10_000), st.integers(0, 10_000)).map(piece)
    parts = st.one_of(st.binary(max_size=12), st.sampled_from(marks), pieces)
    return (
        st.lists(parts, max_size=5)
        .map(b"".join)
        .filter(lambda data: not any(each in data for each in frames))
    )


def silence(session: WatchedSession, now: int, seconds: float) -> tuple[list[Event], int]:
    """Nothing comes for so long: every deadline at its time."""
    end = now + round(seconds * SECOND_NS)
    events: list[Event] = []
    for _ in range(MOST_DEADLINES):
        due = session.next_deadline()
        if due is None or due > end:
            return events, end
        now = max(now, due)
        events += session.expire(now)
    require(
        False,
        DEADLINES,
        f"{MOST_DEADLINES} deadlines in {seconds:g} s of silence",
        "deadlines for what waits, no polling",
    )
    return events, end


def heard(events: Sequence[Event]) -> list[Heard]:
    return [event for event in events if isinstance(event, Heard)]


def dropped(events: Sequence[Event]) -> Counter[str]:
    """What was dropped, by reason."""
    counts: Counter[str] = Counter()
    for event in events:
        if isinstance(event, Dropped):
            counts[event.reason] += event.count
    return counts


def essence(events: Sequence[Event]) -> dict[str, Any]:
    """What must not depend on how the bytes were cut: packets, losses, answers, states."""
    others = [e for e in events if not isinstance(e, Heard | Dropped | Notice | Write)]
    return {
        "packets": heard(events),
        "dropped": dict(sorted(dropped(events).items())),
        "written": b"".join(e.data for e in events if isinstance(e, Write)),
        "other events": others,
    }


def difference(came: dict[str, Any], wanted: dict[str, Any]) -> tuple[str, str]:
    """The first part in which two essences differ, in words."""
    for name, value in wanted.items():
        if came[name] != value:
            return f"{name}: {shown(came[name])}", f"{name}: {shown(value)}"
    return shown(came), shown(wanted)


def unmatched(came: Sequence[bytes], wanted: Sequence[tuple[bytes, bool]], extras: bool) -> str:
    """Whether these packets came, in order; those marked may be missing. extras: others may come
    too. Empty, or what is wrong."""

    @cache
    def fits(at: int, place: int) -> bool:
        if at == len(wanted):
            return extras or place == len(came)
        data, optional = wanted[at]
        if optional and fits(at + 1, place):
            return True
        if place == len(came):
            return False
        if came[place] == data and fits(at + 1, place + 1):
            return True
        return extras and fits(at, place + 1)

    if fits(0, 0):
        return ""
    known = {data for data, _ in wanted}
    strange = [data for data in came if data not in known]
    if strange and not extras:
        return f"noise became a packet: {shown(strange[0])}"
    return f"{len(came)} packets"
