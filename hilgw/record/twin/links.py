"""The real links of a recording, and the fields of Webots that come closest to them.

A link leads from a station to another one, which received the same payload within 2 s. If no other
station received a packet, its link is a round trip, to a device outside and back: an answer has the
same payload, or ends in the same number, as `pong 7` to `ping 7`.

Nothing is guessed. If equal payloads were under way at once it is not known which one came: they
count as received, and their delay is left out. A packet near the end of the recording is not lost.

Webots' Emitter gives a packet size * byteSize / baudRate seconds, up to the end of a step, one
packet after the other; it arrives if the distance is at most `range`; the signal strength is 1 /
distance^2, with gaussian noise in proportion. Additional latency and random losses have no field.
Cones and obstacles of infra-red are ignored.
"""

import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

from hilgw.devices.fields import EmitterFields
from hilgw.devices.radios import Emitter
from hilgw.devices.steps import StepClock
from hilgw.medium.pose import Pose, Vector
from hilgw.units import NS_PER_MS, NS_PER_S, ns_to_ms
from hilgw.worlds.yaml_text import comment

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


FASTEST = 2_147_483_647  # bit/s
LEAST_SLOPE = 4.0  # times its standard error
LEAST_LOST = 5  # packets lost beyond a range
LEAST_SIGNALS = 8
LAST_NS = 1 << 63
COLUMNS = 80
NO_PLACE = "the positions of both ends are not in the recording"
Named = dict[str, Any]


def twin_of(link: TwinLink, given: EmitterFields | None, step_ms: int, at_1m_dbm: float) -> Named:
    """Return the twin of a link as JSON.

    `given` has the Emitter's fields, if the source is an Emitter.

    Returns:
        The link; `measured` and `predicted`, numbers that are None if they are not known; `fit`,
        the fields that would fit; `unknown`, why others are not known; `wbt`, the nodes.
        `each_ms`, `each_dbm`: the prediction for each packet.
    """
    rows, fields = link.rows, given or EmitterFields(type=link.type)
    fit, unknown = Named(), Named()
    predicted: Named = {"loss": None, "delay_ms": None, "rssi_dbm": None}
    delays = signals = list[Any]([None] * len(rows))
    if given is None:
        unknown["predicted"] = "its source is not an Emitter of the configuration"
    else:
        delays = _delays_ms(rows, fields, step_ms)
        signals = [at_1m_dbm - 20 * math.log10(row.distance_m) if row.distance_m else None
                   for row in rows]  # fmt: skip
        predicted |= {"delay_ms": spread(delays), "rssi_dbm": spread(signals)}
        if fields.range >= 0 and None in [row.distance_m for row in rows]:
            unknown["loss"] = NO_PLACE
        else:
            reach = math.inf if fields.range < 0 else fields.range
            came = [delay is not None and (row.distance_m or 0.0) <= reach
                    for delay, row in zip(delays, rows, strict=True)]  # fmt: skip
            predicted["loss"] = came.count(False) / len(rows)
    _fit_rate(link, fields.byteSize, fit, unknown)
    _fit_range(link, fit, unknown)
    _fit_signal(link, fit, unknown)
    return {
        "source": link.source,
        "out": link.out,
        "into": link.into,
        "round_trip": link.out == link.into,
        "measured": _measured(link),
        "predicted": predicted,
        "fit": fit,
        "unknown": unknown,
        "each_ms": delays,
        "each_dbm": signals,
        "wbt": _nodes(link, fields, fit, unknown),
    }


def _measured(link: TwinLink) -> Named:
    rows, lost = link.rows, [row.lost for row in link.rows]
    return {
        "packets": len(rows),
        "lost": lost.count(True),
        "under_way": lost.count(None),
        "left_out": link.left_out,
        "refused": dict(link.refused),
        "loss": lost.count(True) / (len(rows) - lost.count(None)),
        "delay_ms": spread(row.delay_ms for row in rows),
        "rssi_dbm": spread(row.rssi_dbm for row in rows),
        "bytes": spread(row.size for row in rows),
        "distance_m": spread(row.distance_m for row in rows),
    }


def _delays_ms(rows: list[LinkRow], fields: EmitterFields, step_ms: int) -> list[Any]:
    steps = StepClock(0, step_ms * NS_PER_MS)
    emitter, accepted, left = Emitter(fields, steps=steps), list[int](), list[Any]()
    for place, row in enumerate(rows):
        left += iter(partial(emitter.depart, row.time_ns), None)
        if emitter.send(bytes(row.size), row.time_ns) is None:
            accepted.append(place)
    left += iter(partial(emitter.depart, LAST_NS), None)
    times = [ns_to_ms(each.departed_ns - steps.last(each.offered_ns)) for each in left]
    known = dict(zip(accepted, times, strict=False))
    return [known.get(place) for place in range(len(rows))]


def spread(values: Iterable[float | None]) -> dict[str, float] | None:
    """Return the spread of values; None if no value is known."""
    known = sorted(each for each in values if each is not None)
    marks = {"min": 0.0, "p50": 0.5, "p99": 0.99, "max": 1.0}
    shares = {name: round(known[round(mark * (len(known) - 1))], 6) for name, mark in marks.items()
          if known}  # fmt: skip
    return {"n": len(known), **shares} if known else None


# --- the fields that would fit --------------------------------------------------------------------


def _fit_rate(link: TwinLink, byte_size: int, fit: Named, unknown: Named) -> None:
    """Fit baudRate and latency_ms to the delays.

    baudRate is the slope, by least squares, of the median delay of each size, of packets that
    waited for no other; latency_ms is the rest.
    """
    free_ns, by_size = 0.0, defaultdict(list)
    for row in link.rows:
        if row.delay_ms is not None and row.size:
            if row.time_ns >= free_ns:
                by_size[row.size].append(row.delay_ms)
            free_ns = max(free_ns, row.time_ns + row.delay_ms * NS_PER_MS)
    pairs = [(size, delay) for size, delays in by_size.items() for delay in delays]
    if link.out == link.into:
        unknown["baudRate"] = "how long each way of a round trip took is not known"
    elif not pairs:
        unknown["baudRate"] = "equal payloads were under way at once, so no delay is known"
    else:
        sizes, delays = map(list, zip(*pairs, strict=True))
        slope = alone = statistics.fmean(delays) / statistics.fmean(sizes)
        unknown["latency_ms"] = "not known apart from the baudRate by packets of these sizes"
        if len(by_size) > 1 and len(set(delays)) > 1 and _is_slope(sizes, delays):
            medians = [statistics.median(by_size[size]) for size in sizes]
            steep, rest = statistics.linear_regression(sizes, medians)
            if rest >= 0 < steep:
                slope, fit["latency_ms"] = steep, round(rest, 3)
                del unknown["latency_ms"]
        for name, ms_per_byte in {"baudRate": slope, "baudRate_alone": alone}.items():
            rate = byte_size * 1000 / ms_per_byte if ms_per_byte > 0 else math.inf
            fit[name] = round(rate) if 1 <= rate <= FASTEST else -1


def _is_slope(sizes: list[int], delays: list[float]) -> bool:
    alike = statistics.correlation(sizes, delays)
    return alike > LEAST_SLOPE * math.sqrt(max(0.0, 1 - alike * alike) / max(1, len(sizes) - 2))


def _fit_range(link: TwinLink, fit: Named, unknown: Named) -> None:
    """Fit `range`: beyond it most packets are lost, within it most arrive."""
    pairs = sorted((r.distance_m, r.lost) for r in link.rows if r.distance_m is not None and
                   r.lost is not None)  # fmt: skip
    wrong = list(accumulate((1 if lost else -1 for _, lost in pairs), initial=0))
    cut = min(range(len(wrong)), key=wrong.__getitem__)
    beyond = sum(lost for _, lost in pairs[cut:])
    if not pairs:
        unknown["range"] = NO_PLACE
    elif cut and beyond >= LEAST_LOST and pairs[cut - 1][0] < pairs[cut][0]:
        fit["range"] = round((pairs[cut - 1][0] + pairs[cut][0]) / 2, 3)
    else:
        near, far = pairs[0][0], pairs[-1][0]
        unknown["range"] = f"from {near:.3g} to {far:.3g} m the loss does not pass 50 %"


def _fit_signal(link: TwinLink, fit: Named, unknown: Named) -> None:
    """Fit signalStrengthNoise: the scatter around 1 / distance^2, whose scale is rssi_at_1m_dbm."""
    received = [row for row in link.rows if row.rssi_dbm is not None]
    ratios = [10 ** (row.rssi_dbm / 10) * row.distance_m**2 for row in received if row.distance_m]  # type: ignore[operator]
    mean = statistics.fmean(ratios) if len(ratios) >= LEAST_SIGNALS else 0.0
    if mean > 0:
        fit["signalStrengthNoise"] = round(statistics.pstdev(ratios) / mean, 4)
        fit["rssi_at_1m_dbm"] = round(10 * math.log10(mean), 2)
    else:
        reason = NO_PLACE if received else "the station reports no RSSI"
        unknown["signalStrengthNoise"] = "too few packets" if ratios else reason


# --- ready to paste -------------------------------------------------------------------------------


def _nodes(link: TwinLink, fields: EmitterFields, fit: Named, unknown: Named) -> str:
    both = [f'  type "{link.type}"', f"  channel {link.channel}", f"  byteSize {fields.byteSize}"]
    notes = [f"{name}: {unknown[name]}" for name in ("baudRate", "latency_ms", "range")
             if name in unknown]  # fmt: skip
    if "latency_ms" in fit:
        notes.append(
            f"{fit['latency_ms']:.1f} ms of latency besides the baudRate, without a field;"
        )
        notes.append(f"baudRate {fit['baudRate_alone']} has the mean delay of these packets")
    reach = fit.get("range", math.inf)
    within = [row.lost for row in link.rows if row.lost is not None and
              (row.distance_m or 0.0) <= reach]  # fmt: skip
    if any(within):
        share = sum(within) / len(within)
        notes.append(f"{share:.1%} lost within the range: a simulated Emitter has no random loss")
    noise = "signalStrengthNoise"
    if noise in fit:
        signal = [f"  {noise} {fit[noise]:.10g}", "  # for hilgw: rssi_at_1m_dbm "
                  f"{fit['rssi_at_1m_dbm']}"]  # fmt: skip
    else:
        signal = [f"  # {noise}: {unknown[noise]}"]
    known = [f"  {name} {fit[name]:.10g}" for name in ("baudRate", "range") if name in fit]
    lines = [comment(link.name)[:COLUMNS], "Emitter {", *both, *known, *(f"  # {n}" for n in notes)]
    return "\n".join([*lines, "}", "Receiver {", *both, *signal, "}", ""])
