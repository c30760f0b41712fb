"""Registers that are read back: torque and bus watchdog of every servo, and hardware errors.

A servo whose supply failed for a moment has neither, and does not report it. Both are compared
every 250 ms with what was set. The readings of the positions come first: this takes the rest of a
period, for as many servos at once as fit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial

from hilgw.bodies.dynamixel import packet
from hilgw.bodies.dynamixel.bus import Bus, Transaction
from hilgw.bodies.dynamixel.packet import Status
from hilgw.bodies.dynamixel.servo import Servo
from hilgw.units import NS_PER_MS

CYCLE_NS = 250 * NS_PER_MS
LATEST_NS = 150 * NS_PER_MS
"""After this part of a cycle it no longer waits for room."""
REGISTERS = (packet.WATCHDOG, packet.TORQUE)
TRIPPED = 255


class ReadBack:
    """differs: called with a servo, the difference in words, and the time.

    due_ns: of the next request.
    """

    def __init__(
        self,
        bus: Bus,
        servos: Iterable[Servo],
        steps: int,
        differs: Callable[[Servo, str, int], None],
    ) -> None:
        self._bus = bus
        self._servos = {servo.number: servo for servo in servos}
        self._steps = steps
        self._differs = differs
        self.reset(0)

    def reset(self, now: int) -> None:
        self._left: deque[tuple[int, int]] = deque()  # register and servo, of this cycle
        self._begun_ns = self.due_ns = now
        self._right: set[tuple[int, int]] = set()

    @property
    def is_complete(self) -> bool:
        """Whether every register has been right since `reset`."""
        return len(self._right) == len(REGISTERS) * len(self._servos)

    def ask(self, now: int, room_ns: int | None = None) -> None:
        """Asks, when it is time, what fits into this room; None: all."""
        if now < self.due_ns:
            return
        if not self._left:
            self._begun_ns = now
            self._left.extend((register, each) for register in REGISTERS for each in self._servos)
        if room_ns is not None and now - self._begun_ns < LATEST_NS:
            if not self._ask_next(room_ns):
                self.due_ns = now + max(1, room_ns)
        else:
            while self._left:
                self._ask_next(None)
        if not self._left:
            self.due_ns = self._begun_ns + CYCLE_NS

    def _ask_next(self, room_ns: int | None) -> bool:
        """Asks as many servos for one register as fit; whether one does."""
        register = self._left[0][0]
        numbers = [number for each, number in self._left if each == register]
        while numbers:
            offsets = {number: self._servos[number].offset for number in numbers}
            request = packet.read_all(register, 1, offsets)
            exchange = Transaction(request, numbers, partial(self._compare, register), 1)
            size = len(request) + exchange.answer_bytes
            if room_ns is None or self._bus.duration_ns(size) + self._bus.lag_ns <= room_ns:
                self._bus.add(exchange)
                for _ in numbers:
                    self._left.popleft()
                return True
            numbers.pop()
        return False

    def _compare(self, register: int, status: Status, now: int) -> None:
        if not status.data:
            return
        servo, found = self._servos[status.number], status.data[0]
        if register == packet.TORQUE:
            name, wanted = "torque", servo.torque
            if status.alert and wanted and not found:
                servo.let_go()  # its hardware error has switched it off
                wanted = 0
            elif wanted is None and not self._bus.has_waiting:
                servo.torque = wanted = found  # a stop came into a change of mode
        else:
            name, wanted = "bus watchdog", self._steps
        if found == wanted:
            self._right.add((register, status.number))
        elif register == packet.WATCHDOG and found == TRIPPED:
            self._differs(servo, f"the bus watchdog stopped servo {servo.number}", now)
        else:
            text = f"servo {servo.number} has {name} {found} in place of {wanted}: did it restart?"
            self._differs(servo, text, now)


class Faults:
    """The hardware errors that are present now.

    Servos whose answers have the alert bit, and the numbers of their register.
    """

    def __init__(self) -> None:
        self._found: dict[int, str] = {}  # by the id of the servo; empty: not read yet

    def clear(self) -> None:
        self._found.clear()

    def __contains__(self, servo: Servo) -> bool:
        return servo.number in self._found

    def watch(self, servo: Servo, *, alert: bool) -> bool:
        """The alert bit of an answer; whether it is the first with it."""
        if not alert:
            self._found.pop(servo.number, None)
        elif servo.number not in self._found:
            self._found[servo.number] = ""
            return True
        return False

    def read(self, servo: Servo, status: Status) -> bool:
        """Reads the register of this servo; returns whether its value has changed."""
        if not status.data or servo.number not in self._found:
            return False
        names = packet.HARDWARE_ERRORS
        bits = [names[bit] for bit in names if status.data[0] >> bit & 1]
        words = ", ".join(bits) or status.data.hex()
        known, self._found[servo.number] = self._found[servo.number], words
        return words != known

    def words(self, servo: Servo) -> str:
        found = self._found[servo.number]
        return f"'{servo.device.name}': hardware error{': ' if found else ''}{found}"
