"""A neighbour: another gateway, which takes packets and poses instead of bytes.

On the medium it is one listener for each type of signal that it listens to. It judges range, cone
and obstacles itself, so that it gets each packet with the pose of its sender. Among the ports of
the gateway it is an `ObservedPort`, which nothing here connects: what carries the packets reports
when it is there.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hilgw.engine.lines import Lines
from hilgw.engine.observer import State
from hilgw.engine.reporting.latency import Latency
from hilgw.engine.supervisor import ObservedPort
from hilgw.medium.ledger import StationCount
from hilgw.medium.listeners import Listener
from hilgw.medium.medium import Medium
from hilgw.medium.packet import Copy
from hilgw.reasons import ExpiredReason, PacketRefused, RefusedReason

Carry = Callable[["Copy", "Outlet"], "RefusedReason | None"]
Channels = frozenset[int] | None
"""Those that a neighbour listens to; None: all."""


class Federated(ObservedPort):
    """The other gateways, in plain JSON types. Names in it are of the network: any texts."""

    @abstractmethod
    def status(self) -> dict[str, Any]:
        """Return who is there, what they have, and the counts of each link."""

    @abstractmethod
    def packets(self) -> dict[str, tuple[int, int]]:
        """Return how many packets each sent and has confirmed, by the name of its port."""

    @abstractmethod
    def parts(self) -> Iterable[str]:
        """Return the names of all that packets are from and for."""

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """Return the summary for `--report`."""

    @abstractmethod
    async def network(self) -> dict[str, Any]:
        """Return the counts of each gateway by name; None: it did not answer."""


class Outlet:
    """The packets of one type for a neighbour.

    listener: for the medium. waiting: copies that were accepted, and of which nothing is known yet.
    """

    def __init__(self, neighbour: str, type: str, carry: Carry, medium: Medium) -> None:
        self.neighbour = neighbour
        self.type = type
        self.listener = Listener(
            name=f"{type}@{neighbour}", type=type, deliver=self._deliver, is_neighbour=True
        )
        self.waiting = 0
        self.is_attached = False
        self._carry = carry
        self._medium = medium
        self.count: StationCount = medium.ledger.station(self.listener.name, lambda: self.waiting)

    def tune(self, channels: Channels) -> None:
        """Listen to these channels from now on."""
        listener = self.listener
        if self.is_attached:
            if listener.channels != channels:
                self._medium.retune(listener.name, channels)
            return
        listener.channels = channels
        self._medium.attach(listener)
        self.is_attached = True

    def detach(self) -> None:
        """Listen to nothing."""
        if self.is_attached:
            self._medium.detach(self.listener.name)
            self.is_attached = False

    def _deliver(self, copy: Copy) -> None:
        reason = self._carry(copy, self)
        if reason is None:
            self.waiting += 1
        else:
            self.count.refuse(reason)

    def settle(self, delivered: int, lost: int, reason: RefusedReason = PacketRefused.LINK) -> None:
        """Count what the neighbour reports of the waiting copies: received, and lost.

        Less than 0: this many that were lost for this reason wait again.
        """
        self.waiting -= delivered + lost
        self.count.delivered += delivered
        if lost:
            self.count.refuse(reason, lost)

    def expire(self) -> None:
        """Expire the waiting copies as the gateway ends: what becomes of them is not known."""
        self.count.expire(self.waiting, ExpiredReason.IN_FLIGHT)
        self.waiting = 0


class Neighbour(ObservedPort):
    """Another gateway of the federation.

    carry: takes a copy and its outlet, returns None or why it does not; it calls `Outlet.settle`
    when it has a report on the copy. latency: from the time a packet was sent there until it came
    here.
    """

    def __init__(self, name: str, lines: Lines, where: str, carry: Carry, medium: Medium) -> None:
        super().__init__(f"gateway@{name}", lines, where)
        self.member = name
        self.outlets: dict[str, Outlet] = {}
        self.latency = Latency()
        self._carry = carry
        self._medium = medium

    async def run(self, on_up: Callable[[], None], *, is_needed: bool = True) -> None:
        """Wait for ever: the link is not opened from here."""
        await asyncio.get_running_loop().create_future()

    @property
    def ready(self) -> bool:
        """True whatever its state is: the gateway needs none."""
        return True

    @property
    def is_up(self) -> bool:
        return self.state is State.UP

    def listen(self, channels: Mapping[str, Channels]) -> None:
        """Mark the gateway as up, and listen to these channels of these types."""
        if not self.is_up:
            self.was_up = True
            self.opened += 1
            self.ups += 1
        for type, wanted in channels.items():
            self.outlet(type).tune(wanted)
        for type in self.outlets.keys() - channels.keys():
            self.outlets[type].detach()
        self._enter(State.UP, "")

    def outlet(self, type: str) -> Outlet:
        """Return the outlet of this type, made if needed."""
        if type not in self.outlets:
            self.outlets[type] = Outlet(self.member, type, self._carry, self._medium)
        return self.outlets[type]

    def leave(self, state: State, reason: str) -> None:
        """Detach all outlets: the gateway is not there, or cannot be used."""
        for outlet in self.outlets.values():
            outlet.detach()
        self._enter(state, reason)
