"""Recordings in the forms of other tools: CSV for each device, JSON lines, MCAP.

A recording may come from strangers: names become names of files without any character that means
something to a file system, and memory is bounded if a device never ends.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, get_args, get_origin
from urllib.parse import quote

from hilgw.errors import HilgwError, UsageError
from hilgw.events.kinds import DRAWN, KINDS, csv_data, kind_of, name_of, numbers, words
from hilgw.forms import NONE, UNIONS, hints_of

if TYPE_CHECKING:
    from mcap.writer import Writer as McapWriter

    from hilgw.record.recording import Recording

MOST_FILES = 2_000
LONGEST_NAME = 200  # of a file, which has 255 bytes at most
HELD_BYTES = 256 * 1024  # of one file, before they are written
TIMES = ("time_s", "wall_s")
PACKET_KEYS = ("source", "channel", "type", "data", "received_by", "not_received", "rssi_dbm")
Event = dict[str, Any]


def to_json_lines(recording: Recording, out: IO[str]) -> None:
    """Write the head, then one event per line, as `hilgw watch --json` prints them."""
    for event in chain([recording.head], recording.events()):
        out.write(json.dumps(event) + "\n")


# --- CSV --------------------------------------------------------------------------------------


def to_csv(recording: Recording, folder: Path) -> list[Path]:
    """Write a CSV file for each device into this folder; return the files.

    Columns are `time_s` (of the gateway's clock, from the start), `wall_s` and the values;
    `packets.csv` is for the medium. A sensor has a column for each number, such as `x (m)`. A motor
    has one for each setting as commanded, refused and applied, and its outcome. Bytes are text:
    `hex:`, then their digits.
    """
    columns = _columns(recording.events())
    if len(columns) > MOST_FILES:
        problem = f"has {len(columns)} devices; CSV takes {MOST_FILES}"
        raise HilgwError(problem, where=str(recording.path), fix="choose some, or take JSON lines")
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: _Table(folder, name, table) for name, table in columns.items()}
    begin_ns = recording.head["time_ns"]
    for event in recording.events():
        # A file that is written meanwhile has got longer: what is new is left out.
        if (row := _row(event)) is not None and row[0] in files:
            name, values = row
            times = {"time_s": (event["time_ns"] - begin_ns) / 1e9, "wall_s": event["wall_s"]}
            files[name].add({**times, **values})
    for table in files.values():
        table.write()
    return [table.path for table in files.values()]


class _Table:
    def __init__(self, folder: Path, name: str, columns: Iterable[str]) -> None:
        self.path = folder / f"{file_name(name)}.csv"
        self._held = io.StringIO()
        self._rows = csv.DictWriter(self._held, [*TIMES, *columns], extrasaction="ignore")
        self._rows.writeheader()
        self._length = 0

    def add(self, row: dict[str, Any]) -> None:
        self._length += self._rows.writerow(row)
        if self._length > HELD_BYTES:
            self.write()

    def write(self) -> None:
        with self.path.open("a", newline="") as out:
            out.write(self._held.getvalue())
        self._held.seek(0)
        self._held.truncate()
        self._length = 0


def _columns(events: Iterator[Event]) -> dict[str, dict[str, None]]:
    columns: dict[str, dict[str, None]] = {}
    for event in events:
        if (row := _row(event)) is not None:
            name, values = row
            columns.setdefault(name, {}).update(dict.fromkeys(values))
    return columns


def _row(event: Event) -> tuple[str, dict[str, Any]] | None:
    if event.get("since_ns") is not None:
        return None  # a state that is repeated is not a new event
    if event["event"] in DRAWN:
        more = {"outcome": event["outcome"]} if "outcome" in event else {}
        return name_of(event), {one.title: one.value for one in numbers(event)} | more
    if event["event"] == "packet":
        values = {key: csv_data(event, key) for key in PACKET_KEYS}
        return "packets", values | {"received_by": " ".join(event["received_by"])}
    return None


def file_name(name: str) -> str:
    """Return the name of a file for any name, with other characters as %XX.

    A name that is too long for a file keeps its start, and a hash of all of it.
    """
    made = quote(name, safe=" ").replace("%20", " ").lstrip(".") or "%"
    if len(made) <= LONGEST_NAME:
        return made
    return f"{made[:LONGEST_NAME]}~{sha256(name.encode()).hexdigest()[:16]}"


# --- MCAP -------------------------------------------------------------------------------------

_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}
TIMES_OF = {"mono_ns": int, "time_ns": int, "wall_s": float}
_LOG = {
    "timestamp": {
        "type": "object",
        "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}},
    },
    "level": {"type": "integer"},
    "message": {"type": "string"},
    "name": {"type": "string"},
}
"""foxglove.Log, which its panels show."""
LOG, PREFIX, INFO = "foxglove.Log", "hilgw.", 2


def to_mcap(recording: Recording, out: IO[bytes]) -> None:
    """Write a channel for each kind of event of each device, line and other part.

    There are `/packets`, and `/log` for notices and output; messages and schemas are JSON. The head
    is metadata of the file.

    Raises:
      UsageError: the package `mcap` is missing.
    """
    try:
        from mcap.writer import Writer
    except ImportError as error:
        raise UsageError("MCAP needs a package", fix="pip install 'hilgw[mcap]'") from error

    writer = Writer(out)
    writer.start(profile="", library="hilgw")
    head = {
        key: each if type(each) is str else json.dumps(each) for key, each in recording.head.items()
    }
    writer.add_metadata("hilgw", head)
    channels = _Channels(writer)
    for event in recording.events():
        time_ns = int(event["wall_s"] * 1e9)
        topic, schema, message = _message(event, time_ns)
        channel = channels.of(topic, schema)
        data = json.dumps(message).encode()
        writer.add_message(channel, log_time=time_ns, publish_time=time_ns, data=data)
    writer.finish()  # type: ignore[no-untyped-call]


class _Channels:
    def __init__(self, writer: McapWriter) -> None:
        self._writer = writer
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}

    def of(self, topic: str, schema: str) -> int:
        if topic not in self._channels:
            if schema not in self._schemas:
                text = json.dumps(
                    {"title": schema, "type": "object", "properties": _schema(schema)}
                )
                number = self._writer.register_schema(schema, "jsonschema", text.encode())
                self._schemas[schema] = number
            self._channels[topic] = self._writer.register_channel(
                topic, "json", self._schemas[schema]
            )
        return self._channels[topic]


def _schema(name: str) -> dict[str, Any]:
    if name == LOG:
        return _LOG
    fields = hints_of(KINDS[name.removeprefix(PREFIX)].form)  # type: ignore[arg-type]
    typed = {key: _schema_of(hint) for key, hint in {**TIMES_OF, **fields}.items()}
    return {key: found for key, found in typed.items() if found} | {"numbers": {"type": "object"}}


def _schema_of(hint: Any) -> dict[str, Any]:
    """Return the schema of a type; an empty one if Foxglove does not support it.

    That is a choice of several types, and lists in a list.
    """
    kind, parts = get_origin(hint), [part for part in get_args(hint) if part is not NONE]
    if kind is Annotated or (kind in UNIONS and len(parts) == 1):
        return _schema_of(parts[0])
    if kind is list and parts[0] in _TYPES:
        return {"type": "array", "items": {"type": _TYPES[parts[0]]}}
    known = "object" if kind is dict else _TYPES.get(hint)
    return {"type": known} if known else {}


def _message(event: Event, time_ns: int) -> tuple[str, str, dict[str, Any]]:
    kind = event["event"]
    if kind in ("notice", "output"):
        sec, nsec = divmod(time_ns, 10**9)
        stamp, text = {"sec": sec, "nsec": nsec}, words(event)
        log = {"timestamp": stamp, "level": INFO, "message": text, "name": name_of(event)}
        return "/log", LOG, log
    message = {key: each for key, each in event.items() if key != "event"}
    # JSON lacks NaN and infinity.
    finite = {one.name: one.value if math.isfinite(one.value) else None for one in numbers(event)}
    message |= {"numbers": finite} if finite else {}
    about = [event[key] for key in kind_of(event).about if event[key]]
    topic = "/packets" if kind == "packet" else "/".join(["", *about, kind])
    return topic, f"{PREFIX}{kind}", message
