"""Commands and messages of the robot, which has tag 0: libController's messages.h, root device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

CONSOLE_STDOUT = 1
CONSOLE_STDERR = 2


class DeviceEntry(NamedTuple):
    """One device in the configuration of the robot. node: its number in this version of Webots."""

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


@dataclass(frozen=True, slots=True)
class Quit:
    """The simulator ends the controller."""


@dataclass(frozen=True, slots=True)
class JoystickConfiguration:
    """axes, buttons and povs of the joystick; all negative, without a model: none is connected."""

    axes: int
    buttons: int
    povs: int
    model: str


@dataclass(frozen=True, slots=True)
class Time:
    """The simulation time in s."""

    time: float


@dataclass(frozen=True, slots=True)
class Battery:
    """The energy of the battery in J."""

    value: float


@dataclass(frozen=True, slots=True)
class KeyboardKeys:
    """The keys that are pressed."""

    keys: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JoystickState:
    """Pressed buttons by number, and the values of axes and povs."""

    buttons: tuple[int, ...]
    axes: tuple[int, ...]
    povs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MouseState:
    """Buttons; position on the view (u, v: 0 to 1) and in the world (m)."""

    left: bool
    middle: bool
    right: bool
    view: tuple[float, float]
    position: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class WindowShow:
    """The robot window opens."""


@dataclass(frozen=True, slots=True)
class SimulationMode:
    """0 pause, 1 real time, 2 fast."""

    mode: int


@dataclass(frozen=True, slots=True)
class CustomData:
    """The robot's customData field."""

    text: str


@dataclass(frozen=True, slots=True)
class SupervisorFlag:
    """The robot's supervisor field."""

    supervisor: bool


@dataclass(frozen=True, slots=True)
class Model:
    """The robot's model field."""

    text: str


@dataclass(frozen=True, slots=True)
class WindowUpdate:
    """The robot window reads its messages."""


@dataclass(frozen=True, slots=True)
class NewDevices:
    """Devices that follow those of the configuration, with the next tags. Of R2025a's libController
    it also opens the robot window: do not send it."""

    devices: tuple[DeviceEntry, ...]


@dataclass(frozen=True, slots=True)
class Urdf:
    """The answer to GetUrdf."""

    text: str


@dataclass(frozen=True, slots=True)
class UserInputEvent:
    """The answer to WaitForUserInput."""

    event: int


# --- both directions ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WwiMessage:
    """Text to or from the robot window, with a NUL after each message."""

    data: bytes


# --- from the controller --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ConsoleMessage:
    """Output of the controller. stream: 1 stdout, 2 stderr."""

    stream: int
    text: str


@dataclass(frozen=True, slots=True)
class BatterySamplingPeriod:
    """In ms; 0: off."""

    period: int


@dataclass(frozen=True, slots=True)
class RemoteOn:
    """The remote-control plugin takes over."""


@dataclass(frozen=True, slots=True)
class RemoteOff:
    """The remote-control plugin has ended."""


@dataclass(frozen=True, slots=True)
class KeyboardSamplingPeriod:
    """In ms; 0: off."""

    period: int


@dataclass(frozen=True, slots=True)
class JoystickSamplingPeriod:
    """In ms; 0: off. Every first request has it."""

    period: int


@dataclass(frozen=True, slots=True)
class MouseSamplingPeriod:
    """In ms; 0: off."""

    period: int


@dataclass(frozen=True, slots=True)
class SetCustomData:
    """Sets the robot's customData field."""

    text: str


@dataclass(frozen=True, slots=True)
class ClientExitNotify:
    """The controller ends, after the answer."""


@dataclass(frozen=True, slots=True)
class MouseEnable3dPosition:
    """Whether the mouse reports its position in the world."""

    enabled: bool


@dataclass(frozen=True, slots=True)
class Pin:
    """Whether the robot is pinned to the background."""

    pinned: bool


@dataclass(frozen=True, slots=True)
class JoystickForceFeedback:
    """The constant force."""

    level: int


@dataclass(frozen=True, slots=True)
class JoystickForceFeedbackDuration:
    """In s."""

    duration: float


@dataclass(frozen=True, slots=True)
class JoystickAutoCenteringGain:
    """The gain."""

    gain: float


@dataclass(frozen=True, slots=True)
class JoystickResistanceGain:
    """The gain."""

    gain: float


@dataclass(frozen=True, slots=True)
class JoystickForceAxis:
    """The axis of the force."""

    axis: int


@dataclass(frozen=True, slots=True)
class GetUrdf:
    """Asks for Urdf; prefix: before each name in it."""

    prefix: str


@dataclass(frozen=True, slots=True)
class WaitForUserInput:
    """Asks for UserInputEvent. event: bits of Robot.EVENT_*; timeout: ms."""

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
