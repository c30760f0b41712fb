"""The fan-out: each event to those that take its kind; without an observer nothing is built."""

from dataclasses import dataclass

from hilgw.engine.observer import Observer, Observers, PoseEvent, State
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
