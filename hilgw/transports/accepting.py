"""Connections that arrive at a listening socket, on a descriptor that the event loop watches."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

# Without a free descriptor accept() fails at once, repeatedly: pause after a failure.
ACCEPT_PAUSE_S = 0.1
AT_ONCE = 16  # in one turn of the event loop: who connects again and again fills no queue for long


class Accepting:
    """A listening socket that passes each connection and its address to on_connection.

    close() closes the socket, too. The connections do not block.
    """

    def __init__(
        self, listening: socket.socket, on_connection: Callable[[socket.socket, Any], None]
    ) -> None:
        self._listening = listening
        self._on_connection = on_connection
        self._loop = asyncio.get_running_loop()
        self._closed = False
        self._watch()

    def close(self) -> None:
        self._closed = True
        self._loop.remove_reader(self._listening)
        self._listening.close()

    def _watch(self) -> None:
        if not self._closed:
            self._loop.add_reader(self._listening, self._accept)

    def _accept(self) -> None:
        for _ in range(AT_ONCE):
            if self._closed:
                return
            try:
                connection, address = accept(self._listening)
            except (BlockingIOError, InterruptedError, ConnectionError):
                return
            except OSError:
                self._loop.remove_reader(self._listening)
                self._loop.call_later(ACCEPT_PAUSE_S, self._watch)
                return
            connection.setblocking(False)
            self._on_connection(connection, address)


def accept(listening: socket.socket) -> tuple[socket.socket, Any]:
    """Return the next connection and its address; a function, so that tests can make it fail."""
    return listening.accept()
