"""The stop of one body from another thread, while the event loop hangs."""

import os
import socket
import threading
from contextlib import suppress

from hilgw.engine.control_loop.guardian import Guardian
from hilgw.transports.base import NOT_SET, Flag, Transport
from hilgw.transports.threads import start_thread

_UNGUARDED = "nothing stops it if hilgw is killed or frozen: robot-guard cannot have its port"


class EmergencyStop:
    """Stops a body from another thread while the event loop hangs.

    Keeps a file descriptor of its own for the body's connection, and the bytes that stop the
    motors. The guardian, where there is one, has the same. The event loop calls all methods but
    `trigger`. `lock` is held during each write to the connection, so the stop bytes never fall
    inside another write. flag: as of `PeerLink`. is_final: the guardian has stopped the body.
    closing: closes the descriptor of the last connection.
    """

    def __init__(
        self, name: str = "", guardian: Guardian | None = None, *, is_line: bool = False
    ) -> None:
        """Create it.

        name: of the body. is_line: it is on a line, perhaps behind a serial server.
        """
        self.lock = threading.Lock()
        self.flag: Flag = NOT_SET
        self.is_final = False
        self._name = name
        self._guardian = guardian
        self._is_line = is_line
        self._has_guardian = False
        self._kept = b""  # what the guardian would write
        self.triggered = 0
        self._fd = -1
        self.closing: threading.Thread | None = None
        self._transport: Transport | None = None
        self._stop_bytes = b""

    def attach(self, transport: Transport) -> None:
        """Take a new connection. One without a descriptor (a pipe in memory) cannot be stopped."""
        self.detach()
        fd = transport.fileno()
        with self.lock:
            self._transport = transport
            self._fd = os.dup(fd) if fd >= 0 else -1

    def guard(self) -> None:
        """Give the connection to a guardian that runs now, with the stop that the last one kept.

        It may be on its way.
        """
        if self._guardian is not None and self._fd >= 0:
            self.flag = self._guardian.flag
            self._has_guardian = self._guardian.take(self._name, self._fd, is_line=self._is_line)
            self._guardian.keep(self._name, self._kept)

    def detach(self) -> None:
        """Forget the lost connection, and close our descriptor too, or the port would stay open."""
        self.flag, self._kept = NOT_SET, b""
        self._has_guardian = self.is_final = False
        with self.lock:
            fd, self._fd, self._stop_bytes, self._transport = self._fd, -1, b"", None
        if fd >= 0:
            # This may be the last descriptor of a real port, and its driver may block.
            if os.isatty(fd):
                self.closing = start_thread(lambda: os.close(fd))
            else:
                os.close(fd)

    async def release(self) -> None:
        """Return when the guardian has let go of the connection, which is closed next.

        No motor moves from here on.
        """
        if self._guardian is not None and self._has_guardian:
            self._has_guardian = False
            await self._guardian.drop(self._name)

    def prepare(self, stop_bytes: bytes) -> bool:
        """Take the bytes that stop the motors as they are now; empty when none moves.

        Return False where there is a guardian that could not take them.

        The guardian keeps the last ones until `forget`: the stop itself may still be on its way.
        """
        self._stop_bytes = stop_bytes
        if self._guardian is None or self._fd < 0 or not stop_bytes or stop_bytes == self._kept:
            return True
        return self._has_guardian and self._keep(stop_bytes)

    def forget(self) -> None:
        """Have the guardian stop nothing any more, as the stop has left."""
        self._keep(b"")

    @property
    def is_kept(self) -> bool:
        """True if the guardian would stop the body, whose motors stand still."""
        return bool(self._kept)

    @property
    def unguarded(self) -> str:
        """Return why nothing would stop this body, which is real and connected; else nothing."""
        is_real = self._guardian is not None and self._transport is not None
        return _UNGUARDED if is_real and not self._has_guardian else ""

    def _keep(self, stop_bytes: bytes) -> bool:
        if self._guardian is None or not self._guardian.keep(self._name, stop_bytes):
            return False
        self._kept = stop_bytes
        return True

    def trigger(self) -> None:
        """Write the stop bytes, or close the connection; called in the watchdog's thread."""
        with self.lock:
            if self._fd < 0 or not self._stop_bytes:
                return
            self.triggered += 1
            try:
                if os.isatty(self._fd):
                    self._stop_on_line()
                else:
                    self._stop_on_stream()
            except OSError:
                pass  # the connection is gone, and the robot stops by itself

    def _stop_on_stream(self) -> None:
        """Write the stop, or close the connection where half a message waits in the event loop."""
        stop = self._stop_bytes
        pending = 0 if self._transport is None else self._transport.pending
        with suppress(BlockingIOError):
            if not pending and os.write(self._fd, stop) == len(stop):
                return
            if self._is_line:  # behind a serial server: its robot sees no end
                os.write(self._fd, 2 * stop)
        connection = socket.socket(fileno=self._fd)
        try:
            connection.shutdown(socket.SHUT_RDWR)
        finally:
            connection.detach()  # the descriptor stays ours; for another one there may be no room

    def _stop_on_line(self) -> None:
        """Discard what waits in the kernel, and write the stop twice.

        The robot may take the first copy for the end of a frame that was cut.
        """
        from hilgw.transports.serial import tty

        tty.discard(self._fd)
        os.write(self._fd, 2 * self._stop_bytes)
