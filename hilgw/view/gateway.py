"""The state of a gateway: a fold of its events, live or of a recording. No clock.

A thread that reads or writes it holds the lock of its owner. Each part of it is bounded. Times are
in nanoseconds of `mono_ns` of the events.
"""

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple, TypeVar

from hilgw.events.kinds import LIVE, LOGGED, NAMED, TRACES, loss_of, name_of, row_of
from hilgw.events.numbers import APPLIED
from hilgw.units import NS_PER_MS, NS_PER_S
from hilgw.view.series import Points, collect, of_event, of_status

Event = dict[str, Any]
K = TypeVar("K")
MOST_NAMES = 4096


class Newest(dict[K, Event]):
    """The newest event of each name; of too many names, those that came first."""

    def put(self, name: K, event: Event) -> bool:
        """Keep the event; return False if there are too many names."""
        if name not in self and len(self) >= MOST_NAMES:
            return False
        self[name] = event
        return True


@dataclass(slots=True)
class Cells:
    """Newest events of a gateway, by kind and name.

    newest: the events of the kinds of NAMED; a refused command has `accepted_ns`, the time of the
    last one that was not refused. ranges: the smallest and largest value of each device with a
    single number, by kind and name. lost_ns: the last time at which each port was reported in
    another state than up.
    """

    newest: dict[str, Newest[str]] = field(
        default_factory=lambda: {kind: Newest() for kind in NAMED}, kw_only=True
    )
    ranges: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict, kw_only=True)
    lost_ns: dict[str, int] = field(default_factory=dict, kw_only=True)

    def fold(self, event: Event) -> bool:
        """Take an event; return True if it is later than the one stored under its name."""
        kind, name = event["event"], name_of(event)
        if kind not in NAMED:
            return True
        known = self.newest[kind].get(name)
        if event.get("outcome") == "refused":  # the command before it is still in force
            before = known or {"mono_ns": 0}
            event = {**event, "accepted_ns": before.get("accepted_ns", before["mono_ns"])}
        is_kept = self.newest[kind].put(name, event)
        if is_kept and kind == "port" and event["state"] != "up":
            self.lost_ns[name] = event["mono_ns"]
        values = [one.value for one in row_of(event) if one.role != APPLIED]
        if is_kept and len(values) == 1 and math.isfinite(value := values[0]):
            low, high = self.ranges.get((kind, name), (value, value))
            self.ranges[kind, name] = min(low, value), max(high, value)
        is_new = event.get("since_ns") is None
        return is_new or known is None or bool(known["mono_ns"] < event["mono_ns"])

    def port_of(self, event: Event) -> str:
        """Return the port of the body that an event of a device is about."""
        robot, _, body = event["robot"].partition(".")
        is_remote = self.newest["mode"].get(robot, {}).get("mode") == "remote"
        return f"{robot}.{event.get('body') or body or ('remote' if is_remote else 'body')}"

    def is_lost(self, event: Event) -> bool:
        """Return True if the body or port of the event was lost after it."""
        port = self.port_of(event) if "robot" in event else name_of(event)
        return bool(event["mono_ns"] <= self.lost_ns.get(port, -1))

    def stop_of(self, event: Event) -> Event | None:
        """Return the stop of its body after the last command to a motor that was not refused."""
        stop = self.newest["stopped"].get(self.port_of(event).removesuffix(".body"))
        accepted_ns = event.get("accepted_ns", event["mono_ns"])
        return stop if stop is not None and stop["mono_ns"] >= accepted_ns else None


SILENT_NS = 600 * NS_PER_MS  # a gateway that hangs is shown within 1 s
SERIES_NS = 3 * NS_PER_S  # a page that is closed leaves nothing
PACKETS, PACKET_BYTES = 2000, 4 * 1024 * 1024
LINES, LINE_BYTES = 1000, 1024 * 1024
NO_TOPOLOGY: dict[str, Any] = {"robots": {}, "stations": {}, "mocks": []}
NO_SCENE: dict[str, Any] = {"mono_ns": 0, "up": 2, "cone": 0} | {
    part: {} for part in ("objects", "emitters", "listeners", "obstacles")
}
"""The scene of an older gateway."""
UP, SILENT, GONE, REFUSED = "up", "silent", "gone", "refused"


class PerSecond:
    """Events in the last whole second, and since the start (`total`)."""

    __slots__ = ("_before", "_count", "_second", "total")

    def __init__(self) -> None:
        self._second = self._count = self._before = self.total = 0

    def add(self, now: int, count: int = 1) -> None:
        second = now // NS_PER_S
        if second != self._second:
            self._before = self._count if second == self._second + 1 else 0
            self._second, self._count = second, 0
        self._count += count
        self.total += count

    def value(self, now: int) -> int:
        passed = now // NS_PER_S - self._second
        return self._before if passed == 0 else self._count if passed == 1 else 0


def _per_kind() -> dict[str, PerSecond]:
    return {kind: PerSecond() for kind in LIVE}


class Ring:
    """The newest events, up to a number of events and of characters.

    end: the number of the next event.
    """

    def __init__(self, most: int, most_bytes: int) -> None:
        self.end = self._bytes = 0
        self._most, self._most_bytes = most, most_bytes
        self._events: deque[tuple[int, Event]] = deque()

    def add(self, event: Event) -> None:
        """Keep a copy with interned keys: each event arrived with keys of its own."""
        event = {intern(key): value for key, value in event.items()}
        size = 64 + sum(len(each) for each in event.values() if isinstance(each, str))
        size += sum(32 * len(event.get(key, ())) for key in ("received_by", "missed"))
        self._events.append((size, event))
        self._bytes += size
        self.end += 1
        while len(self._events) > self._most or self._bytes > self._most_bytes:
            self._bytes -= self._events.popleft()[0]

    def since(self, number: int) -> list[Event]:
        """Return the kept events from this number on; the next number is `end`."""
        skipped = max(number - (self.end - len(self._events)), 0)
        return [event for _, event in islice(self._events, skipped, None)]


class Loss(NamedTuple):
    """Packets that were lost for one reason.

    reason: its word. packets: since the start. last: the newest such event that the page received,
    if any.
    """

    kind: str
    reason: str
    packets: int
    last: Event | None


@dataclass(slots=True)
class GatewayView(Cells):
    """The state of one gateway.

    key: the key of its control socket. pid: 0: of a recording. why: the reason of a state that is
    not up. message_ns: when its last message came; status_ns: when the last `status` came. shown,
    left_out: events of each kind that came, and that the gateway left out; slow: events of any kind
    that it left out for a slow reader. traces: outcomes of packets, and frames. series: the series
    that pages plot, by name. wall_ns: offset of its times to those since 1970. restarts: how often
    a gateway of this configuration replaced one that was gone.
    """

    key: str
    config: str
    pid: int
    message_ns: int
    restarts: int = 0
    why: str = ""
    ended: str = UP
    status: Mapping[str, Any] = field(default_factory=dict)
    status_ns: int = 0
    lost: Newest[tuple[str, str]] = field(default_factory=Newest)
    packets: Ring = field(default_factory=lambda: Ring(PACKETS, PACKET_BYTES))
    traces: Ring = field(default_factory=lambda: Ring(PACKETS, PACKET_BYTES))
    log: Ring = field(default_factory=lambda: Ring(LINES, LINE_BYTES))
    shown: dict[str, PerSecond] = field(default_factory=_per_kind)
    left_out: dict[str, PerSecond] = field(default_factory=_per_kind)
    slow: PerSecond = field(default_factory=PerSecond)
    series: dict[str, Points] = field(default_factory=dict)
    wall_ns: int = 0

    @property
    def title(self) -> str:
        """The name on a page."""
        return Path(self.config).stem or Path(self.key).name

    def state(self, now: int) -> str:
        """Return UP, SILENT, GONE, or REFUSED: it cannot be read, as it is of another version.

        A recording is never silent: it has no process.
        """
        if self.ended != UP or not self.pid or now - self.message_ns <= SILENT_NS:
            return self.ended
        return SILENT

    def set_status(self, status: Mapping[str, Any], now: int) -> None:
        """Store the answer to `status`, of which an event has only what changes."""
        self.received(now)
        status = {**self.status, **status}
        made_ns = status.get("mono_ns", now)
        self.series = {n: p for n, p in self.series.items() if now - p.needed_ns <= SERIES_NS}
        collect(self.series, made_ns, of_status(status, self.status))
        self.status, self.status_ns = status, made_ns

    def received(self, now: int) -> None:
        """Note that a message arrived: the gateway is running."""
        self.message_ns, self.ended, self.why = now, UP, ""

    def begin_anew(self) -> None:
        """Forget all events, and the points of the series that pages plot."""
        for points in self.series.values():
            points.clear()
        kept = ("key", "config", "pid", "message_ns", "restarts", "wall_ns", "series")
        self.__init__(**{name: getattr(self, name) for name in kept})  # type: ignore[misc]

    def end(self, state: str, why: str) -> None:
        """Mark the gateway as ended."""
        self.ended, self.why = state, why

    def take(self, event: Event, now: int) -> None:
        """Take an event of a kind of `hilgw.events.kinds`."""
        self.received(now)
        kind, is_new = event["event"], event.get("since_ns") is None
        if is_new and kind in self.shown:
            self.shown[kind].add(now)
        if self.fold(event) and kind in LOGGED:
            self.log.add(event)
        self.wall_ns = round(event.get("wall_s", 0) * NS_PER_S) - event.get("mono_ns", 0)
        if is_new:
            collect(self.series, event.get("mono_ns", 0), of_event(event, self.newest["value"]))
        if kind == "status":
            self.set_status({**event["status"], "mono_ns": event["mono_ns"]}, now)
        if kind == "packet":
            self.packets.add(event)
        if kind in TRACES:
            self.traces.add(event)
        if (lost := loss_of(event)) is not None:
            self.lost.put(lost, event)
        if kind == "left_out":
            self.slow.add(now, event["slow"])
            for left, count in event["sampled"].items():
                if left in self.left_out:
                    self.left_out[left].add(now, count)

    def rate(self, kind: str, now: int) -> tuple[int, int]:
        """Return the events of this kind in the last second: shown on the page, and all."""
        shown = self.shown[kind].value(now)
        return shown, shown + self.left_out[kind].value(now)

    def losses(self) -> list[Loss]:
        """Return all losses by kind and reason, those with most packets first."""
        rows = [
            Loss(kind, why, count, self.lost.get((kind, why)))
            for kind, counts in self.status.get("losses", {}).items()
            for why, count in counts.items()
        ]
        return sorted(rows, key=lambda loss: -loss.packets)
