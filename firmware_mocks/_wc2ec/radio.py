"""Packets of a WC2EC controller that knows the extension: one each so often, and what it hears."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from firmware_mocks._wc2ec import wire
from firmware_mocks._wc2ec.parameters import number
from firmware_mocks.base import MS

PARAMETERS: dict[str, str] = {
    "emitter": "name of an Emitter to send packets through (default none: the original knows none)",
    "receiver": "name of a Receiver whose packets it counts (default none)",
    "channel": "of its packets (default 0)",
    "message": "what it sends; {n} is the packet's number (default 'ping {n}')",
    "message_ms": "how often (default 1000)",
}
DEFAULTS: dict[str, Any] = {
    "emitter": "",
    "receiver": "",
    "channel": 0,
    "message": "ping {n}",
    "message_ms": 1000,
}


class Radio:
    """`sent` and `heard` count packets, `last` is what was heard last."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.period_ns = round(number(values, "message_ms", 1, 3_600_000) * MS)
        self.sent = self.heard = 0
        self.last = b""
        self._channel = round(number(values, "channel", -1, 2**31 - 1))
        self._message = str(values["message"])
        self._names = (str(values["emitter"]), str(values["receiver"]))
        self._emitter: tuple[int, int] | None = None
        self._receiver: tuple[int, int] | None = None

    @property
    def wanted(self) -> bool:
        """Whether it speaks the extension at all."""
        return any(self._names)

    def register(self, kind: int, index: int, name: str) -> None:
        if name and name == self._names[0]:
            self._emitter = kind, index
        elif name and name == self._names[1]:
            self._receiver = kind, index

    def size(self, buffer: bytes | bytearray) -> int | None:
        """Bytes of a message that carries a packet, 0 while that is not known; None: it is none."""
        if self._receiver is None or tuple(buffer[1:3]) != self._receiver:
            return None
        if len(buffer) < 43:
            return 0
        return 43 + int.from_bytes(buffer[39:43], "little")

    def hear(self, message: bytes) -> bool:
        """Whether this sensorData is a packet of the Receiver; then it is counted."""
        if self._receiver is None or tuple(message[1:3]) != self._receiver or len(message) < 43:
            return False
        self.heard += 1
        self.last = message[43:]
        return True

    def packet(self) -> bytes:
        """The next packet as setValue of the Emitter; b"" while that is not known."""
        if self._emitter is None:
            return b""
        self.sent += 1
        data = self._message.replace("{n}", str(self.sent)).encode()
        head = bytes((wire.SET_VALUE, *self._emitter))
        return head + struct.pack("<iI", self._channel, len(data)) + data
