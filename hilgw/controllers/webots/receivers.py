"""Packets for the Receivers of a Webots controller: they wait for the sampling period, then for the
answer that ends the controller's step."""

from __future__ import annotations

from hilgw.control.events import PacketIn
from hilgw.controllers.webots.sampling import Grid
from hilgw.protocols.webots.device_messages import Receive
from hilgw.protocols.webots.queues import HeldPackets


class Receivers:
    """The Receivers of a robot by tag."""

    def __init__(self) -> None:
        self.by_tag: dict[int, HeldPackets[PacketIn]] = {}
        self._grid: Grid[int] = Grid()
        self._sampled: list[int] = []  # since the last answer

    def reset(self, channels: dict[int, int]) -> None:
        """A new controller: the channel of each Receiver, by tag; all are disabled."""
        self.by_tag = {tag: HeldPackets(channel) for tag, channel in channels.items()}
        self._grid.clear()
        self._sampled.clear()

    def enable(self, tag: int, period_ms: int, time_ns: int) -> None:
        """Sets the period of a Receiver; 0 disables it. The packets held stay."""
        self._grid.switch(tag, period_ms, time_ns)
        self.by_tag[tag].period_ms = period_ms

    def discard(self) -> int:
        """The controller is gone: the packets held for it are lost. Returns how many."""
        return sum(len(receiver.discard()) for receiver in self.by_tag.values())

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
        messages = []
        for tag in sampled:
            receiver = self.by_tag[tag]
            for each in receiver.take():
                values = each.direction, each.signal_strength, each.data
                messages.append(receiver.message(tag, *values))
        return messages
