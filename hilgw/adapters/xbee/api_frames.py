"""Digi XBee API frames: 7E, length, frame data, checksum; API mode 1 (raw) and 2 (escaped).

Source: Digi XBee/XBee-PRO 802.15.4 user guide, "API frame structure". A frame is
`7E | length, 2 bytes, big endian | frame data | FF - (sum of frame data & FF)`. In API mode 2
every byte after the first 7E that is 7E, 7D, 11 or 13 goes out as `7D, byte ^ 20`; length and
checksum are computed before that.
"""

from collections.abc import Container

from hilgw.errors import FrameError

START = 0x7E
ESCAPE = 0x7D
OVERHEAD = 4  # start, length, checksum

# Longest frame data accepted: 256 bytes of RF data and an explicit header fit easily.
MAX_LENGTH = 512

FROM_MODULE = range(0x80, 0xC0)  # first byte (frame type) of frames from a module

# 7D must be escaped first and unescaped last: the other pairs contain it.
_PAIRS = ((b"\x7e", b"\x7d\x5e"), (b"\x11", b"\x7d\x31"), (b"\x13", b"\x7d\x33"))
_ESCAPED_ESCAPE = b"\x7d\x5d"


def encode(data: bytes, escaped: bool = False) -> bytes:
    """Return the frame with this frame data, for API mode 2 if `escaped`.

    Raises:
        FrameError: the data are empty or too long.
    """
    size = len(data)
    if not 0 < size <= 0xFFFF:
        raise FrameError(f"an XBee frame carries 1 to 65535 bytes, not {size}")
    body = b"%c%c%b%c" % (size >> 8, size & 0xFF, data, 0xFF - (sum(data) & 0xFF))
    return b"\x7e" + (_escape(body) if escaped else body)


def _escape(data: bytes) -> bytes:
    data = data.replace(b"\x7d", _ESCAPED_ESCAPE)
    for plain, pair in _PAIRS:
        data = data.replace(plain, pair)
    return data


def _unescape(data: bytes) -> bytes:
    """Undo the escapes.

    A pair that no module sends is left alone: the checksum finds it.
    """
    for plain, pair in _PAIRS:
        data = data.replace(pair, plain)
    return data.replace(_ESCAPED_ESCAPE, b"\x7d")


class FrameDecoder:
    """Bytes in any chunks in; frame data out. Other bytes are skipped and counted.

    dropped_bytes: bytes outside good frames. bad_frames: starts without a good frame: impossible
    length, wrong checksum, or missing end. pending: bytes that wait for the rest of their frame,
    at most one frame; call `flush` when the rest does not come. types: the first bytes that frame
    data may have; None: any. In API mode 1 this detects most false starts at once, while length
    and checksum need the bytes of the following frames.
    """

    __slots__ = ("_escaped", "_rest", "_types", "bad_frames", "dropped_bytes")

    def __init__(self, escaped: bool = False, types: Container[int] | None = None) -> None:
        self._escaped = escaped
        self._types = types
        self._rest = b""
        self.dropped_bytes = 0
        self.bad_frames = 0

    @property
    def pending(self) -> int:
        return len(self._rest)

    def feed(self, data: bytes) -> list[bytes]:
        """Return the frame data of every frame completed by these bytes."""
        if self._escaped:
            return self._feed_escaped(data)
        # In API mode 1 a 7E inside a frame is data: a start is dropped only when its length or
        # type is impossible or its checksum wrong, and the search continues at the next byte.
        buffer = self._rest + data if self._rest else data
        size = len(buffer)
        types = self._types
        frames: list[bytes] = []
        position = 0
        while True:
            start = buffer.find(START, position)
            if start != position:
                if start < 0:
                    self.dropped_bytes += size - position
                    self._rest = b""
                    return frames
                self.dropped_bytes += start - position
            if size - start < 3:
                break
            length = buffer[start + 1] << 8 | buffer[start + 2]
            if 0 < length <= MAX_LENGTH:
                end = start + length + 4
                body = buffer[start + 3 : end]
                if types is None or not body or body[0] in types:
                    if end > size:
                        break
                    if sum(body) & 0xFF == 0xFF:
                        frames.append(body[:-1])
                        if end == size:
                            self._rest = b""
                            return frames
                        position = end
                        continue
            self.bad_frames += 1
            self.dropped_bytes += 1
            position = start + 1
        self._rest = buffer[start:]
        return frames

    def flush(self) -> list[bytes]:
        """Drop the unfinished frame on a silent line; return frames after a false start."""
        frames: list[bytes] = []
        while self._rest:
            rest, self._rest = self._rest[1:], b""
            self.bad_frames += 1
            self.dropped_bytes += 1
            frames += self.feed(rest)
        return frames

    def reset(self) -> None:
        """Drop the unfinished frame; the counts stay."""
        self._rest = b""

    def _feed_escaped(self, data: bytes) -> list[bytes]:
        # In API mode 2 an unescaped 7E is always a start, so the stream falls into segments.
        segments = (self._rest + data).split(b"\x7e")
        last = len(segments) - 1
        frames: list[bytes] = []
        self._rest = b""
        self.dropped_bytes += len(segments[0])
        for index in range(1, last + 1):
            segment = segments[index]
            if not self._take(segment, frames):
                if index == last:
                    self._rest = b"\x7e" + segment
                else:
                    self.bad_frames += 1
                    self.dropped_bytes += 1 + len(segment)
        return frames

    def _take(self, segment: bytes, frames: list[bytes]) -> bool:
        """Check the bytes after a start; return False if too few.

        Bytes after a frame are dropped.
        """
        body = segment
        if ESCAPE in segment:
            # A trailing 7D waits for its other half.
            body = _unescape(segment[:-1] if segment[-1] == ESCAPE else segment)
        if len(body) < 2:
            return False
        length = body[0] << 8 | body[1]
        end = length + 3
        good = 0 < length <= MAX_LENGTH
        if good and self._types is not None and len(body) > 2:
            good = body[2] in self._types
        if good and len(body) < end:
            return False
        if good and sum(body[2:end]) & 0xFF == 0xFF:
            frames.append(body[2 : end - 1])
            self.dropped_bytes += len(segment) - _escaped_size(segment, end)
        else:
            self.bad_frames += 1
            self.dropped_bytes += 1 + len(segment)
        return True


def _escaped_size(segment: bytes, size: int) -> int:
    """Return the number of bytes of an escaped segment that make `size` plain ones."""
    used = size
    while used - segment.count(ESCAPE, 0, used) < size:
        used = size + segment.count(ESCAPE, 0, used)
    return used
