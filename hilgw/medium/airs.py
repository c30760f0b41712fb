"""Airs: recognise echoes of our own transmissions, and duplicate receptions of one transmission.

Modules in one air receive each other directly. A packet that one of our modules transmitted and
another of our modules received must not leave into an air again: two modules would repeat it for
ever. Within one air it is an echo; from another air it is a packet for Receivers alone.

The sender is identified by, strongest first:
* An address of 64 or 48 bits, which is globally unique: one of ours is our echo, any other is not.
* A short address, which proves nothing by itself: foreign modules may use the same one (many are
  left at 0). It can only rule a sender out: a sender with a known short address uses no other.
* The content: the same bytes, sent by another of our modules within the air time. One transmission
  explains one reception per module, so a foreign module that repeats our bytes is received.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256

AIR_TIME_NS = 1_000_000_000
"""Longest time from handing a packet to one module until another module reports it."""

SKEW_NS = 250_000_000
"""Longest time between the reports of one transmission by two modules."""

LIMIT = 1024
"""Transmissions remembered, times the number of airs; the oldest is dropped first."""

_UNIQUE_DIGITS = 12
_LONGEST = 4096  # bytes remembered as they are


class Origin(Enum):
    """The sender of a received packet: another gateway or device.

    One of our modules in the same air; one of our modules in another air.
    """

    FOREIGN = "foreign"
    ECHO = "echo"
    SIBLING = "sibling"


def _content(data: bytes) -> bytes:
    """Return the part that equal bytes have in common, in bounded memory."""
    return data if len(data) <= _LONGEST else sha256(data).digest()


def normal(address: str) -> str:
    """Return an address in its normal form: upper case, without separators."""
    return address.replace(":", "").replace("-", "").upper()


def is_unique(address: str) -> bool:
    """Return whether a normal address is globally unique (long, not all zeros, not all ones)."""
    if len(address) < _UNIQUE_DIGITS or set(address) in ({"0"}, {"F"}):
        return False
    try:
        int(address, 16)
    except ValueError:
        return False
    return True


@dataclass(slots=True, eq=False)
class _Transmission:
    key: Hashable
    station: str
    expires_ns: int
    reported_by: set[str]
    air: str = ""
    owner: str | None = None
    left_ns: int = 0


class _Log:
    def __init__(self) -> None:
        self.limit = LIMIT
        self._in_order: deque[_Transmission] = deque()
        self._by_key: dict[Hashable, deque[_Transmission]] = {}

    def add(self, transmission: _Transmission) -> None:
        while len(self._in_order) >= self.limit:
            self._drop_oldest()
        self._in_order.append(transmission)
        self._by_key.setdefault(transmission.key, deque()).append(transmission)

    def find(self, key: Hashable, now: int) -> Iterable[_Transmission]:
        while self._in_order and self._in_order[0].expires_ns < now:
            self._drop_oldest()
        return (each for each in self._by_key.get(key, ()) if each.expires_ns >= now)

    def _drop_oldest(self) -> None:
        oldest = self._in_order.popleft()
        same = self._by_key[oldest.key]
        same.popleft()
        if not same:
            del self._by_key[oldest.key]


class _Air:
    def __init__(self) -> None:
        self.addresses: dict[str, frozenset[str]] = {}
        self.received = _Log()


class Airs:
    """Airs of one gateway.

    `now` is integer nanoseconds. travelled_ns: of the packet that `origin` was last asked about,
    since it left the module that sent it; None: not known. on_sent: called with what `sent` was,
    without its time, where other gateways may be in the air; on_own: when a module has other
    addresses.
    """

    def __init__(self) -> None:
        self.travelled_ns: int | None = None
        self.on_sent: Callable[[str, bytes, str, int, str | None, int], object] | None = None
        self.on_own: Callable[[], object] = lambda: None
        self._airs: dict[str, _Air] = {}
        self._ours: dict[str, int] = {}  # unique address -> how many of our modules have it
        self._stations: set[str] = set()
        self._sent = _Log()

    def own(self, air: str, station: str, addresses: Iterable[str]) -> None:
        """Add a module of ours to this air; it sends with one of these source addresses."""
        here = self._airs.setdefault(air, _Air())
        self._stations.add(station)
        self._sent.limit = LIMIT * len(self._airs)
        for address in here.addresses.get(station, ()):
            self._ours[address] -= 1
        here.addresses[station] = frozenset(normal(address) for address in addresses)
        for address in here.addresses[station]:
            self._ours[address] = self._ours.get(address, 0) + 1
        self.on_own()

    def addresses(self, air: str, station: str) -> frozenset[str]:
        """Return the source addresses of a module of ours, in their normal form."""
        here = self._airs.get(air)
        return frozenset() if here is None else here.addresses.get(station, frozenset())

    def sent(
        self,
        air: str,
        data: bytes,
        now: int,
        station: str = "",
        air_time_ns: int = AIR_TIME_NS,
        owner: str | None = None,
        line_ns: int = 0,
    ) -> None:
        """Record that our module `station` transmits these bytes.

        Args:
            owner: the robot that sent them, None for another sender.
            line_ns: time until the module has them.
        """
        if len(self._stations) > 1 and air in self._airs:
            if self.on_sent is not None:
                self.on_sent(air, data, station, air_time_ns, owner, line_ns)
            expires_ns, left_ns = now + air_time_ns, now + line_ns
            self._sent.add(
                _Transmission(_content(data), station, expires_ns, {station}, air, owner, left_ns)
            )

    def origin(
        self, air: str, station: str, address: str | None, data: bytes, now: int
    ) -> tuple[Origin, str | None]:
        """Return whether another of our modules transmitted the packet, and its robot."""
        source = normal(address) if address else ""
        here = self._airs.get(air)
        is_certain, self.travelled_ns = is_unique(source), None
        if not self._ours.get(source, 0) if is_certain else here is None:
            return Origin.FOREIGN, None
        nearest: _Transmission | None = None
        for transmission in self._sent.find(_content(data), now):
            if station in transmission.reported_by or not _possible(
                self._airs[transmission.air], transmission.station, source
            ):
                continue
            if transmission.air == air:
                nearest = transmission
                self.travelled_ns = now - transmission.left_ns
                break
            nearest = nearest or transmission
        if nearest is not None:
            nearest.reported_by.add(station)
        owner = None if nearest is None else nearest.owner
        if is_certain:
            in_air = here is not None and any(source in own for own in here.addresses.values())
            return Origin.ECHO if in_air else Origin.SIBLING, owner
        if nearest is None:
            return Origin.FOREIGN, None
        # Across airs the same bytes may as well be another device's echo, such as a board's.
        return (Origin.ECHO, owner) if nearest.air == air else (Origin.SIBLING, None)

    def is_duplicate(
        self, air: str, station: str, address: str | None, data: bytes, now: int
    ) -> bool:
        """Return whether another of our modules in this air has reported the same transmission.

        Call it for packets that are not echoes. The same sender and the same bytes within SKEW_NS
        are one transmission, unless this module has received it before.
        """
        here = self._airs.get(air)
        if here is None or len(here.addresses) < 2:
            return False
        key = (normal(address) if address else "", _content(data))
        for transmission in here.received.find(key, now):
            if station not in transmission.reported_by:
                transmission.reported_by.add(station)
                return True
        here.received.add(_Transmission(key, station, now + SKEW_NS, {station}))
        return False


def _possible(air: _Air, sender: str, source: str) -> bool:
    if not source:
        return True
    if sender:
        known = air.addresses.get(sender, frozenset())
    else:
        known = frozenset().union(*air.addresses.values())
    shorts = {address for address in known if not is_unique(address)}
    return source in known or (not shorts and not is_unique(source))
