"""The address where controllers connect to reach Webots through hilgw, and each connection.

And for each robot the controller's place in Webots, with the connection behind it.
"""

import asyncio
from collections.abc import Callable, Sequence

from hilgw.engine.control_loop.servers.webots_handshake import Handshake, WaitingLine
from hilgw.engine.control_loop.servers.webots_server import WebotsServer
from hilgw.engine.lines import Lines
from hilgw.engine.listening import Listening
from hilgw.engine.observer import State
from hilgw.engine.proxy.robot import ProxiedRobot
from hilgw.engine.supervisor import ObservedPort
from hilgw.engine.timing import event_expectation
from hilgw.errors import HilgwError, PeerError, PortError
from hilgw.protocols.webots.answers import LARGEST_ANSWER
from hilgw.protocols.webots.handshake import Acknowledgement, decode_acknowledgement, encode_hello
from hilgw.protocols.webots.requests import LARGEST_REQUEST
from hilgw.protocols.webots.wire import ProtocolError
from hilgw.reasons import RequestRefused
from hilgw.transports.base import Transport
from hilgw.transports.tcp.listener import ListenerLimits

READ_BYTES = 256 * 1024
# Beyond this, what one end does not take pauses the other: nothing is lost, memory is bounded.
PAUSE_BYTES = 1024 * 1024
# A request or a chunk of data is written as a whole.
WRITE_LIMIT_BYTES = max(LARGEST_ANSWER, LARGEST_REQUEST) + 2 * PAUSE_BYTES
# A controller that got QUIT may compute for a while before it reads that.
LAST_REQUEST_S = 10.0
FLUSH_S = 2.0


class ProxyConnection:
    """The connection of a controller to Webots, until one of both ends is gone.

    on_end: called once, with the reason.

    webots: has accepted the controller.
    """

    def __init__(
        self,
        controller: Transport,
        webots: Transport,
        robot: ProxiedRobot,
        on_end: "Callable[[ProxyConnection, HilgwError], None]",
    ) -> None:
        self.robot = robot
        self.ended = asyncio.get_running_loop().create_future()
        self.session = robot.new_session()
        self._loop = asyncio.get_running_loop()
        self._controller = controller
        self._webots = webots
        self._on_end = on_end
        self._expect_event = event_expectation(self._loop)
        self._quitting: HilgwError | None = None

    def start(self, request: bytes, early: bytes) -> None:
        """Start to pass bytes on.

        request: the first of the controller. early: what Webots has sent before it.
        """
        controller, webots = self._controller, self._webots
        self.robot.begin(self.session)
        webots.on_drained = controller.resume_reading
        controller.on_drained = webots.resume_reading
        controller.start(self.from_controller, self.end)
        webots.start(self._from_webots, lambda error: self.quit(PeerError(f"Webots: {error.what}")))
        self.from_controller(request)
        if early:
            self._from_webots(early)

    # --- bytes --------------------------------------------------------------------------------

    def from_controller(self, data: bytes) -> None:
        """Pass on bytes of the controller, behind its hello."""
        session = self.session
        if self.ended.done():
            return
        if self._quitting is not None:
            if answers := session.answer_last(data):
                self._to_controller(answers)
            if session.left:
                self.end(self._quitting)
            return
        try:
            passed, events = session.from_controller(data)
        except ProtocolError as error:
            self.quit(error)  # the controller harms itself only
            return
        if passed:
            self._to_webots(passed)
            self._expect_event()
        if events:
            self.robot.act(events)

    def _from_webots(self, data: bytes) -> None:
        if self.ended.done() or self._quitting is not None:
            return
        try:
            passed, events = self.session.from_webots(data)
        except ProtocolError as error:
            self.quit(error)
            return
        if passed:
            self._to_controller(passed)
            self._expect_event()
        if events:
            self.robot.act(events)

    def _to_webots(self, data: bytes) -> None:
        webots = self._webots
        try:
            webots.write(data)
        except PortError as error:
            self.quit(error)
            return
        if webots.pending > PAUSE_BYTES:
            self._controller.pause_reading()

    def _to_controller(self, data: bytes) -> None:
        try:
            self._controller.write(data)
        except PortError as error:
            self.end(error)
            return
        if self._controller.pending > PAUSE_BYTES:
            self._webots.pause_reading()

    # --- the end ------------------------------------------------------------------------------

    def quit(self, error: HilgwError) -> None:
        """End the controller in order.

        LibController spins for ever when a connection closes without QUIT.
        """
        session = self.session
        if self._quitting is not None or self.ended.done():
            return
        if session.left:
            self.end(error)
            return
        self._quitting = error
        self._close(self._webots)
        self._controller.on_drained = None
        self._controller.resume_reading()
        self.robot.end(session)
        self._to_controller(session.cut())
        self._loop.call_later(LAST_REQUEST_S, self.end, error)

    def end(self, error: HilgwError) -> None:
        """End the connection; what the controller has sent before reaches Webots."""
        if self.ended.done():
            return
        self.ended.set_result(None)
        self._close(self._webots)
        self._close(self._controller)
        self.robot.end(self.session)
        self._on_end(self, error)

    def _close(self, stream: Transport) -> None:
        if not stream.pending:
            stream.close()
            return
        stream.pause_reading()
        stream.on_drained = stream.close
        self._loop.call_later(FLUSH_S, stream.close)


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
            connection.end(PeerError("the gateway ends"))

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
        self._enter(
            State.UP,
            f"{robot.world_name} from {handshake.peer}, "
            f"Webots on {webots.name.removeprefix('socket://')}",
        )
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
