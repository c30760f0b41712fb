"""The status of gateways in the text format of Prometheus.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

_LATENCY = "hilgw_latency_seconds"
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = Mapping[str, str]
Status = Mapping[str, Any]
Samples = Callable[[Status], Iterable[tuple[Labels, Any]]]


def _whole(key: str) -> Samples:
    return lambda status: [({}, status[key])]


def _ports(key: str) -> Samples:
    return lambda status: [({"port": name}, each[key]) for name, each in status["ports"].items()]


def _robots(value: Callable[[Status], Any]) -> Samples:
    return lambda status: [({"robot": n}, value(each)) for n, each in status["robots"].items()]


def _gateways(value: Callable[[Status], Any]) -> Samples:
    return lambda status: [
        ({"gateway": name}, value(each))
        for name, each in status.get("federation", {}).get("gateways", {}).items()
    ]


FAMILIES: tuple[tuple[str, str, str, Samples], ...] = (
    (
        *("hilgw_info", "gauge", "The gateway that runs."),
        lambda status: [({name: str(status[name]) for name in ("version", "config")}, 1)],
    ),
    ("hilgw_uptime_seconds", "gauge", "Since the start.", _whole("uptime_s")),
    (
        *("hilgw_resident_memory_bytes", "gauge", "Memory of the process."),
        _whole("memory_bytes"),
    ),
    (
        *("hilgw_clients", "gauge", "Open connections by where they connected."),
        lambda status: [({"listener": n}, count) for n, count in status["clients"].items()],
    ),
    (
        *("hilgw_port_up", "gauge", "Whether the port is up."),
        lambda s: [({"port": name}, each["state"] == "up") for name, each in s["ports"].items()],
    ),
    (
        *("hilgw_port_state_seconds", "gauge", "For how long the port has been in its state."),
        lambda status: [
            ({"port": name, "state": each["state"]}, each["since_s"])
            for name, each in status["ports"].items()
        ],
    ),
    *(
        (f"hilgw_port_{counted}_total", "counter", text, _ports(counted))
        for counted, text in (
            ("received_bytes", "Bytes that hilgw has read."),
            ("sent_bytes", "Bytes that hilgw has written."),
            ("received_packets", "Packets; of a body its values, of a controller its commands."),
            ("sent_packets", "Packets; to a body commands, to a controller values."),
        )
    ),
    (
        *("hilgw_port_last_byte_seconds", "gauge", "Since the last byte was read or written."),
        _ports("last_byte_s"),
    ),
    (
        *("hilgw_lost_packets_total", "counter", "Packets lost, by kind and reason."),
        lambda status: [
            ({"kind": kind, "reason": reason}, count)
            for kind, reasons in status["losses"].items()
            for reason, count in reasons.items()
        ],
    ),
    ("hilgw_robot_armed", "gauge", "Whether motors may move.", _robots(lambda r: r["armed"])),
    (
        *("hilgw_robot_latched", "gauge", "Whether a stop keeps the robot disarmed."),
        _robots(lambda robot: robot["latched"] is not None),
    ),
    (
        *("hilgw_body_up", "gauge", "Whether the body is there."),
        lambda status: [
            ({"robot": name, "body": body}, state == "up")
            for name, robot in status["robots"].items()
            for body, state in robot["bodies"].items()
        ],
    ),
    (
        *("hilgw_controller_running", "gauge", "Whether a controller runs."),
        _robots(lambda robot: robot["controller"]["runs"]),
    ),
    (
        *("hilgw_late_steps_total", "counter", "Steps that ended late."),
        _robots(lambda robot: robot["late_steps"]["count"]),
    ),
    (
        *("hilgw_gateway_up", "gauge", "Whether the other gateway of the federation is there."),
        _gateways(lambda each: each["state"] == "up"),
    ),
    *(
        (f"hilgw_link_{counted}_packets{total}", kind, text, _gateways(itemgetter(counted)))
        for counted, total, kind, text in (
            ("sent", "_total", "counter", "To the other gateway."),
            ("delivered", "_total", "counter", "To the other gateway, which has confirmed them."),
            ("lost", "_total", "counter", "To the other gateway, lost on the way."),
            ("unsettled", "", "gauge", "To the other gateway, not confirmed yet."),
            ("received", "_total", "counter", "From the other gateway."),
            ("missed", "_total", "counter", "From the other gateway, lost on the way."),
            ("late", "_total", "counter", "From the other gateway, twice or after their turn."),
        )
    ),
    (
        *("hilgw_link_round_trip_seconds", "gauge", "To the other gateway and back: the shortest."),
        _gateways(lambda e: None if (ms := e["round_trip_ms"]) is None else ms / 1e3),
    ),
    (
        *("hilgw_link_clock_offset_seconds", "gauge", "This clock minus that of the other one."),
        _gateways(itemgetter("clock_offset_s")),
    ),
)


def text_of(gateways: Sequence[tuple[Labels, Status]]) -> str:
    """Return the status of these gateways as text.

    Labels distinguish a gateway's samples from others.
    """
    return "".join(texts_of(gateways))


def texts_of(gateways: Sequence[tuple[Labels, Status]]) -> Iterator[str]:
    """Yield the same in parts, each of one sample of every robot at most."""
    for name, kind, text, samples in FAMILIES:
        yield f"# HELP {name} {text}\n# TYPE {name} {kind}\n"
        for labels, status in gateways:
            yield "".join(
                f"{name}{_labels({**labels, **own})} {float(value)!r}\n"
                for own, value in samples(status)
                if value is not None
            )
    text = "Latency of each hop of a packet, and of a control loop."
    yield f"# HELP {_LATENCY} {text}\n# TYPE {_LATENCY} histogram\n"
    for labels, status in gateways:
        for hop, parts in status["latency"].items():
            for part, histogram in parts.items():
                own = {**labels, "hop": hop, "part": part}
                yield "".join(_histogram(own, status["latency_bounds_s"], histogram))


def _histogram(labels: Labels, bounds: Sequence[float], histogram: Status) -> Iterator[str]:
    for bound, count in zip(
        [*bounds, "+Inf"], [*histogram["buckets"], histogram["count"]], strict=True
    ):
        yield f"{_LATENCY}_bucket{_labels({**labels, 'le': str(bound)})} {count}\n"
    yield f"{_LATENCY}_sum{_labels(labels)} {histogram['sum_s']!r}\n"
    yield f"{_LATENCY}_count{_labels(labels)} {histogram['count']}\n"


def _labels(labels: Labels) -> str:
    pairs = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""
