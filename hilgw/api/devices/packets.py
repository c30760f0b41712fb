"""Emitter and Receiver."""

import math
import struct
import sys
import time
from typing import Any, ClassVar

from hilgw.api import current
from hilgw.api.arguments import deprecated, integer, real, report
from hilgw.api.devices.base import Device, Sensor
from hilgw.api.devices.states import EmitterState, ReceiverState
from hilgw.api.session import LEAVING
from hilgw.protocols.webots.device_messages import Receive

UNSTEPPED_S = 1.0
Message = bytes | bytearray | memoryview | str | list[Any] | tuple[Any, ...]


class _Radio(Device):
    CHANNEL_BROADCAST = -1
    function: ClassVar[str]
    _state: EmitterState | ReceiverState

    def getChannel(self) -> int:
        """Return the channel, of an Emitter that of packets from now on; -1: all channels."""
        return self._state.channel

    def setChannel(self, channel: int) -> None:
        self._state.set_channel(integer(channel, f"{self.function}_set_channel"))

    channel = property(getChannel, setChannel)


class Emitter(_Radio):
    """An Emitter; packets leave with the steps, at its baudRate."""

    kinds = ("Emitter",)
    function = "emitter"
    _state: EmitterState

    def send(self, message: Message, length: int | None = None) -> int:
        """Queue one packet; return 1 if it was queued, 0 if not.

        Args:
          message: bytes, text as UTF-8, or numbers (int: 32 bits, float: 64 bits, the first
              decides).
          length: the number of bytes to send of a bytes message.
        """
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
        state, session, now_s = self._state, current.session(), time.monotonic()
        if state.steps != session.steps:
            state.steps, state.since_s = session.steps, now_s
        elif now_s - state.since_s > UNSTEPPED_S:
            session.warn("send", f"Emitter.send() of '{state.name}' without a step: {LEAVING}.")

    def getBufferSize(self) -> int:
        """Return the size in bytes; -1 means unlimited."""
        return self._state.queue.buffer_size

    def getRange(self) -> float:
        """Return the range of packets sent from now on, in m; -1 means unlimited."""
        return float(self._state.queue.range)

    def setRange(self, range: float) -> None:
        self._state.set_range(real(range))

    buffer_size = property(getBufferSize)
    range = property(getRange, setRange)


def _encode(message: Any) -> bytes | None:
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
        """Remove the first packet, if any."""
        self._state.next_packet()

    def getQueueLength(self) -> int:
        self._checked("get_queue_length")
        return len(self._state.queue) if self.tag else -1

    def getDataSize(self) -> int:
        """Return the size in bytes; without a packet report an error and return -1."""
        head = self._head("get_data_size")
        return len(head.data) if head else -1

    def getBytes(self) -> bytes:
        """Return the first packet; without one report an error and return b""."""
        head = self._head("get_data")
        return head.data if head else b""

    def getData(self) -> str:
        deprecated("Receiver.getData", "Receiver.getString")
        return self.getString()

    def getString(self) -> str:
        """Return the first packet, which must be UTF-8; NULs stay."""
        return self.getBytes().decode()

    def getInts(self) -> tuple[int, ...]:
        """Return the first packet as integers of 32 bits.

        Raises:
          struct.error: its size is not a multiple of 4.
        """
        return self._unpack("i", 4)

    def getFloats(self) -> tuple[float, ...]:
        """Return the first packet as floats of 64 bits.

        Raises:
          struct.error: its size is not a multiple of 8.
        """
        return self._unpack("d", 8)

    def getBools(self) -> tuple[bool, ...]:
        """Return the first packet, a truth value for each byte."""
        return self._unpack("?", 1)

    def getSignalStrength(self) -> float:
        """Return 1 / distance^2; NaN without a packet."""
        head = self._head("get_signal_strength")
        return head.signalStrength if head else math.nan

    def getEmitterDirection(self) -> list[float]:
        """Return the unit vector to the sender, in the Receiver's axes; NaN without a packet."""
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
