"""Keys and payloads on Zenoh: docs/distributed.md has them for other programs. Pure.

Below `hilgw/NETWORK/`:

    packet/SENDER/TYPE/CHANNEL   a packet: its bytes; CHANNEL "all" is a broadcast
    member/NAME/ID/VERSION       liveliness token of a gateway; ID: of this run, 16 hex digits
    state/NAME                   published and queried: what a gateway has (`State`)
    link/NAME                    queried: how many packets it received (`LinkQuery`, `LinkAnswer`)
    sent/NAME                    a module transmits these bytes in an air (`AirSent`)
    pose/NAME/OBJECT             the pose of an object (`PoseMessage`)
    status/NAME                  queried: the counts of a gateway

The attachment of a packet is a JSON object (`Head`, every key may be left out), which another
program may send alone. A gateway adds a zero byte and, little endian: version u8, its ID u64, the
time it was sent i64 (ns of the sender's clock), and for each gateway that the packet is for its ID
u64 and the number of the packet in the stream to it u64.
"""

import json
import math
import re
from collections.abc import Iterable
from dataclasses import field
from struct import Struct
from typing import Annotated, Any, NamedTuple, TypeVar
from urllib.parse import quote

from hilgw.devices.fields import BROADCAST, CHANNEL_MAX, TYPES
from hilgw.errors import ConfigError, HilgwError
from hilgw.forms import Must, decode
from hilgw.medium.pose import Pose
from hilgw.protocols.gateway.messages import keys_of
from hilgw.records import record, unique_record
from hilgw.units import NS_PER_S

VERSION = 1
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
LONGEST_HEAD = 4096
LONGEST_TEXT = 256
MOST_CHANNELS = 64  # each a subscription; a gateway that listens to more gets all
LONGEST_STATE, LONGEST_ANSWER = 1 << 20, 1 << 15
_ALL = "all"
_TRAILER = Struct("<BQq")
_NUMBER = Struct("<QQ")
_FOR_ONE = Struct("<BQqQQ")  # both, as most packets are for one gateway
_CHANNEL = re.compile(r"0|[1-9][0-9]{0,9}")

_ENCODE = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=keys_of).encode

T = TypeVar("T")
Name = Annotated[str, Must("a name of A-Z a-z 0-9 _ -", NAME.fullmatch)]
Text = Annotated[
    str, Must("a short text", lambda text: len(text) <= LONGEST_TEXT and text.isprintable())
]
Count = Annotated[int, Must("a count", lambda number: 0 <= number < 1 << 62)]
Duration = Annotated[int, Must("ns, below an hour", lambda number: 0 <= number < 3600 * NS_PER_S)]
Number = Annotated[float, Must("a finite number", math.isfinite)]
Vector = tuple[Number, Number, Number]
Quaternion = tuple[Number, Number, Number, Number]
Channels = list[int] | None
MOST_REACHED = 256
Reached = Annotated[
    list[Name] | None,
    Must("at most 256 names", lambda names: names is None or len(names) <= MOST_REACHED),
]


class Malformed(HilgwError):
    """A sample that is not of this protocol."""


# --- keys -----------------------------------------------------------------------------------------


class Keys:
    """The keys of one network. name: of the own gateway."""

    def __init__(self, network: str, name: str) -> None:
        self.base = f"hilgw/{network}"
        self.name = name

    def packet(self, type: str, channel: int) -> str:
        """Return the key of a packet that this gateway sends."""
        return f"{self.base}/packet/{self.name}/{type}/{_ALL if channel == BROADCAST else channel}"

    def packets(self, type: str, channel: int | None) -> str:
        """Return the key of all gateways' packets on a channel; None: on all of them."""
        where = "*" if channel is None else _ALL if channel == BROADCAST else str(channel)
        return f"{self.base}/packet/*/{type}/{where}"

    def own(self, kind: str, *more: str) -> str:
        """Return a key of this gateway."""
        return "/".join((self.base, kind, self.name, *more))

    def of(self, kind: str, name: str) -> str:
        """Return a key of another gateway; name *: of all."""
        return f"{self.base}/{kind}/{name}"

    def poses(self, object: str) -> str:
        """Return the key of this object's poses, from any gateway."""
        return f"{self.base}/pose/*/{quote(object, safe='')}"

    def pose(self, object: str) -> str:
        return self.own("pose", quote(object, safe=""))


class PacketKey(NamedTuple):
    """The key of a packet."""

    sender: str
    type: str
    channel: int


def packet_key(key: str) -> PacketKey:
    """Return the parts of the key of a packet, or raise Malformed."""
    *_, sender, type, channel = key.split("/")
    if not NAME.fullmatch(sender) or type not in TYPES:
        raise Malformed(f"{key:.200} is not the key of a packet")
    if channel == _ALL:
        return PacketKey(sender, type, BROADCAST)
    if not _CHANNEL.fullmatch(channel) or int(channel) > CHANNEL_MAX:
        raise Malformed(f"{key:.200} has no channel")
    return PacketKey(sender, type, int(channel))


class MemberKey(NamedTuple):
    """A liveliness token."""

    name: str
    id: int
    version: int


def member_key(key: str) -> MemberKey:
    """Return the parts of a liveliness token, or raise Malformed."""
    *_, name, id, version = key.split("/")
    if NAME.fullmatch(name) and re.fullmatch("[0-9a-f]{16}", id) and version.isdecimal():
        return MemberKey(name, int(id, 16), int(version[:9]))
    raise Malformed(f"{key:.200} is not the key of a gateway")


# --- packets --------------------------------------------------------------------------------------


@unique_record
class Head:
    """Data of a packet besides its bytes.

    source: the device that sent it. owner: the robot that counts as its sender. on: the object that
    carries the device. air: where it came from; served: the airs with modules of several gateways,
    and the gateway whose module sends it there. position (metres), rotation (quaternion x, y, z,
    w): of the device. range, aperture: of the Emitter, -1: not limited.
    """

    source: Text = ""
    owner: Text | None = None
    on: Text | None = None
    air: Text | None = None
    address: Text | None = None
    served: dict[Text, Text] = field(default_factory=dict)
    position: Vector | None = None
    rotation: Quaternion = (0.0, 0.0, 0.0, 1.0)
    range: Number = -1.0
    aperture: Number = -1.0
    rssi_dbm: Number | None = None
    rssi_at_1m_dbm: Number = -40.0
    rssi_uncertain: bool = False
    is_own: bool = False


def encode_json(message: Any) -> bytes:
    """Return a message as JSON, without fields at their defaults."""
    return _ENCODE(keys_of(message)).encode()


def decode_json(kind: type[T], data: bytes, longest: int = LONGEST_STATE) -> T:
    """Return the message of this kind, or raise Malformed."""
    if len(data) > longest:
        raise Malformed(f"{len(data)} B are too long")
    try:
        given = json.loads(data)
        if not isinstance(given, dict):
            raise Malformed("is not a JSON object")
        return decode(kind, given)
    except (ValueError, RecursionError, HilgwError) as error:
        raise Malformed(f"{error!s:.200}") from None


def trailer(sender: int, sent_ns: int, numbers: list[tuple[int, int]]) -> bytes:
    """Return the bytes that a gateway adds to the head of a packet, after a zero byte.

    `numbers` has an ID and a number for each receiver.
    """
    if len(numbers) == 1:
        return b"\0" + _FOR_ONE.pack(VERSION, sender, sent_ns, *numbers[0])
    tail = b"".join([_NUMBER.pack(*each) for each in numbers])
    return b"\0" + _TRAILER.pack(VERSION, sender, sent_ns) + tail


def decode_trailer(data: bytes, own: int) -> tuple[int, int, int | None]:
    """Return the sender's ID, the time it was sent, and the number of the packet.

    The number is that in the stream to the gateway of the ID `own`; None: the packet is not for it.

    Raises:
      Malformed: the data is not a trailer.
    """
    if len(data) == _FOR_ONE.size:
        version, sender, sent_ns, id, number = _FOR_ONE.unpack(data)
        if version == VERSION and id == own:
            return sender, sent_ns, number
    if (len(data) - _TRAILER.size) % _NUMBER.size or len(data) < _TRAILER.size:
        raise Malformed("the numbers are cut off")
    version, sender, sent_ns = _TRAILER.unpack_from(data)
    if version != VERSION:
        raise Malformed(f"version {version} of the packet")
    for offset in range(_TRAILER.size, len(data), _NUMBER.size):
        id, number = _NUMBER.unpack_from(data, offset)
        if id == own:
            return sender, sent_ns, number
    return sender, sent_ns, None


def pose_of(message: "Head | PoseMessage") -> Pose | None:
    """Return the pose in a message; None if unknown, or raise ConfigError."""
    if message.position is None:
        return None
    return Pose.from_quaternion(message.position, message.rotation)


def decode_head(data: bytes) -> tuple[Head, Pose | None]:
    """Return the head and the pose of the device; None if unknown, or raise Malformed."""
    if not data:
        return Head(), None
    head = decode_json(Head, data, LONGEST_HEAD)
    try:
        return head, pose_of(head)
    except ConfigError as error:
        raise Malformed(error.what) from None


# --- the other messages ---------------------------------------------------------------------------


@record
class ListenerState:
    """A listener of a gateway. channels: null: all. air: of a module, where others may be in it."""

    type: Text
    channels: Channels = None
    air: Text | None = None
    addresses: list[Text] = field(default_factory=list)


@record
class GatewayState:
    """The state of a gateway.

    revision: a later state has a larger one. unknown: objects whose poses it wants. uptime_ms:
    since it joined. leaving: it ends; acknowledged: then, the streams that came to it, by ID of the
    sender.
    """

    id: Text
    hilgw: Text = ""
    uptime_ms: Count = 0
    revision: Count = 0
    listeners: dict[Text, ListenerState] = field(default_factory=dict)
    robots: dict[Text, list[Text]] = field(default_factory=dict)
    unknown: list[Text] = field(default_factory=list)
    leaving: bool = False
    acknowledged: dict[str, dict[str, tuple[Count, Count]]] = field(default_factory=dict)


@record
class LinkQuery:
    """A query of the gateway of this name and ID, which joined this long ago.

    sent: type -> packets so far; the other one then asks for itself, if it has not all of them.
    reaches: it also asks which gateways the other one reaches.
    """

    name: Name
    id: Text
    sent: dict[str, Count] = field(default_factory=dict)
    uptime_ms: Count = 0
    reaches: bool = False


@record
class LinkAnswer:
    """An answer of the gateway of this ID.

    received_ns, sent_ns: of the query and the answer, by its clock. streams: type -> received and
    lost; sent: type -> packets to the one that asks. Both are empty if the query came from a
    gateway not known yet. namesake: the ID of another gateway that has the name of the one that
    asks, and joined this long ago. reaches: by name; null: it was not asked.
    """

    id: Text
    received_ns: Count
    sent_ns: Count
    streams: dict[str, tuple[Count, Count]] = field(default_factory=dict)
    sent: dict[str, Count] = field(default_factory=dict)
    namesake: Text = ""
    namesake_uptime_ms: Count = 0
    reaches: Reached = None


@record
class AirSent:
    """A transmission of the payload by a module in an air.

    owner: the robot that sent it. Times: see `Airs.sent`.
    """

    air: Text
    station: Text
    owner: Text | None = None
    air_time_ns: Duration = 0
    line_ns: Duration = 0


@record
class PoseMessage:
    """The pose of an object. position null: unknown from now on."""

    object: Text
    position: Vector | None = None
    rotation: Quaternion = (0.0, 0.0, 0.0, 1.0)


@record
class NetworkCounts:
    """The counts of a gateway: of its ledger as in its report, of each other gateway by name."""

    name: Name
    id: Text
    ledger: dict[Text, Any]
    losses: dict[Text, Any]
    violations: list[Text]
    members: dict[Text, Any]


def id_text(id: int) -> str:
    """Return an ID as in messages."""
    return f"{id:016x}"


# --- what a gateway subscribes to -----------------------------------------------------------------


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
