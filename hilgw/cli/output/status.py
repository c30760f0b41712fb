"""The state of a control loop as one line of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hilgw.cli.output.summary import divergence_words
from hilgw.engine.reporting.statistics import motion, motions

if TYPE_CHECKING:
    from hilgw.devices.kinds import Quantity, Value
    from hilgw.engine.observer import ControlLoopStatus

DEVICES_SHOWN = 8
UNKNOWN = "-"
_APPLIED = "applied: "


def is_idle(status: ControlLoopStatus) -> bool:
    """Whether there is nothing to show of it."""
    moved = status.sensors or status.motors or status.values_per_s or status.commands_per_s
    is_up = status.body_down_s is None
    return not moved and is_up and status.armed and not status.mode


def full_status(status: ControlLoopStatus) -> str:
    """Sensors, motors, rates and latency of a control loop."""
    sensors, motors = _devices(_sensors(status)), _motors(status)
    rates = f"{status.values_per_s:.0f} values/s, {status.commands_per_s:.0f} commands/s"
    parts = [*_head(status), sensors or "no sensor values", motors or "no commands", rates]
    if status.latency.count:
        p50, p99 = (status.latency.percentile_ns(share) or 0 for share in (50, 99))
        parts.append(f"sensor to motor p50 {p50 / 1e6:.2f} ms, p99 {p99 / 1e6:.2f} ms")
    if status.divergences:
        parts.append("shadow " + _devices(divergence_words(status.divergences)))
    return " | ".join(parts)


def short_status(status: ControlLoopStatus, width: int) -> str:
    """The same, in at most `width` columns: what is unusual, rates, and as many motors and sensors
    as there is room for."""
    head = " | ".join(_head(status))
    is_up = status.body_down_s is None
    rates = f"{status.values_per_s:.0f} in/s, {status.commands_per_s:.0f} out/s" * is_up
    room = max(width - sum(len(text) + 3 for text in (head, rates) if text), 0)
    if not is_up:
        moving = motions(status.past_motors)
        room -= len(_APPLIED)
        applied = _fitting(moving.split(", ") if moving else [], room)
        sensors, motors = "", _APPLIED + applied if applied else ""
    else:
        words = [f"{name} {motion(each)}" for name, each in status.motors.items()]
        words += [f"{name} {UNKNOWN}" for name in status.past_motors]
        motors = _fitting(words, room if not status.sensors else room // 2)
        sensors = _fitting(_sensors(status), room - len(motors) - 3)
    parts = [part for part in (head, sensors, motors, rates) if part]
    text = " | ".join(parts)
    return text if len(text) <= width else text[: max(width - 3, 0)] + "..."


def _fitting(items: list[str], room: int) -> str:
    """As many of them as there is room for, and the number of the others; nothing without one."""
    for shown in range(len(items), 0, -1):
        more = f"{len(items) - shown} more" if shown < len(items) else ""
        text = ", ".join([*items[:shown], *([more] if more else [])])
        if len(text) <= room:
            return text
    return ""


def _head(status: ControlLoopStatus) -> list[str]:
    """What is not as usual."""
    down = status.body_down_s
    words = (
        status.mode,
        "" if down is None else f"body DOWN {down:.0f} s",
        "" if status.armed else "DISARMED",
        "" if status.controller else "no controller",
    )
    return [word for word in words if word]


def _sensors(status: ControlLoopStatus) -> list[str]:
    """The values; a dash for one that is not of the body as it is now."""
    values = [
        f"{name} {_value(value, status.reports.get(name, ()))}"
        for name, value in status.sensors.items()
    ]
    return values + [f"{name} {UNKNOWN}" for name in status.past_sensors]


def _motors(status: ControlLoopStatus) -> str:
    """The last commands that were applied; of a body that is gone, those of before."""
    if status.body_down_s is not None:
        moving = motions(status.past_motors)
        return f"last {_APPLIED}{moving}" if moving else "at rest when it was lost"
    words = [f"{name} {_settings(settings)}" for name, settings in status.motors.items()]
    return _devices(words + [f"{name} {UNKNOWN}" for name in status.past_motors])


def _value(value: Value, reports: Sequence[Quantity]) -> str:
    """A number with its unit, or the numbers of a vector with their names: "x 1 y 0 z 0 m/s"."""
    if not isinstance(value, tuple):
        unit = reports[0].unit if reports else ""
        return f"{value:.4g} {unit}".rstrip()
    words: list[str] = []
    for place, (quantity, number) in enumerate(zip(reports, value, strict=False)):
        words.append(f"{quantity.name} {number:.4g}")
        following = reports[place + 1].unit if place + 1 < len(reports) else ""
        if quantity.unit and quantity.unit != following:
            words.append(quantity.unit)  # once for the numbers that share it
    return " ".join(words)


def _settings(settings: Mapping[str, float]) -> str:
    """The last command of a motor; several settings by name."""
    if len(settings) == 1:
        return f"{next(iter(settings.values())):.4g}"
    return " ".join(f"{name} {value:.4g}" for name, value in settings.items())


def _devices(items: list[str]) -> str:
    more = f", {len(items) - DEVICES_SHOWN} more" if len(items) > DEVICES_SHOWN else ""
    return ", ".join(items[:DEVICES_SHOWN]) + more
