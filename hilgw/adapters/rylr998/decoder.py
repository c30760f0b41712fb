"""Decodes the bytes of a RYLR998 into lines and packets.

A packet is `+RCV=address,length,data,rssi,snr` CR LF. The data may contain any byte, commas, CR LF
and text that looks like an answer. So their length alone delimits them, and the text after them
decides whether it was a packet.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from hilgw.adapters.rylr998.settings import LONGEST

HEAD = b"+RCV="
END = b"\r\n"
LONGEST_LINE = 128  # no answer is longer
_HEAD = re.compile(rb"\+RCV=([0-9]{1,5}),([0-9]{1,3}),")
_HALF_HEAD = re.compile(rb"\+RCV=[0-9]{0,5}(,[0-9]{0,3})?")
_TAIL = re.compile(rb",(-?[0-9]{1,3}),(-?[0-9]{1,3})\r\n")
_HALF_TAIL = re.compile(rb"(,(-?[0-9]{0,3}(,(-?[0-9]{0,3}\r?)?)?)?)?")


class ReceivedMessage(NamedTuple):
    """One packet. rssi_dbm, snr_db: as the module measured them."""

    address: int
    data: bytes
    rssi_dbm: int
    snr_db: int


class Garbage(NamedTuple):
    """This many bytes are part of no line and no packet."""

    size: int


class CutShort(NamedTuple):
    """The start of a packet that is not completed."""

    head: bytes


Item = ReceivedMessage | Garbage | CutShort | bytes  # bytes: one line, without its end


class Decoder:
    """Bytes in any chunks in; lines and packets out, in order. Holds at most 400 bytes between two
    calls."""

    def __init__(self) -> None:
        self._held = bytearray()

    @property
    def held(self) -> int:
        return len(self._held)

    def reset(self) -> None:
        self._held.clear()

    def feed(self, data: bytes) -> list[Item]:
        self._held += data
        return self._parse(over=False)

    def flush(self) -> list[Item]:
        """No more bytes will come: decode the rest."""
        items = self._parse(over=True)
        if self._held:
            items.append(Garbage(len(self._held)))
            self._held.clear()
        return items

    def _parse(self, *, over: bool) -> list[Item]:
        held, at = bytes(self._held), 0
        items: list[Item] = []
        while at < len(held):
            head, end = held.find(HEAD, at), held.find(END, at)
            if head >= 0 and (end < 0 or head < end):
                if head > at:
                    items.append(Garbage(head - at))
                    at = head
                found = _packet(held, at)
                if found is None:
                    if not over:
                        break
                    found = CutShort(held[at : at + len(HEAD)]), at + len(HEAD)
                item, at = found
                items.append(item)
            elif end >= 0:
                if end > at:
                    items.append(held[at:end])
                at = end + len(END)
            elif len(held) - at > LONGEST_LINE:
                items.append(Garbage(LONGEST_LINE - len(HEAD)))
                at += LONGEST_LINE - len(HEAD)
            else:
                break
        del self._held[:at]
        return items


def _packet(held: bytes, at: int) -> tuple[Item, int] | None:
    """The packet that begins here, and its end; None while its rest may still come."""
    cut = CutShort(held[at : at + len(HEAD)]), at + len(HEAD)
    head = _HEAD.match(held, at)
    if head is None:
        return None if _HALF_HEAD.fullmatch(held, at) else cut
    address, size = int(head[1]), int(head[2])
    if address > 0xFFFF or size > LONGEST:
        return cut
    end = head.end() + size
    if len(held) < end:
        return None
    tail = _TAIL.match(held, end)
    if tail is None:
        return None if _HALF_TAIL.fullmatch(held, end) else cut
    return ReceivedMessage(address, held[head.end() : end], int(tail[1]), int(tail[2])), tail.end()
