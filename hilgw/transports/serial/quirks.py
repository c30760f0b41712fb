"""What pyserial's port classes have to be kept from: mixins that stand before them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hilgw.transports import threads
from hilgw.transports.base import LineSettings

ROOM_PERIOD_S = 0.005


class KeepsModemLines:
    """pyserial sets DTR and RTS at each open, which reboots many boards. Here they keep what they
    have unless a state was asked for."""

    asked = LineSettings()

    def _update_dtr_state(self) -> None:
        if self.asked.dtr is not None:
            super()._update_dtr_state()  # type: ignore[misc]

    def _update_rts_state(self) -> None:
        if self.asked.rts is not None:
            super()._update_rts_state()  # type: ignore[misc]

    def switch(self, line: str, on: bool) -> None:
        """Switch "dtr" or "rts" of the open port. OSError."""
        if line == "dtr":
            self.asked = replace(self.asked, dtr=on)
        else:
            self.asked = replace(self.asked, rts=on)
        setattr(self, line, on)


class NonBlocking:
    """For pyserial-asyncio, which calls these in the loop: no draining, no spinning, no blocking
    close, and no configuring of a port that is configured."""

    fd: int
    is_open: bool
    is_pty = False
    settled = False  # opened and configured
    close_instead: Callable[[Callable[[], None]], None] | None = None  # given the real close()

    def _reconfigure_port(self, force_update: bool = False) -> None:
        """Setting a time-out, which is not the kernel's business here, comes this way too."""
        if not self.settled:
            super()._reconfigure_port(force_update)  # type: ignore[misc]

    def flush(self) -> None:
        """pyserial would wait until a peer that may be stalled has taken everything."""

    def write(self, data: Any, /) -> int | None:
        """One try; pyserial tries again and again while the kernel takes nothing."""
        if os.name == "posix":
            return os.write(self.fd, data)
        written: int | None = super().write(data)  # type: ignore[misc]
        return written

    def close(self) -> None:
        close: Callable[[], None] = super().close  # type: ignore[misc]
        if self.close_instead is None or not self.is_open:
            close()
        else:
            close_instead, self.close_instead = self.close_instead, None
            close_instead(close)


class BoundedWrite:
    """pyserial's loop:// waits in write() for a reader, even after close(). One place is left free:
    close() puts a mark into the queue, and may do so while a write is under way."""

    buffer_size: int
    in_waiting: int

    def write(self, data: Any, /) -> int | None:
        size = len(data)
        while data:
            room = max(0, self.buffer_size - 1 - self.in_waiting)
            super().write(data[:room])  # type: ignore[misc]
            data = data[room:]
            if data:
                threads.pause(ROOM_PERIOD_S)
        return size


class BoundedQueue:
    """pyserial's rfc2217:// reads the network into a queue without an end. With an end, it leaves
    in the network what nobody takes."""

    _read_buffer: Any

    def bound(self, limit: int) -> None:
        queue = self._read_buffer
        with queue.mutex:
            queue.maxsize = limit
            queue.not_full.notify_all()

    def close(self) -> None:
        if self._read_buffer is not None:
            self.bound(1 << 62)  # frees the thread that fills it, which is waited for
        super().close()  # type: ignore[misc]


def supported_by_pty(line: LineSettings, notices: list[str]) -> LineSettings:
    """`line` without what raises on a pty, or is silently left out; the user is told."""
    if line.parity != "N" or line.data_bits != 8:
        notices.append("a pseudo terminal carries neither parity nor 7 bits; it is kept at 8N")
    if line.rs485 != "none":
        notices.append("a pseudo terminal has no RTS; rs485 is left out")
    return replace(line, data_bits=8, parity="N", rs485="none")
