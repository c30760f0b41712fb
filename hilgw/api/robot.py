"""The robot of this process."""

import os
import sys
from typing import Any, ClassVar

from hilgw.api import current
from hilgw.api.arguments import (
    deprecated,
    integer,
    period,
    report,
    report_disabled,
    text as text_of,
)
from hilgw.api.connection import Closed, connect
from hilgw.api.devices.actuators import LED, Brake, Motor
from hilgw.api.devices.base import Device
from hilgw.api.devices.inputs import Joystick, Keyboard, Mouse
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
from hilgw.api.exec_watch import has_robot, has_stepped
from hilgw.api.session import Session, fail
from hilgw.devices import nodes
from hilgw.errors import HilgwError, PeerError, nearest, quoted
from hilgw.protocols.gateway.messages import CONTROL
from hilgw.protocols.webots.requests import uneven_step
from hilgw.protocols.webots.robot_messages import (
    BatterySamplingPeriod,
    GetUrdf,
    SetCustomData,
    WaitForUserInput,
    WwiMessage,
)

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


SIMULATION, REMOTE = "simulation", "remote"


class Modes:
    """The mode of a session's robot, as its gateway reports it: simulation or remote control.

    The gateway switches bodies, not this process: it is asked on its control socket, which is on
    this machine.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._has_gateway = True  # until one was looked for in vain

    def is_remote(self) -> bool:
        """Return True if this program has the real robot.

        False without a gateway: a simulator.
        """
        if not self._has_gateway:
            return False
        try:
            name = self._session.configuration.name
            return self._session.gateway.mode(name).mode == REMOTE
        except HilgwError:
            self._has_gateway = CONTROL in os.environ
            return False

    def set(self, *, remote: bool) -> str:
        """Set the mode; return "" if the gateway did it, else why not."""
        try:
            name = self._session.configuration.name
            self._session.gateway.mode(name, REMOTE if remote else SIMULATION)
        except HilgwError as error:
            return str(error)
        self._has_gateway = True
        return ""


LONGEST_STEP_MS = 2**31 - 1
CLASSES: tuple[type[Device], ...] = (
    Accelerometer,
    Brake,
    Camera,
    Compass,
    DistanceSensor,
    Emitter,
    GPS,
    Gyro,
    InertialUnit,
    LED,
    LightSensor,
    Motor,
    PositionSensor,
    Receiver,
    TouchSensor,
)
_CLASS_OF = {kind: each for each in CLASSES for kind in each.kinds}


class Robot(OldNames):
    """The robot, connected to the simulator of WEBOTS_CONTROLLER_URL, or to one on this machine.

    devices: by name. One robot per process, as in Webots.
    """

    EVENT_QUIT = -1
    EVENT_NO_EVENT = 0
    EVENT_MOUSE_CLICK, EVENT_MOUSE_MOVE, EVENT_KEYBOARD = 1, 2, 4
    EVENT_JOYSTICK_BUTTON, EVENT_JOYSTICK_AXIS, EVENT_JOYSTICK_POV = 8, 16, 32
    MODE_SIMULATION, MODE_CROSS_COMPILATION, MODE_REMOTE_CONTROL = range(3)
    created: ClassVar["Robot | None"] = None

    devices: dict[str, Any]
    keyboard: Keyboard
    mouse: Mouse
    joystick: Joystick

    def __init__(self, session: Session | None = None) -> None:
        if Robot.created is not None:
            text = "only one Robot instance can be created per controller process."
            print(f"Error: {text}", file=sys.stderr)
            return
        has_robot()
        try:
            self._session = session or Session(connect())
        except (PeerError, Closed) as error:
            raise fail(error) from None
        Robot.created = self
        by_tag: dict[int, Any] = {}
        current.begin(self._session, by_tag)
        for tag, state in self._session.devices.items():
            by_tag[tag] = _CLASS_OF[state.kind](tag)
        self._by_tag = by_tag
        self.devices = {each.name: each for each in by_tag.values()}
        self.keyboard, self.mouse, self.joystick = Keyboard(0), Mouse(0), Joystick(0)
        self._battery_period = 0
        self._modes = Modes(self._session)

    def __del__(self) -> None:
        if Robot.created is self:
            self.close()

    def close(self) -> None:
        """Leave the simulator; at the end of the program this happens by itself."""
        if Robot.created is self:
            Robot.created = None
            self._session.close()
            current.end()

    # --- steps --------------------------------------------------------------------------------

    def step(self, time_step: int | None = None) -> int:
        """Send the commands, let the simulator run, and take the values.

        Args:
          time_step: in ms; None: the basic time step.

        Returns:
          The delay in ms, or -1 when the simulator ends the controller.
        """
        return self._session.step(self._duration(time_step))

    def stepBegin(self, time_step: int | None = None) -> int:
        """Start a step; return 0, or -1 at the end.

        The program computes while the simulator does.
        """
        self._session.begin(self._duration(time_step))
        return -1 if self._session.ended else 0

    def stepEnd(self) -> int:
        """End the step that `stepBegin` started."""
        return self._session.finish()

    def _duration(self, time_step: int | None) -> int:
        if not self._session.steps:
            has_stepped()
        if time_step is None:
            return current.basic_time_step()
        duration = integer(time_step, "robot_step")
        if duration < 0:
            report(f"wb_robot_step() called with a negative duration={duration}.")
        elif duration > LONGEST_STEP_MS:
            report(f"wb_robot_step() called with a duration above {LONGEST_STEP_MS} ms.")
        elif uneven := uneven_step(duration, self._session.configuration.basicTimeStep or 1):
            self._session.warn("multiple", f"robot.step({duration}): {uneven}.")
        return duration if 0 <= duration <= LONGEST_STEP_MS else 0

    # --- devices ------------------------------------------------------------------------------

    def getDevice(self, name: str) -> Any:
        """Return the device of this name; report an error and return None if the robot has none."""
        if name in self.devices:
            return self.devices[name]
        near = nearest(name, self.devices)
        fix = f"; did you mean {quoted(near)}?" if near else ""
        print(f'Device "{name}" was not found on robot "{self.name}"{fix}', file=sys.stderr)
        return None

    def getDeviceByIndex(self, index: int) -> Any:
        """Return a device by its number from 0, in the order of the configuration.

        Raises KeyError.
        """
        number = integer(index, "robot_get_device_by_index")
        if number not in range(len(self._by_tag)):
            report("The index of wb_robot_get_device_by_index() is out of the bounds.")
            raise KeyError(self.name)
        return self._by_tag[number + 1]

    def getNumberOfDevices(self) -> int:
        return len(self._by_tag)

    def getKeyboard(self) -> Keyboard:
        return self.keyboard

    def getMouse(self) -> Mouse:
        return self.mouse

    def getJoystick(self) -> Joystick:
        return self.joystick

    # --- the robot ----------------------------------------------------------------------------

    def getName(self) -> str:
        return self._session.configuration.name

    def getModel(self) -> str:
        return self._session.model

    def getTime(self) -> float:
        """Return the time of the simulation in s."""
        return self._session.time

    def getBasicTimeStep(self) -> float:
        """Return the basic time step in ms."""
        return self._session.configuration.basicTimeStep

    def getSynchronization(self) -> bool:
        return self._session.configuration.synchronization

    def getSupervisor(self) -> bool:
        return self._session.configuration.supervisor

    def getProjectPath(self) -> str:
        return self._session.configuration.projectPath

    def getWorldPath(self) -> str:
        return self._session.configuration.worldPath

    def getCustomData(self) -> str:
        return self._session.custom_data

    def setCustomData(self, data: str) -> None:
        self._session.custom_data = text_of(data)
        self._session.put(SetCustomData(data))

    def getMode(self) -> int:
        """Return the mode; this asks the gateway each time."""
        return self.MODE_REMOTE_CONTROL if self._modes.is_remote() else self.MODE_SIMULATION

    def setMode(self, mode: int, arg: str = "") -> None:
        """Select the real or the simulated robot; report an error, and keep it, if that fails.

        Commands that were set before go to the old robot.

        Args:
          mode: MODE_REMOTE_CONTROL or MODE_SIMULATION.
          arg: has no effect; the gateway's configuration has the port.
        """
        integer(mode, "robot_set_mode"), text_of(arg)
        if mode not in (self.MODE_SIMULATION, self.MODE_REMOTE_CONTROL):
            report(f"wb_robot_set_mode(): mode={mode} does not exist for a Python program.")
        elif mode != self.mode:
            self._session.step(0)
            problem = self._modes.set(remote=mode == self.MODE_REMOTE_CONTROL)
            if problem:
                report(f"wb_robot_set_mode(): {problem}.")

    def getUrdf(self, prefix: str = "") -> str:
        """Return the robot as URDF, with this prefix before each name."""
        self._session.put(GetUrdf(text_of(prefix)))
        self._session.step(0)
        return self._session.urdf

    name = property(getName)
    model = property(getModel)
    time = property(getTime)
    basic_time_step = property(getBasicTimeStep)
    synchronization = property(getSynchronization)
    supervisor = property(getSupervisor)
    project_path = property(getProjectPath)
    world_path = property(getWorldPath)
    number_of_devices = property(getNumberOfDevices)
    mode = property(getMode)
    custom_data = property(getCustomData, setCustomData)

    # --- the robot's window -------------------------------------------------------------------

    def wwiSendText(self, text: str) -> None:
        """Send text to the robot's window, at once."""
        self._session.put(WwiMessage(text_of(text).encode() + b"\0"))
        self._session.step(0)

    def wwiReceiveText(self) -> str | None:
        """Return the next text of the robot's window, None if there is none."""
        messages = self._session.window_messages
        return messages.pop(0).decode(errors="replace") if messages else None

    def waitForUserInputEvent(self, event_type: int, timeout: int) -> int:
        """Wait for one of these events (`EVENT_*`), at most `timeout` ms; return the event."""
        self._session.user_input = self.EVENT_NO_EVENT
        function = "robot_wait_for_user_input_event"
        wait = WaitForUserInput(integer(event_type, function), integer(timeout, function))
        self._session.put(wait)
        ended = self._session.step(0) < 0
        return self.EVENT_QUIT if ended else self._session.user_input

    # --- the battery --------------------------------------------------------------------------

    def batterySensorEnable(self, sampling_period: int) -> None:
        ms = period(sampling_period, "robot_battery_sensor_enable")
        if ms is not None:
            self._battery_period, self._session.battery = ms, 0.0
            self._session.put(BatterySamplingPeriod(ms))

    def batterySensorDisable(self) -> None:
        self.batterySensorEnable(0)

    def batterySensorGetSamplingPeriod(self) -> int:
        """Return the period in ms; 0 is off."""
        return self._battery_period

    def batterySensorGetValue(self) -> float:
        """Return the energy in J; 0 before the first value, and without a battery."""
        if not self._battery_period:
            report_disabled("robot_battery_sensor_get_value", "robot_battery_sensor_enable")
        return self._session.battery

    battery_sensor_sampling_period = property(batterySensorGetSamplingPeriod, batterySensorEnable)
