"""Packets as a ROS 2 topic: the bytes and keys of rmw_zenoh, and a receiver from PyPI.

Not tested with ROS 2 itself.
"""

import re
from collections.abc import Iterator
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

from hilgw.devices.fields import TYPES
from hilgw.federation.ros2 import FIRST_SEQUENCE, LONGEST_TOPIC, Publisher, Ros2Node, name, topic
from hilgw.medium.packet import BROADCAST
from hilgw.testing.sim import wait_until
from tests.e2e.running import HOST, free_port
from tests.federation.ros2_library import ARRAY, DEFINITION, HASH, MESSAGE, PARTS, ros2_library

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
