"""Settings of body `text`: the lines of a robot, and the devices that they move and read."""

import math
from dataclasses import dataclass, replace
from typing import Any

from hilgw.bodies._common.settings import RobotSettings, numbered
from hilgw.control.limits import REST_M, REST_RAD
from hilgw.devices.kinds import (
    ACCELEROMETER,
    COMPASS,
    DISTANCE_SENSOR,
    GPS,
    GYRO,
    LED,
    LIGHT_SENSOR,
    LINEAR_MOTOR,
    POSITION_SENSOR,
    ROTATIONAL_MOTOR,
    TOUCH_SENSOR,
    Device,
)
from hilgw.devices.properties import (
    FIELDS,
    DeviceFields,
    DistanceSensorFields,
    LedFields,
    LightSensorFields,
    LinearMotorFields,
    LookupTable,
    PositionSensorFields,
    RotationalMotorFields,
    TouchSensorFields,
)
from hilgw.protocols.text.patterns import Step
from hilgw.settings import setting

SCALARS = (POSITION_SENSOR, DISTANCE_SENSOR, LIGHT_SENSOR, TOUCH_SENSOR)
VECTORS = (ACCELEROMETER, GYRO, COMPASS, GPS)
_LARGEST = 1_000_000_000
DEFAULT_MOCK, WORK = "text_module", "work"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line to the robot, and the lines that answer it."""

    send: str = setting(
        "the line, without its end; a character up to \\xff is one byte", example="D,0,0"
    )
    expect: str = setting("pattern of the line that answers it; empty: it has no answer", "")
    failed: str = setting(
        "pattern of the line that refuses it; empty: that of the body's `failed`", ""
    )
    timeout_s: float = setting("time limit of the answer", 0.3, gt=0, le=60, unit="s")
    realtime: bool = setting(
        "true: these bytes alone, without a line end, at any time, outside the window", False
    )
    after: str = setting(
        "of a line of `stop`: pattern; it is sent only when an answer to the stop matches; empty: "
        "always",
        "",
        example="<Run.*",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredMotion(Line):
    """A line that moves motors: {NAME} is the number of the motor of that name.

    {velocity} is the smallest velocity of the motors with position control that it moves.
    """

    velocity_scale: float = setting(
        "{velocity} for 1 rad/s or 1 m/s", 1.0, ge=-_LARGEST, le=_LARGEST
    )
    velocity_decimals: int = setting("digits after the point of {velocity}", 0, ge=0, le=9)
    repeat: bool = setting(
        "true: sent for each command, also with the same numbers, for a robot with a watchdog",
        False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredRequest(Line):
    """A line that asks for sensors: the groups of `expect` are their numbers."""

    answer_bytes: int = setting(
        "longest answer with its line end, for the check of the line",
        32,
        ge=1,
        le=1024,
        unit="byte",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Unasked:
    """A line that the robot sends by itself: the groups of `expect` are numbers of sensors."""

    expect: str = setting("pattern of the line", example="D,(?P<left>\\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class LedLine(Line):
    """The line that sets an LED: {value} is its value, {on} 0 or 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextMotor:
    """A motor: how its number on the line is made from rad, rad/s, m or m/s."""

    kind: str = setting("kind of motor", "rotational", choices=("rotational", "linear"))
    mode: str = setting(
        "what the robot controls: the number is a velocity, or a position",
        "velocity",
        choices=("velocity", "position"),
    )
    scale: float = setting(
        "number for 1 rad, rad/s, m or m/s; negative: the other direction",
        1.0,
        ge=-_LARGEST,
        le=_LARGEST,
    )
    reverse: bool = setting("true: it is mounted the other way round: -1 times `scale`", False)
    offset: float = setting("number for 0", 0.0, ge=-_LARGEST, le=_LARGEST)
    decimals: int = setting("digits after the point; 0: a whole number", 0, ge=0, le=9)
    smallest: float | None = setting(
        "smallest number; a smaller one is cut to it", None, ge=-_LARGEST, le=_LARGEST
    )
    largest: float | None = setting(
        "largest number; a larger one is cut to it", None, ge=-_LARGEST, le=_LARGEST
    )
    text: str = setting(
        "how the number is written: {} is the number. With more than {}, a motor with position "
        "control is left out of the line until it has a position",
        "{}",
        example=" X{}",
    )
    zero: str = setting(
        "group of the setup: the machine position of the work zero, on the line, for `frame: work`;"
        " an answer in the run may have it, too: a motor whose zero changes stops",
        "",
    )
    incremental: bool | None = setting(
        "true: its position counts from where the robot started: after a restart `hilgw arm` asks "
        "for it (--accept-positions); not set: of a linear motor with position control",
        None,
    )
    maxVelocity: float = setting(
        "Webots' field; under position control the velocity at the start",
        10.0,
        ge=0,
        le=_LARGEST,
        unit="rad/s or m/s",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSensor:
    """A sensor: the group of an answer that is its number."""

    node: str = setting("Webots node", DISTANCE_SENSOR, choices=(*SCALARS, *VECTORS))
    group: str | tuple[str, ...] = setting(
        "group of the answer; a list of three for a vector; empty: the name of the sensor", ""
    )
    scale: float = setting("factor of the number", 1.0, ge=-_LARGEST, le=_LARGEST)
    offset: float = setting("added to the product", 0.0, ge=-_LARGEST, le=_LARGEST)
    table: LookupTable = setting(
        "rows of scaled number, returned value, noise (not used), with Webots' interpolation; "
        "empty: the scaled number",
        (),
        ge=-_LARGEST,
        le=_LARGEST,
        example=[[0, 0.5, 0], [4095, 0, 0]],
    )
    wraps: int = setting(
        "values of a counter that wraps around, e.g. 65536: its turns are counted; 0: it does not",
        0,
        ge=0,
        le=2**53,
    )
    starts_at_zero: bool = setting(
        "true: the first number of a connection counts as 0, as an encoder of Webots starts", False
    )
    hex: bool = setting("true: the number is written in hex digits", False)
    motor: str = setting("of a PositionSensor: the motor on its joint", "")
    type: str = setting(
        "Webots' field of a DistanceSensor or a TouchSensor; empty: Webots' default", ""
    )

    @property
    def has_vector(self) -> bool:
        return self.node in VECTORS


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBodySettings(RobotSettings):
    """The serial line to the robot, its lines of text, and its devices.

    Patterns are regular expressions (Python's, without lookaround and backreferences) for one whole
    line.
    """

    byteSize: int = setting(
        "cost of one byte on the line: 10 is 8N1, 11 is 8N2, 8 counts as 10",
        10,
        choices=(8, 10, 11),
        unit="bit",
    )
    name: str = setting("name of the robot in messages", "text robot")
    line_end: str = setting(
        "end of the lines to the robot; its own lines end at CR, LF or both, or at this text where "
        "it is another",
        "\r\n",
        example="\n",
    )
    longest_line: int = setting("longest line of the robot", 256, ge=8, le=1024, unit="byte")
    setup: tuple[Step, ...] = setting(
        "steps after which the robot is there; one at least waits for an answer. The group "
        "(?P<identity>...) names the robot; another answer than it expects is another robot"
    )
    frame: str = setting(
        "frame of all positions: of the controller, the sensors and the limits. machine: that of "
        "the lines; work: from the work zero, which is the `zero` of each motor",
        "machine",
        choices=("machine", WORK),
    )
    motors: dict[str, TextMotor] = setting("device name -> motor", default_factory=dict)
    commands: tuple[DeclaredMotion, ...] = setting(
        "lines that move the motors: each is in one of them", ()
    )
    stop: tuple[Line, ...] = setting(
        "lines that stop all motors, in whatever they do; needed where there are motors", ()
    )
    stop_repeats: int = setting(
        "how often a stop is written, at least 30 ms apart, until the robot acknowledges it; 1 for "
        "a stop that latches the robot",
        3,
        ge=1,
        le=10,
    )
    requests: tuple[DeclaredRequest, ...] = setting(
        "lines that ask for sensors, in this order; one without an enabled sensor is not sent", ()
    )
    unasked: tuple[Unasked, ...] = setting(
        "lines with sensors that the robot sends by itself; each is a sign of life", ()
    )
    sensors: dict[str, TextSensor] = setting("device name -> sensor", default_factory=dict)
    leds: dict[str, LedLine] = setting("device name -> LED", default_factory=dict)
    watchdog_ms: float = setting(
        "time without a line for its motors after which the robot stops by itself: the lines of "
        "motors are sent again in a third of it; 0: it has no watchdog",
        0.0,
        ge=0,
        le=60_000,
        unit="ms",
    )
    failed: str = setting(
        "pattern of a line that refuses the line before it", "", example="error:.*"
    )
    restarted: str = setting(
        "pattern of a line after which the robot needs its setup again: a restart, an alarm", ""
    )
    ignore: str = setting("pattern of lines to ignore; other unexpected lines are counted", "")
    window: int = setting("lines without an answer at the same time", 1, ge=1, le=64)
    window_bytes: int = setting(
        "bytes without an answer at the same time, where the robot has a small buffer; 0: no limit",
        0,
        ge=0,
        le=65536,
        unit="byte",
    )
    period_ms: float = setting(
        "time between two requests of the same line, and the shortest",
        32.0,
        ge=1,
        le=60_000,
        unit="ms",
    )
    silence_s: float = setting(
        "time without an answer that counts as a disconnect", 1.0, ge=0.1, le=3600, unit="s"
    )
    quiet_ms: float = setting(
        "after a lost answer, and before the setup, the line must be silent for this long",
        50.0,
        ge=1,
        le=5000,
        unit="ms",
    )
    mock: dict[str, Any] = setting(
        "parameters of the mock; `kind` is its name (`hilgw mock --list`), text_module without",
        default_factory=dict,
    )


def groups_of_sensor(name: str, sensor: TextSensor) -> tuple[str, ...]:
    """Return the groups with its numbers."""
    if isinstance(sensor.group, tuple):
        return sensor.group
    return (sensor.group or name,)


def devices_of(settings: TextBodySettings) -> list[Device]:
    """Return motors, sensors and LEDs, each in the order of the file."""
    parts: list[tuple[str, str, DeviceFields]] = [
        (name, *_motor(name, motor)) for name, motor in settings.motors.items()
    ]
    parts += [
        (name, sensor.node, _fields(sensor, settings)) for name, sensor in settings.sensors.items()
    ]
    parts += [(name, LED, LedFields()) for name in settings.leds]
    devices = numbered(parts, settings.limits)
    return [
        replace(
            device,
            zero_within=_zero_within(motor),
            may_jump=True,
        )
        if (motor := settings.motors.get(device.name))
        else device
        for device in devices
    ]


def _zero_within(motor: TextMotor) -> float:
    linear = motor.kind == "linear"
    is_stepper = linear and motor.mode == "position"
    incremental = is_stepper if motor.incremental is None else motor.incremental
    return (REST_M if linear else REST_RAD) if incremental else math.inf


def _motor(name: str, motor: TextMotor) -> tuple[str, DeviceFields]:
    if motor.kind == "linear":
        return LINEAR_MOTOR, LinearMotorFields(maxVelocity=motor.maxVelocity, joint=name)
    return ROTATIONAL_MOTOR, RotationalMotorFields(maxVelocity=motor.maxVelocity, joint=name)


def _fields(sensor: TextSensor, settings: TextBodySettings) -> DeviceFields:
    if sensor.node == POSITION_SENSOR:
        motor = settings.motors.get(sensor.motor)
        kind = "rotational" if motor is None else motor.kind
        return PositionSensorFields(type=kind, joint=sensor.motor)
    if sensor.node == DISTANCE_SENSOR:
        return DistanceSensorFields(type=sensor.type or "generic", lookupTable=sensor.table)
    if sensor.node == LIGHT_SENSOR:
        return LightSensorFields(lookupTable=sensor.table)
    if sensor.node == TOUCH_SENSOR:
        return TouchSensorFields(type=sensor.type or "bumper", lookupTable=sensor.table)
    return FIELDS[sensor.node]()
