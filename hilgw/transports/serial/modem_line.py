"""An input of a serial port, read by a thread: whether the other end of the line is on."""

from typing import Any, NamedTuple

from hilgw.transports.serial.port import open_modem_lines

ANSWER_S = 0.03
_LOCAL = {"cts": "cts", "dsr": "dsr", "dcd": "cd"}  # properties of pyserial
_REMOTE = {"cts": 0x10, "dsr": 0x20, "dcd": 0x80}  # RFC 2217, NOTIFY-MODEMSTATE


class ModemLine(NamedTuple):
    """The modem lines of a port, whose methods all block.

    port: of pyserial, or a BlockingPort on the network. answer_s: how long the latter may take to
    answer.
    """

    port: Any
    line: str
    is_remote: bool
    answer_s: float

    def is_on(self) -> bool:
        """Read the line now, never an old state.

        Raises:
            Exception: the port is lost, or has no such line.
        """
        if not self.is_remote:
            return bool(getattr(self.port, _LOCAL[self.line]))
        return bool(self.port.ask_modem_state(self.answer_s) & _REMOTE[self.line])

    def close(self) -> None:
        self.port.close()


def open_modem_line(
    port: str, line: str, *, allow_urls: bool, answer_s: float = ANSWER_S
) -> ModemLine:
    """Open a modem line; blocks, and raises PortError as `open_serial`."""
    return ModemLine(open_modem_lines(port, allow_urls=allow_urls), line, "://" in port, answer_s)
