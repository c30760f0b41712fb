"""The lines to and from a robot that is up: which leave now, and what their answers mean.

Lines leave in this order: stops, motors, LEDs, sensors that are due. A line that gets no answer in
time ends the exchange of all lines, until the robot is silent.
"""

from collections import Counter
from collections.abc import Collection, Mapping

from hilgw.bodies._common.session import refused
from hilgw.bodies.text.lines import (
    Leds,
    RequestLine,
    Requests,
    Sendable,
    Sent,
    number_of,
    sendable,
    shown,
    to_bytes,
)
from hilgw.bodies.text.motors import MotionLine, Motions
from hilgw.bodies.text.settings import Line, TextBodySettings
from hilgw.control.events import Command, Event, MotorHeld, Notice, SensorValue, Write
from hilgw.control.exchange import Exchange
from hilgw.control.safety import stands_still
from hilgw.devices.kinds import Devices, Refusal
from hilgw.protocols.text.patterns import Match
from hilgw.reasons import RequestReason
from hilgw.transports.base import HELD_BACK, LineSettings
from hilgw.units import ms_to_ns, s_to_ns

# Subjects of lines in the exchange, besides those with an object or a name of their own.
_STOP, _ALIVE = object(), object()


class TextRobotRefused(RequestReason):
    """Reasons of the body `text`."""

    FAILED = "failed", "the robot refused a line"
    NO_NUMBER = "no_number", "an answer of the robot has no finite number for a sensor"


class LineTraffic:
    """end: of a line.

    exchange: nothing but a stop is written in its silence. counts: those of the session.
    silence_ns: without an answer for this long the robot is gone.
    """

    def __init__(
        self,
        settings: TextBodySettings,
        devices: Devices,
        always_on: list[int],
        counts: Counter[str],
    ) -> None:
        self.end = to_bytes(settings.line_end)
        line = LineSettings(settings.baudRate)
        self._settings = settings
        self._devices = devices
        self._always_on = always_on
        self._counts = counts
        answer_ns = line.duration_ns(settings.longest_line)
        quiet_ns = max(ms_to_ns(settings.quiet_ms), line.duration_ns(HELD_BACK))
        window = settings.window, settings.window_bytes
        self.exchange: Exchange[Sent, bytes] = Exchange(
            counts, line.duration_ns(1), answer_ns, quiet_ns, *window
        )
        self._zeros: dict[str, float] = {}
        self.motions = Motions(settings, devices, self.end, self._zeros)
        self._leds = Leds(settings, self.end)
        self.silence_ns = max(s_to_ns(settings.silence_s), 2 * answer_ns)
        self._is_blocked = False
        self._stop_tries = 0
        self._answered_ns = self._asked_ns = self._work_ns = 0
        self.forget()
        self._alive = self._alive_line()

    def _alive_line(self) -> tuple[Sendable, bytes]:
        """Return the line that is asked while nothing else is.

        The first that asks for sensors, or the first of the setup with an answer.
        """
        if self.requests.lines:
            return self.requests.lines[0].line, self.requests.lines[0].data
        (step, *_) = [each for each in self._settings.setup if each.expect]
        line = Line(send=step.send, expect=step.expect, timeout_s=step.timeout_s)
        made = sendable(line, self.end, self._settings.failed)
        return made, made.filled({})

    # --- beginning and end --------------------------------------------------------------------

    def forget(self) -> None:
        """Another robot may be there: counters that wrap around begin anew."""
        self.requests = Requests(
            self._settings, self._devices, self._always_on, self.end, self._zeros
        )
        self._leds.forget()

    def start(self, zeros: Mapping[str, float | None], now: int) -> None:
        """Make LEDs and sensors due: the setup has ended. zeros: of the motors, as it read them."""
        self._zeros.update({name: zero or 0.0 for name, zero in zeros.items()})
        self.exchange.clear()
        self._answered_ns = self._asked_ns = self._work_ns = now
        self._stop_tries, self._is_blocked = 0, False
        self._leds.restart()
        self.requests.restart(now)

    # --- what is wanted of the robot ----------------------------------------------------------

    def command(self, command: Command, now: int) -> Refusal | bytes:
        """Execute a command to a motor of the robot.

        Returns the bytes to write at once, where it stands still and its line would have to wait.
        """
        refusal = self.motions.command(self.motions.motors[command.index], command, now)
        if refusal is not None:
            return refusal
        self._work_ns = now
        return self._halt(command.index, now) if stands_still(command) else b""

    def hold(self, index: int, now: int) -> bytes:
        """Stop one motor, the others go on; return the bytes to write at once."""
        self.motions.hold(self.motions.motors[index])
        self._work_ns = now
        return self._halt(index, now)

    @property
    def stop_copies(self) -> int:
        """Number of times the control loop writes a stop.

        Not where all lines that stop a motor are answered, as those without an answer are written
        again here.
        """
        lines = [*self.motions.stops, *(each.line for each in self.motions.lines)]
        return self._settings.stop_repeats if any(each.expect is None for each in lines) else 0

    def stop_again(self, motors: Collection[int] | None, now: int) -> list[Event]:
        """Return the stop once more.

        For these motors: the line of each, and the stop where all motors of a line stand.
        """
        if motors is None:
            return [Write(self._send_stop(now))]
        for index in motors:
            self.motions.hold_again(index)
        self._work_ns = now
        stop = self._send_stop(now) if self.motions.halt() else b""
        return [*([Write(stop)] if stop else []), *self.pump(now)]

    def _halt(self, index: int, now: int) -> bytes:
        """Return the bytes of the stop, which leaves outside the window.

        A motor may not wait for its line; the lines of the other motors follow it.
        """
        line = self.motions.line_of[index]
        waits = self.exchange.repeats_stop or self._is_blocked
        data = line.data()
        sent = Sent(data if isinstance(data, bytes) else b"", line.line, line)
        if line.active and (waits or not self.exchange.may_ask(sent, now)):
            self.motions.must_halt = True
        return self._send_stop(now) if self.motions.halt() else b""

    def shine(self, name: str, value: int, now: int) -> None:
        self._leds.set(name, value)
        self._work_ns = now

    def stop(self, now: int) -> bytes:
        """Return the stop lines, which leave outside the window.

        They leave again when a line that was on its way has been answered: it may move a motor
        after the stop.
        """
        self.motions.rest()
        self._stop_tries = 0
        self._work_ns = now
        return self._send_stop(now)

    def stop_data(self, *, after_cut: bool = False, whole: bool = False) -> bytes:
        """Return the stop lines.

        after_cut: a line that may have been cut is ended first, where the stop is not in real time.
        whole: with those that an answer decides. Changes nothing.
        """
        in_lines = after_cut and any(not line.realtime for line in self.motions.stops)
        return (self.end if in_lines else b"") + self.motions.stop_data(whole=whole)

    @property
    def is_stopping(self) -> bool:
        """True if a stop waits to be written again, or for its answer."""
        return self.exchange.repeats_stop or self._awaits(_STOP)

    # --- time ---------------------------------------------------------------------------------

    def next_deadline(self) -> int:
        dues = [self._answered_ns + self.silence_ns, self.exchange.next_deadline()]
        dues.append(self.motions.next_deadline())
        work_ns = self._next_work_ns()
        if work_ns is not None:
            dues.append(max(work_ns, self.exchange.silent_ns))
        return min(due for due in dues if due is not None)

    def is_lost(self, now: int) -> bool:
        """Return whether the robot has answered nothing for too long."""
        return now - self._answered_ns >= self.silence_ns

    def expire(self, now: int) -> list[Event]:
        lost = self.exchange.end_late(now)
        if lost:
            self._counts["timeouts"] += 1
            self._is_blocked = False
        events = [event for each in lost for event in self._not_answered(each)]
        self.motions.expire(now)
        return events + self.pump(now)

    # --- lines of the robot -------------------------------------------------------------------

    def take(self, line: bytes, now: int) -> list[Event] | None:
        answer = self.exchange.take(line, now)
        if answer is None:
            values = self.requests.unasked(line)
            if values is None:
                return None
            self._answered_ns = now
            return self._follow(values) + self._sensor_values(values)
        self._answered_ns = now
        sent, lost = answer
        events = [event for each in lost for event in self._not_answered(each)]
        subject = sent.subject
        if sent.match is None:
            self._counts["refused_lines"] += 1
            return events + self._refused_line(subject, line)
        events += self._follow(sent.match)
        if isinstance(subject, RequestLine):
            self._counts["answers"] += 1
            events += self._sensor_values(sent.match)
        elif subject is _STOP:
            self._stop_tries = 0
            events += [
                Write(each.filled({}))
                for each in self.motions.stops
                if each.after is not None and each.after.search(line)
            ]
        return events

    def _follow(self, match: Match) -> list[Event]:
        """Take the work zeros of an answer.

        A motor whose zero is another one stops: the position that was commanded is another place
        now.
        """
        events: list[Event] = []
        for name, known in self._zeros.items():
            zero = number_of(match.groupdict().get(self._settings.motors[name].zero) or b"")
            device = self._devices.by_name(name)
            if device is None or zero is None or zero == known:
                continue
            self._zeros[name] = zero
            events.append(Notice(f"the work zero of '{name}' is now at {zero:g}", once=False))
            motor = self.motions.motors[device.index]
            if motor.moves:
                self.motions.hold(motor)
                events.append(MotorHeld(device.index))
        return events

    def is_unasked(self, line: bytes) -> bool:
        """Return whether it is a line that the robot sends by itself."""
        return self.requests.unasked(line) is not None

    def _sensor_values(self, match: Match) -> list[Event]:
        events: list[Event] = []
        for sensor, value in self.requests.values(match.groupdict()):
            index, name = sensor.device.index, sensor.device.name
            if value is None:
                text = f"the answer has no finite number for '{name}'"
                events.append(refused(self._counts, index, TextRobotRefused.NO_NUMBER, text))
            else:
                events.append(SensorValue(index, value))
        return events

    def _refused_line(self, subject: object, line: bytes) -> list[Event]:
        """Report a line that the robot refused, in its own words.

        Motors stop, or they would go on with the line before.
        """
        text = f"the robot answered {shown(line)}"
        if subject is _STOP:
            self.exchange.repeats_stop = self._stop_tries < self._settings.stop_repeats
            return [Notice(f"{text} to its stop", once=False)]
        index: int | None = None
        if isinstance(subject, MotionLine):
            self.motions.refused(subject)
            index = subject.motors[0].device.index
            names = ", ".join(f"'{motor.device.name}'" for motor in subject.motors)
            held = [MotorHeld(motor.device.index) for motor in subject.motors]
            return [
                refused(self._counts, index, TextRobotRefused.FAILED, f"{names}: {text}"),
                *held,
            ]
        if isinstance(subject, str):
            device = self._devices.by_name(subject)
            index = None if device is None else device.index
            text = f"'{subject}': {text}"
        return [refused(self._counts, index, TextRobotRefused.FAILED, text)]

    def _not_answered(self, sent: Sent) -> list[Event]:
        """Send a line again that was lost, or whose answer was.

        A sensor is asked at its time.
        """
        self._counts["unanswered"] += 1
        subject = sent.subject
        if isinstance(subject, MotionLine):
            self.motions.lost(subject)
        elif subject is _STOP:
            self.exchange.repeats_stop = self._stop_tries < self._settings.stop_repeats
            if not self.exchange.repeats_stop:
                tries = "once" if self._stop_tries == 1 else f"{self._stop_tries} times"
                text = f"stop sent {tries}, not confirmed: the robot does not acknowledge it"
                return [Notice(text, once=False)]
        elif isinstance(subject, str):
            self._leds.lost(subject)
        return []

    # --- lines to the robot -------------------------------------------------------------------

    def pump(self, now: int) -> list[Event]:
        """Write the lines that are due, as far as the window has room."""
        if now < self.exchange.silent_ns:
            return []
        data = b""
        if self.exchange.repeats_stop:
            if not self.exchange.repeat_stop(now):
                return []  # what was sent before the stop comes first
            self.motions.repeat()
            data += self._send_stop(now)
        if self.motions.halt():
            data += self._send_stop(now)
        self._is_blocked = False
        events: list[Event] = []
        for line, filled, subject in self._due_lines(now):
            sent = Sent(filled, line, subject, is_motion=isinstance(subject, MotionLine))
            if (self._is_blocked and not line.realtime) or not self.exchange.may_ask(sent, now):
                self._is_blocked = True
                continue
            if line.expect is not None:
                self.exchange.asked(sent, now)
            events += self._left(subject, filled, now)
            data += filled
        return [Write(data), *events] if data else events

    def _next_work_ns(self) -> int | None:
        """Return the time when a line is due that the window has room for; None: there is none."""
        if self.exchange.repeats_stop:
            return None if self.exchange.waiting else self._work_ns
        dues = [
            request.due_ns
            for request in self._asked_requests()
            if request.line.realtime or not self._is_blocked
        ]
        if not self._is_blocked:
            if self.motions.has_waiting or self._leds.has_waiting:
                dues.append(self._work_ns)
            if not self.exchange.waiting:
                dues.append(self._alive_ns)
        return min(dues, default=None)

    @property
    def _alive_ns(self) -> int:
        return max(self._answered_ns, self._asked_ns) + self.silence_ns // 3

    def _due_lines(self, now: int) -> list[tuple[Sendable, bytes, object]]:
        lines: list[tuple[Sendable, bytes, object]] = [
            (motion.line, data, motion) for motion, data in self.motions.due()
        ]
        lines += self._leds.due()
        lines += [
            (request.line, request.data, request)
            for request in self._asked_requests()
            if now >= request.due_ns
        ]
        if not lines and not self.exchange.waiting and now >= self._alive_ns:
            lines.append((self._alive[0], self._alive[1], _ALIVE))
        return lines

    def _asked_requests(self) -> list[RequestLine]:
        return [each for each in self.requests.asked() if not self._awaits(each)]

    def _left(self, subject: object, data: bytes, now: int) -> list[Event]:
        self._asked_ns = now
        if isinstance(subject, MotionLine):
            cut = self.motions.left(subject, data, now)
            return [
                Notice(f"'{name}': its number is cut to the limits of its line") for name in cut
            ]
        if isinstance(subject, RequestLine):
            self._counts["late_requests"] += subject.left(now, self.requests.enabled)
        elif isinstance(subject, str):
            self._leds.left(subject)
        return []

    def _awaits(self, subject: object) -> bool:
        return any(each.subject == subject for each in self.exchange.waiting)

    def _send_stop(self, now: int) -> bytes:
        """Return the bytes of all stop lines, whose answers are expected from now on.

        But not in the silence: after it they are written again.
        """
        self._stop_tries += 1
        self.exchange.stopped(now)
        for line in self.motions.stops:
            if line.expect is not None and now >= self.exchange.silent_ns:
                self.exchange.asked(Sent(line.filled({}), line, _STOP, is_motion=False), now)
        return self.motions.stop_data()
