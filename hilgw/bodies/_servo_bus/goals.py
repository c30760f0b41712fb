"""Motion of the servos, changes of mode and stops; and the registers that are read back.

A servo whose supply failed for a moment does not report it. These registers are compared every
250 ms with what was set. The readings of the positions come first: this takes the rest of a
period, for as many servos at once as fit.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import product

from hilgw.bodies._servo_bus.bus import Bus, ServoAnswer, ServoKind, Transaction
from hilgw.bodies._servo_bus.servo import Servo
from hilgw.units import NS_PER_MS

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
        self._bus.add(
            Transaction(self.of_stop([servo], before_torque=True), [], vital=servo.number)
        )
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
            if register == self._kind.mode:
                self._bus.free_ns = max(self._bus.free_ns, now + self._kind.busy_ns)
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


CYCLE_NS = 250 * NS_PER_MS
LATEST_NS = 150 * NS_PER_MS  # after this part of a cycle it no longer waits for room
TRIPPED = 255


class ReadBack:
    """differs: called with a servo, the difference in words, and the time.

    due_ns: of the next request.
    """

    def __init__(
        self,
        kind: ServoKind,
        bus: Bus,
        servos: Iterable[Servo],
        differs: Callable[[Servo, str, int], None],
    ) -> None:
        self._kind = kind
        self._bus = bus
        self._servos = {servo.number: servo for servo in servos}
        self._differs = differs
        self.reset(0)

    def reset(self, now: int) -> None:
        self._left: deque[tuple[int, int]] = deque()  # register and servo, of this cycle
        self._begun_ns = self.due_ns = now
        self._right: set[tuple[int, int]] = set()

    @property
    def is_complete(self) -> bool:
        return len(self._right) == len(self._kind.read_back) * len(self._servos)

    def ask(self, now: int, room_ns: int | None = None) -> None:
        """Ask when it is time for what fits into this room; None: all."""
        if now < self.due_ns:
            return
        if not self._left:
            self._begun_ns = now
            self._left.extend(product(self._kind.read_back, self._servos))
        if room_ns is not None and now - self._begun_ns < LATEST_NS:
            if not self._ask_next(room_ns):
                self.due_ns = now + max(1, room_ns)
        else:
            while self._left:
                self._ask_next(None)
        if not self._left:
            self.due_ns = self._begun_ns + CYCLE_NS

    def _ask_next(self, room_ns: int | None) -> bool:
        register = self._left[0][0]
        numbers = [number for each, number in self._left if each == register]
        while numbers:
            request = self._kind.read_all(register, 1, numbers)
            exchange = Transaction(request, numbers, partial(self._compare, register), 1)
            size = len(request) + exchange.answer_bytes
            if room_ns is None or self._bus.duration_ns(size) + self._bus.lag_ns <= room_ns:
                self._bus.add(exchange)
                for _ in numbers:
                    self._left.popleft()
                return True
            numbers.pop()
        return False

    def _compare(self, register: int, status: ServoAnswer, now: int) -> None:
        if not status.data:
            return
        servo, number = self._servos[status.number], status.data[0]
        name, wanted = self._kind.read_back[register], servo.torque
        if register != self._kind.torque:
            wanted = servo.expected(register)
        else:
            if status.alert and wanted and not number:
                servo.let_go()  # its hardware error has switched it off
                wanted = 0
            elif wanted is None and not self._bus.has_waiting:
                servo.torque = wanted = number  # a stop came into a change of mode
        if number == wanted or (wanted is None and register != self._kind.torque):
            self._right.add((register, status.number))
        elif number == TRIPPED:
            self._differs(servo, f"the {name} stopped servo {servo.number}", now)
        else:
            text = f"servo {servo.number} has {name} {number} in place of {wanted}: did it restart?"
            self._differs(servo, text, now)


class Faults:
    """The hardware errors that are present now.

    Servos whose answers have the alert bit, and the numbers of their register.
    """

    def __init__(self, kind: ServoKind) -> None:
        self._kind = kind
        self._present: dict[int, str] = {}  # by the id of the servo; empty: not read yet

    def clear(self) -> None:
        self._present.clear()

    def __contains__(self, servo: Servo) -> bool:
        return servo.number in self._present

    def watch(self, servo: Servo, *, alert: bool) -> bool:
        """Take the alert bit of an answer; return whether it is the first with it."""
        if not alert:
            self._present.pop(servo.number, None)
        elif servo.number not in self._present:
            self._present[servo.number] = ""
            return True
        return False

    def read(self, servo: Servo, status: ServoAnswer) -> bool:
        """Take the register of this servo; return whether its value has changed."""
        if not status.data or servo.number not in self._present:
            return False
        names = self._kind.hardware_errors
        bits = [names[bit] for bit in names if status.data[0] >> bit & 1]
        words = ", ".join(bits) or status.data.hex()
        known, self._present[servo.number] = self._present[servo.number], words
        return words != known

    def words(self, servo: Servo) -> str:
        words = self._present[servo.number]
        return f"'{servo.device.name}': hardware error{': ' if words else ''}{words}"
