"""Functions of Robot that Webots has renamed or removed; each calls its successor."""

import sys
from typing import Any

from hilgw.api._errors import deprecated
from hilgw.api.devices.inputs import Keyboard
from hilgw.devices import nodes

DEVICES = """Accelerometer Altimeter Brake Camera Compass Connector Display DistanceSensor Emitter
GPS Gyro InertialUnit LED Lidar LightSensor Motor Pen PositionSensor Radar RangeFinder Receiver
Servo Skin Speaker TouchSensor"""
KEYS = """END HOME LEFT UP RIGHT DOWN PAGEUP PAGEDOWN NUMPAD_HOME NUMPAD_LEFT NUMPAD_UP NUMPAD_RIGHT
NUMPAD_DOWN NUMPAD_END KEY SHIFT CONTROL ALT"""


class OldNames:
    """Old functions, which print once what to use instead.

    KEYBOARD_...: the constants of Keyboard.
    """

    def getData(self: Any) -> str:
        deprecated("Robot.getData", "Robot.getCustomData")
        return str(self.custom_data)

    def setData(self: Any, data: str) -> None:
        deprecated("Robot.setData", "Robot.setCustomData")
        self.custom_data = data

    def getType(self: Any) -> int:
        """Return the node number of Robot in this version of Webots."""
        deprecated("Robot.getType", "Robot.getSupervisor")
        return nodes.number(self._session.version, "ROBOT")

    def getControllerName(self: Any) -> str:
        """Return the field `controller`: <extern> for a program that hilgw did not start."""
        deprecated("Robot.getControllerName", "sys.argv[0]")
        return str(self._session.configuration.controller)

    def getControllerArguments(self: Any) -> str:
        """Return the arguments of this program, with spaces between them."""
        deprecated("Robot.getControllerArguments", "sys.argv[1:]")
        return " ".join(sys.argv[1:])

    def keyboardEnable(self: Any, ms: int) -> None:
        deprecated("Robot.keyboardEnable", "Keyboard.enable")
        self.keyboard.enable(ms)

    def keyboardDisable(self: Any) -> None:
        deprecated("Robot.keyboardDisable", "Keyboard.disable")
        self.keyboard.disable()

    def keyboardGetKey(self: Any) -> int:
        """Return the next key; 0 if there is none, where Keyboard.getKey returns -1."""
        deprecated("Robot.keyboardGetKey", "Keyboard.getKey")
        return max(0, int(self.keyboard.getKey()))

    def getBatterySamplingPeriod(self: Any) -> int:
        deprecated("Robot.getBatterySamplingPeriod", "Robot.batterySensorGetSamplingPeriod")
        return int(self.battery_sensor_sampling_period)


def _getter(name: str) -> Any:
    def get(self: Any, name_: str) -> Any:
        deprecated(f"Robot.get{name}", "Robot.getDevice")
        return self.getDevice(name_)

    get.__name__ = f"get{name}"
    return get


for _name in DEVICES.split():
    setattr(OldNames, f"get{_name}", _getter(_name))
for _name in KEYS.split():
    setattr(OldNames, f"KEYBOARD_{_name}", getattr(Keyboard, _name))
