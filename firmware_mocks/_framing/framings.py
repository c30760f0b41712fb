"""Packets on a stream of bytes, as a microcontroller reads them: byte after byte.

Written from the documents, not from the gateway's framings: RFC 1055 (SLIP),
RFC 1662 (HDLC), Cheshire and Baker 1999 (COBS). Times are integer nanoseconds.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection

from firmware_mocks._framing.crc import CrcField


class Framing(ABC):
    """A kind of framing.

    idle: bytes that end any noise at the other end; sent once at power-up. pause_ns: silence
    after a frame. bad: frames (length framing: bytes) dropped. limit: the longest packet.
    """

    idle = b""

    pause_ns = 0

    def __init__(self, crc: CrcField, limit: int) -> None:
        self.bad = 0
        self.limit = limit
        self._crc = crc
        self._buffer = bytearray()

    @abstractmethod
    def encode(self, packet: bytes) -> bytes:
        """Return the frame of a packet; raise ValueError when this framing cannot carry it."""

    @abstractmethod
    def feed(self, data: bytes, begin: int, end: int) -> list[bytes]:
        """Read bytes on the wire from `begin` to `end`; return the packets they complete."""

    def due(self) -> int | None:
        """Return the time of the next call of `expire`."""
        return None

    def expire(self, now: int) -> list[bytes]:
        return []

    def clear(self) -> None:
        self._buffer.clear()


class Delimited(Framing):
    """Frames that end in a delimiter. Subclasses decode the bytes before it: `_unwrap`."""

    end = b""
    growth = 2  # the longest frame, as a multiple of its packet

    def __init__(self, crc: CrcField, limit: int, leading: bool = False) -> None:
        super().__init__(crc, limit)
        self._leading = leading
        self._skipping = False
        self._packets: list[bytes] = []

    def feed(self, data: bytes, begin: int = 0, end: int = 0) -> list[bytes]:
        for byte in data:
            self._byte(byte)
        packets, self._packets = self._packets, []
        return packets

    def _byte(self, byte: int) -> None:
        buffer = self._buffer
        buffer.append(byte)
        if buffer.endswith(self.end):
            del buffer[-len(self.end) :]
            if not self._skipping and buffer:
                packet = self._unwrap(bytes(buffer))
                if packet is None or len(packet) > self.limit:
                    self.bad += 1
                else:
                    self._packets.append(packet)
            self._skipping = False
            buffer.clear()
        elif len(buffer) > self.growth * (self.limit + self._crc.size) + 8:
            self.bad += not self._skipping
            self._skipping = True
            del buffer[: -len(self.end)]

    def clear(self) -> None:
        super().clear()
        self._skipping = False

    @abstractmethod
    def _unwrap(self, frame: bytes) -> bytes | None:
        """Return the packet of a frame without its delimiter; None when the frame is damaged."""


class Cobs(Delimited):
    """leading: a delimiter before each frame too."""

    idle = end = b"\0"

    def encode(self, packet: bytes) -> bytes:
        out = bytearray(self.end) if self._leading else bytearray()
        code_at = len(out)
        out.append(1)
        for byte in self._crc.append(packet):
            if out[code_at] == 255:  # a full block, with no zero behind it
                code_at = len(out)
                out.append(1)
            if byte:
                out.append(byte)
                out[code_at] += 1
            else:
                code_at = len(out)
                out.append(1)
        return bytes(out) + self.end

    def _unwrap(self, frame: bytes) -> bytes | None:
        out = bytearray()
        index = 0
        while index < len(frame):
            code = frame[index]
            block = frame[index + 1 : index + code]
            index += code
            if len(block) < code - 1:
                return None
            out += block
            if code < 255 and index < len(frame):
                out.append(0)
        return self._crc.check(bytes(out))


class Slip(Delimited):
    """leading: an END before each frame too."""

    idle = end = b"\xc0"

    def encode(self, packet: bytes) -> bytes:
        out = bytearray(self.end) if self._leading else bytearray()
        for byte in self._crc.append(packet):
            out += {0xC0: b"\xdb\xdc", 0xDB: b"\xdb\xdd"}.get(byte) or bytes([byte])
        return bytes(out) + self.end

    def _unwrap(self, frame: bytes) -> bytes | None:
        out = bytearray()
        escaped = False
        for byte in frame:
            if escaped:
                if byte not in (0xDC, 0xDD):
                    return None
                out.append(0xC0 if byte == 0xDC else 0xDB)
            elif byte != 0xDB:
                out.append(byte)
            escaped = not escaped and byte == 0xDB
        return None if escaped else self._crc.check(bytes(out))


ESCAPE = 0x7D  # of HDLC and of IrDA: bit 5 of the byte behind it is inverted


def escaped(data: bytes, special: Collection[int]) -> bytes:
    out = bytearray()
    for byte in data:
        out += bytes((ESCAPE, byte ^ 0x20)) if byte in special else bytes((byte,))
    return bytes(out)


def unescaped(data: bytes) -> bytes | None:
    """Return the bytes without their escapes; None when one is cut off at the end."""
    out = bytearray()
    mask = 0
    for byte in data:
        if byte == ESCAPE and not mask:
            mask = 0x20
            continue
        out.append(byte ^ mask)
        mask = 0
    return None if mask else bytes(out)


class Hdlc(Delimited):
    """control_map: RFC 1662's ACCM."""

    idle = end = b"\x7e"

    def __init__(self, crc: CrcField, limit: int, control_map: int = 0) -> None:
        super().__init__(crc, limit)
        self._controls = {code for code in range(32) if control_map & 1 << code}

    def encode(self, packet: bytes) -> bytes:
        if not packet:
            raise ValueError("HDLC has no empty packets")
        special = {ESCAPE, self.end[0], *self._controls}
        return self.end + escaped(self._crc.append(packet), special) + self.end

    def _unwrap(self, frame: bytes) -> bytes | None:
        data = unescaped(bytes(byte for byte in frame if byte not in self._controls))
        return None if data is None else self._crc.check(data) or None


class Lines(Delimited):
    """The packet and a terminator."""

    growth = 1

    def __init__(self, crc: CrcField, limit: int, terminator: bytes = b"\n") -> None:
        super().__init__(crc, limit)
        self.idle = self.end = terminator

    def encode(self, packet: bytes) -> bytes:
        if not packet or (packet + self.end).find(self.end) < len(packet):
            raise ValueError(f"{packet!r} cannot be a line")
        return packet + self.end

    def _unwrap(self, frame: bytes) -> bytes | None:
        return frame


# --- framings that depend on time ----------------------------------------------------------------

# A host hands over the bytes of this long together, so a silence is seen late by as much.
SLICE_NS = 10_000_000


class Length(Framing):
    """Sync bytes, length, packet, CRC. `bad` counts bytes outside of good frames."""

    def __init__(
        self,
        crc: CrcField,
        limit: int,
        sync: bytes = b"\xaa\x55",
        width: int = 2,
        length_order: str = "big",
        counts: str = "payload",
        crc_from_sync: bool = False,
        timeout_ns: int = 100_000_000,
    ) -> None:
        super().__init__(crc, limit)
        self._sync = sync
        self._width = width
        self._length_order = length_order
        self._header = len(sync) + width
        self._extra = {"payload": 0, "payload+crc": crc.size}.get(counts, self._header + crc.size)
        self._crc_at = 0 if crc_from_sync else len(sync)
        self._timeout_ns = timeout_ns
        self._last = 0

    def encode(self, packet: bytes) -> bytes:
        size = (len(packet) + self._extra).to_bytes(self._width, "big")
        head = self._sync + (size if self._length_order == "big" else size[::-1])
        return head[: self._crc_at] + self._crc.append(head[self._crc_at :] + packet)

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
        # Drop the incomplete frame; the bytes behind its first one may hold others.
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
            end = self._header + size + self._crc.size
            if not 0 <= size <= self.limit:
                self._drop_byte()
            elif len(self._buffer) < end:
                break
            elif self._crc.check(bytes(self._buffer[self._crc_at : end])) is None:
                self._drop_byte()
            else:
                packets.append(bytes(self._buffer[self._header : self._header + size]))
                del self._buffer[:end]
        return packets


class Gap(Framing):
    """Bytes without a pause between them are one packet; one above the limit is dropped."""

    def __init__(self, crc: CrcField, limit: int, gap_ns: int = 20_000_000) -> None:
        super().__init__(crc, limit)
        self.pause_ns = gap_ns
        self._last = 0

    def encode(self, packet: bytes) -> bytes:
        if not packet:
            raise ValueError("gap framing has no empty packets")
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
    """No packets: bytes are passed on as they come."""

    def encode(self, packet: bytes) -> bytes:
        return packet

    def feed(self, data: bytes, begin: int, end: int) -> list[bytes]:
        return [data]
