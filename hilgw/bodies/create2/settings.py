"""Settings of body `create2`, and its devices: those of Webots' Create robot, and more."""

from dataclasses import dataclass

from hilgw.bodies._common.settings import RobotSettings, numbered
from hilgw.bodies._common.wheels import wheel_devices
from hilgw.bodies.create2.oi import SOURCES
from hilgw.devices.kinds import (
    DISTANCE_SENSOR,
    LED,
    LIGHT_SENSOR,
    TOUCH_SENSOR,
    Device,
)
from hilgw.devices.properties import (
    DeviceFields,
    DistanceSensorFields,
    LedFields,
    LightSensorFields,
    LookupTable,
    TouchSensorFields,
)
from hilgw.settings import setting

OFF = "off"
NODES = (DISTANCE_SENSOR, LIGHT_SENSOR, TOUCH_SENSOR)
BAUD_RATES = (9600, 14400, 19200, 28800, 38400, 57600, 115200)


@dataclass(frozen=True, slots=True, kw_only=True)
class Create2Sensor:
    """A sensor: a number of the robot's sensor packets under a Webots device name."""

    packet: str = setting(
        "number of the Open Interface; off: no such sensor", choices=[*SOURCES, OFF]
    )
    node: str = setting("Webots node", DISTANCE_SENSOR, choices=NODES)
    table: LookupTable = setting(
        "rows of raw number, returned value, noise (not used); empty: the raw number",
        (),
        ge=-1_000_000_000,
        le=1_000_000_000,
        example=[[0, 0.5, 0], [4095, 0, 0]],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Create2Settings(RobotSettings):
    """The serial line to the robot, its mode, and how its numbers become those of Webots."""

    baudRate: int = setting(
        "rate of the serial line: 115200, or 19200 where the robot was started with its clean "
        "button held",
        115200,
        choices=BAUD_RATES,
        unit="bit/s",
    )
    mode: str = setting(
        "safe: the robot stops by itself at a cliff, a wheel drop and a charger; full: it does not",
        "safe",
        choices=("safe", "full"),
    )
    silence_s: float = setting(
        "time without a good frame of sensor values that counts as a disconnect",
        0.5,
        ge=0.1,
        le=3600,
        unit="s",
    )
    wheel_radius: float = setting(
        "radius that converts rad/s to the robot's mm/s, and its encoders to rad: 0.031 is the "
        "wheel of Webots' Create robot, 0.036 the real one",
        0.031,
        gt=0,
        le=1,
        unit="m",
    )
    sensors: dict[str, Create2Sensor] = setting(
        "device name -> sensor, besides and instead of the default ones", default_factory=dict
    )


RIGHT_MOTOR, LEFT_MOTOR = "right wheel motor", "left wheel motor"
RIGHT_POSITION, LEFT_POSITION = "right wheel sensor", "left wheel sensor"
LEDS = ("led_on", "led_play", "led_step")
_TOUCH = ("bumper_left", "bumper_right")
_CLIFFS = ("cliff_right", "cliff_front_right", "cliff_front_left", "cliff_left")
_LIGHTS = ("left", "front_left", "center_left", "center_right", "front_right", "right")
# In the order of the robot's PROTO, then those that it does not have.
DEFAULT_SENSORS: dict[str, Create2Sensor] = {
    "bumper_left": Create2Sensor(packet="bump_left", node=TOUCH_SENSOR),
    "bumper_right": Create2Sensor(packet="bump_right", node=TOUCH_SENSOR),
    **{name: Create2Sensor(packet=f"{name}_signal") for name in _CLIFFS},
    **{f"light_bumper_{side}": Create2Sensor(packet=f"light_bump_{side}") for side in _LIGHTS},
}
# Fields of the nodes in Webots' Create.proto (R2025a).
_CLIFF_FIELDS = DistanceSensorFields(
    type="infra-red", lookupTable=((0.0, 4095.0, 0.0), (0.2, 0.0, 0.0))
)


def sensors_of(settings: Create2Settings) -> dict[str, Create2Sensor]:
    """Return the sensors of the robot by device name, in order."""
    sensors = {**DEFAULT_SENSORS, **settings.sensors}
    return {name: sensor for name, sensor in sensors.items() if sensor.packet != OFF}


def devices_of(settings: Create2Settings) -> list[Device]:
    """Return all devices in order, with the fields of their nodes."""
    parts = [*wheel_devices(("right", "left"), 16.129)]
    sensors = sensors_of(settings)
    names = [name for name in _TOUCH if name in sensors]
    parts += [_sensor(name, sensors[name]) for name in names]
    parts += [(name, LED, LedFields()) for name in LEDS]
    parts += [_sensor(name, each) for name, each in sensors.items() if name not in names]
    return numbered(parts, settings.limits)


def _sensor(name: str, sensor: Create2Sensor) -> tuple[str, str, DeviceFields]:
    fields: DeviceFields
    if sensor.node == TOUCH_SENSOR:
        fields = TouchSensorFields()
    elif sensor.node == LIGHT_SENSOR:
        fields = LightSensorFields()
    elif name in _CLIFFS:
        fields = _CLIFF_FIELDS
    else:
        rows = sensor.table or ((0.0, 0.0, 0.0), (4095.0, 4095.0, 0.0))
        fields = DistanceSensorFields(type="infra-red", lookupTable=rows)
    return name, sensor.node, fields
