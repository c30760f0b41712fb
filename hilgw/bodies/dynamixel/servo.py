"""Dynamixel servos (e-manual, XL430-W250 and PH54-200-S500-R), their handshake and session."""

from collections import Counter
from typing import Any, ClassVar

from hilgw.bodies._servo_bus.bus import ServoKind
from hilgw.bodies._servo_bus.handshake import Handshake
from hilgw.bodies._servo_bus.servo import Servo, Writes
from hilgw.bodies._servo_bus.session import ServoBusSession
from hilgw.bodies.dynamixel.packet import (
    GOAL_CURRENT,
    GOAL_PWM,
    SERIES,
    WATCHDOG,
    Dynamixel,
    P,
    series_of,
    signed,
)
from hilgw.bodies.dynamixel.settings import VELOCITY, DynamixelSettings, ServoSettings
from hilgw.control.events import ProtocolFailure
from hilgw.devices.kinds import Device
from hilgw.errors import MismatchError

EXTENDED_MODE, CURRENT_MODE = 4, 5
# Models with Goal Current: XM430 and XH430, XM540, XH540.
WITH_CURRENT = {1020, 1030, 1040, 1050, 1110, 1120, 1130}
# Limits of an XL430, until the servo's own are read.
_PWM, _CURRENT, _VELOCITY = 885, 0, 265
TIME_BASED = 0x04  # of Drive Mode: the profile is in ms
UNUSABLE = TIME_BASED | 0x08  # of Drive Mode: or a goal switches the torque on
SLOWEST = 1  # Profile Velocity: 0 is unlimited


class DynamixelServo(Servo):
    """A servo of series X or P.

    Available torque is Goal Current where the model holds a position with it, else Goal PWM. steps:
    of the bus watchdog.
    """

    _has_current = False

    def __init__(
        self,
        kind: ServoKind,
        device: Device,
        servo: ServoSettings,
        settings: DynamixelSettings,
        counts: Counter[str],
    ) -> None:
        super().__init__(kind, device, servo, SERIES[servo.series], counts)
        self.steps = max(2, settings.watchdog_ms // 20)

    def forget(self) -> None:
        super().forget()
        self._pwm, self._current, self._velocity = _PWM, _CURRENT, _VELOCITY

    def identify(self, model: int) -> None:
        super().identify(model)
        self._has_current = model in WITH_CURRENT

    def take_limits(self, data: bytes) -> None:
        self._pwm, self._current = signed(data[0:2]), signed(data[2:4])
        self._velocity = signed(data[8:12])
        if self.series is P:
            self._largest = signed(data[4:8]), self._velocity
        self._positions = signed(data[16:20]), signed(data[12:16])

    def expected(self, register: int) -> int | None:
        return self.steps

    @property
    def _full_load(self) -> int:
        measured = (self._has_current or self.series is P) and self._current > 0
        return self._current if measured else 1000

    @property
    def _mode_of_positions(self) -> int:
        if self._has_current:
            return CURRENT_MODE  # the limits of position are those that were checked
        return EXTENDED_MODE if self.settings.multi_turn else self._kind.position_mode

    def _force_writes(self, force: int, mode: int | None) -> Writes:
        if mode == CURRENT_MODE:
            return {GOAL_CURRENT: force * self._current // 1000}
        return {GOAL_PWM: force * self._pwm // 1000}

    def stop_blocks(self, before_torque: bool) -> dict[int, bytes]:
        velocity, position = self._kind.goals
        stop = {velocity: self._kind.value(velocity, 0)}
        if self.pulses is not None:
            stop[position] = self._kind.value(position, self.held_pulses())
        return stop


class DynamixelHandshake(Handshake):
    """Checks the series and Drive Mode, and sets the bus watchdog."""

    def _usable(self, setup: int) -> int:
        return setup & ~UNUSABLE if self._settings.drive_mode == VELOCITY else setup

    def check(self) -> None:
        for number, drive in self.setups.items():
            if drive & UNUSABLE:
                error = MismatchError(
                    f"servo {number} has Drive Mode (register 10) {drive}: bit 2 turns Profile "
                    "Velocity into a time in ms, and with bit 3 a goal switches the torque on",
                    fix="set drive_mode: velocity, which clears both in the servo, or write "
                    f"{drive & ~UNUSABLE} to the register",
                )
                self.failure = ProtocolFailure(error)

    def _model(self, servo: Servo, data: bytes) -> int:
        model = int.from_bytes(data[:2], "little")
        series = series_of(model)
        if series is not servo.series:
            text = f"servo {servo.number} is a model {model} of series {series.name}"
            raise MismatchError(
                text, fix=f"set series: {series.name} of '{servo.device.name}', or correct its id"
            )
        return model

    def _secured(self, servo: Servo) -> bytes:
        """Return the packets that clear the bus watchdog and set it again.

        A servo that its watchdog has stopped takes no goal (e-manual, Bus Watchdog), and may resume
        its old one as soon as the watchdog is cleared. Under velocity control only no torque is
        safe. Under position control the present position follows at once as its goal, within one
        write: the servo has the time of one packet, in which it moves with its profile. That may be
        written before, and is the slowest; each position command sets its own.
        """
        steps = servo.expected(WATCHDOG) or 0
        clear, arm = self._write(servo, WATCHDOG, 0), self._write(servo, WATCHDOG, steps)
        if not servo.torque:
            return clear + arm
        hold = self._write(servo, self._kind.goal_position, servo.held_pulses())
        is_time = self.setups[servo.number] & TIME_BASED
        slow = b"" if is_time else self._write(servo, self._kind.speed, SLOWEST)
        return slow + clear + hold + arm

    def _write(self, servo: Servo, register: int, amount: int) -> bytes:
        """Return a packet without an answer: nothing may come between these packets."""
        return self._kind.write_all(register, {servo.number: amount})


class DynamixelSession(ServoBusSession):
    """The session of body `dynamixel`: servos that stop by their bus watchdog."""

    Kind: ClassVar[Any] = Dynamixel
    Servo: ClassVar[Any] = DynamixelServo
    Handshake: ClassVar[Any] = DynamixelHandshake
