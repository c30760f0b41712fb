"""Streams: nothing is taken twice, and both ends count the same, whatever becomes of packets."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from hilgw.federation.member import LARGEST_GAP, InStream, Member, OutStream
from hilgw.federation.wire import MemberKey


class Link(RuleBasedStateMachine):
    """Both ends of a stream. Packets are lost, doubled and reordered; the receiving end asks how
    many were sent, the sending end what came, and answers may be lost, or come late."""

    def __init__(self) -> None:
        super().__init__()
        self.out, self.into = OutStream(), InStream()
        self.under_way: list[int] = []
        self.taken: list[int] = []
        self.delivered = self.lost = 0

    @rule(count=st.integers(1, 5))
    def send(self, count: int) -> None:
        self.under_way += [self.out.next() for _ in range(count)]

    @rule(data=st.data(), stays=st.booleans())
    def arrive(self, data: st.DataObject, stays: bool) -> None:
        if self.under_way:
            index = data.draw(st.integers(0, len(self.under_way) - 1))
            number = self.under_way[index] if stays else self.under_way.pop(index)
            if self.into.accept(number):
                self.taken.append(number)

    @rule()
    def lose_all(self) -> None:
        self.under_way.clear()

    @rule()
    def reach(self) -> None:
        self.into.reach(self.out.sent)

    @rule()
    def settle(self) -> None:
        delivered, lost = self.out.settle(self.into.received, self.into.lost)
        self.delivered += delivered
        self.lost += lost

    @rule()
    def give_up(self) -> None:
        self.lost += self.out.give_up()

    @rule(received=st.integers(0, 50), lost=st.integers(0, 50))
    def answer_that_no_receiver_gives(self, received: int, lost: int) -> None:
        if received + lost > self.out.sent or received < self.out.delivered:
            before = vars_of(self.out)
            with pytest.raises(ValueError, match="counts"):
                self.out.settle(received, lost)
            assert vars_of(self.out) == before

    @rule()
    def impossible_number(self) -> None:
        before = vars_of(self.into)
        with pytest.raises(ValueError, match="far beyond"):
            self.into.accept(self.into.last + LARGEST_GAP + 1)
        assert vars_of(self.into) == before

    @invariant()
    def nothing_is_taken_twice_and_the_order_is_kept(self) -> None:
        assert self.taken == sorted(set(self.taken))
        assert len(self.taken) == self.into.received

    @invariant()
    def the_ends_add_up(self) -> None:
        out, into = self.out, self.into
        assert out.sent == out.delivered + out.lost + out.unsettled
        assert into.received + into.lost == into.last <= out.sent
        assert (self.delivered, self.lost) == (out.delivered, out.lost)
        assert min(out.unsettled, out.lost, out.delivered, into.lost) >= 0

    def teardown(self) -> None:
        self.reach()
        self.settle()
        assert (self.out.delivered, self.out.lost) == (self.into.received, self.into.lost)
        assert self.out.unsettled == 0


def vars_of(stream: OutStream | InStream) -> list[int]:
    return [getattr(stream, name) for name in stream.__slots__]


TestLink = Link.TestCase


def test_what_was_given_up_is_counted_when_the_other_end_is_back() -> None:
    out, into = OutStream(), InStream()
    for _ in range(10):
        into.accept(out.next())
    assert out.give_up() == 10
    assert out.settle(into.received, into.lost) == (10, -10)
    assert (out.delivered, out.lost, out.unsettled) == (10, 0, 0)


def test_clocks_are_compared_by_the_query_with_the_shortest_way() -> None:
    member = Member(MemberKey("bench", 1, 1), None, 0)  # type: ignore[arg-type]

    assert member.offset_ns is member.round_trip_ns is None
    for way, back in ((50, 900), (10, 12), (700, 20)):  # its clock is 5000 behind
        received = 1000 + way - 5000
        member.compare_clocks(1000, received, received + 30, 1000 + way + 30 + back)
    assert member.round_trip_ns == 22
    assert member.offset_ns == 5001
    member.compare_clocks(1000, 0, 10_000, 1010)  # longer there than it took here
    assert member.round_trip_ns == 22
