"""Keys and payloads: what was encoded comes back, and what others send is Malformed at worst."""

import json
from dataclasses import astuple
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.devices.fields import BROADCAST, CHANNEL_MAX, TYPES
from hilgw.federation import wire
from hilgw.federation.wire import MOST_CHANNELS, channels_of, wanted_keys

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
    (found, pose), trailer = attachment(data)
    assert (astuple(found), pose, trailer) == (astuple(head), wire.pose_of(head), None)
    (found, pose), trailer = attachment(data + wire.trailer(sender, sent_ns, numbers))
    mine = dict(reversed(numbers)).get(OWN)
    assert (astuple(found), pose, trailer) == (
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
    for each in listeners:
        if each.type in TYPES and (each.channels is None or BROADCAST in each.channels):
            assert keys.packets(each.type, None) in wanted
            assert channels[each.type] is None
        elif each.type in TYPES and each.channels:
            every = keys.packets(each.type, None)
            assert {keys.packets(each.type, c) for c in each.channels} <= wanted or every in wanted
            assert channels[each.type] is None or set(each.channels) <= channels[each.type]
    assert "sound" not in channels
