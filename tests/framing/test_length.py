"""Length: layouts, the search after a false sync, and the deadline of an incomplete frame."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from hilgw.errors import ConfigError, FrameError
from hilgw.framing import crc as crc_module, create, length as length_module
from hilgw.framing.base import TURN_BYTES
from hilgw.framing.crc import Crc, catalogue
from hilgw.framing.length import Length, LengthSettings
from tests.cases import cases
from tests.framing.slow_length import SlowLength

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
        found, expected, now = [], [], 1
        for data, framed, pause_ns in parts:
            wire = length.encode(data) if framed and len(data) <= length.max_payload else data
            now += pause_ns
            found += length.feed(wire, now)
            expected += slow.feed(wire, now)
            assert length.held <= length.max_encoded
            if settles:
                found += settle(length, now)
                assert (found, length.held) == (expected, slow.held)
                assert length.dropped == slow.dropped
                assert length.next_deadline() == slow.next_deadline()
        now += 60_000 * MS
        found += length.expire(now) + settle(length, now)
        expected += slow.expire(now)
        assert found == expected
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

    for at in range(0, len(stream), TURN_BYTES):
        length.feed(stream[at : at + TURN_BYTES], at)
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
    found = length.feed(stream, 0) + length.expire(60_000 * MS) + settle(length, 60_000 * MS)
    assert found == slow.feed(stream, 0) + slow.expire(60_000 * MS)
    assert length.dropped == slow.dropped
    assert good[0] in found
