"""Every kind of body keeps the rules of `BodyConformance`: each on its mock."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from firmware_mocks._webots.devices import Motor
from hilgw import plugins
from hilgw.bodies.create2 import BODY as CREATE2
from hilgw.bodies.dynamixel import BODY as DYNAMIXEL
from hilgw.bodies.epuck import BODY as EPUCK
from hilgw.bodies.feetech import BODY as FEETECH
from hilgw.bodies.text import BODY as TEXT
from hilgw.bodies.wc2ec import BODY as WC2EC
from hilgw.bodies.webots import BODY as WEBOTS
from hilgw.control.events import Command, MotorCommand, MotorField
from hilgw.devices.kinds import Device
from hilgw.testing import BodyConformance
from tests.bodies.bench import shipped

DOCS = Path(__file__).parents[2] / "docs"


class TestCreate2(BodyConformance):
    body = CREATE2
    settings = {"port": "/dev/x"}
    page = DOCS / "create2.md"
    silence_s = 1.0

    def moves(self, mock: Any) -> bool:
        return bool(mock.drive != (0, 0))


class TestDynamixel(BodyConformance):
    body = DYNAMIXEL
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
    body = FEETECH
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
    body = EPUCK
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
    found = {each.body.kind for each in BodyConformance.__subclasses__()}
    assert set(plugins.names(plugins.BODIES)) <= found
