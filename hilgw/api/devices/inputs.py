"""Keyboard, mouse and joystick of the simulator's window."""

import math
from dataclasses import dataclass
from typing import ClassVar

from hilgw.api import current
from hilgw.api.arguments import integer, real, report
from hilgw.api.devices.base import Sampled
from hilgw.devices.keys import Keys
from hilgw.protocols.webots.robot_messages import (
    JoystickAutoCenteringGain,
    JoystickForceAxis,
    JoystickForceFeedback,
    JoystickForceFeedbackDuration,
    JoystickResistanceGain,
    JoystickSamplingPeriod,
    KeyboardSamplingPeriod,
    MouseEnable3dPosition,
    MouseSamplingPeriod,
)


class _Input(Sampled):
    command: ClassVar[type[KeyboardSamplingPeriod | MouseSamplingPeriod | JoystickSamplingPeriod]]
    _period = 0

    def __init__(self, sampling_period: int | None = None) -> None:
        if sampling_period != 0:
            self.enable(current.basic_time_step() if sampling_period is None else sampling_period)

    def _sample(self, period: int) -> None:
        self._period = period
        current.session().put(self.command(period))


class Keyboard(_Input, Keys):
    """A keyboard; getKey returns the pressed keys one by one, then -1."""

    function = "keyboard"
    command = KeyboardSamplingPeriod

    def getKey(self) -> int:
        self._checked("get_key")
        keys = current.session().keys
        return keys.pop(0) if keys else -1

    getKeyCode = getKey

    def get_key(self) -> str:
        """Return the next key in words, such as "control-page up"; "" if there is none."""
        key = self.getKey()
        if key < 0:
            return ""
        modifiers = ((self.SHIFT, "shift-"), (self.CONTROL, "control-"), (self.ALT, "alt-"))
        words = "".join(word for bit, word in modifiers if key & bit)
        return words + (_KEYS.get(key & self.KEY) or chr(key & self.KEY))


_KEYS = {
    getattr(Keyboard, name): name.lower().replace("_", " ").replace("page", "page ")
    for name in (
        "END",
        "HOME",
        "LEFT",
        "UP",
        "RIGHT",
        "DOWN",
        "PAGEUP",
        "PAGEDOWN",
        "NUMPAD_HOME",
        "NUMPAD_LEFT",
        "NUMPAD_UP",
        "NUMPAD_RIGHT",
        "NUMPAD_DOWN",
        "NUMPAD_END",
    )
}


@dataclass
class MouseState:
    """The state of the mouse.

    u, v: on the view, 0 to 1; x, y, z: in the world, in m; NaN if unknown.
    """

    u: float
    v: float
    x: float
    y: float
    z: float
    left: bool
    middle: bool
    right: bool


class Mouse(_Input):
    """The mouse on the view."""

    function = "mouse"
    command = MouseSamplingPeriod
    _with_position = False

    def getState(self) -> MouseState:
        state = current.session().mouse
        if state is None:
            return MouseState(*(math.nan,) * 5, left=False, middle=False, right=False)
        return MouseState(*state.view, *state.position, state.left, state.middle, state.right)

    def enable3dPosition(self) -> None:
        self._with_position = True
        current.session().put(MouseEnable3dPosition(True))

    def disable3dPosition(self) -> None:
        self._with_position = False
        current.session().put(MouseEnable3dPosition(False))

    def is3dPositionEnabled(self) -> bool:
        return self._with_position


class Joystick(_Input):
    """The first joystick of the machine."""

    function = "joystick"
    command = JoystickSamplingPeriod
    _next_button = 0

    def isConnected(self) -> bool:
        return current.session().joystick.axes >= 0

    def getNumberOfAxes(self) -> int:
        return max(0, current.session().joystick.axes)

    def getAxisValue(self, axis: int) -> int:
        return _item("get_axis_value", current.session().joystick_state.axes, axis)

    def getNumberOfPovs(self) -> int:
        return max(0, current.session().joystick.povs)

    def getPovValue(self, pov: int) -> int:
        return _item("get_pov_value", current.session().joystick_state.povs, pov)

    def getPressedButton(self) -> int:
        """Return the pressed buttons one by one, then -1."""
        buttons = current.session().joystick_state.buttons
        if self._next_button >= len(buttons):
            self._next_button = 0
            return -1
        self._next_button += 1
        return buttons[self._next_button - 1]

    def setConstantForce(self, level: int) -> None:
        force = integer(level, "joystick_set_constant_force")
        current.session().put(JoystickForceFeedback(force))

    def setConstantForceDuration(self, duration: float) -> None:
        if duration < 0:
            call = "wb_joystick_set_constant_force_duration()"
            report(f"{call} called with a negative 'duration' argument.")
        else:
            current.session().put(JoystickForceFeedbackDuration(real(duration)))

    def setAutoCenteringGain(self, gain: float) -> None:
        current.session().put(JoystickAutoCenteringGain(real(gain)))

    def setResistanceGain(self, gain: float) -> None:
        current.session().put(JoystickResistanceGain(real(gain)))

    def setForceAxis(self, axis: int) -> None:
        number = integer(axis, "joystick_set_force_axis")
        current.session().put(JoystickForceAxis(number))

    @property
    def model(self) -> str:
        return current.session().joystick.model

    is_connected = property(isConnected)
    number_of_axes = property(getNumberOfAxes)
    number_of_povs = property(getNumberOfPovs)
    pressed_button = property(getPressedButton)


def _item(getter: str, values: tuple[int, ...], number: int) -> int:
    index = integer(number, f"joystick_{getter}")
    return values[index] if 0 <= index < len(values) else 0
