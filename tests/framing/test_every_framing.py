"""The contract of a framing, tested on all framings with usual and unusual settings."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from hilgw.errors import FrameError
from hilgw.framing import create
from hilgw.framing.base import FrameDropped, Framing
from hilgw.framing.cobs import CobsSettings
from hilgw.framing.gap import GapSettings
from hilgw.framing.hdlc import HdlcSettings
from hilgw.framing.length import LengthSettings
from hilgw.framing.lines import LinesSettings
from hilgw.framing.sir import Sir, SirSettings
from hilgw.framing.slip import SlipSettings
from tests.cases import cases

MAX = 60
NAMED = {
    "cobs-crc16": CobsSettings(max_payload=MAX),
    "cobs-leading": CobsSettings(max_payload=MAX, leading_delimiter=True),
    "cobs-modbus-big": CobsSettings(max_payload=300, crc="modbus"),
    "cobs": CobsSettings(max_payload=MAX, crc="none"),
    "slip": SlipSettings(max_payload=MAX),
    "slip-crc32": SlipSettings(max_payload=MAX, crc="crc-32"),
    "slip-trailing": SlipSettings(max_payload=MAX, crc="crc16", leading_end=False),
    "lines": LinesSettings(max_payload=MAX),
    "lines-lf": LinesSettings(max_payload=MAX, terminator="\n"),
    "lines-crlf": LinesSettings(max_payload=MAX, terminator="\r\n"),
    "lines-odd": LinesSettings(max_payload=MAX, terminator="aba"),
    "hdlc": HdlcSettings(max_payload=MAX),
    "hdlc-crc32": HdlcSettings(max_payload=MAX, crc="crc-32", control_map=0xFFFFFFFF),
    "length": LengthSettings(max_payload=MAX),
    "length-one": LengthSettings(
        sync="7E", length_bytes=1, length_counts="frame", crc="x-25", max_payload=MAX
    ),
    "length-odd": LengthSettings(
        sync="AA AA AB",
        length_order="little",
        length_counts="payload+crc",
        crc="crc-32",
        crc_order="little",
        crc_from="sync",
        max_payload=MAX,
    ),
    "sir": SirSettings(max_payload=MAX),
    "gap": GapSettings(max_payload=MAX),
}
# A leading delimiter, or a rescan, finds the frame: noise costs no valid frame.
CLEAN_START = ("cobs-leading", "slip", "slip-crc32", "hdlc", "hdlc-crc32", "length", "length-odd")
FEW = cases(0.6)
# The same noise each time: one time in 65536 it forms a frame with a good CRC, rightly accepted.
SHORT_RUNS = cases(0.6, stateful_step_count=20, derandomize=True)
every = pytest.mark.parametrize("settings", NAMED.values(), ids=NAMED)

# Bytes that mean something to some framing come often.
SPICE = b"\x00\x01\x7d\x7e\x5d\x5e\xc0\xdb\xdc\xdd\x0d\x0aab\xaa\x55\xab\xff"
noise = st.lists(
    st.lists(st.sampled_from(SPICE), min_size=1, max_size=4).map(bytes) | st.binary(max_size=40),
    max_size=6,
).map(b"".join)
payload_bytes = noise.map(lambda data: data[:MAX])


def made(settings: Any) -> Framing:
    """SIR is that of an adapter, not a framing by name."""
    return Sir(settings) if isinstance(settings, SirSettings) else create(settings)


def carried(framing: Framing, payload: bytes) -> bool:
    try:
        framing.encode(payload)
    except FrameError:
        return False
    return True


def cut(stream: bytes, cuts: Iterable[int]) -> Iterator[bytes]:
    begin = 0
    for end in [*sorted(cuts), len(stream)]:
        yield stream[begin:end]
        begin = max(begin, end)


def is_within(payloads: Iterable[bytes], received: Iterable[bytes]) -> bool:
    """Whether all payloads were received in this order, among others perhaps."""
    rest = iter(received)
    return all(payload in rest for payload in payloads)


class Line:
    """A stream to one framing, with time: silence is as long as the framing asks for."""

    def __init__(self, settings: Any) -> None:
        self.framing = made(settings)
        self.now = 1_000_000_000
        self.received: list[bytes] = []

    def receive(self, data: bytes, cuts: Iterable[int] = ()) -> None:
        for chunk in cut(data, cuts):
            self.received += self.framing.feed(chunk, self.now)
            assert self.framing.held <= self.framing.max_encoded

    def emit(self, payload: bytes, cuts: Iterable[int] = ()) -> None:
        self.receive(self.framing.encode(payload), cuts)
        if self.framing.pause_ns:
            self.fall_silent()

    def fall_silent(self) -> None:
        """Let the deadline come, if there is one; just before it, nothing may happen."""
        deadline = self.framing.next_deadline()
        if deadline is not None:
            assert deadline > self.now
            assert self.framing.expire(deadline - 1) == []
            self.now = deadline
            self.received += self.framing.expire(deadline)
            assert self.framing.next_deadline() is None


@every
@FEW
@given(payloads=st.lists(payload_bytes, max_size=6), cuts=st.sets(st.integers(0, 500), max_size=8))
def test_any_chunks_give_the_packets_sent(
    settings: Any, payloads: list[bytes], cuts: set[int]
) -> None:
    line = Line(settings)
    payloads = [payload for payload in payloads if carried(line.framing, payload)]
    if line.framing.pause_ns:
        for payload in payloads:
            line.emit(payload, cuts)
    else:
        line.receive(b"".join(map(line.framing.encode, payloads)), cuts)
    assert line.received == payloads
    assert line.framing.dropped == {}
    assert line.framing.held == 0


@every
def test_the_longest_packet_and_one_byte_more(settings: Any) -> None:
    framing = made(settings)
    bodies = [bytes([value]) * framing.max_payload for value in (0x00, 0x7D, 0xC0, 0xDB, 0x41)]
    for body in bodies:
        assert len(framing.encode(body)) <= framing.max_encoded
        with pytest.raises(FrameError, match=f"at most {framing.max_payload} bytes"):
            framing.encode(body + b"A")
    line = Line(settings)
    for body in bodies:
        line.emit(body, range(len(framing.encode(body))))
    assert line.received == bodies


@every
def test_an_empty_packet_is_carried_or_refused(settings: Any) -> None:
    line = Line(settings)
    if line.framing.name in ("gap", "lines", "hdlc", "sir") or settings == NAMED["slip"]:
        with pytest.raises(FrameError, match="empty"):
            line.framing.encode(b"")
    else:
        line.emit(b"")
        line.emit(b"x")
        assert line.received == [b"", b"x"]


def outcome(settings: Any, chunks: Iterable[bytes]) -> tuple[list[bytes], dict[str, int]]:
    line = Line(settings)
    for chunk in chunks:
        line.receive(chunk)
    line.fall_silent()
    return line.received, dict(line.framing.dropped)


@every
@FEW
@given(
    parts=st.lists(st.tuples(st.booleans(), noise), max_size=6),
    cuts=st.sets(st.integers(0, 200), max_size=8),
)
def test_chunks_make_no_difference_to_noise(
    settings: Any, parts: list[tuple[bool, bytes]], cuts: set[int]
) -> None:
    sender = made(settings)
    stream = b"".join(
        sender.encode(data) if framed and carried(sender, data) else data for framed, data in parts
    )
    whole = outcome(settings, [stream])
    assert outcome(settings, cut(stream, range(len(stream)))) == whole
    assert outcome(settings, cut(stream, cuts)) == whole


class NoisyStream(RuleBasedStateMachine):
    """Good frames among noise, cut frames, silences and resets; counts what must arrive."""

    settings: Any
    self_starting: bool

    def __init__(self) -> None:
        super().__init__()
        self.line = Line(self.settings)
        self.promised: list[bytes] = []
        self.clean = True  # nothing unfinished before the next frame

    @rule(payload=payload_bytes, cuts=st.sets(st.integers(0, 150), max_size=4))
    def good_frame(self, payload: bytes, cuts: set[int]) -> None:
        if carried(self.line.framing, payload):
            self.line.emit(payload, cuts)
            if self.clean or self.self_starting:
                self.promised.append(payload)
            self.clean = True

    @rule(data=noise, cuts=st.sets(st.integers(0, 150), max_size=4))
    def garbage(self, data: bytes, cuts: set[int]) -> None:
        self.line.receive(data, cuts)
        self.clean = self.clean and not data

    @rule(payload=payload_bytes, kept=st.integers(0, MAX))
    def half_a_frame(self, payload: bytes, kept: int) -> None:
        if carried(self.line.framing, payload):
            self.garbage(self.line.framing.encode(payload)[:kept], set())

    @rule()
    def silence(self) -> None:
        timed = self.line.framing.next_deadline() is not None
        self.line.fall_silent()
        self.clean = self.clean or timed

    @rule()
    def interruption(self) -> None:
        self.line.fall_silent()
        self.line.framing.reset()
        assert self.line.framing.held == 0
        self.clean = True

    @invariant()
    def the_buffer_is_bounded(self) -> None:
        assert self.line.framing.held <= self.line.framing.max_encoded

    def teardown(self) -> None:
        self.line.fall_silent()
        assert is_within(self.promised, self.line.received)


@pytest.mark.exhaustive
@every
def test_every_good_frame_arrives_but_for_one_after_noise(settings: Any) -> None:
    name = next(name for name in NAMED if NAMED[name] is settings)

    class Machine(NoisyStream):
        pass

    Machine.settings = settings
    Machine.self_starting = name in CLEAN_START
    run_state_machine_as_test(Machine, settings=SHORT_RUNS)


@every
@pytest.mark.parametrize("excess", [1, 2, 3, 150])
@pytest.mark.parametrize("value", [0x00, 0x41, 0xDB])
def test_a_frame_too_long_is_dropped_alone(settings: Any, excess: int, value: int) -> None:
    most = made(settings).max_payload
    sender = made(replace(settings, max_payload=most + excess))
    assert sender.max_payload == most + excess
    frame = sender.encode(bytes([value]) * (most + excess))
    for cuts in ([], range(len(frame)), [len(frame) - 1]):
        line = Line(settings)
        for data in (sender.encode(b"before"), frame, sender.encode(b"behind")):
            line.receive(data, cuts)
            if line.framing.pause_ns:
                line.fall_silent()
        assert line.received == [b"before", b"behind"]
        assert line.framing.dropped.pop("garbage_bytes", len(frame)) == len(frame)
        assert line.framing.dropped == {"too_long": 1}


@every
def test_reset_counts_the_half_frame_and_starts_afresh(settings: Any) -> None:
    line = Line(settings)
    frame = line.framing.encode(b"packet")
    line.receive(frame[:4])
    line.framing.reset()
    assert line.framing.dropped["truncated"] == 1
    assert line.framing.next_deadline() is None
    line.emit(b"packet")
    assert line.received == [b"packet"]
    line.framing.reset()
    assert line.framing.dropped["truncated"] == 1


@every
def test_every_byte_value_alone_and_together(settings: Any) -> None:
    line = Line(replace(settings, max_payload=256))
    payloads = [bytes([value]) for value in range(256)]
    if isinstance(settings, LinesSettings):
        line_ends = ("\r", "\n") if settings.terminator is None else (settings.terminator,)
        payloads = [p for p in payloads if p.decode("latin-1") not in line_ends]
    else:
        payloads += [bytes(range(n, min(256, n + 200))) for n in (0, 56)]
    for payload in payloads:
        line.emit(payload)
    assert line.received == payloads


@every
def test_an_endless_frame_is_dropped_once_and_the_next_ones_come(settings: Any) -> None:
    outcomes = []
    for cuts in ([], range(2000), range(0, 1400, 7), [1400, 1400 + 7]):
        line = Line(settings)
        line.receive(b"\x41" * 1400, [cut for cut in cuts if cut <= 1400])
        line.fall_silent()
        frames = [line.framing.encode(payload) for payload in (b"1st", b"2nd", b"3rd", b"4th")]
        if line.framing.pause_ns:
            line.emit(b"3rd")
            line.emit(b"4th")
        else:
            line.receive(b"".join(frames[:2]), [len(frames[0]), *cuts])
            line.receive(b"".join(frames[2:]), cuts)
        outcomes.append((line.received, dict(line.framing.dropped)))
    received, dropped = outcomes[0]
    assert received[-2:] == [b"3rd", b"4th"]
    assert dropped == (
        {FrameDropped.GARBAGE: 1400} if line.framing.name == "length" else {"too_long": 1}
    )
    assert outcomes == outcomes[:1] * 4
