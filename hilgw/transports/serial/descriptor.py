"""A serial port that pyserial opened: corrections of its classes, bytes over its descriptor."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from hilgw.errors import PortError
from hilgw.transports import threads
from hilgw.transports.base import LineSettings, ModemState, SwitchModemLine
from hilgw.transports.stream import FdStream

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
