"""A serial port opened by pyserial, whose bytes move over the descriptor."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from hilgw.errors import PortError
from hilgw.transports import threads
from hilgw.transports.base import LineSettings, ModemState, SwitchModemLine
from hilgw.transports.serial.quirks import supported_by_pty
from hilgw.transports.stream import FdStream


class OpenPort(Protocol):
    """The methods of pyserial's port that are used here."""

    break_condition: bool

    def fileno(self) -> int: ...

    def close(self) -> None: ...

    def switch(self, line: str, on: bool) -> None: ...

    def reconfigure(self, line: LineSettings) -> None: ...


class SerialStream(FdStream):
    """A tty. Closing a real one may block in the driver, so a thread does it.

    modem_lines: switches the modem lines of a pty, which has none of its own.
    """

    def __init__(
        self,
        port: OpenPort,
        name: str,
        notices: list[str],
        *,
        is_pty: bool,
        modem_lines: SwitchModemLine | None = None,
    ) -> None:
        super().__init__(asyncio.get_running_loop(), port.fileno(), name)
        self.notices = notices
        self._port = port
        self._is_pty = is_pty
        self._modem_lines = modem_lines

    def set_modem_line(self, name: str, on: bool) -> None:
        if self._modem_lines is not None:
            self._modem_lines(name, on)
            return
        if self._is_pty:
            raise self._unsupported(f"a pseudo terminal has no {name.upper()}")
        try:
            self._port.switch(name, on)
        except OSError as error:
            problem = f"{name.upper()} cannot be switched: {error}"
            raise PortError(problem, reason=PortError.LOST, where=self.name) from error

    # --- the line; none of these calls waits for bytes --------------------------------------------

    def set_line(self, line: LineSettings) -> None:
        """Set the line; a pty keeps 8 bits without parity, which `notices` reports."""
        supported = supported_by_pty(line, self.notices) if self._is_pty else line
        try:
            self._port.reconfigure(supported)
        except Exception as error:  # pyserial and termios raise many kinds
            raise self._unsupported(f"the driver does not accept {line}: {error}") from error

    def set_break(self, on: bool) -> None:
        try:
            self._port.break_condition = on
        except OSError as error:
            raise self._unsupported(f"no break can be sent: {error}") from error

    def purge(self, *, received: bool, to_send: bool) -> int:
        from hilgw.transports.serial import tty

        try:
            return tty.purge(self.fileno(), received=received, to_send=to_send)
        except OSError as error:
            raise self._unsupported(f"the driver discards nothing: {error}") from error

    def modem_state(self) -> ModemState:
        from hilgw.transports.serial import tty

        try:
            return ModemState(*tty.modem_inputs(self.fileno()))
        except OSError as error:
            raise self._unsupported(f"no modem lines: {error}") from error

    def _close_descriptor(self, fd: int) -> None:
        close_without_waiting(self._loop, fd, self._is_pty, self._closed_now, self._port.close)


def close_without_waiting(
    loop: asyncio.AbstractEventLoop,
    fd: int | None,
    is_pty: bool,
    done: Callable[[], None],
    close: Callable[[], None],
) -> None:
    """Call `close`, which closes the tty `fd`, and then `done` in the event loop.

    A driver waits until its last bytes are sent, by default up to 30 s. So a real port is closed
    in a thread, after its pending bytes are discarded. A pty closes at once.
    """

    def close_port() -> None:
        try:
            if fd is not None and not is_pty:
                from hilgw.transports.serial import tty

                tty.discard(fd)
            close()
        except OSError:
            pass  # the device is gone, and its descriptor too

    def close_in_thread() -> None:
        close_port()
        try:
            loop.call_soon_threadsafe(done)
        except RuntimeError:
            pass  # the event loop is closed: nothing waits any more

    if is_pty:
        close_port()
        done()
    else:
        threads.start_thread(close_in_thread)
