"""The session of body `text`: a robot whose lines the configuration declares.

The line is ended and the stop sent; when it is silent, the steps of `setup` follow. Then lines
leave in this order: stops, motors, LEDs, sensors that are due. A line that gets no answer in time
ends the exchange of all lines, until the robot is silent; a robot that answers nothing is gone.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum

from hilgw.bodies.text.exchange import Answer, Exchange, Outstanding
from hilgw.bodies.text.handshake import Handshake, shown
from hilgw.bodies.text.lamps import Lamps
from hilgw.bodies.text.lines import LineReader, Sendable, sendable, to_bytes
from hilgw.bodies.text.motions import Motions
from hilgw.bodies.text.motors import MotionLine
from hilgw.bodies.text.sensors import RequestLine, Requests
from hilgw.bodies.text.settings import Line, TextBodySettings, devices_of
from hilgw.control.events import (
    Command,
    Connected,
    DeviceSettings,
    Disconnected,
    Event,
    LedValue,
    MotorCommand,
    Notice,
    PacketOut,
    ProtocolFailure,
    Refused,
    SensorValue,
    StopReason,
    Write,
)
from hilgw.control.safety import Mode
from hilgw.devices.kinds import LED, SENSOR, Devices
from hilgw.protocols.text.patterns import compiled
from hilgw.reasons import RequestReason, RequestRefused
from hilgw.units import NS_PER_S, ms_to_ns, s_to_ns

LONGEST_QUIET_NS = NS_PER_S
"""A robot that never stops talking is set up nevertheless."""
STOP_TRIES = 3
SHOWN = 96
# Subjects of lines in the exchange, beside those with an object or a name of their own.
_STOP, _ALIVE = object(), object()


class TextRobotRefused(RequestReason):
    """Reasons of the body `text`."""

    FAILED = "failed", "the robot refused a line"
    NO_NUMBER = "no_number", "an answer of the robot has no finite number for a sensor"


class _Phase(Enum):
    CLOSED = "closed"
    QUIET = "quiet"  # the stop was sent; what the robot still sends is dropped
    SETUP = "setup"
    UP = "up"


class TextBodySession:
    """The pure session; see `hilgw.bodies.base.BodySession`."""

    def __init__(self, settings: TextBodySettings) -> None:
        self.devices = Devices()
        self.counts: Counter[str] = Counter()
        for device in devices_of(settings):
            self.devices.add(device)
        self._settings = settings
        self._end = to_bytes(settings.line_end)
        self._reader = LineReader(self._end, settings.longest_line)
        self._exchange = Exchange(settings.window, settings.window_bytes)
        self._restarted, self._ignored = (
            compiled(text, whole=True) if text else None
            for text in (settings.restarted, settings.ignore)
        )
        self._motions = Motions(settings, self.devices, self._end)
        self._requests = Requests(settings, self.devices, self._end)
        self._lamps = Lamps(settings, self._end)
        self._phase = _Phase.CLOSED
        self._handshake = Handshake(settings, self._end)
        self._alive = self._alive_line()
        self._silence_ns = s_to_ns(settings.silence_s)
        self._armed = self._stop_again = self._is_blocked = self._told_unexpected = False
        self._stop_tries = 0
        self._quiet_ns = self._latest_ns = 0  # end of the silence; and the latest end
        self._heard_ns = self._asked_ns = self._work_ns = 0

    def _alive_line(self) -> tuple[Sendable, bytes]:
        """The line that is asked while nothing else is: the first that asks for sensors, or the
        first of the setup with an answer."""
        if self._requests.lines:
            return self._requests.lines[0].line, self._requests.lines[0].data
        (step, *_) = [each for each in self._settings.setup if each.expect]
        line = Line(send=step.send, expect=step.expect, timeout_s=step.timeout_s)
        made = sendable(line, self._end, self._settings.failed)
        return made, made.filled({})

    # --- the connection -----------------------------------------------------------------------

    def open(self, now: int) -> list[Event]:
        """The port is open: counters that wrap around begin anew."""
        self._requests = Requests(self._settings, self.devices, self._end)
        self._lamps.forget()
        self._armed = self._told_unexpected = False
        return self._begin(now)

    def close(self) -> list[Event]:
        """The connection is gone: what the robot does now is in its own hands."""
        was_up = self._phase is _Phase.UP
        self._phase = _Phase.CLOSED
        self._armed = self._stop_again = False
        self._exchange.clear()
        return [Disconnected("connection closed")] if was_up else []

    def _begin(self, now: int) -> list[Event]:
        """Ends a line that was cut, and stops a robot that still moves; then the setup."""
        self._phase = _Phase.QUIET
        self._motions.rest()
        self._exchange.clear()
        self._reader.clear()
        self._stop_again = False
        self._expect_silence(now)
        return [Write(self._end + self._motions.stop_data())]

    def _expect_silence(self, now: int) -> None:
        """Nothing but a stop is written until the robot is silent."""
        self._latest_ns = now + LONGEST_QUIET_NS
        self._quiet_ns = min(now + ms_to_ns(self._settings.quiet_ms), self._latest_ns)

    def _lose(self, text: str, now: int) -> list[Event]:
        return [Disconnected(text), *self._begin(now)]

    def receive(self, data: bytes, now: int) -> list[Event]:
        if self._phase is _Phase.CLOSED:
            return []
        lines = self._reader.feed(data)
        self.counts["garbage"] = self._reader.garbage
        if now < self._quiet_ns and not self._is_restart(lines):
            self._quiet_ns = min(now + ms_to_ns(self._settings.quiet_ms), self._latest_ns)
            self.counts["late_lines"] += len(lines)
            return []
        events: list[Event] = []
        for line in lines:
            events += self._take(line, now)
        return events + self._pump(now)

    def _is_restart(self, lines: list[bytes]) -> bool:
        """While answers are dropped: whether one of these lines is a restart."""
        restarted = self._restarted
        is_up = self._phase is _Phase.UP and restarted is not None
        return is_up and any(restarted.search(line) for line in lines if restarted)

    def next_deadline(self) -> int | None:
        if self._phase is _Phase.CLOSED:
            return None
        if self._phase is _Phase.QUIET:
            return self._quiet_ns
        if self._phase is _Phase.SETUP:
            return self._handshake.deadline
        dues = [self._heard_ns + self._silence_ns, self._exchange.next_deadline()]
        dues.append(self._motions.next_deadline())
        work_ns = self._next_work_ns()
        if work_ns is not None:
            dues.append(max(work_ns, self._quiet_ns))
        return min(due for due in dues if due is not None)

    def expire(self, now: int) -> list[Event]:
        if self._phase is _Phase.CLOSED:
            return []
        if self._phase is _Phase.QUIET:
            return self._start_setup(now) if now >= self._quiet_ns else []
        if self._phase is _Phase.SETUP:
            return self._after_setup(self._handshake.expire(now), now)
        if now - self._heard_ns >= self._silence_ns:
            self.counts["silences"] += 1
            return self._lose(f"no answer for {self._settings.silence_s:g} s", now)
        events = self._resync(self._exchange.overdue(now), now)
        self._motions.expire(now)
        return events + self._pump(now)

    def describe(self, data: bytes, *, received: bool) -> str:
        """The lines, with every byte that is no text escaped."""
        shown = data[:SHOWN].decode("latin-1").encode("unicode_escape").decode()
        return shown + ("..." if len(data) > SHOWN else "")

    # --- setup --------------------------------------------------------------------------------

    def _start_setup(self, now: int) -> list[Event]:
        self._phase = _Phase.SETUP
        return self._after_setup(self._handshake.start(now), now)

    def _after_setup(self, events: list[Event], now: int) -> list[Event]:
        """Its events, and what follows once it is over."""
        handshake = self._handshake
        if not handshake.over:
            return events
        if any(isinstance(event, ProtocolFailure) for event in events):
            self._phase = _Phase.CLOSED
            return events
        if handshake.identity is None:
            self.counts["retries"] += 1
            return [*events, *self._begin(now)]
        self._phase = _Phase.UP
        self._exchange.clear()
        self._stop_again = False
        self._heard_ns = self._asked_ns = now
        self._quiet_ns = self._work_ns = now
        self._stop_tries, self._is_blocked = 0, False
        self._lamps.restart()
        self._requests.restart(now)
        events.append(Connected(handshake.identity))
        if handshake.repeated:  # the stop before the setup may be lost, and the robot may drive
            events.append(Write(self._send_stop(now)))
        return events + self._pump(now)

    # --- lines of the robot -------------------------------------------------------------------

    def _take(self, line: bytes, now: int) -> list[Event]:
        if self._phase is _Phase.SETUP:
            return self._after_setup(self._handshake.take(line, now), now)
        if self._phase is not _Phase.UP:
            return []
        answer = self._exchange.take(line)
        if answer is not None:
            self._heard_ns = now
            return self._answered(answer, line, now)
        if self._restarted is not None and self._restarted.search(line):
            self.counts["restarts"] += 1
            return self._lose(f"the robot needs its setup again: {shown(line)}", now)
        if self._ignored is not None and self._ignored.search(line):
            return []
        self.counts["unexpected_lines"] += 1
        if self._told_unexpected:
            return []
        self._told_unexpected = True
        return [Notice(f"the robot sends lines that no pattern describes: {shown(line)}")]

    def _answered(self, answer: Answer, line: bytes, now: int) -> list[Event]:
        events: list[Event] = []
        for each in answer.skipped:
            events += self._not_answered(each)
        subject = answer.sent.subject
        if answer.match is None:
            self.counts["refused_lines"] += 1
            events += self._refused_line(subject, line)
        elif isinstance(subject, RequestLine):
            events += self._values(subject, answer, now)
        elif subject is _STOP:
            self._stop_tries = 0
        return events

    def _values(self, request: RequestLine, answer: Answer, now: int) -> list[Event]:
        assert answer.match is not None
        self.counts["answers"] += 1
        events: list[Event] = []
        for sensor, value in request.values(answer.match, self._requests.enabled):
            index, name = sensor.device.index, sensor.device.name
            if value is None:
                text = f"the answer has no finite number for '{name}'"
                events += self._refuse(index, TextRobotRefused.NO_NUMBER, text)
            else:
                events.append(SensorValue(index, value))
        return events

    def _refused_line(self, subject: object, line: bytes) -> list[Event]:
        """The robot refused a line, in its own words."""
        text = f"the robot answered {shown(line)}"
        if subject is _STOP:
            self._stop_again = self._stop_tries < STOP_TRIES
            return [Notice(f"{text} to its stop", once=False)]
        index: int | None = None
        if isinstance(subject, MotionLine):
            subject.last = None  # the next command is sent, also with the same numbers
            index = subject.motors[0].device.index
            names = ", ".join(f"'{motor.device.name}'" for motor in subject.motors)
            text = f"{names}: {text}"
        elif isinstance(subject, str):
            device = self.devices.by_name(subject)
            index = None if device is None else device.index
            text = f"'{subject}': {text}"
        return self._refuse(index, TextRobotRefused.FAILED, text)

    def _resync(self, lost: list[Outstanding], now: int) -> list[Event]:
        """Lines whose answers are late: waits until the robot is silent, then goes on."""
        if not lost:
            return []
        self.counts["timeouts"] += 1
        events = [event for each in lost for event in self._not_answered(each)]
        self._is_blocked = False
        self._expect_silence(now)
        return events

    def _not_answered(self, sent: Outstanding) -> list[Event]:
        """The line may be lost, or its answer: it is sent again. A sensor is asked at its time."""
        self.counts["unanswered"] += 1
        subject = sent.subject
        if isinstance(subject, MotionLine):
            self._motions.lost(subject)
        elif subject is _STOP:
            self._stop_again = self._stop_tries < STOP_TRIES
            if not self._stop_again:
                return [Notice("the robot does not acknowledge its stop", once=False)]
        elif isinstance(subject, str):
            self._lamps.lost(subject)
        return []

    # --- lines to the robot -------------------------------------------------------------------

    def _pump(self, now: int) -> list[Event]:
        """Writes the lines that are due, as far as the window has room."""
        if self._phase is not _Phase.UP or now < self._quiet_ns:
            return []
        data = b""
        if self._stop_again:
            if not self._exchange.idle:
                return []  # what was sent before the stop comes first
            self._motions.repeat()
            data += self._send_stop(now)
        on_its_way = self._moves_on_its_way()
        if self._motions.halt():
            data += self._send_stop(now)
            self._stop_again = on_its_way
        self._is_blocked = False
        events: list[Event] = []
        for line, filled, subject in self._due_lines(now):
            if (self._is_blocked and not line.realtime) or not self._exchange.has_room(
                line, len(filled)
            ):
                self._is_blocked = True
                continue
            self._exchange.sent(line, subject, len(filled), now)
            events += self._left(subject, filled, now)
            data += filled
        return [Write(data), *events] if data else events

    def _next_work_ns(self) -> int | None:
        """When a line is due that the window has room for; None: there is none."""
        if self._stop_again:
            return self._work_ns if self._exchange.idle else None
        dues = [
            request.due_ns
            for request in self._asked_requests()
            if request.line.realtime or not self._is_blocked
        ]
        if not self._is_blocked:
            if self._motions.has_waiting or self._lamps.has_waiting:
                dues.append(self._work_ns)
            if self._exchange.idle:
                dues.append(max(self._heard_ns, self._asked_ns) + self._silence_ns // 3)
        return min(dues, default=None)

    def _due_lines(self, now: int) -> list[tuple[Sendable, bytes, object]]:
        """Lines that are due, in their order: bytes and subject of each."""
        found: list[tuple[Sendable, bytes, object]] = [
            (motion.line, data, motion) for motion, data in self._motions.due()
        ]
        found += self._lamps.due()
        found += [
            (request.line, request.data, request)
            for request in self._asked_requests()
            if now >= request.due_ns
        ]
        alive_ns = max(self._heard_ns, self._asked_ns) + self._silence_ns // 3
        if not found and self._exchange.idle and now >= alive_ns:
            found.append((self._alive[0], self._alive[1], _ALIVE))
        return found

    def _asked_requests(self) -> list[RequestLine]:
        """Those with an enabled sensor, and without an answer to come."""
        return [each for each in self._requests.asked() if not self._exchange.has(each)]

    def _left(self, subject: object, data: bytes, now: int) -> list[Event]:
        """A line has left."""
        self._asked_ns = now
        if isinstance(subject, MotionLine):
            cut = self._motions.left(subject, data)
            return [
                Notice(f"'{name}': its number is cut to the limits of its line") for name in cut
            ]
        if isinstance(subject, RequestLine):
            self.counts["late_requests"] += subject.left(now, self._requests.enabled)
        elif isinstance(subject, str):
            self._lamps.left(subject)
        return []

    # --- stops --------------------------------------------------------------------------------

    def _moves_on_its_way(self) -> bool:
        """Whether a line for motors has no answer yet: the robot may read it after a stop."""
        return any(self._exchange.has(motion) for motion in self._motions.active())

    def _send_stop(self, now: int) -> bytes:
        """The bytes of all stop lines, whose answers are expected from now on."""
        self._stop_again = False
        self._stop_tries += 1
        for line in self._motions.stops:
            self._exchange.sent(line, _STOP, len(line.filled({})), now)
        return self._motions.stop_data()

    def stop_command(self, index: int, mode: Mode) -> Command | None:
        """The command that stops this motor in any mode: the stop lines end every motion."""
        known = index in self._motions.motors
        return MotorCommand(index, "velocity", 0.0) if known else None

    def stop_commands(self) -> list[Command]:
        """The commands that `stop` would send now. Changes nothing."""
        if not self._armed or self._phase is _Phase.CLOSED:
            return []
        return self._motions.stop_commands()

    def stop(self, reason: StopReason, now: int) -> list[Event]:
        """Stops all motors at once, beside the window, and again when a line that was on its way
        has been answered: it may move a motor after the stop. Does nothing unless a command came
        since the last."""
        if not self._armed or self._phase is _Phase.CLOSED:
            return []
        self._armed = False
        again = self._moves_on_its_way()
        self._motions.rest()
        self._stop_tries = 0
        self.counts["stops"] += 1
        self.counts[f"stop_{reason}"] += 1
        data = self._send_stop(now)
        self._stop_again = again
        self._work_ns = now
        return [Write(data)]

    def stop_bytes(self) -> bytes:
        """The bytes that stop the motors now, after the end of a line that may have been cut.
        Changes nothing."""
        if not self.stop_commands():
            return b""
        in_lines = any(not line.realtime for line in self._motions.stops)
        return (self._end if in_lines else b"") + self._motions.stop_data()

    def is_idle(self) -> bool:
        """Whether no stop waits to be written again, and none for its answer."""
        is_up = self._phase is _Phase.UP
        return not is_up or not (self._stop_again or self._exchange.has(_STOP))

    # --- from the control loop ----------------------------------------------------------------

    def command(self, command: Command, now: int) -> list[Event]:
        """A command to a motor, which the control loop has checked. The line leaves at once when
        the window has room, with all commands of this instant; the Write is empty."""
        index = command.index
        if self._phase is not _Phase.UP:
            return self._refuse(index, RequestRefused.DOWN, "the robot is not connected")
        motor = self._motions.motors.get(index)
        if motor is None:
            return self._unknown(index, "is not a motor")
        refusal = self._motions.command(motor, command, now)
        if refusal is not None:
            return self._refuse(index, refusal.reason, refusal.text)
        self._armed = True
        self._work_ns = now
        self.counts["commands"] += 1
        return [Write(b"")]

    def switch(self, index: int, period_ms: float | None, now: int) -> list[Event]:
        """Only lines with an enabled sensor are sent, at its period."""
        device = self.devices.by_index(index)
        if device is None or device.role != SENSOR:
            return self._unknown(index, "is not a sensor")
        self._requests.switch(index, period_ms, now)
        return []

    def own_period(self, index: int) -> float | None:
        """Off, unless the configuration has the sensor always on."""
        return None if index in self._requests.always_on else 0.0

    def send(self, packet: PacketOut, now: int) -> list[Event]:
        """The robot has no radio."""
        return self._unknown(packet.index, "is not an Emitter of the robot")

    def tune(self, settings: DeviceSettings, now: int) -> list[Event]:
        """LEDs only: the newest value of each leaves when the window has room."""
        device = self.devices.by_index(settings.index)
        if not isinstance(settings, LedValue) or device is None or device.kind != LED:
            return self._unknown(settings.index, "cannot be set so")
        if self._phase is not _Phase.UP:
            return self._refuse(settings.index, RequestRefused.DOWN, "the robot is not connected")
        self._lamps.set(device.name, settings.value)
        self._work_ns = now
        return []

    # --- refusals -----------------------------------------------------------------------------

    def _unknown(self, index: int, text: str) -> list[Event]:
        device = self.devices.by_index(index)
        if device is None:
            text = f"the robot has no device {index}"
            return self._refuse(index, RequestRefused.UNKNOWN_DEVICE, text)
        text = f"{device.kind} '{device.name}' {text}"
        return self._refuse(index, RequestRefused.NOT_SETTABLE, text)

    def _refuse(self, index: int | None, reason: str, text: str) -> list[Event]:
        self.counts[f"refused_{reason}"] += 1
        return [Refused(index, reason, text)]
