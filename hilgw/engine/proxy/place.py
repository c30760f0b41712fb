"""The controller's place of a robot in Webots: Webots' word, and the connection behind it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hilgw.engine.proxy.connection import FLUSH_S, READ_BYTES
from hilgw.engine.waiting_line import WaitingLine
from hilgw.errors import PeerError, PortError
from hilgw.protocols.webots.errors import ProtocolError
from hilgw.protocols.webots.handshake import Acknowledgement, decode_acknowledgement, encode_hello

if TYPE_CHECKING:
    from collections.abc import Callable

    from hilgw.engine.control_loop.servers.webots_handshake import Handshake
    from hilgw.engine.lines import Lines
    from hilgw.engine.proxy.robot import ProxiedRobot
    from hilgw.errors import HilgwError
    from hilgw.transports.base import Transport

    # The handshake of the controller, Webots, and what Webots has sent behind its word.
    OnTaken = Callable[[Handshake, ProxiedRobot, Transport, bytes], None]

RETRY_S = 1.0


class ProxyPlace:
    """Asks Webots for the robot as long as a controller waits for it. What Webots gives is for the
    controller that sends its first request, whichever of the line that is.

    on_taken: called with that one. on_refused: with the reason when Webots does not give the robot.
    """

    def __init__(
        self,
        robot: ProxiedRobot,
        lines: Lines,
        on_taken: OnTaken,
        on_refused: Callable[[ProxiedRobot, HilgwError], None],
    ) -> None:
        self.robot = robot
        self.line = WaitingLine(self)
        self._lines = lines
        self._on_taken = on_taken
        self._on_refused = on_refused
        self._loop = asyncio.get_running_loop()
        self._word: Acknowledgement | None = None
        self._webots: Transport | None = None
        self._received = b""  # of Webots: its word, then what follows it
        self._asking: asyncio.Task[None] | None = None

    def word(self, first: Handshake) -> Acknowledgement | None:
        """As of a `Place`: None while Webots is asked."""
        if self._word is None and self._asking is None:
            hello = first.line
            if not first.name or first.token is not None:
                hello = encode_hello(self.robot.world_name)
            self._asking = self._loop.create_task(self._ask(hello))
        return self._word

    def take(self, handshake: Handshake) -> None:
        webots, early = self._webots, self._received
        assert webots is not None, "Webots has given the robot"
        self._webots = None
        self.all_left()
        self._on_taken(handshake, self.robot, webots, early)

    def refuse(self, handshake: Handshake, word: Acknowledgement) -> None:
        if not handshake.has_asked:
            handshake.dismiss(word)
            return
        stream = handshake.stream
        handshake.write(self.robot.new_session().cut())
        handshake.take()
        stream.start(lambda data: None, lambda error: stream.close())
        self._loop.call_later(FLUSH_S, stream.close)

    def all_left(self) -> None:
        """Webots has its robot free again."""
        webots, self._webots = self._webots, None
        asking, self._asking = self._asking, None
        self._word, self._received = None, b""
        if asking is not None:
            asking.cancel()
        if webots is not None:
            webots.close()

    # --- Webots -------------------------------------------------------------------------------

    async def _ask(self, hello: bytes) -> None:
        robot = self.robot
        try:
            webots = self._lines.opened(f"{robot.name}.webots", await robot.connect())
            webots.read_bytes = READ_BYTES
            self._webots = webots
            webots.start(self._from_webots, self._refused)
            webots.write(hello)
        except PortError as error:
            self._refused(error)

    def _from_webots(self, data: bytes) -> None:
        self._received += data
        if self._word is not None:
            return
        word = next((w for w in Acknowledgement if self._received.startswith(w.encode())), None)
        if word is None:
            try:
                decode_acknowledgement(self._received)
            except ProtocolError as error:
                self._refused(error)
        elif word is Acknowledgement.CONNECTED:
            self._word, self._received = word, self._received[len(word) :]
            self.line.advance()
        else:
            self._refused(PeerError(f"Webots answers {word}"), word)

    def _refused(self, error: HilgwError, word: Acknowledgement = Acknowledgement.FAILED) -> None:
        """Those who wait try again, as without the proxy."""
        self._on_refused(self.robot, error)
        self._word = word
        self.line.advance()
        self._asking = None  # this may run in it
        self.all_left()
        if self.line.first is not None:  # it has asked while Webots loads its world
            self._loop.call_later(RETRY_S, self.line.advance)
