"""Airs: telling our own words, and the same words heard twice, from news.

Modules in one air hear each other outside. What one of ours transmitted and another of ours
heard must not enter the medium again, or two modules repeat a packet for ever.

What proves the sender, strongest first:
* An address of 64 or 48 bits is unique in the world: one of ours is our echo, any other is not.
* A short address proves nothing by itself, since strangers may carry the same (many modules are
  left at 0). It can only rule out: a sender whose short address is known does not have another.
* Then content decides: the same bytes, sent by another of our modules within the air time. Each
  transmission explains one hearing per module, so a stranger who repeats our words is heard.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

AIR_TIME_NS = 1_000_000_000
"""From our handing a packet to one module until another module has reported it, at most."""

SKEW_NS = 250_000_000
"""Between two modules' reports of one transmission, at most."""

LIMIT = 1024
"""Transmissions remembered per air; the oldest is forgotten first."""

_UNIQUE_DIGITS = 12


def normal(address: str) -> str:
    """An address in one spelling: upper case, without separators."""
    return address.replace(":", "").replace("-", "").upper()


def is_unique(address: str) -> bool:
    """Whether a normal address identifies one device in the world (not all zeros, not all ones)."""
    try:
        int(address, 16)
    except ValueError:
        return False
    return len(address) >= _UNIQUE_DIGITS and set(address) not in ({"0"}, {"F"})


@dataclass(slots=True, eq=False)
class _Sighting:
    """One transmission in the air, and our modules that know of it already."""

    key: Hashable
    station: str
    expires_ns: int
    known_to: set[str]


class _Log:
    """Transmissions of the recent past, by what was transmitted."""

    def __init__(self) -> None:
        self._in_order: deque[_Sighting] = deque()
        self._by_key: dict[Hashable, deque[_Sighting]] = {}

    def add(self, sighting: _Sighting) -> None:
        if len(self._in_order) >= LIMIT:
            self._forget()
        self._in_order.append(sighting)
        self._by_key.setdefault(sighting.key, deque()).append(sighting)

    def find(self, key: Hashable, now: int) -> Iterable[_Sighting]:
        """The transmissions of this, oldest first."""
        while self._in_order and self._in_order[0].expires_ns < now:
            self._forget()
        return (each for each in self._by_key.get(key, ()) if each.expires_ns >= now)

    def _forget(self) -> None:
        oldest = self._in_order.popleft()
        same = self._by_key[oldest.key]
        same.popleft()
        if not same:
            del self._by_key[oldest.key]


class _Air:
    def __init__(self) -> None:
        self.addresses: dict[str, frozenset[str]] = {}
        self.sent = _Log()
        self.heard = _Log()


class Airs:
    """All airs of one gateway. `now` is integer nanoseconds."""

    def __init__(self) -> None:
        self._airs: dict[str, _Air] = {}
        self._ours: dict[str, int] = {}  # unique address -> how many of our modules said it

    def own(self, air: str, station: str, addresses: Iterable[str]) -> None:
        """A module of ours is in this air and shows itself with one of these source addresses."""
        here = self._airs.setdefault(air, _Air())
        for address in here.addresses.get(station, ()):
            self._ours[address] -= 1
        here.addresses[station] = frozenset(normal(address) for address in addresses)
        for address in here.addresses[station]:
            self._ours[address] = self._ours.get(address, 0) + 1

    def sent(
        self, air: str, data: bytes, now: int, station: str = "", air_time_ns: int = AIR_TIME_NS
    ) -> None:
        """This module of ours was given these bytes to transmit."""
        here = self._airs.get(air)
        if here is not None and len(here.addresses) > 1:
            here.sent.add(_Sighting(data, station, now + air_time_ns, {station}))

    def is_own_echo(
        self, air: str, station: str, address: str | None, data: bytes, now: int
    ) -> bool:
        """Whether what this module heard was transmitted by another of ours."""
        source = normal(address) if address else ""
        if is_unique(source):
            # Wherever it was heard: an own address in a foreign air means the airs do meet.
            return self._ours.get(source, 0) > 0
        here = self._airs.get(air)
        if here is None:
            return False
        for sighting in here.sent.find(data, now):
            if station not in sighting.known_to and _possible(here, sighting.station, source):
                sighting.known_to.add(station)
                return True
        return False

    def is_duplicate(
        self, air: str, station: str, address: str | None, data: bytes, now: int
    ) -> bool:
        """Whether another of our modules in this air has reported the same transmission already.

        Ask for what is no echo. The same sender and the same bytes within SKEW_NS are one
        transmission, unless this module itself has heard it before.
        """
        here = self._airs.get(air)
        if here is None or len(here.addresses) < 2:
            return False
        key = (normal(address) if address else "", data)
        for sighting in here.heard.find(key, now):
            if station not in sighting.known_to:
                sighting.known_to.add(station)
                return True
        here.heard.add(_Sighting(key, station, now + SKEW_NS, {station}))
        return False


def _possible(air: _Air, sender: str, source: str) -> bool:
    """Whether `sender` may have shown itself as `source`."""
    if not source:
        return True
    if sender:
        known = air.addresses.get(sender, frozenset())
    else:
        known = frozenset().union(*air.addresses.values())
    shorts = {address for address in known if not is_unique(address)}
    return not shorts or source in shorts
