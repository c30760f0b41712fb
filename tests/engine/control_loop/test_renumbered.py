"""A body's session in the indices of another body."""

from typing import Any

from hilgw.control import events as control
from hilgw.control.safety import Mode
from hilgw.devices.kinds import Device
from hilgw.engine.control_loop.bodies.renumbered import RenumberedSession
from tests.bodies.bench import commanded
from tests.engine.control_loop.scripted import ScriptedBody

WHEEL = Device(name="wheel", kind="RotationalMotor", index=3)
EYE = Device(name="eye", kind="DistanceSensor", index=5)
RADAR = Device(name="radar", kind="LightSensor", index=7)
LED = Device(name="lamp", kind="LED", index=9)
TABLE = {
    each.name: each
    for each in (
        Device(name="wheel", kind="RotationalMotor", index=0),
        Device(name="eye", kind="DistanceSensor", index=1),
        Device(name="lamp", kind="LED", index=4),
        Device(name="radar", kind="Gyro", index=6),
    )
}
NEAR = (0.0, 0.0, 1.0)


def renumbered() -> tuple[ScriptedBody, RenumberedSession, list[tuple[Any, ...]]]:
    """The wheel is 0 and the eye 1 in the table, whose radar is another kind of device."""
    calls: list[tuple[Any, ...]] = []
    body = ScriptedBody("body", calls, [WHEEL, EYE, RADAR])
    session = RenumberedSession(body)
    session.open(0)
    session.renumber(TABLE)
    return body, session, calls


def test_events_have_the_indices_of_the_table() -> None:
    body, session, _ = renumbered()
    body.script(
        control.Connected("x"),
        control.Registered(WHEEL),
        control.Registered(RADAR),
        control.SensorValue(5, 1.0),
        control.SensorValue(7, 1.0),
        control.MotorFeedback(3, 2.0),
        control.PacketIn(5, 1, 0.0, NEAR, b"p"),
        control.DeviceFault(5),
        control.HardwareFault(3),
        control.HardwareFault(7),
        control.StopSent(),
        control.Refused(7, "nan", "?"),
        control.Write(b"w"),
    )
    assert session.receive(b"?", 0) == [
        control.Connected("x"),
        control.Registered(Device(name="wheel", kind="RotationalMotor", index=0)),
        control.SensorValue(1, 1.0),
        control.MotorFeedback(0, 2.0),
        control.PacketIn(1, 1, 0.0, NEAR, b"p"),
        control.DeviceFault(1),
        control.HardwareFault(0),
        control.HardwareFault(
            None
        ),  # of a device that the controller does not know: it stops all the same
        control.StopSent(),
        control.Refused(None, "nan", "?"),
        control.Write(b"w"),
    ]


def test_requests_reach_the_body_in_its_own_indices() -> None:
    body, session, calls = renumbered()
    commanded(session, control.MotorCommand(0, "velocity", 1.0), 0)
    session.switch(1, 32.0, 0)
    session.send(control.PacketOut(1, 2, b"p"), 0)
    session.tune(control.LedValue(0, 1), 0)
    assert [call[1:] for call in calls] == [
        ("command", control.MotorCommand(3, "velocity", 1.0)),
        ("switch", 5, 32.0),
        ("send", control.PacketOut(5, 2, b"p")),
        ("tune", control.LedValue(3, 1)),
    ]
    assert session.can_stop(0, Mode.VELOCITY)
    calls.clear()
    plan = session.stop_motor(0, 0)
    assert calls == [("body", "stop_motor", 3)]
    assert plan is not None and plan.commands == (control.MotorCommand(0, "velocity", 0.0),)
    stop = session.stop(control.StopReason.LATE, 0)
    assert stop.commands == (control.MotorCommand(0, "velocity", 0.0),)
    body.hardware_faults = ["'wheel': overload"]
    assert session.faults() == ["'wheel': overload"]
    assert session.emergency() == b"stop "
    assert [(each.index, each.name) for each in session.devices] == [(0, "wheel"), (1, "eye")]


def test_a_device_that_the_body_does_not_have_is_refused() -> None:
    """Also where its own device of this index is another one."""
    _, session, calls = renumbered()
    for events in (
        commanded(session, control.MotorCommand(3, "velocity", 1.0), 0),
        session.send(control.PacketOut(7, 2, b"p"), 0),
        session.tune(control.LedValue(5, 1), 0),
    ):
        assert [type(event) for event in events] == [control.Refused]
    assert session.switch(7, 32.0, 0) == []
    assert not session.can_stop(3, Mode.VELOCITY)
    assert calls == []


def test_its_own_indices_come_back() -> None:
    body, session, calls = renumbered()
    session.renumber(None)
    commanded(session, control.MotorCommand(3, "velocity", 1.0), 0)
    body.script(control.SensorValue(7, 1.0))
    assert session.receive(b"?", 0) == [control.SensorValue(7, 1.0)]
    assert calls[0][2].index == 3 and len(session.devices) == 3


def test_a_device_that_registers_late_is_known_then() -> None:
    body, session, _ = renumbered()
    body.devices.add(LED)
    body.script(control.Registered(LED))
    assert session.receive(b"?", 0) == [
        control.Registered(Device(name="lamp", kind="LED", index=4))
    ]
    assert session.tune(control.LedValue(4, 1), 0) == [control.Write(b"tune ")]


def test_devices_that_are_there_with_the_connection_are_known_then() -> None:
    body = ScriptedBody("body", [], [])
    session = RenumberedSession(body)
    body.devices.add(EYE)
    body.script(control.Connected("x"), control.SensorValue(5, 1.0))
    assert session.receive(b"?", 0) == [control.Connected("x"), control.SensorValue(5, 1.0)]
    assert list(session.devices) == [EYE]
