"""The kinds of events: one entry for each, with its fields, its role, its words and its numbers.

All code that reports, sends, records, shows or compares events reads this table. The control socket
sends an event as one JSON object per line: the key `event` is the name of its kind, and its other
keys are the fields of its class. Each event also has three times: `mono_ns` (monotonic, of the
machine), `wall_s` (seconds since 1970) and `time_ns` (the clock of the gateway, which is simulated
at another speed than real time). Numbers that JSON lacks are the texts "nan", "inf" and "-inf". The
version of the events is that of the answer to `watch`. A state that is repeated (`Cell`) has the
key `since_ns`, too: its times are those of its origin, and it is not a new event.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field, fields
from functools import cached_property
from typing import Annotated, Any, TypeVar, dataclass_transform

from hilgw.errors import HilgwError, quoted, suggest
from hilgw.events import numbers as number, words as word
from hilgw.events.fields import (
    STATUS,
    Direction,
    Hex,
    LinkCounts,
    Number as JsonNumber,
    Numbers,
    Position,
    Range,
    Rotation,
    Since,
)
from hilgw.events.numbers import Event, Number
from hilgw.forms import name_of as word_of
from hilgw.records import dataclass, record

T = TypeVar("T")
GOOD, WARN, BAD, PLAIN = "good", "warn", "bad", ""
MOST_NAMES = 4096  # that are compared with an unknown one
PORTS = {
    "up": GOOD,
    "opening": WARN,
    "handshake": WARN,
    "waiting": WARN,
    "released": WARN,
    "closed": PLAIN,
}
"""The severity of the states of ports; of others: BAD."""
MOTORS = {"armed": GOOD, "disarmed": WARN, "latched": BAD}  # of the words of `of_motors`

STATE, SERIES, STREAM, TRACE = "state", "series", "stream", "trace"
"""Roles: the newest counts, and those who come later get it again; samples of numbers over time;
each one counts; what became of packets."""


def is_lost(event: Mapping[str, Any]) -> bool:
    """Return True if this event, as JSON, reports that a packet or a request was lost."""
    return "refused" in (event["event"], event.get("outcome")) or bool(event.get("not_received"))


@dataclass(frozen=True)
class Kind:
    """The entry of a kind.

    form: the class of its fields. about: the keys whose values, joined by points, are its name.
    words: the event in one sentence. row: those of its numbers that are its row in a table of the
    newest; None: all. columns: the keys of field and value of its row of CSV, in place of numbers.
    is_logged: the page logs it.
    """

    name: str
    form: type[Any]
    about: tuple[str, ...]
    role: str
    words: Callable[[Event], str]
    numbers: Callable[[Event], list[Number]] | None = None
    row: Callable[[Event], list[Number]] | None = None
    severity: Callable[[Event], str] = lambda event: BAD if is_lost(event) else PLAIN
    columns: tuple[str, ...] = ()
    is_logged: bool = False

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The fields of each event of the kind, in their order."""
        return tuple(each.name for each in fields(self.form) if not each.kw_only)

    @cached_property
    def places(self) -> list[int]:
        """Indices of the values of its name among its fields."""
        return [self.fields.index(key) for key in self.about]


KINDS: dict[str, Kind] = {}
"""All kinds, by name."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def kind(
    *about: str, role: str, words: Callable[[Event], str], **more: Any
) -> Callable[[type[T]], type[T]]:
    """Declare a kind of events: a record that is the form of its fields, and its entry (`Kind`)."""

    def declare(made: type[T]) -> type[T]:
        form = record(made)
        KINDS[word_of(form)] = Kind(word_of(form), form, about, role, words, **more)
        return form

    return declare


@record
class Cell:
    """A state, of which the newest counts.

    since_ns: of one that is repeated, as for a new subscriber or at the start of a file, the
    `time_ns` at which it became so; it is not a new event. None: it is so from now on.
    """

    since_ns: Since | None = field(default=None, kw_only=True)


@kind(
    *("robot", "device"),
    role=SERIES,
    words=lambda e: word.amounts(number.of_value(e)),
    numbers=number.of_value,
)
class Value(Cell):
    """A value of a sensor that was passed on to the controller.

    robot ROBOT.body, ROBOT.remote: one that was compared with that of the other body, of a robot
    with a shadow. value: a number or a list of them; fields: the name of each; units: of each; ""
    without one.
    """

    robot: str
    device: str
    value: Numbers
    fields: list[str]
    units: list[str]


@kind(
    *("robot", "body", "device"),
    role=SERIES,
    words=word.of_command,
    numbers=number.of_command,
    row=number.motion,
)
class Command(Cell):
    """A motor command of the controller.

    body: "" for the only body of a robot. given: setting -> value, in Webots' units. outcome: sent,
    waits, replaced or dropped; or refused, for `reason`. applied: the settings that the body was
    sent last, also by a stop. units: setting -> unit; limits: setting -> smallest and largest
    value, if both are set.
    """

    robot: str
    body: str
    device: str
    given: dict[str, JsonNumber]
    outcome: str
    reason: str
    applied: dict[str, JsonNumber]
    units: dict[str, str]
    limits: dict[str, Range]


@kind(
    "source",
    role=STREAM,
    words=word.of_packet,
    numbers=number.of_packet,
    columns=("not_received", "data"),
)
class Packet:
    """A packet passed the medium.

    data: hexadecimal. received_by: the listeners; if there is none, `not_received` is the reason.
    missed: the other listeners on the channel -> why. missed_count: in a recording, their number if
    they were too many for it.
    """

    source: str
    channel: int
    type: str
    data: Hex
    received_by: list[str]
    not_received: str
    missed: dict[str, str]
    rssi_dbm: float | None
    missed_count: int = field(default=0, kw_only=True)


@kind(
    "station",
    role=TRACE,
    words=lambda e: f"delivered {word.of_data(bytes.fromhex(e['data']))} from {e['source']}",
)
class Delivered:
    """A station sent a packet, and its module or its line has confirmed that."""

    station: str
    source: str
    data: Hex


@kind(
    "name",
    role=TRACE,
    words=lambda e: f"refused ({word.in_words(e['reason'])}) {e['text']}",
    columns=("reason", "text"),
    is_logged=True,
)
class Refused:
    """A station or a robot refused a packet or a request, for this reason; text: for people."""

    name: str
    reason: str
    text: str


@kind("part", role=STREAM, words=word.of_line, columns=("direction", "data"))
class Bytes:
    """Bytes that hilgw received or sent on a line in one call; `data` is hexadecimal."""

    part: str
    direction: Direction
    data: Hex


@kind("station", role=TRACE, words=word.of_line, columns=("direction", "data"))
class Frame:
    """A frame of a station's line, as the station's adapter sent or understood it.

    direction: sent or received, by hilgw. data: hexadecimal; text: the same in words.
    """

    station: str
    direction: Direction
    data: Hex
    text: str


@kind(
    "name",
    role=STATE,
    words=word.of_port,
    severity=lambda e: PORTS.get(e["state"], BAD),
    is_logged=True,
)
class Port(Cell):
    """A supervised port entered a state."""

    name: str
    state: str
    reason: str


@kind(
    "robot",
    role=STATE,
    words=lambda e: e["text"] or word.of_motors(e),
    severity=lambda e: MOTORS[word.of_motors(e)],
    is_logged=True,
)
class Armed(Cell):
    """The motors of a robot may move from now on, or not."""

    robot: str
    armed: bool
    text: str


@kind("robot", role=STATE, words=lambda e: f"mode {e['mode']}", is_logged=True)
class Mode(Cell):
    """The controller of a robot with two bodies has this mode from now on."""

    robot: str
    mode: str


@kind(
    "robot",
    role=STREAM,
    words=lambda e: f"motors stopped: {e['text']}",
    severity=lambda e: BAD,
    is_logged=True,
)
class Stopped(Cell):
    """The motors of a robot were sent their stop."""

    robot: str
    reason: str
    text: str


@kind("name", role=STATE, words=word.of_pose, numbers=number.of_pose)
class Placed(Cell):
    """An object of the scene has another pose.

    position: x, y, z in metres; rotation: the rows of its rotation matrix; null: unknown.
    """

    name: str
    position: Position | None
    rotation: Rotation | None


@kind(
    "name",
    role=SERIES,
    words=word.of_link,
    numbers=number.of_link,
    row=lambda e: number.of_link(e)[:1],
    severity=lambda e: PORTS.get(e["state"], BAD),
)
class Link(Cell):
    """Another gateway of the federation, about once a second.

    name: of its port, gateway@NAME. p50_ms, p99_ms: of the latency from there to here, null: no
    packet came. clock_offset_s: of the clock here to the one there. counts: of packets to it (sent,
    delivered, lost, unsettled, unconfirmed) and from it (received, missed, late, entered, dropped).
    robots, listeners (with their types): the first ones of many.
    """

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


@kind("source", role=STREAM, words=lambda e: str(e["line"]), is_logged=True)
class Output:
    """A program that the gateway started printed a line."""

    source: str
    line: str


@kind("source", role=STREAM, words=lambda e: str(e["text"]), is_logged=True)
class Notice:
    """A remark for the user."""

    source: str
    text: str


@kind(role=STREAM, words=word.of_left_out)
class LeftOut:
    """Events were left out: more than the socket sends (`sampled`), or than were read (`slow`)."""

    sampled: dict[str, int]
    slow: int


@kind(role=STATE, words=lambda e: f"status of {len(e['status'].get('ports', ()))} ports")
class Status(Cell):
    """Changing part of the status, as in `hilgw status --json`, once a second.

    Also `ranges` of Emitters, in m.
    """

    status: Annotated[dict[str, Any], STATUS]


@record
class StatusJson(Cell):
    """The event `Status` in the gateway, as JSON: it is made in parts, and not encoded again."""

    status: str


@kind(
    role=STREAM,
    words=lambda e: f"... {e['events']} events were not written",
    severity=lambda e: BAD,
)
class RecordingLost:
    """Events before this one could not be written."""

    events: int


UNKNOWN = Kind("", object, (), STREAM, lambda e: f"an event of an unknown kind: {e['event']}")
LIVE = tuple(name for name in KINDS if name != word_of(RecordingLost))
"""The kinds that a gateway sends to its subscribers."""
NAMES = {each.form: name for name, each in KINDS.items()} | {StatusJson: word_of(Status)}
FIELDS = {form: KINDS[name].fields for form, name in NAMES.items()}
CELLS = {form: KINDS[name].about for form, name in NAMES.items() if issubclass(form, Cell)}
"""The kinds of states, and the fields that name one: the newest of each name counts."""
NAMED = {NAMES[form]: about for form, about in CELLS.items()}
"""The kinds of which the newest of each name is kept, and the keys that are the name."""
ROWS = frozenset(name for name in NAMED if KINDS[name].numbers)
DRAWN, TRACES = (
    frozenset(name for name, each in KINDS.items() if each.role == role) for role in (SERIES, TRACE)
)
LOGGED = frozenset(name for name, each in KINDS.items() if each.is_logged)


def plain(event: Any, **times: float) -> dict[str, Any]:
    """Return an event as the mapping of its JSON, with these times."""
    mapping = {"event": NAMES[type(event)], **times}
    mapping |= {key: getattr(event, key) for key in FIELDS[type(event)]}
    since_ns = getattr(event, "since_ns", None)
    return mapping if since_ns is None else {**mapping, "since_ns": since_ns}


def cell_of(state: Cell) -> tuple[Any, ...]:
    """Return the key of the state: a newer one with the same key replaces it."""
    return type(state), *(getattr(state, name) for name in CELLS[type(state)])


def kind_of(event: Event) -> Kind:
    return KINDS.get(event["event"], UNKNOWN)


def numbers(event: Event) -> list[Number]:
    """Return the numbers of an event; none of a kind without numbers."""
    of_kind = kind_of(event).numbers
    return of_kind(event) if of_kind else []


def row_of(event: Event) -> list[Number]:
    """Return the numbers of its row in a table of the newest; none of a kind without rows."""
    made = kind_of(event).row or numbers
    return made(event) if event["event"] in ROWS else []


def words(event: Event) -> str:
    """Return the event in one sentence without the time and the name."""
    return kind_of(event).words(event)


def severity(event: Event) -> str:
    """Return GOOD, WARN, BAD or PLAIN."""
    return kind_of(event).severity(event)


def name_of(event: Event) -> str:
    """Return the name of its subject: a robot, device, station or other part.

    Of a robot with two bodies this is ROBOT.BODY.DEVICE.
    """
    return ".".join(event[key] for key in kind_of(event).about if event[key])


def csv_data(event: Event, key: str) -> Any:
    """Return the value of a key for a CSV file: digits alone would be read as a number."""
    return f"hex:{event[key]}" if key == "data" else event[key]


def loss_of(event: Event) -> tuple[str, str] | None:
    """Return kind and reason of the lost packet or request that it reports, if it does."""
    if event["event"] == "refused":
        return "refused", event["reason"]
    if event.get("not_received"):
        return "not_received", event["not_received"]
    return None


# --- which events are about a name ----------------------------------------------------------------


def names_of(event: Event) -> list[str]:
    """Return the names that select it: its own, and those of its parts."""
    device = f"{event['robot']}.{event['device']}" if "device" in event else ""
    names = device, name_of(event), event.get("source", ""), *event.get("received_by", ())
    return list(filter(None, names))


def is_chosen(name: str, names: Collection[str]) -> bool:
    """Return True if the name, or its robot, is among these names; none: any is."""
    return not names or name in names or name.partition(".")[0] in names


def is_about(event: Event, names: Collection[str]) -> bool:
    """Return True if it is about one of these names; none: about anything."""
    return not names or any(is_chosen(name, names) for name in names_of(event))


def demand_known(names: Iterable[str], parts: Iterable[str], events: Iterable[Event]) -> None:
    """Raise HilgwError for a name that none of these parts has and no event is about.

    A gateway does the same for a name that it does not have. Events are read as far as needed to
    find all names.
    """
    known = dict.fromkeys(parts)
    missing = [name for name in names if name not in known]
    for event in events if missing else ():
        if len(known) < MOST_NAMES:
            known |= dict.fromkeys(names_of(event))
        missing = [name for name in missing if not is_about(event, [name])]
        if not missing:
            return
    if missing:
        known = dict.fromkeys(name.partition(".")[0] for name in known) | known
        raise HilgwError(
            f"nothing here has the name {quoted(missing[0])}", fix=suggest(missing[0], known)
        )
