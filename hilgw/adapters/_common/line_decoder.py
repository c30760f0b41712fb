"""Decodes the bytes of a module that sends lines: answers, and packets among them.

The data of a packet may contain any byte, line ends and text that looks like an answer. So a length
before the data alone delimits them, and the text after them decides whether it was a packet.
"""

import binascii
import re
from abc import ABC, abstractmethod
from typing import NamedTuple

from hilgw.framing.base import FrameDropped
from hilgw.reasons import DroppedReason, PacketDropped


class ReceivedMessage(NamedTuple):
    """A packet; source is empty, rssi_dbm and snr_db None where the module does not report it."""

    data: bytes
    source: str
    rssi_dbm: float | None
    snr_db: int | None = None


class Discarded(NamedTuple):
    """Something that is dropped and counted by this reason: `number` bytes or frames."""

    reason: DroppedReason
    text: str
    number: int


Item = ReceivedMessage | Discarded | bytes  # bytes: one line, without its end

CUT_SHORT = Discarded(PacketDropped.BAD_FRAME, "the start of a packet that is not completed", 1)
_NO_HEX = Discarded(PacketDropped.NO_HEX, "a packet whose data are not hex digits", 1)


def garbage(size: int) -> Discarded:
    return Discarded(FrameDropped.GARBAGE, "bytes outside a line or packet", size)


def message(
    data: bytes, source: str, rssi_dbm: float | None, snr_db: int | None = None, *, is_hex: bool
) -> Item:
    """Return a packet whose data may be hex digits."""
    if is_hex:
        try:
            data = binascii.unhexlify(data)
        except ValueError:
            return _NO_HEX
    return ReceivedMessage(data, source, rssi_dbm, snr_db)


class LineDecoder(ABC):
    """Bytes in any chunks in; lines and packets out, in order. It holds at most two lines.

    head: the pattern of a packet's text before data that have a length; None: there is no length,
    and a packet is a line.
    """

    def __init__(self, line_end: bytes, longest: int, head: re.Pattern[bytes] | None) -> None:
        self._held = bytearray()
        self._end = line_end
        self._longest = longest
        self._head = head

    @property
    def held(self) -> int:
        return len(self._held)

    def reset(self) -> None:
        self._held.clear()

    def feed(self, data: bytes) -> list[Item]:
        items: list[Item] = []
        for start in range(0, len(data), self._longest):  # keeps the buffer bounded
            self._held += data[start : start + self._longest]
            items += self._parse(over=False)
        return items

    def flush(self) -> list[Item]:
        """Decode the rest: no more bytes will come."""
        items = self._parse(over=True)
        if self._held:
            items.append(garbage(len(self._held)))
            self._held.clear()
        return items

    def _parse(self, *, over: bool) -> list[Item]:
        held, position = bytes(self._held), 0
        items: list[Item] = []
        while position < len(held):
            end = held.find(self._end, position)
            limit = len(held) if end < 0 else end
            head = self._head.search(held, position, limit) if self._head is not None else None
            if head is not None:
                if head.start() > position:
                    items.append(garbage(head.start() - position))
                    position = head.start()
                packet = self._packet(held, head)
                if packet is None:
                    if not over:
                        break
                    packet = CUT_SHORT, head.end()
                item, position = packet
                items.append(item)
            elif end >= 0:
                if end > position:
                    items.append(self._line(held[position:end]))
                position = end + len(self._end)
            elif limit - position > self._longest:
                items.append(garbage(self._longest // 2))
                position += self._longest // 2
            else:
                break
        del self._held[:position]
        return items

    @abstractmethod
    def _packet(self, held: bytes, head: re.Match[bytes]) -> tuple[Item, int] | None:
        """Return the packet that starts with this head, and its end.

        None while its rest may come.
        """

    def _line(self, line: bytes) -> Item:
        """Return a whole line, or the packet it contains."""
        return line
