"""The events of a session: collected through a silence, counted and compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

from hilgw.adapters.base import Dropped, Event, Notice, Received, Write
from hilgw.testing.conformance.broken_rule import require, shown
from hilgw.testing.conformance.watched_session import DEADLINES, WatchedSession

__tracebackhide__ = True  # a failure is shown at the rule, not in here

SECOND_NS = 1_000_000_000
MOST_DEADLINES = 10_000


def silence(session: WatchedSession, now: int, seconds: float) -> tuple[list[Event], int]:
    """Silence for this time: expires every deadline when due."""
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
        "deadlines for pending work only, no polling",
    )
    return events, end


def received(events: Sequence[Event]) -> list[Received]:
    """The received packets."""
    return [event for event in events if isinstance(event, Received)]


def dropped(events: Sequence[Event]) -> Counter[str]:
    """The number of drops, by reason."""
    counts: Counter[str] = Counter()
    for event in events:
        if isinstance(event, Dropped):
            counts[event.reason] += event.count
    return counts


def essence(events: Sequence[Event]) -> dict[str, Any]:
    """The part of the events that must not depend on the chunking."""
    # As text: two errors with the same text are different objects.
    others = [repr(e) for e in events if not isinstance(e, Received | Dropped | Notice | Write)]
    return {
        "packets": received(events),
        "dropped": dict(sorted(dropped(events).items())),
        "written": b"".join(e.data for e in events if isinstance(e, Write)),
        "other events": others,
    }


def difference(got: dict[str, Any], expected: dict[str, Any]) -> tuple[str, str]:
    """The first difference of two essences, as text."""
    for name, value in expected.items():
        if got[name] != value:
            return f"{name}: {shown(got[name])}", f"{name}: {shown(value)}"
    return shown(got), shown(expected)


def unmatched(got: Sequence[bytes], expected: Sequence[tuple[bytes, bool]], extras: bool) -> str:
    """Compares received packets with the expected ones, in order; (data, True) is optional.
    extras: other packets are allowed. Returns "", or the difference as text."""

    @cache
    def fits(at: int, index: int) -> bool:
        if at == len(expected):
            return extras or index == len(got)
        data, optional = expected[at]
        if optional and fits(at + 1, index):
            return True
        if index == len(got):
            return False
        if got[index] == data and fits(at + 1, index + 1):
            return True
        return extras and fits(at, index + 1)

    if fits(0, 0):
        return ""
    known = {data for data, _ in expected}
    unknown = [data for data in got if data not in known]
    if unknown and not extras:
        return f"noise became a packet: {shown(unknown[0])}"
    return f"{len(got)} packets"
