"""Events as the control socket gives them, for recordings of tests."""

from typing import Any

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
