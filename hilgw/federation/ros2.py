"""Packets as messages of a ROS 2 topic, as the middleware rmw_zenoh has them on Zenoh.

Sources, of github.com/ros2/rmw_zenoh: docs/design.md (keys, attachment), `liveliness_utils.cpp`
(tokens, QoS, GID), `attachment_helpers.cpp`, `qos.cpp` (defaults), `rmw_publisher_data.cpp`
(sequence numbers). They hold from ROS 2 Jazzy on: in Humble keys have no type hash. Not tested with
ROS 2 itself.

The message is std_msgs/msg/UInt8MultiArray with an empty layout.
"""

import re
import struct
import time
from collections.abc import Sequence
from hashlib import blake2b

import xxhash

from hilgw.config.model import Ros2Config
from hilgw.engine.observer import Observer
from hilgw.federation.session import ZenohSession
from hilgw.medium.medium import Missed
from hilgw.medium.packet import BROADCAST, Packet
from hilgw.reasons import NotReceivedReason
from hilgw.records import dataclass

TYPE = "std_msgs::msg::dds_::UInt8MultiArray_"
# REP 2016; rosidl writes it into std_msgs, and the hash of the definition is the same.
TYPE_HASH = "RIHS01_5687e861b8d307a5e48b7515467ae7a5fc2daf805bd0ce6d8e9e604bade9f385"
NAMESPACE = "/hilgw"
# Reliable, volatile, keep the last 10, no deadline: of these only the depth is not rmw_zenoh's
# default (42), and a default is an empty field.
QOS = "::,10:,:,:,,"
FIRST_SEQUENCE = 1
LONGEST_TOPIC = 247  # RMW_TOPIC_MAX_NAME_LENGTH
MOST_TOPICS = 1024

_CDR = struct.Struct("<BBHIII")  # encapsulation of plain CDR, little-endian; layout; length of data
_CDR_LE = 0, 1, 0
_EMPTY_LAYOUT = 0, 0  # no dimensions, data_offset
_ATTACHMENT = struct.Struct("<qqB16s")
_GID_SIZE = 16
# A digit or _ at the start and a _ before another one or at the end are not valid, or hide a topic.
_ESCAPED = re.compile(r"\A[0-9_]|[^A-Za-z0-9_]|Q|_(?=_|\Z)")


def name(text: str) -> str:
    """Return a valid ROS 2 name of a node, or of a part of a topic; different texts differ.

    Letters, digits and _ stay. Q, which is rare, encloses the code point of any other character:
    "e-puck" becomes "eQ2dQpuck".
    """
    return _ESCAPED.sub(lambda match: f"Q{ord(match[0]):x}Q", text) or "QQ"


def topic(source: str, type: str, channel: int, namespace: str = NAMESPACE) -> str:
    """Return the topic of the packets of one source on one channel; different sources differ.

    Sources are "rover.emitter" or "xbee0"; a topic is "/hilgw/rover/emitter/radio_1". A source
    whose topic would be too long for ROS 2 has its hash there, after a single Q. `namespace` is
    "/", or valid names behind a slash each, short enough for the rest.
    """
    on = name(f"{type.replace('-', '_')}_{'all' if channel == BROADCAST else channel}")
    base = namespace.rstrip("/")
    readable = "/".join([base, *map(name, source.split(".")), on])
    if len(readable) <= LONGEST_TOPIC:
        return readable
    return f"{base}/Q{blake2b(name(source).encode(), digest_size=16).hexdigest()}/{on}"


@dataclass(frozen=True)
class Ros2Node:
    """The node of one gateway.

    domain: ROS_DOMAIN_ID. session: the Zenoh id of its session as text, `str(session.zid())`. name:
    a valid name (`name`). namespace: as for `topic`. id: unique among the nodes and publishers of
    the session.
    """

    domain: int
    session: str
    name: str
    namespace: str = NAMESPACE
    id: int = 0

    @property
    def token(self) -> str:
        """Key of its liveliness token, which shows it in `ros2 node list`."""
        return _token(self, self.id, "NN")


class Publisher:
    """A publisher of one topic.

    topic: an absolute name (`topic`). id: unique among the nodes and publishers of the session.
    key: where its messages are put. token: key of its liveliness token, which shows the topic in
    `ros2 topic list`. gid: identifies it in its messages.
    """

    def __init__(self, node: Ros2Node, topic: str, id: int) -> None:
        self.node = node
        self.topic = topic
        self.key = f"{node.domain}/{topic.strip('/')}/{TYPE}/{TYPE_HASH}"
        self.token = _token(node, id, "MP", _mangled(topic), TYPE, TYPE_HASH, QOS)
        # The lower 64 bits first, each half little-endian.
        self.gid = xxhash.xxh3_128_intdigest(self.token.encode()).to_bytes(_GID_SIZE, "little")

    def payload(self, data: bytes) -> bytes:
        """Return the message in CDR."""
        return _CDR.pack(*_CDR_LE, *_EMPTY_LAYOUT, len(data)) + data

    def attachment(self, sequence: int, wall_ns: int) -> bytes:
        """Return the attachment that rmw_zenoh requires: it drops a message without it.

        Args:
          sequence: FIRST_SEQUENCE for the first message of this publisher, one more for each; a
              gap is a lost message.
          wall_ns: when the packet was sent, nanoseconds since 1970.
        """
        return _ATTACHMENT.pack(sequence, wall_ns, _GID_SIZE, self.gid)


def _token(node: Ros2Node, id: int, kind: str, *more: str) -> str:
    part_of = node.session, str(node.id), str(id), kind, "%", _mangled(node.namespace)
    return "/".join(("@ros2_lv", str(node.domain), *part_of, node.name, *more))


def _mangled(absolute: str) -> str:
    return absolute.replace("/", "%")


class Ros2Topics(Observer):
    """Publisher of each packet that this gateway puts on the medium.

    gateway: its name as a node. left_out: packets of topics beyond MOST_TOPICS.
    """

    def __init__(self, config: Ros2Config, gateway: str, session: ZenohSession) -> None:
        self.left_out = 0
        self._session = session
        self._namespace = f"/{config.namespace}"
        self._node = Ros2Node(config.domain, session.id, name(gateway), self._namespace)
        self._publishers: dict[tuple[str, str, int], tuple[Publisher, int]] = {}
        session.live(self._node.token)

    def transmitted(
        self,
        packet: Packet,
        listeners: Sequence[str],
        not_received: NotReceivedReason | None,
        missed: Missed,
    ) -> None:
        if packet.gateway:  # its own gateway publishes it
            return
        key = packet.source, packet.type, packet.channel
        known = self._publishers.get(key)
        if known is None:
            if len(self._publishers) >= MOST_TOPICS:
                self.left_out += 1
                return
            topic_name = topic(*key, self._namespace)
            made = Publisher(self._node, topic_name, len(self._publishers) + 1)
            self._session.live(made.token)
            known = made, FIRST_SEQUENCE
        publisher, sequence = known
        self._publishers[key] = publisher, sequence + 1
        attachment = publisher.attachment(sequence, time.time_ns())
        self._session.offer(publisher.key, publisher.payload(packet.data), attachment)
