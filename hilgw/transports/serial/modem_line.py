"""One input of a serial port, read by a thread: whether the other end of the line is on."""

from __future__ import annotations

from typing import Any, Protocol

from hilgw.transports.serial.port import open_modem_lines

ANSWER_S = 0.03
_LOCAL = {"cts": "cts", "dsr": "dsr", "dcd": "cd"}  # properties of pyserial
_REMOTE = {"cts": 0x10, "dsr": 0x20, "dcd": 0x80}  # RFC 2217, NOTIFY-MODEMSTATE


class ModemLine(Protocol):
    """All methods block."""

    def is_on(self) -> bool:
        """Reads the line now. TimeoutError: the next reading may succeed; any other error: the port
        is lost, or has no such line."""
        ...

    def close(self) -> None: ...


class LocalLine:
    """Of a tty of this machine."""

    def __init__(self, port: Any, line: str) -> None:
        self._port = port
        self._name = _LOCAL[line]

    def is_on(self) -> bool:
        return bool(getattr(self._port, self._name))

    def close(self) -> None:
        self._port.close()


class RemoteLine:
    """Of a port on the network. Only the answer to this question counts, never an old state.
    answer_s: how long it waits for it."""

    def __init__(self, port: Any, line: str, answer_s: float = ANSWER_S) -> None:
        self._port = port
        self._mask = _REMOTE[line]
        self.answer_s = answer_s

    def is_on(self) -> bool:
        if waiting := self._port.in_waiting:
            self._port.read(waiting)  # data mean nothing here, and must not stop the reader
        return bool(self._port.ask_modem_state(self.answer_s) & self._mask)

    def close(self) -> None:
        self._port.close()


def open_modem_line(port: str, line: str, *, allow_urls: bool) -> ModemLine:
    """Blocks. PortError as `open_serial`."""
    opened = open_modem_lines(port, allow_urls=allow_urls)
    return RemoteLine(opened, line) if "://" in port else LocalLine(opened, line)
