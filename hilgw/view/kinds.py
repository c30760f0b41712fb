"""The one table of the kinds of events: all that shows, writes or compares events reads it.

An event is a mapping with the keys of its class in `hilgw.protocols.gateway.events`, and its times.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from hilgw.errors import HilgwError, quoted, suggest
from hilgw.protocols.gateway.events import CELLS, NAMES, is_lost
from hilgw.records import dataclass
from hilgw.view import numbers as number, words as word
from hilgw.view.numbers import Event, Number

GOOD, WARN, BAD, PLAIN = "good", "warn", "bad", ""
MOST_NAMES = 4096  # that are compared with an unknown one
PORTS = {"up": GOOD, "opening": WARN, "handshake": WARN, "waiting": WARN}


STATE, SERIES, STREAM, TRACE = "state", "series", "stream", "trace"
"""Roles: the newest counts, and those who come later get it again; samples of numbers over time;
each one counts; what became of packets."""


@dataclass(frozen=True)
class Kind:
    """about: the keys whose values, joined by points, are its name. words: what happened, in one
    sentence. row: those of its numbers that are its row in a table of the newest. columns: the keys
    of field and value of its row of CSV, in place of numbers. is_logged: the page logs it."""

    about: tuple[str, ...]
    role: str
    words: Callable[[Event], str]
    numbers: Callable[[Event], list[Number]] | None = None
    row: Callable[[list[Number]], list[Number]] = lambda found: found
    severity: Callable[[Event], str] = lambda event: BAD if is_lost(event) else PLAIN
    columns: tuple[str, ...] = ()
    is_logged: bool = False


KINDS = {
    "value": Kind(
        ("robot", "device"),
        SERIES,
        lambda e: word.amounts(number.of_value(e)),
        numbers=number.of_value,
    ),
    "command": Kind(
        ("robot", "body", "device"),
        SERIES,
        word.of_command,
        numbers=number.of_command,
        row=number.motion,
    ),
    "packet": Kind(
        ("source",),
        STREAM,
        word.of_packet,
        numbers=number.of_packet,
        columns=("not_received", "data"),
    ),
    "delivered": Kind(
        ("station",), TRACE, lambda e: f"delivered {word.of_data(e)} of {e['source']}"
    ),
    "refused": Kind(
        ("name",),
        TRACE,
        lambda e: f"refused ({word.in_words(e['reason'])}) {e['text']}",
        columns=("reason", "text"),
        is_logged=True,
    ),
    "bytes": Kind(("part",), STREAM, word.of_line, columns=("direction", "data")),
    "frame": Kind(("station",), TRACE, word.of_line, columns=("direction", "data")),
    "port": Kind(
        ("name",),
        STATE,
        word.of_port,
        severity=lambda e: PORTS.get(e["state"], BAD),
        is_logged=True,
    ),
    "armed": Kind(
        ("robot",),
        STATE,
        lambda e: e["text"] or ("armed" if e["armed"] else "disarmed"),
        severity=lambda e: GOOD if e["armed"] else WARN,
        is_logged=True,
    ),
    "mode": Kind(("robot",), STATE, lambda e: f"mode {e['mode']}", is_logged=True),
    "stopped": Kind(
        ("robot",),
        STREAM,
        lambda e: f"motors stopped: {e['text']}",
        severity=lambda e: BAD,
        is_logged=True,
    ),
    "placed": Kind(("name",), STATE, word.of_pose, numbers=number.of_pose),
    "link": Kind(
        ("name",),
        SERIES,
        word.of_link,
        numbers=number.of_link,
        row=lambda found: found[:1],
    ),
    "status": Kind((), STATE, lambda e: f"status of {len(e['status'].get('ports', ()))} ports"),
    "output": Kind(("source",), STREAM, lambda e: str(e["line"]), is_logged=True),
    "notice": Kind(("source",), STREAM, lambda e: str(e["text"]), is_logged=True),
    "left_out": Kind((), STREAM, word.of_left_out),
    "recording_lost": Kind(
        (),
        STREAM,
        lambda e: f"... {e['events']} events were not written",
        severity=lambda e: BAD,
    ),
}
UNKNOWN = Kind((), STREAM, lambda e: f"an event of an unknown kind: {e['event']}")
"""Of a later version."""
NAMED = {NAMES[kind]: about for kind, about in CELLS.items() if about}
"""The kinds of which the newest of each name is kept, and the keys that are the name."""
ROWS = frozenset(name for name in NAMED if KINDS[name].numbers)
DRAWN, TRACES = (
    frozenset(name for name, kind in KINDS.items() if kind.role == role) for role in (SERIES, TRACE)
)
LOGGED = frozenset(name for name, kind in KINDS.items() if kind.is_logged)


def kind_of(event: Event) -> Kind:
    return KINDS.get(event["event"], UNKNOWN)


def numbers(event: Event) -> list[Number]:
    """Return the numbers of an event; none of a kind without numbers."""
    found = kind_of(event).numbers
    return found(event) if found else []


def row_of(event: Event) -> list[Number]:
    """Return the numbers that are its row in a table of the newest; none of a kind without rows."""
    return kind_of(event).row(numbers(event)) if event["event"] in ROWS else []


def words(event: Event) -> str:
    """Return what happened, in one sentence without the time and the name."""
    return kind_of(event).words(event)


def severity(event: Event) -> str:
    """Return GOOD, WARN, BAD or PLAIN."""
    return kind_of(event).severity(event)


def name_of(event: Event) -> str:
    """Return what it is about: a robot, device, station or other part; of a robot with two bodies
    ROBOT.BODY.DEVICE."""
    return ".".join(event[key] for key in kind_of(event).about if event[key])


def csv_data(event: Event, key: str) -> Any:
    """Return the value of a key as a CSV file has it: digits alone would be read as a number."""
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
    """Return the names by which it can be chosen: its own, and those of who is part of it."""
    device = f"{event['robot']}.{event['device']}" if "device" in event else ""
    names = [device, name_of(event), event.get("source", ""), *event.get("received_by", ())]
    return [name for name in names if name]


def is_chosen(name: str, names: Collection[str]) -> bool:
    """Whether it, or its robot, is among these names; none: any is."""
    return not names or name in names or name.partition(".")[0] in names


def is_about(event: Event, names: Collection[str]) -> bool:
    """Whether it is about one of these names; none: about anything."""
    return not names or any(is_chosen(name, names) for name in names_of(event))


def demand_known(names: Iterable[str], parts: Iterable[str], events: Iterable[Event]) -> None:
    """Raise HilgwError for a name that none of these parts has and no event is about, as a gateway
    does for one that it does not have. Events are read as far as needed to find all names."""
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
        what = f"nothing here has the name {quoted(missing[0])}"
        raise HilgwError(what, fix=suggest(missing[0], known))
