"""The receiving half of the firmware: RC5 keys in the default mode, counts in sample mode."""

import random
from collections.abc import Callable

from firmware_mocks.base import MS, Timers

# The timer counts 12 MHz through a divider by 2, 4, ... 256; 256 is the default: 21 1/3 us.
DEFAULT_PRESCALER = 7
LONGEST = 0xFFFF
PACKET = 64
FLUSH_NS = 5_461_333  # another timer: 65536 cycles of 12 MHz without an edge
US = 1_000
RC5_QUIET_NS = 10 * MS
RC5_HALF_US = 889


def ticks_ns(ticks: int, prescaler: int) -> int:
    """Return the duration of this many counts."""
    return (ticks << prescaler) * 500 // 3


def ticks_at(ns: int, prescaler: int) -> int:
    """Return the value of the free-running counter at this instant."""
    return ns * 3 // (500 << prescaler)


class Sampler:
    """Sample mode: edges as counts of a timer.

    send: hands bytes to USB. stretch_ns: the receiver module lengthens marks by it. jitter_ns:
    it shifts each edge by up to this, at random, to both sides.
    """

    def __init__(self, timers: Timers, send: Callable[[bytes, int], None], seed: str) -> None:
        self._timers = timers
        self._send = send
        self._random = random.Random(seed)
        self.stretch_ns = self.jitter_ns = 0
        self.prescaler = DEFAULT_PRESCALER
        self.enabled = False
        self._running = False
        self._last_ns = self._last_count = 0
        self._buffer = bytearray()

    def enable(self) -> None:
        """Wait for the next mark."""
        self.enabled, self._running = True, False

    def disable(self) -> None:
        """Ignore edges. Counts in the buffer wait for the next flush."""
        self.enabled = self._running = False
        self._timers.stop("flush")
        self._timers.stop("silence")

    def restart(self) -> None:
        self.disable()
        self._buffer.clear()
        self.prescaler = DEFAULT_PRESCALER

    def edge(self, mark: bool, now: int) -> None:
        """Take the beginning of a mark, or of a space."""
        if not self.enabled or not (mark or self._running):
            return
        edge_ns = now if mark else now + self.stretch_ns
        if self.jitter_ns:
            edge_ns += self._random.randint(-self.jitter_ns, self.jitter_ns)
        edge_ns = max(edge_ns, self._last_ns + ticks_ns(1, self.prescaler))
        count = ticks_at(edge_ns, self.prescaler)
        if self._running:
            self._put(min(count - self._last_count, LONGEST - 1), now)
        self._running = True
        self._last_ns, self._last_count = edge_ns, count
        self._timers.start("flush", now + FLUSH_NS, self._flush)
        self._timers.start("silence", now + ticks_ns(LONGEST, self.prescaler), self._end)

    def _put(self, count: int, now: int) -> None:
        self._buffer += max(1, count).to_bytes(2, "big")
        if len(self._buffer) >= PACKET:
            self._flush(now)

    def _end(self, now: int) -> None:
        # The counter ran over: the signal has ended, even during a mark.
        self._running = False
        self._buffer += b"\xff\xff"
        self._flush(now)

    def _flush(self, now: int) -> None:
        data = bytes(self._buffer)
        self._buffer.clear()
        if data:
            self._send(data, now)


def packet_of(halves: str) -> bytes | None:
    """Return device, command and four zeros for the 28 half bits of an RC5 frame, else None."""
    pairs = {".#": "1", "#.": "0"}
    bits = "".join(pairs.get(halves[at : at + 2], "?") for at in range(0, len(halves), 2))
    if len(bits) != 14 or "?" in bits or bits[0] != "1":
        return None
    extended = 0 if bits[1] == "1" else 64
    return bytes((int(bits[3:8], 2), int(bits[8:], 2) + extended, 0, 0, 0, 0))


class Irman:
    """The default mode: RC5 keys as packets of six bytes, in the format of an IRman.

    send: hands bytes to USB.
    """

    def __init__(self, timers: Timers, send: Callable[[bytes, int], None]) -> None:
        self._timers = timers
        self._send = send
        self._halves = ""
        self._edge_ns = 0

    def restart(self) -> None:
        self._timers.stop("irman")
        self._halves = ""

    def edge(self, mark: bool, now: int) -> None:
        """Take the beginning of a mark, or of a space."""
        lasted, self._edge_ns = round((now - self._edge_ns) / (RC5_HALF_US * US)), now
        if mark and "irman" not in self._timers:
            self._halves = "."  # the space before the first mark: half of the start bit
        elif len(self._halves) <= 28:
            self._halves += (".", "#")[not mark] * min(max(lasted, 1), 3)
        self._timers.start("irman", now + RC5_QUIET_NS, self._over)

    def _over(self, now: int) -> None:
        halves, self._halves = self._halves, ""
        packet = packet_of(halves + "." * (len(halves) == 27))
        if packet is not None:
            self._send(packet, now)
