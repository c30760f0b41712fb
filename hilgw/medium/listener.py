"""Who can hear: the listeners of a medium, indexed so that other channels cost nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from operator import attrgetter

from hilgw.medium.packet import BROADCAST, Copy, Packet
from hilgw.medium.pose import Pose


def _any_channel(channel: int) -> bool:
    return False


@dataclass(slots=True, eq=False, kw_only=True)
class Listener:
    """A Receiver or a hardware station on a medium.

    owner: the robot it belongs to, None for a module on the bench. air: the space a module's
    signals share, None for a simulated Receiver. relay: takes packets that came from another air.
    channels: what it listens to, None is all. fits_explicitly: whether a module's mapping names
    this channel, which decides between modules of one air. deliver: gets each copy, and counts it.

    `enabled`, `relay` and the noises may be set at any time; channels and pose change through
    `Medium.retune` and `Medium.move`, which keep the index.
    """

    name: str
    type: str
    deliver: Callable[[Copy], None]
    owner: str | None = None
    air: str | None = None
    relay: bool = False
    channels: frozenset[int] | None = None
    aperture: float = -1.0
    pose: Pose | None = None
    enabled: bool = True
    signal_strength_noise: float = 0.0
    direction_noise: float = 0.0
    fits_explicitly: Callable[[int], bool] = _any_channel
    order: int = field(default=0, init=False)  # of attachment, kept by the medium


_ORDER = attrgetter("order")


class Listeners:
    """Listeners by type and channel, in the order they were attached."""

    def __init__(self) -> None:
        self._by_name: dict[str, Listener] = {}
        self._by_channel: dict[tuple[str, int | None], dict[str, Listener]] = {}
        self._owners: dict[str, Counter[str | None]] = {}
        self._attached = 0

    def add(self, listener: Listener) -> None:
        """Adds it; the name must be new."""
        if listener.name in self._by_name:
            raise ValueError(f"listener {listener.name!r} is attached already")
        self._attached += 1
        listener.order = self._attached
        self._by_name[listener.name] = listener
        self._owners.setdefault(listener.type, Counter())[listener.owner] += 1
        self._index(listener)

    def remove(self, name: str) -> Listener | None:
        """Removes and returns it; None when it is not there."""
        listener = self._by_name.pop(name, None)
        if listener is None:
            return None
        owners = self._owners[listener.type]
        owners[listener.owner] -= 1
        if not owners[listener.owner]:
            del owners[listener.owner]
        self._unindex(listener)
        return listener

    def get(self, name: str) -> Listener | None:
        """The listener of this name."""
        return self._by_name.get(name)

    def retune(self, name: str, channels: frozenset[int] | None) -> None:
        """Changes the channels a listener hears."""
        listener = self._by_name[name]
        self._unindex(listener)
        listener.channels = channels
        self._index(listener)

    def on_channel(self, packet: Packet) -> Iterable[Listener]:
        """The listeners of the packet's type that listen to its channel, in order."""
        if packet.channel == BROADCAST:
            return (one for one in self._by_name.values() if one.type == packet.type)
        tuned = self._by_channel.get((packet.type, packet.channel))
        open_to_all = self._by_channel.get((packet.type, None))
        if tuned and open_to_all:
            return sorted((*tuned.values(), *open_to_all.values()), key=_ORDER)
        return (tuned or open_to_all or {}).values()

    def without_listener(self, packet: Packet) -> str:
        """Why a packet nobody listens to on its channel stays unheard."""
        owners = self._owners.get(packet.type)
        if not owners:
            return "nobody"
        if packet.owner is not None and len(owners) == 1 and packet.owner in owners:
            return "own_robot"
        return "channel"

    def _index(self, listener: Listener) -> None:
        for channel in self._channels(listener):
            tuned = self._by_channel.setdefault((listener.type, channel), {})
            tuned[listener.name] = listener

    def _unindex(self, listener: Listener) -> None:
        for channel in self._channels(listener):
            del self._by_channel[listener.type, channel][listener.name]

    def _channels(self, listener: Listener) -> Iterable[int | None]:
        return (None,) if listener.channels is None else listener.channels
