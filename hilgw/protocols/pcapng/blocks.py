"""pcapng: the blocks of a capture file, written and read.

draft-ietf-opsawg-pcapng, sections 3 and 4: section header, interface description and enhanced
packet. Written little-endian, with times in nanoseconds; both byte orders and other resolutions are
read, as Wireshark's tools write them. Pure: a file is bytes, or read through a function.
"""

import struct
from collections.abc import Callable, Iterator
from functools import lru_cache

from hilgw.errors import HilgwError
from hilgw.records import record

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
MAGIC = 0x1A2B3C4D
LONGEST = 16 * 1024 * 1024
"""Bytes of the largest block that is read."""
MOST_INTERFACES = 65536
END, COMMENT = 0, 1  # options of any block
SHB_HARDWARE, SHB_OS, SHB_APPLICATION = 2, 3, 4
IF_NAME, IF_DESCRIPTION, IF_TSRESOL, IF_TSOFFSET = 2, 3, 9, 14
EPB_FLAGS = 2
INBOUND, OUTBOUND = 1, 2
NANOSECONDS = 9  # if_tsresol: a negative power of ten
READ_BYTES = 1024 * 1024

_HEAD = struct.Struct("<II")
_PACKET = struct.Struct("<IIIIIII")
_FLAGS = {flag: struct.pack("<HHI", EPB_FLAGS, 4, flag) for flag in (INBOUND, OUTBOUND)}


class RecordingError(HilgwError):
    """A file is not a recording, or is damaged from `where` on."""


@record
class PcapngSection:
    """The head of a file or of a part of it. comment: the first one, as written."""

    comment: str = ""
    application: str = ""
    os: str = ""
    hardware: str = ""


@record
class Interface:
    """A source of packets.

    link: its type, of the registry of tcpdump.org. unit_ns, offset_ns: of its times, which are
    whole units since 1970 and the offset.
    """

    link: int
    name: str
    description: str = ""
    unit_ns: float = 1
    offset_ns: int = 0


@record
class CapturedPacket:
    """A packet.

    interface: its number in the section. time_ns: since 1970. direction: INBOUND, OUTBOUND or 0.
    comment: the first one, UTF-8.
    """

    interface: int
    time_ns: int
    data: bytes
    direction: int = 0
    comment: bytes = b""


Block = PcapngSection | Interface | CapturedPacket


def encode(block: Block) -> bytes:
    """Return the bytes of a block; an `Interface` has times in nanoseconds."""
    if isinstance(block, CapturedPacket):
        return encode_packet(
            block.interface, block.time_ns, block.data, block.direction, block.comment
        )
    if isinstance(block, Interface):
        body = struct.pack("<HHI", block.link, 0, 0) + _options(
            (IF_NAME, block.name.encode()),
            (IF_DESCRIPTION, block.description.encode()),
            (IF_TSRESOL, bytes([NANOSECONDS])),
        )
        return _block(INTERFACE, body)
    body = struct.pack("<IHHq", MAGIC, 1, 0, -1) + _options(
        (COMMENT, block.comment.encode()),
        (SHB_HARDWARE, block.hardware.encode()),
        (SHB_OS, block.os.encode()),
        (SHB_APPLICATION, block.application.encode()),
    )
    return _block(SECTION, body)


def encode_packet(
    interface: int, time_ns: int, data: bytes, direction: int = 0, comment: bytes = b""
) -> bytes:
    """Return the bytes of a `CapturedPacket`; without an object of it, as there are many."""
    size = len(data)
    options = _FLAGS[direction] if direction else b""
    if comment:
        options += _option(COMMENT, comment)
    if options:
        options += b"\0\0\0\0"  # END
    total = 32 + size + (-size % 4) + len(options)
    # Of a clock at 1970, an event may be before it.
    time = (time_ns >> 32, time_ns & 0xFFFFFFFF) if time_ns > 0 else (0, 0)
    head = _PACKET.pack(PACKET, total, interface, *time, size, size)
    return b"".join((head, data, bytes(-size % 4), options, total.to_bytes(4, "little")))


def _block(kind: int, body: bytes) -> bytes:
    total = 12 + len(body)
    return _HEAD.pack(kind, total) + body + total.to_bytes(4, "little")


def _options(*options: tuple[int, bytes]) -> bytes:
    return b"".join(_option(code, value) for code, value in options if value) + b"\0\0\0\0"


@lru_cache(256)
def _option(code: int, value: bytes) -> bytes:
    """Return an option, cut to the longest size: whole characters of UTF-8 remain."""
    if len(value) > 0xFFFF:
        value = value[:0xFFFF].decode(errors="ignore").encode()
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


class Reader:
    """Reader of the blocks of a file, in order.

    read: returns the next bytes of the file, at most this many; b"" at its end. Blocks of other
    kinds are skipped. Iterating raises RecordingError at the first place that is damaged;
    `truncated` is set if the file ends within a block, as after a power failure: then iterating
    just ends.
    """

    def __init__(self, read: Callable[[int], bytes], where: str, offset: int = 0) -> None:
        self.truncated = False
        self.offset = offset
        """Offset of the next block."""
        self.interfaces: list[Interface] = []
        self._read, self._where = read, where
        self._order = "<"
        self._buffer, self._position = b"", 0
        self._is_first = True

    def resume(self, read: Callable[[int], bytes], offset: int) -> None:
        """Continue elsewhere in the same section, where a block starts."""
        self._read, self.offset = read, offset
        self._buffer, self._position = b"", 0

    def __iter__(self) -> Iterator[Block]:
        while (body := self._next()) is not None:
            kind, data, offset = body
            try:
                block = self._decode(kind, data)
            except (struct.error, ValueError, IndexError) as error:
                raise self._damaged(offset, f"a block of kind {kind} is not valid") from error
            if block is not None:
                yield block

    def _next(self) -> tuple[int, bytes, int] | None:
        head = self._peek(12)
        if not head:
            return None
        if len(head) < 12:
            self.truncated = True
            return None
        offset = self.offset
        if head[:4] == SECTION.to_bytes(4, "big"):  # the same in both orders
            self._order = {MAGIC.to_bytes(4, "little"): "<", MAGIC.to_bytes(4, "big"): ">"}.get(
                head[8:12], ""
            )
            if not self._order:
                raise self._damaged(offset, "the byte order of a section is unknown")
        elif self._is_first:
            raise RecordingError("is not a pcapng file", where=self._where)
        self._is_first = False
        kind, total = struct.unpack(self._order + "II", head[:8])
        if total < 12 or total % 4 or total > LONGEST:
            raise self._damaged(offset, f"a block of {total} bytes")
        whole = self._peek(total)
        if len(whole) < total:
            self.truncated = True
            return None
        if whole[-4:] != whole[4:8]:
            raise self._damaged(offset, "the two lengths of a block differ")
        self._position += total
        self.offset += total
        return kind, whole[8:-4], offset

    def _peek(self, count: int) -> bytes:
        have = len(self._buffer) - self._position
        if have < count:
            parts = [self._buffer[self._position :]]
            while have < count and (data := self._read(max(READ_BYTES, count - have))):
                parts.append(data)
                have += len(data)
            self._buffer, self._position = b"".join(parts), 0
        return self._buffer[self._position : self._position + count]

    def _damaged(self, position: int, problem: str) -> RecordingError:
        return RecordingError(
            f"damaged at byte {position}: {problem}",
            where=self._where,
            fix="what is before it is read",
        )

    def _decode(self, kind: int, body: bytes) -> Block | None:
        order = self._order
        if kind == PACKET:
            number, high, low, size, original = struct.unpack_from(order + "IIIII", body)
            of = self.interfaces[number]
            if size > len(body) - 20:
                raise ValueError
            if size < original:
                raise RecordingError(
                    f"has {size} of the {original} bytes of a packet, as after editcap -s",
                    where=self._where,
                )
            data = body[20 : 20 + size]
            units = high << 32 | low
            time_ns = (units if of.unit_ns == 1 else int(units * of.unit_ns)) + of.offset_ns
            options = self._read_options(body, 20 + size + (-size % 4))
            flags = options.get(EPB_FLAGS, b"\0\0\0\0")
            direction = int(struct.unpack(order + "I", flags)[0]) & 3
            return CapturedPacket(number, time_ns, data, direction, options.get(COMMENT, b""))
        if kind == INTERFACE:
            link = int(struct.unpack_from(order + "H", body)[0])
            options = self._read_options(body, 8)
            made = Interface(
                link,
                _text(options, IF_NAME),
                _text(options, IF_DESCRIPTION),
                _unit_ns(options.get(IF_TSRESOL, b"\6")[0]),
                struct.unpack(order + "q", options.get(IF_TSOFFSET, bytes(8)))[0] * 10**9,
            )
            if len(self.interfaces) >= MOST_INTERFACES:
                raise ValueError
            self.interfaces.append(made)
            return made
        if kind == SECTION:
            self.interfaces.clear()
            options = self._read_options(body, 16)
            codes = (COMMENT, SHB_APPLICATION, SHB_OS, SHB_HARDWARE)
            return PcapngSection(*(_text(options, code) for code in codes))
        return None

    def _read_options(self, body: bytes, position: int) -> dict[int, bytes]:
        options: dict[int, bytes] = {}
        while position + 4 <= len(body):
            code, size = struct.unpack_from(self._order + "HH", body, position)
            if code == END:
                break
            if position + 4 + size > len(body):
                raise ValueError
            options.setdefault(code, body[position + 4 : position + 4 + size])
            position += 4 + size + (-size % 4)
        return options


def _unit_ns(resolution: int) -> float:
    """Return the unit of a byte if_tsresol: a negative power of ten, or of two with its top bit."""
    if resolution & 0x80:
        return float(10**9 / 2 ** (resolution & 0x7F))
    return 10 ** (9 - resolution) if resolution <= 9 else float(10.0 ** (9 - resolution))


def _text(options: dict[int, bytes], code: int) -> str:
    return options.get(code, b"").decode(errors="replace")


def resync(data: bytes, interfaces: int) -> int | None:
    """Return the offset of a chain of packets in these bytes of a little-endian file, or None.

    `interfaces` is the number of interfaces of the section.
    """
    offset = -4
    while (offset := data.find(b"\6\0\0\0", offset + 4)) >= 0:
        if offset % 4 == 0 and _is_chain(data, offset, interfaces):
            return offset
        offset -= offset % 4
    return None


def _is_chain(data: bytes, position: int, interfaces: int, links: int = 4) -> bool:
    for _ in range(links):
        if position + 32 > len(data):
            return False
        kind, total, number, _, _, size, original = _PACKET.unpack_from(data, position)
        is_packet = kind == PACKET and number < interfaces and size == original
        if not is_packet or total % 4 or not 32 + size <= total <= LONGEST:
            return False
        if data[position + total - 4 : position + total] != data[position + 4 : position + 8]:
            return False
        position += total
    return True
