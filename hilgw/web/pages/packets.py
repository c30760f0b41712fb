"""Packets of the page Traffic: those that a filter takes, and one through all hops.

Events have no number of their packet: what became of it is found by source, bytes and time.
"""

import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from hilgw.events.kinds import is_lost
from hilgw.events.words import in_words as words
from hilgw.units import NS_PER_MS, NS_PER_S
from hilgw.view.gateway import NO_TOPOLOGY, PACKETS, Event, GatewayView
from hilgw.web.pages.overview import at_most, meaning

ANY_KIND = "all kinds"
HOPS_NS = 10 * NS_PER_S  # what comes later is of another packet
MOST_TRACES = 3 * PACKETS
SENT_BY_USER = "command"  # the source of `hilgw send STATION`


class Capture(NamedTuple):
    """Packets of one gateway at an instant. end: the number of the next trace."""

    control: str
    status: Mapping[str, Any]
    packets: list[Event]
    traces: list[Event]
    end: int

    def followed(self, view: GatewayView) -> "Capture":
        """Return the same packets, and what became of them since."""
        traces = [*self.traces, *view.traces.since(self.end)][:MOST_TRACES]
        return self._replace(traces=traces, end=view.traces.end)


def capture(view: GatewayView) -> Capture:
    packets, traces = view.packets.since(0), view.traces.since(0)
    return Capture(view.key, view.status, packets, traces, view.traces.end)


class Filter(NamedTuple):
    """Filter of the packets to show.

    name: of a robot, a device or a station, or a part of it. kind: the type of packets.
    """

    name: str = ""
    kind: str = ANY_KIND
    lost: bool = False

    def takes(self, packet: Event) -> bool:
        names = [packet["source"], *packet["received_by"], *packet["missed"]]
        of_kind = self.kind in (ANY_KIND, packet["type"])
        return of_kind and self.is_of(names) and (is_lost(packet) or not self.lost)

    def is_of(self, names: list[str]) -> bool:
        return any(self.name.strip().lower() in name.lower() for name in names)


class Hop(NamedTuple):
    """A hop of a packet.

    after_ns: since the packet passed the medium. usual: how long this hop takes here.
    """

    name: str
    part: str
    after_ns: int | None
    text: str
    usual: str = ""
    lost: bool = False


def hops(moment: Capture, packet: Event) -> list[Hop]:
    """Return a packet from its Emitter, or from the air, to all its ends."""
    source = packet["source"]
    text = f"on channel {packet['channel']}, {packet['type']}, {len(packet['data']) // 2} B"
    begun = "hilgw send" if source == SENT_BY_USER else "Emitter queue"
    rows = [Hop(begun, source, 0, f"left {text}", _usual(moment, "emitter", source))]
    if _air(moment, source) is not None:
        rssi = "" if packet["rssi_dbm"] is None else f", received with {packet['rssi_dbm']:g} dBm"
        came = [
            Hop("line", source, after, frame["text"])
            for after, frame in frames(moment, packet, "received")
            if frame["station"] == source and after <= NS_PER_MS
        ]
        rows = [*came[-1:], Hop("medium", source, 0, f"passed on {text}{rssi}")]
    missed = packet["missed"] or {"": packet["not_received"]}
    lost_at = [
        Hop("medium", to, 0, _why("not_received", why), lost=True)
        for to, why in missed.items()
        if why
    ]
    return [
        *rows,
        *lost_at,
        *(hop for to in packet["received_by"] for hop in _way(moment, packet, to)),
    ]


def _way(moment: Capture, packet: Event, name: str) -> list[Hop]:
    """Return the hops to one listener: a Receiver, or a station with line, module and air."""
    if (air := _air(moment, name)) is None:
        return [_end(moment, packet, name, "receiver", "the controller took it")]
    sent = [
        Hop("line", name, after, frame["text"], _usual(moment, "line", name))
        for after, frame in frames(moment, packet, "sent")
        if frame["station"] == name and after >= 0
    ]
    received = [
        Hop("air", other, after, frame["text"], _usual(moment, "air", other))
        for after, frame in frames(moment, packet, "received")
        if (other := frame["station"]) != name and _air(moment, other) == air and after > 0
    ]
    onward = [
        (each["mono_ns"] - packet["mono_ns"], each)
        for each in moment.packets
        if each["data"] == packet["data"]
        and name != each["source"]
        and 0 < each["mono_ns"] - packet["mono_ns"] <= HOPS_NS
        and _air(moment, each["source"]) == air
    ]
    ends = (
        hop._replace(after_ns=hop.after_ns and hop.after_ns + late)
        for late, each in onward
        for to in each["received_by"]
        for hop in _way(moment, each, to)
    )
    return [
        *sent[:1],
        _end(moment, packet, name, "module", "it is sent, and confirmed"),
        *received,
        *ends,
    ]


def _end(moment: Capture, packet: Event, name: str, hop: str, done: str) -> Hop:
    """Return what the listener reported first: that it delivered this packet, or refused one."""
    begin, usual = packet["mono_ns"], _usual(moment, hop, name)
    same = {"event": "delivered", "station": name} | {
        key: packet[key] for key in ("source", "data")
    }
    for trace in moment.traces:
        after = trace["mono_ns"] - begin
        if 0 <= after <= HOPS_NS and same.items() <= trace.items():
            return Hop(hop, name, after, done, usual)
        is_refusal = trace["event"] == "refused" and trace["name"] == name
        if 0 <= after <= HOPS_NS and is_refusal and not meaning("dropped", trace["reason"]):
            times = [each["mono_ns"] for each in moment.packets if name in each["received_by"]]
            later = any(begin < each <= begin + after for each in times)
            text = (
                _why("refused", trace["reason"], trace["text"])
                + "; this packet, or a later one that was on its way" * later
            )
            return Hop(hop, name, after, text, usual, lost=True)
    return Hop(hop, name, None, "nothing seen: it waits, or the report was left out", usual)


def frames(moment: Capture, packet: Event, *directions: str) -> list[tuple[int, Event]]:
    """Return the frames that have its bytes, of the time of its hops, each with its time."""
    data, begin = bytes.fromhex(packet["data"]), packet["mono_ns"]
    return [
        (trace["mono_ns"] - begin, trace)
        for trace in moment.traces
        if trace["event"] == "frame"
        and trace["direction"] in (directions or ("sent", "received"))
        and abs(trace["mono_ns"] - begin) <= HOPS_NS
        and data in bytes.fromhex(trace["data"])
    ]


def _air(moment: Capture, name: str) -> str | None:
    """Return the air of a station; one without has its own.

    None: it is not a station.
    """
    known = moment.status.get("topology", NO_TOPOLOGY)["stations"].get(name) or f"of {name}"
    return known if name in moment.status.get("ports", ()) else None


def _why(kind: str, reason: str, text: str = "") -> str:
    known = meaning(kind, reason) or text
    return f"{words(kind)}: {words(reason)}" + (f" - {known}" if known else "")


def _usual(moment: Capture, hop: str, part: str) -> str:
    measured = moment.status.get("latency", {}).get(hop, {}).get(part, {"count": 0})
    bounds = moment.status.get("latency_bounds_s", [])
    return f"p99 {at_most(bounds, measured, 0.99)}" if measured["count"] else ""


def send_command(moment: Capture, packet: Event, *, select: bool) -> str:
    """Return a line for a shell that sends the same bytes from the same place.

    `select`: there is more than one gateway.
    """
    ends = [*packet["received_by"], *packet["missed"]] if packet["source"] == SENT_BY_USER else []
    data = bytes.fromhex(packet["data"])
    text = data.decode("utf-8", "replace")
    plain = text.encode() == data and text.isprintable() and not text.startswith("-")
    more = [f"--channel={packet['channel']}", *([f"--control={moment.control}"] if select else [])]
    more += [text] if plain else ["--hex", data.hex()]
    return shlex.join(["hilgw", "send", (ends or [packet["source"]])[0], *more])
