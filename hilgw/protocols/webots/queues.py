"""The rules of libController for what waits.

What waits: commands for the next request, the packets of an Emitter for its line, the packets of a
Receiver for its sampling period.

libController R2025a; WbReceiver.
"""

import math
from collections import deque
from typing import Generic, TypeVar

from hilgw.devices.fields import CAP_BYTES, CAP_PACKETS, UNLIMITED
from hilgw.protocols.webots.codec import Command, Message
from hilgw.protocols.webots.device_messages import (
    EmitterConfiguration,
    EmitterSend,
    Receive,
    SetAllowedChannels,
    SetBufferSize,
    SetChannel,
    SetRange,
    Triple,
)
from hilgw.protocols.webots.forms import COMMANDS
from hilgw.reasons import PacketRefused

P = TypeVar("P")

_ORDER: dict[type, int] = dict(
    sorted(
        ((form.message, number) for forms in COMMANDS.values() for number, form in forms.items()),
        key=lambda each: each[1],
    )
)
"""By the number on the wire. A command that two kinds of devices number differently is in the same
place among the commands of both."""


class WaitingCommands:
    """The commands for the next request.

    Of several of one kind for one device, the last one is sent; the commands of one device are sent
    in the order of their numbers.
    """

    def __init__(self) -> None:
        self._waiting: dict[tuple[type, int], Command] = {}

    def put(self, command: Command) -> None:
        """Put this command into the next request."""
        self._waiting[type(command), getattr(command, "tag", 0)] = command

    def find(self, kind: type, tag: int) -> Command | None:
        """Return the command of this class that waits for this device."""
        return self._waiting.get((kind, tag))

    def drop(self, kind: type, tag: int) -> None:
        """Take this command out of the next request."""
        self._waiting.pop((kind, tag), None)

    def take(self) -> list[Command]:
        """Return all commands that wait; they wait no longer."""
        if not self._waiting:
            return []
        commands = list(self._waiting.values())
        self._waiting.clear()
        commands.sort(key=lambda command: _ORDER.get(type(command), 0))
        return commands


class EmitterQueue:
    """The packets of one Emitter.

    Each step grants a credit of byteRate times its duration, and whole packets leave while the
    credit lasts.

    The credit is lost when a packet enters an empty queue; what a packet leaves over stays as long
    as the queue is not empty. A packet has the channel and range that the Emitter had at `put`.
    cap_bytes, cap_packets: limits of the queue besides bufferSize.
    """

    def __init__(
        self, tag: int, *, cap_bytes: float = math.inf, cap_packets: float = math.inf
    ) -> None:
        self.channel = 0
        self.range = -1.0
        self.buffer_size = UNLIMITED
        self.allowed: tuple[int, ...] = ()
        self._tag = tag
        self._byte_rate = self._max_range = -1.0
        self._cap_bytes, self._cap_packets = cap_bytes, cap_packets
        self._waiting: deque[EmitterSend] = deque()
        self._used = 0
        self._credit = 0.0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def limit(self) -> float:
        """The bytes that the queue holds at most."""
        return self._cap_bytes if self.buffer_size < 0 else min(self.buffer_size, self._cap_bytes)

    def put(self, channel: int, data: bytes) -> bool:
        """Queue one packet; False when the buffer has no room for it."""
        waiting = self._waiting
        if len(data) > self.limit - self._used or len(waiting) >= self._cap_packets:
            return False
        if not waiting:
            self._credit = 0.0
        waiting.append(EmitterSend(self._tag, channel, self.range, data))
        self._used += len(data)
        return True

    def tune(self, range: float) -> bool:
        """Set the range of packets from now on, at most maxRange; False for what is not a range."""
        if math.isnan(range) or (range < 0 and range != UNLIMITED):
            return False
        largest = self._max_range
        beyond = largest != UNLIMITED and (range == UNLIMITED or range > largest)
        self.range = largest if beyond else range
        return True

    def follow(self, message: Message) -> None:
        """Note that the simulator has configured the Emitter, or changed a field of it."""
        match message:
            case EmitterConfiguration():
                self.channel, self.range = message.channel, message.range
                self.buffer_size, self.allowed = message.bufferSize, message.allowedChannels
                self._byte_rate, self._max_range = message.byteRate, message.maxRange
            case SetChannel(_, channel):
                self.channel = channel
            case SetRange(_, range):
                self.range = range
            case SetBufferSize(_, size):
                self.buffer_size = size
            case SetAllowedChannels(_, channels):
                self.allowed = channels

    def leave(self, step_ms: int, room: float = math.inf) -> list[EmitterSend]:
        """Return the packets that leave with the request of a step of this duration.

        They have at most `room` bytes.
        """
        waiting = self._waiting
        if not waiting:
            return []
        endless = self._byte_rate < 0
        self._credit = math.inf if endless else self._credit + self._byte_rate * step_ms
        leaving = []
        while waiting and len(waiting[0].data) <= min(room, self._credit):
            packet = waiting.popleft()
            size = len(packet.data)
            room -= size
            self._used -= size
            self._credit -= size
            leaving.append(packet)
        return leaving


class HeldPackets(Generic[P]):
    """The packets for one Receiver, which wait for its next sample.

    Only a sample takes packets out: disabling the Receiver, or another period, does not. It holds
    at most CAP_BYTES and CAP_PACKETS; the newest do not fit. The library of the controller decides
    which fit the Receiver's buffer.
    """

    def __init__(self, channel: int = 0) -> None:
        self.channel = channel
        self.period_ms = 0
        self._held: deque[tuple[P, int]] = deque()
        self._bytes = 0
        self._ready = 0  # how many of them were sampled

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, packet: P, size: int) -> PacketRefused | None:
        """Keep a packet of this many bytes; None, or the reason why not."""
        if not self.period_ms:
            return PacketRefused.DISABLED
        if len(self._held) >= CAP_PACKETS or self._bytes + size > CAP_BYTES:
            return PacketRefused.CAP
        self._held.append((packet, size))
        self._bytes += size
        return None

    def sample(self) -> None:
        """End the period: all packets held are ready."""
        self._ready = len(self._held)

    def take(self) -> list[P]:
        """Return the packets that are ready; they are held no longer."""
        taken = [self._held.popleft() for _ in range(self._ready)]
        self._bytes -= sum(size for _, size in taken)
        self._ready = 0
        return [packet for packet, _ in taken]

    def discard(self) -> list[P]:
        """Disable the Receiver, and take out all packets."""
        self.sample()
        self.period_ms = 0
        return self.take()

    def message(self, tag: int, direction: Triple, strength: float, data: bytes) -> Receive:
        """Return the message for one packet.

        It carries the Receiver's channel, not that of the packet: libController takes it for the
        Receiver's own.
        """
        return Receive(tag, self.channel, direction, strength, data)
