"""A body's session in the indices of another body."""

from __future__ import annotations

from typing import Any

from hilgw.control.events import (
    Connected,
    DeviceFault,
    HardwareFault,
    LedValue,
    MotorCommand,
    MotorFeedback,
    PacketIn,
    PacketOut,
    Refused,
    Registered,
    SensorValue,
    StopReason,
    StopSent,
    Write,
)
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
    stop = MotorCommand(3, "velocity", 0.0)
    body.script(
        Connected("x"),
        Registered(WHEEL),
        Registered(RADAR),
        SensorValue(5, 1.0),
        SensorValue(7, 1.0),
        MotorFeedback(3, 2.0),
        PacketIn(5, 1, 0.0, NEAR, b"p"),
        DeviceFault(5),
        HardwareFault(3),
        HardwareFault(7),
        StopSent(StopReason.FAULT, (stop, MotorCommand(7, "velocity", 0.0))),
        Refused(7, "nan", "?"),
        Write(b"w"),
    )
    assert session.receive(b"?", 0) == [
        Connected("x"),
        Registered(Device(name="wheel", kind="RotationalMotor", index=0)),
        SensorValue(1, 1.0),
        MotorFeedback(0, 2.0),
        PacketIn(1, 1, 0.0, NEAR, b"p"),
        DeviceFault(1),
        HardwareFault(0),
        HardwareFault(None),  # of a device that the controller does not know: it stops all the same
        StopSent(StopReason.FAULT, (MotorCommand(0, "velocity", 0.0),)),
        Refused(None, "nan", "?"),
        Write(b"w"),
    ]


def test_requests_reach_the_body_in_its_own_indices() -> None:
    body, session, calls = renumbered()
    commanded(session, MotorCommand(0, "velocity", 1.0), 0)
    session.switch(1, 32.0, 0)
    session.send(PacketOut(1, 2, b"p"), 0)
    session.tune(LedValue(0, 1), 0)
    assert [call[1:] for call in calls] == [
        ("command", MotorCommand(3, "velocity", 1.0)),
        ("switch", 5, 32.0),
        ("send", PacketOut(5, 2, b"p")),
        ("tune", LedValue(3, 1)),
    ]
    assert session.stop_command(0, Mode.VELOCITY) == MotorCommand(0, "velocity", 0.0)
    assert session.stop_commands() == [MotorCommand(0, "velocity", 0.0)]
    calls.clear()
    session.stop_motor(0, 0)
    assert calls == [("body", "stop_motor", 3)]
    body.hardware_faults = ["'wheel': overload"]
    assert session.faults() == ["'wheel': overload"]
    assert session.stop_bytes() == b"stop "
    assert [(each.index, each.name) for each in session.devices] == [(0, "wheel"), (1, "eye")]


def test_a_device_that_the_body_does_not_have_is_refused() -> None:
    """Also where its own device of this index is another one."""
    _, session, calls = renumbered()
    for events in (
        commanded(session, MotorCommand(3, "velocity", 1.0), 0),
        session.send(PacketOut(7, 2, b"p"), 0),
        session.tune(LedValue(5, 1), 0),
    ):
        assert [type(event) for event in events] == [Refused]
    assert session.switch(7, 32.0, 0) == []
    assert session.stop_command(3, Mode.VELOCITY) is None
    assert calls == []


def test_its_own_indices_come_back() -> None:
    body, session, calls = renumbered()
    session.renumber(None)
    commanded(session, MotorCommand(3, "velocity", 1.0), 0)
    body.script(SensorValue(7, 1.0))
    assert session.receive(b"?", 0) == [SensorValue(7, 1.0)]
    assert calls[0][2].index == 3 and len(session.devices) == 3


def test_a_device_that_registers_late_is_known_then() -> None:
    body, session, _ = renumbered()
    body.devices.add(LED)
    body.script(Registered(LED))
    assert session.receive(b"?", 0) == [Registered(Device(name="lamp", kind="LED", index=4))]
    assert session.tune(LedValue(4, 1), 0) == [Write(b"tune ")]
