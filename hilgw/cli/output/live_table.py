"""The live table of `hilgw watch`: the last events of each device, and the lines of its screen."""

import copy
import math
from collections import deque
from datetime import datetime
from typing import Any

from hilgw.cli.output.text import Style, cut, hanging, one_line
from hilgw.events.kinds import (
    BAD,
    MOTORS,
    ROWS,
    csv_data,
    kind_of,
    name_of,
    numbers,
    row_of,
    severity,
    words,
)
from hilgw.events.numbers import APPLIED
from hilgw.events.words import joined, listing, of_motors, of_port, span
from hilgw.units import NS_PER_MS, NS_PER_S
from hilgw.view.gateway import Cells

Event = dict[str, Any]
CSV_COLUMNS = ("wall_s", "mono_ns", "time_ns", "name", "field", "value", "unit")


def in_words(event: Event) -> str:
    """Return the line of an event: the time of day, whom it is about, what happened."""
    time = datetime.fromtimestamp(event.get("wall_s", 0.0)).astimezone()
    text = f"{name_of(event):<16} {words(event)}"
    return one_line(f"{time:%H:%M:%S}.{time.microsecond // 1000:03}  {text}")


def csv_rows(event: Event) -> list[list[Any]]:
    """Return the rows of an event.

    There is a row for each number of a value or a command; one for a frame, for bytes and for a
    loss; none for other events.
    """
    times, name = [event[key] for key in CSV_COLUMNS[:3]], one_line(name_of(event))
    if columns := kind_of(event).columns:
        field, value = (one_line(csv_data(event, key)) for key in columns)
        return [[*times, name, field, value, ""]]
    return [
        [*times, name, one_line(one.name), one.value, one_line(one.unit)] for one in numbers(event)
    ]


OLD_NS = 2 * NS_PER_S  # a value of a sensor that is older is not shown as current
KEPT = 2000  # events below the devices
TOP_LINES = 3  # of ports and robots at most
DRIFT_NS = 100 * NS_PER_MS  # of real time: more is another speed
LISTENERS = 3  # of another gateway, by name
NARROW = 60  # columns; below, events take several lines
LEGEND = "space pause  / filter  d disarm all  q quit"
# Column -> its width, and from which width of the screen on it is there.
COLUMNS = {"VALUE": (12, 0), "APPLIED": (9, 58), "UNIT": (6, 46), "AGE": (7, 0), "RANGE": (12, 72)}


class LiveTable:
    """A table of the newest values, with the newest events below.

    title: what is watched. style: with colours or without. bar: the line of a bar, and its mark.
    heading: of the events below.
    """

    def __init__(self, title: str, style: Style, bar: tuple[str, str], heading: str) -> None:
        self._title, self._style, self._bar, self._heading = title, style, bar, heading
        self._outcome = 0, "", False  # of a key: its number, its words, whether it is a fault
        self._cells = Cells()
        self._rows: dict[str, Event] = {}  # the last of each device
        self._below: deque[Event] = deque(maxlen=KEPT)
        self._passing: deque[Event] = deque(maxlen=KEPT)  # those of them that pass the filter
        self._filter, self._typing = "", False
        self._paused: tuple[LiveTable, int] | None = None
        self._seen = self._left_out = 0
        self._first, self._last = Event(), Event()

    def take(self, event: Event) -> None:
        """Take an event of the gateway."""
        self._seen += event.get("since_ns") is None
        self._first, self._last = self._first or event, event
        kind, name = event["event"], name_of(event)
        self._cells.fold(event)
        if kind == "left_out":
            self._left_out += sum(event["sampled"].values()) + event["slow"]
        elif row_of(event):
            self._rows[name] = self._cells.newest[kind].get(name, event)
        is_below = kind not in ROWS or event.get("outcome") == "refused"
        if is_below and kind not in ("left_out", "status") and event.get("since_ns") is None:
            self._below.append(event)
            if self._passes(event):
                self._passing.append(event)

    def report(self, number: int, text: str, *, is_bad: bool) -> None:
        """Show the outcome of the key with this number, unless that of a later one is shown."""
        if number >= self._outcome[0]:
            self._outcome = number, text, is_bad

    def key(self, key: str, now: int) -> str:
        """Handle a key; return "quit", "disarm" or "suspend" where that is asked for."""
        if self._typing:
            self._typing = key not in "\r\n\x1b"
            kept = self._filter[:-1] if key in "\x7f\b" else self._filter
            self._search("" if key == "\x1b" else kept + key * key.isprintable())
            return ""
        if key in "/f":
            self._typing = True
            self._search("")
        elif key == " ":
            shared = {id(event): event for event in self._below}  # no event ever changes
            self._paused = None if self._paused else (copy.deepcopy(self, shared), now)
        return {"q": "quit", "d": "disarm", "\x1a": "suspend"}.get(key, "")

    def _search(self, text: str) -> None:
        is_narrower = self._filter and text.startswith(self._filter)
        kept, self._filter = self._passing if is_narrower else self._below, text
        self._passing = deque(filter(self._passes, kept), KEPT)

    def _passes(self, event: Event) -> bool:
        return not self._filter or self._filter.lower() in in_words(event).lower()

    # --- the screen -------------------------------------------------------------------------------

    def screen(self, width: int, height: int, now: int) -> list[str]:
        """Return its lines: `height`, none longer than `width`.

        `now` is the time of the monotonic clock.
        """
        shown, shown_ns = self._paused or (self, now)
        style = self._style
        if shown._filter != self._filter:
            shown._search(self._filter)
        counts = f"{self._seen:,} events" + f", {self._left_out:,} left out" * bool(self._left_out)
        if self._paused is not None:
            counts = f"PAUSED, {self._seen - shown._seen:,} events since"
        if self._first and abs(_drift(self._last) - _drift(self._first)) > DRIFT_NS:
            counts = f"simulated {shown._last['time_ns'] / NS_PER_S:.1f} s, {counts}"
        room = width - len(counts) - 2
        head = f"{self._title[:room]:<{room}}  {counts}" if room > 10 else counts[:width]
        _, text, is_bad = self._outcome
        message = hanging(one_line(text), width, 2) if text else []
        top = [style.strong(head), *map(style.bad if is_bad else style.good, message)]
        top += [*shown._states(width), ""]
        room = height - len(top) - 1
        devices = shown._devices(width, max(room * 2 // 3, 4), shown_ns) if self._rows else []
        searched = f"  filter: {self._filter}" if self._filter or self._typing else ""
        heading = [style.dim((self._heading + searched)[:width])]
        newest = shown._newest(width, room - len(devices) - 1)
        lines = [*top, *devices, *heading, *newest, *[""] * height][: height - 1]
        legend = LEGEND if width > len(LEGEND) else LEGEND.replace("  ", " ")
        return [*lines, style.dim(legend[:width])]

    def _states(self, width: int) -> list[str]:
        words = []
        ports = self._cells.newest["port"]
        for name, event in sorted(ports.items(), key=lambda each: each[1]["state"] == "up"):
            if event["state"] == "up":
                listeners = [*self._cells.newest["link"].get(name, {}).get("listeners", ())]
                some = f"listeners {listing(listeners, LISTENERS)}" if listeners else ""
                event = {**event, "reason": some}
            words.append(f"{name}\xa0{self._style.of(severity(event), one_line(of_port(event)))}")
        armed, modes = self._cells.newest["armed"], self._cells.newest["mode"]
        robots = self._cells.newest["status"].get("", {"status": {"robots": {}}})["status"][
            "robots"
        ]
        for name in {**robots, **armed, **modes}:
            known = {**robots.get(name, {}), **armed.get(name, {}), **modes.get(name, {})}
            shown = self._style.of(MOTORS[word := of_motors(known)], word)
            absence = one_line(known.get("controller", {}).get("text", ""))
            more = joined([known.get("mode"), absence], ", ")
            words.append(f"{name}\xa0{shown} {more}".rstrip())
        lines = hanging("   ".join(words), width, 2)[:TOP_LINES]  # none ends behind a name
        return [line.replace("\xa0", " ") for line in lines]

    def _devices(self, width: int, room: int, now: int) -> list[str]:
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

    def _past(self, event: Event) -> str:
        """State that the event's end is lost ("DOWN"), or that its motor was stopped since."""
        if self._cells.is_lost(event):
            return "DOWN"
        stop = self._cells.stop_of(event) if event["event"] == "command" else None
        return "STOPPED" if stop is not None and stop["mono_ns"] >= event["mono_ns"] else ""

    def _row(self, source: str, name: str, event: Event, columns: dict[str, int], now: int) -> str:
        shown, past = row_of(event), self._past(event)
        values = [one.value for one in shown if one.role != APPLIED]
        applied = next((one.value for one in shown if one.role == APPLIED), None)
        age_ns, is_motor = now - event["mono_ns"], event["event"] == "command"
        is_refused = event.get("outcome") == "refused"
        if is_refused and "APPLIED" not in columns:
            values = [math.nan if applied is None else applied]
        cells = {"VALUE": " ".join(f"{each:.4g}" for each in values), "APPLIED": ""}
        cells["UNIT"] = ",".join(dict.fromkeys(one.unit for one in shown))
        cells["AGE"] = past or ("REFUSED" if is_refused else span(max(age_ns, 0) / NS_PER_S))
        if event["event"] == "placed" and event["position"] is None:
            cells |= {"VALUE": "unknown", "UNIT": ""}
        if applied is not None and not past:
            cells["APPLIED"] = f"{applied:.4g}"
        if len(values) > 1 and "APPLIED" in columns:
            wide = columns["VALUE"] + 1 + columns["APPLIED"]
            others = {each: columns[each] for each in columns if each not in ("VALUE", "APPLIED")}
            columns = {"VALUE": wide, **others}
        elif len(values) == 1 and not past and not (is_refused and applied is None):
            low, high = shown[0].limits or self._cells.ranges.get((event["event"], source), (0, 0))
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
        if width < 1 or not low < high or not all(map(math.isfinite, (value, low, high))):
            return ""
        line, mark = self._bar
        place = round(min(max((value - low) / (high - low), 0.0), 1.0) * (width - 1))
        return line * place + mark + line * (width - 1 - place)

    def _newest(self, width: int, room: int) -> list[str]:
        lines: list[str] = []
        for event in reversed(self._passing):
            is_bad = severity(event) == BAD  # its reason is shown, however long the line
            wraps = width < NARROW or event["event"] == "frame" or is_bad
            indent = 14 if width >= NARROW else 2
            pieces = hanging(in_words(event), width if wraps else 10 * width, indent)
            style = self._style.bad if is_bad else str
            lines[:0] = [style(cut(each, width)) for each in pieces]
            if len(lines) >= room:
                break
        return lines[-room:] if room > 0 else []


def _drift(event: Event) -> int:
    return int(event["time_ns"] - event["mono_ns"])


def _cells(texts: dict[str, str], columns: dict[str, int]) -> str:
    cells = []
    for name, wide in columns.items():
        text = cut(one_line(texts.get(name, "")), wide)
        cells.append(f"{text:<{wide}}" if name in ("UNIT", "RANGE") else f"{text:>{wide}}")
    return " ".join(cells)
