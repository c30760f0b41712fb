"""The Emitters of the robot in Webots: packets wait for the next request.

The robot's end keeps the line's credit, as libController does: a request of a step of d ms grants
byteRate * d bytes, and whole packets leave while the credit lasts.
"""

from __future__ import annotations

import math
from collections import deque

from hilgw.devices.fields import CAP_BYTES, CAP_PACKETS, UNLIMITED, channel_refusal
from hilgw.devices.kinds import Refusal
from hilgw.protocols.webots import (
    EmitterConfiguration,
    Message,
    Send,
    SetAllowedChannels,
    SetBufferSize,
    SetRange,
    WebotsRefused,
)
from hilgw.reasons import RequestRefused

REQUEST_BYTES = 128 * 1024
"""Packets of all Emitters in one request: what is more leaves with the next."""


class EmitterQueue:
    """The packets of one Emitter, each with its channel and the range at `send`."""

    def __init__(self, name: str, configuration: EmitterConfiguration) -> None:
        self.range = configuration.range
        self._name = name
        self._tag = configuration.tag
        self._size = configuration.bufferSize
        self._byte_rate = configuration.byteRate  # per ms
        self._max_range = configuration.maxRange
        self._allowed = configuration.allowedChannels
        self._waiting: deque[Send] = deque()
        self._used = 0
        self._credit = 0.0

    def __len__(self) -> int:
        return len(self._waiting)

    def send(self, channel: int, data: bytes) -> Refusal | None:
        """Queues one packet; None, or why Webots would not take it."""
        size = len(data)
        if not size or size > REQUEST_BYTES:
            text = f"'{self._name}': a packet of {size} bytes"
            return Refusal(RequestRefused.UNSENDABLE, text)
        if refusal := channel_refusal(channel, self._allowed):
            return Refusal(RequestRefused.NOT_ALLOWED, f"'{self._name}': {refusal}")
        limit = CAP_BYTES if self._size == UNLIMITED else min(self._size, CAP_BYTES)
        if size > limit - self._used or len(self._waiting) >= CAP_PACKETS:
            text = f"'{self._name}': its buffer of {limit} bytes has no room for {size} bytes"
            return Refusal(WebotsRefused.NO_ROOM, text)
        if not self._waiting:
            self._credit = 0.0
        self._waiting.append(Send(self._tag, channel, self.range, data))
        self._used += size
        return None

    def tune(self, range: float) -> Refusal | None:
        """The range of packets from now on, at most maxRange; None, or why it is not allowed."""
        if math.isnan(range) or (range < 0 and range != UNLIMITED):
            text = f"'{self._name}': range {range:g}"
            return Refusal(RequestRefused.NOT_ALLOWED, text)
        largest = self._max_range
        if largest != UNLIMITED and (range == UNLIMITED or range > largest):
            range = largest
        self.range = range
        return None

    def follow(self, message: Message) -> None:
        """The simulator changed a field. The channel needs no attention: packets carry theirs."""
        match message:
            case SetRange(_, range):
                self.range = range
            case SetBufferSize(_, size):
                self._size = size
            case SetAllowedChannels(_, channels):
                self._allowed = channels

    def leave(self, step_ms: int, room: int) -> list[Send]:
        """The packets that leave with a request of a step of this duration, at most `room` bytes
        of them."""
        waiting = self._waiting
        if not waiting:
            return []
        endless = self._byte_rate < 0
        if not endless:
            self._credit += self._byte_rate * step_ms
        leaving = []
        while waiting and len(waiting[0].data) <= (room if endless else min(room, self._credit)):
            packet = waiting.popleft()
            size = len(packet.data)
            room -= size
            self._used -= size
            if not endless:
                self._credit -= size
            leaving.append(packet)
        return leaving
