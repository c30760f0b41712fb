"""What the rules are tried with: streams, cuts and noise, drawn by chance and yet repeatable."""

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
MOST_TRIES = 400  # of simpler values, once one has failed


def explore(
    make: Callable[[random.Random], T],
    check: Callable[[T], None],
    examples: int,
    valid: Callable[[T], bool] = lambda value: True,
) -> None:
    """`check` on values that `make` draws, the same ones in each run. It fails with the simplest
    value that breaks the rule; valid: what a value must be to count."""
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
    """What the simplest value says that breaks the same rule, as far as a few tries find it."""
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
    """Values like this one with something left out, the boldest first."""
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


# --- what is drawn --------------------------------------------------------------------------------


def cuts(data: bytes, places: Sequence[int]) -> list[bytes]:
    """The same bytes in pieces, cut at these places."""
    edges = [0, *sorted({place % (len(data) + 1) for place in places}), len(data)]
    return [data[a:b] for a, b in pairwise(edges) if a < b]


def noise(chance: random.Random, frames: Sequence[bytes], check_bits: int) -> bytes:
    """Chance, what frames begin and end with, pieces of frames, frames with one byte changed."""
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
    """Whether there is no frame in it, nor one that a neighbour's mark would complete; where the
    check is weak, not even the beginning of one, which would swallow a good frame now and then."""
    if check_bits < 16 and any(frame[:3] in data for frame in frames if len(frame) > 3):
        return False
    return not any((frame[1:-1] or frame) in data for frame in frames)


def anything(chance: random.Random, frames: Sequence[bytes]) -> bytes:
    """Random bytes, noise, or a good frame with one byte changed."""
    kinds = (
        chance.randbytes(chance.randrange(81)),
        noise(chance, frames, 16),
        changed(chance, chance.choice(frames)),
    )
    return chance.choice(kinds)


# --- sessions and their events --------------------------------------------------------------------


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


def heard(events: Sequence[Event]) -> list[Received]:
    return [event for event in events if isinstance(event, Received)]


def dropped(events: Sequence[Event]) -> Counter[str]:
    """What was dropped, by reason."""
    counts: Counter[str] = Counter()
    for event in events:
        if isinstance(event, Dropped):
            counts[event.reason] += event.count
    return counts


def essence(events: Sequence[Event]) -> dict[str, Any]:
    """What must not depend on how the bytes were cut: packets, losses, answers, states."""
    # As text: two errors that say the same are two objects.
    others = [repr(e) for e in events if not isinstance(e, Received | Dropped | Notice | Write)]
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
