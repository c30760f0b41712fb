"""The channels by type that a gateway receives, and the keys to subscribe to. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hilgw.devices.fields import BROADCAST, TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hilgw.federation.wire import Keys, ListenerState

MOST_CHANNELS = 64  # each a subscription; a gateway that listens to more gets all


def channels_of(listeners: Iterable[ListenerState]) -> dict[str, frozenset[int] | None]:
    """Return type -> channels, None: all; without the types to which nothing listens."""
    channels: dict[str, frozenset[int] | None] = {}
    for listener in listeners:
        if listener.type in TYPES:
            before, more = channels.get(listener.type, frozenset()), listener.channels
            if before is None or more is None or BROADCAST in more:
                channels[listener.type] = None
            else:
                channels[listener.type] = before.union(more)
    return channels


def wanted_keys(keys: Keys, listeners: Iterable[ListenerState]) -> set[str]:
    """Return the keys of the packets that these listeners may receive."""
    wanted: set[str] = set()
    for type, channels in channels_of(listeners).items():
        if channels is None or len(channels) > MOST_CHANNELS:
            wanted.add(keys.packets(type, None))
        elif channels:
            wanted.update(keys.packets(type, each) for each in (*channels, BROADCAST))
    return wanted
