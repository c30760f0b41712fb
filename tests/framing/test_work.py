"""The work of a framing grows with the bytes received, not with their square, in any chunks.

Counted, never timed: the bytes that go through an operation on the receive buffer, and calls.
"""

from typing import Any, SupportsIndex

import pytest

from hilgw.framing import create, delimited, gap
from hilgw.framing.cobs import CobsSettings
from hilgw.framing.gap import GapSettings
from hilgw.framing.hdlc import HdlcSettings
from hilgw.framing.lines import LinesSettings
from hilgw.framing.slip import SlipSettings

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
