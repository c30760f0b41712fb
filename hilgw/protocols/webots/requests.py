"""A request of the controller: the duration of the step, and commands in one block per device.

    i32 size (with these 4 bytes), u32 duration in ms (0: immediate),
    blocks of u16 tag, i32 n, n bytes of commands; a size of 0: the controller leaves

The same on TCP and on a local socket. Blocks stay bytes, so that the proxy writes
those that it does not decode as they came.
"""

import math
import struct
from collections.abc import Iterable
from typing import NamedTuple

from hilgw.protocols.webots.wire import ProtocolError

LARGEST_REQUEST = 64 * 1024 * 1024
"""Four full Emitters of 16 MiB: more than any robot sends in a step."""
MOST_BLOCKS = 65_536
"""One for each tag."""
REPEATED_BYTES = 64
"""Requests up to this size are decoded once: most controllers repeat them."""
MOST_REPEATED = 256
PAUSE_S = 5.0
"""A program that runs for this long without a step is named."""
LEAVE = b"\0\0\0\0"

HEAD = struct.Struct("<iI")
_SIZE = struct.Struct("<i")
BLOCK_HEAD = struct.Struct("<Hi")
_ONE_BLOCK = struct.Struct("<iIHi")
_EMPTY_BYTES = HEAD.size
_FIX = "connect with an unmodified libController"


class Block(NamedTuple):
    """The commands of one device, one after the other."""

    tag: int
    data: bytes


class Request(NamedTuple):
    """A request. duration_ms: 0 for an immediate request. blocks: in the order of their tags."""

    duration_ms: int
    blocks: tuple[Block, ...] = ()


class Leave(NamedTuple):
    """The controller leaves: the last 4 bytes of its stream."""


def encode_request(duration_ms: int, blocks: Iterable[tuple[int, bytes]] = ()) -> bytes:
    """Return the request on the wire.

    Raises:
        ProtocolError: A number does not fit its field.
    """
    try:
        body = b"".join([BLOCK_HEAD.pack(tag, len(data)) + data for tag, data in blocks])
        return HEAD.pack(_EMPTY_BYTES + len(body), duration_ms) + body
    except struct.error as error:
        raise ProtocolError(f"the request cannot be encoded: {error}") from None


def uneven_step(duration_ms: int, basic_ms: float) -> str:
    """State what a step costs that does not divide by the basic time step; empty for a multiple."""
    takes_ms = math.ceil(duration_ms / basic_ms) * basic_ms
    if takes_ms == duration_ms:
        return ""
    return (
        f"a step of {duration_ms} ms takes {takes_ms:.12g} ms: "
        f"steps are multiples of the basic time step of {basic_ms:g} ms"
    )


def spans_of(request: bytes) -> list[tuple[int, int, int]]:
    """Return the blocks in a whole request: tag, start and end of the commands.

    Raises:
        ProtocolError: They do not fill it.
    """
    spans, position, size = [], _EMPTY_BYTES, len(request)
    while position < size:
        begin = position + BLOCK_HEAD.size
        if begin > size:
            raise _error("a request that ends inside the head of a block", request[position:])
        tag, length = BLOCK_HEAD.unpack_from(request, position)
        end = begin + length
        if length < 0 or end > size:
            raise _error(f"a block of {length} bytes for device {tag}", request[position:])
        spans.append((tag, begin, end))
        position = end
    if len(spans) > MOST_BLOCKS:
        raise _error(f"a request of more than {MOST_BLOCKS} blocks", request)
    return spans


class RequestReader:
    """Requests from a stream in any chunks. limit: bytes of one request.

    After a ProtocolError every further call raises it again.
    """

    def __init__(self, limit: int = LARGEST_REQUEST) -> None:
        self._buffer = bytearray()
        self._limit = limit
        self._error: ProtocolError | None = None
        self._repeated: dict[bytes, Request] = {}

    @property
    def pending(self) -> int:
        """Bytes of requests that `next` has not returned."""
        return len(self._buffer)

    def is_whole(self, data: bytes) -> bool:
        """Return whether received bytes are one request, as most are; else `feed` takes them."""
        return (
            not self._buffer
            and self._error is None
            and _EMPTY_BYTES <= len(data) <= self._limit
            and _SIZE.unpack_from(data)[0] == len(data)
        )

    def whole(self, data: bytes) -> Request | None:
        """Return the request that received bytes are as a whole; None: `feed` takes them.

        Raises:
            ProtocolError: The request is wrong.
        """
        if self._buffer or self._error is not None:
            return None
        request = self._repeated.get(data)
        if request is not None:
            return request
        if not self.is_whole(data):
            return None
        request = self._decode(data)
        if len(data) <= REPEATED_BYTES:
            if len(self._repeated) == MOST_REPEATED:
                self._repeated.clear()
            self._repeated[data] = request
        return request

    def feed(self, data: bytes) -> None:
        """Take received bytes; call `next` until it returns None."""
        if self._error is None:
            self._buffer += data

    def next(self) -> Request | Leave | None:
        """Return the next complete request, or None for want of bytes; raise ProtocolError."""
        data = self.next_bytes()
        if data is None:
            return None
        return Leave() if data == LEAVE else self._decode(data)

    def next_bytes(self) -> bytes | None:
        """Return the same as `next`, not decoded."""
        if self._error is not None:
            raise self._error
        buffer = self._buffer
        if len(buffer) < _SIZE.size:
            return None
        size: int = _SIZE.unpack_from(buffer)[0]
        if size == 0:
            size = len(LEAVE)
        elif not _EMPTY_BYTES <= size <= self._limit:
            raise self._fail(_error(f"a request of {size} bytes", bytes(buffer[:256])))
        if len(buffer) < size:
            return None
        data = bytes(memoryview(buffer)[:size])
        del buffer[:size]
        return data

    def _decode(self, data: bytes) -> Request:
        size = len(data)
        if size == _EMPTY_BYTES:
            return Request(HEAD.unpack(data)[1])
        if size >= _ONE_BLOCK.size:
            _, duration_ms, tag, length = _ONE_BLOCK.unpack_from(data)
            if length == size - _ONE_BLOCK.size:
                return Request(duration_ms, (Block(tag, data[_ONE_BLOCK.size :]),))
        try:
            spans = spans_of(data)
        except ProtocolError as error:
            raise self._fail(error) from None
        blocks = tuple([Block(tag, data[begin:end]) for tag, begin, end in spans])
        return Request(HEAD.unpack_from(data)[1], blocks)

    def _fail(self, error: ProtocolError) -> ProtocolError:
        self._buffer.clear()
        self._error = error
        return error


def without_leave(*, at_start: bool) -> str:
    """Return the end of a stream without LEAVE, for people.

    libController leaves SIGINT to its default action, so that an interrupted, a killed and a
    crashed controller look the same.
    """
    problem = "the controller ended without closing its connection (Ctrl-C, killed or crashed)"
    crashes = (
        "; libController crashes when a controller uses a device that the robot does not have, and "
        "its line `... not found` names, such as a Camera (`absent: blank` under `devices:` gives "
        "it a black one), or when its version is not that of webots:, such as webots: R2023a"
    )
    return problem + crashes * at_start


def request_error(problem: str, tail: bytes) -> ProtocolError:
    """Return a request that libController does not write."""
    return ProtocolError(problem, where="request", fix=_FIX, tail=tail)


def _error(problem: str, tail: bytes) -> ProtocolError:
    return request_error(f"{problem} is not valid", tail)
