"""The handshake: who each servo is, in which state it was found, and its bus watchdog.

A servo that was found under position control with its torque on holds its present position, where
the settings request it. Every other servo lets go before its watchdog is cleared.
"""

from __future__ import annotations

from collections.abc import Iterable

from hilgw.bodies.dynamixel import packet
from hilgw.bodies.dynamixel.bus import Answered, Bus, Exchange
from hilgw.bodies.dynamixel.packet import Status
from hilgw.bodies.dynamixel.series import series_of
from hilgw.bodies.dynamixel.servo import POSITION_MODES, Servo
from hilgw.errors import MismatchError

TIME_BASED = 0x04  # of Drive Mode: the profile is in ms
SLOWEST = 1  # Profile Velocity: 0 is unlimited


class Handshake:
    """models: of the servos that have answered. failure: a servo is another one than configured."""

    def __init__(self, bus: Bus, servos: Iterable[Servo], steps: int, *, holds: bool) -> None:
        self._bus = bus
        self._servos = {servo.number: servo for servo in servos}
        self._offsets = {servo.number: servo.offset for servo in self._servos.values()}
        self._steps = steps
        self._holds = holds
        self._reset()

    def _reset(self) -> None:
        self.models: dict[int, int] = {}
        self.failure: MismatchError | None = None
        self._modes: dict[int, tuple[int, int]] = {}  # drive mode and operating mode as found
        self._set: set[int] = set()

    def begin(self) -> None:
        """Asks all servos for their modes first: a wheel that still turns lets go soon."""
        self._reset()
        for number, servo in self._servos.items():
            servo.forget()
            self._ask(packet.packet(number, packet.PING), number, self._identified, 3)
            self._ask(packet.read(number, packet.DRIVE_MODE, 2), number, self._mode, 2)
        for number, servo in self._servos.items():
            limits = packet.read(number, packet.LIMITS, packet.LIMITS_SIZE)
            self._ask(limits, number, self._limits, packet.LIMITS_SIZE)
            # The last request: a position to hold has to be fresh.
            position = packet.read(number, packet.POSITION, 4, servo.offset)
            self._ask(position, number, self._position, 4)

    @property
    def is_complete(self) -> bool:
        """Whether every servo stands, and has its watchdog. What was written for that has had no
        answer: it is read back next."""
        return len(self._set) == len(self._servos)

    def missing(self) -> list[int]:
        """The servos that have not answered."""
        return [number for number in self._servos if number not in self.models]

    def unset(self) -> list[int]:
        """The servos whose watchdog was not touched: they may move."""
        return [number for number in self._servos if number not in self._set]

    def _ask(
        self, request: bytes, number: int, answered: Answered, size: int, *, first: bool = False
    ) -> None:
        self._bus.add(Exchange(request, [number], answered, size), first=first)

    # --- answers ------------------------------------------------------------------------------

    def _identified(self, status: Status, now: int) -> None:
        if status.error:
            return
        number, model = status.number, int.from_bytes(status.data[:2], "little")
        servo, found = self._servos[number], series_of(model)
        if found is not servo.series:
            what = f"servo {number} is a model {model} of series {found.name}"
            fix = f"set series: {found.name} of '{servo.device.name}', or correct its id"
            self.failure = MismatchError(what, fix=fix)
            return
        self.models[number] = model
        servo.identify(model)

    def _mode(self, status: Status, now: int) -> None:
        if status.error or status.number not in self.models:
            return
        servo = self._servos[status.number]
        self._modes[servo.number] = status.data[0], status.data[1]
        if self._holds and status.data[1] in POSITION_MODES:
            request = packet.read(servo.number, packet.TORQUE, 1, servo.offset)
            self._ask(request, servo.number, self._torque, 1, first=True)
        else:
            self._release(servo)

    def _torque(self, status: Status, now: int) -> None:
        servo = self._servos[status.number]
        if not status.error and status.data[0]:
            servo.hold(self._modes[servo.number][1])
        else:
            self._release(servo)

    def _release(self, servo: Servo) -> None:
        request = packet.write(servo.number, packet.TORQUE, 0, servo.offset)
        self._ask(request, servo.number, self._released, 0, first=True)

    def _released(self, status: Status, now: int) -> None:
        if not status.error:
            self._servos[status.number].let_go()

    def _limits(self, status: Status, now: int) -> None:
        if not status.error:
            self._servos[status.number].take_limits(status.data)

    def _position(self, status: Status, now: int) -> None:
        servo = self._servos[status.number]
        if status.error:
            return
        servo.pulses = packet.signed(status.data)
        if servo.torque is not None:  # else it may still turn: the next handshake tries again
            self._bus.add(Exchange(self._secured(servo), []), first=True)
            self._set.add(servo.number)

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
