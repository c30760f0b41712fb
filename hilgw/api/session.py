"""A robot's session with the simulator: the configuration, steps, and the robot's own data."""

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from types import FrameType, TracebackType
from typing import Any, NoReturn

from hilgw.api.arguments import report
from hilgw.api.connection import Closed, Connection
from hilgw.api.devices.states import STATES, CameraState, EmitterState, State
from hilgw.client.gateway import Gateway, gateway_of_controller
from hilgw.errors import PeerError
from hilgw.protocols.gateway.messages import CONTROL
from hilgw.protocols.webots.answers import IMMEDIATE, Answer
from hilgw.protocols.webots.codec import NEWEST, Codec, Command
from hilgw.protocols.webots.forms import KINDS, ROBOT_TAG
from hilgw.protocols.webots.handshake import without_mock
from hilgw.protocols.webots.queues import EmitterQueue, WaitingCommands
from hilgw.protocols.webots.requests import encode_request
from hilgw.protocols.webots.robot_messages import (
    Battery,
    ClientExitNotify,
    CustomData,
    JoystickConfiguration,
    JoystickSamplingPeriod,
    JoystickState,
    KeyboardKeys,
    Model,
    MouseState,
    Quit,
    RobotConfiguration,
    Time,
    Urdf,
    UserInputEvent,
    WwiMessage,
)
from hilgw.protocols.webots.wire import ProtocolError


class Interrupts:
    """Blocks of `with` that delay Ctrl-C until their end, or until a second Ctrl-C.

    The wait lasts as long as `wait` does, which returns False if nothing came. Blocks may be
    nested. They act only if Python's own handler is set, and in the main thread, which gets the
    signal.
    """

    def __init__(self, wait: Callable[[], bool]) -> None:
        self._wait = wait
        self._depth = 0
        self._pending = False
        self._raised: BaseException | None = None

    def begin(self) -> None:
        """Replace Python's handler; a thread, which gets no signals, has none to replace."""
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            with suppress(ValueError):
                signal.signal(signal.SIGINT, self._interrupt)
                sys.excepthook, self._hook = self._quietly, sys.excepthook

    def end(self) -> None:
        """Set Python's handler again.

        An exception on its way stays without a traceback.
        """
        if signal.getsignal(signal.SIGINT) == self._interrupt:
            with suppress(ValueError):
                signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._raised is None and sys.excepthook == self._quietly:
            sys.excepthook = self._hook

    def __enter__(self) -> None:
        self._depth += _gets_signals()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._depth -= _gets_signals()
        if self._pending and not self._depth:
            self._pending = False
            if error is None:
                self._raise()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if not self._depth:
            signal.default_int_handler(number, frame)
        first, self._pending = not self._pending, True
        if not (first and self._wait()):
            self._pending = False
            self._raise()

    def _raise(self) -> NoReturn:
        self._raised = KeyboardInterrupt()
        raise self._raised

    def _quietly(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if error is not self._raised:
            self._hook(kind, error, trace)


def _gets_signals() -> bool:
    return threading.get_ident() == threading.main_thread().ident


ENDED = -1
CLOSING_S = 1.0
LEAVING = "packets leave with robot.step(), as many as its time carries"
# The last two: an argument of a wrong type.
_UNENCODABLE = (ProtocolError, AttributeError, TypeError)


class Warnings:
    """Lines about the style of a program, each once."""

    def __init__(self) -> None:
        self._shown: set[str] = set()

    def __call__(self, key: str, text: str) -> None:
        if key not in self._shown:
            self._shown.add(key)
            print(f"Warning: {text}", file=sys.stderr, flush=True)


class Session:
    """The robot: `step` sends the program's commands, and takes the answers.

    After the simulator has ended the controller, or the connection is lost, `step` returns -1. A
    request follows the answer to the one before it, even if the program stopped waiting for that.
    One thread steps at a time: in another one a step raises RuntimeError, at once. has_gateway: the
    simulator is hilgw; another one names its world.
    """

    def __init__(self, connection: Connection, version: str = NEWEST) -> None:
        """Read the configuration.

        Raises:
            Closed, ProtocolError: the connection failed.
            PeerError: this package does not read the kind of a device.
        """
        self.configuration: RobotConfiguration
        self.devices: dict[int, State] = {}
        self.time = 0.0
        self.battery = 0.0
        self._is_empty = False  # the battery
        self.custom_data = self.model = self.urdf = ""
        self.keys: list[int] = []
        self.mouse: MouseState | None = None
        self.joystick = JoystickConfiguration(-1, -1, -1, "")
        self.joystick_state = JoystickState((), (), ())
        self.window_messages: list[bytes] = []
        self.user_input = 0
        self.ended = self.has_gateway = False
        self.steps = 0
        self._connection = connection
        self.version = version
        self._codec = Codec(version)
        self._robot_commands: list[Command] = [JoystickSamplingPeriod(0)]
        self._waiting = WaitingCommands()
        self._emitters: list[EmitterQueue] = []
        self._begun = False
        self.warn = Warnings()
        self._is_owed = False  # the answer to the last request
        self._interrupts = Interrupts(lambda: connection.wait(CLOSING_S))
        self._stepping = threading.RLock()
        self.step(0)
        if self.ended and not hasattr(self, "configuration"):  # on a local socket
            raise PeerError(
                "another controller has the robot, or the gateway ended",
                fix=f"end that one; where it is a mock, {without_mock('ROBOT')}",
            )
        if not hasattr(self, "configuration"):
            raise ProtocolError("the first answer has no configuration of the robot")
        atexit.register(self.close)
        self._interrupts.begin()

    @cached_property
    def gateway(self) -> Gateway:
        """The gateway of this session, for requests besides steps.

        Raises HilgwError.
        """
        name, peer = self.configuration.name, self._connection.peer
        return gateway_of_controller(name, peer, os.environ.get(CONTROL))

    def put(self, command: Command) -> None:
        """Add a command of the robot itself to the next request."""
        self._robot_commands.append(command)

    def step(self, duration_ms: int) -> int:
        """Run one step, 0 for an immediate request; return the delay in ms, or -1 at the end."""
        with self._alone():
            if self._begun:
                report(
                    "wb_robot_step() called between wb_robot_step_begin() and wb_robot_step_end()."
                )
                return 0
            self.begin(duration_ms)
            return self.finish()

    def begin(self, duration_ms: int) -> None:
        """Send the request of a step."""
        if duration_ms < 0:
            raise ValueError(f"a step of {duration_ms} ms")
        with self._alone():
            if self._is_owed and not (self.ended or self._begun):
                self._receive()
            if self.ended or self._begun:
                return
            self.keys.clear()
            self._begun = True
            self.steps += duration_ms > 0
            try:
                self._send(duration_ms)
            except Closed as error:
                self._lose(str(error))

    def finish(self) -> int:
        """Wait for the answer of `begin`."""
        with self._alone():
            self._begun = False
            if not (self.ended or self._is_owed):
                report("wb_robot_step_end() called before wb_robot_step_begin().")
                return 0
            return ENDED if self.ended else self._receive()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other threads from stepping, and Ctrl-C until the end.

        Raises:
            RuntimeError: Another thread steps.
        """
        if not self._stepping.acquire(blocking=False):
            raise RuntimeError(
                f"{threading.current_thread().name} steps the robot while another thread does, "
                "which gets the answer: call robot.step() in one thread at a time"
            )
        try:
            with self._interrupts:
                yield
        finally:
            self._stepping.release()

    def close(self) -> None:
        """Leave the simulator, at the latest after CLOSING_S; further steps return -1."""
        atexit.unregister(self.close)
        try:
            if not self.ended:
                self._name_unsent()
                self._connection.limit(CLOSING_S)
                self._robot_commands.append(ClientExitNotify())
                self._begun = False  # a step that was started ends here, too
                with suppress(RuntimeError):  # the step of another thread ends, and returns -1
                    self.step(0)
        finally:
            self._interrupts.end()
            self.ended = True
            self._connection.leave()

    def _name_unsent(self) -> None:
        for state in self.devices.values():
            if isinstance(state, EmitterState) and (count := len(state.queue)):
                many = f"{count} packet{'s' * (count > 1)}"
                self.warn("unsent", f"{many} of '{state.name}' did not leave: {LEAVING}.")

    # --- requests and answers -----------------------------------------------------------------

    def _send(self, duration_ms: int) -> None:
        commands, self._robot_commands = self._robot_commands, []
        commands += self._waiting.take()
        for emitter in self._emitters:
            commands += emitter.leave(duration_ms)
        blocks = self._encoded(commands) if commands else ()
        self._is_owed = True
        self._connection.send(encode_request(duration_ms, blocks))

    def _encoded(self, commands: list[Command]) -> Sequence[tuple[int, bytes]]:
        """Return the blocks of the commands.

        A command with a value that the protocol does not carry is an error line, not the end of the
        program.
        """
        try:
            return self._codec.encode_commands(commands)
        except _UNENCODABLE:
            return self._codec.encode_commands(list(filter(self._is_encodable, commands)))

    def _is_encodable(self, command: Command) -> bool:
        try:
            self._codec.encode_commands([command])
        except _UNENCODABLE as error:
            report(f"{str(error)[:200]}: ignored.")
            return False
        return True

    def _receive(self) -> int:
        try:
            while True:
                answer = self._connection.receive()
                self._take(answer)
                if self.ended:
                    return ENDED
                if answer.delay != IMMEDIATE:
                    self._is_owed = False
                    return answer.delay
        except Closed as error:
            return self._lose(str(error))

    def _take(self, answer: Answer) -> None:
        for image in answer.images:
            camera = self.devices.get(image.tag)
            if isinstance(camera, CameraState) and not image.command:
                camera.pixels = image.pixels
        messages = answer.messages
        if not messages:
            return
        for message in self._codec.decode_messages(messages):
            tag = getattr(message, "tag", ROBOT_TAG)
            if tag != ROBOT_TAG:
                self.devices[tag].apply(message)
            else:
                self._take_of_robot(message)

    def _lose(self, problem: str) -> int:
        if not self.ended:
            report(f"{problem}: the controller ends.")
        self.ended = True
        return ENDED

    # --- messages of the robot ----------------------------------------------------------------

    def _configure(self, message: RobotConfiguration) -> None:
        self.configuration, self.has_gateway = message, not message.worldPath
        self.time, self.model = message.time, message.model
        self.custom_data = message.customData
        unknown = []
        self.devices, self._waiting = {}, WaitingCommands()
        for tag, (node, name, model) in enumerate(message.devices, 1):
            kind = self._codec.kinds[tag]
            if kind not in KINDS:
                unknown.append(f"'{name}' ({kind})")
            else:
                self.devices[tag] = STATES[kind](self._waiting, tag, kind, node, name, model)
        states = self.devices.values()
        self._emitters = [each.queue for each in states if isinstance(each, EmitterState)]
        if unknown:
            raise PeerError(
                f"hilgw.api does not support {', '.join(unknown)}",
                where=message.name,
                fix="run the controller with Webots' own library, or remove the device",
            )

    def _take_of_robot(self, message: Any) -> None:
        match message:
            case Time(time):
                self.time = time
            case RobotConfiguration():
                self._configure(message)
            case Quit():
                self.ended = True
                if self._is_empty:
                    report("the battery of the robot is empty: the controller ends.")
            case Battery(value):
                self.battery, self._is_empty = value, value == 0.0
            case CustomData(text):
                self.custom_data = text
            case Model(text):
                self.model = text
            case Urdf(text):
                self.urdf = text
            case UserInputEvent(event):
                self.user_input = event
            case KeyboardKeys(keys):
                self.keys.extend(keys)
            case MouseState():
                self.mouse = message
            case JoystickConfiguration():
                self.joystick = message
            case JoystickState():
                self.joystick_state = message
            case WwiMessage(data):
                self.window_messages += data.split(b"\0")[:-1]
            case _:
                pass  # nothing that a controller can read


def fail(error: PeerError | Closed) -> SystemExit:
    """End the program as libController does: a line, and exit code 1."""
    print(f"Error: {error}", file=sys.stderr, flush=True)
    return SystemExit(1)
