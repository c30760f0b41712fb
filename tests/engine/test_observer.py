"""Observers of events, and neighbours: one listener per type, and copies for others."""

from dataclasses import dataclass

from hilgw.engine.lines import Lines
from hilgw.engine.neighbour import Neighbour, Outlet
from hilgw.engine.observer import Observer, Observers, PoseEvent, State
from hilgw.medium.ledger import Ledger
from hilgw.medium.medium import Medium
from hilgw.medium.packet import Copy, Packet
from hilgw.medium.pose import Pose
from hilgw.reasons import PacketRefused, RefusedReason
from hilgw.testing.sim import Recorder
from tests.engine.fakes import Poses

EVENT = PoseEvent("rover", None, 5)


def test_without_an_observer_a_kind_costs_one_test() -> None:
    stream, poses = Observers(Recorder()), Poses()
    often = (stream.motor_command, stream.sensor_value, stream.line_bytes, stream.transmitted)
    assert often == (None, None, None, None) and stream.pose_change is None
    stream.add(poses)
    assert stream.pose_change is not None
    stream.pose_change(EVENT)
    stream.remove(poses)
    assert stream.pose_change is None and poses.events == [EVENT]
    stream.remove(poses)  # once more: nothing to do


def test_each_event_goes_to_all_that_take_its_kind_and_a_failing_one_harms_no_other() -> None:
    class Failing(Observer):
        def notice(self, source: str, text: str) -> None:
            raise ValueError(text)

    first, second, poses, failing = Recorder(), Recorder(), Poses(), Failing()
    faults: list[tuple[Observer, str]] = []
    stream = Observers(
        first,
        failing,
        poses,
        second,
        on_fault=lambda each, error: faults.append((each, str(error))),
    )
    stream.notice("a", "one")
    stream.notice("a", "two")
    stream.state("a", State.UP, "")
    assert first.notices == second.notices == ["one", "two"]
    assert first.states == second.states == [("a", State.UP, "")]
    assert poses.events == []
    assert faults == [(failing, "one")]  # reported once


@dataclass
class EqualToOthers(Observer):
    seen: int = 0

    def notice(self, source: str, text: str) -> None:
        self.seen += 1


def test_equal_observers_are_two() -> None:
    one, two = EqualToOthers(), EqualToOthers()
    stream = Observers(one, two)
    stream.notice("a", "text")
    stream.remove(one)
    stream.notice("a", "text")
    assert (one.seen, two.seen) == (1, 2)


def test_an_observer_may_take_some_kinds_only() -> None:
    recorder, stream = Recorder(), Observers()
    stream.add(recorder, ["state"])
    stream.notice("a", "text")
    stream.state("a", State.UP, "")
    stream.add(recorder, ["notice"])
    stream.notice("a", "more")
    stream.state("a", State.CLOSED, "")
    assert (recorder.notices, recorder.entered) == (["more"], [State.UP])


def test_an_observer_may_leave_and_another_come_during_an_event() -> None:
    class Leaving(Recorder):
        def notice(self, source: str, text: str) -> None:
            super().notice(source, text)
            stream.remove(self)
            stream.add(late)

    leaving, last, late = Leaving(), Recorder(), Recorder()
    stream = Observers(leaving, last)
    stream.notice("a", "one")
    stream.notice("a", "two")
    assert (leaving.notices, last.notices, late.notices) == (["one"], ["one", "two"], ["two"])


def test_a_source_learns_whether_its_kind_is_taken() -> None:
    seen: list[bool] = []
    stream, first, second = Observers(), Poses(), Poses()
    stream.switch("pose_change", lambda report: seen.append(report is not None))
    for change in (stream.add, stream.remove):
        for observer in (first, second):
            change(observer)
    assert seen == [False, True, True, True, False]


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
