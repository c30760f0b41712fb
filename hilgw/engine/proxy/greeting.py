"""The line with which a controller begins: it names the robot."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hilgw.protocols.webots import Acknowledgement, ProtocolError, decode_hello

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from hilgw.errors import HilgwError
    from hilgw.transports.base import Transport

# The line has no end: it is complete when it names a robot, or after this silence.
SILENCE_S = 0.1
# A connection that sends no line for so long is closed.
HELLO_S = 5.0
LONGEST = 4096


class Greeting:
    """Reads the line of one controller, then calls on_name(line, name in it) once; "" is no name.

    names: those that need no silence. on_refused: the bytes were no such line.
    """

    def __init__(
        self,
        stream: Transport,
        names: Collection[str],
        on_name: Callable[[bytes, str], None],
        on_refused: Callable[[HilgwError], None],
    ) -> None:
        self._stream = stream
        self._names = names
        self._on_name = on_name
        self._on_refused = on_refused
        self._line = b""
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(HELLO_S, self._close)
        stream.start(self._received, lambda error: self._close())

    def _received(self, data: bytes) -> None:
        self._timer.cancel()
        self._line += data[:LONGEST]
        try:
            name = decode_hello(self._line)
        except ProtocolError as error:
            self._close()
            self._on_refused(error)
            return
        longer = any(each != name and each.startswith(name or "") for each in self._names)
        if name in self._names and not longer:
            self._done(name or "")
        else:
            self._timer = self._loop.call_later(SILENCE_S, self._silent)

    def _silent(self) -> None:
        name = decode_hello(self._line)  # has not raised before
        if name is None:
            self._close()
        else:
            self._done(name)

    def _done(self, name: str) -> None:
        self._timer.cancel()
        self._on_name(self._line, name)

    def _close(self) -> None:
        self._timer.cancel()
        self._stream.close()


def refuse(stream: Transport) -> None:
    """There is no such robot: the controller tries again every second, 50 times."""
    stream.write(Acknowledgement.FAILED.encode())
    stream.close()
