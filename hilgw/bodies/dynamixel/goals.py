"""What moves the servos: the newest goals, changes of mode, and stops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from hilgw.bodies.dynamixel import packet
from hilgw.bodies.dynamixel.bus import Bus, Transaction
from hilgw.bodies.dynamixel.packet import Status
from hilgw.bodies.dynamixel.servo import GOALS, PROFILE, Servo

Refused = Callable[[Servo, str, int], None]


class Goals:
    """Goals are not answered, and wait until the line is free: a servo keeps the newest.

    A stop never waits. refused: called with a servo that refuses another mode, why, and the time.
    """

    def __init__(
        self, bus: Bus, servos: Mapping[int, Servo], period_ns: int, refused: Refused
    ) -> None:
        """servos: by the index of the motor."""
        self._bus = bus
        self._servos = servos
        self._offsets = {servo.number: servo.offset for servo in servos.values()}
        self._period_ns = period_ns
        self._refused = refused
        self._since_ns: int | None = None  # goals wait

    @property
    def _ready(self) -> list[Servo]:
        return [servo for servo in self._servos.values() if servo.is_ready]

    @property
    def has_waiting(self) -> bool:
        """Whether goals wait for the line."""
        return bool(self._ready)

    def due(self, now: int, room_ns: int) -> bytes:
        """The goals that are written now, before the next request.

        room_ns: until the positions are read: goals that would delay that wait for the end of it,
        but not for longer than two periods. Settings that the servos have are written again where
        there is room.
        """
        ready = self._ready
        if not ready:
            self._since_ns = None
            return b""
        if self._since_ns is None:
            self._since_ns = now
        if self._bus.has_waiting:
            room_ns = -1
        data = self._packets(ready)
        if self._bus.duration_ns(len(data)) > room_ns:
            data = self._packets(ready, only_new=True)
            fits = self._bus.duration_ns(len(data)) <= room_ns
            if not fits and now - self._since_ns < 2 * self._period_ns:
                return b""
        self._since_ns = None
        for servo in ready:
            servo.took()
        return data

    def _packets(self, ready: list[Servo], *, only_new: bool = False) -> bytes:
        """One packet for each register, for all servos."""
        data = b""
        for register in (*PROFILE, *GOALS):
            amounts = {
                servo.number: servo.waiting[register]
                for servo in ready
                if register in servo.waiting and not (only_new and servo.has(register))
            }
            if amounts:
                data += packet.write_all(register, amounts, self._offsets)
        return data

    # --- changes of mode ----------------------------------------------------------------------

    def change_modes(self) -> None:
        """Asks for the modes that goals need. Each step is answered, or the body is lost."""
        for servo in self._servos.values():
            if servo.must_change:
                self._change(servo)

    def _change(self, servo: Servo) -> None:
        """A mode needs the torque off.

        The goals of a stop come before the torque, which may resume old ones.
        """
        mode, settings = servo.change()
        self._ask(servo, packet.TORQUE, 0)
        self._ask(servo, packet.MODE, mode)
        self._bus.add(Transaction(self.of_stop([servo]), [], vital=servo.number))
        self._ask(servo, packet.TORQUE, 1, last=not settings)
        for register, amount in settings.items():
            self._ask(servo, register, amount, last=register == [*settings][-1])

    def _ask(self, servo: Servo, register: int, amount: int, *, last: bool = False) -> None:
        answered = partial(self._written, servo, register, amount, last)
        request = packet.write(servo.number, register, amount, servo.offset)
        self._bus.add(Transaction(request, [servo.number], answered, vital=servo.number))

    def _written(
        self, servo: Servo, register: int, amount: int, last: bool, status: Status, now: int
    ) -> None:
        if not status.error:
            servo.written(register, amount, last=last)
        elif status.alert:  # its hardware error keeps it from moving
            self.drop(servo)
        else:
            why = packet.ERRORS.get(status.error, f"error {status.error}")
            self._refused(servo, f"servo {servo.number} refused register {register}: {why}", now)

    # --- stops --------------------------------------------------------------------------------

    def drop(self, servo: Servo) -> None:
        """Nothing that waits for this servo is written any more.

        In the middle of a change of mode it has no torque, and its next command begins the change
        anew.
        """
        servo.stop()
        if self._bus.drop_change(servo.number):
            servo.torque = None

    def of_stop(self, servos: Iterable[Servo]) -> bytes:
        """Both goals that stop these servos: each may be in the mode before its last command."""
        servos = list(servos)
        still = {servo.number: 0 for servo in servos}
        hold = {each.number: each.held_pulses() for each in servos if each.pulses is not None}
        data = packet.write_all(packet.GOAL_VELOCITY, still, self._offsets)
        if hold:
            data += packet.write_all(packet.GOAL_POSITION, hold, self._offsets)
        return data
