"""Servers to which Webots controllers connect.

One address for the controllers of several robots, by name, and the local socket of each robot. The
proxies use the same server.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from hilgw.engine.control_loop.servers.controller_port import ControllerPort
from hilgw.engine.control_loop.servers.webots_handshake import (
    HANDSHAKE_S,
    MOST_OF_ADDRESS,
    MOST_WAITING,
    Handshake,
    Place,
    WaitingLine,
)
from hilgw.engine.lines import Lines
from hilgw.engine.observer import State
from hilgw.engine.simulated.event_loop import call_in_real_time, real_time, sleep_in_real_time
from hilgw.engine.supervisor import STALL_POLL_S
from hilgw.errors import HilgwError, PeerError
from hilgw.protocols.webots.handshake import DEFAULT_PORT, Acknowledgement, Forbidden, encode_name
from hilgw.protocols.webots.requests import PAUSE_S
from hilgw.reasons import RequestRefused
from hilgw.transports.base import Handle, Transport
from hilgw.transports.tcp.listener import ListenerLimits
from hilgw.transports.tcp.stream import TcpStream

if TYPE_CHECKING:
    import socket

    from hilgw.engine.control_loop.peer_link import PeerLink
    from hilgw.engine.control_loop.servers.webots_socket import LocalSocket
    from hilgw.engine.control_socket.listener import ClientHandler
    from hilgw.engine.listening import Listening
    from hilgw.engine.processes.processes import Child

# A controller that was sent QUIT has this time to close the connection, as libController does.
QUIT_S = 1.0
# An answer may carry the packets of several full Receivers.
ANSWER_BYTES = 64 * 1024 * 1024
LIMITS = ListenerLimits(write_bytes=ANSWER_BYTES)


class Pause:
    """The time since the last step of a controller, as `is_long` sees it again and again."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._steps = -1
        self._since_s: float | None = None  # None: it waits for an answer, or was named

    def is_long(self, now_s: float, *, runs: bool) -> bool:
        """Once for each pause of PAUSE_S. runs: there is a controller."""
        steps = self._session.counts["steps"]
        if not runs or self._session.is_served or steps != self._steps:
            self._since_s = now_s
        self._steps = steps
        if self._since_s is None or now_s - self._since_s < PAUSE_S:
            return False
        self._since_s = None
        return True


@dataclass(frozen=True, slots=True)
class OwnController:
    """A controller that hilgw itself starts.

    on_listening is called with host and port, or with the path of the local socket where that is
    all. program: the process, None of a mock. mock_fix: of a mock, what lets another controller
    have the robot.
    """

    on_listening: Callable[[str, int], None]
    program: Child | None = None
    mock_fix: str = ""


class WebotsPort(ControllerPort):
    """The controller of one robot: at most one, on a server that it shares with other robots.

    robot: its name. server: None: no TCP. line: those that have named this robot, and wait until
    the control loop is complete. local: makes a local socket too. own: the controller that hilgw
    starts; None: a user does.
    """

    def __init__(
        self,
        link: PeerLink[Any],
        server: WebotsServer | None,
        lines: Lines,
        *,
        where: str,
        local: Callable[[str, ClientHandler], LocalSocket] | None = None,
        own: OwnController | None = None,
    ) -> None:
        super().__init__(link, lines, where)
        self.robot = robot = link.name.partition(".")[0]
        self.program = None if own is None else own.program
        self.mock_fix = "" if own is None else own.mock_fix
        self._on_listening = None if own is None else own.on_listening
        self._server = server
        self.line = WaitingLine(self)
        self._ending: dict[Transport, Handle] = {}  # until the controller closes them
        self._handshakes: set[Handshake] = set()  # on the local socket
        self._is_lost = False
        self._pause = Pause(link.session)
        self._local = None if local is None else local(robot, self._local_controller)
        if server is not None:
            server.add(self)

    async def run(self, on_up: Callable[[], None], *, is_needed: bool = True) -> None:
        self._enter(State.OPENING, self.where)
        server, local = self._server, self._local
        tcp = None if server is None else server.listening
        try:
            if server is not None:
                await server.open(self.notify)
            if local is not None:
                local.open(DEFAULT_PORT if tcp is None else tcp.port)
            self._begin(", ".join(each.where for each in (tcp, local) if each is not None), on_up)
            if self._on_listening is not None and tcp is not None:
                self._on_listening(tcp.host, tcp.port)
            elif self._on_listening is not None and local is not None:
                self._on_listening(local.where, 0)
            while True:
                await sleep_in_real_time(STALL_POLL_S)
                self._poll(tcp)
                self.line.advance()
                self._name_pause()
        finally:
            self._drop(PeerError("the gateway ends"))
            self._stop_listening()
            self._enter(State.CLOSED, "")

    def _name_pause(self) -> None:
        program, now_s = self.program, real_time(asyncio.get_running_loop())
        is_alone = program is not None and program.is_alive and self._link.listener.is_complete
        if self._pause.is_long(now_s, runs=self._connection is not None or is_alone):
            lack = "no Robot()" if self._connection is None else "not called robot.step"
            who = "the controller" if program is None else f"the program {self.where}"
            self.notify(f"{who} runs, and has {lack} for {PAUSE_S:g} s")

    # --- those that come ----------------------------------------------------------------------

    def word(self, first: Handshake) -> Acknowledgement | None:
        """Return the word, see `Place`.

        None: the event loop was late, and what comes now may have waited.
        """
        if self._link.was_late():
            return None
        if self._connection is not None:
            return Acknowledgement.FORBIDDEN
        return (
            Acknowledgement.CONNECTED
            if self._link.listener.is_complete
            else Acknowledgement.PROCESSING
        )

    def take(self, handshake: Handshake) -> None:
        first = handshake.take()
        stream = self._accepted(self.name, handshake.stream, first)
        if stream is None:
            return
        session = self._link.session
        session.local, session.image_files = handshake.local, {}
        if handshake.local and self._local is not None:
            try:
                session.image_files = self._local.place(session.images())
            except OSError as error:
                self.notify(f"cannot write the images of its cameras: {error}")
        stream.start(self._link.data_received, lambda error: self._connection_lost(stream, error))
        self._attach(stream, handshake.peer)
        self._link.data_received(first)

    def refuse(self, handshake: Handshake, word: Acknowledgement) -> None:
        """Refuse one: the robot has a controller, or no body yet."""
        if word is Acknowledgement.FORBIDDEN:
            text = f"{handshake.peer}: robot '{self.robot}' has a controller"
            text += f", a mock: {self.mock_fix}" if self.mock_fix else ""
            self.count(RequestRefused.SECOND_CONTROLLER, text)
        if not handshake.has_asked:
            is_mock = self.mock_fix and word is Acknowledgement.FORBIDDEN
            handshake.dismiss(word, Forbidden.MOCK if is_mock else None)
        elif handshake.local:  # libController takes the end of the stream for a refusal
            handshake.close()
        else:
            handshake.write(self._link.session.rejection())
            handshake.take()
            self._expect_end(handshake.stream)

    def all_left(self) -> None:
        return

    def turned_away(self, peer: str, reason: RequestRefused, text: str) -> None:
        self.count(reason, f"{peer}: {text}")

    def _local_controller(self, connection: socket.socket) -> None:
        stream = TcpStream(
            connection, "" if self._local is None else self._local.where, limit=ANSWER_BYTES
        )
        if len(self._handshakes) >= MOST_OF_ADDRESS:
            stream.close()
            self.count(RequestRefused.TOO_MANY_CONNECTIONS, "more connections on the local socket")
            return
        handshake = Handshake(
            stream,
            "this machine",
            self._handshakes,
            lambda each, *refusal: self.turned_away(each.peer, *refusal),
        )
        handshake.local = True
        self.line.join(handshake)

    # --- the end ------------------------------------------------------------------------------

    def _connection_lost(self, stream: Transport, error: HilgwError) -> None:
        if self._connection is stream:
            self._is_lost = True
            self._drop(error)

    def _end_session(self) -> None:
        """Have the controller end: it does not notice that the connection is closed."""
        if not self._is_lost:
            self._link.call(self._link.checked_now(), self._link.session.quit)

    def _close(self, stream: Transport, error: HilgwError) -> None:
        if self._is_lost:
            stream.close()
        else:
            self._expect_end(stream)
            if self.program is not None:
                self.program.quit_sent()
        self._is_lost = False

    def _expect_end(self, stream: Transport) -> None:
        """Expect the end of a controller that was sent QUIT.

        It closes the connection; otherwise hilgw does, a little later.
        """
        close = functools.partial(self._end, stream)
        stream.start(lambda data: None, lambda error: close())
        self._ending[stream] = call_in_real_time(asyncio.get_running_loop(), QUIT_S, close)

    def _end(self, stream: Transport) -> None:
        if timer := self._ending.pop(stream, None):
            timer.cancel()
        stream.close()

    def _stop_listening(self) -> None:
        if self._local is not None:
            self._local.close()
        if self._server is not None:
            self._server.remove(self)
        self.line.close()
        for handshake in list(self._handshakes):
            handshake.close()
        for stream in list(self._ending):
            self._end(stream)


class WebotsServer:
    """Listens on one address, and connects each controller to the robot that it names.

    The token in the name (rover?token=...) is checked where the address has a `check_token`.
    on_stranger: as `Place.turned_away`, for a peer that names none of its robots. limits: of one
    connection; how many it accepts depends on the robots.
    """

    def __init__(
        self,
        listening: Listening,
        on_stranger: Callable[[str, RequestRefused, str], None],
        limits: ListenerLimits = LIMITS,
    ) -> None:
        self.listening = listening
        self._on_stranger = on_stranger
        self._limits = limits
        self._places: dict[str, Place] = {}  # by encoded name
        self._opening: asyncio.Future[None] | None = None
        self._handshakes: set[Handshake] = set()

    def add(self, place: Place) -> None:
        self._places[encode_name(place.robot)] = place

    def remove(self, place: Place) -> None:
        """Accept no controller of the robot any more; the last one ends the server."""
        self._places.pop(encode_name(place.robot), None)
        if self._places:
            return
        if self._opening is not None:
            self._opening.cancel()  # else it listens later, when it is still under way
        self.listening.close()
        for handshake in list(self._handshakes):
            handshake.close()

    async def open(self, notify: Callable[[str], None]) -> None:
        """Listen once for all robots.

        Raises PortError. notify: as of `Listening.open`.
        """
        if self._opening is None:
            robots = len(self._places)
            limits = replace(
                self._limits,
                clients=MOST_WAITING + robots,
                per_address=MOST_OF_ADDRESS + robots,
                tls_handshake_s=HANDSHAKE_S,
            )
            self._opening = asyncio.ensure_future(
                self.listening.open(self._incoming, limits, notify)
            )
        await asyncio.shield(self._opening)

    # --- connections that come in -------------------------------------------------------------

    def _incoming(self, stream: Transport, peer: str) -> None:
        handshake = Handshake(stream, peer, self._handshakes, self._turned_away)
        handshake.read_line(self._places, self._decide)

    def _decide(self, handshake: Handshake) -> None:
        place, check = self._find(handshake.robot), self.listening.check_token
        reason = check(handshake.token, handshake.peer) if check is not None else None
        if check is not None and reason is not None:
            why = check.why(handshake.token, reason)
            self._turned_away(handshake, reason, why.text)
            handshake.dismiss(Acknowledgement.FORBIDDEN, why)
        elif place is None:
            names = ", ".join(sorted(each.robot for each in self._places.values()))
            problem = "names no robot"
            if handshake.robot:
                problem = f"no robot '{unquote(handshake.robot):.100}' here"
            self._turned_away(
                handshake, RequestRefused.UNKNOWN_ROBOT, f"{problem}; robots: {names}"
            )
            handshake.dismiss(Acknowledgement.FAILED, None if handshake.robot else names)
        else:
            place.line.join(handshake)

    def _find(self, name: str) -> Place | None:
        """Return the place of the robot with an encoded name.

        No name: of the only robot.
        """
        if name:
            return self._places.get(name)
        return next(iter(self._places.values())) if len(self._places) == 1 else None

    def _turned_away(self, handshake: Handshake, reason: RequestRefused, text: str) -> None:
        if (place := self._find(handshake.robot)) is not None:
            place.turned_away(handshake.peer, reason, text)
        else:
            self._on_stranger(handshake.peer, reason, text)
