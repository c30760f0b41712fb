"""Events as the control socket gives them, for recordings of tests."""

from pathlib import Path
from typing import Any

from hilgw.record.events import Writer

VALUE: dict[str, Any] = {
    "event": "value",
    "robot": "rover",
    "device": "ds",
    "value": 1.5,
    "fields": ["value"],
    "units": ["m"],
}
COMMAND: dict[str, Any] = {
    "event": "command",
    "robot": "rover",
    "body": "",
    "device": "left",
    "given": {"velocity": 2.0},
    "applied": {"velocity": 1.0},
    "outcome": "sent",
    "reason": "",
    "units": {"velocity": "rad/s"},
    "limits": {},
}
PACKET: dict[str, Any] = {
    "event": "packet",
    "source": "rover.tx",
    "channel": 5,
    "type": "radio",
    "received_by": ["a", "b"],
    "not_received": "",
    "missed": {},
    "rssi_dbm": None,
}


def recorded(
    path: Path, *given: dict[str, Any] | bytes, begin_ns: int = 0, epoch_ns: int = 0, **head: Any
) -> Path:
    """Write a recording of these events and blocks; an event without a time is at its begin."""
    write = Writer(head, ["uart0"], epoch_ns)
    data = write.begin(begin_ns)
    for each in given:
        data += each if isinstance(each, bytes) else write.encode({"time_ns": begin_ns} | each)
    path.write_bytes(data)
    return path
