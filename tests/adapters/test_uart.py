"""The UART adapter: the rules of every adapter with each kind of framing, and what is its own."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw import framing
from hilgw.adapters import base
from hilgw.adapters.uart import ADAPTER, ByHeader
from hilgw.errors import ConfigError
from hilgw.framing.cobs import CobsSettings
from hilgw.framing.gap import GapSettings
from hilgw.framing.length import LengthSettings
from hilgw.framing.lines import LinesSettings
from hilgw.medium.packet import Packet
from hilgw.testing import AdapterConformance, Vector
from tests.adapters.bench import Variant, of

MS = 1_000_000


def common(**fields: Any) -> base.StationSettings:
    return base.StationSettings(
        **{"port": "/dev/ttyUSB0", "baudRate": 115200, "channel": 5, **fields}
    )


def opened(spec: Any = "cobs-crc16", line: base.StationSettings | None = None, **more: Any) -> Any:
    made = ADAPTER.session(ADAPTER.Settings(framing=spec, **more), line or common())
    made.open(0)
    return made


def packet(data: bytes, channel: int = 5) -> Packet:
    return Packet(data=data, channel=channel, type="serial", source="rover.tx")


def frames(spec: Any, *payloads: bytes) -> bytes:
    sender = framing.create(spec)
    return b"".join(sender.encode(payload) for payload in payloads)


def received(events: list[base.Event]) -> list[bytes]:
    return [event.data for event in of(base.Received, events)]


def dropped(events: list[base.Event]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for event in of(base.Dropped, events):
        counts[event.reason] += event.count
    return counts


def notices(events: list[base.Event]) -> list[str]:
    return [event.text for event in of(base.Notice, events)]


@pytest.mark.parametrize(
    ("spec", "line", "events"),
    [
        ("cobs-crc16", {}, [base.Ready("cobs-crc16, 115200 8N1")]),
        (
            LinesSettings(),
            {"parity": "even", "stop_bits": 2, "rtscts": True, "baudRate": 9600},
            [base.Ready("lines, 9600 8E2, RTS/CTS")],
        ),
        (
            "gap:20ms",
            {},
            [
                base.Ready("gap:20ms, 115200 8N1"),
                base.Notice("packets less than 20 ms apart are received as one"),
            ],
        ),
    ],
)
def test_ready_at_once_and_nothing_is_sent(
    spec: Any, line: dict[str, Any], events: list[base.Event]
) -> None:
    assert ADAPTER.session(ADAPTER.Settings(framing=spec), common(**line)).open(7) == events


def test_settings_that_were_not_checked_are_errors() -> None:
    with pytest.raises(ConfigError):
        opened("cobs-crc17")
    with pytest.raises(ConfigError):
        opened(line=common(byteSize=11))


def test_rts_serves_one_master() -> None:
    assert base.line_of(common(rs485="half-duplex"))[0].rs485 == "half-duplex"
    assert base.line_of(common())[0].rs485 == "none"
    for other in ({"rtscts": True}, {"rts": False}):
        with pytest.raises(ConfigError, match="RTS cannot be used for both"):
            base.line_of(common(rs485="half-duplex", **other))


def test_an_empty_packet_is_none() -> None:
    assert opened("cobs-crc16").receive(frames("cobs-crc16", b"", b"a"), 0) == [
        base.Dropped("empty", "a frame without data"),
        base.Received(b"a", 5),
    ]


def test_bad_frames_are_one_event_for_each_reason() -> None:
    good = frames("cobs-crc16", b"abcdef")
    bad = b"\x07xbcdef\x01\x01\x00"
    events = opened().receive(good + bad * 5 + good, 0)
    assert received(events) == [b"abcdef", b"abcdef"]
    drops = [event for event in events if isinstance(event, base.Dropped)]
    assert drops == [base.Dropped(drops[0].reason, drops[0].text, 5)]
    assert drops[0].text.startswith("5 frames")


def test_garbage_is_counted_in_bytes() -> None:
    made = opened("length")
    events = made.receive(b"?" * 37 + frames("length", b"ok"), 0)
    assert received(events) == [b"ok"]
    assert dropped(events) == {"garbage_bytes": 37}
    assert made.receive(b"!" + frames("length", b"ok"), 0)[1] == base.Dropped(
        "garbage_bytes", "a byte outside a frame"
    )


@pytest.mark.parametrize(
    ("spec", "data", "reason", "words"),
    [
        ("cobs-crc16", b"x" * 4097, "too_long", "at most 4096"),
        (CobsSettings(max_payload=10), b"x" * 11, "too_long", "at most 10"),
        ("lines", b"two\nlines", "unframable", "line terminator"),
        ("lines-crlf", b"ends in \r", "", ""),
        (LinesSettings(terminator="\n\n"), b"ends in \n", "unframable", "line terminator"),
        ("cobs-crc16", b"", "empty", "at least one byte"),
        ("slip", b"\xc0\xdb" * 2048, "", ""),
    ],
)
def test_what_the_framing_cannot_carry(spec: Any, data: bytes, reason: str, words: str) -> None:
    answer = opened(spec).send(packet(data), 0)
    assert isinstance(answer, base.CannotSend if reason else base.Transmission)
    assert not reason or (answer.reason == reason and words in answer.text)


def test_only_the_line_s_channel_goes_out() -> None:
    made = opened()
    assert made.channels == frozenset({5})
    assert isinstance(made.send(packet(b"x", -1), 0), base.Transmission)
    assert made.send(packet(b"x", 6), 0).reason == "channel"


@given(st.integers(-1, 254), st.binary(min_size=1, max_size=50))
def test_the_header_carries_every_channel(channel: int, data: bytes) -> None:
    made = opened(mapping=ByHeader())
    assert made.channels is None
    sent = made.send(packet(data, channel), 0)
    assert made.receive(sent.data, 0) == [base.Received(data, channel)]
    assert made.send(packet(data, 255 + channel + 1), 0).reason == "channel"
    assert dropped(made.receive(frames("cobs-crc16", b"\x05"), 0)) == {"no_header": 1}


def test_the_sender_leaves_the_pause_of_a_gap() -> None:
    made = opened("gap:20ms", line=common(baudRate=9600))
    assert made.send(packet(b"x" * 96), 0) == base.Transmission(b"x" * 96)  # 100 ms on the line
    assert made.next_deadline() is None  # no packet waits
    assert made.send(packet(b"y"), 120 * MS - 1) is None
    assert made.next_deadline() == 120 * MS
    assert made.expire(120 * MS) == []
    assert made.next_deadline() is None
    assert made.send(packet(b"y"), 120 * MS) == base.Transmission(b"y")
    made.close()
    made.open(121 * MS)  # another port: the line is quiet
    assert isinstance(made.send(packet(b"z"), 121 * MS), base.Transmission)


@pytest.mark.parametrize(("local_echo", "dropped_"), [(True, 3), (False, 0)])
def test_the_echo_of_a_line_is_dropped_and_nothing_else(local_echo: bool, dropped_: int) -> None:
    made = opened(local_echo=local_echo)
    sent = (b"one", b"two", b"two")
    wire = b"".join(made.send(packet(data), 0).data for data in sent)
    events = made.receive(wire + frames("cobs-crc16", b"one", b"answer"), 5 * MS)
    assert received(events)[-2:] == [b"one", b"answer"]
    assert len(received(events)) == 5 - dropped_
    assert dropped(events) == +Counter(own_echo=dropped_)


@pytest.mark.parametrize(
    ("fields", "path", "words"),
    [
        ({"framing": "cobs-crc17"}, "framing", "did you mean 'crc16'"),
        ({"framing": "cob"}, "framing", "did you mean 'cobs'"),
        ({"framing": CobsSettings(crc="nonsense")}, "framing.crc", "unknown CRC"),
        ({"framing": GapSettings(gap_ms=0.1)}, "framing", "0.13 ms or more"),
        *(({"framing": name}, "", "") for name in framing.SHORT_NAMES),
    ],
)
def test_wrong_settings_are_named_in_place(fields: dict[str, Any], path: str, words: str) -> None:
    problems = ADAPTER.check(ADAPTER.Settings(**fields), common())
    assert [where for where, _, _ in problems] == [path] * bool(path)
    assert all(words in f"{what}; {fix}" for _, what, fix in problems)


def test_a_length_frame_on_the_slowest_line_is_whole() -> None:
    """A byte takes 200 ms, which is longer than the timeout within a frame elsewhere."""
    line = common(baudRate=50)
    assert ADAPTER.check(ADAPTER.Settings(framing="length"), line) == []
    made = opened("length", line=line)
    for index, byte in enumerate(frames("length", b"whole")):
        events = made.expire(index * 200_000_000) + made.receive(
            bytes((byte,)), index * 200_000_000
        )
    assert received(events) == [b"whole"]
    ((where, problem, fix),) = ADAPTER.check(ADAPTER.Settings(framing=LengthSettings()), line)
    assert (where, fix) == ("framing", "give 300 ms or more")
    assert problem.startswith("a timeout of 100 ms ends a packet between two of its bytes")


def test_seven_data_bits() -> None:
    """7E1 has as many bits as 8N1, and carries text alone."""
    seven = common(data_bits=7, parity="even", byteSize=10)
    line = base.line_of(seven)[0]
    assert (str(line), line.byteSize) == ("115200 7E1", 10)
    made = opened("lines", line=seven)
    assert made.send(packet(b"C?"), 0).data == b"C?\n"
    refused = made.send(packet(b"\xb0C"), 0)
    assert isinstance(refused, base.CannotSend) and refused.reason == "unframable"
    assert "115200 7E1" in made.identity and "115200 7E1" in refused.text


def test_describe_in_words() -> None:
    made = opened()
    wire = frames("cobs-crc16", b"hi")
    assert made.describe(wire) == "cobs-crc16: packet of 2 B: b'hi'"
    assert made.describe(wire[:3]) == "cobs-crc16: 1 x incomplete"
    assert made.describe(b"\0") == "cobs-crc16: 1 B, no packet"
    assert "wrong CRC" in made.describe(bytes([wire[0], wire[1] ^ 1, *wire[2:]]))


def test_a_long_frame_on_a_slow_line_is_neither_missed_nor_a_reason_to_refuse() -> None:
    """400 bytes take 13 s at 300 baud, and the stream may begin within a frame."""
    made, payload, byte_ns = opened(line=common(baudRate=300)), b"slow" * 100, 10**10 // 300
    cut = frames("cobs-crc16", payload)[5:]
    events: list[base.Event] = []
    for index, byte in enumerate(cut + frames("cobs-crc16", payload)):
        now = index * byte_ns
        events += made.expire(now) + made.receive(bytes((byte,)), now)
        assert made.send(packet(b"to it"), now).lost is None
    assert received(events) == [payload]
    assert not [text for text in notices(events) if "no frame yet" in text]


ON_TCP = {"port": "socket://10.0.0.1:4001"}
SLOW = {"baudRate": 300}


@pytest.mark.parametrize(
    ("timeout_ms", "line", "pause_ms", "arrives"),
    [
        (LengthSettings().timeout_ms, ON_TCP, 4000, True),  # a lost segment comes again
        (20.0, ON_TCP, 4000, True),
        (LengthSettings().timeout_ms, SLOW, 900, True),
        (60.0, SLOW, 900, False),  # a timeout that was chosen counts
    ],
)
def test_a_pause_within_a_length_frame(
    timeout_ms: float, line: dict[str, Any], pause_ms: int, arrives: bool
) -> None:
    made = opened(LengthSettings(timeout_ms=timeout_ms), line=common(**line))
    wire = frames("length", b"whole")
    made.receive(wire[:6], 0)
    events = made.expire(pause_ms * MS) + made.receive(wire[6:], pause_ms * MS + 1)
    assert received(events) == [b"whole"] * arrives


def test_an_echo_that_does_not_come_is_not_waited_for() -> None:
    made = opened(local_echo=True)
    lost, came = (made.send(packet(data), 0).data for data in (b"lost", b"came"))
    assert dropped(made.receive(came, 1)) == {"own_echo": 1}
    assert received(made.receive(lost, 2)) == [b"lost"]  # too late to be an echo
    late = made.send(packet(b"late"), 0).data
    assert received(made.receive(late, 2_000 * MS)) == [b"late"]


def test_an_echo_on_a_slow_line_may_come_after_the_pause_of_a_gap() -> None:
    made = opened("gap:5s", line=common(baudRate=300), local_echo=True)
    wire = made.send(packet(b"hi"), 0).data
    assert made.receive(wire, 100 * MS) == []
    assert dropped(made.expire(5_100 * MS)) == {"own_echo": 1}


def test_the_echo_of_our_own_packet_is_not_a_sign_of_the_other_end() -> None:
    made = opened(local_echo=True)
    made.receive(made.send(packet(b"ping"), 0).data, MS)
    assert made.next_deadline() is None  # nothing of theirs yet
    made.receive(b"temp=20\r\n", 2 * MS)
    (text,) = notices(made.expire(2_002 * MS))
    assert text.startswith("9 bytes, no frame yet") and text.endswith("framing lines?")


def test_the_mock_has_the_same_line_and_the_parameters_of_the_user() -> None:
    line = common(parity="even", rtscts=True, baudRate=9600)
    settings = ADAPTER.Settings(framing="hdlc", mock={"mode": "flood", "baudRate": 19200})
    spec = ADAPTER.mock(settings, line)
    framing_ = spec.parameters.pop("framing")
    assert (framing_["framing"], framing_["max_payload"]) == ("hdlc", 4096)
    assert spec == base.MockSpec(
        "uart_node", {"baudRate": 19200, "byteSize": 11, "rtscts": True, "mode": "flood"}
    )


NASTY = bytes.fromhex("48 00 7E C0")
DIGITS = b"123456789"  # with the check values of the CRC catalogues


class OnUart(AdapterConformance):
    adapter = ADAPTER
    common = {"baudRate": 115200, "channel": 5}
    largest = 4096
    examples = 12


class TestCobs(OnUart):
    settings = {"framing": "cobs-crc16"}
    noise_costs = 1  # the frame it runs into
    vectors = (
        Vector(data=NASTY, wire=bytes.fromhex("02 48 05 7E C0 9D 85 00")),
        Vector(data=DIGITS, wire=b"\x0c" + DIGITS + bytes.fromhex("29 B1 00")),
    )


class TestChannelHeader(Variant, OnUart):
    settings = {"framing": "length", "mapping": ByHeader()}
    largest = 1023
    channels = (0, 254)
    vectors = (
        Vector(
            data=DIGITS[1:],
            channel=DIGITS[0],
            wire=bytes.fromhex("AA 55 00 09") + DIGITS + bytes.fromhex("C0 C2"),
        ),
    )


class TestLines(Variant, OnUart):
    settings = {"framing": "lines"}
    check_bits = 0  # noise is delivered as a part of its line
    noise_costs = 1
    values = sorted(set(range(256)) - {0x0A, 0x0D})
    vectors = (Vector(data=NASTY, wire=NASTY + b"\n"), Vector(data=DIGITS, wire=DIGITS + b"\n"))


class TestGap(Variant, OnUart):
    settings = {"framing": "gap:20ms"}
    check_bits = 0
    pause_s = 0.021
    vectors = (Vector(data=NASTY, wire=NASTY), Vector(data=DIGITS, wire=DIGITS))
