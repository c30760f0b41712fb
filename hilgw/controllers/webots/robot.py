"""The commands of a Webots controller to the robot itself, which has tag 0."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

from hilgw.control.events import Event, Notice, Stop, StopReason
from hilgw.controllers.webots.sampling import Grid
from hilgw.protocols.webots import (
    CONSOLE_STDERR,
    Battery,
    BatterySamplingPeriod,
    ClientExitNotify,
    Command,
    ConsoleMessage,
    GetUrdf,
    JoystickSamplingPeriod,
    KeyboardSamplingPeriod,
    Message,
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
from hilgw.units import ms_to_ns

NO_EVENT = 0
SHOWN_LINES = 100
SHOWN_CHARACTERS = 500
_BATTERY = "battery"
_NO_INPUT = "there is no keyboard, mouse or joystick here: the controller gets no input"


class RobotState:
    """What the controller has set on the robot. answers: for the next answer. battery_j: the energy
    that the battery sensor reports; None: it reports nothing."""

    def __init__(self, name: str, custom_data: str, battery_j: float | None) -> None:
        self.custom_data = custom_data
        self.battery_j = battery_j
        self._name = name
        self._battery: Grid[str] = Grid()
        self.reset()

    def reset(self) -> None:
        """A new controller connected. The custom data stay, as a field of the world does."""
        self.answers: list[Message] = []
        self.is_exiting = False
        self.is_remote = False
        self.input_due_ns: int | None = None  # the end of WaitForUserInput
        self._battery.clear()
        self.begin_request()

    def begin_request(self) -> None:
        """A request begins."""
        self._lines_left = SHOWN_LINES

    def apply(self, command: Command, time_ns: int, now: int) -> list[Event]:
        """One command. time_ns: simulation time; now: real time."""
        match command:
            case ConsoleMessage(stream, text):
                return self._output(stream, text)
            case SetCustomData(text):
                self.custom_data = text
            case ClientExitNotify():
                self.is_exiting = True
            case BatterySamplingPeriod(period):
                self._battery.switch(_BATTERY, period, time_ns)
                if period and self.battery_j is None:
                    return [Notice("the robot has no battery: its sensor reports nothing")]
            case KeyboardSamplingPeriod(p) | MouseSamplingPeriod(p) | JoystickSamplingPeriod(p):
                return [Notice(_NO_INPUT)] if p else []
            case GetUrdf(prefix):
                self.answers.append(Urdf(self._urdf(prefix)))
            case WaitForUserInput(_, timeout):
                self.input_due_ns = None if timeout < 0 else now + ms_to_ns(timeout)
                return [Notice(_NO_INPUT)]
            case RemoteOn() | RemoteOff():
                return self._remote(isinstance(command, RemoteOn))
            case WwiMessage():
                return [Notice("there is no robot window: messages to it are lost")]
            case Pin():
                return [Notice("pin has no effect on a real robot")]
            case _:  # the joystick's forces, the mouse's position
                return [Notice(_NO_INPUT)]
        return []

    def due(self, time_ns: int) -> list[Message]:
        """The battery's value, when it is due."""
        if self.battery_j is None:
            return []
        due = self._battery.due(time_ns)
        for key in due:
            self._battery.sampled(key, time_ns)
        return [Battery(self.battery_j) for _ in due]

    def end_of_input(self, now: int) -> list[Message]:
        """No event, when the wait for one is over."""
        if self.input_due_ns is None or now < self.input_due_ns:
            return []
        self.input_due_ns = None
        return [UserInputEvent(NO_EVENT)]

    def _output(self, stream: int, text: str) -> list[Event]:
        """Output of the controller, line by line, safe to print; SHOWN_LINES of each request."""
        head = "stderr: " if stream == CONSOLE_STDERR else ""
        lines = text.splitlines()
        shown = lines[: self._lines_left]
        events: list[Event] = [Notice(head + _shown(line), once=False) for line in shown]
        if len(lines) > self._lines_left > 0:
            events.append(Notice(f"{head}... the rest of this step's output is left out"))
        self._lines_left -= len(shown)
        return events

    def _remote(self, on: bool) -> list[Event]:
        """In remote mode a plug-in of the controller moves another robot: this one stops."""
        self.is_remote = on
        if not on:
            return [Notice("the controller drives this robot again", once=False)]
        text = "the controller's remote-control plug-in drives another robot; this one stops"
        return [Stop(StopReason.REMOTE), Notice(text, once=False)]

    def _urdf(self, prefix: str) -> str:
        """A model of one link: the gateway knows no geometry."""
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
