"""The events of a running gateway in words, one line each."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from hilgw.cli.output.text import escape, in_words as reason_words, one_line

Event = dict[str, Any]


def in_words(event: Event) -> str:
    """The line of an event: the time of day, whom it is about, what happened."""
    words = _WORDS.get(str(event.get("event")))
    source, text = ("", str(event)) if words is None else words(event)
    return one_line(f"{_time_of(event)}  {source:<16} {text}")


def _time_of(event: Event) -> str:
    wall_s = float(event.get("wall_s", 0.0))
    milliseconds = int(wall_s * 1000) % 1000
    return f"{time.strftime('%H:%M:%S', time.localtime(wall_s))}.{milliseconds:03}"


def _value(event: Event) -> tuple[str, str]:
    given = event["value"]
    values = given if isinstance(given, list) else [given]
    units = [*event["units"], *[""] * len(values)]
    numbers = (
        f"{_number(value)} {unit}".rstrip() for value, unit in zip(values, units, strict=False)
    )
    return f"{event['robot']}.{event['device']}", ", ".join(numbers)


def _command(event: Event) -> tuple[str, str]:
    given = ", ".join(f"{name} {_number(value)}" for name, value in event["given"].items())
    body = f" at {event['body']}" if event["body"] else ""
    reason = f": {reason_words(event['reason'])}" if event["reason"] else ""
    return f"{event['robot']}.{event['device']}", f"{given} {event['outcome']}{body}{reason}"


def _packet(event: Event) -> tuple[str, str]:
    target = f"-> {', '.join(event['received_by'])}"
    if event["not_received"]:
        target = f"not received: {reason_words(event['not_received'])}"
    missed = "".join(f"; {name}: {reason_words(why)}" for name, why in event["missed"].items())
    return event["source"], f"channel {event['channel']}, {_data(event)} {target}{missed}"


def _delivered(event: Event) -> tuple[str, str]:
    return event["station"], f"delivered {_data(event)} of {event['source']}"


def _refused(event: Event) -> tuple[str, str]:
    return event["name"], f"refused ({reason_words(event['reason'])}) {event['text']}"


def _line_bytes(event: Event) -> tuple[str, str]:
    arrow = "->" if event["direction"] == "sent" else "<-"
    return event["part"], f"{arrow} {bytes.fromhex(event['data']).hex(' ')}"


def _port(event: Event) -> tuple[str, str]:
    parts = filter(None, (event["state"], event["reason"]))
    return event["name"], (" " if event["state"] == "released" else ": ").join(parts)


def _armed(event: Event) -> tuple[str, str]:
    return event["robot"], event["text"] or ("armed" if event["armed"] else "disarmed")


def _placed(event: Event) -> tuple[str, str]:
    if event["position"] is None:
        return event["name"], "its position is unknown"
    return event["name"], f"at {', '.join(f'{each:g}' for each in event['position'])} m"


def _left_out(event: Event) -> tuple[str, str]:
    counts = [f"{count} of {kind}" for kind, count in event["sampled"].items()]
    counts += [f"{event['slow']} as this reads too slowly"] if event["slow"] else []
    return "", f"... left out: {', '.join(counts)}"


_WORDS: dict[str, Callable[[Event], tuple[str, str]]] = {
    "value": _value,
    "command": _command,
    "packet": _packet,
    "delivered": _delivered,
    "refused": _refused,
    "bytes": _line_bytes,
    "port": _port,
    "armed": _armed,
    "stopped": lambda event: (event["robot"], f"motors stopped: {event['text']}"),
    "placed": _placed,
    "output": lambda event: (event["source"], event["line"]),
    "notice": lambda event: (event["source"], event["text"]),
    "left_out": _left_out,
}


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _data(event: Event) -> str:
    data = bytes.fromhex(event["data"])
    return f"{len(data)} bytes {escape(data)}"
