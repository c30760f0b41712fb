"""Keys and payloads, also as ROS 2 topics: what is encoded comes back, the rest is Malformed."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple
from typing import Any

import pytest
import zenoh
import zenoh_ros2_sdk as sdk
from hypothesis import assume, example, given, strategies as st
from rosbags import typesys as rosbags
from zenoh_ros2_sdk import utils
from zenoh_ros2_sdk.attachment import Attachment
from zenoh_ros2_sdk.entity import EndpointEntity, EntityKind, NodeEntity
from zenoh_ros2_sdk.keyexpr import (
    endpoint_liveliness_keyexpr,
    node_liveliness_keyexpr,
    topic_keyexpr,
)
from zenoh_ros2_sdk.qos import DEFAULT_QOS_PROFILE

from hilgw.devices.fields import BROADCAST, CHANNEL_MAX, TYPES
from hilgw.federation import wire
from hilgw.federation.ros2 import FIRST_SEQUENCE, LONGEST_TOPIC, Publisher, Ros2Node, name, topic
from hilgw.federation.wire import MOST_CHANNELS, channels_of, wanted_keys
from hilgw.testing.sim import wait_until
from tests.e2e.running import HOST, free_port

OWN, OTHER = 0x0123456789ABCDEF, 7
TEXTS = st.text(st.characters(exclude_categories=["C", "Z"]), max_size=20)
NUMBERS = st.floats(-1e8, 1e8, allow_nan=False)
IDS = st.integers(0, 2**64 - 1)
HEADS = st.builds(
    wire.Head,
    source=TEXTS,
    owner=st.none() | TEXTS,
    air=st.none() | TEXTS,
    address=st.none() | TEXTS,
    served=st.dictionaries(TEXTS, TEXTS, max_size=3),
    position=st.none() | st.tuples(NUMBERS, NUMBERS, NUMBERS),
    range=NUMBERS,
    rssi_dbm=st.none() | NUMBERS,
    is_own=st.booleans(),
)
COUNTS = st.integers(0, 2**62 - 1)
STREAMS = st.dictionaries(st.sampled_from(sorted(TYPES)), st.tuples(COUNTS, COUNTS))
LISTENERS = st.builds(
    wire.ListenerState,
    type=st.sampled_from([*sorted(TYPES), "sound"]),
    channels=st.none() | st.lists(st.integers(-1, 200), max_size=80),
    air=st.none() | TEXTS,
    addresses=st.lists(TEXTS, max_size=2),
)
MESSAGES = st.one_of(
    HEADS,
    st.builds(wire.GatewayState, id=TEXTS, listeners=st.dictionaries(TEXTS, LISTENERS, max_size=3)),
    st.builds(wire.LinkAnswer, id=TEXTS, received_ns=COUNTS, sent_ns=COUNTS, streams=STREAMS),
    st.builds(wire.AirSent, air=TEXTS, station=TEXTS, air_time_ns=st.integers(0, 10**12)),
    st.builds(wire.PoseMessage, object=TEXTS, position=st.tuples(NUMBERS, NUMBERS, NUMBERS)),
)
KINDS = (
    wire.Head,
    wire.GatewayState,
    wire.LinkQuery,
    wire.LinkAnswer,
    wire.AirSent,
    wire.PoseMessage,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(MESSAGES)
def test_messages_come_back(message: Any) -> None:
    made = wire.decode_json(type(message), wire.encode_json(message))
    assert astuple(made) == astuple(message)


def attachment(data: bytes) -> tuple[tuple[Any, Any], tuple[int, int, int | None] | None]:
    """Head and trailer, decoded."""
    head, zero, trailer = data.partition(b"\0")
    return wire.decode_head(head), wire.decode_trailer(trailer, OWN) if zero else None


@given(HEADS, IDS, st.integers(-(2**63), 2**63 - 1), st.lists(st.tuples(IDS, IDS), max_size=4))
def test_attachments_come_back(
    head: wire.Head, sender: int, sent_ns: int, numbers: list[tuple[int, int]]
) -> None:
    data = wire.encode_json(head)
    (decoded, pose), trailer = attachment(data)
    assert (astuple(decoded), pose, trailer) == (astuple(head), wire.pose_of(head), None)
    (decoded, pose), trailer = attachment(data + wire.trailer(sender, sent_ns, numbers))
    mine = dict(reversed(numbers)).get(OWN)
    assert (astuple(decoded), pose, trailer) == (
        astuple(head),
        wire.pose_of(head),
        (sender, sent_ns, mine),
    )
    _, trailer = attachment(data + wire.trailer(sender, sent_ns, [*numbers, (OWN, 5)]))
    assert trailer == (sender, sent_ns, 5 if mine is None else mine)


@given(st.sampled_from(sorted(TYPES)), st.integers(-1, CHANNEL_MAX))
def test_keys_come_back(type: str, channel: int) -> None:
    keys = wire.Keys("lab", "bench")
    assert wire.packet_key(keys.packet(type, channel)) == ("bench", type, channel)
    token = keys.own("member", wire.id_text(OWN), "1")
    assert wire.member_key(token) == ("bench", OWN, 1)


def malformed_or_fine(call: Any, *given_: Any) -> None:
    try:
        call(*given_)
    except wire.Malformed as error:
        assert len(error.what) < 300


@given(st.binary(max_size=80), st.sampled_from(KINDS))
def test_random_bytes_are_malformed_at_worst(data: bytes, kind: type[Any]) -> None:
    malformed_or_fine(wire.decode_json, kind, data)
    malformed_or_fine(attachment, data)
    malformed_or_fine(wire.decode_trailer, b"\1" + data, OWN)


@given(st.dictionaries(st.sampled_from(["id", "source", "position", "listeners", "x"]), JSON))
def test_any_json_is_malformed_at_worst(given_: dict[str, Any]) -> None:
    data = json.dumps(given_).encode("utf-8", "surrogatepass")
    for kind in KINDS:
        malformed_or_fine(wire.decode_json, kind, data)


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_any_key_is_malformed_at_worst(one: str, two: str, three: str) -> None:
    for call in (wire.packet_key, wire.member_key):
        malformed_or_fine(call, f"hilgw/lab/{one}/{two}/{three}")


HOSTILE = [
    b"",
    b"[]",
    b"{",
    b"[" * 100_000,
    b'{"source":' + b"[" * 2000 + b"]" * 2000 + b"}",
    b'{"source": "' + b"x" * 300 + b'"}',
    b'{"source": "\\u001b[2J"}',
    b'{"source": "\\ud800"}',
    b'{"source": "\xff"}',
    b'{"source": 5}',
    b'{"range": NaN}',
    b'{"range": Infinity}',
    b'{"range": "5"}',
    b'{"range": 1' + b"0" * 400 + b"}",
    b'{"position": [0, 0]}',
    b'{"position": [0, 0, NaN]}',
    b'{"position": [0, 0, 1e300]}',
    b'{"position": [0, 0, 0], "rotation": [0, 0, 0, 0]}',
    b'{"position": [0, 0, 0], "rotation": [1e308, 1e308, 1e308, 1e308]}',
    b'{"served": {"\\u0000": "a"}}',
    b'{"is_own": 1}',
    b'{"unknown": 1}',
]


@pytest.mark.parametrize("head", HOSTILE, ids=lambda data: repr(data[:40]))
def test_hostile_heads(head: bytes) -> None:
    more = wire.trailer(OTHER, 0, [(OWN, 1)])
    for data in (head, head + more):
        if head:
            with pytest.raises(wire.Malformed):
                attachment(data)
        else:
            assert astuple(attachment(data)[0][0]) == astuple(wire.Head())


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (wire.GatewayState, "{}"),
        (wire.GatewayState, '{"id": "a", "uptime_ms": -1}'),
        (wire.GatewayState, '{"id": "a", "revision": 4611686018427387904}'),
        (wire.GatewayState, '{"id": "a", "listeners": {"\\u001b": {"type": "radio"}}}'),
        (
            wire.GatewayState,
            '{"id": "a", "listeners": {"a": {"type": "radio", "channels": [1.5]}}}',
        ),
        (wire.LinkAnswer, '{"id": "a", "received_ns": 1, "sent_ns": ' + "9" * 100 + "}"),
        (wire.LinkAnswer, '{"id": "a", "received_ns": 1, "sent_ns": 1, "streams": {"radio": [1]}}'),
        (wire.LinkQuery, '{"name": "a/b", "id": "a"}'),
        (wire.LinkQuery, '{"name": "a", "id": "a", "sent": {"radio": -5}}'),
        (wire.AirSent, '{"air": "lab", "station": "x", "air_time_ns": 4000000000000}'),
        (wire.PoseMessage, '{"object": "r", "position": [0, NaN, 0]}'),
    ],
)
def test_hostile_messages(kind: type[Any], text: str) -> None:
    with pytest.raises(wire.Malformed):
        wire.decode_json(kind, text.encode())


def test_messages_are_not_longer_than_their_limit() -> None:
    with pytest.raises(wire.Malformed, match="too long"):
        wire.decode_json(wire.GatewayState, b" " * wire.LONGEST_STATE + b"{}")


@pytest.mark.parametrize("rest", [b"", b"\1", b"\1" * 16, b"\1" * 18, b"\2" + bytes(16)])
def test_trailers_that_are_cut_off_or_of_another_version(rest: bytes) -> None:
    with pytest.raises(wire.Malformed, match=r"cut off|version 2"):
        wire.decode_trailer(rest, OWN)


NONE_OF_A_PACKET = ["radio/01", "radio/-1", "radio/4294967296", "radio/١", "sound/1"]
NONE_OF_A_GATEWAY = ["bench/12/1", "bench/0123456789ABCDEF/1", "b!/0123456789abcdef/1"]


@pytest.mark.parametrize(
    ("read", "key"),
    [
        *((wire.packet_key, f"packet/bench/{end}") for end in NONE_OF_A_PACKET),
        (wire.packet_key, f"packet/{'x' * 65}/radio/1"),
        *((wire.member_key, f"member/{end}") for end in NONE_OF_A_GATEWAY),
    ],
)
def test_keys_that_are_none_of_a_packet_or_a_gateway(read: Any, key: str) -> None:
    with pytest.raises(wire.Malformed):
        read(f"hilgw/lab/{key}")


@given(st.lists(LISTENERS, max_size=4))
def test_the_keys_of_listeners_cover_their_channels(listeners: list[wire.ListenerState]) -> None:
    keys = wire.Keys("lab", "bench")
    wanted, channels = wanted_keys(keys, listeners), channels_of(listeners)
    assert len(wanted) <= (MOST_CHANNELS + 1) * len(TYPES)
    for listener in listeners:
        if listener.type in TYPES and (listener.channels is None or BROADCAST in listener.channels):
            assert keys.packets(listener.type, None) in wanted
            assert channels[listener.type] is None
        elif listener.type in TYPES and listener.channels:
            every = keys.packets(listener.type, None)
            assert {
                keys.packets(listener.type, c) for c in listener.channels
            } <= wanted or every in wanted
            assert (
                channels[listener.type] is None or set(listener.channels) <= channels[listener.type]
            )
    assert "sound" not in channels


SESSION = "8b20917502ee955ac4476e0266340d5c"
TALKER = Publisher(Ros2Node(0, SESSION, "talker", "/"), "/chatter", 10)
ALL_BYTES = bytes(range(256))


# --- bytes and keys, from the sources of rmw_zenoh ------------------------------------------------


def test_the_token_of_its_design_page() -> None:
    """The talker of docs/design.md; its type is String, and it keeps the last 7."""
    assert TALKER.token == (
        f"@ros2_lv/0/{SESSION}/0/10/MP/%/%/talker/%chatter/"
        f"std_msgs::msg::dds_::UInt8MultiArray_/{HASH}/::,10:,:,:,,"
    )
    assert TALKER.node.token == f"@ros2_lv/0/{SESSION}/0/0/NN/%/%/talker"
    assert TALKER.key == f"0/chatter/std_msgs::msg::dds_::UInt8MultiArray_/{HASH}"


# What `simplified_XXH3_128bits` of rmw_zenoh gives for the token, low64 and high64 copied into the
# GID as on a little-endian machine. XXH3 is another computation from 241 bytes on.
@pytest.mark.parametrize(
    ("node", "size", "gid"),
    [
        ("hilgw", 217, "75cc93e4f7447052d661e9c30e3b44b3"),
        ("hilgw_" * 30, 392, "b4f0a779361af88e5719337ceb4b431d"),
    ],
)
def test_gid(node: str, size: int, gid: str) -> None:
    publisher = Publisher(Ros2Node(0, SESSION, node), "/hilgw/rover/emitter/radio_1", 3)
    assert (len(publisher.token), publisher.gid.hex()) == (size, gid)


TOKEN = "[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*"  # of the article "Topic and Service name mapping"
texts = st.text(max_size=20) | st.text("aQ_2d.-", max_size=12)
channels = st.sampled_from([BROADCAST, 0, 1, 7, 2**31 - 1])


@pytest.mark.parametrize(
    ("source", "type", "channel", "expected"),
    [
        ("rover.emitter", "radio", 1, "/hilgw/rover/emitter/radio_1"),
        ("xbee0", "radio", BROADCAST, "/hilgw/xbee0/radio_all"),
        ("e-puck.ir.front", "infra-red", 0, "/hilgw/eQ2dQpuck/ir/front/infra_red_0"),
        ("3pi.left_ear_", "serial", 2, "/hilgw/Q33Qpi/left_earQ5fQ/serial_2"),
        ("Q", "radio", 1, "/hilgw/Q51Q/radio_1"),
        ("über.", "radio", 1, "/hilgw/QfcQber/QQ/radio_1"),
    ],
)
def test_topics(source: str, type: str, channel: int, expected: str) -> None:
    assert topic(source, type, channel) == expected


@pytest.mark.exhaustive
@given(source=texts, type=st.sampled_from(TYPES), channel=channels)
@example(source="x" * 300, type="radio", channel=1)
@example(source="\ud800" * 300, type="radio", channel=1)
def test_every_topic_is_valid(source: str, type: str, channel: int) -> None:
    for namespace in ("/", "/hilgw", "/hilgw/bench"):
        made = topic(source, type, channel, namespace)
        assert re.fullmatch(f"(/{TOKEN})+", made)
        assert len(made) <= LONGEST_TOPIC
        assert made.startswith(namespace)


@given(one=texts, other=texts, channel=channels)
@example(one="a-b", other="aQ2dQb", channel=1)
@example(one="a.radio_1", other="a", channel=1)
@example(one="x" * 300, other="x" * 301, channel=1)
def test_no_two_sources_have_the_same_topic(one: str, other: str, channel: int) -> None:
    assume(one != other)
    assert topic(one, "radio", channel) != topic(other, "radio", channel)
    assert name(one) != name(other)


@given(text=texts)
def test_a_name_has_its_text(text: str) -> None:
    def unescaped(match: re.Match[str]) -> str:
        return chr(int(match[1], 16)) if match[1] else ""

    assert re.fullmatch(TOKEN, name(text))
    assert re.sub("Q([0-9a-f]*)Q", unescaped, name(text)) == text


# --- what zenoh-ros2-sdk makes of the same --------------------------------------------------------


def test_type_hash_is_that_of_the_definition() -> None:
    assert utils.get_type_hash(MESSAGE, ARRAY, PARTS) == HASH
    assert TALKER.key.endswith(f"/{utils.ros2_to_dds_type(MESSAGE)}/{HASH}")


@given(
    domain=st.integers(0, 232),
    source=texts,
    namespace=st.sampled_from(["/", "/hilgw", "/hilgw/bench"]),
    ids=st.tuples(st.integers(0, 99), st.integers(0, 99)),
)
def test_keys_are_those_of_another_library(
    domain: int, source: str, namespace: str, ids: tuple[int, int]
) -> None:
    node = Ros2Node(domain, SESSION, name(source), namespace, ids[0])
    publisher = Publisher(node, topic(source, "radio", 1, namespace), ids[1])
    dds = utils.ros2_to_dds_type(MESSAGE)
    theirs = NodeEntity(domain, SESSION, ids[0], node.name, namespace)
    endpoint = EndpointEntity(
        theirs, ids[1], EntityKind.PUBLISHER, publisher.topic, dds, HASH,
        DEFAULT_QOS_PROFILE.encode(),
    )  # fmt: skip
    assert node.token == node_liveliness_keyexpr(theirs)
    assert publisher.token == endpoint_liveliness_keyexpr(endpoint)
    assert publisher.key == topic_keyexpr(domain, publisher.topic, dds, HASH)
    for key in (node.token, publisher.token, publisher.key):
        assert str(zenoh.KeyExpr.autocanonize(key)) == key


@given(sequence=st.integers(1, 2**63 - 1), wall_ns=st.integers(0, 2**63 - 1))
def test_another_library_reads_the_attachment(sequence: int, wall_ns: int) -> None:
    made = Attachment.from_bytes(TALKER.attachment(sequence, wall_ns))
    assert made == Attachment(sequence, wall_ns, TALKER.gid)


@given(data=st.binary(max_size=300))
@example(data=ALL_BYTES)
def test_another_library_reads_the_payload(data: bytes) -> None:
    types = rosbags.get_typestore(rosbags.Stores.EMPTY)
    types.register(rosbags.get_types_from_msg(DEFINITION, MESSAGE))
    message: Any = types.deserialize_cdr(TALKER.payload(data), MESSAGE)
    assert bytes(message.data) == data
    assert (message.layout.dim, message.layout.data_offset) == ([], 0)
    assert bytes(types.serialize_cdr(message, MESSAGE)) == TALKER.payload(data)


# --- on Zenoh -------------------------------------------------------------------------------------


@pytest.fixture
def sessions() -> Iterator[tuple[Any, Any]]:
    """Ours, on a port of HOST, and that of the library."""
    port = free_port()
    settings = zenoh.Config()
    settings.insert_json5("mode", '"peer"')
    settings.insert_json5("listen/endpoints", f'["tcp/{HOST}:{port}"]')
    settings.insert_json5("scouting/multicast/enabled", "false")
    settings.insert_json5("scouting/gossip/enabled", "false")
    with zenoh.open(settings) as session, ros2_library(port) as library:
        yield session, library.session


@pytest.mark.wall_clock("Zenoh on a real socket")
def test_a_subscriber_receives_the_message_and_finds_the_topic(sessions: tuple[Any, Any]) -> None:
    session, theirs = sessions
    messages: list[Any] = []
    samples: list[Any] = []
    node = Ros2Node(0, str(session.zid()), "bench")
    ours = Publisher(node, topic("rover.emitter", "radio", 1), 1)
    tokens = [session.liveliness().declare_token(key) for key in (node.token, ours.token)]
    subscriber = sdk.ROS2Subscriber(
        ours.topic, MESSAGE, messages.append, DEFINITION, type_hash=HASH
    )
    with theirs.declare_subscriber(ours.key, samples.append):
        publisher = session.declare_publisher(ours.key)
        wait_until(lambda: publisher.matching_status.matching, "the subscriber")
        publisher.put(ours.payload(ALL_BYTES), attachment=ours.attachment(FIRST_SEQUENCE, 99))
        wait_until(lambda: messages and samples, "the message")
    assert [bytes(each.data) for each in messages] == [ALL_BYTES]
    assert Attachment.from_bytes(samples[0].attachment.to_bytes()) == Attachment(1, 99, ours.gid)

    wait_until(lambda: (ours.topic, [MESSAGE]) in sdk.get_topic_names_and_types(), "the topic")
    (endpoint,) = sdk.get_topic_info(ours.topic, verbose=True).publishers
    assert (endpoint.node_namespace, endpoint.node_name) == ("/hilgw", "bench")
    assert (endpoint.topic_type, endpoint.type_hash) == (MESSAGE, HASH)
    subscriber.close()
    for token in tokens:
        token.undeclare()
    wait_until(lambda: not sdk.get_topic_names_and_types(), "the end of the topic")


MESSAGE = "std_msgs/msg/UInt8MultiArray"
# github.com/ros2/common_interfaces, std_msgs/msg, without comments.
ARRAY = "MultiArrayLayout layout\nuint8[] data\n"
PARTS = {
    "std_msgs/msg/MultiArrayLayout": "MultiArrayDimension[] dim\nuint32 data_offset\n",
    "std_msgs/msg/MultiArrayDimension": "string label\nuint32 size\nuint32 stride\n",
}
SEPARATOR = "=" * 80 + "\nMSG: "
DEFINITION = ARRAY + "".join(f"{SEPARATOR}{key}\n{text}" for key, text in PARTS.items())
# __EXPECTED_HASH of std_msgs__msg__UInt8MultiArray in code that rosidl generated.
HASH = "RIHS01_5687e861b8d307a5e48b7515467ae7a5fc2daf805bd0ce6d8e9e604bade9f385"


@contextmanager
def ros2_library(port: int) -> Iterator[Any]:
    """The only session of the library, on this port of HOST; it connects to nothing else."""
    theirs = "listen/endpoints=[];scouting/gossip/enabled=false;scouting/delay=0"
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("ROS_DOMAIN_ID", "ZENOH_SESSION_CONFIG_URI"):
            patch.delenv(variable, raising=False)
        patch.setenv("ZENOH_CONFIG_OVERRIDE", theirs)
        library = sdk.ZenohSession.get_instance(HOST, port)
        try:
            yield library
        finally:
            library.close()
