"""The line before an Emitter, against plain fractions: never early, never idle, never reordered."""

import math
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.devices.emitter import Departure, Emitter
from hilgw.devices.fields import CAP_BYTES, EmitterFields

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
    line_free = Fraction(0)
    for packet in run_free(fields, sends):
        start = max(Fraction(packet.offered_ns), line_free)
        takes = Fraction(0)
        if fields["baudRate"] > 0:
            takes = Fraction(
                len(packet.data) * fields["byteSize"] * 1_000_000_000, fields["baudRate"]
            )
        line_free = start + takes
        assert packet.departed_ns == math.ceil(line_free)


@given(LINES, SENDS)
def test_order_is_kept_and_packets_stay_whole(
    fields: dict[str, Any], sends: list[tuple[int, int]]
) -> None:
    left = [packet.data for packet in run_free(fields, sends)]
    offered = [identify(size, index) for index, (_, size) in enumerate(sends)]
    remaining = iter(offered)
    assert all(any(data == packet for packet in remaining) for data in left)


def webots_steps(baud: int, plan: list[tuple[int, list[int]]], number: type) -> list[int]:
    """In which step each packet leaves by Webots' rule, in exact or floating-point numbers.

    plan: for each step its length in ms and the sizes sent before it.
    """
    rate, credit = number(baud) / 8 / 1000, number(0)
    queue: list[int] = []
    left = []
    for step, (ms, sizes) in enumerate(plan):
        for size in sizes:
            if not queue:
                credit = number(0)
            queue.append(size)
        if queue:
            credit += rate * ms
        while queue and queue[0] <= credit:
            credit -= queue.pop(0)
            left.append(step)
    return left


def our_steps(baud: int, plan: list[tuple[int, list[int]]]) -> list[int]:
    emitter, now = Emitter(EmitterFields(baudRate=baud)), 0
    left: list[int] = []
    for step, (ms, sizes) in enumerate(plan):
        for size in sizes:
            assert emitter.send(bytes(size), now) is None
        now += ms * MS
        left.extend(step for _ in departures(emitter, now))
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
    assert our_steps(baud, plan) == webots_steps(baud, plan, Fraction)


def test_webots_floating_point_credit_differs_by_a_step_and_seldom() -> None:
    random = Random(1)
    packets = differing = 0
    for _ in range(300):
        baud = random.choice([9600, 19_200, 57_600, 115_200])
        plan = [
            (
                random.choice([8, 16, 32]),
                [random.randint(1, 60) for _ in range(random.randint(0, 3))],
            )
            for _ in range(50)
        ]
        ours, theirs = our_steps(baud, plan), webots_steps(baud, plan, float)
        assert all(abs(a - b) <= 1 for a, b in zip(ours, theirs, strict=False))
        differing += sum(a != b for a, b in zip(ours, theirs, strict=False))
        packets += len(ours)
    assert packets > 10_000
    assert 0 < differing < packets / 100


def test_no_drift_however_long_it_runs() -> None:
    emitter = Emitter(EmitterFields(baudRate=9600, byteSize=9))
    for _ in range(32_000):  # 2812500 ns each
        emitter.send(b"xyz", 0)
    departed = [packet.departed_ns for packet in departures(emitter, 10**12)]
    assert departed == [2_812_500 * (index + 1) for index in range(32_000)]
    emitter = Emitter(EmitterFields(baudRate=115_200, byteSize=10))
    for _ in range(11_520):  # 86805.5... ns each: the parts of nanoseconds add up
        emitter.send(b"x", 0)
    assert departures(emitter, 10**9)[-1].departed_ns == 10**9


def test_a_send_at_the_instant_of_a_departure_finds_the_buffer_as_it_was() -> None:
    emitter = Emitter(EmitterFields(baudRate=8000, bufferSize=1))
    assert emitter.send(b"a", 0) is None
    assert emitter.send(b"b", MS) == "full"  # leaves at 1 ms, not collected yet
    assert emitter.send(b"b", MS + 1) is None
    assert [packet.data for packet in departures(emitter, 3 * MS)] == [b"a", b"b"]


def test_reasons() -> None:
    notices: list[str] = []
    emitter = Emitter(EmitterFields(bufferSize=4), notices.append)
    assert emitter.send(b"", 0) == "invalid"
    assert notices == ["wb_emitter_send(): invalid size=0 argument."]
    assert emitter.send(bytes(5), 0) == "full"
    assert emitter.send(bytes(4), 0) is None
    assert (emitter.queued, emitter.queued_bytes) == (1, 4)


def test_the_cap_has_its_own_reason() -> None:
    for size in (-1, 2 * CAP_BYTES):
        emitter = Emitter(EmitterFields(bufferSize=size, baudRate=0))
        assert emitter.send(bytes(CAP_BYTES), 0) is None
        assert emitter.send(b"x", 0) == "cap"


def test_a_million_tiny_packets_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hilgw.devices.emitter.CAP_PACKETS", 3)
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
