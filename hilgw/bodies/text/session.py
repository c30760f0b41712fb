"""The session of body `text`: a robot whose lines the configuration declares.

The line is ended and the stop sent; when it is silent, the steps of `setup` follow; then the
traffic of a robot that is up. A robot that answers nothing is gone.
"""

from collections.abc import Collection

from hilgw.bodies._common.session import Phase, RobotSession
from hilgw.bodies.text.lines import SHOWN, number_of, shown, splitter, to_bytes
from hilgw.bodies.text.settings import WORK, TextBodySettings, devices_of
from hilgw.bodies.text.traffic import LineTraffic
from hilgw.control.events import (
    Command,
    Connected,
    Disconnected,
    Event,
    Notice,
    ProtocolFailure,
    StopPlan,
    StopReason,
    Write,
)
from hilgw.control.missing import ACCELERATION, AVAILABLE, GAINS
from hilgw.devices.kinds import Device, Refusal
from hilgw.errors import MismatchError
from hilgw.protocols.dialogue import AskLine, LineDialogue, LineScript
from hilgw.protocols.text.patterns import Step, compiled, question
from hilgw.transports.base import LineSettings
from hilgw.units import ns_to_s

LATE = "answers come later than timeout_s, and are dropped: raise it"


class TextBodySession(RobotSession):
    """The pure session; see `hilgw.bodies.base.BodySession`."""

    missing = (ACCELERATION, AVAILABLE, GAINS)

    def __init__(self, settings: TextBodySettings) -> None:
        super().__init__(settings, devices_of(settings))
        self._settings = settings
        self._traffic = LineTraffic(settings, self.devices, self._always_on, self.counts)
        self._reader = splitter(self._traffic.end, settings.longest_line)
        self._setup = Setup(settings, self._traffic)
        self._restarted, self._ignored = (
            compiled(text, whole=True) if text else None
            for text in (settings.restarted, settings.ignore)
        )
        self._reported_unexpected = False
        self._owes_stop = False  # one came during the setup

    # --- the connection -----------------------------------------------------------------------

    def open(self, now: int) -> list[Event]:
        self._traffic.forget()
        self._reported_unexpected = False
        return self._begin(now)

    def _end(self) -> None:
        self._traffic.exchange.clear()

    def _begin(self, now: int) -> list[Event]:
        """End a line that was cut, stop a robot that still moves, and begin the setup."""
        self._phase = Phase.QUIET
        self._traffic.motions.rest()
        self._traffic.exchange.clear()
        self._traffic.exchange.quiet(now)
        self._reader.clear()
        return [Write(self._traffic.end + self._traffic.stop_data())]

    def _lose(self, text: str, now: int) -> list[Event]:
        return [Disconnected(text), *self._begin(now)]

    def receive(self, data: bytes, now: int) -> list[Event]:
        if self._phase is Phase.CLOSED:
            return []
        lines = self._reader.feed(data)
        self.counts["garbage"] = self._reader.dropped
        if self._settings.unasked and self._phase is not Phase.UP:
            lines = [line for line in lines if not self._traffic.is_unasked(line)]
            if not lines:
                return []
        if now < self._traffic.exchange.silent_ns and not self._is_restart(lines):
            if self._settings.unasked and all(map(self._traffic.is_unasked, lines)):
                return [event for line in lines for event in self._take(line, now)]
            late = len(lines) if self._is_up else 0  # before, they answer the first stop
            self._traffic.exchange.late(late, now)
            return [Notice(LATE)] if late else []
        events: list[Event] = []
        for line in lines:
            events += self._take(line, now)
        return events + self._traffic.pump(now) if self._phase is Phase.UP else events

    def _is_restart(self, lines: list[bytes]) -> bool:
        restarted = self._restarted
        is_up = self._phase is Phase.UP and restarted is not None
        return is_up and any(restarted.search(line) for line in lines if restarted)

    def next_deadline(self) -> int | None:
        match self._phase:
            case Phase.CLOSED:
                return None
            case Phase.QUIET:
                return self._traffic.exchange.silent_ns
            case Phase.SETUP:
                return self._setup.deadline
        return self._traffic.next_deadline()

    def expire(self, now: int) -> list[Event]:
        match self._phase:
            case Phase.CLOSED:
                return []
            case Phase.QUIET:
                return self._start_setup(now) if now >= self._traffic.exchange.silent_ns else []
            case Phase.SETUP:
                return self._after_setup(self._setup.expire(now), now)
        if self._traffic.is_lost(now):
            self.counts["silences"] += 1
            return self._lose(f"no answer for {ns_to_s(self._traffic.silence_ns):g} s", now)
        return self._traffic.expire(now)

    def describe(self, data: bytes, *, received: bool) -> str:
        shown = data[:SHOWN].decode("latin-1").encode("unicode_escape").decode()
        return shown + ("..." if len(data) > SHOWN else "")

    def is_idle(self) -> bool:
        return self._phase is not Phase.UP or not self._traffic.is_stopping

    # --- setup --------------------------------------------------------------------------------

    def _start_setup(self, now: int) -> list[Event]:
        self._begin_setup()
        self._setup = Setup(self._settings, self._traffic)
        return self._after_setup(self._setup.start(now), now)

    def _after_setup(self, events: list[Event], now: int) -> list[Event]:
        setup = self._setup
        if not setup.over:
            return events
        if any(isinstance(event, ProtocolFailure) for event in events):
            self._phase = Phase.CLOSED
            return events
        if setup.result is None:
            self.counts["retries"] += 1
            return [*events, *self._begin(now)]
        self._phase = Phase.UP
        self._traffic.start(setup.zeros, now)
        events.append(Connected(setup.result))
        if setup.repeated or self._owes_stop:
            # The stop before the setup may be lost, and the robot may drive.
            self._owes_stop = False
            events.append(Write(self._traffic.stop(now)))
        return events + self._traffic.pump(now)

    def _take(self, line: bytes, now: int) -> list[Event]:
        if self._phase is Phase.SETUP:
            return self._after_setup(self._setup.take_line(line, now) or [], now)
        if self._phase is not Phase.UP:
            return []
        events = self._traffic.take(line, now)
        if events is not None:
            return events
        if self._restarted is not None and self._restarted.search(line):
            self.counts["restarts"] += 1
            return self._lose(f"the robot needs its setup again: {shown(line)}", now)
        if self._ignored is not None and self._ignored.search(line):
            return []
        self.counts["unexpected_lines"] += 1
        if self._reported_unexpected:
            return []
        self._reported_unexpected = True
        return [Notice(f"the robot sends lines that no pattern describes: {shown(line)}")]

    # --- from the control loop ----------------------------------------------------------------

    def _move(self, device: Device, command: Command, now: int) -> list[Event] | Refusal:
        """Write the line at once when the window has room, with all commands of this instant."""
        data = self._traffic.command(command, now)
        return data if isinstance(data, Refusal) else _written(data)

    def _halt(self, reason: StopReason, now: int) -> StopPlan:
        """During the setup it begins anew, as an answer to the stop is none to a step."""
        self._owes_stop = not self._is_up
        if self._owes_stop:
            return self._at_rest(self._begin(now))
        return self._at_rest([Write(self._traffic.stop(now))])

    @property
    def _copies(self) -> int:
        """Zero before it is up: the stop is written again when the setup has begun or ended."""
        return self._traffic.stop_copies if self._is_up else 0

    def stop_again(self, motors: Collection[int] | None, now: int) -> list[Event]:
        return self._traffic.stop_again(motors, now) if self._is_up else []

    def _halt_motor(self, index: int, now: int) -> StopPlan:
        """Stop a motor by its line; where positions are controlled, by the stop."""
        return self._at_rest(_written(self._traffic.hold(index, now)), index)

    def _stop_data(self) -> bytes:
        return self._traffic.stop_data(after_cut=True)

    def _enable(self, index: int, period_ms: float | None, now: int) -> list[Event]:
        self._traffic.requests.switch(index, period_ms, now)
        return []

    def _set_led(self, led: Device, value: int, now: int) -> list[Event]:
        self._traffic.shine(led.name, value, now)
        return []


def _written(data: bytes) -> list[Event]:
    return [Write(data)] if data else []


IDENTITY = "identity"


class Setup(LineDialogue[Event, str | None]):
    """The steps of the setup, one after the other.

    Their result is the identity of the robot, None when a step has failed. zeros: the number of the
    work zero, by motor.
    """

    def __init__(self, settings: TextBodySettings, traffic: LineTraffic) -> None:
        byte_ns = LineSettings(settings.baudRate).duration_ns(1)
        super().__init__(self._steps(), Write, ProtocolFailure, byte_ns)
        self._settings = settings
        self._traffic = traffic
        self._groups: dict[str, bytes] = {}  # of all steps
        self.zeros: dict[str, float | None] = {}

    def _steps(self) -> LineScript[Event, str | None]:
        """Return the identity; None when the robot does not answer, or rejects a step.

        Raises MismatchError when another robot answers.
        """
        identity = self._settings.name
        for step in self._settings.setup:
            text = to_bytes(step.send) + (
                b"" if step.realtime or not step.send else self._traffic.end
            )
            if not step.expect:
                yield Write(text)
                continue
            asked = question(step, text)
            match = yield asked
            if match is None:
                yield self._silence(step, asked)
                return None
            if match.re is asked.refusal:
                problem = f"the {self._settings.name} rejects {step.send!r}: {shown(match[0])}"
                if not step.fix:
                    yield Notice(problem)
                    return None
                yield Write(self._traffic.stop_data(whole=True))
                raise MismatchError(problem, fix=step.fix)
            self._groups |= match.groupdict(b"")
            named = match.groupdict().get(IDENTITY)
            if named:
                words = named.decode("latin-1").strip()
                identity = f"{self._settings.name} {words}".encode("unicode_escape").decode()
        if self._settings.frame == WORK:
            zeros = {name: each.zero for name, each in self._settings.motors.items() if each.zero}
            self.zeros = {name: number_of(self._groups.get(zeros[name], b"")) for name in zeros}
            if None in self.zeros.values():
                yield Notice(f"no step of the setup has a number for zero: {', '.join(zeros)}")
                return None
        return identity

    def _silence(self, step: Step, asked: AskLine) -> Event:
        """Reason why a step has no answer.

        Raises MismatchError when another robot answered; bytes that are no text are not an answer,
        but what another baud rate looks like.
        """
        name = self._settings.name
        if not self.other:
            return Notice(
                f"no answer to {step.send!r}: is the {name} switched on, and baudRate its own?"
            )
        if not (self.other.isascii() and self.other.decode().replace("\t", " ").isprintable()):
            return Notice(f"no answer to {step.send!r}, only other bytes: is baudRate its own?")
        if IDENTITY in asked.answer.groupindex:
            text = f"this is not the {name}: it answered {shown(self.other)} to {step.send!r}"
            raise MismatchError(text, fix="check port, baudRate and the pattern in setup")
        return Notice(f"the {name} answered {shown(self.other)} to {step.send!r}")
