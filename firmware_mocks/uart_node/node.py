"""The firmware: its reaction to each packet, and its own actions."""

import random
from collections import deque
from enum import Enum

from firmware_mocks import parameters as values
from firmware_mocks.air import Air
from firmware_mocks.base import MS, Adjustable
from firmware_mocks.uart_node.settings import Settings

SECOND_NS = 1_000_000_000
TX_BUFFER = 4096  # bytes; while it is full the firmware waits and reads nothing
LETTERS = "abcdefghijklmnopqrstuvwxyz"
LEAD_NS = 5 * MS  # a flood writes this long before the line is idle, to leave no pause


class Power(Enum):
    NEW = "new"  # runs with the first call that has a time
    OFF = "off"
    STARTING = "starting"
    RUNNING = "running"


class Node(Adjustable[Settings]):
    """Already running when the client connects, so its first banner is that of a restart.

    received, sent: packets. overrun: bytes lost because the input buffer was full. lost: bytes
    lost while it was off or starting. boots: restarts so far.
    """

    def __init__(self, name: str, air: Air, settings: Settings) -> None:
        super().__init__(name, air, settings, settings.seed)
        self.received = self.sent = self.overrun = self.lost = self.boots = 0
        self._use_line()
        self._noise = random.Random(f"{settings.seed}:{name}:noise")
        self._power = Power.NEW
        self._stalled = False
        self._waiting: deque[bytes] = deque()  # packets read, but not handled yet
        self._input = bytearray()
        self._flooding = False
        self._flood_from = 0
        self._number = 0  # of the flood's last packet
        self._quiet_until = 0

    def _adopt(self, name: str) -> None:
        # Use a new value at once; `mode` at the next start.
        self._use_line()

    def _use_line(self) -> None:
        self.uart.baud_rate = self.settings.baud_rate
        self.uart.bits_per_byte = self.settings.bits_per_byte

    def describe(self) -> str:
        settings = self.settings
        words = [
            f"microcontroller, mode {settings.mode}",
            settings.framed.name,
            f"{self.baud_rate} baud",
        ]
        if settings.replies:
            words.append(values.replies_text(settings.replies))
        return ", ".join(words)

    @property
    def bad(self) -> int:
        """Frames (length framing: bytes) with errors."""
        return self.settings.framed.framing.bad

    @property
    def clear_to_send(self) -> bool:
        """The node's RTS, the client's CTS; always on without flow control."""
        return not self.settings.rtscts or len(self._input) <= self.settings.buffer // 2

    # --- power and time --------------------------------------------------------------------------

    def advance(self, now: int) -> None:
        if self._power is Power.NEW:
            self._start(now)
        super().advance(now)

    def switch_off(self) -> None:
        self._cancel()
        self._forget()
        self._power = Power.OFF

    def reset(self, now: int) -> None:
        self._reboot(now, b"")

    def _start(self, now: int) -> None:
        self._power = Power.RUNNING
        if self.settings.mode == "flood":
            self._begin_flood(now)
        elif self.settings.mode == "noise":
            self._make_noise(now)
        elif self.settings.mode == "stall":
            self._stall(now)
        if self.settings.reboot_every_ns:
            self.timers.start("reboot", now + self.settings.reboot_every_ns, self._reboot_by_itself)

    def _reboot_by_itself(self, now: int) -> None:
        self._reboot(now, self._flood_frame() if self._flooding else b"")

    def _reboot(self, now: int, under_way: bytes) -> None:
        # Start again after half of the frame under way; forget everything else.
        self._cancel()
        self._forget()
        self._power = Power.STARTING
        self.boots += 1
        settings = self.settings
        self.uart.write(
            under_way[: len(under_way) // 2] + settings.banner + settings.framed.framing.idle, now
        )
        self.timers.start("boot", now + settings.boot_ns, self._start)

    def _forget(self) -> None:
        self.settings.framed.framing.clear()
        self._waiting.clear()
        self._input.clear()
        self._stalled = self._flooding = False
        self._quiet_until = 0

    # --- from the line ---------------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> None:
        self.advance(now)
        read = self.uart.distort(data)
        if self._power is not Power.RUNNING:
            self.lost += len(data)
        elif self._is_busy:
            room = max(0, self.settings.buffer - len(self._input))
            self._input += read[:room]
            self.overrun += max(0, len(read) - room)
        else:
            self._read(read, now)
            if read is not data and self.settings.mode in ("echo", "answer"):
                self._put(read, now)  # the rates differ: it answers noise with noise

    @property
    def _is_busy(self) -> bool:
        return self._stalled or "tx" in self.timers

    def _read(self, data: bytes, now: int) -> None:
        begin = now - len(data) * self.uart.byte_ns
        self._waiting.extend(self.settings.framed.framing.feed(data, begin, now))
        self._work(now)
        self._watch_frame()

    def _watch_frame(self) -> None:
        due = self.settings.framed.framing.due()
        if due is None:
            self.timers.stop("frame")
        else:
            self.timers.start("frame", due, self._frame_over)

    def _frame_over(self, now: int) -> None:
        self._waiting.extend(self.settings.framed.framing.expire(now))
        self._work(now)
        self._watch_frame()

    def _work(self, now: int) -> None:
        while self._waiting and self._power is Power.RUNNING and not self._is_busy:
            self.received += 1
            self._handle(self._waiting.popleft(), now)

    def _resume(self, now: int) -> None:
        self._stalled = False
        kept = bytes(self._input)
        self._input.clear()
        self._work(now)
        if self._is_busy:
            self._input += kept
        elif kept:
            self._read(kept, now)
        if self._flooding:
            self._flood(now)

    def _handle(self, packet: bytes, now: int) -> None:
        settings = self.settings
        if settings.reboot_on and packet.startswith(settings.reboot_on):
            self._reboot(now, self._frame(packet))
        elif settings.stall_on and packet.startswith(settings.stall_on):
            self._stall(now)
        elif settings.flood_on and packet.startswith(settings.flood_on):
            self._begin_flood(now)
        elif settings.mode == "echo":
            self._send(packet, now + settings.delay_ns)
        elif settings.mode == "answer":
            reply = values.reply_to(settings.replies, packet)
            if reply is not None:
                self._send(reply, now + settings.delay_ns)

    def _stall(self, now: int) -> None:
        self._stalled = True
        if self.settings.stall_ns:
            self.timers.start("stall", now + self.settings.stall_ns, self._resume)

    # --- to the line -----------------------------------------------------------------------------

    def _frame(self, packet: bytes) -> bytes:
        try:
            return self.settings.framed.framing.encode(packet)
        except ValueError:
            return b""  # this framing cannot carry it

    def _send(self, packet: bytes, when: int) -> None:
        frame = self._frame(packet)
        if frame:
            self.sent += 1
            self._put(frame, max(when, self._quiet_until))

    def _put(self, frame: bytes, when: int) -> None:
        self.uart.write(frame, when)
        if pause_ns := self.settings.framed.framing.pause_ns:
            self._quiet_until = self.uart.idle_at(when) + pause_ns
        over = self.uart.held(when) - TX_BUFFER
        if over > 0:
            self.timers.start("tx", when + over * self.uart.byte_ns, self._tx_drained)

    def _tx_drained(self, now: int) -> None:
        if not self._stalled:
            self._resume(now)

    def _begin_flood(self, now: int) -> None:
        self._flooding = True
        self._flood_from = now
        self._number = 0
        self._flood(now)

    def _flood_frame(self) -> bytes:
        text = f"{self._number + 1:06d} "
        size = self.settings.size
        return self._frame((text + LETTERS * (size // len(LETTERS) + 1))[:size].encode())

    def _flood(self, now: int) -> None:
        settings = self.settings
        frame = self._flood_frame()
        if not frame or (settings.count and self._number >= settings.count):
            self._flooding = False
        if self._stalled or not self._flooding:
            return
        when = max(now, self.uart.idle_at(now) - LEAD_NS, self._quiet_until)
        if settings.rate:
            when = max(when, self._flood_from + round(self._number * SECOND_NS / settings.rate))
        if when <= now:
            self._number += 1
            self.sent += 1
            self._put(frame, now)
        self.timers.start("flood", when, self._flood)

    def _make_noise(self, now: int) -> None:
        size = max(1, 10 * MS // self.uart.byte_ns)
        self.uart.write(self._noise.randbytes(size), now)
        self.timers.start("noise", now + size * self.uart.byte_ns, self._make_noise)
