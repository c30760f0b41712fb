"""A motion that the API refuses: the gateway learns of it on the wire, Webots does not."""

from __future__ import annotations

import dataclasses
import math
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from hilgw.api import Motor, Robot
from hilgw.control.events import MotorCommand, MotorField, MotorSettings
from hilgw.controllers.webots.motors import MotorState
from hilgw.devices.kinds import ROTATIONAL_MOTOR, Device
from hilgw.protocols.webots.device_messages import MotorConfiguration
from tests.api.simulator import Simulator, robot_of

NAN, INF = math.nan, math.inf
NOT_A_NUMBER = struct.pack("<d", NAN)
POSITION, VELOCITY, FORCE = b"\x14\x00", b"\x15\x00", b"\x18\x00"


def simulator(*, gateway: bool) -> Simulator:
    made = Simulator(
        [("RotationalMotor", "motor", lambda tag: MotorConfiguration(tag, maxVelocity=10.0))]
    )
    if gateway:  # it has no world
        made._configuration[0] = dataclasses.replace(made._configuration[0], worldPath="")
    return made
