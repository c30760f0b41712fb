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
    found: dict[str, frozenset[int] | None] = {}
    for each in listeners:
        if each.type in TYPES:
            before, more = found.get(each.type, frozenset()), each.channels
            if before is None or more is None or BROADCAST in more:
                found[each.type] = None
            else:
                found[each.type] = before.union(more)
    return found


def wanted_keys(keys: Keys, listeners: Iterable[ListenerState]) -> set[str]:
    """Return the keys of the packets that these listeners may receive."""
    found: set[str] = set()
    for type, channels in channels_of(listeners).items():
        if channels is None or len(channels) > MOST_CHANNELS:
            found.add(keys.packets(type, None))
        elif channels:
            found.update(keys.packets(type, each) for each in (*channels, BROADCAST))
    return found
