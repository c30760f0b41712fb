"""The state of a control loop as one line of text."""

from collections.abc import Callable, Mapping

from hilgw.cli.output.summary import UNKNOWN, divergence_words, times
from hilgw.devices.kinds import MOTOR, Device
from hilgw.engine.observer import ControlLoopStatus
from hilgw.engine.reporting.statistics import DIGITS, motion, motions, numbers_of, readings
from hilgw.events.words import amounts, joined

DEVICES_SHOWN = 8
_APPLIED = "applied: "


def is_idle(status: ControlLoopStatus) -> bool:
    """Return whether there is nothing to show of it."""
    moved = status.sensors or status.motors or status.values_per_s or status.commands_per_s
    is_up = status.body_down_s is None
    return not moved and is_up and status.armed and not status.mode


def full_status(status: ControlLoopStatus) -> str:
    """Return motors, sensors, rates and latency of a control loop."""
    motors, noun = _motors(status, lambda *motor: amounts(numbers_of(*motor), DIGITS))
    is_up = status.body_down_s is None
    before, idle = (
        ("", "no commands") if is_up else (f"last {_APPLIED}", "at rest when it was lost")
    )
    sensors = _few(_sensors(status), "sensor") or "no sensor values"
    parts = [
        *_head(status),
        before + _few(motors, noun) if motors else idle,
        sensors,
        _rates(status),
        times("sensor to motor", status.latency.as_dict(), digits=2),
    ]
    if status.divergences:
        parts.append("shadow " + _few(divergence_words(status.divergences), "sensor"))
    return joined(parts, " | ")


def short_status(status: ControlLoopStatus, width: int) -> str:
    """Return the same, in at most `width` columns.

    It has what is unusual, then as many motors, sensors and rates as there is room for, in this
    order.
    """
    parts, is_up = _head(status), status.body_down_s is None
    sensors = _sensors(status) if is_up else []
    parts += _fitting(*_motors(status, motion), _room(parts, width), "" if is_up else _APPLIED)
    parts += _fitting(sensors, "sensor", _room(parts, width))
    if is_up and len(_rates(status)) <= _room(parts, width):
        parts.append(_rates(status))
    text = " | ".join(parts)
    return text if len(text) <= width else text[: max(width - 3, 0)] + "..."


def _room(parts: list[str], width: int) -> int:
    return width - sum(len(part) + 3 for part in parts)


def _rates(status: ControlLoopStatus) -> str:
    return f"{status.values_per_s:.0f} values/s, {status.commands_per_s:.0f} commands/s"


def _fitting(items: list[str], noun: str, room: int, before: str = "") -> list[str]:
    for shown in range(len(items), -1, -1) if items else ():
        text = before + _few(items, noun, shown)
        if len(text) <= room:
            return [text]
    return []


def _few(items: list[str], noun: str, shown: int = DEVICES_SHOWN) -> str:
    others = len(items) - shown
    more = f"{others} {'more ' if shown else ''}{noun}{'s' if others != 1 else ''}"
    return ", ".join([*items[:shown], *([more] if others > 0 else [])])


def _head(status: ControlLoopStatus) -> list[str]:
    down = status.body_down_s
    words = (
        status.mode,
        "" if down is None else f"body DOWN {down:.0f} s",
        "" if status.armed else "DISARMED",
        "" if status.controller else "no controller",
    )
    return [word for word in words if word]


def _sensors(status: ControlLoopStatus) -> list[str]:
    """Return the values; a dash for one that is not of the body as it is now."""
    values = [
        f"{name} {amounts(readings(value, status.devices.get(name)), DIGITS)}"
        for name, value in status.sensors.items()
    ]
    return values + [f"{name} {UNKNOWN}" for name in status.past_sensors]


def _motors(
    status: ControlLoopStatus, words: Callable[[Mapping[str, float], Device | None], str]
) -> tuple[list[str], str]:
    """Return the last command of each motor, and the word for them.

    Motors come before LEDs and others; of a body that is gone, there are the commands of those that
    moved.
    """
    devices = status.devices
    others = {name for name, device in devices.items() if device.role != MOTOR}
    noun = "actuator" if others & {*status.motors, *status.past_motors} else "motor"
    if status.body_down_s is not None:
        return motions(status.past_motors, devices), noun
    shown = {name: words(each, devices.get(name)) for name, each in status.motors.items()}
    shown |= dict.fromkeys(status.past_motors, UNKNOWN)
    return [f"{name} {shown[name]}" for name in sorted(shown, key=others.__contains__)], noun
