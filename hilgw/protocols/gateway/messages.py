"""The messages of a control socket: one JSON object per line, a request and its answer in turn.

The key `do` of a request names it (`Do`). An answer has `ok` where the gateway did it, `refused`
with the reason where it did not, or `error` with a text, and with `config` the gateway's file.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

LINE_BYTES = 256 * 1024
"""The longest line that either end accepts."""


RENEW_S = 0.1
"""A holder renews its lease so often."""
LEASE_S = 0.3
"""A lease that was not renewed for so long has expired."""
LONGEST_LEASE_S = 86_400.0
"""The longest limit of a lease."""


class Do(StrEnum):
    """The requests, each with its other keys."""

    SEND = "send"  # station, data in hex, channel or null: transmits one packet
    PLACE = "place"  # object, position, rotation: moves an object of the scene
    SET = "set"  # device, channel, range: sets an Emitter or a Receiver
    POSE = "pose"  # object: answers its position and the rows of its rotation; null: unknown
    CHARGE = "charge"  # robot, energy_j: charges the battery
    COMMAND = "command"  # station, address, name, value in hex: an AT command for a remote module
    IDENTIFY = "identify"  # answers the configuration and the process of the gateway
    FIND = "find"  # kind, names: answers those names that the gateway has
    MODE = "mode"  # robot, mode or null: answers the mode of the robot, after setting it
    KEY = "key"  # robot, keys, hold_s: presses keys of the keyboard
    SAY = "say"  # robot, text: sends a text as from the robot window
    ARM = "arm"  # robots, or all: lets motors move
    HOLD = "hold"  # as ARM, while this connection renews it in time; limit_s or null
    RENEW = "renew"  # answers ok, or `ended` with the reason: the robots are disarmed
    RELEASE = "release"  # disarms the robots that this connection holds; answers as DISARM
    DISARM = "disarm"  # robots, or all: stops motors until they are armed
    WATCH = "watch"  # kinds, names, lost: the gateway's events follow, on this connection
    REPORT = "report"  # answers the report of the gateway
    STATUS = "status"  # answers the state of its ports and robots, rates, losses and latencies


def encode(message: dict[str, Any]) -> bytes:
    """The line of a request or an answer."""
    return json.dumps(message).encode() + b"\n"
