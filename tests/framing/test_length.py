"""Length framing: layouts and false syncs; its work grows with the bytes, in any chunks."""

import random
from collections import Counter
from dataclasses import replace
from typing import Any, SupportsIndex

import pytest
from hypothesis import given, strategies as st

from hilgw.errors import ConfigError, FrameError
from hilgw.framing import crc as crc_module, create, delimited, gap, length as length_module
from hilgw.framing.base import TURN_BYTES, FrameDropped
from hilgw.framing.cobs import CobsSettings
from hilgw.framing.crc import Checksum, Crc, catalogue
from hilgw.framing.gap import GapSettings
from hilgw.framing.hdlc import HdlcSettings
from hilgw.framing.length import Length, LengthSettings
from hilgw.framing.lines import LinesSettings
from hilgw.framing.slip import SlipSettings
from tests.cases import cases

MS = 1_000_000
PLAIN = LengthSettings(crc="none", sync="7E", max_payload=10)


@pytest.mark.parametrize(
    ("settings", "wire"),
    [
        (PLAIN, "7E 00 02 41 42"),
        (replace(PLAIN, length_order="little"), "7E 02 00 41 42"),
        (replace(PLAIN, length_bytes=1), "7E 02 41 42"),
        (replace(PLAIN, length_bytes=1, length_counts="frame"), "7E 04 41 42"),
        (replace(PLAIN, length_counts="payload+crc", crc="crc-8"), "7E 00 03 41 42 3A"),
        (replace(PLAIN, crc="crc-8", crc_from="sync"), "7E 00 02 41 42 9D"),
    ],
)
def test_layouts(settings: LengthSettings, wire: str) -> None:
    length = Length(settings)
    assert length.encode(b"AB") == bytes.fromhex(wire)
    assert length.feed(bytes.fromhex(wire)) == [b"AB"]


def test_the_search_goes_on_behind_a_false_sync() -> None:
    length = create("length")
    good = length.encode(b"good")
    # The false frame claims 8 bytes and so covers the beginning of the good one.
    assert length.feed(b"\xaa\x55\x00\x08\x01\x02" + good) == [b"good"]
    assert length.dropped == {"bad_crc": 1, "garbage_bytes": 6}


def test_the_deadline_frees_a_half_frame_and_the_good_one_it_swallowed() -> None:
    length = create("length")
    good = length.encode(b"good")
    assert length.feed(b"\xaa\x55\x03\xff" + good + good[:5], 5 * MS) == []
    assert length.next_deadline() == 105 * MS
    assert length.expire(105 * MS - 1) == []
    assert length.expire(105 * MS) == [b"good"]
    assert length.next_deadline() is None
    assert length.dropped == {"truncated": 1, "garbage_bytes": 9}


def test_no_byte_of_a_good_frame_is_taken_for_the_next_sync() -> None:
    length = create("length")
    payload = next(
        number.to_bytes(2, "big")
        for number in range(1 << 16)
        if length.encode(number.to_bytes(2, "big"))[-1] == 0xAA
    )
    assert length.feed(length.encode(payload)) == [payload]
    assert length.held == 0
    assert length.feed(b"\x55") == []
    assert length.dropped == {"garbage_bytes": 1}


def test_the_field_bounds_the_payload() -> None:
    length = Length(replace(PLAIN, length_bytes=1, max_payload=4096, length_counts="frame"))
    assert length.max_payload == 253
    assert length.encode(bytes(253))[:2] == b"\x7e\xff"
    with pytest.raises(FrameError, match="at most 253"):
        length.encode(bytes(254))


@pytest.mark.parametrize("sync", ["", "A", "GG", "00 11 22 33 44 55 66 77 88"])
def test_unreadable_sync(sync: str) -> None:
    with pytest.raises(ConfigError, match="AA 55"):
        Length(replace(PLAIN, sync=sync))


layouts = st.builds(
    LengthSettings,
    sync=st.sampled_from(["AA", "00", "AA 55", "AA AA", "AA AA 01"]),
    length_bytes=st.sampled_from([1, 2]),
    length_order=st.sampled_from(["big", "little"]),
    length_counts=st.sampled_from(["payload", "payload+crc", "frame"]),
    crc=st.sampled_from(["none", "crc-8", "crc-ccitt-false", "modbus", "crc-24", "crc-32"]),
    crc_order=st.sampled_from(["big", "little"]),
    crc_from=st.sampled_from(["length", "sync"]),
    max_payload=st.sampled_from([5, 300, 70_000]),
    timeout_ms=st.sampled_from([0.000001, 50.0]),
)
pieces = st.one_of(
    st.binary(max_size=12),
    st.text("\xaa\x55\0\1\2", max_size=40).map(lambda text: text.encode("latin-1")),
    st.tuples(st.sampled_from([b"\xaa", b"\xaa\0", b"\0"]), st.integers(0, 400)).map(
        lambda repeated: repeated[0] * repeated[1]
    ),
    st.binary(max_size=9),
)


def settle(length: Length, now: int) -> list[bytes]:
    """What the calls of a timer give until the past has no more work."""
    payloads = []
    while (deadline := length.next_deadline()) is not None and deadline <= now:
        payloads += length.expire(now)
    return payloads


@cases(4)
@given(
    layouts,
    st.lists(st.tuples(pieces, st.booleans(), st.sampled_from([0, 1, 60 * MS])), max_size=12),
    st.sampled_from([1, 3, 1024]),
    st.sampled_from([0, 512]),
    st.booleans(),
)
def test_the_bounded_search_finds_and_counts_the_same(
    layout: LengthSettings,
    parts: list[tuple[bytes, bool, int]],
    steps: int,
    short: int,
    settles: bool,
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(length_module, "TURN_STEPS", steps)
        patch.setattr(length_module, "SHORT_BYTES", short)
        length, slow = Length(layout), SlowLength(layout)
        payloads, expected, now = [], [], 1
        for data, framed, pause_ns in parts:
            wire = length.encode(data) if framed and len(data) <= length.max_payload else data
            now += pause_ns
            payloads += length.feed(wire, now)
            expected += slow.feed(wire, now)
            assert length.held <= length.max_encoded
            if settles:
                payloads += settle(length, now)
                assert (payloads, length.held) == (expected, slow.held)
                assert length.dropped == slow.dropped
                assert length.next_deadline() == slow.next_deadline()
        now += 60_000 * MS
        payloads += length.expire(now) + settle(length, now)
        expected += slow.expire(now)
        assert payloads == expected
        assert length.dropped == slow.dropped
        assert length.held == 0


class CountingCrcs:
    """CRCs that count the bytes they compute over."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.size = 0
        real = crc_module.named
        patch.setattr(crc_module, "named", lambda name: self._counted(real(name)))

    def _counted(self, crc: Crc) -> Crc:
        def update(data: bytes, register: int) -> int:
            self.size += len(data)
            return crc.update(data, register)

        return replace(crc, update=update)


SYNC_STREAMS = [
    b"\xaa" * 131_072,
    b"\xaa\x00" * 65_536,
    (b"\xaa\xff\xf0" + b"\xaa\x00" * 32_700) * 2,
    b"".join(b"\xaa" + (65_000 - n).to_bytes(2, "big") for n in range(0, 64_990, 3)) * 2,
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("stream", SYNC_STREAMS)
def test_a_stream_of_syncs_takes_linear_time_and_bounded_turns(
    stream: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    crcs = CountingCrcs(monkeypatch)
    length = Length(LengthSettings(sync="AA", max_payload=65_535))
    most = longest = looked = 0

    def judge() -> None:
        nonlocal most, longest, looked
        total = length.dropped["bad_crc"] + length.dropped["too_long"]
        most, looked = max(most, total - looked), total
        longest, crcs.size = max(longest, crcs.size), 0

    for begin in range(0, len(stream), TURN_BYTES):
        length.feed(stream[begin : begin + TURN_BYTES], begin)
        judge()
        assert length.held <= length.max_encoded
    now = len(stream) + 60_000 * MS
    while (deadline := length.next_deadline()) is not None and deadline <= now:
        length.expire(now)
        judge()
    assert length.held == 0
    assert most <= TURN_BYTES
    # One frame of the greatest length, the registers over it, and a piece for each sync.
    assert longest <= 2 * 65_535 + TURN_BYTES * 512


@pytest.mark.parametrize("name", catalogue())
def test_every_crc_over_long_frames_that_overlap_bad_ones(name: str) -> None:
    """Each bad frame covers the good ones behind it, so one run of the CRC serves them all."""
    layout = LengthSettings(sync="AA", crc=name, max_payload=3000)
    length, slow = Length(layout), SlowLength(layout)
    dice = random.Random(name)
    good = [dice.randbytes(dice.randrange(520, 900)) for _ in range(6)]
    stream = b"".join(
        b"\xaa" + dice.randrange(2000, 3000).to_bytes(2, "big") + length.encode(payload)
        for payload in good
    )
    payloads = length.feed(stream, 0) + length.expire(60_000 * MS) + settle(length, 60_000 * MS)
    assert payloads == slow.feed(stream, 0) + slow.expire(60_000 * MS)
    assert length.dropped == slow.dropped
    assert good[0] in payloads


MAX = 4096
BUFFERED = [
    CobsSettings(max_payload=MAX),
    SlipSettings(max_payload=MAX),
    HdlcSettings(max_payload=MAX),
    LinesSettings(max_payload=MAX),
    LinesSettings(max_payload=MAX, terminator="aaaaaaab"),
    GapSettings(max_payload=MAX),
]
HOSTILE = [b"\x41", b"a", b"\0", b"\r", b"\x7d", b"\x7e", b"\xc0", b"\xdb", b"aaaaaaaa\r"]


class Work:
    """How many bytes went through an operation on what is received or kept."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.size = 0
        work = self

        class Received(bytes):
            def __add__(self, other: Any) -> Any:
                work.size += len(self) + len(other)
                return Received(bytes(self) + bytes(other))

            def __radd__(self, other: Any) -> Any:
                work.size += len(self) + len(other)
                return Received(bytes(other) + bytes(self))

            def split(self, *args: Any, **kwargs: Any) -> Any:
                work.size += len(self)
                return super().split(*args, **kwargs)

        class Kept(bytearray):
            def __iadd__(self, other: Any) -> Any:
                work.size += len(other)
                return super().__iadd__(other)

            def find(self, part: Any, start: SupportsIndex = 0, *end: Any) -> int:  # type: ignore[override]
                work.size += len(self) - int(start)
                return super().find(part, start, *end)

            def __bytes__(self) -> bytes:
                work.size += len(self)
                return b"".join([self])

        self.received = Received
        for module in (delimited, gap):
            patch.setattr(module, "bytearray", Kept, raising=False)

    def of(self, settings: Any, stream: bytes) -> int:
        """Of this stream, byte by byte."""
        framing, self.size = create(settings), 0
        for index in range(len(stream)):
            framing.feed(self.received(stream[index : index + 1]), index)
        assert framing.held <= framing.max_encoded
        return self.size


@pytest.mark.exhaustive
@pytest.mark.parametrize("settings", BUFFERED, ids=lambda each: each.framing)
@pytest.mark.parametrize("pattern", HOSTILE)
def test_single_bytes_cost_no_more_behind_a_long_buffer(
    settings: Any, pattern: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work(monkeypatch)
    half, whole = (work.of(settings, (pattern * count)[:count]) for count in (MAX // 2, MAX))
    assert 0 < whole <= 2 * half + 100
    assert whole <= 20 * MAX


class SlowLength:
    """The receiver of `hilgw.framing.length.Length`; looks at everything at once."""

    def __init__(self, settings: LengthSettings) -> None:
        length = Length(settings)
        self.max_payload = length.max_payload
        self.dropped: dict[str, int] = Counter()
        self._sync = bytes.fromhex(settings.sync)
        self._checksum = Checksum(settings.crc, settings.crc_order)
        self._width = settings.length_bytes
        self._order = settings.length_order
        self._crc_at = 0 if settings.crc_from == "sync" else len(self._sync)
        self._header = len(self._sync) + self._width
        overhead = self._header + self._checksum.size
        counted = {"payload": 0, "payload+crc": self._checksum.size, "frame": overhead}
        self._counted = counted[settings.length_counts]
        self._timeout_ns = round(settings.timeout_ms * 1_000_000)
        self._rest = b""
        self._last = 0

    def feed(self, data: bytes, now: int = 0) -> list[bytes]:
        payloads = self.expire(now)
        if not data:
            return payloads
        self._last = now
        return payloads + self._scan(self._rest + data, over=False)

    def next_deadline(self) -> int | None:
        return self._last + self._timeout_ns if self._rest else None

    def expire(self, now: int) -> list[bytes]:
        if not self._rest or now < self._last + self._timeout_ns:
            return []
        if self._rest.startswith(self._sync):
            self.dropped[FrameDropped.TRUNCATED] += 1
        return self._scan(self._rest, over=True)

    @property
    def held(self) -> int:
        return len(self._rest)

    def reset(self) -> None:
        if self._rest:
            self.dropped[FrameDropped.TRUNCATED] += 1
            self.dropped[FrameDropped.GARBAGE] += len(self._rest)
        self._rest = b""

    def _scan(self, stream: bytes, over: bool) -> list[bytes]:
        """All good frames of the stream; what may still become one is kept, unless it is over."""
        payloads = []
        begin = good = 0  # what is decided; how much of it is in good frames
        while (sync := stream.find(self._sync, begin)) >= 0:
            end = self._end(stream, sync)
            if end > len(stream) and not over:
                begin = sync
                break
            begin = sync + 1
            if 0 < end <= len(stream):
                if self._checksum.holds(stream[sync + self._crc_at : end]):
                    payloads.append(stream[sync + self._header : end - self._checksum.size])
                    good += end - sync
                    begin = end
                else:
                    self.dropped[FrameDropped.BAD_CRC] += 1
        else:
            begin = len(stream) - (0 if over else self._begun(stream[begin:]))
        self._rest = stream[begin:]
        if begin > good:
            self.dropped[FrameDropped.GARBAGE] += begin - good
        return payloads

    def _end(self, stream: bytes, begin: int) -> int:
        """Where the frame at this sync ends; beyond the stream: unknown yet; 0: it is none."""
        field = stream[begin + len(self._sync) : begin + self._header]
        if len(field) < self._width:
            return len(stream) + 1
        size = int.from_bytes(field, self._order) - self._counted
        if 0 <= size <= self.max_payload:
            return begin + self._header + size + self._checksum.size
        self.dropped[FrameDropped.TOO_LONG if size > 0 else FrameDropped.TOO_SHORT] += 1
        return 0

    def _begun(self, tail: bytes) -> int:
        """How many bytes at the end may be the beginning of a sync."""
        for size in range(len(self._sync) - 1, 0, -1):
            if tail.endswith(self._sync[:size]):
                return size
        return 0
