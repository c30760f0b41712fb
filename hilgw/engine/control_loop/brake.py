"""Stops a body from another thread, past a loop that hangs."""

from __future__ import annotations

import os
import socket
import threading
from typing import Any

from hilgw.transports.threads import start_thread


class EmergencyStop:
    """Holds a descriptor of its own for the body's connection, and the bytes that stop it.

    The loop calls everything but `pull`. Whoever writes to the connection holds `lock`, so that
    these bytes never come between those of one write.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pulled = 0
        self._fd = -1
        self._transport: Any = None
        self._stop = b""

    def hold(self, transport: Any) -> None:
        """A connection is up. One without a descriptor (a pipe in memory) has no brake."""
        self.release()
        fileno = getattr(transport, "fileno", None)
        fd = -1 if fileno is None else fileno()
        with self.lock:
            self._transport = transport
            self._fd = os.dup(fd) if fd >= 0 else -1

    def release(self) -> None:
        """The connection is gone: the descriptor too, or it would stay open."""
        with self.lock:
            fd, self._fd, self._stop, self._transport = self._fd, -1, b"", None
        if fd >= 0:
            # The last descriptor of a real port: its driver may take its time.
            start_thread(lambda: os.close(fd)) if os.isatty(fd) else os.close(fd)

    def ready(self, stop: bytes) -> None:
        """What stops the motors as they are now; empty when nothing moves."""
        self._stop = stop

    def pull(self) -> None:
        """From the other thread: write them, or end the connection where they cannot be."""
        with self.lock:
            if self._fd < 0 or not self._stop:
                return
            self.pulled += 1
            try:
                if os.isatty(self._fd):
                    self._stop_line()
                else:
                    self._stop_stream()
            except OSError:
                pass  # the connection is gone, and the robot knows

    def _stop_stream(self) -> None:
        """Half of an earlier message may wait in the loop: then closing is what stops."""
        if not self._transport.pending and os.write(self._fd, self._stop) == len(self._stop):
            return
        with socket.socket(fileno=os.dup(self._fd)) as connection:
            connection.shutdown(socket.SHUT_RDWR)

    def _stop_line(self) -> None:
        """What waits in the kernel goes. Twice, as the first may be taken for the end of a frame
        that was cut."""
        from hilgw.transports.serial import tty

        tty.discard(self._fd)
        os.write(self._fd, 2 * self._stop)
