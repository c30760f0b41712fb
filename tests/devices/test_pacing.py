"""The line before an Emitter, against plain fractions: never early, never idle, never reordered."""

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.devices.fields import CAP_BYTES, EmitterFields
from hilgw.devices.radios import Departure, Emitter

MS = 1_000_000

LINES = st.fixed_dictionaries(
    {
        "baudRate": st.sampled_from([-1, 1, 300, 9600, 57_600, 115_200, 921_600, 999_983]),
        "byteSize": st.integers(8, 12),
        "bufferSize": st.sampled_from([-1, 0, 1, 64, 500]),
    }
)
# (ns until the send, its size)
SENDS = st.lists(
    st.tuples(st.integers(0, 60 * MS) | st.just(0), st.integers(1, 120)), min_size=1, max_size=30
)


def departures(emitter: Emitter, now: int) -> list[Departure]:
    """All packets that have left by `now`, in order."""
    return list(iter(lambda: emitter.depart(now), None))


def identify(size: int, index: int) -> bytes:
    return index.to_bytes(1, "big") * size


def run_free(fields: dict[str, Any], sends: list[tuple[int, int]]) -> list[Departure]:
    """Looks exactly when something leaves."""
    emitter, now, left = Emitter(EmitterFields(**fields)), 0, []
    for index, (wait, size) in enumerate(sends):
        now += wait
        # What leaves at the instant of a send leaves first, in both ways of use.
        while (due := emitter.next_departure()) is not None and due < now:
            packet = emitter.depart(due)
            assert packet is not None
            left.append(packet)
        emitter.send(identify(size, index), now)
    while (due := emitter.next_departure()) is not None:
        left.extend(departures(emitter, due))
    return left


def run_stepped(
    fields: dict[str, Any], sends: list[tuple[int, int]], step_ns: int
) -> list[Departure]:
    """Looks at step ends only."""
    emitter, now, end, left = Emitter(EmitterFields(**fields)), 0, 0, []
    for index, (wait, size) in enumerate(sends):
        now += wait
        while end + step_ns < now:
            end += step_ns
            left.extend(departures(emitter, end))
        emitter.send(identify(size, index), now)
    while emitter.queued:
        due = emitter.next_departure()
        assert due is not None
        end = max(end, due - due % step_ns) + step_ns
        left.extend(departures(emitter, end))
    return left


def facts(left: list[Departure]) -> list[tuple[bytes, int, int]]:
    return [(each.data, each.offered_ns, each.departed_ns) for each in left]


@given(LINES, SENDS, st.sampled_from([1, 8, 16, 32, 50]))
def test_stepped_and_free_running_use_give_the_same_departures(
    fields: dict[str, Any], sends: list[tuple[int, int]], step_ms: int
) -> None:
    free = run_free(fields, sends)
    assert facts(run_stepped(fields, sends, step_ms * MS)) == facts(free)


@given(LINES, SENDS)
def test_the_line_is_never_faster_than_it_is_and_never_idle(
    fields: dict[str, Any], sends: list[tuple[int, int]]
) -> None:
    """And order is kept, and packets stay whole."""
    line_free = Fraction(0)
    remaining = iter([identify(size, index) for index, (_, size) in enumerate(sends)])
    for packet in run_free(fields, sends):
        assert packet.data in remaining
        line_free = max(Fraction(packet.offered_ns), line_free)
        if fields["baudRate"] > 0:
            bits = len(packet.data) * fields["byteSize"]
            line_free += Fraction(bits * 1_000_000_000, fields["baudRate"])
        assert packet.departed_ns == math.ceil(line_free)


def webots_steps(baud: int, plan: list[tuple[int, list[int]]]) -> list[int]:
    """In which step each packet leaves by Webots' rule, in exact numbers.

    plan: for each step its length in ms and the sizes sent before it.
    """
    rate, credit = Fraction(baud) / 8 / 1000, Fraction(0)
    queue: list[int] = []
    left = []
    for step, (ms, sizes) in enumerate(plan):
        for size in sizes:
            if not queue:
                credit = Fraction(0)
            queue.append(size)
        if queue:
            credit += rate * ms
        while queue and queue[0] <= credit:
            credit -= queue.pop(0)
            left.append(step)
    return left


@given(
    st.sampled_from([300, 9600, 57_600, 999_983]),
    st.lists(
        st.tuples(st.sampled_from([1, 8, 16, 32]), st.lists(st.integers(1, 300), max_size=4)),
        max_size=30,
    ),
)
def test_stepped_use_is_webots_rule_in_exact_numbers(
    baud: int, plan: list[tuple[int, list[int]]]
) -> None:
    emitter, now = Emitter(EmitterFields(baudRate=baud)), 0
    left: list[int] = []
    for step, (ms, sizes) in enumerate(plan):
        for size in sizes:
            assert emitter.send(bytes(size), now) is None
        now += ms * MS
        left.extend(step for _ in departures(emitter, now))
    assert left == webots_steps(baud, plan)


def test_the_cap_has_its_own_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    for size in (-1, 2 * CAP_BYTES):
        emitter = Emitter(EmitterFields(bufferSize=size, baudRate=0))
        assert emitter.send(bytes(CAP_BYTES), 0) is None
        assert emitter.send(b"x", 0) == "cap"
    monkeypatch.setattr("hilgw.devices.radios.CAP_PACKETS", 3)
    emitter = Emitter(EmitterFields(baudRate=0))
    assert [emitter.send(b"x", 0) for _ in range(4)] == [None, None, None, "cap"]


def test_the_cap_counts_what_left_and_was_not_collected() -> None:
    emitter = Emitter(EmitterFields(bufferSize=CAP_BYTES))
    assert emitter.send(bytes(CAP_BYTES), 0) is None
    assert emitter.send(b"x", 5) == "cap"
    assert len(departures(emitter, 5)) == 1
    assert emitter.send(b"x", 5) is None


def test_payload_is_the_callers_no_longer() -> None:
    emitter, payload = Emitter(EmitterFields()), bytearray(b"abc")
    emitter.send(memoryview(payload), 0)  # type: ignore[arg-type]
    payload[0] = 0
    assert departures(emitter, 0)[0].data == b"abc"


def test_expiring_gives_up_everything() -> None:
    emitter = Emitter(EmitterFields(baudRate=8000))
    for now in (0, 5 * MS, 5 * MS):
        emitter.send(b"x", now)
    assert emitter.expire_all() == 3
    assert (emitter.queued, emitter.queued_bytes, emitter.next_departure()) == (0, 0, None)
    emitter.send(b"y", 6 * MS)
    assert emitter.next_departure() == 7 * MS
