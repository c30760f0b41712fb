"""Inputs for the rules: random streams, cuts and noise, the same in each run."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar

from hilgw.adapters.base import Dropped, Event, Notice, Received, Write
from hilgw.testing.conformance.broken_rule import BrokenRule, require, shown
from hilgw.testing.conformance.watched_session import DEADLINES, WatchedSession

__tracebackhide__ = True  # a failure is shown at the rule, not in here

T = TypeVar("T")

SECOND_NS = 1_000_000_000
MOST_DEADLINES = 10_000
MOST_TRIES = 400  # of simpler values, after a failure


def explore(
    make: Callable[[random.Random], T],
    check: Callable[[T], None],
    examples: int,
    valid: Callable[[T], bool] = lambda value: True,
) -> None:
    """Calls `check` with values from `make`, the same ones in each run. Fails with the simplest
    value that breaks the rule. valid: whether to use a value."""
    for number in range(examples):
        value = make(random.Random(number))
        if not valid(value):
            continue
        try:
            check(value)
        except BrokenRule as rule:
            found = rule
        else:
            continue
        raise _simplest(value, check, valid, found)


def _simplest(
    value: T, check: Callable[[T], None], valid: Callable[[T], bool], found: BrokenRule
) -> BrokenRule:
    """The BrokenRule of the simplest value that breaks the same rule, within MOST_TRIES."""
    tries = 0
    candidates = simpler(value)
    while tries < MOST_TRIES and (candidate := next(candidates, None)) is not None:
        tries += 1
        if not valid(candidate):
            continue
        try:
            check(candidate)
        except BrokenRule as rule:
            if rule.rule == found.rule:
                found, candidates = rule, simpler(candidate)
    return found


def simpler(value: Any) -> Iterator[Any]:
    """Simpler variants of this value, the simplest first."""
    if isinstance(value, tuple):
        for at, item in enumerate(value):
            yield from ((*value[:at], less, *value[at + 1 :]) for less in simpler(item))
    elif isinstance(value, bytes):
        yield from (bytes(less) for less in _shorter(list(value)))
    elif isinstance(value, list):
        yield from _shorter(value)
        for at, item in enumerate(value):
            yield from ([*value[:at], less, *value[at + 1 :]] for less in simpler(item))
    elif isinstance(value, int) and value:
        yield from sorted({0, value // 2})


def _shorter(items: list[Any]) -> Iterator[list[Any]]:
    size = len(items)
    while size:
        for start in range(0, len(items), size):
            yield items[:start] + items[start + size :]
        size //= 2


# --- random values --------------------------------------------------------------------------------


def cuts(data: bytes, positions: Sequence[int]) -> list[bytes]:
    """The bytes in pieces, cut at these positions."""
    edges = [0, *sorted({position % (len(data) + 1) for position in positions}), len(data)]
    return [data[a:b] for a, b in pairwise(edges) if a < b]


def noise(chance: random.Random, frames: Sequence[bytes], check_bits: int) -> bytes:
    """Random bytes, ends and pieces of frames, and frames with one byte changed."""
    parts = []
    for _ in range(chance.randrange(6)):
        frame = chance.choice(frames)
        first = chance.choice((0, chance.randrange(len(frame))))
        last = chance.randint(first, len(frame))
        kinds = (
            chance.randbytes(chance.randrange(13)),
            bytes(chance.randrange(4)),
            frame[:1],
            frame[-1:],
            frame[first:last],
            changed(chance, frame) if check_bits >= 8 else b"",
        )
        parts.append(chance.choice(kinds))
    return b"".join(parts)


def changed(chance: random.Random, frame: bytes) -> bytes:
    """The frame with one byte changed."""
    data = bytearray(frame)
    data[chance.randrange(len(data))] ^= chance.randrange(1, 256)
    return bytes(data)


def is_noise(data: bytes, frames: Sequence[bytes], check_bits: int) -> bool:
    """Whether it contains no frame, not even one that a start mark next to it would complete; with
    a weak checksum, not even the start of a frame, which could absorb a valid frame."""
    if check_bits < 16 and any(frame[:3] in data for frame in frames if len(frame) > 3):
        return False
    return not any((frame[1:-1] or frame) in data for frame in frames)


def anything(chance: random.Random, frames: Sequence[bytes]) -> bytes:
    """Random bytes, noise, or a valid frame with one byte changed."""
    kinds = (
        chance.randbytes(chance.randrange(81)),
        noise(chance, frames, 16),
        changed(chance, chance.choice(frames)),
    )
    return chance.choice(kinds)


# --- sessions and their events --------------------------------------------------------------------


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
