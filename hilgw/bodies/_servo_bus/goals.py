"""Motion of the servos: the newest goals, changes of mode, and stops."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from hilgw.bodies._servo_bus.bus import Bus, Transaction
from hilgw.bodies._servo_bus.kind import ServoAnswer, ServoKind
from hilgw.bodies._servo_bus.servo import Servo

Refused = Callable[[Servo, str, int], None]


class Goals:
    """Goals are not answered, and wait until the line is free: a servo keeps the newest.

    A stop never waits. refused: called with a servo that refuses another mode, why, and the time.
    """

    def __init__(
        self,
        kind: ServoKind,
        bus: Bus,
        servos: Mapping[int, Servo],
        period_ns: int,
        refused: Refused,
    ) -> None:
        self._kind = kind
        self._bus = bus
        self._servos = servos
        self._period_ns = period_ns
        self._refused = refused
        self._since_ns: int | None = None  # goals wait

    @property
    def _ready(self) -> list[Servo]:
        return [servo for servo in self._servos.values() if servo.is_ready]

    @property
    def has_waiting(self) -> bool:
        return bool(self._ready)

    def due(self, now: int, room_ns: int) -> bytes:
        """Return the goals that are written now, before the next request.

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
        data = b""
        for register in (*self._kind.profile, *self._kind.goals):
            amounts = {
                servo.number: servo.waiting[register]
                for servo in ready
                if register in servo.waiting and not (only_new and servo.has(register))
            }
            if amounts:
                data += self._kind.write_all(register, amounts)
        return data

    # --- changes of mode ----------------------------------------------------------------------

    def change_modes(self) -> None:
        """Ask for the modes that goals need. Each step is answered, or the body is lost."""
        for servo in self._servos.values():
            if servo.must_change:
                self._change(servo)

    def _change(self, servo: Servo) -> None:
        """Write the change of a mode, which needs the torque off.

        The goals of a stop come before the torque, which may resume old ones.
        """
        mode, settings = servo.change()
        self._ask(servo, self._kind.torque, 0)
        self._ask(servo, self._kind.mode, mode)
        goals = self.of_stop([servo], before_torque=True)
        self._bus.add(Transaction(goals, [], vital=servo.number))
        self._ask(servo, self._kind.torque, 1, last=not settings)
        for register, amount in settings.items():
            self._ask(servo, register, amount, last=register == [*settings][-1])

    def _ask(self, servo: Servo, register: int, amount: int, *, last: bool = False) -> None:
        answered = partial(self._written, servo, register, amount, last)
        request = self._kind.write(servo.number, register, amount)
        self._bus.add(Transaction(request, [servo.number], answered, vital=servo.number))

    def _written(
        self, servo: Servo, register: int, amount: int, last: bool, status: ServoAnswer, now: int
    ) -> None:
        if not status.error:
            servo.written(register, amount, last=last)
        elif status.alert:  # its hardware error keeps it from moving
            self.drop(servo)
        else:
            why = self._kind.errors.get(status.error, f"error {status.error}")
            self._refused(servo, f"servo {servo.number} refused register {register}: {why}", now)

    # --- stops --------------------------------------------------------------------------------

    def drop(self, servo: Servo) -> None:
        """Drop what waits for this servo.

        In the middle of a change of mode it has no torque, and its next command begins the change
        anew.
        """
        servo.stop()
        if self._bus.drop_change(servo.number):
            servo.torque = None

    def of_stop(self, servos: Iterable[Servo], *, before_torque: bool = False) -> bytes:
        """Return what stops these servos in any mode: each may be in that before its last command.

        before_torque: it is switched on next.
        """
        stops = {servo.number: servo.stop_blocks(before_torque) for servo in servos}
        data = self._kind.ends_cut if stops else b""
        registers = {register for stop in stops.values() for register in stop}
        for register in sorted(registers, key=lambda each: (each == self._kind.mode, each)):
            blocks = {number: stop[register] for number, stop in stops.items() if register in stop}
            if blocks:
                data += self._kind.write_blocks(register, blocks)
        return data
