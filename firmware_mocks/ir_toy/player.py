"""The transmitting half of the firmware: blocks of durations from USB to the LED.

One block is played while the next waits in the USB buffer; the firmware answers each with one
byte when it takes it. A value waits in front of the timer while the one before it is played. FFFF
is played too, as 0.1 s after the last mark; the toy receives nothing meanwhile.
"""

from collections import deque
from collections.abc import Callable

from firmware_mocks.base import MS, Timers
from firmware_mocks.ir_toy.receiver import ticks_ns

ROOM = 62  # bytes of a block at most, and the value of the answer
BLOCKS = 2  # in the USB buffers
BLOCK_GAP_NS = 5 * MS  # a longer pause ends a block
END, LAST_COUNT = 0xFFFF, 0x1400


class Player:
    """Plays a transmission.

    send: hands bytes to USB. switch: switches the LED. done: called at the end, with the bytes
    that came behind it: they are commands. mute: True stops the receiver, False lets it run.
    ahead: blocks taken before the LED goes on; hardware takes one.
    """

    def __init__(
        self,
        timers: Timers,
        send: Callable[[bytes, int], None],
        switch: Callable[[bool, int], None],
        done: Callable[[bytes, int], None],
        mute: Callable[[bool], None],
    ) -> None:
        self._timers = timers
        self._send = send
        self._switch = switch
        self._done = done
        self._mute = mute
        self.underruns = 0
        self.ahead = 1
        self.restart()

    def restart(self) -> None:
        """Enter sample mode: reports are off."""
        for name in ("usb", "light"):
            self._timers.stop(name)
        self.counting = self.completing = self.handshaking = False
        self.active = False  # all bytes are data
        self.count = 0
        self.prescaler = 7
        self._packet = bytearray()
        self._packets: deque[bytes] = deque()
        self._values: deque[int] = deque()
        self._waiting: int | None = None  # in front of the timer
        self._running = self._ended = self._failed = self._on = self._closed = False
        self._blocks = 0
        self._origin = self._ticks = 0

    @property
    def has_room(self) -> bool:
        return len(self._packets) < BLOCKS

    def begin(self, now: int) -> None:
        self.active = True
        self.count = 0
        self._values.clear()
        self._waiting = None
        self._ended = self._failed = self._running = self._closed = False
        self._blocks = 0
        self._timers.stop("light")
        self._turn(False, now)
        self._mute(True)
        self._ask(now)

    def feed(self, data: bytes, now: int) -> None:
        """Take bytes from USB."""
        for byte in data:
            self._packet.append(byte)
            if len(self._packet) == ROOM or self._has_end():
                self._finish_packet(now)
        if self._packet:
            self._timers.start("usb", now + BLOCK_GAP_NS, self._finish_packet)

    def _has_end(self) -> bool:
        return len(self._packet) % 2 == 0 and self._packet.endswith(b"\xff\xff")

    def _finish_packet(self, now: int) -> None:
        self._timers.stop("usb")
        odd = self._packet[len(self._packet) & ~1 :]
        self._packets.append(bytes(self._packet[: len(self._packet) & ~1]))
        self._packet = bytearray(odd)
        self._work(now)

    def _ask(self, now: int) -> None:
        if self.handshaking:
            self._send(bytes((ROOM,)), now)

    def _fetch(self, now: int) -> None:
        while self._packets and not self._closed:
            if self._values and self._blocks >= self.ahead:
                return
            packet = self._packets.popleft()
            values = [high << 8 | low for high, low in zip(packet[::2], packet[1::2], strict=True)]
            self._values.extend(values)
            self._blocks += 1
            self._closed = END in values
            self._ask(now)

    def _work(self, now: int) -> None:
        while self.active and not self._ended and self._waiting is None:
            self._fetch(now)
            if not self._values or not (self._closed or self._blocks >= self.ahead):
                return
            value = self._values.popleft()
            self.count += 2
            if value == END:
                value, self._ended = LAST_COUNT, True
                self._values.clear()
                if self.counting:
                    self._send(b"t" + (self.count & 0xFFFF).to_bytes(2, "big"), now)
            if self._running:
                self._waiting = value
            else:
                self._start(value, now)

    def _start(self, value: int, now: int) -> None:
        # The first value, or the first after an underrun: a mark.
        self._running = True
        self._origin, self._ticks = now, 0
        self._turn(True, now)
        self._play(value)
        if self._ended:
            self._report(now)

    def _play(self, value: int) -> None:
        self._ticks += max(1, value)
        end = self._origin + ticks_ns(self._ticks, self.prescaler)
        self._timers.start("light", end, self._over)

    def _over(self, now: int) -> None:
        if self._waiting is None:
            self._running = False
            self._turn(False, now)
            if not self._ended:
                self._failed = True
                self.underruns += 1
            self._mute(False)
            return
        value, self._waiting = self._waiting, None
        self._turn(not self._on, now)
        self._play(value)
        if self._ended:
            self._report(now)
        else:
            self._work(now)

    def _turn(self, on: bool, now: int) -> None:
        self._on = on
        self._switch(on, now)

    def _report(self, now: int) -> None:
        if self.completing:
            self._send(b"F" if self._failed else b"C", now)
        self.active = False
        rest = b"".join(self._packets) + bytes(self._packet)
        self._packets.clear()
        self._packet.clear()
        self._timers.stop("usb")
        self._done(rest, now)
