"""What a packet costs at the gateway that sends it, counted: no clock is read, nothing is sent."""

import pytest

from hilgw.engine.lines import Lines
from hilgw.engine.neighbour import Neighbour
from hilgw.engine.observer import Observers
from hilgw.federation.member import Member
from hilgw.federation.outgoing import LONGEST_LIGHT, MOST_LIGHT, Outgoing
from hilgw.federation.shared import SharedAirs
from hilgw.federation.wire import Keys, MemberKey, decode_trailer
from hilgw.medium.airs import Airs
from hilgw.medium.ledger import Ledger
from hilgw.medium.medium import Medium
from hilgw.medium.packet import Packet
from tests import work

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
