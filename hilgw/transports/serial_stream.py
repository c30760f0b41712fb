"""A serial port opened by pyserial, with its bytes moving over the descriptor."""

from __future__ import annotations

import asyncio
from typing import Protocol

from hilgw.transports import threads, tty
from hilgw.transports.stream import FdStream


class OpenPort(Protocol):
    """What is used of pyserial's object here."""

    def fileno(self) -> int: ...

    def close(self) -> None: ...


class SerialStream(FdStream):
    """A tty. Closing a real one can block in the driver, so it happens in a thread."""

    def __init__(self, port: OpenPort, name: str, notices: list[str], *, is_pty: bool) -> None:
        super().__init__(asyncio.get_running_loop(), port.fileno(), name)
        self.notices = notices
        self._port = port
        self._is_pty = is_pty

    def _close_descriptor(self, fd: int) -> None:
        if self._is_pty:
            self._close_port()
            self._closed_now()
        else:
            threads.start_thread(self._close_in_thread)

    def _close_in_thread(self) -> None:
        # What the driver has not sent yet would be waited for, by default up to 30 s.
        tty.discard(self._port.fileno())
        self._close_port()
        try:
            self._loop.call_soon_threadsafe(self._closed_now)
        except RuntimeError:
            pass  # the loop is closed: nobody waits any more

    def _close_port(self) -> None:
        try:
            self._port.close()
        except OSError:
            pass  # the device is gone; so is the descriptor
