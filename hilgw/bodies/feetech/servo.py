"""Feetech STS servos, their handshake and session.

A servo has no watchdog. A goal position switches its torque on, and Goal Speed 0 means no limit
under position control. So a stop writes the present position, time 0 and speed 0, and then the mode
that was set: in step mode (3) the position would be a distance. The mode comes second, as an EEPROM
may be busy after it. A servo that has no torque, or whose position is not known, gets Torque
Enable 0.
"""

from collections import Counter
from typing import Any, ClassVar

from hilgw.bodies._servo_bus.bus import ServoKind
from hilgw.bodies._servo_bus.handshake import Handshake
from hilgw.bodies._servo_bus.servo import LARGEST, Servo, Writes
from hilgw.bodies._servo_bus.session import ServoBusSession
from hilgw.bodies.feetech.packet import (
    COARSE,
    FINE_SPEEDS,
    LARGEST_ACCELERATION,
    LOCK,
    MULTI_TURN,
    STEP,
    STS,
    TORQUE_LIMIT,
    TURN,
    Feetech,
)
from hilgw.control.events import ProtocolFailure
from hilgw.control.odometer import Odometer
from hilgw.devices.kinds import Device
from hilgw.errors import MismatchError


class FeetechServo(Servo):
    """A servo of series STS."""

    torque: int | None = None
    _was_limp = True  # before the handshake

    def __init__(
        self, kind: ServoKind, device: Device, servo: Any, settings: Any, counts: Counter[str]
    ) -> None:
        self._odometer = Odometer(TURN)
        super().__init__(kind, device, servo, STS, counts)

    # --- what the servo reports ---------------------------------------------------------------

    def take_limits(self, data: bytes) -> None:
        low, high = int.from_bytes(data[:2], "little"), int.from_bytes(data[2:], "little")
        if high:  # both are 0 for a servo that counts turns
            self._positions = low, high

    def take(self, pulses: int) -> None:
        """Take its position, and count the turns of a wheel, as the servo does not."""
        super().take(pulses)
        if self.mode == self._kind.position_mode:
            self._odometer = Odometer(TURN)
        self._total = pulses if self.settings.multi_turn else self._odometer.read(pulses)

    @property
    def position(self) -> float | None:
        return None if self.pulses is None else self._angle(self._total)

    def expected(self, register: int) -> int | None:
        return 0 if register == LOCK else self.mode

    # --- torque -------------------------------------------------------------------------------

    @property
    def _is_limp(self) -> bool:
        return self._was_limp if self.torque is None else not self.torque

    def forget(self) -> None:
        self._was_limp = self._is_limp
        super().forget()
        self._largest = LARGEST_ACCELERATION, LARGEST

    # --- commands and stops -------------------------------------------------------------------

    def _force_writes(self, force: int, mode: int | None) -> Writes:
        return {TORQUE_LIMIT: force}

    def stop(self) -> None:
        super().stop()
        self._sent = {}  # a stop writes the acceleration, too

    def stop_blocks(self, before_torque: bool) -> dict[int, bytes]:
        """Return a write from Acceleration on, which is 0, unlimited, and Mode; or Torque Enable 0.

        before_torque: the mode has just been set. No mode is written where none is known.
        """
        if self.pulses is None or self.is_lost or (self._is_limp and not before_torque):
            return {self._kind.torque: b"\0"}
        hold = self._kind.value(self._kind.goal_position, self.held_pulses())
        blocks = {self._kind.acceleration: b"\0" + hold + bytes(4)}
        mode = self.changing if self.mode is None else self.mode
        if mode is not None and not before_torque:
            blocks[self._kind.mode] = bytes((mode,))
        return blocks


class FeetechHandshake(Handshake):
    """Reads Phase, and writes Lock 0: a restart makes it 1."""

    def _model(self, servo: Servo, data: bytes) -> int:
        if data[2]:
            text = f"servo {servo.number} stores high bytes first, as series SCS does"
            raise MismatchError(text, fix="use a servo of series STS, or correct its id")
        return int.from_bytes(data[3:], "little")

    def check(self) -> None:
        for number, phase in self.setups.items():
            servo = self._servos[number]
            servo.set_unit(STEP if phase & FINE_SPEEDS else COARSE * STEP)
            counts = bool(phase & MULTI_TURN)
            if counts is not servo.settings.multi_turn:
                error = MismatchError(
                    f"servo {number} has Phase (register 18) {phase}: with bit 4 it counts turns, "
                    "without it it shows the angle within one",
                    fix=f"set multi_turn: {str(counts).lower()} of '{servo.device.name}', or write "
                    f"{phase ^ MULTI_TURN} to the register",
                )
                self.failure = ProtocolFailure(error)

    def _secured(self, servo: Servo) -> bytes:
        unlock = self._kind.write_all(LOCK, {servo.number: 0})
        if not servo.torque:
            return unlock
        number, blocks = servo.number, servo.stop_blocks(False).items()
        stops = [self._kind.write_blocks(address, {number: data}) for address, data in blocks]
        return b"".join(stops) + unlock


class FeetechSession(ServoBusSession):
    """The session of body `feetech`: servos that only a stop stops."""

    Kind: ClassVar[Any] = Feetech
    Servo: ClassVar[Any] = FeetechServo
    Handshake: ClassVar[Any] = FeetechHandshake
