"""Bytes from the client: transparent packets, API frames, and command mode."""

import re
from collections import deque
from collections.abc import Callable

from firmware_mocks.base import MS, Timers
from firmware_mocks.xbee.network.packets import Outcome
from firmware_mocks.xbee.network.radio import Transceiver
from firmware_mocks.xbee.settings import Settings
from firmware_mocks.xbee.uart.api import Api
from firmware_mocks.xbee.uart.commands import Answer, Commands, Status
from firmware_mocks.xbee.uart.serial_line import SerialLine

SILENCE_NS = 500 * MS  # a frame that pauses for this long is given up
# A host hands bytes over in lumps of 5 ms; a silence is sure when one more would have come.
LUMP_NS = 8 * MS
COMMAND_CHARACTERS = 3
CTS_OFF_FREE, CTS_ON_FREE = 17, 34  # bytes free in the input buffer
CR = 0x0D
LONGEST_LINE = 256
TEXT_COMMANDS = frozenset(("NI", "ND", "DN"))
_HEX = re.compile(r"(0[xX])?([0-9A-Fa-f]*)")


class SerialInput:
    """The input buffer: bytes from the client wait in it until the mode in use takes them.

    overruns: bytes that the buffer had no room for. undelivered: transparent packets that failed.
    """

    def __init__(
        self,
        settings: Settings,
        timers: Timers,
        line: SerialLine,
        radio: Transceiver,
        commands: Commands,
        api: Api,
    ) -> None:
        self.overruns = 0
        self.undelivered = 0
        self._settings = settings
        self._timers = timers
        self._line = line
        self._radio = radio
        self._api = api
        self._command_mode = CommandMode(
            settings, timers, line, commands, left=self._leave_command_mode, ready=self.work
        )
        self._input = bytearray()
        self._due = 0  # bytes at the head that make a transparent packet
        self._quiet_since = 0
        self._characters = 0  # command characters seen after a silence
        self._clear = True

    @property
    def held(self) -> int:
        """Bytes in the buffer."""
        return len(self._input)

    def restart(self, now: int) -> None:
        self._command_mode.abandon()
        self._input.clear()
        self._due = self._characters = 0
        self._quiet_since = now

    @property
    def clear_to_send(self) -> bool:
        """The CTS pin, where D7 makes it one."""
        return self._clear or self._settings.number("D7") != 1

    def _steer_flow(self) -> None:
        # CTS goes off shortly before the buffer is full, and on again with some room.
        # A host that obeys it still delivers the lump it has begun.
        buffer = self._settings.hardware.uart_buffer
        free = buffer - self.held
        if self._settings.flow_control:
            free -= min(LUMP_NS // self._line.uart.byte_ns, buffer // 2)
        self._clear = free > (CTS_OFF_FREE if self._clear else CTS_ON_FREE - 1)

    def receive(self, data: bytes, now: int) -> None:
        data = self._line.uart.distort(data)
        byte_ns = self._line.uart.byte_ns
        start = now - (len(data) - 1) * byte_ns
        for index, byte in enumerate(data):
            self._arrive(byte, max(start + index * byte_ns, self._quiet_since), now)
        self._line.settle(now)

    def _arrive(self, byte: int, time_ns: int, now: int) -> None:
        gap = time_ns - self._quiet_since
        if not self._line.command_mode:
            if self._is_transparent and gap >= self._packet_gap_ns and not self._characters:
                self._due = self.held
                self.work(now)
            self._watch_for_command_mode(byte, gap, time_ns)
        self._quiet_since = time_ns
        if self.held >= self._settings.hardware.uart_buffer:
            self.overruns += 1
            return
        self._input.append(byte)
        self._steer_flow()
        if self._is_transparent:
            self._await_packet_end(time_ns)
        self.work(now)

    @property
    def _is_transparent(self) -> bool:
        return not self._line.command_mode and not self._line.api_mode

    def work(self, now: int) -> None:
        """Take bytes from the buffer until the mode in use has to wait."""
        while self._input and not self._is_blocked(now):
            if self._line.command_mode:
                self._command_mode.push(self._shift(1)[0], now)
            elif self._line.api_mode:
                self._read_frame(now)
            elif not self._send_packet(now):
                break
            self._line.settle(now)

    def _is_blocked(self, now: int) -> bool:
        # The radio sends, a command takes time, or the answers have no room.
        if self._line.command_mode:
            return self._command_mode.busy
        if self._radio.busy:
            return True
        if self._line.uart.held(now) < self._settings.hardware.uart_buffer:
            return False
        self._timers.start("drained", self._line.uart.idle_at(now), self.work)
        return True

    def _shift(self, count: int) -> bytes:
        head = bytes(self._input[:count])
        del self._input[:count]
        self._steer_flow()
        return head

    # --- API mode -------------------------------------------------------------------------------

    def _read_frame(self, now: int) -> None:
        # One byte of a frame. The rest has to come before long.
        frame = self._line.reader.push(self._shift(1)[0])
        if frame is not None:
            self._api.handle(frame, now)
        elif self._line.reader.inside:
            self._timers.start("silence", now + SILENCE_NS, self._give_up_frame)

    def _give_up_frame(self, now: int) -> None:
        if self._input:  # the rest is here, but cannot be read yet
            self._timers.start("silence", now + SILENCE_NS, self._give_up_frame)
        else:
            self._line.reader.abort()

    # --- transparent mode -----------------------------------------------------------------------

    @property
    def _packet_gap_ns(self) -> int:
        return self._settings.number("RO") * self._line.uart.byte_ns

    def _await_packet_end(self, time_ns: int) -> None:
        # RO character times of silence end a packet; 0: every byte is one.
        if self._characters:
            self._timers.stop("packet")
        elif self._packet_gap_ns:
            end = time_ns + self._packet_gap_ns + LUMP_NS
            self._timers.start("packet", end, self._end_packet)
        else:
            self._due = self.held

    def _end_packet(self, now: int) -> None:
        self._due = self.held
        self.work(now)

    def _send_packet(self, now: int) -> bool:
        limit = self._radio.addressing.longest()
        ready = self.held - self._characters
        count = limit if ready >= limit else min(self._due, ready)
        if count <= 0:
            return False
        self._due = max(0, self._due - count)
        request = self._radio.addressing.to_destination(self._shift(count))
        if self._radio.send(request, self._sent, now):
            self.undelivered += 1
        return True

    def _sent(self, outcome: Outcome, now: int) -> None:
        self.undelivered += outcome.status != 0

    # --- the way into command mode --------------------------------------------------------------

    def _watch_for_command_mode(self, byte: int, gap: int, time_ns: int) -> None:
        # Silence of GT, the command character three times, silence of GT.
        guard = self._settings.number("GT") * MS
        follows = gap >= guard if self._characters == 0 else gap < guard
        wanted = byte == self._settings.number("CC") and not self._line.reader.inside
        if wanted and follows and self._characters < COMMAND_CHARACTERS:
            self._characters += 1
            self._timers.start("guard", time_ns + guard, self._guard_over)
        elif self._characters:
            self._characters = 0
            self._timers.stop("guard")

    def _guard_over(self, now: int) -> None:
        count, self._characters = self._characters, 0
        if count == COMMAND_CHARACTERS:
            characters = bytes((self._settings.number("CC"),)) * count
            if self._input.endswith(characters):
                del self._input[-count:]
            self._command_mode.enter(now)
        else:
            self._end_packet(now)

    def _leave_command_mode(self, now: int) -> None:
        self._quiet_since = now
        self._line.settle(now)
        self._line.deliver_waiting(now)


class CommandMode:
    """Lines of AT commands and their answers as text, until CN or the timeout CT.

    busy: a slow command (ND, DN) has not answered yet. left: called when command mode has ended.
    ready: called when the next characters can be read.
    """

    def __init__(
        self,
        settings: Settings,
        timers: Timers,
        line: SerialLine,
        commands: Commands,
        left: Callable[[int], None],
        ready: Callable[[int], None],
    ) -> None:
        self.busy = False
        self._settings = settings
        self._timers = timers
        self._line = line
        self._commands = commands
        self._left = left
        self._ready = ready
        self._typed = bytearray()
        self._waiting: deque[str] = deque()

    def enter(self, now: int) -> None:
        self._line.command_mode = True
        self._typed.clear()
        self._print("OK", now)
        self._restart_timeout(now)

    def leave(self, now: int) -> None:
        """Apply the values that were set, and return to the mode of AP."""
        self.abandon()
        self._commands.apply(now)
        self._left(now)

    def abandon(self) -> None:
        """Restart with the module."""
        self._line.command_mode = self.busy = False
        self._waiting.clear()
        self._typed.clear()
        self._timers.stop("command mode")

    def push(self, byte: int, now: int) -> None:
        """Read one character from the client; a line that is too long is an error when it ends."""
        if byte != CR:
            if len(self._typed) <= LONGEST_LINE:
                self._typed.append(byte)
            return
        line, self._typed = self._typed.decode("latin-1"), bytearray()
        line = line.replace("\n", "")
        if line[:2].upper() != "AT" or len(line) > LONGEST_LINE:
            if line:
                self._print("ERROR", now)
            return
        self._waiting.extend(part.strip(" ") for part in line[2:].split(","))
        self._run_waiting(now)

    def _run_waiting(self, now: int) -> None:
        while self._waiting and self._line.command_mode and not self.busy:
            command = self._waiting.popleft()
            if command:
                self._run(command[:2].upper(), command[2:].strip(" "), now)
            else:
                self._print("OK", now)  # a bare AT

    def _run(self, name: str, text: str, now: int) -> None:
        value = parse_value(name, text) if text else None
        if text and value is None:
            self._print("ERROR", now)
            return
        self.busy = True

        def reply(answer: Answer, when: int) -> None:
            self._reply(name, answer, when)

        self._commands.run(name, value, reply, now, hold=True)

    def _reply(self, name: str, answer: Answer, now: int) -> None:
        if not self._line.command_mode:
            return
        good = answer.status == Status.OK
        self._print("ERROR" if not good else "OK" if answer.text is None else answer.text, now)
        if good:
            self._restart_timeout(now)
        if not answer.last:
            return
        self.busy = False
        if good and name in ("CN", "DN"):
            self.leave(now)
        else:
            self._run_waiting(now)
            self._ready(now)

    def _print(self, text: str, now: int) -> None:
        self._line.send_text(text.encode("latin-1") + b"\r", now)

    def _restart_timeout(self, now: int) -> None:
        timeout = self._settings.number("CT") * 100 * MS
        self._timers.start("command mode", now + timeout, self._expire)

    def _expire(self, now: int) -> None:
        if self.busy:
            self._restart_timeout(now)  # a search may take longer than CT
        else:
            self.leave(now)


def parse_value(name: str, text: str) -> bytes | None:
    """Return a value as typed: hexadecimal, with or without 0x; None when it is not a value."""
    if name in TEXT_COMMANDS:
        return text.encode("latin-1")
    match = _HEX.fullmatch(text)
    if match is None or not match[2]:
        return None
    digits = match[2]
    return bytes.fromhex(digits.rjust(len(digits) + len(digits) % 2, "0"))
