"""The motors of a WC2EC robot: their last settings, and the messages that set them."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hilgw.control.events import Command, MotorCommand, MotorPid, MotorSettings
from hilgw.control.limits import Slew, check_settings
from hilgw.control.missing import DEFAULT_AVAILABLE
from hilgw.control.safety import MotorMode, default_command, mode_of
from hilgw.devices.kinds import KINDS, LINEAR_MOTOR, Device, Refusal
from hilgw.protocols.wc2ec import Sent, SetMotor, SetValue, Wc2ecRefused
from hilgw.reasons import RequestRefused
from hilgw.units import earliest


@dataclass(slots=True)
class _Motor:
    """settings: as last sent, in the order of the kind. last: the message that set them."""

    device: Device
    type: int
    settings: list[float]
    shown: int  # which of the settings a single value sets
    slew: Slew
    last: Sent | None = None

    def settle(self) -> None:
        if not math.isnan(self.settings[self.shown]):
            self.slew.settle(self.settings[self.shown])


class Motors:
    """original_peer: the robot supports setValue only; commands that need setSensor are refused."""

    def __init__(self, *, original_peer: bool) -> None:
        self._original_peer = original_peer
        self._motors: dict[int, _Motor] = {}
        self._limited: list[_Motor] = []  # those with a rate limit

    def clear(self) -> None:
        self._motors.clear()
        self._limited.clear()

    def add(self, device: Device, number: int) -> None:
        """Add a motor with the type byte of its registration, which commands to it carry, too."""
        linear = device.kind == LINEAR_MOTOR
        start = [math.nan if linear else math.inf, 0.0, -1.0, DEFAULT_AVAILABLE]
        assert device.value is not None
        shown = list(KINDS[device.kind].quantity).index(device.value.name)
        slew = Slew(device.limits.rate, brakes=not linear)
        motor = self._motors[device.index] = _Motor(device, number, start, shown, slew)
        if device.limits.rate is not None:
            self._limited.append(motor)

    def lacks(self, names: Iterable[str]) -> list[str]:
        """Return the names that no motor has."""
        return sorted(set(names) - {motor.device.name for motor in self._motors.values()})

    def command(
        self, device: Device, command: Command, reported: float | None, now: int
    ) -> Sent | Refusal:
        """Return the message for a command.

        It is setValue where it sets the device's value, else setSensor with the other settings as
        last sent. reported: the last position of a linear motor, or None.
        """
        motor = self._motors[device.index]
        if isinstance(command, MotorSettings):
            settings = [command.position, command.velocity, command.acceleration, command.available]
            return self._all(motor, settings, now)
        if isinstance(command, MotorPid) or mode_of(command) is MotorMode.FORCE:
            key = "gains" if isinstance(command, MotorPid) else command.field
            return Refusal(RequestRefused.NOT_SETTABLE, f"'{device.name}': WC2EC cannot set {key}")
        setting = list(KINDS[device.kind].quantity).index(command.field)
        if setting == motor.shown:
            return self._value(motor, command.value, reported, now)
        settings = list(motor.settings)
        settings[setting] = command.value
        if math.isnan(settings[0]):
            if reported is None:
                text = f"'{device.name}' reported no position, which its {command.field} needs"
                return Refusal(Wc2ecRefused.UNKNOWN_POSITION, text)
            settings[0] = reported
        # The settings that were added have not been checked with this one.
        return check_settings(device, tuple(settings)) or self._all(motor, settings, now)

    def stop_command(
        self, index: int, mode: MotorMode | None, reported: float | None
    ) -> Command | None:
        """Return the command that stops this motor in this mode.

        reported: the last position that a linear motor reported. None: there is none.
        """
        motor = self._motors[index]
        default = default_command(motor.device, reported)
        if default is not None or mode is MotorMode.POSITION or self._original_peer:
            return default
        return MotorSettings(index, math.inf, 0.0, motor.settings[2], motor.settings[3])

    def stop_commands(self, reported: Mapping[int, float]) -> list[Command]:
        """Return the commands that set every motor to its default.

        Changes nothing.
        """
        commands = (self.stop_now(index, reported.get(index)) for index in self._motors)
        return [command for command in commands if command is not None]

    def stop_now(self, index: int, reported: float | None) -> Command | None:
        """Return the command that stops this motor in its present mode, and change nothing.

        None: it has no such command, or the robot has no such motor. Changes nothing.
        """
        motor = self._motors.get(index)
        if motor is None:
            return None
        mode = MotorMode.VELOCITY if motor.settings[0] == math.inf else MotorMode.POSITION
        return self.stop_command(index, mode, reported)

    def message(self, command: Command) -> SetValue | SetMotor:
        """Return one command of a stop on the wire."""
        number = self._motors[command.index].type
        if isinstance(command, MotorCommand):
            return SetValue(number, command.index, command.value)
        assert isinstance(command, MotorSettings)
        settings = command.position, command.velocity, command.acceleration, command.available
        return SetMotor(number, command.index, *settings)

    def adopt(self, command: Command) -> SetValue | SetMotor:
        """Return one command of a stop on the wire, which is sent now, without the rate limit."""
        motor, message = self._motors[command.index], self.message(command)
        motor.last = message
        if isinstance(message, SetMotor):
            motor.settings[1] = message.velocity
        else:
            motor.settings[motor.shown] = message.value
        motor.settle()
        return message

    def last(self) -> list[Sent]:
        """Return the last message to each motor."""
        return [motor.last for motor in self._motors.values() if motor.last is not None]

    def next_deadline(self) -> int | None:
        if not self._limited:
            return None
        return earliest(*(motor.slew.next_deadline() for motor in self._limited))

    def expire(self, now: int) -> list[Sent]:
        messages: list[Sent] = []
        for motor in self._limited:
            value = motor.slew.expire(now)
            if value is not None:
                motor.settings[motor.shown] = value
                motor.last = SetValue(motor.type, motor.device.index, value)
                messages.append(motor.last)
        return messages

    def _value(self, motor: _Motor, value: float, position: float | None, now: int) -> Sent:
        motor.settings[motor.shown] = value = self._follow(motor, value, position, now)
        motor.last = SetValue(motor.type, motor.device.index, value)
        return motor.last

    def _all(self, motor: _Motor, settings: list[float], now: int) -> Sent | Refusal:
        other = 1 - motor.shown  # position or velocity, which an original peer cannot be given
        if self._original_peer and settings[other] == motor.settings[other]:
            return self._value(motor, settings[motor.shown], None, now)
        if self._original_peer:
            text = f"'{motor.device.name}': the original program does not support setSensor"
            return Refusal(Wc2ecRefused.ORIGINAL_PEER, text)
        settings[motor.shown] = self._follow(motor, settings[motor.shown], None, now)
        motor.settings = settings
        motor.last = SetMotor(motor.type, motor.device.index, *settings)
        return motor.last

    def _follow(self, motor: _Motor, value: float, position: float | None, now: int) -> float:
        if math.isnan(motor.settings[motor.shown]):
            # The first position: from the present position, or at once when that is unknown.
            motor.slew.settle(value if position is None else position)
        return motor.slew.aim(value, now)
