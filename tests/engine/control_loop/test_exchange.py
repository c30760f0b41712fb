"""A control loop exchanges its body while the controller stays."""

from __future__ import annotations

from typing import Any

import pytest

from hilgw.control.events import FeedbackSwitch, LedValue, MotorCommand, SensorSwitch, SensorValue
from hilgw.devices.kinds import Device, MotorLimits
from hilgw.devices.properties import LedFields
from hilgw.testing.sim import FakeTransport
from tests.engine.control_loop.scripted import ScriptedLoop

LIMITS = MotorLimits(max_velocity=2)
WHEEL = Device(name="wheel", kind="RotationalMotor", index=0, limits=LIMITS)
EYE = Device(name="eye", kind="DistanceSensor", index=1)
ROBOT = (WHEEL, EYE)
FORWARD = MotorCommand(0, "velocity", 1.0)


def exchange(run: ScriptedLoop, *devices: Device) -> FakeTransport:
    """The body is replaced by one with these devices, which connects."""
    run.loop.detach_body()
    run.body = run.new_body(devices, "new")
    run.loop.attach_body(run.body)
    run.calls.clear()
    return run.connect(run.body)


def of(run: ScriptedLoop, name: str) -> list[tuple[Any, ...]]:
    """The calls of one session."""
    return [call[1:] for call in run.calls if call[0] == name]


def test_the_old_body_stops_before_it_goes() -> None:
    run = ScriptedLoop(ROBOT)
    run.controller_sends(FORWARD)
    assert run.body is not None
    connection = run.body.transport
    assert isinstance(connection, FakeTransport)
    connection.take()
    assert run.loop.detach_body() is run.body
    assert connection.take().startswith(b"stop ")
    assert run.loop.report()["stops"] == {"exchanged": 1}
    assert run.observer.stops == [("exchanged", "another body takes its place")]
    assert run.loop.report()["body"] is None
    assert run.loop.detach_body() is None


def test_nothing_of_the_old_body_counts_any_more() -> None:
    run = ScriptedLoop(ROBOT)
    run.body_reports(SensorValue(1, 7.0))
    old = run.body
    run.pilot.stalled = True
    run.body_reports(SensorValue(1, 8.0))
    run.body_reports(SensorValue(1, 8.5))  # held: the controller reads too slowly
    exchange(run, *ROBOT)
    assert run.loop.report()["sensors"] == {}
    run.pilot.accept()
    assert of(run, "controller") == []
    run.calls.clear()
    new, run.body = run.body, old
    assert run.body_reports(SensorValue(1, 9.0)) == []
    assert old is not None
    old.detach()
    assert run.calls == [] and run.controller.transport is not None
    run.body = new
    assert run.body_reports(SensorValue(1, 1.0)) == [("controller", "report", (1, 1.0))]
    assert run.loop.report()["sensors"] == {"eye": 1.0}


def test_a_controller_that_knows_the_devices_stays() -> None:
    run = ScriptedLoop(ROBOT, {"lamp": LedFields()})
    exchange(run, *ROBOT)
    assert of(run, "controller") == []
    assert run.controller_sends(FORWARD) == [("new", "command", FORWARD)]
    assert run.controller_sends(LedValue(2, 1)) == [("controller", "fault", 2)]  # of no body


def test_periods_of_the_controller_hold_for_the_new_body() -> None:
    run = ScriptedLoop(ROBOT)
    run.controller_sends(SensorSwitch(1, 64.0), FeedbackSwitch(0, 32.0))
    run.calls.clear()
    run.loop.detach_body()
    assert of(run, "body")[1:] == [("switch", 1, None), ("tune", FeedbackSwitch(0, 0))]
    run.controller_sends(SensorSwitch(1, 128.0))  # while there is no body
    exchange(run, *ROBOT)
    assert of(run, "new") == [("switch", 1, 128.0), ("tune", FeedbackSwitch(0, 32.0))]


@pytest.mark.parametrize(
    "devices",
    [
        (WHEEL,),
        (WHEEL, Device(name="ear", kind="DistanceSensor", index=1)),
        (WHEEL, Device(name="eye", kind="LightSensor", index=1)),
        (*ROBOT, Device(name="lamp", kind="LED", index=2)),
    ],
)
def test_a_body_with_other_devices_needs_a_new_controller(devices: tuple[Device, ...]) -> None:
    run = ScriptedLoop(ROBOT)
    run.controller_sends(SensorSwitch(1, 64.0))
    exchange(run, *devices)
    assert ("switch", 1, 64.0) not in of(run, "new")
    known = [(each.index, each.name, each.kind) for each in run.controller_session.devices]
    assert known == [(each.index, each.name, each.kind) for each in devices]
    assert run.controller_sends(FORWARD) == [("new", "command", FORWARD)]


def test_limits_and_a_latch_hold() -> None:
    run = ScriptedLoop(ROBOT, latch=True)
    fast = MotorCommand(0, "velocity", 3.0)
    run.controller_sends(FORWARD)
    exchange(run, *ROBOT)
    assert not run.loop.safety.state.latched  # an exchange is no accident
    assert run.controller_sends(fast) == [("controller", "fault", 0)]
    run.controller_sends(FORWARD)
    run.controller.detach()
    run.controller.attach(run.pilot)  # type: ignore[arg-type]
    exchange(run, *ROBOT)
    assert run.loop.safety.state.latched == "disconnected"
    assert run.controller_sends(FORWARD) == [("controller", "fault", 0)]
    run.loop.safety.state.arm()
    assert run.controller_sends(FORWARD) == [("new", "command", FORWARD)]
    assert run.loop.report()["refused"] == {"beyond_limit": 1, "latched": 1}


def test_without_a_body_commands_are_refused_and_a_new_body_moves_on_command_only() -> None:
    run = ScriptedLoop(ROBOT)
    run.controller_sends(FORWARD)
    run.loop.detach_body()
    assert run.controller_sends(FORWARD) == [("controller", "fault", 0)]
    assert run.loop.report()["refused"] == {"no_body": 1}
    connection = exchange(run, *ROBOT)
    assert connection.take() == b""
    assert not run.loop.safety.state.moving


def test_a_new_body_that_is_lost_takes_the_controller_along() -> None:
    run = ScriptedLoop(ROBOT)
    exchange(run, *ROBOT)
    assert run.body is not None
    run.body.detach()
    assert list(run.controller_session.devices) == []
