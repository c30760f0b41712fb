"""The default mode: RC5 keys as packets of six bytes, the way an IRman does it."""

from __future__ import annotations

from collections.abc import Callable

from firmware_mocks.base import MS, Timers

QUIET_NS = 10 * MS
HALF_US = 889
US = 1_000


def packet_of(halves: str) -> bytes | None:
    """Device, command and four zeros for the 28 half bits of an RC5 frame; None for others."""
    pairs = {".#": "1", "#.": "0"}
    bits = "".join(pairs.get(halves[at : at + 2], "?") for at in range(0, len(halves), 2))
    if len(bits) != 14 or "?" in bits or bits[0] != "1":
        return None
    extended = 0 if bits[1] == "1" else 64
    return bytes((int(bits[3:8], 2), int(bits[8:], 2) + extended, 0, 0, 0, 0))


class Irman:
    """send: hands bytes to USB."""

    def __init__(self, timers: Timers, send: Callable[[bytes, int], None]) -> None:
        self._timers = timers
        self._send = send
        self._halves = ""
        self._edge_ns = 0

    def restart(self) -> None:
        self._timers.stop("irman")
        self._halves = ""

    def change(self, light: bool, now: int) -> None:
        """An edge."""
        lasted, self._edge_ns = round((now - self._edge_ns) / (HALF_US * US)), now
        if light and "irman" not in self._timers:
            self._halves = "."  # dark before the first mark: half of the start bit
        elif len(self._halves) <= 28:
            self._halves += (".", "#")[not light] * min(max(lasted, 1), 3)
        self._timers.start("irman", now + QUIET_NS, self._over)

    def _over(self, now: int) -> None:
        halves, self._halves = self._halves, ""
        packet = packet_of(halves + "." * (len(halves) == 27))
        if packet is not None:
            self._send(packet, now)
