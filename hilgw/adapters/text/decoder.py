"""Decodes the bytes of a text module into lines and packets.

Where the pattern of a packet has a length before the data, that length alone delimits the data.
The text after them decides whether it was a packet.
"""

from __future__ import annotations

import binascii
import math
from typing import NamedTuple

from hilgw.framing.base import FrameDropped
from hilgw.protocols.text.patterns import (
    Match,
    Pattern,
    compiled,
    compiled_head,
    groups_of,
    split_at_data,
)
from hilgw.reasons import PacketDropped


class ReceivedMessage(NamedTuple):
    """One packet; source is empty and rssi_dbm None where the pattern has no such group."""

    data: bytes
    source: str
    rssi_dbm: float | None


class Discarded(NamedTuple):
    """Something that is dropped and counted by this reason: `number` bytes or frames."""

    reason: str
    text: str
    number: int


Item = ReceivedMessage | Discarded | bytes  # bytes: one line, without its end

_CUT = Discarded(PacketDropped.BAD_FRAME, "the start of a packet that is not completed", 1)
_NO_HEX = Discarded(PacketDropped.NO_HEX, "a packet whose data are not hex digits", 1)


def _garbage(size: int) -> Discarded:
    return Discarded(FrameDropped.GARBAGE, "bytes outside a line", size)


class Decoder:
    """Bytes in any chunks in; lines and packets out, in order. Holds at most two lines."""

    def __init__(self, pattern: str, line_end: bytes, longest: int) -> None:
        self._held = bytearray()
        self._end = line_end
        self._longest = longest
        parts = split_at_data(pattern)
        self._head: Pattern | None = None
        if parts is None:
            self._line = compiled(pattern)
        else:
            self._head, self._line = compiled_head(parts[0]), compiled(parts[1], whole=True)

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
        """No more bytes will come: decode the rest."""
        items = self._parse(over=True)
        if self._held:
            items.append(_garbage(len(self._held)))
            self._held.clear()
        return items

    def _parse(self, *, over: bool) -> list[Item]:
        held, at = bytes(self._held), 0
        items: list[Item] = []
        while at < len(held):
            end = held.find(self._end, at)
            limit = len(held) if end < 0 else end
            head = self._head.search(held, at, limit) if self._head is not None else None
            if head is not None:
                if head.start() > at:
                    items.append(_garbage(head.start() - at))
                    at = head.start()
                found = self._packet(held, head)
                if found is None:
                    if not over:
                        break
                    found = _CUT, head.end()
                item, at = found
                items.append(item)
            elif end >= 0:
                if end > at:
                    items.append(self._read(held[at:end]))
                at = end + len(self._end)
            elif limit - at > self._longest:
                items.append(_garbage(self._longest // 2))
                at += self._longest // 2
            else:
                break
        del self._held[:at]
        return items

    def _packet(self, held: bytes, head: Match) -> tuple[Item, int] | None:
        """The packet that begins here, and its end; None while its rest may still come."""
        found = groups_of(head)
        digits = found["length"]
        size = int(digits) if digits and digits.isdigit() and len(digits) < 6 else self._longest
        if size >= self._longest:
            return _CUT, head.end()
        start, end = head.end(), head.end() + size
        if len(held) < end:
            return None
        over = held.find(self._end, end)
        if over < 0:
            return None if len(held) - end <= self._longest else (_CUT, start)
        tail = self._line.search(held[end:over])
        if tail is None:
            return _CUT, start
        groups = {**found, **groups_of(tail), "data": held[start:end]}
        return _received(groups), over + len(self._end)

    def _read(self, line: bytes) -> Item:
        """A whole line, or the packet it contains."""
        if self._head is not None or len(line) > self._longest:
            return line
        found = self._line.search(line)
        return line if found is None else _received(groups_of(found))


def _received(groups: dict[str, bytes | None]) -> Item:
    data = groups.get("data")
    digits = groups.get("hex")
    if digits is not None:
        try:
            data = binascii.unhexlify(digits)
        except ValueError:
            return _NO_HEX
    return ReceivedMessage(data or b"", _text(groups.get("source")), _number(groups.get("rssi")))


def _text(value: bytes | None) -> str:
    return (value or b"").decode("latin-1").strip()


def _number(value: bytes | None) -> float | None:
    try:
        number = float(value) if value else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def item_text(item: Item) -> str:
    """As text for the user."""
    if isinstance(item, ReceivedMessage):
        source = f" from {item.source!r}" if item.source else ""
        rssi = "" if item.rssi_dbm is None else f", {item.rssi_dbm:g} dBm"
        return f"packet of {len(item.data)} B {item.data[:64]!r}{source}{rssi}"
    if isinstance(item, Discarded):
        return f"{item.number} x {item.text}"
    return repr(item[:96])
