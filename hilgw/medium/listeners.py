"""The listeners of a medium, indexed by type, channel and position.

A packet costs nothing for listeners on other channels and little for those far out of range.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from random import Random

from hilgw.errors import ConfigError
from hilgw.medium.ledger import StationCount
from hilgw.medium.packet import BROADCAST, UNKNOWN_DIRECTION, Copy, Packet
from hilgw.medium.pose import IDENTITY, Pose, Vector
from hilgw.reasons import NotReceivedReason

FEW = 32  # up to this many listeners are checked one by one
_LEVELS = range(-4, 11)  # edge lengths of cells: 2^-4 m .. 2^10 m
_UNKNOWN = (0, 0, 1 << 70)  # the cell of listeners without a position; no real cell is so far out
_ORDER = attrgetter("order")
_EVERYONE = BROADCAST  # the bucket with all listeners of a type, next to those per channel

Cell = tuple[int, int, int]


@dataclass(slots=True, eq=False, kw_only=True)
class Listener:
    """A Receiver, a hardware station or a neighbour on a medium.

    owner: the robot it belongs to, None for a module without a robot. air: the air the module
    transmits in, None for a simulated Receiver. relay: accepts packets from another air. channels:
    the channels it listens to, None: all; of the modules of one air, one that names the channel
    comes before one that listens to all. deliver: takes each copy, and counts it. on_fault: gets
    what `deliver` raises; None: the observer gets a notice. mounted_on: the object it moves with
    (default: its owner, else itself). mount: its pose on that object. is_neighbour: another
    gateway, which gets the packets of this one whatever their range, with the pose of the sender.

    `enabled`, `relay` and the noises may be set at any time; change channels and pose with
    `Medium.retune` and `place`, which update the index.
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
    mounted_on: str = ""
    mount: Pose = IDENTITY
    enabled: bool = True
    is_neighbour: bool = False
    signal_strength_noise: float = 0.0
    direction_noise: float = 0.0
    on_fault: Callable[[Exception], None] | None = None
    # Kept by the medium:
    order: int = field(default=0, init=False)
    noise: Random = field(default_factory=Random, init=False)
    count: StationCount = field(default_factory=lambda: StationCount(""), init=False)

    def __post_init__(self) -> None:
        self.mounted_on = self.mounted_on or self.owner or self.name


class Listeners:
    """Listeners by type and channel, in the order they were attached. by_name: to look them up."""

    def __init__(self) -> None:
        self.by_name: dict[str, Listener] = {}
        self._by_object: dict[str, dict[str, Listener]] = {}
        self._buckets: dict[tuple[str, int | None], Bucket] = {}
        self._owners: dict[str, Counter[str | None]] = {}
        self._on_channel: dict[tuple[str, int], list[Listener]] = {}
        self._attached = 0

    def add(self, listener: Listener) -> None:
        """Add a listener. Raises ConfigError when the name is in use."""
        if listener.name in self.by_name:
            raise ConfigError("two stations have this name", where=listener.name)
        self._attached += 1
        listener.order = self._attached
        self.by_name[listener.name] = listener
        self._by_object.setdefault(listener.mounted_on, {})[listener.name] = listener
        self._owners.setdefault(listener.type, Counter())[listener.owner] += 1
        self._index(listener)

    def remove(self, name: str) -> None:
        """Remove a listener, if it exists."""
        listener = self.by_name.pop(name, None)
        if listener is None:
            return
        self._unindex(listener)
        del self._by_object[listener.mounted_on][name]
        owners = self._owners[listener.type]
        owners[listener.owner] -= 1
        if not owners[listener.owner]:
            del owners[listener.owner]

    def on_object(self, name: str) -> Iterable[Listener]:
        """Return the listeners that move with this object."""
        return self._by_object.get(name, {}).values()

    def retune(self, listener: Listener, channels: frozenset[int] | None) -> None:
        """Change the channels that this listener receives on."""
        self._unindex(listener)
        listener.channels = channels
        self._index(listener)

    def move(self, listener: Listener, pose: Pose | None) -> None:
        before, listener.pose = listener.pose, pose
        for key in self._keys(listener):
            self._buckets[key].moved(listener, before)

    def on_channel(self, packet: Packet) -> list[Listener]:
        """Return all listeners of the packet's type on its channel, in order of attachment."""
        way = packet.type, packet.channel
        if (known := self._on_channel.get(way)) is not None:
            return known
        buckets = self._listening(packet)
        if len(buckets) == 1:
            listeners = buckets[0].all()
        else:
            listeners = sorted((each for bucket in buckets for each in bucket.all()), key=_ORDER)
        if way in self._buckets:  # else one of any number of channels
            self._on_channel[way] = listeners
        return listeners

    def near(self, packet: Packet, pose: Pose) -> list[Listener] | None:
        """Return the listeners on the channel that may be in range, in order of attachment.

        These are in range or have no pose. None when the index would not save anything.
        """
        listeners: list[Listener] = []
        saved = False
        for bucket in self._listening(packet):
            near = bucket.near(pose.position, packet.range)
            saved = saved or near is not None
            listeners.extend(bucket.all() if near is None else near)
        if not saved:
            return None
        position, range, dist = pose.position, packet.range, math.dist
        listeners = [
            each
            for each in listeners
            if each.pose is None or dist(position, each.pose.position) <= range
        ]
        listeners.sort(key=_ORDER)
        return listeners

    def reason_without_listener(self, packet: Packet) -> NotReceivedReason:
        """Return the reason why a packet has no listener on its channel."""
        owners = self._owners.get(packet.type)
        if not owners:
            return NotReceivedReason.NO_LISTENER
        if len(owners) == 1 and packet.owner is not None and packet.owner in owners:
            return NotReceivedReason.NO_LISTENER
        return NotReceivedReason.CHANNEL

    def _listening(self, packet: Packet) -> "list[Bucket]":
        tuned = self._buckets.get((packet.type, packet.channel))
        if packet.channel == _EVERYONE:
            return [tuned] if tuned else []
        to_all = self._buckets.get((packet.type, None))
        return [each for each in (tuned, to_all) if each is not None]

    def _index(self, listener: Listener) -> None:
        self._on_channel.clear()
        for key in self._keys(listener):
            self._buckets.setdefault(key, Bucket()).add(listener)

    def _unindex(self, listener: Listener) -> None:
        self._on_channel.clear()
        for key in self._keys(listener):
            self._buckets[key].remove(listener)
            if not self._buckets[key]:
                del self._buckets[key]

    def _keys(self, listener: Listener) -> Iterable[tuple[str, int | None]]:
        channels = listener.channels
        yield (listener.type, _EVERYONE)
        if channels is None or BROADCAST in channels:
            yield (listener.type, None)
        else:
            for channel in channels:
                yield (listener.type, channel)


class Bucket:
    """Listeners of one type and channel, with one grid of cells per order of magnitude of range."""

    def __init__(self) -> None:
        self._members: dict[str, Listener] = {}
        self._in_order: list[Listener] | None = None
        self._grids: dict[int, dict[Cell, dict[str, Listener]]] = {}

    def __len__(self) -> int:
        return len(self._members)

    def add(self, listener: Listener) -> None:
        self._members[listener.name] = listener
        self._in_order = None
        for level, grid in self._grids.items():
            _put_in(grid, level, listener, listener.pose)

    def remove(self, listener: Listener) -> None:
        del self._members[listener.name]
        self._in_order = None
        for level, grid in self._grids.items():
            _take_out(grid, level, listener, listener.pose)

    def moved(self, listener: Listener, before: Pose | None) -> None:
        """Update the grids after a listener moved from `before` to its pose."""
        for level, grid in self._grids.items():
            if _cell(level, before) != _cell(level, listener.pose):
                _take_out(grid, level, listener, before)
                _put_in(grid, level, listener, listener.pose)

    def all(self) -> list[Listener]:
        """Return all listeners, in order of attachment."""
        if self._in_order is None:
            self._in_order = sorted(self._members.values(), key=_ORDER)
        return self._in_order

    def near(self, position: Vector, reach: float) -> Iterator[Listener] | None:
        """Yield the listeners that may be in range or have no pose, in any order.

        Returns:
            None when checking all of them is as fast.
        """
        level = _level(reach)
        if level is None or len(self._members) <= FEW:
            return None
        if level not in self._grids:
            self._grids[level] = {}
            for listener in self._members.values():
                _put_in(self._grids[level], level, listener, listener.pose)
        grid, edge = self._grids[level], 2.0**level
        spans = (
            range(math.floor((centre - reach) / edge), math.floor((centre + reach) / edge) + 1)
            for centre in position
        )
        inside = (grid[cell].values() for cell in itertools.product(*spans) if cell in grid)
        unknown: Iterable[Listener] = grid.get(_UNKNOWN, {}).values()
        return itertools.chain(itertools.chain.from_iterable(inside), unknown)


def _level(range: float) -> int | None:
    """Return the smallest cell edge that is not below the range, as a power of two."""
    if not 0.0 < range <= 2.0 ** _LEVELS[-1]:
        return _LEVELS[0] if range == 0.0 else None
    return max(_LEVELS[0], math.ceil(math.log2(range)))


def _cell(level: int, pose: Pose | None) -> Cell:
    if pose is None:
        return _UNKNOWN
    edge = 2.0**level
    x, y, z = pose.position
    return (math.floor(x / edge), math.floor(y / edge), math.floor(z / edge))


def _put_in(
    grid: dict[Cell, dict[str, Listener]], level: int, listener: Listener, pose: Pose | None
) -> None:
    grid.setdefault(_cell(level, pose), {})[listener.name] = listener


def _take_out(
    grid: dict[Cell, dict[str, Listener]], level: int, listener: Listener, pose: Pose | None
) -> None:
    cell = _cell(level, pose)
    listeners = grid[cell]
    del listeners[listener.name]
    if not listeners:
        del grid[cell]


_STAGE: dict[str, int] = {reason: index for index, reason in enumerate(NotReceivedReason)}
_EDGE_RAD = 1e-9  # rounding tolerance: the edge of the cone counts as inside


class OutOfRange(str):
    """The reason `range` of one listener, with its numbers in metres. limit: of the packet."""

    __slots__ = ("distance", "limit")
    distance: float
    limit: float

    @classmethod
    def of(cls, limit: float, distance: float) -> "OutOfRange":
        reason = cls(NotReceivedReason.RANGE.value)
        reason.limit, reason.distance = limit, distance
        return reason


def stage(reason: str) -> int:
    """Return the index of the check that failed; any other reason comes last."""
    return _STAGE.get(reason, len(_STAGE))


def later(reason: NotReceivedReason, other: NotReceivedReason) -> NotReceivedReason:
    """Return the reason of the later check."""
    return reason if _STAGE[reason] >= _STAGE[other] else other


def exclusion(packet: Packet, listener: Listener) -> NotReceivedReason | None:
    """Return why this listener on the channel must not receive the packet; None when it may.

    A listener never receives its own robot's packets.
    """
    if packet.owner is not None and packet.owner == listener.owner:
        return NotReceivedReason.NO_LISTENER
    if packet.source == listener.name:
        return NotReceivedReason.NO_LISTENER if packet.air is None else NotReceivedReason.AIR
    if packet.gateway:
        if listener.is_neighbour:  # the gateway that it came from has given it to all others
            return NotReceivedReason.NO_LISTENER
        if listener.air is not None and listener.air in packet.served:
            return NotReceivedReason.OTHER_MODULE
    between_airs = packet.air is not None and listener.air is not None
    if between_airs and (packet.is_own or packet.air == listener.air or not listener.relay):
        return NotReceivedReason.AIR
    return None if listener.enabled else NotReceivedReason.DISABLED


def within_cone(apex: Pose, axis: int, aperture: float, point: Vector) -> bool:
    """Return whether a point lies in the cone at `apex`, edge included.

    Aperture -1: any direction.
    """
    if aperture < 0.0:
        return True
    x, y, z = point[0] - apex.position[0], point[1] - apex.position[1], point[2] - apex.position[2]
    ax, ay, az = apex.axis(axis)
    across = math.hypot(y * az - z * ay, z * ax - x * az, x * ay - y * ax)
    return math.atan2(across, x * ax + y * ay + z * az) <= aperture / 2 + _EDGE_RAD


def signal_strength(packet: Packet, distance: float, listener: Listener) -> float:
    """Return the signal strength from the RSSI, else 1 / distance^2; NaN when neither is known."""
    if packet.rssi_dbm is not None:
        strength = math.pow(10.0, min((packet.rssi_dbm - packet.rssi_at_1m_dbm) / 10.0, 300.0))
    else:
        square = distance * distance
        if square == 0.0:
            return math.inf
        strength = 1.0 / square
    if listener.signal_strength_noise:
        noise = listener.signal_strength_noise * listener.noise.gauss(0.0, 1.0)
        return max(strength * (1.0 + noise), 0.0)
    return strength


def direction(listener: Listener, emitter: Pose | None, distance: float) -> Vector:
    """Return the unit vector to the emitter in the listener's frame; NaN x 3 if undefined.

    The noise is added to the vector before it is normalised, in proportion to the distance.
    """
    if emitter is None or listener.pose is None:
        return UNKNOWN_DIRECTION
    x, y, z = listener.pose.to_local(emitter.position)
    if listener.direction_noise:
        spread, gauss = distance * listener.direction_noise, listener.noise.gauss
        x += spread * gauss(0.0, 1.0)
        y += spread * gauss(0.0, 1.0)
        z += spread * gauss(0.0, 1.0)
        distance = math.hypot(x, y, z)
    if distance == 0.0:
        return UNKNOWN_DIRECTION
    return (x / distance, y / distance, z / distance)
