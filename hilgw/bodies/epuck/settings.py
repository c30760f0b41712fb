"""Settings of body `epuck`, and its devices: those of Webots' E-puck robot, and more."""

from dataclasses import dataclass
from typing import NamedTuple

from hilgw.bodies._common.settings import RobotSettings, numbered
from hilgw.bodies._common.wheels import wheel_devices
from hilgw.bodies.epuck.sercom import BAUD_RATE, MAX_STEPS_S, RAD_PER_STEP
from hilgw.devices.kinds import (
    ACCELEROMETER,
    DISTANCE_SENSOR,
    GYRO,
    LED,
    LIGHT_SENSOR,
    Device,
)
from hilgw.devices.properties import (
    AccelerometerFields,
    DeviceFields,
    DistanceSensorFields,
    GyroFields,
    LedFields,
    LightSensorFields,
    LookupTable,
)
from hilgw.settings import setting

EPUCK2 = "e-puck2"


@dataclass(frozen=True, slots=True, kw_only=True)
class EPuckSensor:
    """A sensor of the robot."""

    present: bool = setting("false: no such device", True)
    table: LookupTable = setting(
        "rows of raw number, returned value, noise (not used); empty: the raw number, and m/s^2 of "
        "the accelerometer",
        (),
        ge=-1_000_000_000,
        le=1_000_000_000,
        example=[[67, 0.07, 0], [4095, 0, 0]],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EPuckSettings(RobotSettings):
    """The serial line to the robot, its model, and its sensors."""

    port: str = setting("serial device path", example="/dev/rfcomm0")
    baudRate: int = setting(
        "rate of the serial line; that of the robot itself is fixed",
        BAUD_RATE,
        choices=(9600, 19200, 38400, 57600, BAUD_RATE),
        unit="bit/s",
    )
    model: str = setting(
        "e-puck: wheels up to 6.28 rad/s; e-puck2: up to 7.536 rad/s, and a gyro",
        "e-puck",
        choices=tuple(MAX_STEPS_S),
    )
    period_ms: float = setting(
        "time between two exchanges with the robot; a command begins one at once",
        32.0,
        ge=1,
        le=1000,
        unit="ms",
    )
    answer_ms: float = setting(
        "longest time for an answer besides its bytes: the robot, the delay of Bluetooth",
        100.0,
        ge=1,
        le=5000,
        unit="ms",
    )
    silence_s: float = setting(
        "time without a valid answer that counts as a disconnect", 1.0, ge=0.1, le=3600, unit="s"
    )
    sensors: dict[str, EPuckSensor] = setting(
        "sensor -> its table, or that there is none; gs0, gs1 and gs2 (ground sensors) are there "
        "where they are listed",
        default_factory=dict,
    )


SIDES = ("left", "right")
MOTORS = tuple(f"{side} wheel motor" for side in SIDES)
POSITIONS = tuple(f"{side} wheel sensor" for side in SIDES)
LEDS = tuple(f"led{number}" for number in range(10))


class Source(NamedTuple):
    """Place of a value in an answer. place: of one number; -1: all numbers, a vector."""

    letter: str
    place: int = -1


_PROXIMITY = {f"ps{place}": Source("N", place) for place in range(8)}
_LIGHT = {f"ls{place}": Source("O", place) for place in range(8)}
_GROUND = {f"gs{place}": Source("M", place) for place in range(3)}
_MICROPHONES = {f"mic{place}": Source("u", place) for place in range(3)}
# In the order of the robot's PROTO; Webots' robot has no microphones.
SOURCES: dict[str, Source] = {
    **_PROXIMITY,
    **_LIGHT,
    "accelerometer": Source("a"),
    "gyro": Source("g"),
    **_GROUND,
    **_MICROPHONES,
}
WHEEL_SOURCES = {name: Source("Q", place) for place, name in enumerate(POSITIONS)}

# Fields of the nodes in Webots' E-puck.proto (R2025a).
_PROXIMITY_TABLE: LookupTable = (
    (0.0, 4095.0, 0.002),
    (0.005, 2133.33, 0.003),
    (0.01, 1465.73, 0.007),
    (0.015, 601.46, 0.0406),
    (0.02, 383.84, 0.01472),
    (0.03, 234.93, 0.0241),
    (0.04, 158.03, 0.0287),
    (0.05, 120.0, 0.04225),
    (0.06, 104.09, 0.03065),
    (0.07, 67.19, 0.04897),
)
_GROUND_TABLE: LookupTable = ((0.0, 1000.0, 0.1), (0.016, 300.0, 0.1))
_RAW_TABLE: LookupTable = ((0.0, 0.0, 0.0), (4095.0, 4095.0, 0.0))
_GYRO = 13.315805  # rad/s, for 100000


def sensors_of(settings: EPuckSettings) -> dict[str, EPuckSensor]:
    """Return the sensors of the robot besides its encoders, by name, in order."""
    absent = () if settings.model == EPUCK2 else ("gyro",)
    sensors = {
        name: EPuckSensor() for name in SOURCES if name not in _GROUND and name not in absent
    }
    sensors |= {name: sensor for name, sensor in settings.sensors.items() if name in SOURCES}
    return {name: sensors[name] for name in SOURCES if name in sensors and sensors[name].present}


def letters_of(settings: EPuckSettings) -> set[str]:
    """Return the commands for all sensors of the robot."""
    letters = {SOURCES[name].letter for name in sensors_of(settings)}
    return letters | {source.letter for source in WHEEL_SOURCES.values()}


def devices_of(settings: EPuckSettings) -> list[Device]:
    """Return all devices in order, with the fields of their nodes."""
    parts = [*wheel_devices(SIDES, MAX_STEPS_S[settings.model] * RAD_PER_STEP)]
    sensors = sensors_of(settings)
    near = [name for name in sensors if name in _PROXIMITY or name in _LIGHT]
    parts += [(name, *_node(name, sensors[name])) for name in near]
    parts += [(name, LED, LedFields()) for name in LEDS]
    parts += [(name, *_node(name, each)) for name, each in sensors.items() if name not in near]
    return numbered(parts, settings.limits)


def _node(name: str, sensor: EPuckSensor) -> tuple[str, DeviceFields]:
    if name in _LIGHT:
        table = sensor.table or ((1.0, 4095.0, 0.01), (2.0, 0.0, 0.01))
        return LIGHT_SENSOR, LightSensorFields(lookupTable=table)
    if name == "accelerometer":
        table = sensor.table or ((-100.0, -100.0, 0.003), (100.0, 100.0, 0.003))
        return ACCELEROMETER, AccelerometerFields(lookupTable=table)
    if name == "gyro":
        table = sensor.table or ((-_GYRO, -100_000.0, 0.003), (_GYRO, 100_000.0, 0.003))
        return GYRO, GyroFields(lookupTable=table)
    if name in _PROXIMITY:
        table = sensor.table or _PROXIMITY_TABLE
        near = DistanceSensorFields(type="infra-red", aperture=0.1, lookupTable=table)
        return DISTANCE_SENSOR, near
    if name in _GROUND:
        table = sensor.table or _GROUND_TABLE
        return DISTANCE_SENSOR, DistanceSensorFields(type="infra-red", lookupTable=table)
    return DISTANCE_SENSOR, DistanceSensorFields(lookupTable=sensor.table or _RAW_TABLE)
