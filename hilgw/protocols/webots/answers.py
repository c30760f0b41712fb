"""An answer of the simulator: a delay, then messages; on TCP in chunks, with images among them.

    TCP:   u16 chunks, i32 size of all data chunks; per chunk i32 size, u8 type;
           type 0: data; type 1: u16 tag, u8 command, pixels (not counted in the size)
    local: i32 size (with these 4 bytes), data

The data of all chunks together are i32 delay, then messages. An `Answer` keeps its bytes, so
that the proxy passes it on without decoding it.
"""

import re
import struct
from collections.abc import Iterable
from typing import NamedTuple

from hilgw.protocols.webots.wire import ProtocolError
from hilgw.records import record

LARGEST_ANSWER = 256 * 1024 * 1024
"""Eight images of 8 megapixels."""
IMMEDIATE = -1
"""The delay of an answer that does not end the step: the controller waits for the next one."""

DATA_CHUNK = 0
IMAGE_CHUNK = 1
MOST_CHUNKS = 0xFFFF

HEAD = struct.Struct("<Hi")
CHUNK = struct.Struct("<iB")
IMAGE_HEAD = struct.Struct("<HB")
_INT = struct.Struct("<i")
PLAIN = struct.Struct("<HiiBi")
AROUND = HEAD.size + CHUNK.size
# Behind the delay: the message Time, or the configuration with name, version, flags and time.
_TIMED = re.compile(rb"\A(.{15}\x00\x00(?:\x04|\x00[^\x00]*\x00[^\x00]*\x00.{6})).{8}", re.DOTALL)
_LOCAL = struct.Struct("<ii")
_FIX = "check that the address is that of Webots, and its version"


class Image(NamedTuple):
    """The pixels of one image. command: 0, or 9 for a segmentation image."""

    tag: int
    command: int
    pixels: bytes


class Span(NamedTuple):
    """The bytes of one chunk in an answer, without its head."""

    begin: int
    end: int
    kind: int


@record
class Answer:
    """An answer. raw: its bytes as they came. spans: of its chunks in them."""

    raw: bytes
    delay: int
    spans: tuple[Span, ...]
    local: bool = False

    @property
    def messages(self) -> bytes:
        """The messages behind the delay."""
        if len(self.spans) == 1:
            begin, end, _ = self.spans[0]
            return self.raw[begin + _INT.size : end]
        data = [self.raw[begin:end] for begin, end, kind in self.spans if kind == DATA_CHUNK]
        return b"".join(data)[_INT.size :]

    @property
    def images(self) -> list[Image]:
        """The images, in order."""
        images = []
        for begin, end, kind in self.spans:
            if kind == IMAGE_CHUNK:
                tag, command = IMAGE_HEAD.unpack_from(self.raw, begin - IMAGE_HEAD.size)
                images.append(Image(tag, command, self.raw[begin:end]))
        return images


def comparable(data: bytes) -> bytes:
    """Return one whole answer without what differs from run to run.

    It is as on TCP, also where it was on a local socket, and at the time 0.
    """
    if len(data) >= _LOCAL.size and _INT.unpack_from(data)[0] == len(data):
        size = len(data) - _INT.size
        data = HEAD.pack(1, size) + CHUNK.pack(size, DATA_CHUNK) + data[_INT.size :]
    return _TIMED.sub(lambda found: found[1] + bytes(8), data)


def encode_answer(
    delay: int, messages: bytes = b"", images: Iterable[Image] = (), *, local: bool = False
) -> bytes:
    """Return the answer on the wire: one data chunk, then the images.

    A `local` one is for a local socket, which carries no images.

    Raises:
        ProtocolError: The answer is too long.
    """
    try:
        if local:
            return _LOCAL.pack(_LOCAL.size + len(messages), delay) + messages
        size = _INT.size + len(messages)
        if not images:
            return PLAIN.pack(1, size, size, DATA_CHUNK, delay) + messages
        parts = [CHUNK.pack(size, DATA_CHUNK), _INT.pack(delay), messages]
        count = 1
        for tag, command, pixels in images:
            parts += (CHUNK.pack(len(pixels), IMAGE_CHUNK), IMAGE_HEAD.pack(tag, command), pixels)
            count += 1
        return b"".join((_encode_head(count, size), *parts))
    except struct.error as error:
        raise ProtocolError(f"the answer cannot be encoded: {error}") from None


def _encode_head(count: int, total: int) -> bytes:
    try:
        return HEAD.pack(count, total)
    except struct.error:
        raise ProtocolError(
            f"an answer of {count} chunks, {total} bytes, is too long", where="answer"
        ) from None


def encode_chunk(messages: bytes) -> bytes:
    """Return one more data chunk of an answer; no chunk for no messages.

    It is at its end: libController fails on one in front, or between two parts of a message.
    """
    return CHUNK.pack(len(messages), DATA_CHUNK) + messages if messages else b""


def plain_delay(data: bytes, limit: int = LARGEST_ANSWER) -> int | None:
    """Return the delay of one whole answer of one data chunk, as most are; else None."""
    size = len(data)
    if size < PLAIN.size:
        return None
    count, total, chunk, kind, delay = PLAIN.unpack_from(data)
    is_plain = count == 1 and kind == DATA_CHUNK and total == chunk == size - AROUND <= limit
    return delay if is_plain else None


class AnswerReader:
    """Answers from a stream in any chunks. limit: bytes of one answer. local: see the module.

    After a ProtocolError every further call raises it again.
    """

    def __init__(self, limit: int = LARGEST_ANSWER, *, local: bool = False) -> None:
        self._buffer = bytearray()
        self._limit = limit
        self._local = local
        self._error: ProtocolError | None = None
        self._restart()

    @property
    def pending(self) -> int:
        """Bytes of answers that `next` has not returned."""
        return len(self._buffer)

    def whole(self, data: bytes) -> Answer | None:
        """Return the answer if the bytes are one of one data chunk, as most are.

        None: `feed` takes them.
        """
        if self._buffer or self._local or self._error is not None:
            return None
        delay = plain_delay(data, self._limit)
        if delay is None:
            return None
        return Answer(data, delay, (Span(AROUND, len(data), DATA_CHUNK),))

    def feed(self, data: bytes) -> None:
        """Take received bytes; call `next` until it returns None."""
        if self._error is None:
            self._buffer += data

    def next(self) -> Answer | None:
        """Return the next complete answer, or None for want of bytes; raise ProtocolError."""
        if self._error is not None:
            raise self._error
        return self._next_local() if self._local else self._next_chunked()

    def _restart(self) -> None:
        self._at = HEAD.size  # the first byte that is not yet scanned
        self._spans: list[Span] = []
        self._data_bytes = 0

    def _next_local(self) -> Answer | None:
        buffer = self._buffer
        if len(buffer) < _INT.size:
            return None
        size: int = _INT.unpack_from(buffer)[0]
        if not _LOCAL.size <= size <= self._limit:
            raise self._fail(f"an answer of {size} bytes")
        if len(buffer) < size:
            return None
        return self._take(size, (Span(_INT.size, size, DATA_CHUNK),))

    def _next_chunked(self) -> Answer | None:
        """Continue scanning where it stopped: each chunk is read once, however slowly it comes."""
        buffer = self._buffer
        end = len(buffer)
        if end < HEAD.size:
            return None
        count, total = HEAD.unpack_from(buffer)
        if not count or not _INT.size <= total <= self._limit:
            raise self._fail(f"an answer of {count} chunks, {total} bytes,")
        while len(self._spans) < count:
            if end - self._at < CHUNK.size:
                return None
            size, kind = CHUNK.unpack_from(buffer, self._at)
            begin = self._at + CHUNK.size + (IMAGE_HEAD.size if kind == IMAGE_CHUNK else 0)
            self._check(size, kind, begin + size, total)
            if end < begin + size:
                return None
            self._at = begin + size
            self._data_bytes += size if kind == DATA_CHUNK else 0
            self._spans.append(Span(begin, self._at, kind))
        if self._data_bytes != total:
            raise self._fail(f"a total of {total} bytes for {self._data_bytes}")
        size, spans = self._at, tuple(self._spans)
        self._restart()
        return self._take(size, spans)

    def _check(self, size: int, kind: int, end: int, total: int) -> None:
        if kind not in (DATA_CHUNK, IMAGE_CHUNK):
            raise self._fail(f"a chunk of type {kind}")
        if size < 0 or end > self._limit:
            raise self._fail(f"a chunk of {size} bytes")
        if not self._spans and (kind != DATA_CHUNK or size < _INT.size):
            raise self._fail("a first chunk without the delay")
        if kind == DATA_CHUNK and self._data_bytes + size > total:
            raise self._fail(f"a total of {total} bytes for at least {self._data_bytes + size}")

    def _take(self, size: int, spans: tuple[Span, ...]) -> Answer:
        raw = bytes(memoryview(self._buffer)[:size])
        del self._buffer[:size]
        return Answer(raw, _INT.unpack_from(raw, spans[0].begin)[0], spans, self._local)

    def _fail(self, problem: str) -> ProtocolError:
        tail = bytes(self._buffer[: self._at + 16][-256:])
        self._buffer.clear()
        self._error = ProtocolError(f"{problem} is not valid", where="answer", fix=_FIX, tail=tail)
        return self._error
