"""Loops on the terminal: one line a second each, and some at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hilgw.engine.observer import ControlLoopStatus

DEVICES_SHOWN = 8


def status_line(status: ControlLoopStatus) -> str:
    """Sensors, motors, rates, latency."""
    sensors = _some([f"{name} {value:.4g}" for name, value in status.sensors.items()])
    motors = _some([f"{name} {_told(told)}" for name, told in status.motors.items()])
    rates = f"{status.values_per_s:.0f} values/s, {status.commands_per_s:.0f} commands/s"
    parts = [sensors or "no sensor values", motors or "no commands", rates]
    if status.latency.count:
        p50, p99 = (status.latency.percentile_ns(share) or 0 for share in (50, 99))
        parts.append(f"sensor to motor p50 {p50 / 1e6:.2f} ms, p99 {p99 / 1e6:.2f} ms")
    return " | ".join(parts)


def summary_lines(loops: Mapping[str, Any]) -> list[str]:
    """The loops of a report in a few lines of text."""
    lines = []
    for name, loop in loops.items():
        text = f"{loop['values_in']} sensor values, {loop['commands_out']} motor commands"
        if loop["values_superseded"]:
            text += f", {loop['values_superseded']} values superseded"
        if loop["refused"]:
            text += f", refused {_counts(loop['refused'])}"
        latency = loop["sensor_to_motor"]
        if latency["count"]:
            text += (
                f"; sensor to motor in p50 {latency['p50_ms']:.2f} ms, "
                f"p99 {latency['p99_ms']:.2f} ms, max {latency['max_ms']:.2f} ms"
            )
        lines.append(f"  {name:<14} {text}")
        if loop["stops"]:
            latched = f"; LATCHED: {_words(loop['latched'])}" if loop["latched"] else ""
            lines.append(f"  {name:<14} motors stopped: {_counts(loop['stops'])}{latched}")
    return lines


def _told(settings: Mapping[str, float]) -> str:
    """What a motor was told last; of several settings, by name."""
    if len(settings) == 1:
        return f"{next(iter(settings.values())):.4g}"
    return " ".join(f"{name} {value:.4g}" for name, value in settings.items())


def _some(items: list[str]) -> str:
    more = f", {len(items) - DEVICES_SHOWN} more" if len(items) > DEVICES_SHOWN else ""
    return ", ".join(items[:DEVICES_SHOWN]) + more


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {_words(reason)}" for reason, count in counts.items())


def _words(reason: str) -> str:
    return reason.replace("_", " ")
