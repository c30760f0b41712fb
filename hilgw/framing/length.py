"""Frames with a length field: sync bytes, length, payload, CRC over length and payload.

The payload may contain the sync bytes. After a false sync or a bad CRC the search continues at the
byte after the start of that sync, not after the frame; and silence ends an incomplete frame.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar, Literal

from hilgw.errors import ConfigError, FrameError
from hilgw.framing.base import (
    BAD_CRC,
    GARBAGE,
    LONGEST_PAYLOAD,
    TOO_LONG,
    TOO_SHORT,
    TRUNCATED,
    FramingClass,
    refuse_argument,
)
from hilgw.framing.crc import Checksum
from hilgw.settings import setting


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
    # Shorter than elsewhere: each sync in noise costs one CRC over a frame of this length.
    max_payload: int = setting("longest packet", 1024, ge=1, le=LONGEST_PAYLOAD, unit="byte")
    timeout_ms: float = setting(
        "silence that ends an incomplete frame", 100.0, gt=0, le=60_000, unit="ms"
    )


DEFAULTS = LengthSettings()


class Length:
    """Length framing, see the module. GARBAGE counts every byte outside a valid frame."""

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
        self._rest = b""
        self._last = 0  # when the last bytes were received

    @staticmethod
    def parse(variant: str, argument: str) -> LengthSettings:
        refuse_argument("length", argument)
        return LengthSettings(crc=variant) if variant else DEFAULTS

    def encode(self, payload: bytes) -> bytes:
        size = len(payload)
        if size > self.max_payload:
            raise FrameError(
                f"a packet of {size} bytes is too long for length framing",
                fix=f"send at most {self.max_payload} bytes, or change length_bytes or max_payload",
            )
        field = (size + self._counted).to_bytes(self._width, self._order)
        if self._crc_at == 0:
            return self._checksum.seal(self._sync + field + payload)
        return self._sync + self._checksum.seal(field + payload)

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
            self.dropped[TRUNCATED] += 1
        return self._scan(self._rest, over=True)

    @property
    def held(self) -> int:
        return len(self._rest)

    def reset(self) -> None:
        if self._rest:
            self.dropped[TRUNCATED] += 1
            self.dropped[GARBAGE] += len(self._rest)
        self._rest = b""

    def _scan(self, stream: bytes, over: bool) -> list[bytes]:
        """All valid frames of the stream. over: do not keep an incomplete frame."""
        payloads = []
        at = good = 0  # bytes scanned; bytes of these in valid frames
        while (sync := stream.find(self._sync, at)) >= 0:
            end = self._end(stream, sync)
            if end > len(stream) and not over:
                at = sync
                break
            at = sync + 1
            if 0 < end <= len(stream):
                if self._checksum.holds(stream[sync + self._crc_at : end]):
                    payloads.append(stream[sync + self._header : end - self._checksum.size])
                    good += end - sync
                    at = end
                else:
                    self.dropped[BAD_CRC] += 1
        else:
            at = len(stream) - (0 if over else self._begun(stream[at:]))
        self._rest = stream[at:]
        if at > good:
            self.dropped[GARBAGE] += at - good
        return payloads

    def _end(self, stream: bytes, at: int) -> int:
        """The end of the frame at this sync; beyond the stream: incomplete; 0: not a frame."""
        field = stream[at + len(self._sync) : at + self._header]
        if len(field) < self._width:
            return len(stream) + 1
        size = int.from_bytes(field, self._order) - self._counted
        if 0 <= size <= self.max_payload:
            return at + self._header + size + self._checksum.size
        self.dropped[TOO_LONG if size > 0 else TOO_SHORT] += 1
        return 0

    def _begun(self, tail: bytes) -> int:
        """How many bytes at the end may be the start of a sync."""
        for size in range(len(self._sync) - 1, 0, -1):
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
