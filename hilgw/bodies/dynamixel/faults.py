"""Hardware errors: servos whose answers have the alert bit, and the numbers of their register."""

from __future__ import annotations

from hilgw.bodies.dynamixel import packet
from hilgw.bodies.dynamixel.packet import Status
from hilgw.bodies.dynamixel.servo import Servo


class Faults:
    """The hardware errors that are present now."""

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
