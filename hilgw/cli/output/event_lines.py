"""The events of a running gateway in words, one line each."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from hilgw.cli.output.federation import link_words
from hilgw.cli.output.text import escape, in_words as reason_words, one_line
from hilgw.protocols.gateway.events import frame_line

Event = dict[str, Any]


def in_words(event: Event) -> str:
    """The line of an event: the time of day, whom it is about, what happened."""
    words = _WORDS.get(str(event.get("event")))
    source, text = ("", str(event)) if words is None else words(event)
    at = datetime.fromtimestamp(event.get("wall_s", 0.0)).astimezone()
    return one_line(f"{at:%H:%M:%S}.{at.microsecond // 1000:03}  {source:<16} {text}")


_CSV_KEYS = {
    "frame": ("station", "direction", "data"),
    "bytes": ("part", "direction", "data"),
    "packet": ("source", "not_received", "data"),
    "refused": ("name", "reason", "text"),
}
CSV_COLUMNS = ("wall_s", "mono_ns", "time_ns", "name", "field", "value", "unit")


def csv_rows(event: Event) -> list[list[Any]]:
    """The rows of a value or a command: one for each of its numbers; one of a frame, of bytes and
    of a loss; none of other events."""
    times = [event[name] for name in CSV_COLUMNS[:3]]
    if event["event"] == "value":
        given, fields, units = event["value"], event["fields"], event["units"]
        numbers = given if isinstance(given, list) else [given]
        known = [*zip(fields, units, strict=True), *((str(at), "") for at in range(len(numbers)))]
        name = f"{event['robot']}.{event['device']}"
        cells = [
            [name, field, value, unit] for value, (field, unit) in zip(numbers, known, strict=False)
        ]
    elif event["event"] == "command":
        name = ".".join(filter(None, (event["robot"], event["body"], event["device"])))
        units = event["units"]
        word = " refused" if event["outcome"] == "refused" else ""
        cells = [
            [name, f"{each}{shown}", value, units.get(each, "")]
            for shown, settings in ((word, event["given"]), (" applied", event["applied"]))
            for each, value in settings.items()
        ]
    else:
        keys = _CSV_KEYS.get(event["event"], ())
        cells = [[*(event[key] for key in keys), ""]] if keys else []
    return [times + each for each in cells]


def source_of(event: Event) -> str:
    """Whom an event is about: a robot, device, station or program."""
    return _WORDS[event["event"]](event)[0] if event["event"] in _WORDS else ""


def _value(event: Event) -> tuple[str, str]:
    given = event["value"]
    values = given if isinstance(given, list) else [given]
    units = [*event["units"], *[""] * len(values)]
    numbers = (
        f"{_number(value)} {unit}".rstrip() for value, unit in zip(values, units, strict=False)
    )
    return f"{event['robot']}.{event['device']}", ", ".join(numbers)


def _command(event: Event) -> tuple[str, str]:
    given, applied, units = event["given"], event["applied"], event["units"]
    words = ", ".join(
        f"{name} {_number(value)} {units.get(name, '')}".rstrip() for name, value in given.items()
    )
    body = f" at {event['body']}" if event["body"] else ""
    reason = f": {reason_words(event['reason'])}" if event["reason"] else ""
    others = {
        name: applied[name] for name in given if applied.get(name, given[name]) != given[name]
    }
    kept = "".join(f", applied {name} {_number(value)}" for name, value in others.items())
    text = f"{words} {event['outcome']}{body}{reason}{kept}"
    return f"{event['robot']}.{event['device']}", text


def _packet(event: Event) -> tuple[str, str]:
    target = f"-> {', '.join(event['received_by'])}"
    if event["not_received"]:
        target = f"not received: {reason_words(event['not_received'])}"
    missed = "".join(f"; {name}: {reason_words(why)}" for name, why in event["missed"].items())
    return event["source"], f"channel {event['channel']}, {_data(event)} {target}{missed}"


def _port(event: Event) -> tuple[str, str]:
    parts = filter(None, (event["state"], event["reason"]))
    return event["name"], (" " if event["state"] == "released" else ": ").join(parts)


def _left_out(event: Event) -> tuple[str, str]:
    counts = [f"{count} of {kind}" for kind, count in event["sampled"].items()]
    counts += [f"{event['slow']} as this reads too slowly"] if event["slow"] else []
    return "", f"... left out: {', '.join(counts)}"


_WORDS: dict[str, Callable[[Event], tuple[str, str]]] = {
    "value": _value,
    "command": _command,
    "packet": _packet,
    "delivered": lambda event: (
        event["station"],
        f"delivered {_data(event)} of {event['source']}",
    ),
    "refused": lambda event: (
        event["name"],
        f"refused ({reason_words(event['reason'])}) {event['text']}",
    ),
    "bytes": lambda event: (
        event["part"],
        f"{'->' if event['direction'] == 'sent' else '<-'} {bytes.fromhex(event['data']).hex(' ')}",
    ),
    "frame": lambda event: (
        event["station"],
        frame_line(event["direction"], bytes.fromhex(event["data"]), event["text"]),
    ),
    "port": _port,
    "armed": lambda event: (
        event["robot"],
        event["text"] or ("armed" if event["armed"] else "disarmed"),
    ),
    "mode": lambda event: (event["robot"], f"mode {event['mode']}"),
    "stopped": lambda event: (event["robot"], f"motors stopped: {event['text']}"),
    "placed": lambda event: (
        event["name"],
        "its position is unknown"
        if event["position"] is None
        else f"at {', '.join(f'{each:g}' for each in event['position'])} m",
    ),
    "link": lambda event: (event["name"], link_words(event)),
    "output": lambda event: (event["source"], event["line"]),
    "notice": lambda event: (event["source"], event["text"]),
    "left_out": _left_out,
    "status": lambda event: ("", f"status of {len(event['status'].get('ports', ()))} ports"),
    "recording_lost": lambda event: ("recording", f"{event['events']} events were not written"),
}


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _data(event: Event) -> str:
    data = bytes.fromhex(event["data"])
    return f"{len(data)} bytes {escape(data)}"
