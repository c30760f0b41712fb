"""Decodes the bytes of a text module into lines and packets, by the pattern `receive`."""

from __future__ import annotations

import math

from hilgw.adapters._common.line_decoder import CUT_SHORT, Item, LineDecoder, message
from hilgw.protocols.text.patterns import Match, compiled, compiled_head, groups_of, split_at_data


class TextDecoder(LineDecoder):
    """Where the pattern has a length before the data, that length alone delimits the data."""

    def __init__(self, pattern: str, line_end: bytes, longest: int) -> None:
        parts = split_at_data(pattern)
        head, rest = (None, pattern) if parts is None else (compiled_head(parts[0]), parts[1])
        super().__init__(line_end, longest, head)
        self._pattern = compiled(rest, whole=head is not None)  # of a line, or after the data

    def _packet(self, held: bytes, head: Match) -> tuple[Item, int] | None:
        found = groups_of(head)
        digits = found["length"]
        size = int(digits) if digits and digits.isdigit() and len(digits) < 6 else self._longest
        if size >= self._longest:
            return CUT_SHORT, head.end()
        start, end = head.end(), head.end() + size
        if len(held) < end:
            return None
        over = held.find(self._end, end)
        if over < 0:
            return None if len(held) - end <= self._longest else (CUT_SHORT, start)
        tail = self._pattern.search(held[end:over])
        if tail is None:
            return CUT_SHORT, start
        groups = {**found, **groups_of(tail), "data": held[start:end]}
        return _received(groups), over + len(self._end)

    def _line(self, line: bytes) -> Item:
        if self._head is not None or len(line) > self._longest:
            return line
        found = self._pattern.search(line)
        return line if found is None else _received(groups_of(found))


def _received(groups: dict[str, bytes | None]) -> Item:
    digits = groups.get("hex")
    data = digits if digits is not None else groups.get("data")
    source, rssi = _text(groups.get("source")), _number(groups.get("rssi"))
    return message(data or b"", source, rssi, is_hex=digits is not None)


def _text(value: bytes | None) -> str:
    return (value or b"").decode("latin-1").strip()


def _number(value: bytes | None) -> float | None:
    try:
        number = float(value) if value else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None
