"""Packets separated by silence only, as with Modbus RTU and most transparent radios."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar, Literal

from hilgw.errors import ConfigError
from hilgw.framing.base import LONGEST_PAYLOAD, FrameDropped, FramingClass, require_size
from hilgw.settings import setting

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s)")
_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class GapSettings:
    """Gap framing; the defaults are those of the short name gap:20ms."""

    framing: Literal["gap"] = setting("kind of framing", "gap", choices=("gap",))
    gap_ms: float = setting(
        "silence that ends a packet; longer than the latency timer of a USB adapter (FTDI: 16 ms)",
        20.0,
        gt=0,
        le=60_000,
        unit="ms",
    )
    max_payload: int = setting("longest packet", 4096, ge=1, le=LONGEST_PAYLOAD, unit="byte")


DEFAULTS = GapSettings()


class Gap:
    """Bytes received without a pause of at least the gap are one packet.

    Two packets with a shorter pause are delivered as one, and a longer pause inside a packet splits
    it: the stream has no other separator, and no checksum. The gap is measured from one reception
    to the next.
    """

    Settings: ClassVar[type[GapSettings]] = GapSettings

    def __init__(self, settings: GapSettings = DEFAULTS) -> None:
        self.name = "gap"
        self.max_payload = self.max_encoded = settings.max_payload
        self.pause_ns = round(settings.gap_ms * 1_000_000)
        if self.pause_ns < 1:
            raise ConfigError(f"a gap of {settings.gap_ms} ms is too short", fix="use gap_ms > 0")
        self.dropped: dict[str, int] = Counter()
        self._packet = bytearray()
        self._too_long = False
        self._last: int | None = None  # when the last bytes were received

    @staticmethod
    def parse(variant: str, argument: str) -> GapSettings:
        match = _DURATION.fullmatch(argument.strip() or "20ms")
        if variant or not match:
            raise ConfigError(
                f"framing 'gap{variant and '-' + variant}:{argument}' is not valid",
                fix="write the pause after a colon: gap:20ms, gap:500us, gap:0.1s",
            )
        gap_ms = float(match[1]) * _MS[match[2]]
        if not 0 < gap_ms <= 60_000:
            raise ConfigError(
                f"a gap of {argument} is out of range", fix="use more than 0 and up to 60s"
            )
        return GapSettings(gap_ms=gap_ms)

    def encode(self, payload: bytes) -> bytes:
        """Return the packet itself; the sender leaves `pause_ns` of silence after it."""
        require_size(self, payload, least=1)
        return payload

    def feed(self, data: bytes, now: int = 0) -> list[bytes]:
        complete = self.expire(now)
        if data:
            self._last = now
            if self._too_long or len(self._packet) + len(data) > self.max_payload:
                self._packet.clear()
                self._too_long = True
            else:
                self._packet += data
        return complete

    def next_deadline(self) -> int | None:
        return None if self._last is None else self._last + self.pause_ns

    def expire(self, now: int) -> list[bytes]:
        if self._last is None or now < self._last + self.pause_ns:
            return []
        packet, too_long = bytes(self._packet), self._too_long
        self._clear()
        if too_long:
            self.dropped[FrameDropped.TOO_LONG] += 1
            return []
        return [packet]

    @property
    def held(self) -> int:
        return len(self._packet)

    def reset(self) -> None:
        if self._last is not None:
            self.dropped[FrameDropped.TOO_LONG if self._too_long else FrameDropped.TRUNCATED] += 1
        self._clear()

    def _clear(self) -> None:
        self._packet.clear()
        self._too_long = False
        self._last = None


FRAMING: FramingClass = Gap
