"""Streams count the same at both ends, and what a packet costs at the gateway that sends it."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from hilgw.engine.lines import Lines
from hilgw.engine.neighbour import Neighbour
from hilgw.engine.observer import Observers
from hilgw.federation.member import (
    LARGEST_GAP,
    LONGEST_SHOWN,
    MOST_SHOWN,
    InStream,
    Member,
    OutStream,
)
from hilgw.federation.outgoing import LONGEST_LIGHT, MOST_LIGHT, MOST_ROUTES, Outgoing
from hilgw.federation.shared import SharedAirs
from hilgw.federation.wire import GatewayState, Keys, MemberKey, decode_trailer
from hilgw.medium.airs import Airs
from hilgw.medium.ledger import Ledger
from hilgw.medium.medium import Medium
from hilgw.medium.packet import Packet
from hilgw.testing.conformance.simulated_rules import size_of
from tests import work


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


def test_the_status_has_a_bounded_part_of_what_another_gateway_names() -> None:
    (member,) = Sender(1, 1).members.values()
    names = [f"r{number}".ljust(2 * LONGEST_SHOWN, "x") for number in range(2 * MOST_SHOWN)]
    member.state = GatewayState("", robots={name: ["tx"] for name in names})
    shown = member.status()["robots"]
    assert [*shown] == [name[:LONGEST_SHOWN] for name in names[:MOST_SHOWN]]


FEW, MANY, MOST = 2, 10, 50
CHANNEL = 12


class Session:
    """Keeps what is put."""

    is_full = False

    def __init__(self) -> None:
        self.puts: list[tuple[str, bytes, bytes, bool]] = []

    def put(self, key: str, payload: bytes, attachment: bytes, *, is_light: bool) -> None:
        self.puts.append((key, payload, attachment, is_light))


class Sender:
    """A gateway among so many others, of which so many listen to the channel."""

    def __init__(self, members: int, listening: int) -> None:
        self.medium = Medium(Ledger())
        self.session = Session()
        self.members: dict[str, Member] = {}
        outgoing = Outgoing(
            Keys("lab", "sender"),
            1,
            self.session,  # type: ignore[arg-type]
            self.members,
            self.medium,
            SharedAirs(Airs(), "sender", [], lambda: 0),
            lambda call: None,  # what waits for a neighbour that does not get it
        )
        lines = Lines(Observers(), lambda: 0)
        for number in range(members):
            name = f"m{number}"
            neighbour = Neighbour(name, lines, "", outgoing.carry, self.medium)
            self.members[name] = Member(MemberKey(name, 100 + number, 1), neighbour, 0)
            channel = CHANNEL if number < listening else CHANNEL + 1 + number
            neighbour.listen({"radio": frozenset({channel})})
        outgoing.changed()

    def transmit(self, data: bytes = b"ping") -> None:
        self.medium.transmit(Packet(data, CHANNEL, "radio", "robot.tx", "robot"))

    def instructions(self) -> int:
        """Of one packet, where the ones before have made what is made once."""
        self.transmit()
        return work.instructions(self.transmit)


@pytest.mark.parametrize("kept", ["channels", "sources"])
def test_a_sender_forgets_channels_and_sources_where_there_are_too_many(kept: str) -> None:
    sender, sizes = Sender(1, 1), list[int]()
    sender.members["m0"].neighbour.listen({"radio": None})
    for number in range(MOST_ROUTES + 1):
        channel, source = (number, "tx") if kept == "channels" else (CHANNEL, f"tx{number}")
        sender.medium.transmit(Packet(b"ping", channel, "radio", source, "robot"))
        if number >= MOST_ROUTES - 1:
            sender.session.puts.clear()
            sizes.append(size_of(sender))
    assert sizes[1] < sizes[0]


def test_each_listener_costs_a_packet_the_same() -> None:
    few, more, many = (Sender(MOST, each * FEW).instructions() for each in (1, 2, 3))
    assert 0 < many - more == more - few


@pytest.mark.parametrize("listening", [1, MANY])
def test_a_packet_leaves_once_with_a_number_for_each_listener(listening: int) -> None:
    sender = Sender(MOST, listening)
    sender.transmit()
    sender.transmit()
    assert [put[:2] for put in sender.session.puts] == [
        (f"hilgw/lab/packet/sender/radio/{CHANNEL}", b"ping")
    ] * 2
    for member in range(MOST):
        trailers = [put[2].partition(b"\0")[2] for put in sender.session.puts]
        numbers = [decode_trailer(each, 100 + member)[2] for each in trailers]
        assert numbers == ([1, 2] if member < listening else [None, None])


def test_a_packet_with_the_head_of_the_one_before_costs_no_json() -> None:
    sender = Sender(FEW, FEW)
    sender.transmit()
    calls = work.calls(sender.transmit)
    assert calls["outgoing.flush"] == 1
    assert not calls["wire.encode_json"] and not calls["outgoing._receivers"]


def test_a_packet_is_light_while_few_others_are_under_way_to_each_listener() -> None:
    sender = Sender(MOST, MANY)
    for _ in range(MOST_LIGHT + 2):
        sender.transmit()
    assert [put[3] for put in sender.session.puts] == [True] * MOST_LIGHT + [False] * 2
    slow, *others = (sender.members[f"m{number}"] for number in range(MANY))
    for member in others:
        member.settle({"radio": (MOST_LIGHT + 2, 0)})
    slow.settle({"radio": (1, 0)})
    sender.transmit()
    slow.settle({"radio": (3, 1)})
    sender.transmit()
    assert [put[3] for put in sender.session.puts[-2:]] == [False, True]


def test_a_packet_is_not_light_behind_a_long_one() -> None:
    sender = Sender(FEW, FEW)
    sender.transmit()
    sender.transmit(bytes(LONGEST_LIGHT))
    sender.transmit(bytes(LONGEST_LIGHT + 1))
    sender.transmit()
    first, second = sender.members.values()
    first.settle({"radio": (3, 0)})
    second.settle({"radio": (2, 0)})
    sender.transmit()
    second.settle({"radio": (2, 1)})
    sender.transmit()
    light = [put[3] for put in sender.session.puts]
    assert light == [True, True, False, False, False, True]
