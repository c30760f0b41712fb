"""Commands from the client.

A command ends in CR LF. AT+SEND has the length of its data, which may hold any byte, CR LF too;
the end of the command has to follow.
"""

import re

LONGEST = 240
BUFFER = 512  # bytes of one command; more are lost
NO_LINE_END, NO_COMMAND, LENGTH, TOO_LONG = 1, 2, 5, 13
_SEND = re.compile(rb"AT\+SEND=([0-9]{1,5}),([0-9]{1,4}),")


class Reader:
    """Bytes in any chunks -> commands without their end, or the code of an error.

    overruns: bytes lost.
    """

    def __init__(self) -> None:
        self._held = bytearray()
        self.overruns = 0

    @property
    def busy(self) -> bool:
        return bool(self._held)

    def clear(self) -> None:
        self._held.clear()

    def give_up(self) -> int:
        """Return the code of the error for a command without an end, when the line is quiet."""
        short = self._held.startswith(b"AT+SEND=") and self._held.endswith(b"\r\n")
        self.clear()
        return LENGTH if short else NO_LINE_END

    def push(self, byte: int) -> bytes | int | None:
        if len(self._held) >= BUFFER:
            self.overruns += 1
            if byte == 0x0A:
                self.clear()
                return TOO_LONG
            return None
        self._held.append(byte)
        if byte != 0x0A or self._held[-2:] != b"\r\n":
            return None
        send = _SEND.match(self._held)
        if send is not None and int(send[2]) <= LONGEST:
            missing = send.end() + int(send[2]) + 2 - len(self._held)
            if missing > 0:
                return None
        command = bytes(self._held[:-2])
        self.clear()
        return command


def parse_send(command: bytes) -> tuple[int, bytes] | int:
    """Return address and data of an AT+SEND, or the code of its error."""
    match = _SEND.match(command)
    if match is None:
        return LENGTH
    address, size = int(match[1]), int(match[2])
    if size > LONGEST:
        return TOO_LONG
    data = command[match.end() :]
    if len(data) != size or address > 65_535:
        return LENGTH
    return address, data
