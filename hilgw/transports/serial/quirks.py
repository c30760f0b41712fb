"""Corrections to the behaviour of pyserial's port classes: mixins that precede them."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hilgw.transports.base import LineSettings

if TYPE_CHECKING:

    class _Port:
        """Members that these mixins use of pyserial's class that follows them."""

        def _update_dtr_state(self) -> None: ...
        def _update_rts_state(self) -> None: ...
        def _reconfigure_port(self, force_update: bool = False) -> None: ...
        def get_settings(self) -> dict[str, Any]: ...
        def apply_settings(self, settings: dict[str, Any]) -> None: ...
        def write(self, data: Any, /) -> int | None: ...
        def fileno(self) -> int: ...
        def close(self) -> None: ...

else:
    _Port = object


class KeepsModemLines(_Port):
    """A mixin with which DTR and RTS stay unchanged unless the settings request a state.

    pyserial sets them at each open, which resets many boards.
    """

    requested = LineSettings()

    def _update_dtr_state(self) -> None:
        if self.requested.dtr is not None:
            super()._update_dtr_state()

    def _update_rts_state(self) -> None:
        if self.requested.rts is not None:
            super()._update_rts_state()

    def switch(self, line: str, on: bool) -> None:
        """Switch "dtr" or "rts" of the open port; raises OSError."""
        if line == "dtr":
            self.requested = replace(self.requested, dtr=on)
        else:
            self.requested = replace(self.requested, rts=on)
        setattr(self, line, on)


def pyserial_settings(line: LineSettings) -> dict[str, Any]:
    """Return the settings for apply_settings() of a port."""
    return {
        "baudrate": line.baudRate,
        "bytesize": line.data_bits,
        "parity": line.parity,
        "stopbits": line.stop_bits,
        "rtscts": line.rtscts,
        "xonxoff": False,  # it would remove two values from binary data
    }


class NonBlocking(_Port):
    """A mixin for pyserial-asyncio, which calls these methods in the event loop.

    No draining, no busy waiting, no blocking close, and no second configuration of the port but by
    reconfigure().
    """

    is_open: bool
    is_pty = False
    settled = False  # opened and configured
    close_instead: Callable[[Callable[[], None]], None] | None = (
        None  # called with the real close()
    )

    def _reconfigure_port(self, force_update: bool = False) -> None:
        """Skip pyserial's calls for a new timeout, which needs no configuration here."""
        if not self.settled:
            super()._reconfigure_port(force_update)

    def reconfigure(self, line: LineSettings) -> None:
        """Change the line of the open port in one step.

        The former settings hold after an error: OSError, ValueError or termios.error.
        """
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
        """Do nothing: pyserial would wait until the peer, which may be stalled, has read all."""

    def write(self, data: Any, /) -> int | None:
        """Write once; pyserial would retry while the kernel accepts nothing."""
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


def supported_by_pty(line: LineSettings, notices: list[str]) -> LineSettings:
    """Return `line` without the settings that a pty does not support, and append notices."""
    if line.parity != "N" or line.data_bits != 8:
        notices.append("a pseudo terminal has neither parity nor 7 data bits; 8N is used")
    if line.rs485 != "none":
        notices.append("a pseudo terminal has no RTS; rs485 is ignored")
    return replace(line, data_bits=8, parity="N", rs485="none")
