"""Corrections to the behaviour of pyserial's port classes: mixins that precede them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hilgw.transports import threads
from hilgw.transports.base import LineSettings

ROOM_PERIOD_S = 0.005
ASK_MODEM_STATE, MODEM_STATE = b"\x07", b"\x6b"  # RFC 2217: of the client, of the server

if TYPE_CHECKING:

    class _Port:
        """What these mixins use of the class of pyserial that follows them."""

        def _update_dtr_state(self) -> None: ...
        def _update_rts_state(self) -> None: ...
        def _reconfigure_port(self, force_update: bool = False) -> None: ...
        def get_settings(self) -> dict[str, Any]: ...
        def apply_settings(self, settings: dict[str, Any]) -> None: ...
        def write(self, data: Any, /) -> int | None: ...
        def fileno(self) -> int: ...
        def close(self) -> None: ...
        def rfc2217_send_subnegotiation(self, option: bytes, value: bytes = b"") -> None: ...
        def _telnet_process_subnegotiation(self, suboption: bytes) -> None: ...

else:
    _Port = object


class KeepsModemLines(_Port):
    """pyserial sets DTR and RTS at each open, which resets many boards. With this mixin they stay
    unchanged unless the settings request a state."""

    requested = LineSettings()

    def _update_dtr_state(self) -> None:
        if self.requested.dtr is not None:
            super()._update_dtr_state()

    def _update_rts_state(self) -> None:
        if self.requested.rts is not None:
            super()._update_rts_state()

    def switch(self, line: str, on: bool) -> None:
        """Switches "dtr" or "rts" of the open port. Raises OSError."""
        if line == "dtr":
            self.requested = replace(self.requested, dtr=on)
        else:
            self.requested = replace(self.requested, rts=on)
        setattr(self, line, on)


def pyserial_settings(line: LineSettings) -> dict[str, Any]:
    """The settings for apply_settings() of a port."""
    return {
        "baudrate": line.baudRate,
        "bytesize": line.data_bits,
        "parity": line.parity,
        "stopbits": line.stop_bits,
        "rtscts": line.rtscts,
        "xonxoff": False,  # it would remove two values from binary data
    }


class NonBlocking(_Port):
    """For pyserial-asyncio, which calls these methods in the event loop: no draining, no busy
    waiting, no blocking close, and no second configuration of the port but by reconfigure()."""

    is_open: bool
    is_pty = False
    settled = False  # opened and configured
    close_instead: Callable[[Callable[[], None]], None] | None = (
        None  # called with the real close()
    )

    def _reconfigure_port(self, force_update: bool = False) -> None:
        """pyserial also calls this for a new timeout, which needs no configuration here."""
        if not self.settled:
            super()._reconfigure_port(force_update)

    def reconfigure(self, line: LineSettings) -> None:
        """Changes the line of the open port in one step. Raises OSError, ValueError, termios.error;
        the former settings hold then."""
        before = self.get_settings()
        try:
            self._settle(pyserial_settings(line))
        except BaseException:
            self._settle(before)
            raise

    def _settle(self, settings: dict[str, Any]) -> None:
        from hilgw.transports.serial import tty

        self.apply_settings(settings)
        self.settled = False
        try:
            self._reconfigure_port()
            tty.make_raw(self.fileno())  # pyserial has its own idea of VMIN
        finally:
            self.settled = True

    def flush(self) -> None:
        """Does nothing: pyserial would wait until the peer, which may be stalled, has read all."""

    def write(self, data: Any, /) -> int | None:
        """Writes once; pyserial would retry while the kernel accepts nothing."""
        if os.name == "posix":
            return os.write(self.fileno(), data)
        return super().write(data)

    def close(self) -> None:
        close = super().close
        if self.close_instead is None or not self.is_open:
            close()
        else:
            close_instead, self.close_instead = self.close_instead, None
            close_instead(close)


class BoundedWrite(_Port):
    """pyserial's loop:// blocks in write() until the reader reads, even after close(). One place in
    its queue stays free for the end mark of close(), which may come during a write."""

    buffer_size: int
    in_waiting: int

    def write(self, data: Any, /) -> int | None:
        size = len(data)
        while data:
            room = max(0, self.buffer_size - 1 - self.in_waiting)
            super().write(data[:room])
            data = data[room:]
            if data:
                threads.pause(ROOM_PERIOD_S)
        return size


class BoundedQueue(_Port):
    """pyserial's rfc2217:// reads the network into an unbounded queue. With a bound, unread bytes
    stay in the network."""

    _read_buffer: Any
    _socket: Any

    def bound(self, limit: int) -> None:
        queue = self._read_buffer
        with queue.mutex:
            queue.maxsize = limit
            queue.not_full.notify_all()

    def close(self) -> None:
        if self._read_buffer is not None:
            self.bound(1 << 62)  # unblocks the thread that fills it, which close() joins
        connection = self._socket
        super().close()
        if connection is not None:
            connection.close()  # pyserial leaves it open when the peer has closed its end


class AsksModemState(_Port):
    """pyserial's rfc2217:// returns an old state of the modem lines when the server gives none."""

    _modemstate: int | None

    def __init__(self, *settings: Any) -> None:
        self._arrived = threading.Event()
        super().__init__(*settings)

    def _telnet_process_subnegotiation(self, suboption: bytes) -> None:
        super()._telnet_process_subnegotiation(suboption)
        if suboption[1:2] == MODEM_STATE:
            self._arrived.set()

    def ask_modem_state(self, timeout_s: float) -> int:
        """The state now, as NOTIFY-MODEMSTATE reports it. TimeoutError: no answer; ask this port
        no more, as that answer may still come and would be taken for the next one."""
        self._arrived.clear()
        self.rfc2217_send_subnegotiation(ASK_MODEM_STATE)
        if not self._arrived.wait(timeout_s) or self._modemstate is None:
            raise TimeoutError(f"no answer within {timeout_s * 1000:g} ms")
        return self._modemstate


def supported_by_pty(line: LineSettings, notices: list[str]) -> LineSettings:
    """`line` without the settings that a pty does not support; appends notices for the user."""
    if line.parity != "N" or line.data_bits != 8:
        notices.append("a pseudo terminal has neither parity nor 7 data bits; 8N is used")
    if line.rs485 != "none":
        notices.append("a pseudo terminal has no RTS; rs485 is ignored")
    return replace(line, data_bits=8, parity="N", rs485="none")
