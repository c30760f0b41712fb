"""Framings that look at the clock: length (a half frame is given up), gap, and none at all."""

from __future__ import annotations

from firmware_mocks.uart_node.crc import Seal
from firmware_mocks.uart_node.framings import Framing

# A host hands over what came within this time together, so silence is seen late by as much.
SLICE_NS = 10_000_000


class Length(Framing):
    """Sync bytes, length, packet, CRC. `bad` counts bytes that belong to no good frame."""

    def __init__(
        self,
        seal: Seal,
        limit: int,
        sync: bytes = b"\xaa\x55",
        width: int = 2,
        length_order: str = "big",
        counts: str = "payload",
        crc_from_sync: bool = False,
        timeout_ns: int = 100_000_000,
    ) -> None:
        super().__init__(seal, limit)
        self._sync = sync
        self._width = width
        self._length_order = length_order
        self._header = len(sync) + width
        self._extra = {"payload": 0, "payload+crc": seal.size}.get(counts, self._header + seal.size)
        self._crc_at = 0 if crc_from_sync else len(sync)
        self._timeout_ns = timeout_ns
        self._last = 0

    def encode(self, packet: bytes) -> bytes:
        size = (len(packet) + self._extra).to_bytes(self._width, "big")
        head = self._sync + (size if self._length_order == "big" else size[::-1])
        return head[: self._crc_at] + self._seal.put(head[self._crc_at :] + packet)

    def feed(self, data: bytes, begin: int, end: int) -> list[bytes]:
        packets = self._give_up() if begin > self._last + self._timeout_ns else []
        self._last = end
        self._buffer += data
        return packets + self._scan()

    def due(self) -> int | None:
        return self._last + self._timeout_ns + SLICE_NS if self._buffer else None

    def expire(self, now: int) -> list[bytes]:
        due = self.due()
        return self._give_up() if due is not None and now >= due else []

    def _give_up(self) -> list[bytes]:
        """The frame begun is none; there may be others in what came behind its first byte."""
        packets = []
        while self._buffer:
            self._drop_byte()
            packets += self._scan()
        return packets

    def _drop_byte(self) -> None:
        del self._buffer[0]
        self.bad += 1

    def _scan(self) -> list[bytes]:
        packets = []
        while self._buffer:
            if not self._buffer.startswith(self._sync):
                if self._sync.startswith(self._buffer):
                    break
                self._drop_byte()
                continue
            if len(self._buffer) < self._header:
                break
            field = bytes(self._buffer[len(self._sync) : self._header])
            size = int.from_bytes(field if self._length_order == "big" else field[::-1], "big")
            size -= self._extra
            end = self._header + size + self._seal.size
            if not 0 <= size <= self.limit:
                self._drop_byte()
            elif len(self._buffer) < end:
                break
            elif self._seal.open(bytes(self._buffer[self._crc_at : end])) is None:
                self._drop_byte()
            else:
                packets.append(bytes(self._buffer[self._header : self._header + size]))
                del self._buffer[:end]
        return packets


class Gap(Framing):
    """What comes without a pause is one packet; a longer one than the limit is none."""

    def __init__(self, seal: Seal, limit: int, gap_ns: int = 20_000_000) -> None:
        super().__init__(seal, limit)
        self.pause_ns = gap_ns
        self._last = 0

    def encode(self, packet: bytes) -> bytes:
        if not packet:
            raise ValueError("an empty packet shows nowhere")
        return packet

    def feed(self, data: bytes, begin: int, end: int) -> list[bytes]:
        packets = self._finish() if begin >= self._last + self.pause_ns else []
        self._buffer += data
        del self._buffer[self.limit + 1 :]
        self._last = end
        return packets

    def due(self) -> int | None:
        return self._last + self.pause_ns + SLICE_NS if self._buffer else None

    def expire(self, now: int) -> list[bytes]:
        due = self.due()
        return self._finish() if due is not None and now >= due else []

    def _finish(self) -> list[bytes]:
        packet = bytes(self._buffer)
        self._buffer.clear()
        if len(packet) > self.limit:
            self.bad += 1
            return []
        return [packet] if packet else []


class Raw(Framing):
    """No packets at all: what comes is passed on as it comes."""

    def encode(self, packet: bytes) -> bytes:
        return packet

    def feed(self, data: bytes, begin: int, end: int) -> list[bytes]:
        return [data]
