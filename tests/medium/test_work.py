"""What a packet costs beside stations that it does not concern, counted: no clock is read."""

from functools import cache

import pytest

from hilgw.medium.ledger import Ledger
from hilgw.medium.listeners import Listener
from hilgw.medium.medium import Medium
from hilgw.medium.packet import Packet
from hilgw.medium.pose import Pose
from tests import work

NEARBY = 10
FEW, MANY = 10, 10_000
SLACK_BYTES = 1024


class World:
    """Ten stations on channel 1, and others, each of its own robot, on channels 2 to 51."""

    def __init__(self, type: str, elsewhere: int) -> None:
        self.ledger = Ledger()
        self.medium = Medium(self.ledger)
        self._type = type
        for index in range(NEARBY):
            self._attach(f"near{index}", 1, float(index))
        for index in range(elsewhere):
            self._attach(f"far{index}", 2 + index % 50, float(index))

    def _attach(self, name: str, channel: int, x: float) -> None:
        count = self.ledger.station(name)
        self.medium.attach(
            Listener(
                name=name,
                type=self._type,
                owner=name,
                channels=frozenset([channel]),
                pose=Pose((x, 0.0, 0.0)),
                deliver=lambda copy: count.deliver(),
            )
        )

    def transmit(self, channel: int, range: float = 100.0) -> None:
        packet = Packet(b"x", channel, self._type, "near0.tx", "near0", range=range)
        self.medium.transmit(packet, Pose())


@cache
def worlds(type: str) -> tuple[World, World]:
    """Made once; packets do not change them."""
    return World(type, FEW), World(type, MANY)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("type", "channel", "range", "copies"),
    [
        ("infra-red", 1, 100.0, NEARBY - 1),
        ("radio", 1, -1.0, NEARBY - 1),
        ("radio", 1, 0.0, 0),
        ("radio", 99, 100.0, 0),
    ],
    ids=["received", "without limit", "out of range", "no listener"],
)
def test_stations_on_other_channels_cost_a_packet_nothing(
    type: str, channel: int, range: float, copies: int
) -> None:
    counted = []
    for world in worlds(type):
        before = world.ledger.source("near0.tx").copies
        world.transmit(channel, range)  # builds what is built once
        taken = work.instructions(lambda world=world: world.transmit(channel, range))  # type: ignore[misc]
        held = work.allocated(lambda world=world: world.transmit(channel, range))  # type: ignore[misc]
        counted.append((taken, held))
        assert world.ledger.source("near0.tx").copies - before == 3 * copies
    (few_taken, few_held), (many_taken, many_held) = counted
    assert few_taken > 0
    assert many_taken == few_taken
    assert many_held <= few_held + SLACK_BYTES
