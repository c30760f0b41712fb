"""Commands and messages of the robot, which has tag 0: libController's messages.h, root device."""

from dataclasses import dataclass
from typing import NamedTuple

from hilgw.records import record

CONSOLE_STDERR = 2


class DeviceEntry(NamedTuple):
    """A device in the configuration of the robot. node: its number in this version of Webots."""

    node: int
    name: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotConfiguration:
    """C_CONFIGURE of the robot. time: s; basicTimeStep: ms. devices have the tags 1, 2, ...

    version: "" before R2023b, which does not send it. mode: 0 pause, 1 real time, 2 fast.
    """

    name: str
    version: str = ""
    supervisor: bool = False
    synchronization: bool = True
    time: float = 0.0
    devices: tuple[DeviceEntry, ...] = ()
    basicTimeStep: float
    projectPath: str = ""
    worldPath: str = ""
    model: str = ""
    window: str = ""
    remoteControl: str = ""
    controller: str = ""
    customData: str = ""
    showWindow: bool = False
    hasHtmlWindow: bool = False
    mode: int = 1


# --- from the simulator ---------------------------------------------------------------------------


@record
class Quit:
    """The simulator ends the controller."""


@record
class JoystickConfiguration:
    """axes, buttons and povs of the joystick; all negative, without a model: none is connected."""

    axes: int
    buttons: int
    povs: int
    model: str


@record
class Time:
    """The simulation time in s."""

    time: float


@record
class Battery:
    """The energy of the battery in J."""

    value: float


@record
class KeyboardKeys:
    """The keys that are pressed."""

    keys: tuple[int, ...]


@record
class JoystickState:
    """Pressed buttons by number, and the values of axes and povs."""

    buttons: tuple[int, ...]
    axes: tuple[int, ...]
    povs: tuple[int, ...]


@record
class MouseState:
    """Buttons; position on the view (u, v: 0 to 1) and in the world (m)."""

    left: bool
    middle: bool
    right: bool
    view: tuple[float, float]
    position: tuple[float, float, float]


@record
class WindowShow:
    """The robot window opens."""


@record
class SimulationMode:
    """0 pause, 1 real time, 2 fast."""

    mode: int


@record
class CustomData:
    """The robot's customData field."""

    text: str


@record
class SupervisorFlag:
    """The robot's supervisor field."""

    supervisor: bool


@record
class Model:
    """The robot's model field."""

    text: str


@record
class WindowUpdate:
    """The robot window reads its messages."""


@record
class NewDevices:
    """Devices that follow those of the configuration, with the next tags.

    Of R2025a's libController it also opens the robot window: do not send it.
    """

    devices: tuple[DeviceEntry, ...]


@record
class Urdf:
    """The answer to GetUrdf."""

    text: str


@record
class UserInputEvent:
    """The answer to WaitForUserInput."""

    event: int


# --- both directions ------------------------------------------------------------------------------


@record
class WwiMessage:
    """Text to or from the robot window, with a NUL after each message."""

    data: bytes


# --- from the controller --------------------------------------------------------------------------


@record
class ConsoleMessage:
    """Output of the controller. stream: 1 stdout, 2 stderr."""

    stream: int
    text: str


@record
class BatterySamplingPeriod:
    """Period in ms; 0: off."""

    period: int


@record
class RemoteOn:
    """The remote-control plugin takes over."""


@record
class RemoteOff:
    """The remote-control plugin has ended."""


@record
class KeyboardSamplingPeriod:
    """Period in ms; 0: off."""

    period: int


@record
class JoystickSamplingPeriod:
    """Period in ms; 0: off. Every first request has it."""

    period: int


@record
class MouseSamplingPeriod:
    """Period in ms; 0: off."""

    period: int


@record
class SetCustomData:
    """The new customData of the robot."""

    text: str


@record
class ClientExitNotify:
    """The controller ends, after the answer."""


@record
class MouseEnable3dPosition:
    """True: the mouse reports its position in the world."""

    enabled: bool


@record
class Pin:
    """True: the robot is pinned to the background."""

    pinned: bool


@record
class JoystickForceFeedback:
    """The constant force."""

    level: int


@record
class JoystickForceFeedbackDuration:
    """Duration in s."""

    duration: float


@record
class JoystickAutoCenteringGain:
    """The gain."""

    gain: float


@record
class JoystickResistanceGain:
    """The gain."""

    gain: float


@record
class JoystickForceAxis:
    """The axis of the force."""

    axis: int


@record
class GetUrdf:
    """The question for Urdf; prefix: before each name in it."""

    prefix: str


@record
class WaitForUserInput:
    """The question for UserInputEvent; event: bits of Robot.EVENT_*; timeout: ms."""

    event: int
    timeout: int


RobotMessage = (
    RobotConfiguration
    | Quit
    | JoystickConfiguration
    | Time
    | Battery
    | KeyboardKeys
    | JoystickState
    | MouseState
    | WindowShow
    | SimulationMode
    | CustomData
    | SupervisorFlag
    | Model
    | WindowUpdate
    | NewDevices
    | Urdf
    | UserInputEvent
    | WwiMessage
)
RobotCommand = (
    ConsoleMessage
    | BatterySamplingPeriod
    | RemoteOn
    | RemoteOff
    | KeyboardSamplingPeriod
    | JoystickSamplingPeriod
    | MouseSamplingPeriod
    | SetCustomData
    | ClientExitNotify
    | MouseEnable3dPosition
    | Pin
    | JoystickForceFeedback
    | JoystickForceFeedbackDuration
    | JoystickAutoCenteringGain
    | JoystickResistanceGain
    | JoystickForceAxis
    | GetUrdf
    | WaitForUserInput
    | WwiMessage
)
