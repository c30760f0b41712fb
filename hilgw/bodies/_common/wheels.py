"""The session of a robot with two wheels, which have velocity control only."""

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator

from hilgw.bodies._common.session import RobotSession
from hilgw.bodies._common.settings import RobotSettings
from hilgw.control.events import (
    Command,
    Event,
    MotorCommand,
    MotorField,
    MotorSettings,
    Notice,
    StopPlan,
)
from hilgw.control.limits import Slew
from hilgw.control.missing import ACCELERATION, AVAILABLE, GAINS
from hilgw.devices.kinds import POSITION_SENSOR, ROTATIONAL_MOTOR, Device, Refusal
from hilgw.devices.properties import DeviceFields, PositionSensorFields, RotationalMotorFields
from hilgw.reasons import RequestRefused
from hilgw.units import earliest


class Wheel(Slew):
    """A motor. value: its velocity in rad/s; 0 until a controller commands one."""

    def __init__(self, device: Device) -> None:
        super().__init__(device.limits.rate)
        self.device = device

    def command(self, command: Command, now: int) -> Refusal | None:
        wanted = _velocity_of(command, self.value)
        if wanted is None:
            text = f"'{self.device.name}': the robot has velocity control only"
            return Refusal(RequestRefused.NOT_SETTABLE, text)
        self.aim(wanted, now)
        return None


def _velocity_of(command: Command, present: float) -> float | None:
    """Return the velocity that a command selects; None: the robot cannot follow it.

    Position +infinity alone selects velocity control and leaves the velocity. At velocity 0 a motor
    stands still, also on its way to a position.
    """
    if isinstance(command, MotorCommand):
        if command.field == MotorField.VELOCITY:
            return command.value
        is_mode = command.field == MotorField.POSITION and command.value == math.inf
        return present if is_mode else None
    if isinstance(command, MotorSettings) and (
        command.position == math.inf or command.velocity == 0
    ):
        return command.velocity
    return None


def wheel_devices(sides: Iterable[str], fastest: float) -> Iterator[tuple[str, str, DeviceFields]]:
    """Return name, kind and fields of the motor and the encoder of each wheel.

    fastest: in rad/s.
    """
    for side in sides:
        joint = f"{side} wheel"
        motor = RotationalMotorFields(maxVelocity=fastest, joint=joint)
        yield f"{joint} motor", ROTATIONAL_MOTOR, motor
        yield f"{joint} sensor", POSITION_SENSOR, PositionSensorFields(joint=joint)


class WheeledSession(RobotSession):
    """fastest: the largest velocity of a wheel in rad/s.

    cut_from: the velocity from which on it is reported that the robot cuts it.
    """

    missing = (ACCELERATION, AVAILABLE, GAINS)

    def __init__(
        self,
        settings: RobotSettings,
        devices: Iterable[Device],
        names: Iterable[str],
        fastest: float,
        cut_from: float,
    ) -> None:
        super().__init__(settings, devices)
        motors = [self.devices.by_name(name) for name in names]
        self._wheels = {each.index: Wheel(each) for each in motors if each is not None}
        self._fastest = fastest
        self._cut_from = cut_from

    @abstractmethod
    def _drive_on(self, now: int) -> list[Event]:
        """Return the bytes that leave now for the commanded velocities; none where they follow."""

    def _move(self, device: Device, command: Command, now: int) -> list[Event] | Refusal:
        wheel = self._wheels[command.index]
        refusal = wheel.command(command, now)
        if refusal is not None:
            return refusal
        events = self._drive_on(now)
        if abs(wheel.value) >= self._cut_from:
            text = f"velocities beyond {self._fastest:.4g} rad/s are cut to it"
            events.append(Notice(f"'{wheel.device.name}': {text}"))
        return events

    def _halt_motor(self, index: int, now: int) -> StopPlan:
        self._wheels[index].settle()
        return self._at_rest(self._drive_on(now), index)

    def _rest(self) -> None:
        for wheel in self._wheels.values():
            wheel.settle()

    def _wheels_due(self) -> int | None:
        return earliest(*(wheel.next_deadline() for wheel in self._wheels.values()))

    def _speed_up(self, now: int) -> bool:
        changed = [wheel.expire(now) for wheel in self._wheels.values()]
        return any(value is not None for value in changed)
