"""A serial port opened by pyserial, with its bytes moving over the descriptor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from hilgw.errors import PortError
from hilgw.transports import threads
from hilgw.transports.stream import FdStream


class OpenPort(Protocol):
    """What is used of pyserial's object here."""

    def fileno(self) -> int: ...

    def close(self) -> None: ...

    def switch(self, line: str, on: bool) -> None: ...


class SerialStream(FdStream):
    """A tty. Closing a real one can block in the driver, so it happens in a thread."""

    def __init__(self, port: OpenPort, name: str, notices: list[str], *, is_pty: bool) -> None:
        super().__init__(asyncio.get_running_loop(), port.fileno(), name)
        self.notices = notices
        self.modem_lines: Callable[[str, bool], None] | None = None
        """Where modem lines go instead: a pty has none."""
        self._port = port
        self._is_pty = is_pty

    def set_modem_line(self, name: str, on: bool) -> None:
        """See `hilgw.transports.base.ModemLines`. An ioctl that does not wait."""
        if self.modem_lines is not None:
            self.modem_lines(name, on)
            return
        if self._is_pty:
            what = f"a pseudo terminal has no {name.upper()}"
            raise PortError(what, reason=PortError.UNSUPPORTED, where=self.name)
        try:
            self._port.switch(name, on)
        except OSError as error:
            what = f"{name.upper()} cannot be switched: {error}"
            raise PortError(what, reason=PortError.LOST, where=self.name) from error

    def _close_descriptor(self, fd: int) -> None:
        close_without_waiting(self._loop, fd, self._is_pty, self._closed_now, self._port.close)


def close_without_waiting(
    loop: asyncio.AbstractEventLoop,
    fd: int | None,
    is_pty: bool,
    done: Callable[[], None],
    close: Callable[[], None],
) -> None:
    """Call `close`, which closes the tty `fd`, and then `done` in the loop.

    A driver waits for its last bytes to leave, by default up to 30 s, so a real port is closed in
    a thread, and what it still holds is thrown away first. A pty has nothing to wait for.
    """

    def close_port() -> None:
        try:
            if fd is not None and not is_pty:
                from hilgw.transports.serial import tty

                tty.discard(fd)
            close()
        except OSError:
            pass  # the device is gone, and the descriptor with it

    def close_in_thread() -> None:
        close_port()
        try:
            loop.call_soon_threadsafe(done)
        except RuntimeError:
            pass  # the loop is closed: nobody waits any more

    if is_pty:
        close_port()
        done()
    else:
        threads.start_thread(close_in_thread)
