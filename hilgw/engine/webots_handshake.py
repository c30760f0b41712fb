"""The handshake of a Webots controller on TCP: the line that names its robot, and Webots' word.

The line may carry a token behind the name, as in rover?token=...; libController encodes both.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from hilgw.engine.simulated.event_loop import call_in_real_time
from hilgw.errors import PortError
from hilgw.protocols.webots import Acknowledgement, ProtocolError, decode_hello

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from hilgw.reasons import RequestRefused
    from hilgw.transports.base import Handle, Transport

    # The token of a connection and the address of its peer -> why they may not command robots.
    TokenCheck = Callable[[str | None, str], RequestRefused | None]

# A connection that names no robot for so long is closed.
HANDSHAKE_S = 2.0
# A line has no end: it is complete when it names a robot, or when nothing follows for so long.
SILENCE_S = 0.05
TOKEN = re.compile("%3[Ff]token%3[Dd]")  # ?token=, as libController encodes it


class Handshake:
    """Reads the line of one controller, then calls on_line(handshake) once.

    names: those of the robots, encoded; a line with one of them is complete at once. open_ones: the
    handshake is one of them until it ends. on_garbage: called when the bytes were no such line.
    """

    def __init__(
        self,
        stream: Transport,
        peer: str,
        names: Collection[str],
        open_ones: set[Handshake],
        on_line: Callable[[Handshake], None],
        on_garbage: Callable[[Handshake, ProtocolError], None],
    ) -> None:
        self.stream = stream
        self.peer = peer
        self.line = b""
        self.name = ""
        self._names = names
        self._open_ones = open_ones
        self._on_line = on_line
        self._on_garbage = on_garbage
        self._loop = asyncio.get_running_loop()
        self._timer: Handle = call_in_real_time(self._loop, HANDSHAKE_S, self.close)
        open_ones.add(self)
        stream.start(self._received, lambda error: self.close())

    @property
    def robot(self) -> str:
        """The encoded name without a token; "" when the line has none."""
        return TOKEN.split(self.name, 1)[0]

    @property
    def token(self) -> str | None:
        """What is behind ?token= in the name."""
        found = TOKEN.split(self.name, 1)[1:]
        return unquote(found[0]) if found else None

    def answer(self, word: Acknowledgement) -> None:
        """In one write: libController reads the word by one read."""
        try:
            self.stream.write(word.encode())
        except PortError:
            pass  # it is gone, which on_lost reports

    def dismiss(self, word: Acknowledgement) -> None:
        """Ends the connection with this word."""
        self.answer(word)
        self.close()

    def close(self) -> None:
        """Ends the connection."""
        self._end()
        self.stream.close()

    def _received(self, data: bytes) -> None:
        self.line += data
        try:
            name = decode_hello(self.line)
        except ProtocolError as error:
            self._on_garbage(self, error)
            self.close()
            return
        if name is None:
            return
        self.name = name
        if self._is_complete():
            self._done()
        else:
            self._timer.cancel()
            self._timer = call_in_real_time(self._loop, SILENCE_S, self._done)

    def _is_complete(self) -> bool:
        """Whether a robot has this name, and no robot a longer one that begins with it."""
        name = self.name
        longer = (each for each in self._names if each != name and each.startswith(name))
        return name in self._names and not any(longer)

    def _done(self) -> None:
        self._end()
        self._on_line(self)

    def _end(self) -> None:
        self._open_ones.discard(self)
        self._timer.cancel()
