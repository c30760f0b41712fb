"""Checks of the settings of a body `text` that concern several fields."""

from collections import Counter
from collections.abc import Iterable, Iterator

from hilgw.bodies._common.settings import Problem, device_problems, load_problems, table_problems
from hilgw.bodies.text.lines import PLACEHOLDER
from hilgw.bodies.text.motors import VELOCITY
from hilgw.bodies.text.settings import (
    Line,
    TextBodySettings,
    TextMotor,
    devices_of,
    groups_of_sensor,
)
from hilgw.control.declared import LineLoad
from hilgw.devices.kinds import POSITION_SENSOR, TOUCH_SENSOR
from hilgw.devices.properties import DISTANCE_SENSOR_TYPES
from hilgw.errors import ConfigError
from hilgw.protocols.text.patterns import compiled, pattern_problems
from hilgw.units import ms_to_ns

TOUCH_TYPES = ("bumper", "force")
NUMBER_BYTES = 12  # of a number on the line, where its limits do not show it


def problems_of(settings: TextBodySettings) -> list[Problem]:
    """(path below the body, message, fix) each."""
    problems = [*_patterns(settings), *_texts(settings), *_handshake(settings)]
    problems += [*_motors(settings), *_rates(settings), *_devices(settings)]
    problems += device_problems(settings, devices_of(settings))
    problems += table_problems({name: each.table for name, each in settings.sensors.items()})
    if not problems:
        problems += [*_sensors(settings), *_line(settings)]
    return problems


# Stops of 3D printers and of Grbl that end in an alarm: the robot takes no command after them.
LATCHING = {"M112": "M112", "\x18": "0x18 (reset)"}


def latching_stops(settings: TextBodySettings) -> Iterator[Problem]:
    """Yield a warning for each stop that latches the robot."""
    for place, line in enumerate(settings.stop):
        for text, name in LATCHING.items():
            if text in line.send.upper():
                problem = (
                    f"{name} resets the robot, which then takes no commands and loses its position"
                )
                fix = "stop it by a line after which it goes on, or set stop_repeats: 1"
                yield f"stop.{place}.send", problem, fix


def _lines(settings: TextBodySettings) -> Iterator[tuple[str, Line]]:
    for name, lines in (
        ("commands", settings.commands),
        ("stop", settings.stop),
        ("requests", settings.requests),
    ):
        for index, line in enumerate(lines):
            yield f"{name}.{index}", line
    for name, led in settings.leds.items():
        yield f"leds.{name}", led


def _patterns(settings: TextBodySettings) -> Iterator[Problem]:
    named = [(name, getattr(settings, name)) for name in ("failed", "restarted", "ignore")]
    for index, step in enumerate(settings.setup):
        named += [(f"setup.{index}.expect", step.expect), (f"setup.{index}.failed", step.failed)]
    for path, line in _lines(settings):
        named += [(f"{path}.expect", line.expect), (f"{path}.failed", line.failed)]
    named += [(f"stop.{at}.after", line.after) for at, line in enumerate(settings.stop)]
    named += [(f"unasked.{at}.expect", line.expect) for at, line in enumerate(settings.unasked)]
    yield from pattern_problems(named, whole=True)


def _texts(settings: TextBodySettings) -> Iterator[Problem]:
    sent = [(f"setup.{at}.send", step.send) for at, step in enumerate(settings.setup)]
    sent += [(f"{path}.send", line.send) for path, line in _lines(settings)]
    sent += [(f"motors.{name}.text", motor.text) for name, motor in settings.motors.items()]
    for path, text in [*sent, ("line_end", settings.line_end)]:
        if any(ord(character) > 255 for character in text):
            yield path, f"{text!r} has a character that is not one byte", "use those up to \\xff"
    for path, text in sent:
        if settings.line_end and settings.line_end in text:
            yield path, "it contains the line end", "leave it out: the gateway adds it"
    if not settings.line_end:
        yield "line_end", "is empty", r'use "\r\n", "\n" or "\r"'
    for path, line in _lines(settings):
        if not line.send:
            yield f"{path}.send", "is empty", "write the line"


def _handshake(settings: TextBodySettings) -> Iterator[Problem]:
    if not any(step.expect and step.send for step in settings.setup):
        text = "no step asks the robot and waits for its answer: a dead line would look alive"
        yield "setup", text, "add a step with send and expect, e.g. its version"
    for index, step in enumerate(settings.setup):
        if not step.send and not step.expect:
            yield f"setup.{index}", "has neither send nor expect", "add send or expect"


def _motors(settings: TextBodySettings) -> Iterator[Problem]:
    if settings.motors and not settings.stop:
        text = "the motors could not be stopped"
        yield "stop", text, "add the line that stops all of them, e.g. stop: [{send: 'D,0,0'}]"
    used: Counter[str] = Counter()
    for index, motion in enumerate(settings.commands):
        names = PLACEHOLDER.findall(motion.send)
        used.update(set(names))
        for name in names:
            if name not in settings.motors and name != VELOCITY:
                fix = f"its motors are {', '.join(settings.motors)}"
                yield f"commands.{index}.send", f"{{{name}}} is not a motor", fix
        moved = [settings.motors[name] for name in names if name in settings.motors]
        if not moved:
            yield f"commands.{index}.send", "moves no motor", "write {NAME} for the motor's number"
        if VELOCITY in names and not any(motor.mode == "position" for motor in moved):
            text = "{velocity} is that of motors with position control, and it moves none"
            yield f"commands.{index}.send", text, "leave it out"
    for name, motor in settings.motors.items():
        yield from _motor(settings, name, motor, used[name])


def _motor(settings: TextBodySettings, name: str, motor: TextMotor, used: int) -> Iterator[Problem]:
    if name == VELOCITY:
        yield f"motors.{name}", "the name means the velocity in a line", "rename it"
    if used != 1:
        text = "is in no line of commands" if used == 0 else f"is in {used} lines of commands"
        yield f"motors.{name}", text, f"write {{{name}}} into one line"
    if not motor.scale:
        yield f"motors.{name}.scale", "0: every number would be the same", "write the factor"
    if motor.text.count("{}") != 1:
        yield f"motors.{name}.text", "must contain {} once, for the number", 'e.g. " X{}"'
    low, high = motor.smallest, motor.largest
    if low is not None and high is not None and low > high:
        yield f"motors.{name}.smallest", f"{low:g} is above largest, {high:g}", "exchange them"
    if motor.mode == "velocity" and not _holds(motor, motor.offset):
        text = "the number of velocity 0 is beyond smallest and largest"
        yield f"motors.{name}", text, "correct offset, smallest or largest"


def _holds(motor: TextMotor, number: float) -> bool:
    above = motor.smallest is None or number >= motor.smallest
    return above and (motor.largest is None or number <= motor.largest)


def _rates(settings: TextBodySettings) -> Iterator[Problem]:
    for name, limits in settings.limits.items():
        motor = settings.motors.get(name)
        paced = any(
            {name, VELOCITY}.issubset(PLACEHOLDER.findall(line.send)) for line in settings.commands
        )
        by_position = motor is not None and motor.mode == "position"
        if limits.rate is not None and by_position and not paced:
            text = "the line of this motor has no {velocity}, which would keep to the rate"
            yield f"limits.{name}.rate", text, "add {velocity} to it, or leave the rate out"


def _devices(settings: TextBodySettings) -> Iterator[Problem]:
    groups: dict[str, Iterable[str]] = {
        "motors": settings.motors,
        "sensors": settings.sensors,
        "leds": settings.leds,
    }
    names = Counter(name for group in groups.values() for name in group)
    for part in ("sensors", "leds"):
        for name in groups[part]:
            if names[name] > 1:
                yield f"{part}.{name}", "another device has this name", "rename it"
    for name, sensor in settings.sensors.items():
        count = len(groups_of_sensor(name, sensor))
        wanted = 3 if sensor.has_vector else 1
        if count != wanted:
            text = f"a {sensor.node} needs {wanted} groups, and has {count}"
            yield f"sensors.{name}.group", text, "group: [x, y, z]" if wanted > 1 else "group: x"
        if sensor.motor and (sensor.motor not in settings.motors or sensor.node != POSITION_SENSOR):
            text = f"'{sensor.motor}' is not a motor with this sensor on its joint"
            fix = f"node: PositionSensor; its motors are {', '.join(settings.motors) or 'none'}"
            yield f"sensors.{name}.motor", text, fix
        allowed = TOUCH_TYPES if sensor.node == TOUCH_SENSOR else DISTANCE_SENSOR_TYPES
        if sensor.type and sensor.type not in allowed:
            text = f"a {sensor.node} has no type {sensor.type!r}"
            yield f"sensors.{name}.type", text, f"use {', '.join(allowed)}"
        if sensor.wraps and sensor.has_vector:
            yield f"sensors.{name}.wraps", "a vector does not wrap around", "leave it out"
        if sensor.starts_at_zero and sensor.has_vector:
            yield f"sensors.{name}.starts_at_zero", "a vector does not start at 0", "leave it out"


def _sensors(settings: TextBodySettings) -> Iterator[Problem]:
    matches = []
    for index, unasked in enumerate(settings.unasked):
        if not unasked.expect:
            yield f"unasked.{index}.expect", "is empty", "write the pattern of the line"
    for index, request in enumerate(settings.requests):
        if not request.expect:
            yield f"requests.{index}.expect", "is empty", "add the pattern of its answer"
    expects = [line.expect for line in settings.requests]
    for expect in [*expects, *(line.expect for line in settings.unasked)]:
        try:
            matches.append(set(compiled(expect, whole=True).groupindex))
        except ConfigError:  # reported by _patterns
            matches.append(set())
    kind, place = ("line", "requests and unasked") if settings.unasked else ("answer", "requests")
    for name, sensor in settings.sensors.items():
        wanted = groups_of_sensor(name, sensor)
        if not any(groups.issuperset(wanted) for groups in matches):
            text = f"no {kind} in {place} has the group {', '.join(wanted)}"
            yield f"sensors.{name}.group", text, f"write (?P<{wanted[0]}>...) into an expect"
        if sum(groups.issuperset(wanted) for groups in matches) > 1:
            text = f"several {kind}s in {place} have the group {', '.join(wanted)}"
            yield f"sensors.{name}.group", text, "use a group of its own in each"


def line_load(settings: TextBodySettings) -> LineLoad:
    """Return the load of a line of each motion, and of all requests with their answers."""
    needed, there, back = 0, 0, 0
    end = len(settings.line_end)
    for motion in settings.commands:
        count = len(PLACEHOLDER.findall(motion.send))
        literal = len("".join(PLACEHOLDER.split(motion.send)[::2]))
        words = sum(
            len(settings.motors[name].text) - 2
            for name in PLACEHOLDER.findall(motion.send)
            if name in settings.motors
        )
        there += literal + words + count * NUMBER_BYTES + end
        back += (len(settings.line_end) + 2) if motion.expect else 0
    for request in settings.requests:
        there += len(request.send) + (0 if request.realtime else end)
        back += request.answer_bytes
    # With one line at a time the answer follows the line; else both directions run at once.
    needed = there + back if settings.window == 1 else max(there, back)
    return LineLoad(
        needed, settings.baudRate, max(10, settings.byteSize), ms_to_ns(settings.period_ms)
    )


def _line(settings: TextBodySettings) -> Iterator[Problem]:
    end = len(settings.line_end)
    yield from load_problems(
        line_load(settings), "period_ms", "raise baudRate or period_ms, or leave sensors out"
    )
    longest = max((len(line.send) + end for _, line in _lines(settings)), default=0)
    if 0 < settings.window_bytes < longest:
        yield "window_bytes", f"a line has {longest} bytes", f"raise it to {longest} at least"
