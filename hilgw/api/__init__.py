"""Webots' Python API without Webots' library: `from hilgw.api import Robot`.

A program that was written for Webots' `controller` module runs with this one: against hilgw, and
against Webots. Classes, names and properties are those of R2025a. Lidars, radars, range finders,
displays and most of a supervisor are not supported: their classes can be imported, and raise
NotImplementedError when they are used.
"""

from hilgw.api.ansi_codes import AnsiCodes
from hilgw.api.devices.actuators import LED, Brake, Motor
from hilgw.api.devices.base import Device, Sensor
from hilgw.api.devices.inputs import Joystick, Keyboard, Mouse, MouseState
from hilgw.api.devices.packets import Emitter, Receiver
from hilgw.api.devices.sensors import (
    GPS,
    Accelerometer,
    Camera,
    Compass,
    DistanceSensor,
    Gyro,
    InertialUnit,
    LightSensor,
    PositionSensor,
    TouchSensor,
)
from hilgw.api.robot import Robot
from hilgw.api.supervisor import Field, Node, Supervisor
from hilgw.api.unsupported import (
    Altimeter,
    CameraRecognitionObject,
    Connector,
    ContactPoint,
    Display,
    Lidar,
    LidarPoint,
    Motion,
    Proto,
    Radar,
    RadarTarget,
    RangeFinder,
    Skin,
    Speaker,
    VacuumGripper,
)

__all__ = [
    "GPS",
    "LED",
    "Accelerometer",
    "Altimeter",
    "AnsiCodes",
    "Brake",
    "Camera",
    "CameraRecognitionObject",
    "Compass",
    "Connector",
    "ContactPoint",
    "Device",
    "Display",
    "DistanceSensor",
    "Emitter",
    "Field",
    "Gyro",
    "InertialUnit",
    "Joystick",
    "Keyboard",
    "Lidar",
    "LidarPoint",
    "LightSensor",
    "Motion",
    "Motor",
    "Mouse",
    "MouseState",
    "Node",
    "PositionSensor",
    "Proto",
    "Radar",
    "RadarTarget",
    "RangeFinder",
    "Receiver",
    "Robot",
    "Sensor",
    "Skin",
    "Speaker",
    "Supervisor",
    "TouchSensor",
    "VacuumGripper",
]
