"""Packets for the Receivers of a Webots controller: held until the sampling period is due.

Whether a packet fits the Receiver's buffer is decided by the controller's own library, which keeps
the queue until the controller reads it.
"""

from __future__ import annotations

from collections import deque

from hilgw.control.events import PacketIn
from hilgw.controllers.webots.sampling import Grid
from hilgw.devices.fields import CAP_BYTES, CAP_PACKETS
from hilgw.protocols.webots import Receive, WebotsRefused


class ReceiverState:
    """One Receiver. Its queue holds at most CAP_BYTES and CAP_PACKETS; the newest do not fit."""

    def __init__(self, channel: int) -> None:
        self.channel = channel
        self.period_ms = 0
        self._held: deque[PacketIn] = deque()
        self._bytes = 0

    def enable(self, period_ms: int) -> int:
        """Sets the period; 0 disables, which loses the packets held. Returns how many."""
        self.period_ms = period_ms
        if period_ms:
            return 0
        lost = len(self._held)
        self._held.clear()
        self._bytes = 0
        return lost

    def hold(self, packet: PacketIn) -> str | None:
        """Keeps a packet until the next sample; None, or the reason why not."""
        if not self.period_ms:
            return WebotsRefused.DISABLED
        if len(self._held) >= CAP_PACKETS or self._bytes + len(packet.data) > CAP_BYTES:
            return WebotsRefused.CAP
        self._held.append(packet)
        self._bytes += len(packet.data)
        return None

    def take(self, tag: int) -> list[Receive]:
        """All packets held. RECEIVE carries the Receiver's channel, not the packet's: the library
        takes it for the Receiver's own."""
        taken = [
            Receive(tag, self.channel, each.direction, each.signal_strength, each.data)
            for each in self._held
        ]
        self._held.clear()
        self._bytes = 0
        return taken


class Receivers:
    """The Receivers of a robot by tag."""

    def __init__(self) -> None:
        self.by_tag: dict[int, ReceiverState] = {}
        self._grid: Grid[int] = Grid()

    def reset(self, channels: dict[int, int]) -> None:
        """A new controller: the channel of each Receiver, by tag; all are disabled."""
        self.by_tag = {tag: ReceiverState(channel) for tag, channel in channels.items()}
        self._grid.clear()

    def enable(self, tag: int, period_ms: int, time_ns: int) -> int:
        """Sets the period of a Receiver; returns how many packets that lost."""
        self._grid.switch(tag, period_ms, time_ns)
        return self.by_tag[tag].enable(period_ms)

    def discard(self) -> int:
        """The controller is gone: the packets held for it are lost. Returns how many."""
        return sum(receiver.enable(0) for receiver in self.by_tag.values())

    @property
    def are_enabled(self) -> bool:
        """Whether any is."""
        return bool(self._grid)

    def due(self, time_ns: int) -> list[Receive]:
        """The packets of all Receivers that are due."""
        packets: list[Receive] = []
        for tag in self._grid.due(time_ns):
            packets += self.by_tag[tag].take(tag)
            self._grid.sampled(tag, time_ns)
        return packets
