"""Each motor command with its outcome is an event, and so is each value that was passed on."""

import pytest

from hilgw.control.events import Accepted, MotorCommand, Outcome, SensorValue
from hilgw.control.modes import RobotMode
from hilgw.devices.kinds import Device, MotorLimits, Refusal
from hilgw.engine.control_loop.bodies import body_end
from hilgw.engine.control_loop.devices import readings
from hilgw.engine.observer import CommandEvent, ValueEvent
from tests.engine.control_loop.scripted import ScriptedLoop

WHEEL = Device(name="wheel", kind="RotationalMotor", index=0, limits=MotorLimits(max_velocity=2.0))
GYRO = Device(name="gyro", kind="DistanceSensor", index=1)
SLOW, FAST, UNKNOWN = (
    MotorCommand(index, "velocity", value) for index, value in ((0, 1.0), (0, 9.0), (7, 1.0))
)


class Watched:
    """A control loop, and the events of its commands and values."""

    def __init__(self, run: ScriptedLoop) -> None:
        self.run = run
        self.commands: list[CommandEvent] = []
        self.values: list[ValueEvent] = []
        run.observer.motor_command = self.commands.append
        run.observer.sensor_value = self.values.append

    def outcomes(self) -> list[tuple[str, str, Outcome]]:
        return [(each.body, each.device, each.outcome) for each in self.commands]


def reasons(watched: Watched) -> list[str]:
    outcomes = [each.outcome for each in watched.commands]
    return [each.reason if isinstance(each, Refusal) else each for each in outcomes]


def test_each_command_is_an_event_with_its_outcome() -> None:
    watched = Watched(ScriptedLoop([WHEEL]))
    watched.run.controller_sends(SLOW)
    now = watched.run.scheduler.now()
    assert watched.commands == [
        CommandEvent("cab", "", "wheel", SLOW, Accepted.SENT, {"velocity": 1.0}, now)
    ]
    watched.run.controller_sends(FAST, UNKNOWN)
    assert reasons(watched) == ["sent", "beyond_limit", "unknown_device"]
    watched.run.loop.end()
    watched.run.controller_sends(SLOW)
    assert reasons(watched)[3:] == ["gateway_ended"]


def test_a_shadow_reports_its_own_outcome() -> None:
    other = Device(name="wheel", kind="RotationalMotor", index=3)
    run = ScriptedLoop([WHEEL], remote=[other], mode=RobotMode.SHADOW)
    run.pass_ms(200)
    watched = Watched(run)
    run.controller_sends(SLOW)
    assert watched.outcomes() == [
        ("body", "wheel", Accepted.SENT),
        ("remote", "wheel", Accepted.SENT),
    ]


def test_each_value_that_was_passed_on_is_an_event_and_no_other() -> None:
    watched = Watched(ScriptedLoop([WHEEL, GYRO]))
    run = watched.run
    run.body_reports(SensorValue(1, 0.5))
    run.pilot.stalled = True
    run.pilot.write(b"waits")
    run.body_reports(SensorValue(1, 1.0))
    run.body_reports(SensorValue(1, 2.0))
    now = run.scheduler.now()
    assert watched.values == [ValueEvent("cab", "gyro", 0.5, now)]
    run.pilot.accept()
    assert watched.values[1:] == [ValueEvent("cab", "gyro", 2.0, now)]
    run.controller.detach()
    run.body_reports(SensorValue(1, 3.0))
    assert len(watched.values) == 2


def test_without_an_observer_nothing_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_end, "CommandEvent", None)
    monkeypatch.setattr(readings, "ValueEvent", None)
    run = ScriptedLoop([WHEEL, GYRO])
    run.controller_sends(SLOW)
    run.body_reports(SensorValue(1, 0.5))
    report = run.loop.report()
    assert (report["commands_out"], report["values_in"]) == (1, 1)
