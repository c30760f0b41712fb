"""The module's serial line: API frames, and the UART that carries them to the client.

An API frame is 7E, length, frame data, checksum; mode 2 escapes it.
"""

from firmware_mocks.base import MS, Uart
from firmware_mocks.xbee.settings import Settings

DELIMITER = 0x7E
ESCAPE = 0x7D
ESCAPED = frozenset((0x7E, 0x7D, 0x11, 0x13))
LONGEST = 512  # bytes of frame data; no module sends more, so a larger length is noise
REPLY_NS = 4 * MS  # a client that sends first and listens second needs 3

# modem status (frame 8A)
POWER_UP = 0x00
JOINED = 0x02
COORDINATOR_STARTED = 0x06


def checksum(frame_data: bytes) -> int:
    return 0xFF - (sum(frame_data) & 0xFF)


def encode(frame_data: bytes, escaped: bool) -> bytes:
    """Return the frame on the wire; length and checksum are those of the data before escaping."""
    body = len(frame_data).to_bytes(2, "big") + frame_data + bytes((checksum(frame_data),))
    if not escaped:
        return bytes((DELIMITER,)) + body
    wire = bytearray((DELIMITER,))
    for byte in body:
        if byte in ESCAPED:
            wire += bytes((ESCAPE, byte ^ 0x20))
        else:
            wire.append(byte)
    return bytes(wire)


class FrameReader:
    """Takes bytes one by one and returns frame data.

    Escaped (mode 2): a bare 7E always begins a new frame. Unescaped (mode 1): a 7E inside a frame
    is data; only a bad checksum, an impossible length or `abort` (a silence) ends a broken frame.
    """

    def __init__(self, escaped: bool) -> None:
        self.escaped = escaped
        self.errors = 0
        self._body: bytearray | None = None
        self._unescape = False

    @property
    def inside(self) -> bool:
        """True if the line is in the middle of a frame."""
        return self._body is not None

    def abort(self) -> None:
        """Give the frame up; the next 7E begins a new one."""
        self.errors += self.inside
        self._body = None
        self._unescape = False

    def push(self, byte: int) -> bytes | None:
        """Read one byte from the line; return the frame data when it completes a good frame."""
        if byte == DELIMITER and (self.escaped or not self.inside):
            self.abort()
            self._body = bytearray()
            return None
        if self._body is None:
            return None
        if self.escaped and byte == ESCAPE and not self._unescape:
            self._unescape = True
            return None
        if self._unescape:
            byte ^= 0x20
            self._unescape = False
        self._body.append(byte)
        return self._complete(self._body)

    def _complete(self, body: bytearray) -> bytes | None:
        if len(body) < 2:
            return None
        length = int.from_bytes(body[:2], "big")
        if not 0 < length <= LONGEST:
            self.abort()
            return None
        if len(body) < length + 3:
            return None
        data = bytes(body[2:-1])
        if checksum(data) != body[-1]:
            self.abort()
            return None
        self._body = None
        return data


class SerialLine:
    """The UART with the settings in use, and everything it sends to the client.

    mode: AP as the line uses it now. command_mode: packets from the air wait until it ends.
    reader: reads frames in this mode. overflows: packets that the transmit buffer had no room for.
    """

    def __init__(self, uart: Uart, settings: Settings) -> None:
        self.uart = uart
        self.settings = settings
        self.mode = 0
        self.command_mode = False
        self.reader = FrameReader(escaped=False)
        self.overflows = 0
        self._waiting: list[bytes] = []  # came from the air during command mode
        self._changed = False

    @property
    def api_mode(self) -> bool:
        return self.mode in (1, 2)

    def restart(self, now: int) -> None:
        self.uart.clear()
        self._waiting.clear()
        self.use_settings(now)

    # --- settings -------------------------------------------------------------------------------

    def change(self) -> None:
        """Note that BD, NB, SB or AP have changed: `settle` brings them into use."""
        self._changed = True

    def settle(self, now: int) -> None:
        """Use changed settings as soon as the answers written so far have left."""
        if self._changed:
            self._changed = False
            self.uart.change(self.use_settings, now)

    def use_settings(self, now: int) -> None:
        number = self.settings.number
        self.uart.baud_rate = self.settings.hardware.line_rate(number("BD"))
        self.uart.bits_per_byte = 10 + (1 if number("NB") else 0) + number("SB")
        if self.mode != number("AP"):
            self.mode = number("AP")
            self.reader = FrameReader(escaped=self.mode == 2)

    # --- to the client --------------------------------------------------------------------------

    def send_text(self, text: bytes, now: int) -> None:
        """Send an answer in command mode."""
        self.uart.write(text, now + REPLY_NS)

    def send_answer(self, frame: bytes, now: int, received_at: int | None = None) -> None:
        """Answer a frame of `received_at` (default now) after the firmware's delay."""
        when = max(now, (now if received_at is None else received_at) + REPLY_NS)
        self.uart.write(encode(frame, self.reader.escaped), when)

    def send_modem_status(self, code: int, now: int) -> None:
        """Send frame 8A, in API mode."""
        if self.api_mode:
            self.send_answer(bytes((0x8A, code)), now)

    def deliver_frame(self, frame: bytes, now: int) -> None:
        """Deliver a frame with a packet from the air."""
        self.deliver(encode(frame, self.reader.escaped), now)

    def deliver(self, wire: bytes, now: int) -> None:
        """Deliver bytes from the air: all of them, or none when the buffer has no room."""
        held = self.uart.held(now) + sum(map(len, self._waiting))
        if held + len(wire) > self.settings.hardware.uart_buffer:
            self.overflows += 1
        elif self.command_mode:
            self._waiting.append(wire)
        else:
            self.uart.write(wire, now)

    def deliver_waiting(self, now: int) -> None:
        """Deliver what waited for the end of command mode."""
        waiting, self._waiting = self._waiting, []
        for wire in waiting:
            self.uart.write(wire, now + REPLY_NS)
