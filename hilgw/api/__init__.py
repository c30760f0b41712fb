"""Webots' Python API without Webots' library: `from hilgw.api import Robot`.

A program that was written for Webots' `controller` module runs with this one: against hilgw, and
against Webots. Classes, names and properties are those of R2025a. Cameras, lidars, radars, range
finders, displays and supervisors are not supported.
"""

from hilgw.api.actuators import LED, Brake, Motor
from hilgw.api.device import Device, Sensor
from hilgw.api.inputs import Joystick, Keyboard, Mouse, MouseState
from hilgw.api.packets import Emitter, Receiver
from hilgw.api.robot import Robot
from hilgw.api.sensors import (
    GPS,
    Accelerometer,
    Compass,
    DistanceSensor,
    Gyro,
    InertialUnit,
    LightSensor,
    PositionSensor,
    TouchSensor,
)

__all__ = [
    "GPS",
    "LED",
    "Accelerometer",
    "Brake",
    "Compass",
    "Device",
    "DistanceSensor",
    "Emitter",
    "Gyro",
    "InertialUnit",
    "Joystick",
    "Keyboard",
    "LightSensor",
    "Motor",
    "Mouse",
    "MouseState",
    "PositionSensor",
    "Receiver",
    "Robot",
    "Sensor",
    "TouchSensor",
]
