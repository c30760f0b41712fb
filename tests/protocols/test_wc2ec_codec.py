"""The WC2EC codec against the documents, byte by byte, and with random bytes."""

import math
import struct
import sys
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from firmware_mocks.wc2ec import wire as second_reading
from hilgw.errors import ConfigError, FrameError, HilgwError
from hilgw.framing import create
from hilgw.protocols import wc2ec
from tests.cases import cases, pieces

WEBOTS, EXTERNAL = wc2ec.Side.WEBOTS, wc2ec.Side.EXTERNAL
PLAIN = wc2ec.Layouts("R2020a")
WITH_PACKETS = wc2ec.Layouts("R2020a", extensions=True)
INF = math.inf

# Header: command, type, id; f64 1.0 is 00 00 00 00 00 00 F0 3F, -1.0 ... F0 BF, +inf ... F0 7F.
GOLDEN = [
    (WEBOTS, wc2ec.RegisterSensor(38, 2, b"ds"), "00 26 02 02 64 73"),
    (WEBOTS, wc2ec.RegisterSensor(38, 0, b""), "00 26 00 00"),
    (WEBOTS, wc2ec.SensorData(38, 2, 1.0), "01 26 02 00 00 00 00 00 00 f0 3f"),
    (WEBOTS, wc2ec.SensorData(46, 3, 0.5), "01 2e 03 00 00 00 00 00 00 e0 3f"),
    (WEBOTS, wc2ec.SensorData(53, 4, -2.0), "01 35 04 00 00 00 00 00 00 00 c0"),
    (WEBOTS, wc2ec.Error(53, 4), "7f 35 04"),
    (
        WEBOTS,
        wc2ec.PacketData(52, 5, 3, 4.0, (1.0, 0.0, -1.0), b"hi"),
        "01 34 05 03 00 00 00 00 00 00 00 00 00 10 40 00 00 00 00 00 00 f0 3f"
        "00 00 00 00 00 00 00 00 00 00 00 00 00 00 f0 bf 02 00 00 00 68 69",
    ),
    (EXTERNAL, wc2ec.EnableSensor(38, 2), "80 26 02"),
    (EXTERNAL, wc2ec.DisableSensor(38, 2), "81 26 02"),
    (EXTERNAL, wc2ec.SetValue(53, 4, 1.0), "82 35 04 00 00 00 00 00 00 f0 3f"),
    (EXTERNAL, wc2ec.SetValue(46, 3, INF), "82 2e 03 00 00 00 00 00 00 f0 7f"),
    (EXTERNAL, wc2ec.SendPacket(39, 6, -1, b"\0"), "82 27 06 ff ff ff ff 01 00 00 00 00"),
    (EXTERNAL, wc2ec.SetPeriod(38, 2, 32.0), "83 26 02 00 00 00 00 00 00 40 40"),
    (
        EXTERNAL,
        wc2ec.SetMotor(53, 4, INF, 1.0, -1.0, 10.0),
        "83 35 04 00 00 00 00 00 00 f0 7f 00 00 00 00 00 00 f0 3f"
        "00 00 00 00 00 00 f0 bf 00 00 00 00 00 00 24 40",
    ),
    (EXTERNAL, wc2ec.SetEmitter(39, 6, 7, -1.0), "83 27 06 07 00 00 00 00 00 00 00 00 00 f0 bf"),
    (EXTERNAL, wc2ec.SetReceiver(52, 5, -1, 64), "83 34 05 ff ff ff ff 40 00 00 00"),
]

GOOD: dict[wc2ec.Side, Any] = {WEBOTS: wc2ec.Error(38, 1), EXTERNAL: wc2ec.EnableSensor(38, 1)}


def decode(
    side: wc2ec.Side, data: bytes, layouts: wc2ec.Layouts = WITH_PACKETS
) -> list[wc2ec.Message]:
    return wc2ec.Decoder(side, layouts).feed(data)


@pytest.mark.parametrize(("side", "message", "data"), GOLDEN)
def test_golden_vectors_both_ways(side: wc2ec.Side, message: wc2ec.Message, data: str) -> None:
    assert wc2ec.encode(message).hex() == data.replace(" ", "")  # type: ignore[arg-type]
    assert decode(side, bytes.fromhex(data)) == [message]


# --- numbers by version ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "distance", "emitter", "linear", "receiver", "rotational"),
    [
        ("R2019a", 37, 38, 45, 51, 52),
        ("R2020a-rev1", 38, 39, 46, 52, 53),
        ("R2020b", 39, 40, 47, 53, 54),
        ("R2022a", 40, 41, 48, 54, 55),
        ("R2025a", 42, 43, 50, 56, 57),
    ],
)
def test_node_numbers_follow_the_version(
    version: str, distance: int, emitter: int, linear: int, receiver: int, rotational: int
) -> None:
    numbers = wc2ec.Numbers(version)
    kinds = ("DistanceSensor", "Emitter", "LinearMotor", "Receiver", "RotationalMotor")
    expected = (distance, emitter, linear, receiver, rotational)
    assert tuple(map(numbers.number, kinds)) == expected
    assert tuple(map(numbers.kind, expected)) == kinds
    assert second_reading.types_of(version) == expected


def test_37_and_38_are_distance_sensors_under_r2020a_alone() -> None:
    data = struct.pack("<BBBd", 1, 37, 0, 2.5)
    assert decode(WEBOTS, data) == [wc2ec.SensorData(37, 0, 2.5)]
    (failure,) = decode(WEBOTS, data, wc2ec.Layouts("R2020b"))
    assert isinstance(failure, wc2ec.Failure)
    assert "R2020b" in str(failure.error)  # the likely cause is named


@pytest.mark.parametrize("version", ["R2019a", "R2020a", "R2021a", "R2023a", "R2025a"])
def test_the_documents_numbers_replace_those_of_any_version(version: str) -> None:
    """seeds of the protocol: 37, 46, 53; those of the version are still accepted."""
    numbers = wc2ec.Numbers(version, document=True)
    listed = {"DistanceSensor": 37, "LinearMotor": 46, "RotationalMotor": 53}
    assert {kind: numbers.number(kind) for kind in listed} == listed
    assert second_reading.types_of(version, document=True)[0::2] == tuple(listed.values())
    layouts = wc2ec.Layouts(version, types="document")
    for number in listed.values():
        data = struct.pack("<BBBd", 1, number, 0, 2.5)
        assert decode(WEBOTS, data, layouts) == [wc2ec.SensorData(number, 0, 2.5)]
    own = wc2ec.Numbers(version).number("DistanceSensor")
    data = struct.pack("<BBBd", 1, own, 0, 2.5)
    assert decode(WEBOTS, data, layouts) == [wc2ec.SensorData(own, 0, 2.5)]


@pytest.mark.parametrize(
    ("version", "kind"),
    [("R2020a", "Display"), ("R2025a", "Brake"), ("R2025a", "Propeller"), ("R2020b", "Receiver")],
)
def test_a_device_that_the_document_would_misname_has_no_number(version: str, kind: str) -> None:
    assert wc2ec.Numbers(version).number(kind) in (37, 46, 53)
    with pytest.raises(ConfigError, match="the WC2EC document gives to"):
        wc2ec.Numbers(version, document=True).number(kind)


def test_other_devices_are_named_and_an_unknown_version_is_refused() -> None:
    assert [wc2ec.Numbers("R2025a").kind(number) for number in (38, 44, 47, 250)] == [
        "Camera",
        "GPS",
        "LED",
        "node 250",
    ]
    with pytest.raises(ConfigError):
        wc2ec.Layouts("R2018b")


# --- what ends a stream ---------------------------------------------------------------------------

LOST = {
    "reserved command of the Webots side": (WEBOTS, "02"),
    "last reserved command of the Webots side": (WEBOTS, "7e"),
    "reserved command of the external side": (EXTERNAL, "84"),
    "last reserved command": (EXTERNAL, "ff"),
    "sensorData of a camera": (WEBOTS, "0122"),
    "setValue of a distance sensor": (EXTERNAL, "8226"),
    "setSensor of a GPS": (EXTERNAL, "8328"),
    "wrong half, and of no known length": (EXTERNAL, "0122"),
    "packet of 65,537 bytes": (EXTERNAL, "8227060000000001000100"),
    "packet of 4 GiB": (EXTERNAL, "82270600000000ffffffff"),
}


@pytest.mark.parametrize(("side", "data"), LOST.values(), ids=LOST)
def test_the_stream_is_lost_at_once_and_for_good(side: wc2ec.Side, data: str) -> None:
    good = GOOD[side]
    decoder = wc2ec.Decoder(side, WITH_PACKETS)
    raw = bytes.fromhex(data)
    first, failure = decoder.feed(wc2ec.encode(good) + raw)
    assert first == good
    assert isinstance(failure, wc2ec.Failure) and failure.tail == raw
    assert isinstance(failure.error, HilgwError)
    assert decoder.failed and decoder.pending == 0
    assert decoder.feed(wc2ec.encode(good)) == []
    (failure,) = decode(side, raw + bytes(256))
    assert isinstance(failure, wc2ec.Failure) and failure.tail == (raw + bytes(256))[:256]


@pytest.mark.parametrize("number", [39, 52])
def test_packets_are_unknown_without_the_switch(number: int) -> None:
    side, command = (EXTERNAL, 130) if number == 39 else (WEBOTS, 1)
    (failure,) = decode(side, bytes((command, number)), PLAIN)
    assert isinstance(failure, wc2ec.Failure) and "extensions" in str(failure.error)
    assert decode(side, bytes((command, number)), WITH_PACKETS) == []


def test_the_largest_packet_is_not_allocated_before_it_came() -> None:
    decoder = wc2ec.Decoder(EXTERNAL, WITH_PACKETS)
    head = bytes.fromhex("822706 00000000 00000100")
    assert decoder.feed(head) == []
    assert decoder.pending == len(head)
    assert decoder.feed(bytes(65_536)) == [wc2ec.SendPacket(39, 6, 0, bytes(65_536))]


# --- what is rejected, with the stream going on ---------------------------------------------------


def f64(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}d", *values)


REJECTED = {
    "NaN value": (EXTERNAL, b"\x82\x35\x04" + f64(math.nan), "nan"),
    "-infinity": (EXTERNAL, b"\x82\x35\x04" + f64(-INF), "infinite"),
    "NaN reading": (WEBOTS, b"\x01\x26\x02" + f64(math.nan), "nan"),
    "infinite reading": (WEBOTS, b"\x01\x26\x02" + f64(INF), "infinite"),
    "infinite motor position read": (WEBOTS, b"\x01\x2e\x02" + f64(INF), "infinite"),
    "NaN position": (EXTERNAL, b"\x83\x35\x04" + f64(math.nan, 1, -1, 1), "nan"),
    "-infinite position": (EXTERNAL, b"\x83\x35\x04" + f64(-INF, 1, -1, 1), "infinite"),
    "infinite velocity": (EXTERNAL, b"\x83\x35\x04" + f64(0, INF, -1, 1), "infinite"),
    "infinite acceleration": (EXTERNAL, b"\x83\x35\x04" + f64(0, 1, INF, 1), "infinite"),
    "negative acceleration": (EXTERNAL, b"\x83\x35\x04" + f64(0, 1, -2, 1), "out_of_range"),
    "infinite torque": (EXTERNAL, b"\x83\x35\x04" + f64(0, 1, -1, INF), "infinite"),
    "negative force": (EXTERNAL, b"\x83\x2e\x04" + f64(0, 1, -1, -1), "out_of_range"),
    "negative period": (EXTERNAL, b"\x83\x26\x04" + f64(-1), "out_of_range"),
    "channel -2": (EXTERNAL, bytes.fromhex("822706 feffffff 01000000 00"), "out_of_range"),
    "empty packet": (EXTERNAL, bytes.fromhex("822706 00000000 00000000"), "empty_packet"),
    "range -2": (EXTERNAL, b"\x83\x27\x06\0\0\0\0" + f64(-2), "out_of_range"),
    "NaN range": (EXTERNAL, b"\x83\x27\x06\0\0\0\0" + f64(math.nan), "nan"),
    "period -1": (EXTERNAL, bytes.fromhex("833405 00000000 ffffffff"), "out_of_range"),
    "NaN strength": (
        WEBOTS,
        b"\x01\x34\x05\0\0\0\0" + f64(math.nan, 1, 0, 0) + b"\1\0\0\0x",
        "nan",
    ),
    "NaN direction": (
        WEBOTS,
        b"\x01\x34\x05\0\0\0\0" + f64(1, 0, 0, math.nan) + b"\1\0\0\0x",
        "nan",
    ),
    "name with a NUL": (WEBOTS, b"\0\x26\x02\3ds\0", "bad_name"),
}


@pytest.mark.parametrize(("side", "data", "reason"), REJECTED.values(), ids=REJECTED)
def test_bad_values_are_rejected_and_the_stream_goes_on(
    side: wc2ec.Side, data: bytes, reason: str
) -> None:
    good = GOOD[side]
    rejected, followed = decode(side, data + wc2ec.encode(good))
    assert isinstance(rejected, wc2ec.Rejected) and rejected.reason == reason
    assert (rejected.command, rejected.type, rejected.index) == tuple(data[:3])
    assert followed == good


# --- length from the type, meaning from the device ------------------------------------------------

KINDS = {
    0: "DistanceSensor",
    1: "LinearMotor",
    2: "RotationalMotor",
    3: "Emitter",
    4: "Receiver",
    5: "Camera",
}


@pytest.mark.parametrize(
    "data",
    [
        *("823503" + "00" * 8, "832602" + "00" * 8, "833500" + "00" * 32, "832704" + "00" * 12),
        "822701" + "00" * 8,  # the head of a packet is as long as the position of the motor
    ],
)
def test_a_type_of_another_length_than_the_device_ends_the_stream(data: str) -> None:
    (failure,) = wc2ec.Decoder(EXTERNAL, WITH_PACKETS, dict(KINDS)).feed(bytes.fromhex(data))
    assert isinstance(failure, wc2ec.Failure)


def test_a_signal_that_the_wire_cannot_carry_is_unknown_or_the_largest() -> None:
    here, unknown = (1.0, 0.0, 0.0), (math.nan,) * 3
    strength, direction = wc2ec.decode_signal(*wc2ec.encode_signal(math.nan, unknown))
    assert all(map(math.isnan, (strength, *direction)))
    assert wc2ec.decode_signal(*wc2ec.encode_signal(INF, here)) == (sys.float_info.max, here)


def test_a_peer_on_a_line_lives_from_its_first_good_frame_with_any_value() -> None:
    link, framing = wc2ec.Wc2ecLink(WEBOTS, PLAIN, create("cobs-crc16"), 100), create("cobs-crc16")
    link.open(0)
    value = framing.encode(wc2ec.encode(wc2ec.SensorData(38, 0, 1.0)))
    other = framing.encode(wc2ec.encode(wc2ec.RegisterSensor(38, 1, b"ds")))
    link.feed(value, 10)
    assert not link.alive  # it may be an echo
    link.feed(other, 20)
    link.feed(value, 90)  # its registration was lost on the line
    assert link.alive and link.next_deadline() == 190
    link.feed(value[:4], 95)
    link.open(200)  # what was cut is none of the next connection
    link.feed(other, 210)
    assert link.alive


def test_a_frame_holds_whole_messages() -> None:
    decoder = wc2ec.Decoder(WEBOTS, PLAIN)
    assert decoder.feed(wc2ec.encode(wc2ec.Error(38, 1))) == [wc2ec.Error(38, 1)]
    assert decoder.end_frame() == []
    decoder.feed(wc2ec.encode(wc2ec.SensorData(38, 1, 1.0))[:-1])
    (failure,) = decoder.end_frame()
    assert isinstance(failure, wc2ec.Failure) and decoder.failed
    assert decoder.end_frame() == []


# --- what cannot be encoded -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        wc2ec.SensorData(38, 0, math.nan),
        wc2ec.SensorData(38, 0, INF),
        wc2ec.SetValue(53, 0, math.nan),
        wc2ec.SetValue(53, 0, -INF),
        wc2ec.SetMotor(53, 0, 0.0, INF, -1.0, 1.0),
        wc2ec.SetPeriod(38, 0, INF),
        wc2ec.SetEmitter(39, 0, 0, math.nan),
        wc2ec.SetEmitter(39, 0, 2**31, 1.0),
        wc2ec.SetReceiver(52, 0, 0, 2**31),
        wc2ec.RegisterSensor(38, 0, b"x" * 256),
        wc2ec.RegisterSensor(38, 0, b"ds\0"),
        wc2ec.RegisterSensor(38, 256, b"ds"),
        wc2ec.RegisterSensor(-1, 0, b"ds"),
        wc2ec.SendPacket(39, 0, 0, bytes(65_537)),
        wc2ec.PacketData(52, 0, 0, math.nan, (0.0, 0.0, 1.0), b"x"),
        wc2ec.PacketData(52, 0, 0, 1.0, (0.0, math.nan, 1.0), b"x"),
    ],
)
def test_what_the_wire_cannot_carry_is_refused(message: wc2ec.Message) -> None:
    with pytest.raises(FrameError):
        wc2ec.encode(message)  # type: ignore[arg-type]


# --- any bytes, any split -------------------------------------------------------------------------

reals = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(0, 1e300)
indices = st.integers(0, 255)
channels = st.integers(-1, 2**31 - 1)
packets = st.binary(min_size=1, max_size=40)
motors = st.sampled_from([46, 53])
positions = reals | st.just(INF)
FROM_WEBOTS = st.one_of(
    st.builds(
        wc2ec.RegisterSensor,
        st.integers(0, 255),
        indices,
        st.binary(max_size=255).filter(lambda name: b"\0" not in name),
    ),
    st.builds(wc2ec.SensorData, st.sampled_from([37, 38, 46, 53]), indices, reals),
    st.builds(
        wc2ec.PacketData, st.just(52), indices, channels, positive, st.tuples(*[reals] * 3), packets
    ),
    st.builds(wc2ec.Error, st.integers(0, 255), indices),
)
FROM_EXTERNAL = st.one_of(
    st.builds(wc2ec.EnableSensor, st.integers(0, 255), indices),
    st.builds(wc2ec.DisableSensor, st.integers(0, 255), indices),
    st.builds(wc2ec.SetValue, motors, indices, positions),
    st.builds(
        wc2ec.SetMotor, motors, indices, positions, reals, positive | st.just(-1.0), positive
    ),
    st.builds(wc2ec.SetPeriod, st.sampled_from([37, 38]), indices, st.floats(0, 2**31 - 1)),
    st.builds(wc2ec.SendPacket, st.just(39), indices, channels, packets),
    st.builds(wc2ec.SetEmitter, st.just(39), indices, channels, positive | st.just(-1.0)),
    st.builds(wc2ec.SetReceiver, st.just(52), indices, channels, st.integers(0, 2**31 - 1)),
)
SENT = {WEBOTS: FROM_WEBOTS, EXTERNAL: FROM_EXTERNAL}
cuts = st.lists(st.integers(0, 400), max_size=12)


def feed_cut(decoder: wc2ec.Decoder, data: bytes, where: list[int]) -> list[wc2ec.Message]:
    return [message for piece in pieces(data, where) for message in decoder.feed(piece)]


@given(
    st.sampled_from(wc2ec.Side).flatmap(lambda s: st.tuples(st.just(s), st.lists(SENT[s]))), cuts
)
def test_what_is_sent_comes_back_under_any_split(
    sent: tuple[wc2ec.Side, list[wc2ec.Message]], where: list[int]
) -> None:
    side, messages = sent
    data = b"".join(map(wc2ec.encode, messages))  # type: ignore[arg-type]
    decoder = wc2ec.Decoder(side, WITH_PACKETS)
    assert feed_cut(decoder, data, where) == messages
    assert decoder.pending == 0
    # The second reading of the document cuts the stream at the same places.
    types = second_reading.types_of("R2020a")
    for message in messages:
        raw = wc2ec.encode(message)  # type: ignore[arg-type]
        if raw[1] != 37:
            assert second_reading.message_size(raw + b"\0" * 60, types, extended=True) == len(raw)


def noise(side: wc2ec.Side) -> st.SearchStrategy[bytes]:
    """Bytes that are nearly right: good messages, cut and changed, and heads that may be."""
    heads = st.tuples(
        st.sampled_from([0, 1, 2, 127, 128, 129, 130, 131, 132]),
        st.sampled_from([34, 37, 38, 39, 46, 52, 53]),
        st.integers(0, 7),
    ).map(bytes)
    bodies = st.lists(
        st.one_of(st.binary(max_size=12), st.sampled_from([f64(math.nan), f64(INF), f64(1.0)])),
        max_size=4,
    ).map(b"".join)
    good = SENT[side].map(wc2ec.encode)
    return st.lists(st.one_of(good, heads, bodies, st.binary(max_size=8)), max_size=8).map(b"".join)


def consumed(messages: list[wc2ec.Message], data: bytes) -> int | None:
    """Bytes that these messages took from `data`, read independently; None where it ends early."""
    types, begin = second_reading.types_of("R2020a"), 0
    for message in messages:
        if isinstance(message, wc2ec.Failure):
            return None
        # An alias of the type byte is unknown to the second reading.
        raw = data[begin : begin + 1] + (
            b"\x26" if data[begin + 1] == 37 else data[begin + 1 : begin + 2]
        )
        size = second_reading.message_size(raw + data[begin + 2 :], types, extended=True)
        assert size
        begin += size
    return begin


@cases(4)
@given(
    st.sampled_from(wc2ec.Side).flatmap(lambda s: st.tuples(st.just(s), noise(s))),
    cuts,
    st.booleans(),
    st.booleans(),
)
@example((EXTERNAL, b"\x82\x27\x00\0\0\0\0\xff\xff\xff\xff"), [4, 9], True, True)
def test_any_bytes_under_any_split_mean_the_same_or_our_own_error(
    stream: tuple[wc2ec.Side, bytes], where: list[int], extensions: bool, has_devices: bool
) -> None:
    side, data = stream
    layouts = WITH_PACKETS if extensions else PLAIN
    kinds = [dict(KINDS) if has_devices else None for _ in range(3)]
    whole, cut, single = (wc2ec.Decoder(side, layouts, each) for each in kinds)
    expected = whole.feed(data)
    assert feed_cut(cut, data, where) == expected
    assert [message for byte in data for message in single.feed(bytes((byte,)))] == expected
    assert (whole.failed, whole.pending) == (cut.failed, cut.pending)
    failures = [message for message in expected if isinstance(message, wc2ec.Failure)]
    assert failures == expected[-1:] if whole.failed else not failures
    if extensions:
        taken = consumed(expected, data)
        assert taken is None or taken + whole.pending == len(data)
    assert isinstance(wc2ec.describe(data, side, layouts), str)


def test_no_accepted_command_ever_carries_nan() -> None:
    for body in (f64(math.nan), f64(INF), f64(-INF)):
        for number in range(256):
            for message in decode(EXTERNAL, bytes((130, number, 0)) + body):
                value = getattr(message, "value", 0.0)
                assert value == INF or math.isfinite(value)


def test_bytes_in_words() -> None:
    data = (
        wc2ec.encode(wc2ec.RegisterSensor(38, 0, b"d\x1b[s"))
        + wc2ec.encode(wc2ec.SensorData(38, 0, 2.5))
        + b"\x01"
    )
    words = wc2ec.describe(data, WEBOTS, PLAIN)
    assert words == (
        "registerSensor DistanceSensor 0 = 'd\\x1b[s'; sensorData DistanceSensor 0 = 2.5; "
        "1 bytes of an incomplete message"
    )
    sent = [message for side, message, _ in GOLDEN if side == EXTERNAL]
    assert wc2ec.describe(b"".join(map(wc2ec.encode, sent)), EXTERNAL, WITH_PACKETS) == (
        "enableSensor DistanceSensor 2; disableSensor DistanceSensor 2; "
        "setValue RotationalMotor 4 = 1; setValue LinearMotor 3 = inf; "
        "setValue Emitter 6: channel -1, 1 bytes; setSensor DistanceSensor 2: every 32 ms; "
        "setSensor RotationalMotor 4: position inf, velocity 1, acceleration -1, available 10; "
        "setSensor Emitter 6: channel 7, range -1 m; setSensor Receiver 5: channel -1, every 64 ms"
    )
    for side, message, _ in GOLDEN:
        assert "lost" not in wc2ec.describe(wc2ec.encode(message), side, WITH_PACKETS)  # type: ignore[arg-type]


@pytest.mark.parametrize(("side", "message", "data"), GOLDEN)
def test_the_wrong_half_is_rejected_and_the_stream_goes_on(
    side: wc2ec.Side, message: wc2ec.Message, data: str
) -> None:
    other = EXTERNAL if side == WEBOTS else WEBOTS
    good = GOOD[other]
    rejected, followed = decode(other, bytes.fromhex(data) + wc2ec.encode(good))
    assert isinstance(rejected, wc2ec.Rejected) and rejected.reason == "wrong_half"
    assert (rejected.type, rejected.index) == (message.type, message.index)  # type: ignore[union-attr]
    assert followed == good
