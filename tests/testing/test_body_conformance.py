"""BodyConformance finds each defect of a body, by the rule that it breaks."""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from firmware_mocks import create2
from hilgw.bodies.create2 import BODY, Create2Body, Create2Settings
from hilgw.bodies.create2.session import Create2Session
from hilgw.control.declared import StopFrame
from hilgw.control.events import Command, Connected, Event, Outcome, StopPlan, Write
from hilgw.devices.kinds import MotorLimits
from hilgw.plugins import new_air
from hilgw.settings import MockSpec
from hilgw.testing import BodyConformance, BrokenRule
from tests.bodies.test_every_body import DOCS


class OnCreate2(BodyConformance):
    body = BODY
    settings = {"port": "/dev/x"}
    page = DOCS / "create2.md"
    silence_s = 1.0

    def moves(self, mock: Any) -> bool:
        return bool(mock.drive != (0, 0))

    def make_mock(self, spec: MockSpec) -> Any:
        """As a third party's test that does not install its mock."""
        return create2.create("robot", new_air(), spec.parameters)


class CountsNoRefusal(Create2Session):
    def command(self, command: Command, now: int) -> tuple[Outcome, list[Event]]:
        answer = super().command(command, now)
        self.counts.clear()
        return answer


class IgnoresLimits(Create2Session):
    def __init__(self, settings: Create2Settings) -> None:
        super().__init__(dataclasses.replace(settings, limits={}))


class Remembers(Create2Session):
    """It drives on after the robot came back."""

    _before: bytes = b""

    def close(self) -> list[Event]:
        self._before = self._drive()
        return super().close()

    def receive(self, data: bytes, now: int) -> list[Event]:
        events = super().receive(data, now)
        is_back = any(isinstance(event, Connected) for event in events) and self._before
        return [*events, Write(self._before)] if is_back else events


class RaisesOnNoise(Create2Session):
    def receive(self, data: bytes, now: int) -> list[Event]:
        if data and data[0] != 19:
            raise ValueError("a byte that is no header")
        return super().receive(data, now)


def but(name: str, **members: Any) -> type[Create2Session]:
    """Return the session of the body with these members instead of its own."""
    return type(name, (Create2Session,), members)


Own = Create2Session
StopsNothing = but("StopsNothing", _halt=lambda self, reason, now: self._at_rest([]))
StopsWithOtherBytes = but(
    "StopsWithOtherBytes",
    _halt=lambda self, *_: self._rest() or self._at_rest([Write(b"\x91\0\0\0\0")]),
)
ReportsNoStop = but(
    "ReportsNoStop", stop=lambda self, *why: dataclasses.replace(Own.stop(self, *why), commands=())
)
# The wheels keep what they were commanded, and speed up to it.
StopsAtTheRate = but("StopsAtTheRate", _rest=lambda self: None)
StopsNoMotor = but("StopsNoMotor", stop_motor=lambda self, index, now: None)
HasNoEmergencyStop = but("HasNoEmergencyStop", _stop_data=lambda self: b"")
AcceptsAtOnce = but("AcceptsAtOnce", _takes_requests=lambda self, now: True)
EnablesAnything = but("EnablesAnything", switch=lambda self, index, period_ms, now: [])
WaitsForever = but(
    "WaitsForever", next_deadline=lambda self: None if self._is_up else Own.next_deadline(self)
)
TakesNoiseForTheRobot = but(
    "TakesNoiseForTheRobot",
    receive=lambda self, data, now: [*Own.receive(self, data, now), Connected("a robot")],
)
ShowsRawBytes = but("ShowsRawBytes", describe=lambda self, data, *, received: data.decode("latin1"))
StopsAfterCommandsOnly = but(
    "StopsAfterCommandsOnly",
    stop=lambda self, *why: Own.stop(self, *why) if self.counts["commands"] else StopPlan([]),
)
RepeatsNoStop = but("RepeatsNoStop", stop_again=lambda self, motors, now: [])


DEFECTS: list[tuple[type[Create2Session], Callable[[BodyConformance], None]]] = [
    (StopsNothing, BodyConformance.test_a_stop_stops_every_motor),
    (StopsWithOtherBytes, BodyConformance.test_a_stop_stops_every_motor),
    (ReportsNoStop, BodyConformance.test_a_stop_stops_every_motor),
    (StopsAtTheRate, BodyConformance.test_a_rate_limit_does_not_slow_a_stop),
    (StopsNoMotor, BodyConformance.test_each_motor_stops_alone),
    (HasNoEmergencyStop, BodyConformance.test_the_emergency_stop),
    (StopsAfterCommandsOnly, BodyConformance.test_a_stop_needs_no_command),
    (RepeatsNoStop, BodyConformance.test_a_stop_that_is_lost_is_written_again),
    (AcceptsAtOnce, BodyConformance.test_no_command_before_the_robot_is_up),
    (CountsNoRefusal, BodyConformance.test_requests_that_the_robot_does_not_have),
    (EnablesAnything, BodyConformance.test_requests_that_the_robot_does_not_have),
    (IgnoresLimits, BodyConformance.test_limits_reach_the_motors),
    (WaitsForever, BodyConformance.test_silence),
    (Remembers, BodyConformance.test_reconnection),
    (RaisesOnNoise, BodyConformance.test_noise_before_the_robot),
    (TakesNoiseForTheRobot, BodyConformance.test_noise_before_the_robot),
    (ShowsRawBytes, BodyConformance.test_bytes_in_words),
]


@pytest.mark.parametrize(("session", "rule"), DEFECTS)
def test_each_defect_breaks_its_rule(
    session: type[Create2Session], rule: Callable[[BodyConformance], None]
) -> None:
    class Body(Create2Body):
        Session: ClassVar[type[Any]] = session

    class Broken(OnCreate2):
        body = Body()

    rule(OnCreate2())
    with pytest.raises(BrokenRule):
        rule(Broken())


def test_a_stop_that_is_not_on_the_page_breaks_its_rule() -> None:
    class Body(Create2Body):
        def stop_frame(self, settings: Create2Settings) -> StopFrame:
            return dataclasses.replace(super().stop_frame(settings), form="91 00 00 00 00 01")

    class Broken(OnCreate2):
        body = Body()

    with pytest.raises(BrokenRule, match="rule page"):
        Broken().test_the_declared_stop()
    with pytest.raises(BrokenRule, match="rule a stop leaves"):
        Broken().test_a_stop_stops_every_motor()


def test_a_body_that_checks_no_limits_breaks_its_rule() -> None:
    class Body(Create2Body):
        def check(self, settings: Create2Settings) -> list[tuple[str, str, str]]:
            return []

    class Broken(OnCreate2):
        body = Body()

    with pytest.raises(BrokenRule, match="rule limits"):
        Broken().test_settings()
    Broken.settings = {"port": "/dev/x", "limits": {"no such motor": MotorLimits()}}
    Broken.body = BODY
    with pytest.raises(BrokenRule, match="rule settings"):
        Broken().test_settings()
