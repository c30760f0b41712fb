"""The session of body `webots`: hilgw is the <extern> controller of a robot in Webots.

One request is outstanding at any time: its answer brings what the robot's devices reported in the
step, and the next request leaves at once with all that has come for the robot meanwhile. So a
command, a packet or a stop leaves with the next request, within one step; the session never waits.

libController R2025a, on the wire of hilgw.protocols.webots; Webots reference manual, Robot.
"""

from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import ClassVar

from hilgw.bodies._common.session import MotorSession, unfit
from hilgw.bodies.webots.robot import WebotsRobot, send, set_period, tune
from hilgw.bodies.webots.settings import WebotsBodySettings
from hilgw.control.events import (
    Command,
    Connected,
    DeviceSettings,
    Disconnected,
    Event,
    Notice,
    PacketOut,
    ProtocolFailure,
    StopPlan,
    StopReason,
    StopSent,
    Write,
)
from hilgw.control.safety import MotorMode
from hilgw.devices.kinds import MOTOR, Device, Refusal
from hilgw.errors import PortError, quoted
from hilgw.protocols.webots import codec
from hilgw.protocols.webots.answers import Answer, AnswerReader
from hilgw.protocols.webots.codec import describe
from hilgw.protocols.webots.handshake import Acknowledgement, decode_acknowledgement, encode_hello
from hilgw.protocols.webots.requests import LEAVE, encode_request
from hilgw.protocols.webots.robot_messages import (
    ClientExitNotify,
    JoystickSamplingPeriod,
    Quit,
    RobotConfiguration,
    Time,
)
from hilgw.protocols.webots.wire import ProtocolError
from hilgw.units import NS_PER_MS, NS_PER_S

ANSWER_BYTES = 16 * 1024 * 1024  # the longest answer: a robot without images sends far less
# The deadline of Webots' acknowledgement in the handshake. Later answers have none: Webots may be
# paused.
HELLO_NS = 10 * NS_PER_S
# The deadline of the answer before the last request, which then leaves without it.
GOODBYE_NS = 300 * NS_PER_MS

STANDS_STILL = "the simulation stands still: the robot gets its stop when it goes on"

_REFUSALS = {
    Acknowledgement.FAILED: "no such robot, or its controller is not <extern>",
    Acknowledgement.PROCESSING: "Webots is loading the world",
    Acknowledgement.FORBIDDEN: "the robot has another controller, or Webots refuses this machine",
}
_REMEDIES = {
    Acknowledgement.FAILED: 'set robot: to its name in the world, and its controller to "<extern>"',
    Acknowledgement.FORBIDDEN: "end the other controller, or allow this machine in Webots",
}


class _State(Enum):
    CLOSED = auto()
    HELLO = auto()  # waits for Webots' acknowledgement
    CONFIGURING = auto()  # waits for the robot's configuration
    RUNNING = auto()  # waits for the answer of a step
    GOODBYE = auto()  # waits for the answer to its last request
    OVER = auto()  # nothing is read or written any more


class WebotsBodySession(MotorSession):
    """The pure session; see `hilgw.bodies.base.BodySession`."""

    down: ClassVar[str] = "not sent: body down (Webots is not connected)"

    def __init__(self, settings: WebotsBodySettings, version: str) -> None:
        self._robot = WebotsRobot(settings, version)
        super().__init__(self._robot.devices, missing=())
        self._settings = settings
        self._hello = encode_hello(settings.robot)
        self._due_ns: int | None = None
        self._forget()

    # --- the connection -----------------------------------------------------------------------

    def open(self, now: int) -> list[Event]:
        self._forget()
        self._state = _State.HELLO
        self._due_ns = now + HELLO_NS
        return [Write(self._hello)]

    def close(self) -> list[Event]:
        was_up = self._state in (_State.RUNNING, _State.GOODBYE)
        self._forget()
        return [Disconnected("connection closed")] if was_up else []

    def _forget(self) -> None:
        self._discard()
        self._robot.clear()
        self._state = _State.CLOSED
        self._acknowledged = b""
        self._reader = AnswerReader(ANSWER_BYTES)
        self._due_ns = None
        self._is_leaving = self._is_stopping = False

    def receive(self, data: bytes, now: int) -> list[Event]:
        events: list[Event] = []
        try:
            if self._state is _State.HELLO:
                self._take_acknowledgement(data, events)
            elif self._state not in (_State.CLOSED, _State.OVER):
                self._reader.feed(data)
                while (answer := self._reader.next()) is not None:
                    self._take(answer, events, now)
        except ProtocolError as error:
            self.counts["failures"] += 1
            self._state = _State.OVER
            events.append(ProtocolFailure(error, error.tail))
        return events

    def next_deadline(self) -> int | None:
        return self._due_ns

    def expire(self, now: int) -> list[Event]:
        if self._due_ns is None or now < self._due_ns:
            return []
        self._due_ns = None
        if self._state is _State.HELLO:
            return self._end("Webots does not answer")
        return self._leave_at_once()

    def describe(self, data: bytes, *, received: bool) -> str:
        return describe(data, self._robot.codec, received=not received, local=False)

    def is_idle(self) -> bool:
        return not (self._is_stopping or self._is_leaving)

    def simulated_s(self) -> float | None:
        return self._robot.time_s

    def _discard(self) -> None:
        if packets := self._robot.discard():
            self.counts["packets_discarded"] += packets

    # --- the handshake ------------------------------------------------------------------------

    def _take_acknowledgement(self, data: bytes, events: list[Event]) -> None:
        self._acknowledged += data
        answer = decode_acknowledgement(self._acknowledged)
        if answer is None:
            return
        self._due_ns = None
        if answer is not Acknowledgement.CONNECTED:
            self.counts[answer.lower()] += 1
            name = quoted(self._settings.robot) if self._settings.robot else "the only robot"
            events += self._end(_REFUSALS[answer], where=name, fix=_REMEDIES.get(answer, ""))
            return
        self._state = _State.CONFIGURING
        events.append(self._request(0, [JoystickSamplingPeriod(0)]))  # as libController

    def _configure(self, messages: list[codec.Message], events: list[Event]) -> None:
        first = messages[0] if messages else None
        if not isinstance(first, RobotConfiguration):
            raise ProtocolError("the first answer is not the robot's configuration", where="answer")
        events += self._robot.configure(first, messages[1:])
        events.insert(0, Connected(f"robot '{first.name}' in Webots {first.version}".rstrip()))
        if first.synchronization:
            events.append(
                Notice(
                    "the robot's field synchronization is TRUE: Webots waits for hilgw in each "
                    "step; FALSE keeps the world in real time"
                )
            )
        self._state = _State.RUNNING

    # --- answers ------------------------------------------------------------------------------

    def _take(self, answer: Answer, events: list[Event], now: int) -> None:
        if self._state is _State.OVER:
            return
        messages = self._robot.codec.decode_messages(answer.messages)
        if self._state is _State.CONFIGURING:
            self._configure(messages, events)
        else:
            for message in messages:
                if isinstance(message, Quit):
                    self.counts["quits"] += 1
                    events += self._end("Webots ended the controller: reset, reload or exit")
                    return
                if isinstance(message, Time) and message.time < self._robot.time_s:
                    self.counts["resets"] += 1
                    events += self._end("the world was reset")
                    return
                event = self._robot.report(message)
                if event is not None:
                    events.append(event)
        if answer.delay < 0:
            return
        if self._state is _State.GOODBYE:
            self._state = _State.OVER
            self._is_leaving = False
            self._due_ns = None
            events.append(Write(LEAVE))
        elif self._is_leaving:
            self._due_ns = self._due_ns or now + GOODBYE_NS
            self._state = _State.GOODBYE
            self._ask(0, [*self._robot.waiting.take(), ClientExitNotify()], events)
        else:
            self.counts["steps"] += 1
            self.counts["late_ms"] += answer.delay
            self._step(events, now)

    def _step(self, events: list[Event], now: int) -> None:
        step_ms = self._robot.step_ms
        self._robot.move(now)
        packets = self._robot.leaving(step_ms)
        self.counts["packets_out"] += len(packets)
        self._ask(step_ms, [*self._robot.waiting.take(), *packets], events)

    def _ask(self, step_ms: int, commands: Iterable[codec.Command], events: list[Event]) -> None:
        events.append(self._request(step_ms, commands))
        if self._is_stopping:
            events.append(StopSent())
            self._is_stopping = False

    def _request(self, step_ms: int, commands: Iterable[codec.Command]) -> Write:
        return Write(encode_request(step_ms, self._robot.codec.encode_commands(commands)))

    def _end(self, text: str, where: str = "", fix: str = "") -> list[Event]:
        was_up = self._state in (_State.RUNNING, _State.GOODBYE)
        greeted = self._state is not _State.HELLO
        self._discard()
        self._state = _State.OVER
        self._is_leaving = self._is_stopping = False
        self._due_ns = None
        events: list[Event] = [Write(LEAVE)] if greeted else []
        if was_up:
            events.append(Disconnected(text))
        return [
            *events,
            ProtocolFailure(PortError(text, reason=PortError.LOST, where=where, fix=fix)),
        ]

    # --- from the control loop: motors --------------------------------------------------------

    def _takes_requests(self, now: int) -> bool:
        return self._state is _State.RUNNING and not self._is_leaving

    @property
    def _can_stop(self) -> bool:
        return self._state is _State.RUNNING

    def _is_motor(self, device: Device) -> bool:
        """`_move` refuses a device that Webots did not configure as a motor."""
        return True

    def _has_motor(self, index: int) -> bool:
        return index in self._robot.motors

    def _move(self, device: Device, command: Command, now: int) -> list[Event] | Refusal:
        if device.role == MOTOR and self._robot.command(command, now):
            return []
        return unfit(device, "is not a motor that Webots configured")

    def can_stop(self, index: int, mode: MotorMode | None) -> bool:
        """Return whether velocity 0 stops it, as it does a motor of Webots in every mode."""
        return self._has_motor(index)

    def leave(self, now: int) -> list[Event]:
        if self._state is _State.RUNNING:
            self._is_leaving = True
            self._due_ns = now + GOODBYE_NS
        return []

    def _halt(self, reason: StopReason, now: int) -> StopPlan:
        """Stop every motor with the next request.

        After the gateway was late, the emergency stop may have been written between two requests,
        so that answers no longer match their requests: the session begins anew.
        """
        if reason is StopReason.LATE:
            return StopPlan(self._end(reason.doc))
        self._is_stopping = True
        return StopPlan([], tuple(self._robot.stop()))

    def _halt_motor(self, index: int, now: int) -> StopPlan:
        self._robot.stop_motor(index)
        return StopPlan([])

    def _stop_data(self) -> bytes:
        """Return a request of its own that stops the motors, for when no other can be written."""
        return self._request(0, self._robot.stopping()).data

    def _leave_at_once(self) -> list[Event]:
        """Send the last request without the answer, which does not come (Webots is paused)."""
        events: list[Event] = []
        if self._state is _State.RUNNING:
            self._ask(0, [*self._robot.waiting.take(), ClientExitNotify()], events)
            events.append(Notice(STANDS_STILL))
        self._state = _State.OVER
        self._is_leaving = False
        return [*events, Write(LEAVE)]

    # --- from the control loop: sensors and packets -------------------------------------------

    def switch(self, index: int, period_ms: float | None, now: int) -> list[Event]:
        if self._is_leaving:  # the robot leaves Webots, and its periods with it
            return []
        return self._set(index, lambda device: set_period(self._robot, device, period_ms), now)

    def send(self, packet: PacketOut, now: int) -> list[Event]:
        return self._set(packet.index, lambda device: send(self._robot, device, packet), now)

    def tune(self, settings: DeviceSettings, now: int) -> list[Event]:
        return self._set(settings.index, lambda device: tune(self._robot, device, settings), now)

    def _set(self, index: int, change: Callable[[Device], Refusal | None], now: int) -> list[Event]:
        device = self._find(index, now)
        refusal = device if isinstance(device, Refusal) else change(device)
        return self._answer(index, refusal or [])
