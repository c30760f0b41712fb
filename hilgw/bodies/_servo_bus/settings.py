"""Settings of a body with servos on a bus, and one servo for each motor."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from hilgw.bodies._common.settings import RobotSettings
from hilgw.devices.kinds import NO_LIMITS, POSITION_SENSOR, ROTATIONAL_MOTOR, Device
from hilgw.devices.properties import PositionSensorFields, RotationalMotorFields
from hilgw.settings import setting

HOLD = "hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServoSettings:
    """A servo: a motor and its position sensor."""

    id: int = setting("id of the servo", ge=0, le=252, example=1)
    sensor: str = setting(
        "name of its position sensor; not set: the motor's, with sensor in place of motor", ""
    )
    zero: int | None = setting(
        "pulse at 0 rad; not set: the middle of the range, which is 2048, or 0 of series P",
        None,
        ge=-1_048_575,
        le=1_048_575,
    )
    reverse: bool = setting("true: a positive angle is clockwise", False)
    multi_turn: bool = setting(
        "true: positions of many turns, without the position limits of the servo", False
    )
    max_torque: float = setting(
        "torque at its full PWM, or full current where it measures that",
        1.4,
        ge=0.001,
        le=1000,
        unit="N m",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServoBusSettings(RobotSettings):
    """Settings of the exchange: how often the servos are asked, and when one is lost."""

    DEFAULTS: ClassVar[Mapping[str, Any]] = {}
    period_ms: float = setting(
        "time between two readings of all positions", 20.0, ge=1, le=1000, unit="ms"
    )
    answer_ms: float = setting(
        "longest time for an answer besides its bytes: return delay of the servo, latency of a USB "
        "adapter",
        20.0,
        ge=1,
        le=1000,
        unit="ms",
    )
    return_delay_us: float = setting(
        "time of a servo from a request to its answer, for the check of the line",
        500.0,
        ge=0,
        le=508,
        unit="us",
    )
    silence_s: float = setting(
        "time without an answer of a servo that counts as a disconnect",
        0.3,
        ge=0.05,
        le=3600,
        unit="s",
    )
    on_loss: str = setting(
        "in the handshake, also after a loss, a servo that is found under position control with "
        "its torque on holds its position, or lets go (release); any other lets go",
        HOLD,
        choices=[HOLD, "release"],
    )
    show_velocity: bool = setting(
        "true: motors report their velocity, for a controller whose protocol carries it (WC2EC)",
        False,
    )


def servos_of(settings: Any) -> Mapping[str, Any]:
    servos: Mapping[str, Any] = settings.motors or settings.DEFAULTS
    return servos


def sensor_name(motor: str, servo: ServoSettings) -> str:
    if servo.sensor:
        return servo.sensor
    return motor.replace("motor", "sensor") if "motor" in motor else f"{motor} sensor"


def devices_of(settings: ServoBusSettings) -> list[Device]:
    """Return each motor with its position sensor, in the order of the file."""
    devices: list[Device] = []
    for name, servo in servos_of(settings).items():
        motor = RotationalMotorFields(maxTorque=servo.max_torque, joint=name)
        limits = settings.limits.get(name, NO_LIMITS)
        index = len(devices)
        devices += [
            Device(
                name=name,
                kind=ROTATIONAL_MOTOR,
                index=index,
                limits=limits,
                fields=motor,
                zero_within=math.pi if servo.multi_turn else math.inf,  # it is lost in whole turns
            ),
            Device(
                name=sensor_name(name, servo),
                kind=POSITION_SENSOR,
                index=index + 1,
                fields=PositionSensorFields(joint=name),
            ),
        ]
    return devices
