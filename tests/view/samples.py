"""An event of each kind, made of the types of its fields: a new kind needs no line here; and
recordings of events."""

from copy import deepcopy
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

from hilgw.events.kinds import FIELDS, KINDS
from hilgw.events.words import FROM, TO
from hilgw.forms import UNIONS, hints_of
from hilgw.protocols.pcapng.events import Writer

LATE = {"armed": False, "latched": None, "mode": None, "late_steps": {"count": 1}}
CLASSES = {name: kind.form for name, kind in KINDS.items()}
# Where a type alone does not give a value that can be.
MORE: dict[str, dict[str, Any]] = {
    "value": {"value": [1.5, "nan", 2.5], "fields": [*"xyz"], "units": ["m", "m", "rad"]},
    "command": {
        "body": "remote",
        "given": {"position": "inf", "velocity": 2.0},
        "applied": {"velocity": 1.0},
        "units": {"velocity": "rad/s"},
        "limits": {"velocity": [-6.0, 6.0]},
        "outcome": "refused",
        "reason": "no_stop",
    },
    "packet": {"received_by": [], "not_received": "out_of_range", "missed": {"xbee0": "range"}},
    "bytes": {"direction": "sent"},
    "frame": {"direction": "sent"},
    "placed": {"position": [1.0, 2.0, 3.0], "rotation": [[1.0, 0.0, 0.0]] * 3},
    "status": {
        "status": {"ports": {}, "robots": {"robot": LATE}, "latency_bounds_s": [1.0], "latency": {}}
    },
    "link": {
        "state": "up",
        "counts": dict.fromkeys((*TO, "unconfirmed", *FROM, "entered", "dropped"), 1),
    },
}


def sample(kind: str, **keys: Any) -> dict[str, Any]:
    """An event of this kind, about a robot `robot`, a station `station` and so on."""
    hints = hints_of(CLASSES[kind])  # type: ignore[arg-type]  # a class is hashable
    made = {key: _value(key, hints[key]) for key in FIELDS.get(CLASSES[kind], hints)}
    times = {"mono_ns": 2 * 10**9, "wall_s": 1002.0, "time_ns": 2 * 10**9}
    return {"event": kind, **made, **deepcopy(MORE.get(kind, {})), **times, **keys}


def _value(key: str, hint: Any) -> Any:
    kind, parts = get_origin(hint), get_args(hint)
    if kind is Annotated:
        return "30313031" if key == "data" else _value(key, parts[0])  # 0101
    if kind in UNIONS:
        return _value(key, next(part for part in parts if part is not NoneType))
    if kind is list:
        return [_value(key, parts[0])]
    if kind is dict:
        return {key: _value(key, parts[1])}
    return {str: key, int: 5, float: 1.5, bool: True, Any: {}}[hint]


def recorded(
    path: Path, *given: dict[str, Any] | bytes, begin_ns: int = 0, epoch_ns: int = 0, **head: Any
) -> Path:
    """Write a recording of these events and blocks; an event without a time is at its begin."""
    write = Writer(head, ["uart0"], epoch_ns)
    data = write.begin(begin_ns)
    for item in given:
        data += item if isinstance(item, bytes) else write.encode({"time_ns": begin_ns} | item)
    path.write_bytes(data)
    return path
