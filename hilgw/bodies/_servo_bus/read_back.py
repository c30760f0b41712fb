"""Registers that are read back: the torque of every servo, one that a restart changes, and others.

A servo whose supply failed for a moment does not report it. These registers are compared every
250 ms with what was set. The readings of the positions come first: this takes the rest of a
period, for as many servos at once as fit.
"""

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from itertools import product

from hilgw.bodies._servo_bus.bus import Bus, Transaction
from hilgw.bodies._servo_bus.kind import ServoAnswer, ServoKind
from hilgw.bodies._servo_bus.servo import Servo
from hilgw.units import NS_PER_MS

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
