"""A Receiver in free-running use, and against a plain model of it."""

from dataclasses import dataclass
from typing import Any

from hypothesis import given, strategies as st

from hilgw.devices.fields import CAP_BYTES, ReceiverFields
from hilgw.devices.receiver import Receiver

MS = 1_000_000


@dataclass(frozen=True)
class Packet:
    data: bytes


@dataclass(frozen=True)
class Copy:
    packet: Packet


def copy(size: int) -> Copy:
    return Copy(Packet(bytes(size)))


def started(period_ms: int = 32, now: int = 0, **fields: Any) -> Receiver[Copy]:
    receiver: Receiver[Copy] = Receiver(ReceiverFields(**fields))
    receiver.enable(period_ms, now)
    return receiver


def test_a_period_between_steps_acts_at_the_next_step_end() -> None:
    receiver: Receiver[Copy] = Receiver(ReceiverFields(), step_ms=32)
    receiver.enable(50, 0)
    read = []
    for step in range(1, 9):
        receiver.receive(copy(1), step * 32 * MS)
        read.append(len(receiver.sample(step * 32 * MS).readable))
    assert read == [0, 2, 0, 2, 0, 2, 0, 2]


def test_the_cap_bounds_what_is_held_too() -> None:
    receiver = started(32)
    assert receiver.receive(copy(CAP_BYTES), 0) is None
    assert receiver.receive(copy(1), 0) == "cap"
    assert receiver.queued == 1
    assert receiver.expire_all() == 1
    assert receiver.queued_bytes == 0


@given(
    st.sampled_from([-1, 0, 1, 16, 40]),
    st.lists(
        st.one_of(
            st.tuples(st.just("arrive"), st.integers(1, 20)),
            st.tuples(st.just("pass"), st.integers(0, 100)),
            st.tuples(st.just("read"), st.just(0)),
            st.tuples(st.just("enable"), st.integers(0, 80)),
        ),
        max_size=60,
    ),
)
def test_against_a_plain_model(buffer_size: int, actions: list[tuple[str, int]]) -> None:
    """Every copy is in one place at every instant; the queue holds what the model's holds."""
    receiver = started(32, bufferSize=buffer_size)
    buffer_size = buffer_size or -1  # WbReceiver resets 0
    held: list[tuple[int, int]] = []
    queue: list[int] = []
    now, period, last = 0, 32, 0
    taken = read = lost = 0
    for action, amount in actions:
        if action == "arrive":
            refused = receiver.receive(copy(amount), now * MS)
            assert bool(refused) == (period == 0)
            if not refused:
                held.append((now, amount))
                taken += 1
        elif action == "pass":
            for _ in range(amount):  # millisecond by millisecond
                now += 1
                if period and now == last + period:
                    last = now
                    for size in [size for at, size in held if at <= now]:
                        if buffer_size < 0 or sum(queue) + size <= buffer_size:
                            queue.append(size)
                    held = [(at, size) for at, size in held if at > now]
            sampled = receiver.sample(now * MS)
            lost += len(sampled.refused)
            assert set(sampled.reasons) <= {"overflow"}
        elif action == "read":
            taken_out = receiver.nextPacket()
            assert (len(taken_out.packet.data) if taken_out else None) == (
                queue.pop(0) if queue else None
            )
            read += taken_out is not None
        else:
            receiver.enable(amount, now * MS)
            period, last = amount, now
        head = receiver.head
        assert (head and len(head.packet.data)) == (queue[0] if queue else None)
        assert taken == receiver.queued + read + lost
        assert receiver.queued_bytes == sum(queue) + sum(size for _, size in held)
    assert [len(each.packet.data) for each in iter(receiver.nextPacket, None)] == queue


def test_samples_fall_on_the_grid_from_enabling_on_however_late_one_looks() -> None:
    receiver = started(32, now=5)
    assert receiver.next_sample() is None
    receiver.receive(copy(1), 40 * MS)
    assert receiver.next_sample() == 64 * MS + 5
    assert receiver.sample(64 * MS + 4).readable == ()
    receiver.receive(copy(2), 64 * MS + 6)  # after the grid instant, before anybody looked
    assert [len(each.packet.data) for each in receiver.sample(64 * MS + 99).readable] == [1]
    assert receiver.next_sample() == 96 * MS + 5


def test_an_arrival_on_the_grid_is_readable_then() -> None:
    receiver = started(32)
    receiver.receive(copy(1), 32 * MS)
    assert receiver.next_sample() == 32 * MS
    assert len(receiver.sample(32 * MS).readable) == 1
    receiver.receive(copy(1), 32 * MS)
    assert receiver.next_sample() == 64 * MS


def test_enabling_again_restarts_the_period_and_keeps_what_is_held() -> None:
    receiver = started(32)
    receiver.receive(copy(1), 10 * MS)
    receiver.enable(64, 20 * MS)
    assert receiver.next_sample() == 84 * MS
    receiver.disable()
    assert receiver.next_sample() is None
    assert receiver.sample(10**12).readable == ()
    assert receiver.receive(copy(1), 30 * MS) == "disabled"
    assert receiver.queued == 1
    receiver.enable(10, 100 * MS)
    assert len(receiver.sample(110 * MS).readable) == 1


def test_the_head_packet_stays_until_it_is_taken() -> None:
    receiver = started(32)
    assert receiver.head is None
    receiver.receive(copy(2), 7)
    receiver.receive(copy(3), 8)
    receiver.sample(32 * MS)
    first = receiver.head
    assert first is not None and len(first.packet.data) == 2
    assert receiver.nextPacket() is first
    assert receiver.head is not first
