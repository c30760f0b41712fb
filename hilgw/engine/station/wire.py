"""The way to the hardware: a port while it is open, and the alarm clock of who uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hilgw.errors import PortError
from hilgw.transports.base import ModemLines

if TYPE_CHECKING:
    from collections.abc import Callable

    from hilgw.errors import HilgwError
    from hilgw.transports.base import Handle, Scheduler, Transport


class Wire:
    """Writes to the transport there is at the moment; `fail` hears what goes wrong."""

    __slots__ = ("_fail", "transport")

    def __init__(self, fail: Callable[[HilgwError], None]) -> None:
        self.transport: Transport | None = None
        self._fail = fail

    def write(self, data: bytes) -> bool:
        """Whether the port took it."""
        if self.transport is None:
            return False
        try:
            self.transport.write(data)
        except PortError as error:
            self._fail(error)
            return False
        return True

    def set_line(self, name: str, on: bool) -> None:
        """Switch a modem line: "dtr" or "rts"."""
        transport = self.transport
        if transport is None:
            return
        try:
            if not isinstance(transport, ModemLines):
                what = f"this port has no {name.upper()}"
                raise PortError(what, reason=PortError.UNSUPPORTED, where=transport.name)
            transport.set_modem_line(name, on)
        except PortError as error:
            self._fail(error)


class Alarm:
    """One timer that is set anew whenever something else is due first."""

    __slots__ = ("_handle", "_ring", "_scheduler", "at")

    def __init__(self, scheduler: Scheduler, ring: Callable[[], None]) -> None:
        self.at: int | None = None  # ns
        self._handle: Handle | None = None
        self._ring = ring
        self._scheduler = scheduler

    def set(self, due: int | None) -> None:
        if due == self.at:
            return
        if self._handle is not None:
            self._handle.cancel()
        self.at = due
        self._handle = None if due is None else self._scheduler.call_at(due, self._ring)

    def take(self) -> int | None:
        """When it was due, now that it rang."""
        due, self.at, self._handle = self.at, None, None
        return due
