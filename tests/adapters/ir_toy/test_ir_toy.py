"""The IR Toy adapter without a toy: the conversation byte by byte, packets, settings, words."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import Any, ClassVar

import pytest
from hypothesis import given, strategies as st

from hilgw.adapters import base
from hilgw.adapters.ir_toy import ADAPTER
from hilgw.adapters.ir_toy.receiver import END, SampleDecoder, encode_burst, to_count, to_us
from hilgw.adapters.ir_toy.settings import ByAddress, Target
from hilgw.errors import MismatchError, PeerError
from hilgw.framing.gap import GapSettings
from hilgw.framing.length import LengthSettings
from hilgw.medium.packet import Packet
from hilgw.testing.conformance import AdapterConformance
from hilgw.testing.conformance.subject import Vector
from tests.adapters.bench import SessionBench, dropped, of

MS = 1_000_000
RESET = b"\xff\xff\xff\0\0\0\0\0"
START = b"\x24\x25\x26\x03"
ROOM = b"\x3e"


def nec(address: int, command: int) -> bytes:
    """The samples of a NEC frame, from the data sheet's times."""
    frame = [9000, 4500]
    for octet in (address, 255 - address, command, 255 - command):
        frame += [us for place in range(8) for us in (562, (562, 1687)[octet >> place & 1])]
    return b"".join(round(us * 3 / 64).to_bytes(2, "big") for us in (*frame, 562))


HELD = b"".join(round(us * 3 / 64).to_bytes(2, "big") for us in (9000, 2250, 562))
PAUSE = round(40_000 * 3 / 64).to_bytes(2, "big")
OVER = b"\xff\xff"


class TestConformance(AdapterConformance):
    adapter = ADAPTER
    common: ClassVar[Any] = {"baudRate": 115200, "channel": 4}
    vectors = (
        Vector(data=b"\x04\x08", receives=nec(4, 8) + OVER, sends=b"\0", address="04"),
        Vector(data=b"\x10\xff", receives=nec(0x10, 0xFF) + OVER, sends=b"\0", address="10"),
    )
    sizes = (2,)
    noise_costs = 1  # noise of an odd length puts the counts out of step, up to the next end
    tolerant = True  # a pulse a little longer is the same pulse
    examples = 25


def common(**fields: Any) -> base.StationSettings:
    return base.StationSettings(
        **{"port": "/dev/ttyACM0", "baudRate": 115200, "channel": 4, **fields}
    )


def writes(events: list[base.Event]) -> list[bytes]:
    return [event.data for event in of(base.Write, events)]


class ToySession(SessionBench):
    """A session whose toy is the test."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(ADAPTER.session(ADAPTER.Settings(**settings), common()), 1_000 * MS)

    def wait(self, ms: float) -> list[base.Event]:
        return self.pass_time(ms / 1000)

    def up(self) -> ToySession:
        """Shake hands, as a toy does it."""
        self.open()
        assert writes(self.wait(25)) == [b"v"]
        self.take_in(b"V222")
        self.take_in(b"S01")
        assert self.of(base.Ready)
        return self

    @property
    def received(self) -> list[bytes]:
        return [event.data for event in self.of(base.Received)]

    def send(self, data: bytes, channel: int = 4) -> Any:
        packet = Packet(data=data, channel=channel, type="infra-red", source="rover.tx")
        answer = self.session.send(packet, self.now)
        if isinstance(answer, base.Transmission):
            self.air_time_ns = answer.air_time_ns
            return dataclasses.replace(answer, air_time_ns=0)
        return answer

    def start(self, data: bytes = b"\4\10") -> list[base.Event]:
        """A packet on its way, up to the toy's readiness."""
        assert self.send(data) == base.Transmission(b"\0", 1)
        assert writes(self.wait(5)) == [b"s"]
        (begin,) = writes(self.take_in(b"S01"))
        assert begin.endswith(START)
        return self.events


def test_what_it_sends_before_it_is_reset_is_not_an_answer() -> None:
    """A toy left in sample mode under a fluorescent tube streams on."""
    bench = ToySession()
    bench.open()
    for _ in range(20):
        assert bench.take_in(nec(1, 2)) == []
        assert bench.wait(15) == []
    assert bench.wait(20) == [base.Write(b"v")]
    irman = b"\x05\x08\0\0\0\0"
    assert bench.take_in(irman + b"V220") == [base.Write(b"s")]
    assert of(base.Ready, bench.take_in(b"S01" + nec(4, 8)))
    assert bench.received == [b"\x04\x08"]


@pytest.mark.parametrize("text", [b"\r\nraspberrypi login: \r\n", b""])
def test_text_in_place_of_its_answers_is_shown_and_silence_given_up(text: bytes) -> None:
    bench = ToySession()
    bench.open()
    for _ in range(200):
        bench.take_in(text)
        bench.wait(50)
    shown = [each.text for each in bench.of(base.Notice)]
    assert len(shown) == bool(text)
    words = 'it sends "raspberrypi login:": text in place of its answers'
    assert all('no frame yet; begins "' in each and words in each for each in shown)
    (failed,) = bench.of(base.Failed)
    assert isinstance(failed.error, PeerError) and "does not answer" in str(failed.error)
    assert text or writes(bench.events) == [RESET, b"v"] * 3
    assert bench.session.next_deadline() is None
    assert bench.take_in(b"V222") == []


@pytest.mark.parametrize(
    ("answers", "words"), [((b"V219",), "firmware 19"), ((b"V222", b"S02"), "protocol S02")]
)
def test_a_toy_that_will_not_do(answers: tuple[bytes, ...], words: str) -> None:
    bench = ToySession()
    bench.open()
    bench.wait(25)
    for answer in answers:
        bench.take_in(answer)
    (failed,) = bench.of(base.Failed)
    assert isinstance(failed.error, MismatchError) and words in str(failed.error)
    assert bench.take_in(b"S01") == []


@pytest.mark.parametrize(("held", "packets"), [({}, 1), ({"held_keys": "every"}, 5)])
def test_a_press_and_how_it_is_held(held: dict[str, Any], packets: int) -> None:
    bench = ToySession(**held).up()
    bench.take_in(nec(4, 8) + PAUSE + (HELD + b"\x10\x00") * 3 + HELD + OVER)
    assert bench.of(base.Received) == [base.Received(b"\x04\x08", 4, address="04")] * packets
    assert dropped(bench.events) == ["repeat"] * (5 - packets)


def test_sirc_is_known_by_the_gap_or_the_silence_behind_it() -> None:
    bench = ToySession(code="sirc").up()
    wire = encode_burst((2400, *(us for _ in range(12) for us in (600, 600))))[:-2]
    assert bench.take_in(wire) + bench.wait(119) == []
    assert bench.wait(1) == [base.Received(b"\x00\x00", 4, address="00")]
    again = to_count(20_000).to_bytes(2, "big")
    assert dropped(bench.take_in(again + wire + again)) == ["repeat"]


@pytest.mark.parametrize("end", [PAUSE, OVER, b""])
def test_a_code_of_another_kind_is_named_and_still_counted(end: bytes) -> None:
    bench = ToySession(code="rc5").up()
    bench.take_in(nec(0x04, 0x52) + end)
    bench.wait(2_000)
    assert bench.of(base.Notice) == [base.Notice("NEC 0x04:0x52; this adapter takes rc5")]
    assert set(dropped(bench.events)) == {"strange"}
    assert bench.session.next_deadline() is None


def test_half_a_count_is_given_up() -> None:
    bench = ToySession().up()
    bench.take_in(b"\x01")
    assert dropped(bench.wait(100)) == ["bad_sample"]
    assert bench.wait(400) == []
    bench.take_in(nec(4, 8))
    assert bench.received == [b"\x04\x08"]


def test_other_light_is_counted() -> None:
    bench = ToySession(code="sirc").up()
    bench.take_in(encode_burst((2400, 600, 1200, 600, 600)) + encode_burst([500] * 301) + OVER * 3)
    assert dropped(bench.events) == ["strange", "overlong", "overflow"]


def test_a_lost_byte_costs_one_burst() -> None:
    bench = ToySession().up()
    wire = nec(4, 8) + OVER
    bench.take_in(wire[:21] + wire[22:] + wire)
    assert bench.received == [b"\x04\x08"]
    assert "bad_sample" in dropped(bench.events)


def test_a_toy_back_in_its_default_mode_is_noticed_by_what_it_sends() -> None:
    bench = ToySession().up()
    bench.take_in(nec(4, 8) + OVER)
    bench.wait(1_000)
    bench.take_in(b"\x05\x0c\0\0\0\0")
    events = bench.wait(420)
    assert of(base.NotReady, events) == [base.NotReady("the IR Toy left sample mode")]
    assert writes(events) == [RESET, b"v"]


# --- to the toy -----------------------------------------------------------------------------------


def test_a_transmission_byte_by_byte() -> None:
    bench = ToySession().up()
    assert bench.send(b"\4\10") == base.Transmission(b"\0", 1)
    assert bench.send(b"\4\11") is None
    assert bench.take_in(b"late samples") == []
    assert bench.wait(5) == [base.Write(b"s")]
    assert bench.take_in(b"S01") == [base.Write(b"\x06\x4e\x00" + START)]
    wire = nec(4, 8) + OVER
    for start in (0, 62, 124):
        assert bench.take_in(ROOM) == [base.Write(wire[start : start + 62])]
    assert bench.take_in(ROOM) == []  # one for the last block too
    assert bench.take_in(b"t\x00") == []
    assert bench.take_in(b"\x88C") == [base.Delivered(1), base.Write(b"\0")]
    assert len(wire) == 0x88 == 136
    assert bench.wait(5) == [base.Write(b"s")]
    assert bench.take_in(b"S01") == []
    bench.take_in(nec(1, 1))
    assert bench.received == [b"\x01\x01"]


def test_blocks_are_as_long_as_there_is_room_and_even() -> None:
    bench = ToySession().up()
    bench.start()
    sizes = [len(writes(bench.take_in(bytes((room,))))[0]) for room in (62, 5, 64, 2)]
    assert sizes == [62, 4, 62, 2]


@pytest.mark.parametrize(
    ("result", "event"),
    [
        (b"t\x00\x88F", base.Refused(1, "underrun")),
        (b"t\x00\x86C", base.Refused(1, "count")),
        (b"t\x00\x88C", base.Delivered(1)),
    ],
)
def test_how_a_transmission_ends(result: bytes, event: base.Event) -> None:
    bench = ToySession().up()
    bench.start()
    bench.take_in(ROOM * 4)
    assert bench.take_in(result) == [event, base.Write(b"\0")]
    bench.wait(5)
    bench.take_in(b"S01")
    bench.wait(200)
    assert bench.send(b"\4\11") == base.Transmission(b"\0", 2)


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (ROOM + b"t\x00\x3eF", "underrun"),  # ended before all was sent
        (ROOM + b"t\x00\x3eC", "protocol"),
        (b"\x00", "no_status"),  # no room is not an answer
        (b"A", "no_status"),
        (ROOM * 4 + b"t\x00\x88X", "protocol"),
    ],
)
def test_answers_that_are_none_end_in_a_reset(answers: bytes, reason: str) -> None:
    bench = ToySession().up()
    bench.start()
    bench.take_in(answers)
    assert bench.of(base.Refused) == [base.Refused(1, reason)]
    assert bench.of(base.NotReady)
    assert writes(bench.events)[-1] == RESET


@pytest.mark.parametrize("silent_after", range(7))
def test_silence_at_any_step_is_noticed(silent_after: int) -> None:
    bench = ToySession().up()
    bench.send(b"\4\10")
    for answer in (b"S01", ROOM, ROOM, ROOM, ROOM, b"t\x00")[:silent_after]:
        bench.wait(5)
        bench.take_in(answer)
    bench.wait(11_200)
    assert bench.of(base.Refused) == [base.Refused(1, "no_status")]
    assert bench.of(base.NotReady) == [base.NotReady("the IR Toy stopped answering")]
    assert isinstance(bench.of(base.Failed)[0].error, PeerError)


def test_sample_mode_is_asked_for_again() -> None:
    """A zero and an s in one USB packet: the s is lost."""
    bench = ToySession().up()
    bench.send(b"\4\10")
    assert writes(bench.wait(5)) == [b"s"]
    assert writes(bench.wait(149)) == []
    assert writes(bench.wait(1)) == [b"s"]
    assert writes(bench.take_in(b"S01")) == [b"\x06\x4e\x00" + START]


def test_24h_never_goes_to_a_toy_that_has_not_reported_s01() -> None:
    """In the default mode it starts the bootloader."""
    bench = ToySession().up()
    bench.send(b"\4\10")
    bench.wait(60_000)
    bench.handle(bench.session.open(bench.now))
    bench.wait(60_000)
    assert len(writes(bench.events)) > 8
    assert not any(b"\x24" in data for data in writes(bench.events))


def test_it_waits_for_the_end_of_received_light_but_half_a_second_at_most() -> None:
    bench = ToySession().up()
    bench.take_in(nec(4, 8)[:30])
    assert bench.send(b"\4\10") is None
    bench.wait(50)
    bench.take_in(nec(4, 8)[30:])
    assert bench.send(b"\4\10") == base.Transmission(b"\0", 1)
    jammed = ToySession().up()
    jammed.take_in(b"\x00\x20")
    waited = 0
    while jammed.send(b"\4\10") is None:
        jammed.take_in(b"\x00\x20")
        jammed.wait(10)
        waited += 10
    assert waited == 500


@pytest.mark.parametrize(
    ("settings", "data", "frames"),
    [({}, b"\4\10", 1), ({"framing": "cobs-crc16"}, bytes(250), 254)],
)
def test_how_long_a_packet_is_in_the_air_at_most(
    settings: dict[str, Any], data: bytes, frames: int
) -> None:
    bench = ToySession(**settings).up()
    bench.send(data)
    assert 108 * frames <= bench.air_time_ns / MS <= 250 * frames


def test_of_too_many_streams_the_one_silent_longest_is_given_up() -> None:
    bench = ToySession(framing="cobs", mapping=ByAddress()).up()
    begun = [(address, b"\3") for address in range(16)]
    rest = [(0, b"b\0"), (1, b"ab\0"), (16, b"ab\0")]
    for address, data in (*begun, (0, b"a"), (16, b"\3"), *rest):
        for octet in data:
            bench.take_in(nec(address, octet) + OVER)
    came = [(event.data, event.channel) for event in bench.of(base.Received)]
    assert came == [(b"ab", 0), (b"ab", 16)]


def test_counts_are_21_and_a_third_microseconds() -> None:
    assert [to_us(count) for count in (0, 1, 3, 0x2B, 0xFFFE)] == [0, 21, 64, 917, 1398059]
    assert [to_count(us) for us in (0, 21, 562, 65535, 2_000_000)] == [1, 1, 26, 3072, END - 1]


@given(st.lists(st.integers(0, 0xFEFF) | st.just(END)), st.lists(st.integers(0, 200)))
def test_counts_out_of_any_pieces(counts: list[int], places: list[int]) -> None:
    wire = b"".join(count.to_bytes(2, "big") for count in counts)
    edges = [0, *sorted(place % (len(wire) + 1) for place in places), len(wire)]
    samples = SampleDecoder()
    came = [count for start, end in pairwise(edges) for count in samples.feed(wire[start:end])]
    assert came == counts


# --- settings, limits, words ----------------------------------------------------------------------


def table(**entries: int) -> ByAddress:
    return ByAddress(table={int(key[1:]): Target(address=at) for key, at in entries.items()})


@pytest.mark.parametrize(
    ("settings", "line", "path", "words"),
    [
        ({}, {"baudRate": 9600}, "baudRate", "use 115200"),
        ({"code": "raw", "framing": "lines"}, {}, "framing", "carry no bytes"),
        ({"code": "raw", "mapping": ByAddress()}, {}, "mapping", "no address"),
        ({"code": "rc5", "mapping": table(c1=32)}, {}, "mapping.table.1.address", "0 to 31"),
        ({"mapping": table(c1=7, c2=7)}, {}, "mapping.table.2.address", "channel 1 has"),
        ({"framing": "cobs"}, {"channel": 300}, "channel", "0 to 255"),
        ({"framing": "cob"}, {}, "framing", "did you mean 'cobs'"),
        ({"framing": "gap:200ms"}, {}, "framing", "a byte takes 108 ms"),
        ({"code": "sirc", "framing": "gap:500ms"}, {}, "framing", "use 540 ms"),
        ({"framing": LengthSettings(timeout_ms=150)}, {}, "framing", "use 216 ms"),
        (
            {"mapping": ByAddress(table={-1: Target(address=1)})},
            {},
            "mapping.table.-1",
            "0 or more",
        ),
        ({"code": "sirc20", "mapping": table(c1=8191)}, {}, "", ""),
        ({"framing": "length"}, {}, "", ""),
        ({"framing": GapSettings(gap_ms=216)}, {}, "", ""),
    ],
)
def test_wrong_settings_are_named_in_place(
    settings: dict[str, Any], line: dict[str, Any], path: str, words: str
) -> None:
    problems = ADAPTER.check(ADAPTER.Settings(**settings), common(**line))
    assert [where for where, _, _ in problems] == [path] * bool(path)
    assert all(words in f"{what}; {fix}" for _, what, fix in problems)


@pytest.mark.parametrize(
    ("settings", "data", "channel", "reason"),
    [
        ({}, b"\4", 4, "too_short"),
        ({}, b"\4\4\4", 4, "too_long"),
        ({}, b"\4\4", 5, "channel"),
        ({"code": "rc5"}, b"\x20\x01", 4, "unframable"),
        ({"mapping": table(c4=1)}, b"", 4, "too_short"),
        ({"mapping": table(c4=1)}, b"x", 5, "channel"),
        ({"mapping": ByAddress()}, b"x", 256, "channel"),
        ({"framing": "cobs"}, b"", 4, "empty"),
        ({"framing": "cobs"}, b"x" * 257, 4, "too_long"),
        ({"framing": "lines"}, b"a\nb", 4, "unframable"),
        ({"code": "raw"}, b"", 4, "unframable"),
        ({"code": "raw"}, b"\x10\x00\x10\x00", 4, "unframable"),
        ({"code": "raw"}, b"\x10\x00\x00\x00\x10\x00", 4, "unframable"),
        ({"code": "raw"}, b"\x10\x00" * 257, 4, "too_long"),
    ],
)
def test_packets_that_can_never_go_out(
    settings: dict[str, Any], data: bytes, channel: int, reason: str
) -> None:
    answer = ToySession(**settings).up().send(data, channel)
    assert isinstance(answer, base.CannotSend)
    assert answer.reason == reason and answer.text


@pytest.mark.parametrize(
    ("code", "data", "words"),
    [
        ("nec", RESET, "reset"),
        ("nec", b"V222", "hardware 2, firmware 22"),
        ("nec", b"S01", "sample mode, protocol 01"),
        ("nec", b"\x06\x4e\x00" + START, "transmit at 38 kHz"),
        ("nec", b"t\x00\x88C", "transmitted 136 B, complete"),
        ("nec", nec(4, 8) + PAUSE + HELD + OVER, "NEC address 4 command 8; the same again, end"),
        ("rc5", bytes.fromhex("002A002A002A FFFF"), "896 896 896 us, end"),
        ("raw", nec(4, 8), "9003 4501 555 555 555 555 555 1685 ... us"),
        ("nec", b"", "0 B"),
    ],
)
def test_describe_in_words(code: str, data: bytes, words: str) -> None:
    assert ToySession(code=code).session.describe(data) == f"IR Toy: {words}"


def test_light_that_never_ends_holds_nothing_up() -> None:
    bench = ToySession()
    bench.open()
    for _ in range(60):
        bench.take_in(b"\x00\x20")
        bench.wait(10)
    assert writes(bench.events)[1] == b"v"


def test_nothing_passes_before_ready_and_after_close() -> None:
    bench = ToySession()
    assert (bench.send(b"\4\10"), bench.take_in(nec(4, 8))) == (None, [])
    bench.up()
    bench.take_in(nec(4, 8)[:20])
    assert dropped(bench.session.close()) == ["interrupted"]
    assert (bench.send(b"\4\10"), bench.take_in(nec(4, 8))) == (None, [])
    assert bench.session.next_deadline() is None
    assert bench.session.close() == []
