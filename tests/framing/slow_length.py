"""The search of length framing without bounds: simple, and quadratic on a stream of syncs."""

from collections import Counter

from hilgw.framing.base import FrameDropped
from hilgw.framing.crc import Checksum
from hilgw.framing.length import Length, LengthSettings


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
        at = good = 0  # what is decided; how much of it is in good frames
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
                    self.dropped[FrameDropped.BAD_CRC] += 1
        else:
            at = len(stream) - (0 if over else self._begun(stream[at:]))
        self._rest = stream[at:]
        if at > good:
            self.dropped[FrameDropped.GARBAGE] += at - good
        return payloads

    def _end(self, stream: bytes, at: int) -> int:
        """Where the frame at this sync ends; beyond the stream: unknown yet; 0: it is none."""
        field = stream[at + len(self._sync) : at + self._header]
        if len(field) < self._width:
            return len(stream) + 1
        size = int.from_bytes(field, self._order) - self._counted
        if 0 <= size <= self.max_payload:
            return at + self._header + size + self._checksum.size
        self.dropped[FrameDropped.TOO_LONG if size > 0 else FrameDropped.TOO_SHORT] += 1
        return 0

    def _begun(self, tail: bytes) -> int:
        """How many bytes at the end may be the beginning of a sync."""
        for size in range(len(self._sync) - 1, 0, -1):
            if tail.endswith(self._sync[:size]):
                return size
        return 0
