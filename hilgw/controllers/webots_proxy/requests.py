"""What a controller sends, passed on request by request, without the blocks that are taken out.

A request that loses no block keeps all its bytes. Webots acts on complete requests only, so waiting
for the end of one costs no time.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Container

from hilgw.protocols.webots import LARGEST_REQUEST, ProtocolError

_SIZE = struct.Struct("<i")
_HEAD = struct.Struct("<iI")
_BLOCK = struct.Struct("<Hi")
_FIX = "connect with an unmodified libController"

OnRequest = Callable[[int], None]
"""The duration of a request in ms, before its blocks."""
OnBlock = Callable[[int, bytes], bool]
"""A block of a device that is watched: tag and commands; whether Webots gets it."""


class RequestPassage:
    """The requests of one connection. watched: the tags of the devices whose blocks on_block gets.

    left: the controller has sent its last 4 bytes. `feed` raises ProtocolError for bytes that are
    not a request; Webots gets nothing of that one.
    """

    def __init__(self, watched: Container[int], on_request: OnRequest, on_block: OnBlock) -> None:
        self.left = False
        self._watched = watched
        self._on_request = on_request
        self._on_block = on_block
        self._held: list[bytes] = []  # the beginning of a request
        self._held_bytes = 0
        self._needed = 0

    def follow(self, on_request: OnRequest) -> None:
        """From now on no blocks are watched: the requests are counted alone."""
        self._watched, self._on_request = (), on_request

    def feed(self, data: bytes) -> bytes:
        """Bytes of the controller; returns the bytes for Webots."""
        if not self._held and len(data) >= _HEAD.size and self._end_of(data, 0) == len(data):
            return self._pass(data)  # one request in one piece, as most come
        if self._held:
            self._held.append(data)
            self._held_bytes += len(data)
            if self._held_bytes < self._needed:
                return b""
            data = b"".join(self._held)
            self._held.clear()
        out: list[bytes] = []
        at = 0
        while at < len(data):
            end = self._end_of(data, at)
            if end > len(data):
                self._held, self._held_bytes, self._needed = [data[at:]], len(data) - at, end - at
                break
            out.append(self._pass(data if end - at == len(data) else data[at:end]))
            at = end
        return out[0] if len(out) == 1 else b"".join(out)

    def _end_of(self, data: bytes, at: int) -> int:
        if len(data) - at < _SIZE.size:
            return at + _SIZE.size
        size: int = _SIZE.unpack_from(data, at)[0]
        if size == 0:
            return at + _SIZE.size
        if not _HEAD.size <= size <= LARGEST_REQUEST:
            raise _error(f"a request of {size} bytes", data[at:])
        return at + size

    def _pass(self, request: bytes) -> bytes:
        if len(request) == _SIZE.size:
            self.left = True
            return request
        blocks = _blocks(request)
        self._on_request(_HEAD.unpack_from(request)[1])
        dropped: list[tuple[int, int]] = []
        for tag, begin, end in blocks:
            if tag not in self._watched:
                continue
            if not self._on_block(tag, request[begin + _BLOCK.size : end]):
                dropped.append((begin, end))
        return _without(request, dropped) if dropped else request


def _blocks(request: bytes) -> list[tuple[int, int, int]]:
    """Tag, begin and end of each block. ProtocolError: they do not fill the request."""
    blocks, at, size = [], _HEAD.size, len(request)
    while at < size:
        if at + _BLOCK.size > size:
            raise _error("a request that ends inside the head of a block", request[at:])
        tag, length = _BLOCK.unpack_from(request, at)
        end = at + _BLOCK.size + length
        if length < 0 or end > size:
            raise _error(f"a block of {length} bytes for device {tag}", request[at:])
        blocks.append((tag, at, end))
        at = end
    return blocks


def _without(request: bytes, dropped: list[tuple[int, int]]) -> bytes:
    parts, at = [], _SIZE.size
    for begin, end in dropped:
        parts.append(request[at:begin])
        at = end
    rest = b"".join((*parts, request[at:]))
    return _SIZE.pack(_SIZE.size + len(rest)) + rest


def _error(what: str, tail: bytes) -> ProtocolError:
    return ProtocolError(f"{what} is not possible", where="request", fix=_FIX, tail=tail[:64])
