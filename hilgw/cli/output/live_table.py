"""The live table of `hilgw watch`: the last events of each device, and the lines of its screen."""

from __future__ import annotations

import copy
import math
from collections import deque
from typing import Any

from hilgw.cli.output.event_lines import Event, in_words, source_of
from hilgw.cli.output.text import Style, cut, hanging, listing, one_line, span
from hilgw.units import NS_PER_MS, NS_PER_S

OLD_NS = 2 * NS_PER_S  # a value of a sensor that is older is not shown as current
BAD = ("refused", "stopped", "command")  # events that are shown as losses are
KEPT = 500  # events below the devices
TOP_LINES = 3  # of ports and robots at most
DRIFT_NS = 100 * NS_PER_MS  # of real time: more is another speed
LISTENERS = 3  # of another gateway, by name
NARROW = 60  # columns; below, events take several lines
LEGEND = "space pause  / filter  d disarm all  q quit"
COLUMNS = {"VALUE": (12, 0), "APPLIED": (9, 58), "UNIT": (6, 46), "AGE": (7, 0), "RANGE": (12, 72)}
"""Column -> its width, and from which width of the screen on it is there."""


class LiveTable:
    """title: what is watched. style: with colours or without. bar: the line of a bar, and its mark.
    heading: of the events below. message: what a key has done, a fault where is_bad."""

    def __init__(self, title: str, style: Style, bar: tuple[str, str], heading: str) -> None:
        self.message, self.is_bad = "", False
        self._title, self._style, self._bar, self._heading = title, style, bar, heading
        self._rows: dict[str, Event] = {}  # the last of each device
        self._ranges: dict[str, tuple[float, float]] = {}  # that were seen
        self._ports: dict[str, tuple[str, str]] = {}
        self._listeners: dict[str, list[str]] = {}  # of other gateways
        self._robots: dict[str, dict[str, str]] = {}
        self._past_ns: dict[tuple[str, str], int] = {}  # what is older is not current
        self._below: deque[Event] = deque(maxlen=KEPT)
        self._filter, self._typing = "", False
        self._paused: tuple[LiveTable, int] | None = None
        self._seen = self._left_out = 0
        self._first, self._last = Event(), Event()

    def take(self, event: Event) -> None:
        """An event of the gateway."""
        self._seen += event.get("since_ns") is None
        self._first, self._last = self._first or event, event
        source = source_of(event) + (f" ({event['body']})" if event.get("body") else "")
        robot, _, part = source.partition(".")
        match event["event"]:
            case "value" | "command" | "placed" | "link":
                values = _shown(event)[0]
                if values:
                    self._rows[source] = event
                self._listeners[source] = [*event.get("listeners", ())]
                for value in values:
                    low, high = self._ranges.get(source, (value, value))
                    self._ranges[source] = min(low, value), max(high, value)
            case "left_out":
                self._left_out += sum(event["sampled"].values()) + event["slow"]
            case "port":
                self._ports[source] = event["state"], event["reason"]
                if event["state"] != "up" and part != "controller":
                    self._past_ns[robot, "DOWN"] = event["mono_ns"]
            case "stopped":
                self._past_ns[robot, "STOPPED"] = event["mono_ns"]
            case "armed" | "mode" as kind:
                words = event["mode"] if kind == "mode" else "" if event["armed"] else "DISARMED"
                self._robots.setdefault(robot, {})[kind] = words
        is_row = event["event"] in ("value", "placed", "link", "left_out") or "since_ns" in event
        if not is_row and event.get("outcome", "refused") == "refused" and self._passes(event):
            self._below.append(event)

    def key(self, key: str, now: int) -> str:
        """A key was pressed; returns "quit", "disarm" or "suspend" where that is asked for."""
        if self._typing:
            self._typing = key not in "\r\n\x1b"
            kept = self._filter[:-1] if key in "\x7f\b" else self._filter
            self._filter = "" if key == "\x1b" else kept + key * key.isprintable()
            return ""
        if key in "/f":
            self._typing, self._filter = True, ""
        elif key == " ":
            self._paused = None if self._paused else (copy.deepcopy(self), now)
        return {"q": "quit", "d": "disarm", "\x1a": "suspend"}.get(key, "")

    def _passes(self, event: Event) -> bool:
        return not self._filter or self._filter.lower() in in_words(event).lower()

    # --- the screen -------------------------------------------------------------------------------

    def screen(self, width: int, height: int, now: int) -> list[str]:
        """Its lines: `height`, none longer than `width`. now: of the monotonic clock."""
        shown, at = self._paused or (self, now)
        shown._filter, style = self._filter, self._style
        counts = f"{self._seen:,} events" + f", {self._left_out:,} left out" * bool(self._left_out)
        if self._paused is not None:
            counts = f"PAUSED, {self._seen - shown._seen:,} events since"
        if self._first and abs(_drift(self._last) - _drift(self._first)) > DRIFT_NS:
            counts = f"simulated {shown._last['time_ns'] / NS_PER_S:.1f} s, {counts}"
        room = width - len(counts) - 2
        head = f"{self._title[:room]:<{room}}  {counts}" if room > 10 else counts[:width]
        message = hanging(one_line(self.message), width, 2) if self.message else []
        top = [style.strong(head), *map(style.bad if self.is_bad else style.good, message)]
        top += [*shown._states(width), ""]
        room = height - len(top) - 1
        devices = shown._devices(width, max(room * 2 // 3, 4), at) if self._rows else []
        searched = f"  filter: {self._filter}" if self._filter or self._typing else ""
        heading = [style.dim((self._heading + searched)[:width])]
        newest = shown._newest(width, room - len(devices) - 1)
        lines = [*top, *devices, *heading, *newest, *[""] * height][: height - 1]
        legend = LEGEND if width > len(LEGEND) else LEGEND.replace("  ", " ")
        return [*lines, style.dim(legend[:width])]

    def _states(self, width: int) -> list[str]:
        """The ports, those that are down first, and the robots."""
        words = []
        for name, (state, why) in sorted(self._ports.items(), key=lambda each: each[1][0] == "up"):
            listeners = self._listeners.get(name, ()) if state == "up" else ()
            why = (
                f"listeners {listing(listeners, LISTENERS)}" if listeners else why * (state != "up")
            )
            text = one_line(f"{state}: {why}" if why else state)
            words.append(
                f"{name}\xa0{(self._style.good if state == 'up' else self._style.bad)(text)}"
            )
        for name, states in self._robots.items():
            armed = states.get("armed", "")
            shown = self._style.bad(armed) if armed else self._style.good("armed")
            words.append(f"{name}\xa0{shown} {states.get('mode', '')}".rstrip())
        lines = hanging("   ".join(words), width, 2)[:TOP_LINES]  # none ends behind a name
        return [line.replace("\xa0", " ") for line in lines]

    def _devices(self, width: int, room: int, now: int) -> list[str]:
        """The table, with as many devices as there is room for."""
        columns = {name: wide for name, (wide, least) in COLUMNS.items() if width >= least}
        rest = width - sum(columns.values()) - len(columns)
        left = max(min(max(map(len, self._rows)), rest), 1)
        if "RANGE" in columns:
            columns["RANGE"] += min(rest - left, 20)
        titles = _cells({name: name for name in columns}, columns)
        lines = [self._style.dim(f"{'DEVICE':<{left}} {titles}")]
        for name, event in sorted(self._rows.items()):
            shown = cut(one_line(name), left, max(left // 2 - 1, 0)).ljust(left)
            lines.append(self._row(name, shown, event, columns, now))
        if len(lines) > room - 1:
            lines[room - 2 :] = [self._style.dim(f"... {len(lines) - room + 2} more devices")]
        return [*lines, ""]

    def _row(self, source: str, name: str, event: Event, columns: dict[str, int], now: int) -> str:
        values, applied, unit, limits = _shown(event)
        age_ns, is_motor = now - event["mono_ns"], event["event"] == "command"
        past = [
            why
            for why in ("DOWN", "STOPPED")[: 1 + is_motor]
            if event["mono_ns"] <= self._past_ns.get((source.partition(".")[0], why), -1)
        ]
        is_refused = event.get("outcome") == "refused"
        if is_refused and "APPLIED" not in columns:
            values = [math.nan if applied is None else applied]
        cells = {"VALUE": " ".join(f"{each:.4g}" for each in values), "APPLIED": "", "UNIT": unit}
        cells["AGE"] = (
            past[0] if past else "REFUSED" if is_refused else span(max(age_ns, 0) / NS_PER_S)
        )
        if applied is not None and not past:
            cells["APPLIED"] = f"{applied:.4g}"
        if len(values) > 1 and "APPLIED" in columns:
            wide = columns["VALUE"] + 1 + columns["APPLIED"]
            others = {each: columns[each] for each in columns if each not in ("VALUE", "APPLIED")}
            columns = {"VALUE": wide, **others}
        elif len(values) == 1 and not past and not (is_refused and applied is None):
            low, high = limits or self._ranges[source]
            cells["RANGE"] = self._drawn(
                values[0] if applied is None else applied, low, high, columns.get("RANGE", 0)
            )
        text = _cells(cells, columns)
        if past or (age_ns > OLD_NS and not is_motor):
            return self._style.dim(f"{name} {text}".rstrip())
        if is_refused:
            return self._style.bad(f"{name} {text}".rstrip())
        return f"{self._style.strong(name)} {text}".rstrip()

    def _drawn(self, value: float, low: float, high: float, width: int) -> str:
        """A bar with the place of the value between two others."""
        if width < 1 or not low < high or not all(map(math.isfinite, (value, low, high))):
            return ""
        line, mark = self._bar
        place = round(min(max((value - low) / (high - low), 0.0), 1.0) * (width - 1))
        return line * place + mark + line * (width - 1 - place)

    def _newest(self, width: int, room: int) -> list[str]:
        """The newest events that pass the filter."""
        lines: list[str] = []
        for event in filter(self._passes, reversed(self._below)):
            wraps = width < NARROW or event["event"] == "frame"
            indent = 14 if width >= NARROW else 2
            pieces = hanging(in_words(event), width if wraps else 10 * width, indent)
            is_loss = event.get("not_received") or event["event"] in BAD
            style = self._style.bad if is_loss else str
            lines[:0] = [style(cut(each, width)) for each in pieces]
            if len(lines) >= room:
                break
        return lines[-room:] if room > 0 else []


def _drift(event: Event) -> int:
    return int(event["time_ns"] - event["mono_ns"])


def _shown(event: Event) -> tuple[list[float], float | None, str, list[float] | None]:
    """The numbers of a row, the one that was applied, the unit and the limits. Of a motor: of its
    velocity, or of its position where it goes to one."""
    if event["event"] == "link":  # one way, also where only a query went the way
        known_ms, trip_ms = event["p50_ms"], event["round_trip_ms"]
        if known_ms is None and trip_ms is not None:
            known_ms = trip_ms / 2
        known_ms = known_ms if event["state"] == "up" else None
        return ([] if known_ms is None else [known_ms]), None, "ms", None
    if event["event"] != "command":
        given = event["position"] if event["event"] == "placed" else event["value"]
        units = event.get("units", ["m"])
        numbers = given if isinstance(given, list) else [math.nan if given is None else given]
        return [float(each) for each in numbers], None, units[0] if units else "", None
    given = event["given"]
    moves = [each for each in ("position", "velocity", "force", "torque") if each in given]
    field = next((each for each in moves if given[each] != "inf"), next(iter(given)))
    applied, unit = event["applied"].get(field), event["units"].get(field, "")
    known = None if applied is None else float(applied)
    return [float(given[field])], known, unit, event["limits"].get(field)


def _cells(texts: dict[str, Any], columns: dict[str, int]) -> str:
    """The cells of a line, each as wide as its column."""
    cells = []
    for name, wide in columns.items():
        text = cut(one_line(texts.get(name, "")), wide)
        cells.append(f"{text:<{wide}}" if name in ("UNIT", "RANGE") else f"{text:>{wide}}")
    return " ".join(cells)
