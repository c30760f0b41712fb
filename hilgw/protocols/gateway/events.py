"""The events that a control socket sends to its subscribers, one JSON object per line.

The key `event` is the name of one of the classes of `EVENTS`, and its other keys are the fields of
that class. Each event also has three times: `mono_ns` (monotonic, of the machine), `wall_s`
(seconds since 1970) and `time_ns` (the clock of the gateway, which is simulated at another speed
than real time). Numbers that JSON lacks are the texts "nan", "inf" and "-inf". The version of the
events is that of the answer to `watch`. A state that is repeated (`Cell`) has the key `since_ns`,
too: its times are those of its origin, and it is not a new event.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import field, fields
from functools import lru_cache
from itertools import islice
from typing import Annotated, Any

from hilgw.errors import printable
from hilgw.protocols.gateway.messages import Must, name_of, with_keys
from hilgw.records import record

MOST_OF_LINK = 64  # names of robots, and of listeners

LAST_NS = 1 << 63
"""The year 2262."""
Axis = Annotated[int, Must("0, 1 or 2", range(3).__contains__)]
TimeOfDay = Annotated[int, Must("ns, within 292 years of 1970", lambda ns: abs(ns) < LAST_NS)]
Seconds = Annotated[float, Must("seconds, up to 2262", lambda s: abs(s) < LAST_NS / 1e9)]

Number = float | Annotated[str, Must('"nan", "inf" or "-inf"', {"nan", "inf", "-inf"}.__contains__)]
Numbers = Number | list[Number]
Range = Annotated[list[float], Must("two numbers", lambda ends: len(ends) == 2)]
Position = Annotated[
    list[float],
    Must("three coordinates in m", lambda p: len(p) == 3 and max(map(abs, p)) < 1e12),
]
Rotation = Annotated[
    list[list[float]],
    Must(
        "the three rows of a rotation matrix",
        lambda rows: (
            [len(row) for row in rows] == [3] * 3
            and all(abs(each) < 1.001 for row in rows for each in row)
        ),
    ),
]
LINK_COUNTS = (
    *("sent", "delivered", "lost", "unsettled", "unconfirmed"),
    *("received", "missed", "late", "entered", "dropped"),
)
LinkCounts = Annotated[
    dict[str, int], Must(f"the counts {', '.join(LINK_COUNTS)}", {*LINK_COUNTS}.issubset)
]
Direction = Annotated[str, Must("received or sent", ("received", "sent").__contains__)]
Hex = Annotated[
    str, Must("pairs of hexadecimal digits", lambda text: bytes.fromhex(text) is not None)
]

Since = Annotated[int, Must("a time", lambda ns: abs(ns) < 1 << 63)]


@record
class Cell:
    """A state, of which the newest counts. since_ns: of one that is repeated, as for a new
    subscriber or at the start of a file, the `time_ns` at which it became so; it is not a new
    event. None: it is so from now on."""

    since_ns: Since | None = field(default=None, kw_only=True)


@record
class Value(Cell):
    """A value of a sensor that was passed on to the controller. robot ROBOT.body, ROBOT.remote: one
    that was compared with that of the other body, of a robot with a shadow. value: a number or a
    list of them; fields: the name of each; units: of each; "" without one."""

    robot: str
    device: str
    value: Numbers
    fields: list[str]
    units: list[str]


@record
class Command(Cell):
    """A motor command of the controller. body: "" for the only body of a robot. given: setting ->
    value, in Webots' units. outcome: sent, waits, replaced or dropped; or refused, for `reason`.
    applied: the settings that the body was sent last, also by a stop. units: setting -> unit;
    limits: setting -> smallest and largest value, where both are set."""

    robot: str
    body: str
    device: str
    given: dict[str, Number]
    outcome: str
    reason: str
    applied: dict[str, Number]
    units: dict[str, str]
    limits: dict[str, Range]


@record
class Packet:
    """A packet passed the medium. data: hexadecimal. received_by: the listeners; where there is
    none, `not_received` is the reason. missed: the other listeners on the channel -> why."""

    source: str
    channel: int
    type: str
    data: Hex
    received_by: list[str]
    not_received: str
    missed: dict[str, str]
    rssi_dbm: float | None


@record
class Delivered:
    """A station sent a packet, and its module or its line has confirmed that."""

    station: str
    source: str
    data: Hex


@record
class Refused:
    """A station or a robot refused a packet or a request, for this reason; text: for people."""

    name: str
    reason: str
    text: str


@record
class Bytes:
    """Bytes of a line, as one call read or wrote them. direction: received or sent, by hilgw. data:
    hexadecimal."""

    part: str
    direction: Direction
    data: Hex


@record
class Frame:
    """A frame of a station's line, as the station's adapter sent or understood it. direction: sent
    or received, by hilgw. data: hexadecimal; text: the same in words."""

    station: str
    direction: Direction
    data: Hex
    text: str


@record
class Port(Cell):
    """A supervised port entered a state."""

    name: str
    state: str
    reason: str


@record
class Armed(Cell):
    """The motors of a robot may move from now on, or not."""

    robot: str
    armed: bool
    text: str


@record
class Mode(Cell):
    """The controller of a robot with two bodies has this mode from now on."""

    robot: str
    mode: str


@record
class Stopped(Cell):
    """The motors of a robot were sent their stop."""

    robot: str
    reason: str
    text: str


@record
class Placed(Cell):
    """An object of the scene has another pose: x, y, z in metres, and the rows of its rotation
    matrix; null: it is unknown."""

    name: str
    position: Position | None
    rotation: Rotation | None


@record
class Link(Cell):
    """Another gateway of the federation, about once a second. name: of its port, gateway@NAME.
    p50_ms, p99_ms: of the latency from there to here, null: no packet came. clock_offset_s: of the
    clock here to the one there. counts: of packets to it (sent, delivered, lost, unsettled,
    unconfirmed) and from it (received, missed, late, entered, dropped). robots, listeners (with
    their types): the first ones of many."""

    name: str
    state: str
    reason: str
    p50_ms: float | None
    p99_ms: float | None
    round_trip_ms: float | None
    clock_offset_s: float | None
    counts: LinkCounts
    robots: list[str]
    listeners: dict[str, str]


@record
class Output:
    """A program that the gateway started printed a line."""

    source: str
    line: str


@record
class Notice:
    """A remark for the user."""

    source: str
    text: str


@record
class LeftOut:
    """So many events of each kind were left out since the last of these: more came than the socket
    sends (`sampled`), or this subscriber reads too slowly (`slow`)."""

    sampled: dict[str, int]
    slow: int


_Loss = Annotated[dict[str, Any], with_keys({"reason": str, "age_s": float})]
_RATES = {
    f"{way}_{what}_per_s": float for way in ("received", "sent") for what in ("bytes", "packets")
}
_PORT = {"state": str, "port": str, "since_s": float, "last_byte_s": float | None}
_Port = Annotated[dict[str, Any], with_keys({**_PORT, **_RATES, "last_loss": _Loss | None})]
_LateSteps = Annotated[dict[str, Any], with_keys({"count": int})]
_Controller = Annotated[dict[str, Any], with_keys({}, {"text": str})]
_Robot = Annotated[
    dict[str, Any],
    with_keys(
        {"armed": bool, "latched": str | None, "mode": str | None, "late_steps": _LateSteps},
        {"controller": _Controller},
    ),
]
_Latency = Annotated[dict[str, Any], with_keys({"count": int, "buckets": list[int]})]
_Bounds = Annotated[list[float], Must("a list of numbers", bool)]
_STATUS = with_keys(
    {
        "ports": dict[str, _Port],
        "robots": dict[str, _Robot],
        "latency_bounds_s": _Bounds,
        "latency": dict[str, dict[str, _Latency]],
    },
    {
        "losses": dict[str, dict[str, int]],
        "queues": dict[str, int],
        "mono_ns": int,
        "clocks_s": dict[str, float],
    },
)


@record
class Status(Cell):
    """What no event has, in a recording: ports, robots, losses, queues and latencies, once a
    second, as `hilgw status --json` has them."""

    status: Annotated[dict[str, Any], _STATUS]


State = Value | Command | Port | Armed | Mode | Stopped | Placed | Link | Status
CELLS: dict[type[Any], tuple[str, ...]] = {
    Value: ("robot", "device"),
    Command: ("robot", "body", "device"),
    Placed: ("name",),
    Link: ("name",),
    Port: ("name",),
    Armed: ("robot",),
    Mode: ("robot",),
    Stopped: ("robot",),
    Status: (),
}
"""The kinds of states, and the fields that name one: the newest of each name counts."""


def cell_of(state: State) -> tuple[Any, ...]:
    """What the state is of: a newer one of the same takes its place."""
    return type(state), *(getattr(state, name) for name in CELLS[type(state)])


# --- what only a recording has --------------------------------------------------------------------


_POSE = {"position": Position, "rotation": Rotation}
_LISTENER = {**_POSE, "on": str, "type": str, "aperture": float}  # on: an object
_Pose = Annotated[dict[str, Any], with_keys(_POSE)]
_Listener = Annotated[dict[str, Any], with_keys(_LISTENER)]
_Emitter = Annotated[dict[str, Any], with_keys({**_LISTENER, "range": float})]
_Obstacle = Annotated[
    dict[str, Any], with_keys({**_POSE, "on": str, "shape": str, "half": Position})
]
_RUN = {
    "hilgw": str,
    "python": str,
    "platform": str,
    "config": str,
    "configuration": Annotated[str, Must("a text of at most 1 MiB", lambda t: len(t) <= 1 << 20)],
    "arguments": list[str],
    "webots": str,
    "seed": int,
    "speed": float | str,
    "topology": Annotated[
        dict[str, Any],
        with_keys(
            {},
            {
                "robots": dict[str, list[str]],
                "stations": dict[str, str | None],
                "mocks": list[str],
            },
        ),
    ],
    "scene": Annotated[
        dict[str, Any],
        with_keys(
            {},
            {
                "mono_ns": int,
                "up": Axis,
                "cone": Axis,
                "objects": dict[str, _Pose | None],
                "emitters": dict[str, _Emitter],
                "listeners": dict[str, _Listener],
                "obstacles": dict[str, _Obstacle],
            },
        ),
    ],
}
FORMS = {
    "head": with_keys({"version": int, "epoch_ns": TimeOfDay}, _RUN),
    "clock": with_keys({"mono_ns": int, "wall_s": Seconds}),
}
"""The run that was recorded, as far as the hilgw that recorded it has it (`topology` and `scene` as
in an answer to `status`), and the other times of an instant, each second."""


@record
class RecordingLost:
    """So many events before this one could not be written."""

    events: int


@record
class RecordedPacket(Packet):
    """A packet. missed_count: listeners of `missed`, where these were too many to be recorded."""

    missed_count: int = 0


EVENTS: tuple[type[Any], ...] = (
    Value,
    Command,
    Packet,
    Delivered,
    Refused,
    Bytes,
    Frame,
    Port,
    Armed,
    Mode,
    Stopped,
    Placed,
    Link,
    Output,
    Notice,
    LeftOut,
    Status,
)
NAMES = {kind: name_of(kind) for kind in EVENTS}
_KIND_OF = {name: kind for kind, name in NAMES.items()}
KINDS = tuple(NAMES.values())
RECORDED: dict[str, type[Any]] = {
    **{name_of(kind): kind for kind in (*EVENTS, RecordingLost)},
    "packet": RecordedPacket,
}
"""The kinds in a recording, beside `FORMS`."""
FIELDS = {
    kind: tuple(each.name for each in fields(kind) if not each.kw_only)
    for kind in (*EVENTS, *RECORDED.values())
}
_DATA_AT = {kind: names.index("data") for kind, names in FIELDS.items() if "data" in names}
_ENCODE = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def encode_event(event: Any, mono_ns: int, wall_s: float, time_ns: int) -> bytes:
    """The line of an event, which is one of `EVENTS`."""
    kind = type(event)
    message = {"event": NAMES[kind], "mono_ns": mono_ns, "wall_s": wall_s, "time_ns": time_ns}
    for name in FIELDS[kind]:
        message[name] = getattr(event, name)
    if kind in CELLS and event.since_ns is not None:
        message["since_ns"] = event.since_ns
    return _ENCODE(message).encode() + b"\n"


def encode_with_data(
    kind: type[Any], values: tuple[Any, ...], mono_ns: int, wall_s: float, time_ns: int
) -> bytes:
    """As `encode_event`, of an event with these values (`json_around_data`), whose `data` are
    bytes. The others are mostly as before, and then are not encoded anew."""
    before, after = json_around_data(kind, values)
    times = f'"mono_ns":{mono_ns},"wall_s":{wall_s},"time_ns":{time_ns}'
    data = values[_DATA_AT[kind]].hex()
    return f'{{"event":"{NAMES[kind]}",{times},{before}"data":"{data}"{after}}}\n'.encode()


def json_around_data(kind: type[Any], values: tuple[Any, ...]) -> tuple[str, str]:
    """The fields before and after `data` in the JSON of an event with these values, each with its
    comma. A mapping is given by its items, so that all can be hashed."""
    at = _DATA_AT[kind]
    return _around_data(NAMES[kind], values[:at] + values[at + 1 :])


@lru_cache(1024)
def _around_data(kind_name: str, values: tuple[Any, ...]) -> tuple[str, str]:
    kind = _KIND_OF[kind_name]
    declared = [each for each in fields(kind) if each.name != "data"]
    found = [
        f'"{each.name}":{_ENCODE(dict(value) if each.type.startswith("dict") else value)}'
        for each, value in zip(declared, values, strict=True)
    ]
    at = _DATA_AT[kind]
    return "".join(f"{each}," for each in found[:at]), "".join(f",{each}" for each in found[at:])


def link(name: str, status: Mapping[str, Any]) -> Link:
    """status: of this gateway, as `hilgw status --json` has it."""
    counts = {key: status[key] for key in LINK_COUNTS[:-1]}
    latency, listeners = status["latency"], islice(status["listeners"].items(), MOST_OF_LINK)
    return Link(
        name,
        status["state"],
        status["reason"],
        latency["p50_ms"],
        latency["p99_ms"],
        status["round_trip_ms"],
        status["clock_offset_s"],
        {**counts, "dropped": sum(status["dropped"].values())},
        [printable(each) for each in islice(status["robots"], MOST_OF_LINK)],
        {printable(name): each["type"] for name, each in listeners},
    )


def number(value: float) -> float | str:
    """A number as JSON has it."""
    return value if math.isfinite(value) else str(value)


def numbers(value: float | tuple[float, ...]) -> Numbers:
    """A value of a sensor as JSON has it."""
    return [number(each) for each in value] if isinstance(value, tuple) else number(value)


def is_lost(event: Mapping[str, Any]) -> bool:
    """Whether this event, as JSON, reports that a packet or a request was lost."""
    return event["event"] == "refused" or bool(
        event.get("not_received") or event.get("outcome") == "refused"
    )


FRAME_BYTES = 48  # shown of a frame


def frame_line(direction: str, data: bytes, text: str, shown: int = FRAME_BYTES) -> str:
    """A frame for people: an arrow, -> to the hardware, then its bytes and what they mean. shown:
    how many bytes at most."""
    more = f" ... {len(data)} B" if len(data) > shown else ""
    line = f"{'->' if direction == 'sent' else '<-'} {data[:shown].hex(' ')}{more}"
    return f"{line}  | {text}" if text else line
