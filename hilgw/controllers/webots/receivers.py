"""Packets for the Receivers of a Webots controller: they wait until the sampling period is due,
then for the answer that ends the controller's step.

Only a sample takes packets out of those that wait: disabling a Receiver, or another period, does
not (WbReceiver). Whether a packet fits the Receiver's buffer is decided by the controller's own
library, which keeps the queue until the controller reads it.
"""

from __future__ import annotations

from collections import deque

from hilgw.control.events import PacketIn
from hilgw.controllers.webots.sampling import Grid
from hilgw.devices.fields import CAP_BYTES, CAP_PACKETS
from hilgw.protocols.webots import Receive, WebotsRefused


class ReceiverState:
    """One Receiver. It holds at most CAP_BYTES and CAP_PACKETS; the newest do not fit."""

    def __init__(self, channel: int) -> None:
        self.channel = channel
        self.period_ms = 0
        self._held: deque[PacketIn] = deque()
        self._ready = 0  # how many of them were sampled
        self._bytes = 0

    def hold(self, packet: PacketIn) -> str | None:
        """Keeps a packet, which waits for the next sample; None, or the reason why not."""
        if not self.period_ms:
            return WebotsRefused.DISABLED
        if len(self._held) >= CAP_PACKETS or self._bytes + len(packet.data) > CAP_BYTES:
            return WebotsRefused.CAP
        self._held.append(packet)
        self._bytes += len(packet.data)
        return None

    def sample(self) -> None:
        """All packets held are ready for the next answer."""
        self._ready = len(self._held)

    def take(self, tag: int) -> list[Receive]:
        """The packets that are ready. RECEIVE carries the Receiver's channel, not the packet's: the
        library takes it for the Receiver's own."""
        taken = []
        for _ in range(self._ready):
            each = self._held.popleft()
            self._bytes -= len(each.data)
            taken.append(
                Receive(tag, self.channel, each.direction, each.signal_strength, each.data)
            )
        self._ready = 0
        return taken

    def discard(self) -> int:
        """Disables it, and loses the packets held. Returns how many."""
        lost = len(self._held)
        self._held.clear()
        self._ready = self._bytes = self.period_ms = 0
        return lost


class Receivers:
    """The Receivers of a robot by tag."""

    def __init__(self) -> None:
        self.by_tag: dict[int, ReceiverState] = {}
        self._grid: Grid[int] = Grid()
        self._sampled: list[int] = []  # since the last answer

    def reset(self, channels: dict[int, int]) -> None:
        """A new controller: the channel of each Receiver, by tag; all are disabled."""
        self.by_tag = {tag: ReceiverState(channel) for tag, channel in channels.items()}
        self._grid.clear()
        self._sampled.clear()

    def enable(self, tag: int, period_ms: int, time_ns: int) -> None:
        """Sets the period of a Receiver; 0 disables it. The packets held stay."""
        self._grid.switch(tag, period_ms, time_ns)
        self.by_tag[tag].period_ms = period_ms

    def discard(self) -> int:
        """The controller is gone: the packets held for it are lost. Returns how many."""
        return sum(receiver.discard() for receiver in self.by_tag.values())

    @property
    def are_enabled(self) -> bool:
        """Whether any is."""
        return bool(self._grid)

    def next_sample(self) -> int | None:
        """When a Receiver is due next."""
        return self._grid.next()

    def sample(self, time_ns: int) -> None:
        """A basic step is over: the packets of all Receivers that are due become ready."""
        for tag in self._grid.due(time_ns):
            self.by_tag[tag].sample()
            self._grid.sampled(tag, time_ns)
            self._sampled.append(tag)

    def take(self) -> list[Receive]:
        """The packets that are ready, of all Receivers."""
        sampled, self._sampled = self._sampled, []
        return [packet for tag in sampled for packet in self.by_tag[tag].take(tag)]
