"""The module's end of the serial line: its buffers, and the mode that reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware_mocks.base import MS
from firmware_mocks.xbee.frames import FrameReader, encode
from firmware_mocks.xbee.packets import BROADCAST16, UNKNOWN16, UNKNOWN64, Outcome, Request
from firmware_mocks.xbee.text import CommandMode

if TYPE_CHECKING:
    from firmware_mocks.xbee.module import Module

REPLY_NS = 4 * MS  # a client that asks first and listens second needs 3
SILENCE_NS = 500 * MS  # a frame that stops for so long is given up
# A host hands bytes over in lumps of 5 ms; a silence is sure when one more would have come.
LUMP_NS = 8 * MS
COMMAND_CHARACTERS = 3
CTS_OFF_FREE, CTS_ON_FREE = 17, 34  # bytes free in the input buffer


class SerialSide:
    """Bytes from the client wait in `_input` until the mode in use can take them."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.commands = CommandMode(module)
        self.overruns = 0  # bytes the input buffer had no room for
        self.overflows = 0  # packets the transmit buffer had no room for
        self.undelivered = 0  # transparent packets that failed
        self._mode = 0
        self._reader = FrameReader(escaped=False)
        self._input = bytearray()
        self._due = 0  # bytes at the head that make a transparent packet
        self._kept: list[bytes] = []  # came from the air during command mode
        self._quiet_since = 0
        self._characters = 0  # command characters seen after a silence
        self._line_changed = False
        self._clear = True

    @property
    def api_mode(self) -> bool:
        return self._mode in (1, 2)

    @property
    def buffer(self) -> int:
        return self.module.hardware.uart_buffer

    def restart(self, now: int) -> None:
        self.module.uart.clear()
        self.commands.abandon()
        self._input.clear()
        self._kept.clear()
        self._due = self._characters = 0
        self._quiet_since = now
        self.use_line(now)

    @property
    def clear_to_send(self) -> bool:
        """The CTS pin, where D7 makes it one."""
        return self._clear or self.module.registers.number("D7") != 1

    def _steer_flow(self) -> None:
        """CTS goes off close before the buffer is full, and on again with some room.

        A host that obeys it still delivers the lump it has begun.
        """
        free = self.buffer - len(self._input)
        if self.module.flow_control:
            free -= min(LUMP_NS // self.module.uart.byte_ns, self.buffer // 2)
        self._clear = free > (CTS_OFF_FREE if self._clear else CTS_ON_FREE - 1)

    # --- line -----------------------------------------------------------------------------------

    def line_changed(self) -> None:
        """BD, NB, SB or AP are to change once what is being answered has left."""
        self._line_changed = True

    def settle(self, now: int) -> None:
        if self._line_changed:
            self._line_changed = False
            self.module.uart.change(self.use_line, now)

    def use_line(self, now: int) -> None:
        number = self.module.registers.number
        uart = self.module.uart
        uart.baud_rate = self.module.hardware.line_rate(number("BD"))
        uart.bits_per_byte = 10 + (1 if number("NB") else 0) + number("SB")
        if self._mode != number("AP"):
            self._mode = number("AP")
            self._reader = FrameReader(escaped=self._mode == 2)

    # --- from the client ------------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> None:
        """Bytes whose last one has just arrived."""
        data = self.module.uart.distort(data)
        byte_ns = self.module.uart.byte_ns
        start = now - (len(data) - 1) * byte_ns
        for index, byte in enumerate(data):
            self._arrive(byte, max(start + index * byte_ns, self._quiet_since), now)
        self.settle(now)

    def _arrive(self, byte: int, at: int, now: int) -> None:
        gap = at - self._quiet_since
        if not self.commands.active:
            if self._is_transparent and gap >= self._packet_gap_ns and not self._characters:
                self._due = len(self._input)
                self.work(now)
            self._watch_for_command_mode(byte, gap, at)
        self._quiet_since = at
        if len(self._input) >= self.buffer:
            self.overruns += 1
            return
        self._input.append(byte)
        self._steer_flow()
        if self._is_transparent:
            self._await_packet_end(at)
        self.work(now)

    @property
    def _is_transparent(self) -> bool:
        return not self.commands.active and not self.api_mode

    def work(self, now: int) -> None:
        """Take from the input buffer what can be taken now."""
        while self._input and not self._blocked(now):
            if self.commands.active:
                self.commands.push(self._shift(1)[0], now)
            elif self.api_mode:
                self._read_frame(now)
            elif not self._send_packet(now):
                break
            self.settle(now)

    def _read_frame(self, now: int) -> None:
        """One byte of a frame. The rest has to come before long."""
        frame = self._reader.push(self._shift(1)[0])
        if frame is not None:
            self.module.api.handle(frame, now)
        elif self._reader.inside:
            self.module.timers.start("silence", now + SILENCE_NS, self._give_up_frame)

    def _blocked(self, now: int) -> bool:
        """The radio sends, a command takes time, or the answers have no room."""
        if self.commands.active:
            return self.commands.busy
        if self.module.radio.busy:
            return True
        if self.module.uart.held(now) < self.buffer:
            return False
        self.module.timers.start("drained", self.module.uart.idle_at(now), self.work)
        return True

    def _shift(self, count: int) -> bytes:
        head = bytes(self._input[:count])
        del self._input[:count]
        self._steer_flow()
        return head

    def _give_up_frame(self, now: int) -> None:
        if self._input:  # the rest is here, but cannot be read yet
            self.module.timers.start("silence", now + SILENCE_NS, self._give_up_frame)
        else:
            self._reader.abort()

    # --- transparent mode -----------------------------------------------------------------------

    @property
    def _packet_gap_ns(self) -> int:
        return self.module.registers.number("RO") * self.module.uart.byte_ns

    def _await_packet_end(self, at: int) -> None:
        """RO character times of silence end a packet; 0: every byte is one."""
        if self._characters:
            self.module.timers.stop("packet")
        elif self._packet_gap_ns:
            end = at + self._packet_gap_ns + LUMP_NS
            self.module.timers.start("packet", end, self._end_packet)
        else:
            self._due = len(self._input)

    def _end_packet(self, now: int) -> None:
        self._due = len(self._input)
        self.work(now)

    def _send_packet(self, now: int) -> bool:
        """Send the next packet if it is complete; true when one left."""
        limit = self.module.addressing.longest()
        ready = len(self._input) - self._characters
        count = limit if ready >= limit else min(self._due, ready)
        if count <= 0:
            return False
        self._due = max(0, self._due - count)
        request = self._addressed(self._shift(count))
        if self.module.send(request, self._sent, now):
            self.undelivered += 1
        return True

    def _sent(self, outcome: Outcome, now: int) -> None:
        self.undelivered += outcome.status != 0

    def _addressed(self, data: bytes) -> Request:
        """To DH and DL; on 802.15.4, DH 0 makes DL a 16-bit address."""
        high = self.module.registers.number("DH")
        low = self.module.registers.number("DL")
        if self.module.has_short_addresses and high == 0 and low < BROADCAST16:
            return Request(data, UNKNOWN64, low)
        return Request(data, high << 32 | low, UNKNOWN16)

    # --- command mode ---------------------------------------------------------------------------

    def _watch_for_command_mode(self, byte: int, gap: int, at: int) -> None:
        """Silence of GT, the command character three times, silence of GT."""
        guard = self.module.registers.number("GT") * MS
        follows = gap >= guard if self._characters == 0 else gap < guard
        wanted = byte == self.module.registers.number("CC") and not self._reader.inside
        if wanted and follows and self._characters < COMMAND_CHARACTERS:
            self._characters += 1
            self.module.timers.start("guard", at + guard, self._guard_over)
        elif self._characters:
            self._characters = 0
            self.module.timers.stop("guard")

    def _guard_over(self, now: int) -> None:
        count, self._characters = self._characters, 0
        if count == COMMAND_CHARACTERS:
            characters = bytes((self.module.registers.number("CC"),)) * count
            if self._input.endswith(characters):
                del self._input[-count:]
            self.commands.enter(now)
        else:
            self._end_packet(now)

    def left_command_mode(self, now: int) -> None:
        self._quiet_since = now
        self.settle(now)
        kept, self._kept = self._kept, []
        for data in kept:
            self.module.uart.write(data, now + REPLY_NS)

    # --- to the client --------------------------------------------------------------------------

    def say(self, text: bytes, now: int) -> None:
        """An answer in command mode."""
        self.module.uart.write(text, now + REPLY_NS)

    def answer(self, frame: bytes, now: int, asked: int | None = None) -> None:
        """A frame in answer to what was `asked`, not sooner than the firmware can."""
        at = max(now, (now if asked is None else asked) + REPLY_NS)
        self.module.uart.write(encode(frame, self._reader.escaped), at)

    def report_frame(self, frame: bytes, now: int) -> None:
        self.report(encode(frame, self._reader.escaped), now)

    def report(self, wire: bytes, now: int) -> None:
        """What came from the air: the whole of it, or none when the buffer has no room."""
        held = self.module.uart.held(now) + sum(map(len, self._kept))
        if held + len(wire) > self.buffer:
            self.overflows += 1
        elif self.commands.active:
            self._kept.append(wire)
        else:
            self.module.uart.write(wire, now)
