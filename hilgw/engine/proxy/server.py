"""The address where controllers connect to reach Webots through hilgw, for one or more robots.

And for each robot the controller's place in Webots, with the connection behind it.
"""

import asyncio
from collections.abc import Callable, Sequence

from hilgw.engine.control_loop.servers.webots_handshake import Handshake, WaitingLine
from hilgw.engine.control_loop.servers.webots_server import WebotsServer
from hilgw.engine.lines import Lines
from hilgw.engine.listening import Listening
from hilgw.engine.observer import State
from hilgw.engine.proxy.connection import FLUSH_S, READ_BYTES, WRITE_LIMIT_BYTES, ProxyConnection
from hilgw.engine.proxy.robot import ProxiedRobot
from hilgw.engine.supervisor import ObservedPort
from hilgw.errors import HilgwError, PeerError, PortError
from hilgw.protocols.webots.errors import ProtocolError
from hilgw.protocols.webots.handshake import Acknowledgement, decode_acknowledgement, encode_hello
from hilgw.reasons import RequestRefused
from hilgw.transports.base import Transport
from hilgw.transports.tcp.listener import ListenerLimits

# A controller in a debugger reads nothing for minutes.
LIMITS = ListenerLimits(write_bytes=WRITE_LIMIT_BYTES, silent_ms=0)
MOST_REPORTED = 100
STOP_S = 0.5  # for controllers to leave when the gateway ends


class ProxyServer(ObservedPort):
    """A proxy that listens on one address.

    robots: distinguished by the name in the controller's line, which may be missing when there is
    one.
    """

    def __init__(
        self,
        name: str,
        robots: Sequence[ProxiedRobot],
        listening: Listening,
        lines: Lines,
        *,
        where: str,
    ) -> None:
        super().__init__(name, lines, where)
        self._places = [ProxyPlace(each, lines, self._taken, self._refuse) for each in robots]
        self._server = WebotsServer(
            listening, lambda peer, _, text: self._refuse(peer, text), LIMITS
        )
        for place in self._places:
            self._server.add(place)
        self._connections: set[ProxyConnection] = set()
        self._reported: set[str] = set()

    async def run(self, on_up: Callable[[], None], *, is_needed: bool = True) -> None:
        self._enter(State.OPENING, self.where)
        try:
            await self._server.open(self.notify)
            self.was_up = True
            self._enter(State.WAITING, f"listening on {self._server.listening.where}")
            on_up()
            await asyncio.get_running_loop().create_future()
        finally:
            for place in self._places:
                self._server.remove(place)
            for place in self._places:
                place.all_left()
            await self._stop()
            self._enter(State.CLOSED, "")

    async def _stop(self) -> None:
        open_ones = list(self._connections)
        for connection in open_ones:
            connection.quit(PeerError("the gateway ends"))
        if open_ones:
            await asyncio.wait([each.ended for each in open_ones], timeout=STOP_S)
        for connection in open_ones:
            connection.controller_lost(PeerError("the gateway ends"))

    # --- controllers that come ------------------------------------------------------------------

    def _taken(
        self, handshake: Handshake, robot: ProxiedRobot, webots: Transport, early: bytes
    ) -> None:
        self.opened += 1
        request = handshake.take()
        stream = self._accepted(f"{robot.name}.controller", handshake.stream, request)
        if stream is None:
            webots.close()
            return
        connection = ProxyConnection(stream, webots, robot, self._ended)
        self._connections.add(connection)
        self.ups += 1
        there = f"Webots on {webots.name.removeprefix('socket://')}"
        self._enter(State.UP, f"{robot.world_name} from {handshake.peer}, {there}")
        connection.start(request, early)

    def _refuse(self, peer: str, text: str) -> None:
        """Report why a controller is refused, once for each reason: it tries again every second."""
        if text not in self._reported and len(self._reported) < MOST_REPORTED:
            self._reported.add(text)
            self.notify(f"{peer}: {text}")

    def _ended(self, connection: ProxyConnection, error: HilgwError) -> None:
        self._connections.discard(connection)
        self.last_error = error
        if not self._connections:
            self._enter(State.WAITING, f"{error.what}; listening on {self._server.listening.where}")


RETRY_S = 1.0


class ProxyPlace:
    """The place of a robot, which asks Webots for it as long as a controller waits for it.

    What Webots gives is for the controller that sends its first request, whichever of the line that
    is.

    on_taken: called with that one. on_refused: with who refuses or is refused, and why.
    """

    def __init__(
        self,
        robot: ProxiedRobot,
        lines: Lines,
        on_taken: Callable[[Handshake, ProxiedRobot, Transport, bytes], None],
        on_refused: Callable[[str, str], None],
    ) -> None:
        self.robot = robot.world_name
        self._proxied = robot
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
        """Return the answer of Webots as of a `Place`: None while Webots is asked."""
        if self._word is None and self._asking is None:
            hello = first.line
            if not first.name or first.token is not None:
                hello = encode_hello(self.robot)
            self._asking = self._loop.create_task(self._ask(hello))
        return self._word

    def take(self, handshake: Handshake) -> None:
        webots, early = self._webots, self._received
        assert webots is not None, "Webots has given the robot"
        self._webots = None
        self.all_left()
        self._on_taken(handshake, self._proxied, webots, early)

    def refuse(self, handshake: Handshake, word: Acknowledgement) -> None:
        if not handshake.has_asked:
            handshake.dismiss(word)
            return
        stream = handshake.stream
        handshake.write(self._proxied.new_session().cut())
        handshake.take()
        stream.start(lambda data: None, lambda error: stream.close())
        self._loop.call_later(FLUSH_S, stream.close)

    def turned_away(self, peer: str, reason: RequestRefused, text: str) -> None:
        """Report a refused controller, as of a `Place`."""
        self._on_refused(peer, text)

    def all_left(self) -> None:
        """Close the connection to Webots, which has its robot free again."""
        webots, self._webots = self._webots, None
        asking, self._asking = self._asking, None
        self._word, self._received = None, b""
        if asking is not None:
            asking.cancel()
        if webots is not None:
            webots.close()

    # --- Webots -------------------------------------------------------------------------------

    async def _ask(self, hello: bytes) -> None:
        robot = self._proxied
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
        """Refuse the controllers that wait, who try again as without the proxy."""
        self._on_refused(self.robot, str(error))
        self._word = word
        self.line.advance()
        self._asking = None  # this may run in it
        self.all_left()
        if self.line.first is not None:  # it has asked while Webots loads its world
            self._loop.call_later(RETRY_S, self.line.advance)
