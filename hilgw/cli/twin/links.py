"""The real links of a recording: packets that a station sent, and where their payload came in.

A link leads from a station to another one, which received the same payload within a window. Where
no other station received what a station sent, its link is a round trip, to a device outside and
back: an answer has the same payload, or ends in the same number, as `pong 7` to `ping 7`.

Nothing is guessed. Where equal payloads were under way at once it is not known which one came: they
count as received, and their delay is left out. A packet near the end of the recording is not lost.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hilgw.config.model import GatewayConfig
from hilgw.config.scene import mount_of, pose_of
from hilgw.errors import ConfigError
from hilgw.medium.pose import IDENTITY, NO_ROTATION, Pose, check_position
from hilgw.units import ns_to_ms

MOST_PACKETS = 100_000  # sent in a recording; those after them are not looked at
MOST_EQUAL = 64  # equal payloads that can be under way at once
STRONGEST_DBM = 1000
_NUMBER = re.compile(rb"\d+$")
Event = Mapping[str, Any]


class Row(NamedTuple):
    """One packet. lost: None where the recording ends too early to know. The others are None where
    they are not known."""

    time_ns: int
    size: int
    delay_ms: float | None
    lost: bool | None
    distance_m: float | None
    rssi_dbm: float | None


class Link(NamedTuple):
    """source: whose packets these are, an Emitter or a station. out, into: the stations; the same
    one of a round trip. left_out: packets while one of the ports was not up. confirmed: by the
    module or the line that sent; refused: by the station `out`, of all sources."""

    source: str
    out: str
    into: str
    channel: int
    type: str
    rows: list[Row]
    left_out: int
    confirmed: int
    refused: Mapping[str, int]

    @property
    def name(self) -> str:
        way = f"{self.out} and back" if self.out == self.into else f"{self.out} -> {self.into}"
        return f"{self.source}: {way}"


class Links:
    """Finds the links of a recording, event by event. window_s: the longest delay."""

    def __init__(self, config: GatewayConfig, window_s: float) -> None:
        self._adapters, self._window_ns = config.adapters, int(window_s * 1e9)
        objects = [*config.robots.items()]
        objects += [(name, each.common) for name, each in config.adapters.items()]  # type: ignore[misc]
        self._poses = {name: pose_of(each.position, each.rotation) for name, each in objects}
        self._down: frozenset[str] = frozenset()
        self._sent: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._waiting: dict[Any, list[Event]] = defaultdict(list)
        self._at: dict[str, tuple[float, float, float] | None] = {}
        self._came: dict[tuple[str, str], dict[int, Any]] = defaultdict(dict)
        self._confirmed: Counter[tuple[str, str]] = Counter()
        self._refused: dict[str, Counter[str]] = defaultdict(Counter)
        self._end_ns = self._count = 0

    @property
    def is_full(self) -> bool:
        return self._count >= MOST_PACKETS

    def add(self, event: Event) -> None:
        self._end_ns = event["time_ns"]
        match event["event"]:
            case "packet":
                self._packet(event, bytes.fromhex(event["data"]))
            case "delivered":
                self._confirmed[event["station"], event["source"]] += 1
            case "refused":
                self._refused[event["name"]][event["reason"]] += 1
            case "port" if event["state"] == "up":
                self._down -= {event["name"]}
            case "port":
                self._down |= {event["name"]}
            case "placed":
                self._poses[event["name"]] = _pose(event["position"], event["rotation"])
                self._at = {}

    def _packet(self, event: Event, data: bytes) -> None:
        into, asked = event["source"], (found[0] if (found := _NUMBER.search(data)) else data)
        for out in self._adapters if into in self._adapters else ():
            waiting = self._waiting.get((out, asked, True) if out == into else (out, data, False))
            if waiting is not None:
                self._match(out, waiting, event)
        for out in event["received_by"]:
            if out in self._adapters and not self.is_full:
                if not self._at:
                    self._at = {each: self._position(each) for each in self._adapters}
                sent = {key: event[key] for key in ("time_ns", "source", "channel", "type")}
                sent |= {"number": self._count, "down": self._down, "at": self._at}
                sent["size"] = len(data)
                self._count += 1
                self._sent[out].append(sent)
                for key in ((out, data, False), (out, asked, True)):
                    self._waiting[key] = [*self._waiting[key][1 - MOST_EQUAL :], sent]

    def _match(self, out: str, waiting: list[Event], event: Event) -> None:
        """The newest packet that fits; it is certain where it is the only one."""
        taken, first_ns = self._came[out, event["source"]], event["time_ns"] - self._window_ns
        free = [p for p in waiting if p["time_ns"] >= first_ns and p["number"] not in taken]
        rssi = event["rssi_dbm"]
        for sent in free[-1:]:
            delay_ns = event["time_ns"] - sent["time_ns"] if len(free) == 1 else None
            is_known = rssi is not None and abs(rssi) <= STRONGEST_DBM
            taken[sent["number"]] = delay_ns, rssi if is_known else None

    def _position(self, station: str) -> tuple[float, float, float] | None:
        common = self._adapters[station].common
        pose, mount = self._poses.get(common.attached_to or station), IDENTITY
        if common.attached_to is not None:
            mount = mount_of(common.position, common.rotation)
        return None if pose is None else pose.compose(mount).position

    def found(self) -> Iterator[Link]:
        """The links on which a packet came in."""
        elsewhere = {out for (out, into), taken in self._came.items() if taken and out != into}
        for (out, into), taken in self._came.items():
            if out == into and out in elsewhere:
                continue
            for source in dict.fromkeys(each["source"] for each in self._sent[out]):
                ours = [each for each in self._sent[out] if each["source"] == source]
                packets = [each for each in ours if each["down"].isdisjoint((out, into))]
                if any(each["number"] in taken for each in packets):
                    last, rows = packets[-1], self._rows(packets, out, into)
                    left, confirmed = len(ours) - len(packets), self._confirmed[out, source]
                    yield Link(source, out, into, last["channel"], last["type"], rows, left,
                               confirmed, self._refused[out])  # fmt: skip

    def _rows(self, packets: list[dict[str, Any]], out: str, into: str) -> list[Row]:
        taken, rows = self._came[out, into], []
        known = [delay_ns for delay_ns, _ in taken.values() if delay_ns is not None]
        last_ns = self._end_ns - min(self._window_ns, 2 * max(known, default=self._window_ns))
        for each in packets:
            delay_ns, rssi = taken.get(each["number"], (None, None))
            lost = None if each["time_ns"] > last_ns else True
            one, other = each["at"][out], each["at"][into]
            apart = math.dist(one, other) if one and other and out != into else None
            delay_ms = None if delay_ns is None else ns_to_ms(delay_ns)
            is_lost = False if each["number"] in taken else lost
            rows.append(Row(each["time_ns"], each["size"], delay_ms, is_lost, apart, rssi))
        return rows


def _pose(position: Any, rotation: Any) -> Pose | None:
    """A recording is input of strangers: a wrong pose is an unknown one."""
    try:
        check_position(position)
        made = Pose(tuple(position), tuple(map(tuple, rotation or NO_ROTATION)))  # type: ignore[arg-type]
        made.quaternion()
    except (ConfigError, TypeError, ValueError):
        return None
    return made
