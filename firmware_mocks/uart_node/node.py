"""The firmware: what it does with each packet, and by itself."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import Any

from firmware_mocks import _parameters as values
from firmware_mocks.base import MS, Mock
from firmware_mocks.uart_node.settings import Behaviour, behaviour_of

SECOND_NS = 1_000_000_000
TX_BUFFER = 4096  # bytes; while it is full the firmware waits, and reads nothing
LETTERS = "abcdefghijklmnopqrstuvwxyz"
LEAD_NS = 5 * MS  # of a flood before the line falls free, so that there is no pause


class Power(Enum):
    NEW = "new"  # runs with the first call that names a time
    OFF = "off"
    STARTING = "starting"
    RUNNING = "running"


class Node(Mock):
    """Powered and running since before the client came, so it prints no banner at first.

    heard, sent: packets. overrun: bytes lost because the input buffer was full. deaf: bytes lost
    during a start. boots: restarts so far.
    """

    def __init__(self, name: str, given: Mapping[str, Any]) -> None:
        seed = given.get("seed", 0)
        super().__init__(name, seed)
        self.heard = self.sent = self.overrun = self.deaf = self.boots = 0
        self._given = dict(given)
        self.does: Behaviour = behaviour_of(self._given)
        self._use_line()
        self._noise = random.Random(f"{seed}:{name}:noise")
        self._power = Power.NEW
        self._stalled = False
        self._waiting: deque[bytes] = deque()  # packets read, and not looked at yet
        self._input = bytearray()
        self._flooding = False
        self._flood_from = 0
        self._number = 0  # of the flood's last packet
        self._quiet_until = 0

    def set(self, name: str, value: str) -> None:
        """Takes effect at once; `mode` at the next start."""
        if name == "seed":
            raise ValueError("seed: can only be given at the beginning")
        given = {**self._given, name: value}
        does = behaviour_of(given)
        if name != "framing":
            does = replace(does, framing=self.does.framing)
        self._given, self.does = given, does
        self._use_line()

    def _use_line(self) -> None:
        self.uart.baud_rate = self.does.baud_rate
        self.uart.bits_per_byte = self.does.bits_per_byte

    def describe(self) -> str:
        does = self.does
        words = [f"microcontroller, mode {does.mode}", does.framing_name, f"{self.baud_rate} baud"]
        if does.replies:
            words.append(values.replies_text(does.replies))
        return ", ".join(words)

    @property
    def bad(self) -> int:
        """Frames (length framing: bytes) it could not read."""
        return self.does.framing.bad

    @property
    def clear_to_send(self) -> bool:
        """Its RTS, the client's CTS; on where it has no flow control."""
        return not self.does.rtscts or len(self._input) <= self.does.buffer // 2

    # --- power and time --------------------------------------------------------------------------

    def advance(self, now: int) -> None:
        if self._power is Power.NEW:
            self._start(now)
        super().advance(now)

    def switch_off(self) -> None:
        self.timers.clear()
        self.uart.clear()
        self._forget()
        self._power = Power.OFF

    def reset(self, now: int) -> None:
        self._reboot(now, b"")

    def _start(self, now: int) -> None:
        """The firmware's main()."""
        self._power = Power.RUNNING
        if self.does.mode == "flood":
            self._begin_flood(now)
        elif self.does.mode == "noise":
            self._make_noise(now)
        elif self.does.mode == "stall":
            self._stall(now)
        if self.does.reboot_every_ns:
            self.timers.start("reboot", now + self.does.reboot_every_ns, self._reboot_by_itself)

    def _reboot_by_itself(self, now: int) -> None:
        self._reboot(now, self._flood_frame() if self._flooding else b"")

    def _reboot(self, now: int, under_way: bytes) -> None:
        """All is forgotten; of the frame under way half has left."""
        self.timers.clear()
        self.uart.clear()
        self._forget()
        self._power = Power.STARTING
        self.boots += 1
        does = self.does
        self.uart.write(under_way[: len(under_way) // 2] + does.banner + does.framing.idle, now)
        self.timers.start("boot", now + does.boot_ns, self._start)

    def _forget(self) -> None:
        self.does.framing.clear()
        self._waiting.clear()
        self._input.clear()
        self._stalled = self._flooding = False
        self._quiet_until = 0

    # --- from the line ---------------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> None:
        self.advance(now)
        read = self.uart.distort(data)
        if self._power is not Power.RUNNING:
            self.deaf += len(data)
        elif self._is_busy:
            room = max(0, self.does.buffer - len(self._input))
            self._input += read[:room]
            self.overrun += max(0, len(read) - room)
        else:
            self._read(read, now)
            if read is not data and self.does.mode in ("echo", "answer"):
                self._put(read, now)  # the rates differ: noise, and so is what it makes of it

    @property
    def _is_busy(self) -> bool:
        return self._stalled or "tx" in self.timers

    def _read(self, data: bytes, now: int) -> None:
        begin = now - len(data) * self.uart.byte_ns
        self._waiting.extend(self.does.framing.feed(data, begin, now))
        self._work(now)
        self._watch_frame()

    def _watch_frame(self) -> None:
        due = self.does.framing.due()
        if due is None:
            self.timers.stop("frame")
        else:
            self.timers.start("frame", due, self._frame_over)

    def _frame_over(self, now: int) -> None:
        self._waiting.extend(self.does.framing.expire(now))
        self._work(now)
        self._watch_frame()

    def _work(self, now: int) -> None:
        """Handle what was read, as long as nothing holds the firmware up."""
        while self._waiting and self._power is Power.RUNNING and not self._is_busy:
            self.heard += 1
            self._handle(self._waiting.popleft(), now)

    def _resume(self, now: int) -> None:
        """It reads again: first what its buffer kept."""
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
        does = self.does
        if does.reboot_on and packet.startswith(does.reboot_on):
            self._reboot(now, self._frame(packet))
        elif does.stall_on and packet.startswith(does.stall_on):
            self._stall(now)
        elif does.flood_on and packet.startswith(does.flood_on):
            self._begin_flood(now)
        elif does.mode == "echo":
            self._send(packet, now + does.delay_ns)
        elif does.mode == "answer":
            reply = values.reply_to(does.replies, packet)
            if reply is not None:
                self._send(reply, now + does.delay_ns)

    def _stall(self, now: int) -> None:
        self._stalled = True
        if self.does.stall_ns:
            self.timers.start("stall", now + self.does.stall_ns, self._resume)

    # --- to the line -----------------------------------------------------------------------------

    def _frame(self, packet: bytes) -> bytes:
        try:
            return self.does.framing.encode(packet)
        except ValueError:
            return b""  # not to be said in this framing

    def _send(self, packet: bytes, at: int) -> None:
        frame = self._frame(packet)
        if frame:
            self.sent += 1
            self._put(frame, max(at, self._quiet_until))

    def _put(self, frame: bytes, at: int) -> None:
        self.uart.write(frame, at)
        if pause_ns := self.does.framing.pause_ns:
            self._quiet_until = self.uart.idle_at(at) + pause_ns
        over = self.uart.held(at) - TX_BUFFER
        if over > 0:
            self.timers.start("tx", at + over * self.uart.byte_ns, self._tx_drained)

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
        size = self.does.size
        return self._frame((text + LETTERS * (size // len(LETTERS) + 1))[:size].encode())

    def _flood(self, now: int) -> None:
        """The next packet, when its time has come and the line has room for it."""
        does = self.does
        frame = self._flood_frame()
        if not frame or (does.count and self._number >= does.count):
            self._flooding = False
        if self._stalled or not self._flooding:
            return
        when = max(now, self.uart.idle_at(now) - LEAD_NS, self._quiet_until)
        if does.rate:
            when = max(when, self._flood_from + round(self._number * SECOND_NS / does.rate))
        if when <= now:
            self._number += 1
            self.sent += 1
            self._put(frame, now)
        self.timers.start("flood", when, self._flood)

    def _make_noise(self, now: int) -> None:
        size = max(1, 10 * MS // self.uart.byte_ns)
        self.uart.write(self._noise.randbytes(size), now)
        self.timers.start("noise", now + size * self.uart.byte_ns, self._make_noise)
