"""PacedLine against simulated time: never faster than the line, exact over any busy period."""

from fractions import Fraction

from hypothesis import given, strategies as st

from hilgw.testing.sim import Clock
from hilgw.transports.virtual.pacing import CATCH_UP_NS, SLICE_NS, PacedLine

SECOND = 1_000_000_000


class Rig:
    def __init__(self, baud_rate: int | None, bits: int = 10) -> None:
        self.clock = Clock(SECOND + 7)
        self.arrived: list[tuple[int, bytes]] = []
        self.line = PacedLine(
            self.clock,
            lambda data: self.arrived.append((self.clock.time, data)),
            baud_rate=baud_rate,
            bits_per_byte=bits,
        )

    @property
    def data(self) -> bytes:
        return b"".join(data for _, data in self.arrived)


RATES = st.integers(min_value=50, max_value=4_000_000)


@given(
    baud_rate=RATES,
    bits=st.integers(min_value=8, max_value=12),
    sizes=st.lists(st.integers(min_value=1, max_value=50), min_size=1, max_size=20),
    late=st.integers(min_value=0, max_value=CATCH_UP_NS),
)
def test_one_busy_period_takes_exactly_its_time(
    baud_rate: int, bits: int, sizes: list[int], late: int
) -> None:
    rig = Rig(baud_rate, bits)
    start = rig.clock.now()
    sent = b"".join(bytes([number % 256]) * size for number, size in enumerate(sizes))
    rig.line.put(sent)
    rig.clock.run_until(start + 3600 * SECOND, late)
    assert rig.data == sent
    count = 0
    for when, data in rig.arrived:
        count += len(data)
        end = start + Fraction(count * bits * SECOND, baud_rate)
        assert when >= end, "faster than the line"
        assert when < end + 1 + late, "slower than the line"
        assert len(data) == 1 or len(data) * bits * SECOND <= SLICE_NS * baud_rate


def test_a_blocked_loop_does_not_let_bytes_pour_out() -> None:
    rig = Rig(9600)
    rig.line.put(bytes(2))
    rig.clock.time += 10 * SECOND
    rig.line.put(bytes(960))
    resumed = rig.clock.time
    rig.clock.run_until(resumed + 10 * SECOND)
    at_once = sum(len(data) for when, data in rig.arrived if when == resumed)
    assert at_once <= 5 + CATCH_UP_NS * 960 // SECOND
    assert rig.arrived[-1][0] >= resumed + SECOND - 2 * CATCH_UP_NS


def test_what_on_empty_puts_follows_without_a_gap() -> None:
    clock = Clock()
    arrived: list[int] = []
    more = [b"b", b"c"]

    def on_empty() -> None:
        if more:
            line.put(more.pop())

    line = PacedLine(
        clock,
        lambda data: arrived.append(clock.time),
        baud_rate=1000,
        bits_per_byte=10,
        on_empty=on_empty,
    )
    start = clock.now()
    line.put(b"a")
    clock.run_until(start + SECOND, late_ns=3_000_000)
    ten = 10_000_000
    assert [when - start - 3_000_000 for when in arrived] == [ten, 2 * ten, 3 * ten]


def test_held_nothing_is_handed_over() -> None:
    rig = Rig(9600)
    rig.line.put(b"abc")
    rig.line.hold()
    rig.line.put(b"def")
    rig.clock.run_until(rig.clock.time + SECOND)
    assert not rig.arrived
    assert len(rig.line) == 6
    rig.line.release()
    rig.clock.run_until(rig.clock.time + SECOND)
    assert rig.data == b"abcdef"


def test_cleared_nothing_more_comes() -> None:
    rig = Rig(9600)
    rig.line.put(b"abc")
    assert rig.line.clear() == 3
    rig.clock.run_until(rig.clock.time + SECOND)
    assert not rig.arrived
    rig.line.put(b"d")
    rig.clock.run_until(rig.clock.time + SECOND)
    assert rig.data == b"d"


def test_a_new_rate_begins_with_the_next_slice() -> None:
    rig = Rig(1000)
    start = rig.clock.time
    rig.line.put(b"ab")
    rig.line.set_line(2000, 11)
    rig.clock.run_until(start + SECOND)
    assert [when - start for when, _ in rig.arrived] == [10_000_000, 15_500_000]


def test_without_a_rate_everything_comes_at_the_next_turn() -> None:
    rig = Rig(None)
    rig.line.put(bytes(70_000))
    rig.line.put(b"x")
    assert not rig.arrived
    now = rig.clock.time
    rig.clock.run_until(now)
    assert rig.data == bytes(70_000) + b"x"
    assert {when for when, _ in rig.arrived} == {now}
