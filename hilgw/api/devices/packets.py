"""Emitter and Receiver."""

from __future__ import annotations

import math
import struct
import sys
import time
from typing import Any, ClassVar

from hilgw.api import current
from hilgw.api._errors import deprecated, report
from hilgw.api.arguments import integer, real
from hilgw.api.devices.base import Device, Sensor
from hilgw.api.devices.states import EmitterState, ReceiverState
from hilgw.api.session import LEAVING
from hilgw.protocols.webots.device_messages import Receive

UNSTEPPED_S = 1.0
Message = bytes | bytearray | memoryview | str | list[Any] | tuple[Any, ...]


class _Radio(Device):
    """A device with a channel."""

    CHANNEL_BROADCAST = -1
    function: ClassVar[str]
    _state: EmitterState | ReceiverState

    def getChannel(self) -> int:
        """Of an Emitter: that of the packets sent from now on. -1: all channels."""
        return self._state.channel

    def setChannel(self, channel: int) -> None:
        self._state.set_channel(integer(channel, f"{self.function}_set_channel"))

    channel = property(getChannel, setChannel)


class Emitter(_Radio):
    """Packets leave with the steps, at the Emitter's baudRate."""

    kinds = ("Emitter",)
    function = "emitter"
    _state: EmitterState

    def send(self, message: Message, length: int | None = None) -> int:
        """Queues one packet: bytes, text as UTF-8, or numbers (int: 32 bits, float: 64 bits, the
        first decides). length: only so many bytes of bytes. 1 when it was queued, 0 when it was
        not."""
        data = _encode(message)
        if data is None:
            return 0
        if not self.tag:
            report("wb_emitter_send(): invalid device tag.")
            return 0
        size = len(data)
        if length is not None and isinstance(message, bytes | bytearray | memoryview):
            size = integer(length, "emitter_send")
        if size < 1:
            report(f"wb_emitter_send(): invalid size={size} argument.")
            return 0
        if size > len(data):
            report(f"wb_emitter_send(): size={size} of a packet with {len(data)} bytes.")
            return 0
        queue = self._state.queue
        self._watch()
        return int(queue.put(queue.channel, data[:size]))

    def _watch(self) -> None:
        """Names a program that sends, and calls no step for UNSTEPPED_S."""
        state, session, now_s = self._state, current.session(), time.monotonic()
        if state.steps != session.steps:
            state.steps, state.since_s = session.steps, now_s
        elif now_s - state.since_s > UNSTEPPED_S:
            session.warn("send", f"Emitter.send() of '{state.name}' without a step: {LEAVING}.")

    def getBufferSize(self) -> int:
        """In bytes; -1: unlimited."""
        return self._state.queue.buffer_size

    def getRange(self) -> float:
        """Of the packets sent from now on, in m; -1: unlimited."""
        return float(self._state.queue.range)

    def setRange(self, range: float) -> None:
        self._state.set_range(real(range))

    buffer_size = property(getBufferSize)
    range = property(getRange, setRange)


def _encode(message: Any) -> bytes | None:
    """The bytes of a packet; None, with a line, when there are none."""
    if isinstance(message, bytes | bytearray | memoryview):
        return bytes(message)
    if isinstance(message, str):
        return message.encode()
    if not isinstance(message, list | tuple):
        print(f"Emitter.send(): unsupported data type: {type(message)}", file=sys.stderr)
        return None
    if not message:
        print("Emitter.send(): empty list", file=sys.stderr)
        return None
    letter = "d" if isinstance(message[0], float) else "i"
    if not isinstance(message[0], float | int):
        print(f"Emitter.send(): unsupported data type list: {type(message[0])}", file=sys.stderr)
        return None
    return struct.pack(f"{len(message)}{letter}", *message)


class Receiver(Sensor, _Radio):
    """A queue of packets; the getters read the first one, `nextPacket` removes it."""

    kinds = ("Receiver",)
    function = "receiver"
    _state: ReceiverState

    def nextPacket(self) -> None:
        """Removes the first packet; without one it does nothing."""
        self._state.next_packet()

    def getQueueLength(self) -> int:
        self._checked("get_queue_length")
        return len(self._state.queue) if self.tag else -1

    def getDataSize(self) -> int:
        """In bytes; -1, with an error, without a packet."""
        head = self._head("get_data_size")
        return len(head.data) if head else -1

    def getBytes(self) -> bytes:
        """The first packet; empty, with an error, when there is none."""
        head = self._head("get_data")
        return head.data if head else b""

    def getData(self) -> str:
        deprecated("Receiver.getData", "Receiver.getString")
        return self.getString()

    def getString(self) -> str:
        """The first packet, which must be UTF-8; NULs stay."""
        return self.getBytes().decode()

    def getInts(self) -> tuple[int, ...]:
        """The first packet as integers of 32 bits. Raises struct.error for a size that is not a
        multiple of 4."""
        return self._unpack("i", 4)

    def getFloats(self) -> tuple[float, ...]:
        """The first packet as floats of 64 bits. Raises struct.error for a size that is not a
        multiple of 8."""
        return self._unpack("d", 8)

    def getBools(self) -> tuple[bool, ...]:
        """The first packet, a truth value each byte."""
        return self._unpack("?", 1)

    def getSignalStrength(self) -> float:
        """1 / distance^2; NaN without a packet."""
        head = self._head("get_signal_strength")
        return head.signalStrength if head else math.nan

    def getEmitterDirection(self) -> list[float]:
        """The unit vector to the sender, in the Receiver's axes; NaN without a packet."""
        head = self._head("get_emitter_direction")
        return list(head.direction) if head else [math.nan] * 3

    queue_length = property(getQueueLength)

    data = property(getBytes)
    data_size = property(getDataSize)
    string = property(getString)
    signal_strength = property(getSignalStrength)
    emitter_direction = property(getEmitterDirection)

    def _head(self, getter: str) -> Receive | None:
        queue = self._state.queue
        if queue:
            return queue[0]
        report(f"wb_receiver_{getter}(): the receiver queue is empty.")
        return None

    def _unpack(self, letter: str, size: int) -> tuple[Any, ...]:
        data = self.getBytes()
        return struct.unpack(f"{len(data) // size}{letter}", data)
