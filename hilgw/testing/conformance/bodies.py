"""The rules that every body keeps: a test inherits them, and declares the body and its settings.

    class TestFoo(BodyConformance):
        body = BODY
        settings = {"port": "/dev/null"}

        def moves(self, mock):
            return mock.speed != 0

A broken rule reports its name, and the actual and the expected result. The robot is the mock that
the body names, in simulated time.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import strategies as st

from hilgw.bodies.base import Body, current
from hilgw.config.queries import is_on_line
from hilgw.control.declared import StopFrame
from hilgw.control.events import (
    Accepted,
    Command,
    Disconnected,
    Event,
    LedValue,
    MotorCommand,
    MotorField,
    PacketOut,
    ProtocolFailure,
    RefusedRequest,
    StopReason,
    Write,
)
from hilgw.control.limits import check_command
from hilgw.devices.kinds import LINEAR_MOTOR, MOTOR, Device, MotorLimits, Refusal
from hilgw.engine.mock_host import create_mock
from hilgw.framing import create
from hilgw.plugins import new_air
from hilgw.settings import MockSpec
from hilgw.testing.co_simulation import BodyLine
from hilgw.testing.conformance.inputs import explore
from hilgw.testing.conformance.subject import BrokenRule, broken, require, shown

__tracebackhide__ = True  # a failure is shown at the rule, not in here

NO_DEVICE = 9_999  # an index
SETTLE_MS = 300  # for what follows the first answer, and for a command on its way
HANG_MS = 50  # from the end of the session to the emergency stop
NOISE_MS = 30  # between two pieces of noise


def pattern(frame: StopFrame) -> re.Pattern[bytes]:
    """Return what matches the bytes of the declared form."""
    wild = {"??": b".", "...": b".*?"}
    words = (wild.get(word) or re.escape(bytes.fromhex(word)) for word in frame.form.split())
    form = b"".join(words)
    return re.compile(b"(?:" + form + b")+" if frame.each_motor else form, re.DOTALL)


REPEATED_MS = 2000
"""A session that repeats its stop itself has this long for it."""
STOPPED_AFTER_MS = (1, 10, 100)
"""A stop comes that soon after the connection."""


class BodyConformance:
    """The declarations of a test, with defaults, and all rules.

    settings: its Settings, or keywords for them. mock: parameters that override those from the
    body. page: the documentation page that shows the stop, between `<!-- table: stop KIND -->` and
    `<!-- end -->`. silence_s: the latest time after which a silent robot is gone; None: the body
    is on TCP, and waits. stop_s: the longest time in which a stop leaves, and ends every motion.
    """

    body: ClassVar[Body]
    settings: ClassVar[Any] = {}
    version: ClassVar[str] = "R2025a"
    mock: ClassVar[Mapping[str, Any]] = {}
    page: ClassVar[Path | None] = None
    ready_s: ClassVar[float] = 10.0
    silence_s: ClassVar[float | None] = None
    stop_s: ClassVar[float] = 0.2
    examples: ClassVar[int] = 30

    def moves(self, mock: Any) -> bool:
        """Return whether a motor of the mock turns."""
        raise NotImplementedError("moves(mock): whether a motor of the mock turns")

    def motion(self, device: Device) -> Command:
        """Return a command that moves this motor: a velocity; a position of a linear motor."""
        if device.kind == LINEAR_MOTOR:
            return MotorCommand(device.index, MotorField.POSITION, 0.1)
        return MotorCommand(device.index, MotorField.VELOCITY, 1.0)

    def make_mock(self, spec: MockSpec) -> Any:
        """Return the mock of the robot; found by its name."""
        return create_mock(spec.name, "robot", new_air(), spec.parameters)

    # --- the declaration ----------------------------------------------------------------------

    def test_settings(self) -> None:
        """Check that the settings of the test are valid, and that impossible limits are errors."""
        require(not self._problems(), "settings", self._problems(), "no errors")
        first = self._motors(self._ready())[0].name
        wrong = {first: MotorLimits(min_velocity=2.0, max_velocity=1.0)}
        require(self._problems(limits=wrong), "limits", "no error", "an error: min above max")

    def test_the_declared_stop(self) -> None:
        """Check that the stop is declared in words, and that the page of the body shows it."""
        frame = self.body.stop_frame(self.settings_with())
        for text in (frame.words, frame.alone):
            require(len(text) > 20 and not text.endswith("."), "stop in words", text, "a sentence")
        if self.page is None:
            return
        text = self.page.read_text(encoding="utf-8")
        marked = rf"<!-- table: stop {self.body.kind} -->\n(.*?)<!-- end -->"
        sections = re.findall(marked, text, re.DOTALL)
        require(len(sections) == 1, "page", f"{len(sections)} stops", f"one of {self.body.kind}")
        for part in (f"\n    {frame.form}\n", frame.words, frame.alone):
            require(part in sections[0], "page", sections[0], f"the declared stop: {part}")
        is_warned = "**The robot has no watchdog: " in sections[0]
        require(is_warned is not frame.has_watchdog, "page", sections[0], "its watchdog, or none")

    def test_bytes_in_words(self) -> None:
        """Check that any bytes can be shown, in both directions."""
        session = self._simulation().session

        def check(data: bytes) -> None:
            for received in (False, True):
                words = session.describe(data, received=received)
                is_plain = words.isascii() and words.isprintable()
                require(is_plain, "bytes in words", words, "printable ASCII text")

        explore(st.binary(max_size=200), check, self.examples)

    # --- stops --------------------------------------------------------------------------------

    def test_a_stop_needs_no_command(self) -> None:
        """Check that a stop needs no command before it, and disturbs no handshake.

        Without a connection nothing is written.
        """
        line = self._simulation()
        self._writes_no_stop(line, "before the connection")
        for delay_ms in STOPPED_AFTER_MS:
            line = self._simulation()
            line.connect()
            line.run(delay_ms)
            line.handle(line.session.stop(StopReason.DISARMED, line.now).events)
            self._comes_up(line)
        line = self._ready()
        self._stops(line, line.session.stop(StopReason.DISARMED, line.now).events)
        line.disconnect()
        self._writes_no_stop(line, "after the connection")

    def test_a_stop_that_is_lost_is_written_again(self) -> None:
        """Check that a lost stop is written again.

        It is written by the control loop, as often as the session declares, or by the session
        itself.
        """
        line = self._moving()
        plan = line.session.stop(StopReason.DISARMED, line.now)  # its bytes do not arrive
        if plan.copies > 1:
            self._stops(line, line.session.stop_again(None, line.now))
        elif line.on_line:
            line.run(REPEATED_MS)
            self._stands(line, "a stop that the session repeats")

    def test_a_stop_stops_every_motor(self) -> None:
        """Check that a stop has the declared bytes, which the session reports, once."""
        for reason in (StopReason.DISCONNECTED, StopReason.SILENCE, StopReason.BODY):
            line = self._moving()
            plan = line.session.stop(reason, line.now)
            self._stops(line, plan.events)
            require(plan.commands, "a stop is reported", "nothing", "its commands")
            require(line.session.counts["stops"] == 1, "counts", "none", "one stop")

    def test_a_rate_limit_does_not_slow_a_stop(self) -> None:
        """Check that slowing down is never limited."""
        names = [device.name for device in self._motors(self._ready())]
        line = self._moving(limits={name: MotorLimits(rate=5.0) for name in names})
        self._stops(line, line.session.stop(StopReason.ENDED, line.now).events)

    def test_each_motor_stops_alone(self) -> None:
        """Check that a motor's own stop is not refused, and reported only if it is sent."""
        line = self._moving()
        session = line.session
        require(session.stop_motor(NO_DEVICE, line.now) is None, "no motor", "a stop", "None")
        for device in self._motors(line):
            plan = session.stop_motor(device.index, line.now)
            require(plan is not None, "stop of one motor", "None", "its bytes, or none yet")
            line.handle(plan.events)
            line.run(SETTLE_MS)
        require(not self.moves(line.mock), "stop of one motor", "a motor turns", "none turns")

    def test_the_emergency_stop(self) -> None:
        """Check that the bytes of the emergency stop stop the robot without the session.

        On a line they do so also twice; asking for them changes nothing.
        """
        line = self._moving()
        data = line.session.emergency()
        require(self._has_stop(data), "emergency stop", data, self._declared)
        require(line.session.emergency() == data, "emergency stop", "other bytes", "the same")
        line.cut = True
        line.run(HANG_MS)
        require(self.moves(line.mock), "emergency stop", "no motor turns", "it turns until then")
        line.mock.receive(2 * data if line.on_line else data, line.now)
        self._stands(line, "emergency stop")

    # --- refusals and limits ------------------------------------------------------------------

    def test_no_command_before_the_robot_is_up(self) -> None:
        """Check that each command before the robot is up is refused, and writes nothing."""
        line = self._simulation()
        self._refuses(line, MotorCommand(0, MotorField.VELOCITY, 1.0))
        line.connect()
        for _ in self._handshake(line):
            self._refuses(line, MotorCommand(0, MotorField.VELOCITY, 1.0))
        line.run(SETTLE_MS)
        require(not self.moves(line.mock), "before it is up", "a motor turns", "none turns")

    def test_requests_that_the_robot_does_not_have(self) -> None:
        """Check commands to a device other than a motor, and requests to an unknown index."""
        line = self._ready()
        session, now = line.session, line.now
        others = [device.index for device in session.devices if device.role != MOTOR]
        for index in (NO_DEVICE, *others):
            self._refuses(line, MotorCommand(index, MotorField.VELOCITY, 1.0))
        for events in (
            session.switch(NO_DEVICE, None, now),
            session.send(PacketOut(NO_DEVICE, 1, b"data"), now),
            session.tune(LedValue(NO_DEVICE, 1), now),
        ):
            expected = "one Refused event, and no bytes"
            require(
                [*map(type, events)] == [RefusedRequest], "requests to no device", events, expected
            )
        line.handle(session.stop(StopReason.SILENCE, now).events)

    def test_limits_reach_the_motors(self) -> None:
        """Check that the control loop checks each command with the limits of the device."""
        name = self._motors(self._ready())[0].name
        line = self._ready(limits={name: MotorLimits(max_velocity=0.5)})
        device = line.session.devices.by_name(name)
        fast = None if device is None else MotorCommand(device.index, MotorField.VELOCITY, 0.6)
        allowed = device is None or fast is None or check_command(device, fast) is None
        require(not allowed, "limits", f"{name} takes 0.6", "its limit, 0.5, is that of the device")

    # --- silence, noise, reconnection ---------------------------------------------------------

    def test_silence(self) -> None:
        """Check that a silent robot is gone, still gets a stop, and comes back without a motion."""
        if self.silence_s is None:
            return
        line = self._moving()
        line.cut = True
        gone = line.run(1000 * self.silence_s, lambda: line.of(Disconnected))
        require(gone, "silence", f"nothing in {self.silence_s:g} s", "Disconnected")
        line.written.clear()
        line.handle(line.session.stop(StopReason.BODY, line.now).events)
        line.run(1000 * self.stop_s)
        require(self._has_stop(line.written), "stop of a silent robot", line.written, "the stop")
        line.cut = False
        line.events.clear()
        self._comes_back(line, "silence")

    def test_reconnection(self) -> None:
        """Check that the end of the connection is reported, and nothing of before moves a motor."""
        line = self._moving()
        line.disconnect()
        require(line.of(Disconnected), "reconnection", line.events, "Disconnected")
        line.events.clear()
        line.connect()
        self._comes_back(line, "reconnection")

    def test_noise_before_the_robot(self) -> None:
        """Check that bytes of no robot raise nothing, connect nothing, and move no motor."""

        def check(pieces: list[bytes]) -> None:
            line = self._simulation()
            line.connect()
            was_connected, line.cut = line.is_connected, True
            for piece in pieces:
                self._make_noise(line, [piece])
                line.mock.receive(bytes(line.written), line.now)
                line.written.clear()
                line.mock.advance(line.now)
                require(not self.moves(line.mock), "noise", "a motor turns", "none turns")
            if not was_connected:
                require(not line.is_connected, "noise", "Connected", "no robot is there")

        explore(st.lists(st.binary(max_size=200), max_size=10), check, self.examples)

    def test_noise_amid_a_motion(self) -> None:
        """Check that noise amid a motion raises nothing, and keeps no stop from the robot."""

        def check(pieces: list[bytes]) -> None:
            line = self._moving()
            self._make_noise(line, pieces)
            if line.of(ProtocolFailure) or not line.on_line:
                return  # the connection is closed, or it carries no noise
            line.handle(line.session.stop(StopReason.SILENCE, line.now).events)
            self._stands(line, "a stop after noise")

        explore(st.lists(st.binary(max_size=50), max_size=5), check, self.examples)

    # --- the parts of the rules ---------------------------------------------------------------

    def settings_with(self, **changes: Any) -> Any:
        """Return the settings of the test, with these changes."""
        given = self.settings
        made = self.body.Settings(**given) if isinstance(given, Mapping) else given
        return dataclasses.replace(made, **changes)

    def _problems(self, **changes: Any) -> list[Any]:
        return list(self.body.check(self.settings_with(**changes)))

    def _has_stop(self, written: bytes | bytearray) -> bool:
        """Return whether the declared stop is among these bytes, which may be frames."""
        settings, data = self.settings_with(), bytes(written)
        if is_on_line(settings) and self.body.framing:
            data = b"".join(create(self.body.framing).feed(data))
        return pattern(self.body.stop_frame(settings)).search(data) is not None

    @property
    def _declared(self) -> str:
        return f"the declared stop, {self.body.stop_frame(self.settings_with()).form}"

    def _simulation(self, **changes: Any) -> BodyLine:
        settings = self.settings_with(**changes)
        on_line = is_on_line(settings)
        framing = create(self.body.framing) if on_line and self.body.framing else None
        spec = self.body.mock(settings, self.version)
        mock = self.make_mock(MockSpec(spec.name, {**spec.parameters, **self.mock}))
        session = current(self.body.session(settings, self.version, framing))
        return BodyLine(session, mock, on_line=on_line)

    def _handshake(self, line: BodyLine) -> Iterator[None]:
        """Stop after each millisecond until the robot is up."""
        for _ in range(round(1000 * self.ready_s)):
            if line.is_connected:
                return
            yield
            line.run(1)
        broken("the robot comes up", shown(line.events[-4:]), f"Connected within {self.ready_s} s")

    def _comes_up(self, line: BodyLine) -> None:
        for _ in self._handshake(line):
            pass
        line.run(SETTLE_MS)

    def _ready(self, **changes: Any) -> BodyLine:
        line = self._simulation(**changes)
        line.connect()
        self._comes_up(line)
        require(self._motors(line), "the robot comes up", "no motor", "a mock with a motor")
        return line

    @staticmethod
    def _motors(line: BodyLine) -> list[Device]:
        motors: list[Device] = line.session.devices.of_role(MOTOR)
        return motors

    def _moving(self, **changes: Any) -> BodyLine:
        line = self._ready(**changes)
        for device in self._motors(line):
            outcome, events = line.session.command(self.motion(device), line.now)
            require(outcome is Accepted.SENT, "a command moves a motor", outcome, "sent")
            line.handle(events)
        line.run(SETTLE_MS, lambda: self.moves(line.mock))
        require(self.moves(line.mock), "a command moves a motor", "no motor turns", "it turns")
        line.written.clear()
        return line

    def _stops(self, line: BodyLine, stop: list[Event]) -> None:
        line.written.clear()
        line.handle(stop)
        left = line.run(1000 * self.stop_s, lambda: self._has_stop(line.written))
        require(left, "a stop leaves", bytes(line.written), self._declared)
        self._stands(line, "a stop")

    def _stands(self, line: BodyLine, rule: str) -> None:
        line.run(1000 * self.stop_s)
        require(not self.moves(line.mock), rule, "a motor turns", "every motor stands")

    def _comes_back(self, line: BodyLine, rule: str) -> None:
        self._comes_up(line)
        require(not self.moves(line.mock), rule, "a motor turns", "every motor stands")

    def _writes_no_stop(self, line: BodyLine, when: str) -> None:
        session, now = line.session, line.now
        rule = f"a stop {when}"
        plan = session.stop(StopReason.SILENCE, now)
        data = [event for event in plan.events if type(event) is Write]
        require(not data, rule, data, "no bytes")
        require(not plan.commands, rule, plan.commands, "no report")
        require(session.emergency() == b"", rule, session.emergency(), "no emergency stop")

    def _refuses(self, line: BodyLine, command: Command) -> None:
        counts = line.session.counts
        before = sum(count for name, count in counts.items() if name.startswith("refused_"))
        outcome, events = line.session.command(command, line.now)
        rule = "a command that the robot cannot execute"
        require(isinstance(outcome, Refusal), rule, outcome, "a Refusal")
        sent = [event for event in events if isinstance(event, Write) and event.data]
        require(not sent, rule, events, "no bytes")
        after = sum(count for name, count in counts.items() if name.startswith("refused_"))
        require(after == before + 1, rule, dict(counts), "the refusal is counted")

    def _make_noise(self, line: BodyLine, pieces: list[bytes]) -> None:
        try:
            for piece in pieces:
                line.handle(line.session.receive(piece, line.now))
                line.run(NOISE_MS)
        except Exception as error:
            raise BrokenRule("noise", repr(error), "no exception", [shown(pieces)]) from error
