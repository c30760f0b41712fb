"""A request of the controller: the duration of the step, and commands in one block per device.

    i32 size (with these 4 bytes), u32 duration in ms (0: immediate),
    blocks of u16 tag, i32 n, n bytes of commands; a size of 0: the controller leaves

The same on TCP and on a local socket. Blocks stay bytes, so that the proxy writes
those that it does not decode as they came.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

from hilgw.protocols.webots.errors import ProtocolError

LARGEST_REQUEST = 64 * 1024 * 1024
"""Four full Emitters of 16 MiB: more than any robot sends in a step."""
MOST_BLOCKS = 65_536
"""One for each tag."""
REPEATED_BYTES = 64
"""Requests up to this size are decoded once: most controllers repeat them."""
MOST_REPEATED = 256
LEAVE = b"\0\0\0\0"

_HEAD = struct.Struct("<iI")
_SIZE = struct.Struct("<i")
_BLOCK = struct.Struct("<Hi")
_ONE_BLOCK = struct.Struct("<iIHi")
_EMPTY_BYTES = _HEAD.size
_FIX = "connect with an unmodified libController"


class Block(NamedTuple):
    """The commands of one device, one after the other."""

    tag: int
    data: bytes


class Request(NamedTuple):
    """One request. duration_ms: 0 for an immediate request. blocks: in the order of their tags."""

    duration_ms: int
    blocks: tuple[Block, ...] = ()


class Leave(NamedTuple):
    """The controller leaves: the last 4 bytes of its stream."""


def encode_request(duration_ms: int, blocks: Iterable[tuple[int, bytes]] = ()) -> bytes:
    """The request on the wire. ProtocolError: a number does not fit its field."""
    try:
        body = b"".join([_BLOCK.pack(tag, len(data)) + data for tag, data in blocks])
        return _HEAD.pack(_EMPTY_BYTES + len(body), duration_ms) + body
    except struct.error as error:
        raise ProtocolError(f"the request cannot be encoded: {error}") from None


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

    def whole(self, data: bytes) -> Request | None:
        """Received bytes, when they are one request as most are; None: `feed` takes them. Raises
        ProtocolError."""
        if self._buffer or self._error is not None:
            return None
        request = self._repeated.get(data)
        if request is not None:
            return request
        size = len(data)
        if not _EMPTY_BYTES <= size <= self._limit or _SIZE.unpack_from(data)[0] != size:
            return None
        request = self._decode(data, size)
        if size <= REPEATED_BYTES:
            if len(self._repeated) == MOST_REPEATED:
                self._repeated.clear()
            self._repeated[data] = request
        return request

    def feed(self, data: bytes) -> None:
        """Received bytes; call `next` until it returns None."""
        if self._error is None:
            self._buffer += data

    def next(self) -> Request | Leave | None:
        """The next complete request; None when more bytes are needed. Raises ProtocolError."""
        if self._error is not None:
            raise self._error
        buffer = self._buffer
        if len(buffer) < _SIZE.size:
            return None
        size: int = _SIZE.unpack_from(buffer)[0]
        if not _EMPTY_BYTES <= size <= self._limit:
            if size == 0:
                del buffer[: len(LEAVE)]
                return Leave()
            raise self._fail(f"a request of {size} bytes", bytes(buffer[:256]))
        if len(buffer) < size:
            return None
        data = bytes(memoryview(buffer)[:size])
        del buffer[:size]
        return self._decode(data, size)

    def _decode(self, data: bytes, size: int) -> Request:
        if size == _EMPTY_BYTES:
            return Request(_HEAD.unpack(data)[1])
        if size >= _ONE_BLOCK.size:
            _, duration_ms, tag, length = _ONE_BLOCK.unpack_from(data)
            if length == size - _ONE_BLOCK.size:
                return Request(duration_ms, (Block(tag, data[_ONE_BLOCK.size :]),))
        blocks = []
        at = _EMPTY_BYTES
        while at < size:
            body = at + _BLOCK.size
            if body > size:
                raise self._fail("a request that ends inside the head of a block", data[at:])
            tag, length = _BLOCK.unpack_from(data, at)
            after = body + length
            if length < 0 or after > size:
                raise self._fail(f"a block of {length} bytes for device {tag}", data[at:])
            blocks.append(Block(tag, data[body:after]))
            if len(blocks) > MOST_BLOCKS:
                raise self._fail(f"a request of more than {MOST_BLOCKS} blocks", data[at:])
            at = after
        return Request(_HEAD.unpack_from(data)[1], tuple(blocks))

    def _fail(self, what: str, tail: bytes) -> ProtocolError:
        self._buffer.clear()
        self._error = ProtocolError(f"{what} is not possible", where="request", fix=_FIX, tail=tail)
        return self._error
