"""Answers of Webots, passed on one by one, with a chunk added at the end of some of them.

A data chunk is passed on when it is complete, the pixels of an image as they come: an image of
megabytes waits for nothing. All bytes of Webots stay as they are, but for the count of chunks and
the total of an answer that gets one more chunk.
"""

from collections.abc import Callable

from hilgw.protocols.webots.answers import (
    AROUND,
    CHUNK,
    DATA_CHUNK,
    HEAD,
    IMAGE_CHUNK,
    IMAGE_HEAD,
    LARGEST_ANSWER,
    MOST_CHUNKS,
    PLAIN,
    encode_answer,
    encode_chunk,
    plain_delay,
)
from hilgw.protocols.webots.codec import QUIT, encode_time
from hilgw.protocols.webots.wire import ProtocolError

MOST_KEPT = 4 * 1024 * 1024
"""Bytes of messages that `end` gets; those of a longer answer are not kept for it."""
_TIME = encode_time(0.0)
_LEAST = PLAIN.size - AROUND
"""Bytes of the delay, with which the first chunk begins."""
_FIX = "check that `connect` is the address of Webots, and its version"

Begin = Callable[[int, bytes, bool], bytes]
"""(delay, messages of the first chunk, whether one more chunk has room) -> messages to add."""
End = Callable[[bytes], None]
"""The messages of a complete answer; without its delay, its images and what was added."""


class AnswerPassage:
    """The answers of one connection.

    begin: at each answer, when its first chunk is complete. end: at its end. `feed` raises
    ProtocolError for bytes that are not an answer.
    """

    def __init__(self, begin: Begin, end: End) -> None:
        self._begin = begin
        self._end = end
        self._held = bytearray()  # the head of a chunk, or a data chunk, that is not complete
        self._chunks_left = 0
        self._data_left = 0
        self._image_left = 0
        self._kept: list[bytes] = []
        self._keeps = True
        self._more = b""

    def feed(self, data: bytes) -> bytes:
        """Take bytes of Webots and return the bytes for the controller."""
        held = self._held
        if not held:
            if self._image_left > len(data):
                self._image_left -= len(data)
                return data
            delay = None if self._chunks_left else plain_delay(data)
            if delay is not None:
                return self._pass_plain(data, delay)
        held += data
        out: list[bytes] = []
        while self._advance(out):
            pass
        return b"".join(out)

    def cut(self, first: bytes = b"") -> bytes:
        """Return the bytes that end the present answer, then one with QUIT: Webots is gone.

        Of an image that is cut off, the rest is black. `first` are messages before QUIT.
        """
        out = [bytes(self._image_left)]
        if self._chunks_left:
            left = self._chunks_left - (1 if self._image_left else 0)
            filler = _filler(self._data_left)
            if left:
                out += [CHUNK.pack(len(filler), DATA_CHUNK), filler]
                out += [CHUNK.pack(0, DATA_CHUNK)] * (left - 1)
            out.append(encode_chunk(self._more))
        self._chunks_left = self._image_left = 0
        self._held.clear()
        return b"".join((*out, encode_answer(0, first + QUIT)))

    # --- the answer of most steps: one chunk, in one piece --------------------------------------

    def _pass_plain(self, data: bytes, delay: int) -> bytes:
        messages = data[PLAIN.size :]
        more = self._begin(delay, messages, True)
        self._end(messages)
        if not more:
            return data
        total = _LEAST + len(messages) + len(more)
        return HEAD.pack(2, total) + data[HEAD.size :] + encode_chunk(more)

    # --- any answer -----------------------------------------------------------------------------

    def _advance(self, out: list[bytes]) -> bool:
        if self._image_left:
            part = bytes(self._held[: self._image_left])
            self._image_left -= len(part)
            self._take(len(part), out)
            return bool(part) and (self._image_left > 0 or self._end_chunk(out))
        return self._pass_chunk(out) if self._chunks_left else self._pass_head(out)

    def _pass_head(self, out: list[bytes]) -> bool:
        """Hold the head back until the first chunk, whose delay decides what is added."""
        held = self._held
        if len(held) < PLAIN.size:
            return False
        count, total, size, kind, delay = PLAIN.unpack_from(held)
        if not count or kind != DATA_CHUNK or not _LEAST <= size <= total <= LARGEST_ANSWER:
            raise self._error(f"an answer of {count} chunks, {total} bytes,")
        end = AROUND + size
        if len(held) < end:
            return False
        messages = bytes(held[PLAIN.size : end])
        self._more = self._begin(delay, messages, count < MOST_CHUNKS)
        more = len(self._more)
        out.append(HEAD.pack(count + bool(more), total + more))
        del held[: HEAD.size]
        self._take(end - HEAD.size, out)
        self._chunks_left, self._data_left = count, total - size
        self._keeps = total <= MOST_KEPT
        self._kept = [messages]
        self._end_chunk(out)
        return True

    def _pass_chunk(self, out: list[bytes]) -> bool:
        held = self._held
        if len(held) < CHUNK.size:
            return False
        size, kind = CHUNK.unpack_from(held)
        if not 0 <= size <= LARGEST_ANSWER or kind not in (DATA_CHUNK, IMAGE_CHUNK):
            raise self._error(f"a chunk of type {kind}, {size} bytes,")
        if kind == IMAGE_CHUNK:
            if len(held) < CHUNK.size + IMAGE_HEAD.size:
                return False
            self._image_left = size
            self._take(CHUNK.size + IMAGE_HEAD.size, out)
            return size > 0 or self._end_chunk(out)
        if size > self._data_left:
            raise self._error(f"a chunk of {size} bytes, with {self._data_left} left,")
        if len(held) < CHUNK.size + size:
            return False
        self._data_left -= size
        if self._keeps:
            self._kept.append(bytes(held[CHUNK.size : CHUNK.size + size]))
        self._take(CHUNK.size + size, out)
        return self._end_chunk(out)

    def _end_chunk(self, out: list[bytes]) -> bool:
        self._chunks_left -= 1
        if not self._chunks_left:
            if self._data_left:
                raise self._error(f"an answer with {self._data_left} bytes too few")
            out.append(encode_chunk(self._more))
            kept, self._kept = b"".join(self._kept), []
            self._end(kept if self._keeps else b"")
        return True

    def _take(self, size: int, out: list[bytes]) -> None:
        out.append(bytes(self._held[:size]))
        del self._held[:size]

    def _error(self, problem: str) -> ProtocolError:
        return ProtocolError(
            f"{problem} is not valid", where="answer", fix=_FIX, tail=bytes(self._held[:64])
        )


def _filler(size: int) -> bytes:
    """Return messages of this size that end a controller.

    Those that do not fit exactly end it too, because libController reads QUIT first.
    """
    times = next((n for n in range(size // len(_TIME) + 1) if (size - n * len(_TIME)) % 3 == 0), 0)
    quits = (size - times * len(_TIME)) // len(QUIT)
    return (QUIT * quits + _TIME * times).ljust(size, b"\0")[:size]
