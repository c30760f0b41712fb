"""A neighbour: one listener per type, and what becomes of the copies that it was given."""

from hilgw.engine.lines import Lines
from hilgw.engine.neighbour import Neighbour, Outlet
from hilgw.engine.observer import Observer, State
from hilgw.medium.ledger import Ledger
from hilgw.medium.medium import Medium
from hilgw.medium.packet import Copy, Packet
from hilgw.medium.pose import Pose
from hilgw.reasons import PacketRefused, RefusedReason


class CountedNeighbour:
    def __init__(self) -> None:
        self.ledger = Ledger()
        self.medium = Medium(self.ledger)
        self.carried: list[Copy] = []
        self.refuses: RefusedReason | None = None
        lines = Lines(Observer(), lambda: 0)
        self.neighbour = Neighbour("field", lines, "tcp/field", self.carry, self.medium)

    def carry(self, copy: Copy, outlet: Outlet) -> RefusedReason | None:
        if self.refuses is None:
            self.carried.append(copy)
        return self.refuses

    def send(self, channel: int = 1, pose: Pose | None = None, **more: object) -> None:
        emitter = self.ledger.emitter("tx")
        emitter.offer(None)
        emitter.depart()
        packet = Packet(b"x", channel, "radio", "tx", **more)  # type: ignore[arg-type]
        self.medium.transmit(packet, pose, mounted_on="rover")

    def counts(self) -> tuple[int, int, int, dict[str, int]]:
        assert self.ledger.violations() == []
        found = self.ledger.station("radio@field").as_dict()
        return found["accepted"], found["delivered"], found["queued"], found["refused"]


def test_it_gets_what_it_listens_to_while_it_is_there() -> None:
    bench = CountedNeighbour()
    bench.send()
    bench.neighbour.listen({"radio": frozenset({1})})
    assert (bench.neighbour.state, bench.neighbour.is_up) == (State.UP, True)
    bench.send()
    bench.send(2)
    bench.neighbour.listen({"radio": None})
    bench.send(2)
    bench.neighbour.listen({"infra-red": None})
    bench.send()
    bench.neighbour.leave(State.WAITING, "lost")
    bench.send()
    assert [each.packet.channel for each in bench.carried] == [1, 2]
    assert (bench.neighbour.ups, bench.neighbour.reason) == (1, "lost")


def test_range_and_pose_are_for_the_neighbour_to_judge() -> None:
    bench = CountedNeighbour()
    bench.neighbour.listen({"radio": None})
    pose = Pose((1000.0, 0.0, 0.0))
    bench.send(pose=pose, range=0.1)
    (copy,) = bench.carried
    assert (copy.origin, copy.mounted_on) == (pose, "rover")


def test_what_came_from_another_gateway_does_not_go_to_one() -> None:
    bench = CountedNeighbour()
    bench.neighbour.listen({"radio": None})
    bench.medium.transmit(Packet(b"x", 1, "radio", "tx@desk", gateway="desk"), None)
    assert bench.carried == []


def test_copies_wait_until_they_are_settled() -> None:
    bench = CountedNeighbour()
    bench.neighbour.listen({"radio": None})
    for _ in range(5):
        bench.send()
    assert bench.counts() == (5, 0, 5, {})
    outlet = bench.neighbour.outlet("radio")
    outlet.settle(2, 1)
    assert bench.counts() == (5, 2, 2, {"link": 1})
    outlet.settle(0, 2, PacketRefused.UNCONFIRMED)
    assert bench.counts() == (5, 2, 0, {"link": 1, "unconfirmed": 2})
    outlet.settle(1, -1, PacketRefused.UNCONFIRMED)  # it is back, and reports on one of them
    assert bench.counts() == (5, 3, 0, {"link": 1, "unconfirmed": 1})
    bench.refuses = PacketRefused.OVERFLOW
    bench.send()
    assert bench.counts() == (6, 3, 0, {"link": 1, "unconfirmed": 1, "overflow": 1})
    bench.refuses = None
    bench.send()
    outlet.expire()
    assert bench.ledger.violations() == []
    assert bench.ledger.station("radio@field").as_dict()["expired"] == 1
