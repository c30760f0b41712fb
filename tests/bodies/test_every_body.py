"""Every kind of body keeps the rules of `BodyConformance`; what robots on a line do alike."""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from firmware_mocks._webots.devices import Motor
from hilgw import plugins
from hilgw.bodies.create2 import Create2Body, Create2Settings, oi
from hilgw.bodies.create2.session import Create2Session
from hilgw.bodies.create2.settings import DEFAULT_SENSORS, Create2Sensor
from hilgw.bodies.dynamixel.settings import ServoSettings
from hilgw.bodies.epuck import sercom
from hilgw.bodies.epuck.settings import EPuckSensor
from hilgw.bodies.text import BODY as TEXT
from hilgw.bodies.wc2ec import BODY as WC2EC
from hilgw.bodies.webots import BODY as WEBOTS
from hilgw.control import events as control
from hilgw.control.events import Command, Event, MotorCommand, MotorField, StopReason, Write
from hilgw.control.safety import MotorMode
from hilgw.devices.kinds import LED, Device, MotorLimits
from hilgw.framing.base import Framing
from hilgw.testing import BodyConformance
from tests.bodies.bench import (
    CREATE2,
    DYNAMIXEL,
    EPUCK,
    FEETECH,
    KHEPERA,
    LEFT,
    RIGHT,
    BodyBench,
    Robot,
    shipped,
)

DOCS = Path(__file__).parents[2] / "docs"


class TestCreate2(BodyConformance):
    body = CREATE2.body
    settings = {"port": "/dev/x"}
    page = DOCS / "create2.md"
    silence_s = 1.0

    def moves(self, mock: Any) -> bool:
        return bool(mock.drive != (0, 0))


class TestDynamixel(BodyConformance):
    body = DYNAMIXEL.body
    settings = {"port": "/dev/x"}
    page = DOCS / "dynamixel.md"
    silence_s = 1.0

    def moves(self, mock: Any) -> bool:
        return any(servo.moves for servo in mock.servos.values())


class TestServosWithOtherRegisters(TestDynamixel):
    """Status Return Level 0 and 1, Operating Mode 16 (PWM) and 4, reverse mode."""

    page = None
    mock = {"registers": "1:68:0, 1:11:16, 1:10:1, 2:68:1, 2:11:4"}


class TestServosWithTimeBasedProfiles(TestDynamixel):
    """Drive Mode bits 2 and 3, which the file lets hilgw clear."""

    page = None
    settings = {**TestDynamixel.settings, "drive_mode": "velocity"}
    mock = {"registers": "1:10:4, 2:10:13"}


class TestFeetech(BodyConformance):
    body = FEETECH.body
    settings = {"port": "/dev/x"}
    page = DOCS / "feetech.md"
    silence_s = 1.0

    def moves(self, mock: Any) -> bool:
        return any(servo.moves for servo in mock.servos.values())


class TestFeetechAsWorn(TestFeetech):
    """Response level 0, speed and PWM control left on, coarse speeds, an adapter that echoes."""

    page = None
    mock = {"registers": "1:8:0, 1:33:1, 1:18:8, 2:8:0, 2:33:2", "echo": "yes"}


class TestCreate2WithItsWheels(TestCreate2):
    """The radius of the real wheels, in place of those of Webots' robot."""

    page = None
    settings = {**TestCreate2.settings, "wheel_radius": 0.036}


class TestEPuck(BodyConformance):
    body = EPUCK.body
    settings = {"port": "/dev/x"}
    page = DOCS / "epuck.md"
    silence_s = 2.0

    def moves(self, mock: Any) -> bool:
        return bool(mock.speeds != (0, 0))


class TestText(BodyConformance):
    """A Khepera."""

    body = TEXT
    settings = shipped("khepera")
    page = DOCS / "text-robots.md"
    silence_s = 2.0

    def moves(self, mock: Any) -> bool:
        return bool(mock.speed != (0, 0))


class TestTextWithPositions(BodyConformance):
    """A machine with axes, which control positions."""

    body = TEXT
    settings = shipped("gcode")
    silence_s = 2.0

    def moves(self, mock: Any) -> bool:
        return bool(mock.state in ("Run", "Jog"))

    def motion(self, device: Device) -> Command:
        return MotorCommand(device.index, MotorField.POSITION, 0.04)


class TestAxesWithAWorkZero(TestTextWithPositions):
    """Grbl's $10 with the buffer, and positions from the work zero."""

    settings = replace(shipped("gcode"), frame="work")
    mock = {"work_offset": "20, 30, 5", "status_report": 3}


class TestAxesWithNegativePositions(TestTextWithPositions):
    """As Grbl homes, with a work zero that positions of the machine do not depend on."""

    mock = {"corner": "max", "work_offset": "-20, -30, -5"}

    def motion(self, device: Device) -> Command:
        return MotorCommand(device.index, MotorField.POSITION, -0.04)


class TestWc2ec(BodyConformance):
    """On TCP."""

    body = WC2EC
    settings = {"connect": "tcp://127.0.0.1:1", "default_position": {"lift": 0.0}}
    page = DOCS / "stops.md"

    def moves(self, mock: Any) -> bool:
        return bool(mock.body.moving)


class TestWc2ecOnALine(TestWc2ec):
    settings = {"port": "/dev/x", "default_position": {"lift": 0.0}}
    page = None
    silence_s = 1.0


class TestWebots(BodyConformance):
    body = WEBOTS
    settings = {"robot": "robot"}
    page = DOCS / "webots-gateway-robot.md"

    def moves(self, mock: Any) -> bool:
        devices = mock.world.robots["robot"].robot.devices
        motors = [each for each in devices if isinstance(each, Motor)]
        return any(each.wanted and math.isinf(each.target) for each in motors)


def test_every_kind_has_a_class_here() -> None:
    kinds = {each.body.kind for each in BodyConformance.__subclasses__()}
    assert set(plugins.names(plugins.BODIES)) <= kinds


@dataclass(frozen=True)
class Wheeled:
    """A robot with two wheels. speeds: what its mock's wheels do. five: that at 5 rad/s, left.
    ours: a few commands, which may be cut."""

    robot: Robot
    speeds: Callable[[Any], tuple[int, int]]
    five: int
    ours: bytes


CREATE = Wheeled(
    CREATE2,
    lambda mock: mock.drive,
    155,
    oi.drive_direct(300, 300) + oi.stream(range(7, 25)) + oi.leds(1, 2, 3),
)
E_PUCK = Wheeled(
    EPUCK,
    lambda mock: mock.speeds,
    796,
    sercom.drive(300, 300) + sercom.led(3, 1) + sercom.ask("aNOQE") + sercom.drive_line(300, -300),
)
THIRD = Wheeled(KHEPERA, lambda mock: mock.speed, 15265, b"D,l9000,l9000\rN\rK,0,1\rR\r")
ALL = pytest.mark.parametrize("one", [CREATE, E_PUCK, THIRD], ids=["create2", "epuck", "khepera"])


def moving(one: Wheeled, **settings: Any) -> BodyBench:
    line = one.robot.up(**settings)
    line.command(LEFT, "velocity", 5.0)
    line.run(50)
    assert one.speeds(line.mock) == (one.five, 0)
    return line


@ALL
def test_a_robot_that_still_drives_is_stopped_by_the_handshake(one: Wheeled) -> None:
    line = moving(one)
    line.cut = True
    line.session.close()  # the gateway was killed
    line.run(5_000)
    assert one.speeds(line.mock) == (one.five, 0)  # the robot has no watchdog
    line.cut = False
    line.open(5)
    assert one.speeds(line.mock) == (0, 0)


SILENT = {
    CREATE: {"no answer: is the robot switched on (its light), and baudRate its own?"},
    E_PUCK: {
        "no answer: is the robot switched on, with sercom, and baudRate its own?",
        "no answer to V, only other bytes: is baudRate the robot's own?",
    },
    THIRD: {"no answer to 'B': is the Khepera III switched on, and baudRate its own?"},
}


@ALL
@pytest.mark.parametrize("mock", [{}, {"baud_rate": 19200}], ids=["off", "another rate"])
def test_a_robot_off_or_at_another_rate_is_not_there(one: Wheeled, mock: dict[str, Any]) -> None:
    line = one.robot.bench(mock)
    line.cut = not mock
    line.mock.host_baud = 115200
    line.open(3_500)
    assert not line.found(control.Connected) and not line.found(control.ProtocolFailure)
    assert {event.text for event in line.found(control.Notice)} <= SILENT[one]
    led = next(each.index for each in line.session.devices if each.kind == LED)
    light = line.session.tune(control.LedValue(led, 1), line.now)
    for refused in (line.command(LEFT, "velocity", 1.0), light):
        (event,) = (each for each in refused if isinstance(each, control.RefusedRequest))
        assert event.reason == "down"
    if line.cut:
        line.cut = False
        line.run(2_500)
        assert line.found(control.Connected)


@ALL
def test_velocity_control_alone_moves_nothing(one: Wheeled) -> None:
    line = one.robot.up()
    assert line.command(LEFT, "position", math.inf) == []
    line.run(100)
    assert one.speeds(line.mock) == (0, 0)


@ALL
def test_a_rate_limit_is_followed_and_a_stop_is_not_slowed(one: Wheeled) -> None:
    line = one.robot.up(limits={LEFT: MotorLimits(rate=10.0)})
    line.command(LEFT, "velocity", 5.0)
    line.run(240)
    assert 0.37 < one.speeds(line.mock)[0] / one.five < 0.65
    line.run(400)
    assert one.speeds(line.mock)[0] == one.five
    line.handle(line.session.stop(control.StopReason.SILENCE, line.now).events)
    line.run(5)
    assert one.speeds(line.mock) == (0, 0)
    line.run(400)
    assert one.speeds(line.mock) == (0, 0)


@pytest.mark.parametrize("one", [CREATE, E_PUCK], ids=["create2", "epuck"])
def test_the_wheels_turn_and_report_their_angles(one: Wheeled) -> None:
    line = one.robot.up({"width": 100, "depth": 100})
    for side in ("left", "right"):
        line.enable(f"{side} wheel sensor")
    line.run(50)
    assert line.values() == {"left wheel sensor": 0.0, "right wheel sensor": 0.0}
    line.settings(LEFT, math.inf, 6.0, -1.0, 10.0)
    line.settings(RIGHT, math.inf, -6.0, -1.0, 10.0)
    line.run(40_000)  # more than the encoders of an e-puck count
    values = line.values()
    assert values["left wheel sensor"] == pytest.approx(240.0, abs=0.6)
    assert values["right wheel sensor"] == pytest.approx(-240.0, abs=0.6)


@ALL
def test_the_emergency_stop_ends_any_command_that_was_cut(one: Wheeled) -> None:
    """The emergency stop discards what the kernel has not sent, and writes the stop twice."""
    for cut in range(len(one.ours) + 1):
        line = moving(one)
        line.mock.receive(one.ours[:cut], line.now)
        line.mock.receive(2 * line.session.emergency(), line.now)
        assert one.speeds(line.mock) == (0, 0), cut
        line.handle(line.session.stop(control.StopReason.LATE, line.now).events)
        line.run(500)
        assert one.speeds(line.mock) == (0, 0)
        assert one is CREATE or not line.found(
            control.Disconnected
        )  # its stream may be another one


NO_LIGHT = {name: Create2Sensor(packet="off") for name in DEFAULT_SENSORS if "light" in name}
NO_MICROPHONE = {f"mic{place}": EPuckSensor(present=False) for place in range(3)}
SIX: dict[str, Any] = {"motors": {f"m{number}": ServoSettings(id=number) for number in range(6)}}
SLOW: list[tuple[Robot, dict[str, Any], str, str, dict[str, Any]]] = [
    (CREATE2, {"baudRate": 19200}, "baudRate", "15 ms needs 45 bytes", {"sensors": NO_LIGHT}),
    (EPUCK, {"period_ms": 8}, "period_ms", "8 ms needs 94 bytes", {"sensors": NO_MICROPHONE}),
    (DYNAMIXEL, SIX, "period_ms", "20 ms needs 275 bytes", {"baudRate": 1_000_000}),
    (KHEPERA, {"baudRate": 19200}, "period_ms", "32 ms needs 137 bytes", {"period_ms": 100.0}),
]


@pytest.mark.parametrize(("robot", "slow", "path", "load", "recovered"), SLOW)
def test_a_line_that_is_too_slow_is_an_error_with_numbers(
    robot: Robot, slow: dict[str, Any], path: str, load: str, recovered: dict[str, Any]
) -> None:
    ((where, text, _),) = robot.body.check(robot.settings(**slow))
    assert where == path and f"each period of {load}, and the line carries" in text
    assert robot.body.check(robot.settings(**{**slow, **recovered})) == []


NEW = ("can_stop", "emergency")


class SessionOfVersion1:
    """Has the stops of version 1, and those only."""

    def __init__(self, session: Create2Session) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Any:
        if name in NEW:
            raise AttributeError(name)
        return getattr(self._session, name)

    def stop_command(self, index: int, mode: MotorMode) -> Command | None:
        return next((each for each in self.stop_commands() if each.index == index), None)

    def stop_commands(self) -> list[Command]:
        motors = self._session.devices.of_role("motor") if self.stop_bytes() else []
        return [MotorCommand(each.index, "velocity", 0.0) for each in motors]

    stop_copies = 3

    def stop(self, reason: StopReason, now: int) -> list[Event]:
        return self._session.stop(reason, now).events

    def stop_again(self, motors: Collection[int] | None, now: int) -> list[Event]:
        return self._session.stop_again(motors, now)

    def stop_motor(self, index: int, now: int) -> list[Event] | None:
        plan = self._session.stop_motor(index, now)
        return None if plan is None else plan.events

    def stop_bytes(self) -> bytes:
        return self._session.emergency()


class BodyOfVersion1(Create2Body):
    def session(self, settings: Create2Settings, version: str, framing: Framing | None) -> Any:
        return SessionOfVersion1(Create2Session(settings))


class SubclassOfVersion1(Create2Session):
    """Builds on `hilgw.bodies.robot`, where these methods returned events."""

    def _halt(self, reason: StopReason, now: int) -> list[Event]:  # type: ignore[override]
        self._rest()
        return [Write(self._stop_data())]

    def _halt_motor(self, index: int, now: int) -> list[Event]:  # type: ignore[override]
        self._wheels[index].settle()
        return self._drive_on(now)


class BodyWithASubclass(Create2Body):
    def session(self, settings: Create2Settings, version: str, framing: Framing | None) -> Any:
        return SubclassOfVersion1(settings)


class TestASession(TestCreate2):
    body = BodyOfVersion1()
    page = None


class TestASubclass(TestCreate2):
    body = BodyWithASubclass()
    page = None
