"""The handshake: who each servo is, in which state it was found, and its bus watchdog.

A servo that was found under position control with its torque on holds its present position, where
the settings request it. Every other servo lets go before its watchdog is cleared. One whose Drive
Mode gives our numbers another meaning is refused once all of them stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hilgw.bodies.dynamixel import packet
from hilgw.bodies.dynamixel.bus import Bus, Transaction
from hilgw.bodies.dynamixel.packet import Status, series_of
from hilgw.bodies.dynamixel.servo import POSITION_MODES, Servo
from hilgw.control.events import ProtocolFailure
from hilgw.errors import MismatchError
from hilgw.protocols.dialogue import Dialogue, Script, Step

TIME_BASED = 0x04  # of Drive Mode: the profile is in ms
UNUSABLE = TIME_BASED | 0x08  # of Drive Mode: or a goal switches the torque on
SLOWEST = 1  # Profile Velocity: 0 is unlimited


@dataclass(frozen=True, slots=True)
class Ask(Step):
    """A request to one servo, whose answer has so many data bytes. The bus limits the time."""

    servo: Servo
    request: bytes
    size: int


class Handshake(Dialogue[Transaction | ProtocolFailure, Status, None]):
    """models: of the servos that have answered.

    failure: a servo is another one than configured. clears: the bits of Drive Mode that cannot be
    used, in the servo.
    """

    def __init__(
        self, bus: Bus, servos: Iterable[Servo], steps: int, *, holds: bool, clears: bool
    ) -> None:
        super().__init__(self._questions(), self._transaction, ProtocolFailure)
        self._bus = bus
        self._servos = {servo.number: servo for servo in servos}
        self._offsets = {servo.number: servo.offset for servo in self._servos.values()}
        self._steps = steps
        self._holds, self._clears = holds, clears
        self.models: dict[int, int] = {}
        self.failure: ProtocolFailure | None = None
        self._modes: dict[int, tuple[int, int]] = {}  # drive mode and operating mode as found
        self._set: set[int] = set()

    @property
    def is_complete(self) -> bool:
        """Whether every servo stands, and has its watchdog.

        What was written for that has had no answer: it is read back next.
        """
        return not self.unset()

    def missing(self) -> list[int]:
        """The servos that have not answered."""
        return [number for number in self._servos if number not in self.models]

    def unset(self) -> list[int]:
        """The servos whose watchdog was not touched: they may move."""
        return [number for number in self._servos if number not in self._set]

    # --- on the bus ---------------------------------------------------------------------------

    def begin(self, now: int) -> None:
        self._put(self.start(now))

    def proceed(self, now: int) -> None:
        """Goes on where the answer has not come in time, or has another size."""
        if not self.over:
            self._put(self.answer(None, now))

    def _transaction(self, step: Step, attempt: int) -> Transaction:
        assert isinstance(step, Ask)
        return Transaction(step.request, [step.servo.number], self._answered, step.size)

    def _answered(self, status: Status, now: int) -> None:
        self._put(self.answer(status, now))

    def _put(self, events: list[Transaction | ProtocolFailure]) -> None:
        """Before all other requests that wait."""
        for event in reversed(events):
            if isinstance(event, Transaction):
                self._bus.add(event, first=True)
            else:
                self.failure = event

    # --- the script ---------------------------------------------------------------------------

    def _questions(self) -> Script[Transaction | ProtocolFailure, Status, None]:
        """Asks all servos for their modes first: a wheel that still turns lets go soon."""
        servos = self._servos.values()
        for servo in servos:
            servo.forget()
        # All requests are answered from here on; a servo loses this register without power.
        levels = dict.fromkeys(self._servos, 2)
        yield Transaction(packet.write_all(packet.STATUS_RETURN, levels, self._offsets), [])
        for servo in servos:
            number, offset = servo.number, servo.offset
            self._identify(servo, (yield Ask(servo, packet.packet(number, packet.PING), 3)))
            found = yield Ask(servo, packet.read(number, packet.DRIVE_MODE, 2), 2)
            if found is None or found.error or number not in self.models:
                continue
            drive, mode = found.data
            usable = drive & ~UNUSABLE if self._clears else drive
            self._modes[number] = usable, mode
            if self._holds and mode in POSITION_MODES and usable == drive:
                torque = yield Ask(servo, packet.read(number, packet.TORQUE, 1, offset), 1)
                if torque is None:
                    continue
                if not torque.error and torque.data[0]:
                    servo.hold(mode)
                    continue
            cleared = {} if usable == drive else {packet.DRIVE_MODE: usable}
            yield from self._release(servo, {packet.TORQUE: 0} | cleared)
        for servo in servos:
            request = packet.read(servo.number, packet.LIMITS, packet.LIMITS_SIZE)
            limits = yield Ask(servo, request, packet.LIMITS_SIZE)
            if limits is not None and not limits.error:
                servo.take_limits(limits.data)
            # The last request: a position to hold has to be fresh.
            request = packet.read(servo.number, packet.POSITION, 4, servo.offset)
            position = yield Ask(servo, request, 4)
            if position is None or position.error:
                continue
            servo.pulses = packet.signed(position.data)
            if servo.torque is not None:  # else it may still turn: the next handshake tries again
                yield Transaction(self._secured(servo), [])
                self._set.add(servo.number)

    def check_drive_modes(self) -> None:
        """Fail where a Drive Mode gives our numbers another meaning; every servo stands."""
        for number, (drive, _) in self._modes.items():
            if drive & UNUSABLE:
                error = MismatchError(
                    f"servo {number} has Drive Mode (register 10) {drive}: bit 2 turns Profile "
                    "Velocity into a time in ms, and with bit 3 a goal switches the torque on",
                    fix="set drive_mode: velocity, which clears both in the servo, or write "
                    f"{drive & ~UNUSABLE} to the register",
                )
                self.failure = ProtocolFailure(error)

    def _release(
        self, servo: Servo, writes: Mapping[int, int]
    ) -> Script[Transaction | ProtocolFailure, Status, None]:
        """Lets go with these writes; its torque stays unknown where one has failed."""
        for register, amount in writes.items():
            request = packet.write(servo.number, register, amount, servo.offset)
            written = yield Ask(servo, request, 0)
            if written is None or written.error:
                return
        servo.let_go()

    def _identify(self, servo: Servo, status: Status | None) -> None:
        """Raises MismatchError."""
        if status is None or status.error:
            return
        model = int.from_bytes(status.data[:2], "little")
        found = series_of(model)
        if found is not servo.series:
            what = f"servo {servo.number} is a model {model} of series {found.name}"
            fix = f"set series: {found.name} of '{servo.device.name}', or correct its id"
            raise MismatchError(what, fix=fix)
        self.models[servo.number] = model
        servo.identify(model)

    def _secured(self, servo: Servo) -> bytes:
        """The packets that clear the bus watchdog and set it again.

        A servo that its watchdog has stopped takes no goal (e-manual, Bus Watchdog), and may go on
        to its old one as soon as the watchdog is cleared. Under velocity control only no torque is
        safe. Under position control the present position follows at once as its goal, within one
        write: the servo has the time of one packet, in which it moves with its profile. That may be
        written before, and is the slowest; each position command sets its own.
        """
        clear, arm = (self._write(servo, packet.WATCHDOG, steps) for steps in (0, self._steps))
        if not servo.torque:
            return clear + arm
        hold = self._write(servo, packet.GOAL_POSITION, servo.held_pulses())
        drive, _ = self._modes[servo.number]
        slow = b"" if drive & TIME_BASED else self._write(servo, packet.PROFILE_VELOCITY, SLOWEST)
        return slow + clear + hold + arm

    def _write(self, servo: Servo, register: int, amount: int) -> bytes:
        """Without an answer: nothing may come between these packets."""
        return packet.write_all(register, {servo.number: amount}, self._offsets)
