"""Decodes the bytes of a RYLR998 into lines and packets.

A packet is `+RCV=address,length,data,rssi,snr` CR LF.
"""

from __future__ import annotations

import re

from hilgw.adapters._common.line_decoder import CUT_SHORT, Item, LineDecoder, message
from hilgw.adapters.rylr998.settings import LAST_ADDRESS, LONGEST

LONGEST_LINE = 128  # no answer is longer
_START = re.compile(rb"\+RCV=")
_HEAD = re.compile(rb"\+RCV=([0-9]{1,5}),([0-9]{1,3}),")
_HALF_HEAD = re.compile(rb"\+RCV=[0-9]{0,5}(,[0-9]{0,3})?")
_TAIL = re.compile(rb",(-?[0-9]{1,3}),(-?[0-9]{1,3})\r\n")
_HALF_TAIL = re.compile(rb"(,(-?[0-9]{0,3}(,(-?[0-9]{0,3}\r?)?)?)?)?")


class RylrDecoder(LineDecoder):
    """is_hex: the data of a packet are hex digits."""

    def __init__(self, *, is_hex: bool = False) -> None:
        super().__init__(b"\r\n", LONGEST_LINE, _START)
        self._is_hex = is_hex

    def _packet(self, held: bytes, start: re.Match[bytes]) -> tuple[Item, int] | None:
        cut = CUT_SHORT, start.end()
        head = _HEAD.match(held, start.start())
        if head is None:
            return None if _HALF_HEAD.fullmatch(held, start.start()) else cut
        address, size = int(head[1]), int(head[2])
        if address > LAST_ADDRESS or size > LONGEST:
            return cut
        end = head.end() + size
        if len(held) < end:
            return None
        tail = _TAIL.match(held, end)
        if tail is None:
            return None if _HALF_TAIL.fullmatch(held, end) else cut
        data, rssi, snr = held[head.end() : end], float(tail[1]), int(tail[2])
        return message(data, str(address), rssi, snr, is_hex=self._is_hex), tail.end()
