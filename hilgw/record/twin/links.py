"""The real links of a recording: packets that a station sent, and where their payload came in.

A link leads from a station to another one, which received the same payload within 2 s. If no other
station received a packet, its link is a round trip, to a device outside and back: an answer has the
same payload, or ends in the same number, as `pong 7` to `ping 7`.

Nothing is guessed. If equal payloads were under way at once it is not known which one came: they
count as received, and their delay is left out. A packet near the end of the recording is not lost.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hilgw.medium.pose import Pose, Vector
from hilgw.units import NS_PER_S, ns_to_ms

LONGEST_NS = 2 * NS_PER_S  # delay of a packet
MOST_PACKETS = 100_000  # sent in a recording; those after them are not looked at
MOST_EQUAL = 64  # equal payloads that can be under way at once
STRONGEST_DBM = 1000
_NUMBER = re.compile(rb"\d+$")


@dataclass(slots=True)
class StationPacket:
    """A packet that a station sent.

    down: the ports that were not up; at: the positions of the stations. came: delay in ms and RSSI
    by the station where it came in; None: not known.
    """

    event: Mapping[str, Any]
    size: int
    down: frozenset[str]
    at: Mapping[str, Vector | None]
    came: dict[str, tuple[float | None, float | None]] = field(default_factory=dict)


class LinkRow(NamedTuple):
    """A packet. lost: None if the recording ends too early to know.

    The others are None if they are not known.
    """

    time_ns: int
    size: int
    delay_ms: float | None
    lost: bool | None
    distance_m: float | None
    rssi_dbm: float | None


class TwinLink(NamedTuple):
    """A link.

    source: the sender of these packets, an Emitter or a station. out, into: the stations; the same
    one of a round trip. left_out: packets while one of the ports was not up. refused: by the
    station `out`, of all sources.
    """

    source: str
    out: str
    into: str
    channel: int
    type: str
    rows: list[LinkRow]
    left_out: int
    refused: Mapping[str, int]

    @property
    def name(self) -> str:
        way = f"{self.out} and back" if self.out == self.into else f"{self.out} -> {self.into}"
        return f"{self.source}: {way}"


class Links:
    """Finder of the links of a recording, event by event.

    mounts: by station the object on which it is, maybe itself, and its pose there. poses: of the
    objects, at the start.
    """

    def __init__(
        self, mounts: Mapping[str, tuple[str, Pose]], poses: Mapping[str, Pose | None]
    ) -> None:
        self._mounts = mounts
        self._at: dict[str, Vector | None] = {}
        for name, pose in poses.items():
            self._place(name, pose)
        self._down: frozenset[str] = frozenset()
        self._sent: dict[str, list[StationPacket]] = defaultdict(list)
        self._waiting: dict[tuple[str, str, bytes], list[StationPacket]] = defaultdict(list)
        self._refused: dict[str, Counter[str]] = defaultdict(Counter)
        self._end_ns = self._count = 0

    @property
    def is_full(self) -> bool:
        return self._count >= MOST_PACKETS

    def add(self, event: Mapping[str, Any]) -> None:
        self._end_ns = event["time_ns"]
        match event["event"]:
            case "packet":
                self._packet(event, bytes.fromhex(event["data"]))
            case "refused":
                self._refused[event["name"]][event["reason"]] += 1
            case "port":
                name = frozenset({event["name"]})
                self._down = self._down - name if event["state"] == "up" else self._down | name
            case "placed":
                self._place(event["name"], _pose(event["position"], event["rotation"]))

    def _place(self, name: str, pose: Pose | None) -> None:
        moved = [(each, mount) for each, (object, mount) in self._mounts.items() if object == name]
        self._at = self._at | {
            each: pose.compose(mount).position if pose else None for each, mount in moved
        }

    def _packet(self, event: Mapping[str, Any], data: bytes) -> None:
        into, number = event["source"], _NUMBER.search(data)
        asked = number[0] if number else data
        for out in self._mounts if into in self._mounts else ():
            key = (out, "asked", asked) if out == into else (out, "payload", data)
            self._match(self._waiting.get(key, []), event)
        for out in event["received_by"]:
            if out in self._mounts and not self.is_full:
                packet = StationPacket(event, len(data), self._down, self._at)
                self._count += 1
                self._sent[out].append(packet)
                for key in ((out, "payload", data), (out, "asked", asked)):
                    self._waiting[key] = [*self._waiting[key][1 - MOST_EQUAL :], packet]

    def _match(self, waiting: list[StationPacket], event: Mapping[str, Any]) -> None:
        """Match the newest packet that fits; it is certain if it is the only one."""
        into, now, rssi = event["source"], event["time_ns"], event["rssi_dbm"]
        free = [
            p for p in waiting if 0 <= now - p.event["time_ns"] <= LONGEST_NS and into not in p.came
        ]
        if free:
            delay_ms = ns_to_ms(now - free[-1].event["time_ns"]) if len(free) == 1 else None
            is_known = rssi is not None and abs(rssi) <= STRONGEST_DBM
            free[-1].came[into] = delay_ms, rssi if is_known else None

    def found(self) -> Iterator[TwinLink]:
        """Yield the links on which a packet came in."""
        for out, sent in self._sent.items():
            came = dict.fromkeys(into for packet in sent for into in packet.came)
            for into in [each for each in came if each != out] or came:
                for source in dict.fromkeys(packet.event["source"] for packet in sent):
                    ours = [packet for packet in sent if packet.event["source"] == source]
                    packets = [each for each in ours if each.down.isdisjoint((out, into))]
                    if any(into in packet.came for packet in packets):
                        last, rows = packets[-1].event, self._rows(packets, out, into)
                        left_out = len(ours) - len(packets)
                        yield TwinLink(source, out, into, last["channel"], last["type"], rows,
                                   left_out, self._refused[out])  # fmt: skip

    def _rows(self, packets: list[StationPacket], out: str, into: str) -> list[LinkRow]:
        none = (None, None)
        known = [delay for p in packets if (delay := p.came.get(into, none)[0]) is not None]
        wait_ns = min(LONGEST_NS, 2e6 * max(known, default=math.inf))
        rows = []
        for packet in packets:
            delay_ms, rssi = packet.came.get(into, none)
            now = packet.event["time_ns"]
            one, other = packet.at.get(out), packet.at.get(into)
            apart = math.dist(one, other) if one and other and out != into else None
            lost = False if into in packet.came else None if now > self._end_ns - wait_ns else True
            rows.append(LinkRow(now, packet.size, delay_ms, lost, apart, rssi))
        return rows


def _pose(position: Any, rotation: Any) -> Pose | None:
    return position and Pose(tuple(position), tuple(map(tuple, rotation)))  # type: ignore[arg-type]
