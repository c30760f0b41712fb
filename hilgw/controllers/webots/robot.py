"""The commands of a Webots controller to the robot itself, which has tag 0, and its keyboard."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from hilgw.control.events import Event, Notice, SensorSwitch, Stop, StopReason
from hilgw.controllers.webots.sensors import Grid
from hilgw.devices.keys import MOST_KEYS
from hilgw.devices.kinds import Device
from hilgw.errors import HilgwError
from hilgw.protocols.webots.codec import Command, Message
from hilgw.protocols.webots.robot_messages import (
    CONSOLE_STDERR,
    Battery as BatteryMessage,
    BatterySamplingPeriod,
    ClientExitNotify,
    ConsoleMessage,
    GetUrdf,
    JoystickSamplingPeriod,
    KeyboardKeys,
    KeyboardSamplingPeriod,
    MouseSamplingPeriod,
    Pin,
    RemoteOff,
    RemoteOn,
    SetCustomData,
    Urdf,
    UserInputEvent,
    WaitForUserInput,
    WwiMessage,
)
from hilgw.units import NS_PER_S, ms_to_ns

LARGEST_J = 1e12
WATCH_MS = 1000.0
"""How often the charge is measured while the controller does not ask for it."""


class Battery:
    """Webots' field `battery`, and `cpuConsumption`.

    energy_j: when the first controller begins; None: there is no battery.
    consumption_w: what the robot uses up. sensor: the device that measures the energy, in J; then
    the others do not count. most_j: what it holds. is_present: whether the robot has one.
    """

    def __init__(
        self,
        energy_j: float | None = None,
        consumption_w: float = 0.0,
        sensor: str = "",
        most_j: float = LARGEST_J,
    ) -> None:
        self.sensor = sensor
        self._most_j = most_j
        self._first_j = None if sensor else energy_j
        self._consumption_w = consumption_w
        self._measured_j: float | None = None
        self._began_ns: int | None = None
        self.is_present = bool(sensor) or energy_j is not None

    def begin(self, time_ns: int) -> None:
        """Begin a controller at this simulation time.

        The first one finds the battery as it was given, however long the gateway has waited for
        it.
        """
        if self._began_ns is None:
            self._began_ns = time_ns

    def charge(self, energy_j: float, time_ns: int | None) -> None:
        """Set the energy at this simulation time; None: when the next controller begins.

        Raises:
            HilgwError: there is no battery, a device measures it, or it holds less.
        """
        if self._first_j is None:
            measured = f"the device '{self.sensor}' measures it" if self.sensor else "it has none"
            fix = "" if self.sensor else "write `battery_j:` for its controller"
            raise HilgwError(f"the battery cannot be charged: {measured}", fix=fix)
        if not 0 <= energy_j <= self._most_j:
            raise HilgwError(
                f"the battery does not hold {energy_j:g} J", fix=f"write 0 to {self._most_j:g}"
            )
        self._first_j, self._began_ns = energy_j, time_ns

    def measure(self, energy_j: object) -> None:
        """Set the energy from a value of the sensor; one that is not finite changes nothing."""
        if isinstance(energy_j, int | float) and math.isfinite(energy_j):
            self._measured_j = max(0.0, float(energy_j))

    def forget(self) -> None:
        """Forget the measurement of a body that is gone."""
        self._measured_j = None

    def energy_j(self, time_ns: int) -> float | None:
        """Return the energy left at this simulation time."""
        if self._first_j is None:
            return self._measured_j
        used_ns = 0 if self._began_ns is None else time_ns - self._began_ns
        return max(0.0, self._first_j - self._consumption_w * used_ns / NS_PER_S)

    def is_empty(self, time_ns: int) -> bool:
        """Return whether no energy is left; False while the charge is not known."""
        return self.energy_j(time_ns) == 0.0


NO_EVENT, KEYBOARD_EVENT = 0, 4
MOST_TEXTS = 100  # of the user, that wait for the next answer
SHOWN_LINES = 100
SHOWN_CHARACTERS = 500
_BATTERY, _KEYS = "battery", "keys"
_USER_COUNTS = ("keys", "window_texts_in", "window_texts_out")
_NO_INPUT = "there is no mouse or joystick here: the controller gets no input of them"


class KeyboardState:
    """The keys that a user holds down, in the order in which they went down.

    They have the codes of `hilgw.devices.keys`. A key is held for a time, because terminals report
    no release. It is held in simulated time, and until the controller has got it once, however
    long its period is.
    """

    def __init__(self) -> None:
        self._grid: Grid[str] = Grid()
        self._until_ns: dict[int, int] = {}
        self._unseen: set[int] = set()  # that the controller has not got
        self._sampled: tuple[int, ...] | None = None  # for the next answer

    @property
    def is_enabled(self) -> bool:
        return _KEYS in self._grid

    def reset(self) -> None:
        """Disable the keyboard: a new controller has enabled nothing."""
        self._grid.clear()
        self._release()

    def switch(self, period_ms: int, time_ns: int) -> None:
        """Enable the keyboard; 0 disables it."""
        self._grid.switch(_KEYS, period_ms, time_ns)
        if not period_ms:
            self._release()

    def can_take(self, keys: Sequence[int], time_ns: int) -> bool:
        """Return whether at most MOST_KEYS would be down."""
        return len({*self._down(time_ns), *keys}) <= MOST_KEYS

    def press(self, keys: Sequence[int], time_ns: int, hold_ns: int) -> None:
        self._until_ns = {key: self._until_ns[key] for key in self._down(time_ns)}
        for key in keys:
            self._until_ns[key] = time_ns + hold_ns
            self._unseen.add(key)

    def next_sample(self) -> int | None:
        return self._grid.next()

    def sample(self, time_ns: int) -> None:
        """Sample the keys that are down at the end of a basic step, when they are due."""
        if self._grid.due(time_ns):
            self._grid.sampled(_KEYS, time_ns)
            self._sampled = self._down(time_ns)

    def take(self) -> list[Message]:
        """Return the newest sample since the last answer; no key is a message, too."""
        keys, self._sampled = self._sampled, None
        return [] if keys is None else [self._message(keys)]

    def now(self, time_ns: int) -> Message:
        """Return the keys that are down now."""
        return self._message(self._down(time_ns))

    def _message(self, keys: tuple[int, ...]) -> Message:
        self._unseen.difference_update(keys)
        self._until_ns = {
            key: until
            for key, until in self._until_ns.items()
            if key in keys or key in self._unseen
        }
        return KeyboardKeys(keys)

    def _down(self, time_ns: int) -> tuple[int, ...]:
        return tuple(
            key for key, until in self._until_ns.items() if until > time_ns or key in self._unseen
        )

    def _release(self) -> None:
        self._until_ns.clear()
        self._unseen.clear()
        self._sampled = None


class RobotState:
    """State that the controller has set on the robot. answers: for the next answer."""

    def __init__(self, name: str, custom_data: str, battery: Battery) -> None:
        self.custom_data = custom_data
        self.battery = battery
        self.battery_index: int | None = None  # of the device that measures the charge
        self.counts: Counter[str] = Counter()
        self.keyboard = KeyboardState()
        self._name = name
        self._battery: Grid[str] = Grid()
        self.reset()

    def reset(self) -> None:
        """Start a new controller; the custom data stay, as a field of the world does."""
        self.answers: list[Message] = []
        self.is_exiting = False
        self.is_remote = False
        self.input_due_ns: int | None = None  # the end of WaitForUserInput
        self._awaited = NO_EVENT  # the events that it waits for
        self._battery.clear()
        self._battery_sampled = False
        self.keyboard.reset()
        self.begin_request()

    @property
    def awaits_input(self) -> bool:
        """The controller waits for an event of the user."""
        return self._awaited != NO_EVENT or self.input_due_ns is not None

    def begin_request(self) -> None:
        self._lines_left = SHOWN_LINES

    def apply(self, command: Command, time_ns: int, now: int) -> list[Event]:
        """Apply one command.

        Args:
            time_ns: simulation time.
            now: real time.
        """
        match command:
            case ConsoleMessage(stream, text):
                return self._show("stderr: " if stream == CONSOLE_STDERR else "", text)
            case SetCustomData(text):
                self.custom_data = text
            case ClientExitNotify():
                self.is_exiting = True
            case BatterySamplingPeriod(period):
                self._battery.switch(_BATTERY, period, time_ns)
                if period and not self.battery.is_present:
                    return [Notice("the robot has no battery: its sensor reports nothing")]
                return self.watch_battery(float(period) or WATCH_MS)
            case KeyboardSamplingPeriod(period):
                self.keyboard.switch(period, time_ns)
            case MouseSamplingPeriod(period) | JoystickSamplingPeriod(period):
                return [Notice(_NO_INPUT)] if period else []
            case GetUrdf(prefix):
                self.answers.append(Urdf(self._urdf(prefix)))
            case WaitForUserInput(event, timeout):
                self.input_due_ns = None if timeout < 0 else now + ms_to_ns(timeout)
                self._awaited = event
                return [] if event & KEYBOARD_EVENT else [Notice(_NO_INPUT)]
            case RemoteOn() | RemoteOff():
                return self._remote(isinstance(command, RemoteOn))
            case WwiMessage(data):
                texts = data.decode(errors="replace").removesuffix("\0").split("\0")
                self.counts["window_texts_in"] += len(texts)
                return [event for text in texts for event in self._show("window: ", text)]
            case Pin():
                return [Notice("pin has no effect on a real robot")]
            case _:  # the joystick's forces, the mouse's position
                return [Notice(_NO_INPUT)]
        return []

    def next_battery_sample(self) -> int | None:
        """Return when the battery is due next."""
        return self._battery.next()

    def sample_battery(self, time_ns: int) -> None:
        """Sample the battery at the end of a basic step, when it is due and its value known."""
        if self._battery.due(time_ns) and self.battery.energy_j(time_ns) is not None:
            self._battery.sampled(_BATTERY, time_ns)
            self._battery_sampled = True

    def take_battery(self, time_ns: int) -> list[Message]:
        """Return the charge at the answer, as in Webots, if it was sampled since the last one."""
        sampled, self._battery_sampled = self._battery_sampled, False
        energy_j = self.battery.energy_j(time_ns) if sampled else None
        return [] if energy_j is None else [BatteryMessage(energy_j)]

    def watch_battery(self, period_ms: float = WATCH_MS) -> list[Event]:
        """Measure the charge with the body's device, if it has one."""
        return [] if self.battery_index is None else [SensorSwitch(self.battery_index, period_ms)]

    def watch_battery_of(self, devices: Iterable[Device]) -> list[Event]:
        """Enable the device that measures the charge for as long as the controller is there.

        Args:
            devices: of the robot.
        """
        name = self.battery.sensor
        indices = [each.index for each in devices if each.name == name]
        self.battery_index = indices[0] if name and indices else None
        if name and not indices:
            return [Notice(f"battery_sensor: the robot has no device '{name}'")]
        return self.watch_battery()

    def keep_watch(self, event: Event) -> Event:
        """Keep the charge measured when the controller switches its sensor off."""
        index = self.battery_index
        if index is None or event != SensorSwitch(index, 0.0):
            return event
        return SensorSwitch(index, WATCH_MS)

    def report(self, time_ns: int) -> dict[str, Any]:
        """Return the robot's own values, and the exchange between user and controller."""
        return {
            "custom_data": self.custom_data,
            "battery_j": self.battery.energy_j(time_ns),
            **{name: self.counts[name] for name in _USER_COUNTS},
        }

    # --- the user -----------------------------------------------------------------------------

    def press(self, keys: Sequence[int], time_ns: int, hold_ns: int) -> list[Message]:
        """Press these keys; return the answer for a controller that waits for one.

        Raises:
            HilgwError: the controller does not read its keyboard, or more than 7 are down.
        """
        waits = bool(self._awaited & KEYBOARD_EVENT)
        if not self.keyboard.is_enabled and not waits:
            fix = "call Keyboard.enable in the controller"
            raise HilgwError("the controller does not read its keyboard", where=self._name, fix=fix)
        if not self.keyboard.can_take(keys, time_ns):
            raise HilgwError(f"more than {MOST_KEYS} keys are down", where=self._name)
        self.counts["keys"] += len(keys)
        self.keyboard.press(keys, time_ns, hold_ns)
        if not waits:
            return []
        self.input_due_ns, self._awaited = None, NO_EVENT
        return [self.keyboard.now(time_ns), UserInputEvent(KEYBOARD_EVENT)]

    def say(self, text: str) -> None:
        """Send the user's text to the controller.

        Raises:
            HilgwError: the controller cannot take it.
        """
        if sum(type(each) is WwiMessage for each in self.answers) >= MOST_TEXTS:
            raise HilgwError("too many texts wait for the controller", where=self._name)
        if "\0" in text:
            raise HilgwError("the text has a NUL", where=self._name, fix="delete it")
        self.counts["window_texts_out"] += 1
        self.answers.append(WwiMessage(text.encode(errors="replace") + b"\0"))

    def end_of_input(self, now: int) -> list[Message]:
        """Return that no event came, when the wait for one is over."""
        if self.input_due_ns is None or now < self.input_due_ns:
            return []
        self.input_due_ns, self._awaited = None, NO_EVENT
        return [UserInputEvent(NO_EVENT)]

    def _show(self, head: str, text: str) -> list[Event]:
        lines = text.splitlines()
        left = self._lines_left  # -1 once it was shown that some are left out
        events: list[Event] = [
            Notice(head + _shown(line), once=False) for line in lines[: max(0, left)]
        ]
        self._lines_left = max(-1, left - len(lines))
        if len(lines) > left >= 0:
            events.append(Notice(f"{head}... the rest of this step's output is left out"))
        return events

    def _remote(self, on: bool) -> list[Event]:
        self.is_remote = on
        if not on:
            return [Notice("the controller drives this robot again", once=False)]
        text = "the controller's remote-control plug-in drives another robot; this one stops"
        return [Stop(StopReason.REMOTE), Notice(text, once=False)]

    def _urdf(self, prefix: str) -> str:
        """Return a model of one link: the gateway has no geometry."""
        link = quoteattr(f"{prefix}base_link")
        return (
            f'<?xml version="1.0"?>\n<robot name={quoteattr(self._name)}>\n'
            f"  <link name={link}/>\n</robot>\n"
        )


def _shown(line: str) -> str:
    cut = line if len(line) <= SHOWN_CHARACTERS else line[:SHOWN_CHARACTERS] + "..."
    if cut.isprintable():
        return cut
    return "".join(
        c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode() for c in cut
    )
