"""The work of a framing grows with the bytes received, not with their square, in any chunks.

Counted, never timed: the bytes that go through an operation on the receive buffer, and calls.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, SupportsIndex

import pytest

from hilgw.framing import create, delimited, gap
from hilgw.framing.base import TURN_BYTES
from hilgw.framing.cobs import CobsSettings
from hilgw.framing.gap import GapSettings
from hilgw.framing.hdlc import HdlcSettings
from hilgw.framing.length import Length, LengthSettings
from hilgw.framing.lines import LinesSettings
from hilgw.framing.slip import SlipSettings
from tests.work import all_calls

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

            def find(self, what: Any, start: SupportsIndex = 0, *end: Any) -> int:  # type: ignore[override]
                work.size += len(self) - int(start)
                return super().find(what, start, *end)

            def __bytes__(self) -> bytes:
                work.size += len(self)
                return b"".join([self])

        self.received = Received
        for module in (delimited, gap):
            patch.setattr(module, "bytearray", Kept, raising=False)

    def of(self, settings: Any, stream: bytes) -> int:
        """Of this stream, byte by byte."""
        framing, self.size = create(settings), 0
        for at in range(len(stream)):
            framing.feed(self.received(stream[at : at + 1]), at)
        assert framing.held <= framing.max_encoded
        return self.size


@pytest.mark.parametrize("settings", BUFFERED, ids=lambda each: each.framing)
@pytest.mark.parametrize("pattern", HOSTILE)
def test_single_bytes_cost_no_more_behind_a_long_buffer(
    settings: Any, pattern: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work(monkeypatch)
    half, whole = (work.of(settings, (pattern * count)[:count]) for count in (MAX // 2, MAX))
    assert 0 < whole <= 2 * half + 100
    assert whole <= 20 * MAX


def calls_of(layout: LengthSettings, stream: bytes, chunk: int) -> int:
    """The functions that a receiver calls, once it was created."""
    length = Length(layout)

    def receive() -> None:
        for at in range(0, len(stream), chunk):
            length.feed(stream[at : at + chunk], at)
        now = 1 << 60
        while (deadline := length.next_deadline()) is not None and deadline <= now:
            length.expire(now)

    count = all_calls(receive)
    assert length.held == 0
    assert length.dropped["garbage_bytes"] == len(stream)
    return count


LONG = LengthSettings(sync="05", max_payload=65_535)  # syncs are a length of 0x0505: long frames
SIZE = 5 * 0x0505
SYNCS: list[Callable[[int], bytes]] = [
    lambda size: b"\x05" * size,
    lambda size: (b"\x05\x05\x06" * size)[:size],
    lambda size: (b"\x05" * 1500 + b"\x00").ljust(size, b"\x05"),
]


@pytest.mark.parametrize(
    ("syncs", "crc", "chunk"),
    [
        (SYNCS[0], "crc-ccitt-false", 1),
        (SYNCS[1], "crc-ccitt-false", 1 << 20),
        (SYNCS[2], "crc-64-we", TURN_BYTES),
    ],
)
def test_twice_the_syncs_are_twice_the_calls(
    syncs: Callable[[int], bytes], crc: str, chunk: int
) -> None:
    layout = replace(LONG, crc=crc)
    half, whole = (calls_of(layout, syncs(size), chunk) for size in (SIZE, 2 * SIZE))
    assert whole <= 2.25 * half  # the last frame of each is incomplete, which takes less


@pytest.mark.parametrize("crc", ["crc-ccitt-false", "crc-64-we"])
def test_a_sync_costs_as_many_calls_however_long_its_frame_is(crc: str) -> None:
    """A register does not move through each digit of the distance."""
    counted = []
    for sync in (0x05, 0xAA):  # frames of 0x0505 and 0xAAAA bytes
        layout = LengthSettings(sync=f"{sync:02X}", max_payload=65_535, crc=crc)
        stream = bytes([sync]) * (2 * sync * 0x101)
        counted.append(2 * calls_of(layout, stream, TURN_BYTES) / len(stream))
    assert counted[1] <= 1.25 * counted[0]
