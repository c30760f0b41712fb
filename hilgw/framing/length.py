"""Frames with a length field: sync bytes, length, payload, CRC over length and payload.

The payload may contain the sync bytes. After a false sync or a bad CRC the search continues at the
byte after the start of that sync, not after the frame; and silence ends an incomplete frame.
One call checks a bounded number of syncs. While some are left, next_deadline() is in the past.
"""

from collections import Counter, deque
from dataclasses import dataclass
from typing import ClassVar, Literal

from hilgw.errors import ConfigError
from hilgw.framing._running_crc import BLOCK, RunningCrc
from hilgw.framing.base import (
    LONGEST_PAYLOAD,
    TURN_BYTES,
    FrameDropped,
    FramingClass,
    refuse_argument,
    require_size,
)
from hilgw.framing.crc import Checksum
from hilgw.settings import setting

# Syncs that one call checks; the rest waits for the next call.
TURN_STEPS = TURN_BYTES
# One CRC over this many bytes or fewer takes no longer than the search with the running CRC.
SHORT_BYTES = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthSettings:
    """Length framing; the defaults are those of the short name length."""

    framing: Literal["length"] = setting("kind of framing", "length", choices=("length",))
    sync: str = setting(
        "sync bytes at the start of a frame: one to eight, in hex",
        "AA 55",
        pattern="[0-9A-Fa-f]{2}( ?[0-9A-Fa-f]{2}){0,7}",
    )
    length_bytes: Literal[1, 2] = setting("size of the length field", 2, choices=(1, 2))
    length_order: Literal["big", "little"] = setting(
        "byte order of the length field", "big", choices=("big", "little")
    )
    length_counts: Literal["payload", "payload+crc", "frame"] = setting(
        "what the length field counts; frame: all from the first sync byte to the end",
        "payload",
        choices=("payload", "payload+crc", "frame"),
    )
    crc: str = setting("CRC after the payload, or none (not recommended)", "crc-ccitt-false")
    crc_order: Literal["big", "little"] = setting(
        "byte order of the CRC", "big", choices=("big", "little")
    )
    crc_from: Literal["length", "sync"] = setting(
        "first field that the CRC covers", "length", choices=("length", "sync")
    )
    # Shorter than elsewhere: a false sync delays valid frames until that many bytes have come.
    max_payload: int = setting("longest packet", 1024, ge=1, le=LONGEST_PAYLOAD, unit="byte")
    timeout_ms: float = setting(
        "silence that ends an incomplete frame", 100.0, gt=0, le=60_000, unit="ms"
    )


DEFAULTS = LengthSettings()


class Length:
    """Length framing, see the module. `garbage_bytes` counts every byte outside a valid frame."""

    Settings: ClassVar[type[LengthSettings]] = LengthSettings
    pause_ns = 0

    def __init__(self, settings: LengthSettings = DEFAULTS) -> None:
        self.name = "length"
        self.dropped: dict[str, int] = Counter()
        self._sync = _sync_bytes(settings.sync)
        self._checksum = Checksum(settings.crc, settings.crc_order)
        self._width = settings.length_bytes
        self._order = settings.length_order
        self._crc_at = 0 if settings.crc_from == "sync" else len(self._sync)
        self._header = len(self._sync) + self._width
        overhead = self._header + self._checksum.size
        counted = {"payload": 0, "payload+crc": self._checksum.size, "frame": overhead}
        self._counted = counted[settings.length_counts]
        self.max_payload = min(settings.max_payload, 256**self._width - 1 - self._counted)
        self.max_encoded = overhead + self.max_payload
        self._timeout_ns = max(1, round(settings.timeout_ms * 1_000_000))
        self._crc_size = self._checksum.size
        self._stream = bytearray()
        self._at = 0  # bytes at its start that belong to a frame or to garbage
        self._last = 0  # when the last bytes were received
        self._behind = False  # syncs are left to check
        self._cuts: deque[int] = deque()  # positions of silence
        self._given_up = False  # the truncated frame before the first cut is counted
        self._checked = 0  # end of the bytes that went through the CRC for a bad frame
        self._running: RunningCrc | None = None
        if self._checksum.crc is not None and self.max_encoded > SHORT_BYTES:
            RunningCrc.prepare(self._checksum.crc, self.max_encoded)

    @staticmethod
    def parse(variant: str, argument: str) -> LengthSettings:
        refuse_argument("length", argument)
        return LengthSettings(crc=variant) if variant else DEFAULTS

    def encode(self, payload: bytes) -> bytes:
        require_size(self, payload, change="change length_bytes or max_payload")
        field = (len(payload) + self._counted).to_bytes(self._width, self._order)
        if self._crc_at == 0:
            return self._checksum.seal(self._sync + field + payload)
        return self._sync + self._checksum.seal(field + payload)

    def feed(self, data: bytes, now: int = 0) -> list[bytes]:
        self._cut_when_silent(now)
        if data:
            self._last = now
            self._stream += data
        # At least one step for each byte received, so `held` does not grow.
        return self._search(max(TURN_STEPS, len(data)))

    def next_deadline(self) -> int | None:
        if self._behind:
            return self._last
        return self._last + self._timeout_ns if self.held else None

    def expire(self, now: int) -> list[bytes]:
        self._cut_when_silent(now)
        return self._search(TURN_STEPS) if self._behind else []

    @property
    def held(self) -> int:
        return len(self._stream) - self._at

    def reset(self) -> None:
        if self.held:
            self.dropped[FrameDropped.TRUNCATED] += 1
            self.dropped[FrameDropped.GARBAGE] += self.held
        self._stream.clear()
        self._cuts.clear()
        self._running = None
        self._at = self._checked = 0
        self._given_up = self._behind = False

    def _cut_when_silent(self, now: int) -> None:
        """End the unfinished frame after the timeout: no frame continues across the silence."""
        if self.held and now >= self._last + self._timeout_ns:
            if not self._cuts or self._cuts[-1] < len(self._stream):
                self._cuts.append(len(self._stream))
            self._behind = True

    def _search(self, steps: int) -> list[bytes]:
        """Return the valid frames in the stream; checks at most `steps` syncs."""
        payloads: list[bytes] = []
        stream, start = self._stream, self._at
        good = bad = 0
        self._behind = True
        for _ in range(steps):
            end = self._cuts[0] if self._cuts else len(stream)
            sync = stream.find(self._sync, start, end)
            frame_end = self._end(sync, end) if sync >= 0 else end + 1
            if 0 < frame_end <= end:
                if self._holds(sync, frame_end):
                    payloads.append(bytes(stream[sync + self._header : frame_end - self._crc_size]))
                    good += frame_end - sync
                    start = frame_end
                else:
                    bad += 1
                    start = sync + 1
            elif frame_end == 0:
                start = sync + 1
            elif not self._cuts:
                start = sync if sync >= 0 else end - self._begun(start)
                self._behind = False
                break
            elif sync >= 0:
                start = sync + 1
                if not self._given_up:
                    self._given_up = True
                    self.dropped[FrameDropped.TRUNCATED] += 1
            else:
                start = self._cuts.popleft()
                self._given_up = False
        if bad:
            self.dropped[FrameDropped.BAD_CRC] += bad
        if start - self._at > good:
            self.dropped[FrameDropped.GARBAGE] += start - self._at - good
        self._at = start
        self._let_go()
        return payloads

    def _end(self, start: int, end: int) -> int:
        """Return the end of the frame at this sync; beyond `end`: incomplete; 0: not a frame."""
        begin = start + len(self._sync)
        if begin + self._width > end:
            return end + 1
        size = int.from_bytes(self._stream[begin : begin + self._width], self._order)
        size -= self._counted
        if 0 <= size <= self.max_payload:
            return start + self._header + size + self._crc_size
        self.dropped[FrameDropped.TOO_LONG if size > 0 else FrameDropped.TOO_SHORT] += 1
        return 0

    def _holds(self, sync: int, end: int) -> bool:
        """Return whether the CRC of this frame is right.

        A byte goes through the CRC for one bad frame only. Long frames that overlap a bad one use
        the registers of one run over the stream.
        """
        start, crc_at = sync + self._crc_at, end - self._crc_size
        if start >= self._checked or end - start <= SHORT_BYTES or self._checksum.crc is None:
            if self._checksum.holds(bytes(self._stream[start:end])):
                return True
            self._checked = max(self._checked, end)
            return False
        if self._running is None:
            self._running = RunningCrc(self._checksum.crc)
        sent = int.from_bytes(self._stream[crc_at:end], self._checksum.order)
        return self._running.part(self._stream, start, crc_at) == sent

    def _let_go(self) -> None:
        """Remove scanned bytes, in whole blocks of the running CRC."""
        blocks = self._at // BLOCK
        if not blocks:
            return
        size = blocks * BLOCK
        del self._stream[:size]
        self._at -= size
        self._checked = max(0, self._checked - size)
        self._cuts = deque(cut - size for cut in self._cuts)
        if self._running is not None:
            self._running.forget(blocks)

    def _begun(self, start: int) -> int:
        """Return the number of bytes at the end of the stream that may be the start of a sync."""
        tail = self._stream[max(start, len(self._stream) - len(self._sync) + 1) :]
        for size in range(len(tail), 0, -1):
            if tail.endswith(self._sync[:size]):
                return size
        return 0


def _sync_bytes(text: str) -> bytes:
    try:
        sync = bytes.fromhex(text)
    except ValueError:
        sync = b""
    if not 1 <= len(sync) <= 8:
        raise ConfigError(f"sync '{text}' is not one to eight bytes in hex", fix="e.g. AA 55")
    return sync


FRAMING: FramingClass = Length
