"""Where Webots controllers connect: one address for the controllers of several robots, by name."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from hilgw.engine.control_loop.controller_port import ControllerPort
from hilgw.engine.control_loop.webots_socket import WebotsSocket
from hilgw.engine.observer import State
from hilgw.engine.simulated.event_loop import call_in_real_time, sleep_in_real_time
from hilgw.engine.supervisor import STALL_POLL_S
from hilgw.errors import HilgwError, PeerError, PortError
from hilgw.protocols.webots import Acknowledgement, ProtocolError, decode_hello, encode_name
from hilgw.reasons import RequestRefused
from hilgw.transports.tcp.listener import (
    MAX_CLIENTS,
    MAX_PER_ADDRESS,
    Listen,
    Listener,
    TcpListener,
)
from hilgw.transports.tcp.stream import TcpStream

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Callable

    from hilgw.engine.control_loop.peer_link import PeerLink
    from hilgw.engine.observer import Observer
    from hilgw.transports.base import Handle, Transport

HANDSHAKE_S = 2.0
# A line without a known name has no end: it is complete when nothing follows for so long.
SILENCE_S = 0.05
# For a controller that was told to quit: libController closes the connection itself.
FAREWELL_S = 1.0
# An answer may carry the packets of several full Receivers.
ANSWER_BYTES = 64 * 1024 * 1024
TOKEN = "?token="
INSTANCE = "hilgw"  # of the local sockets of robots that do not listen on TCP


class WebotsPort(ControllerPort):
    """The controller of one robot: at most one, on a server that it shares with other robots.

    robot: its name. server: None: no TCP. is_open: whether a controller may connect now; the
    others wait. local: a local socket too. on_listening is called with host and port.
    """

    def __init__(
        self,
        link: PeerLink[Any],
        robot: str,
        server: WebotsServer | None,
        observer: Observer,
        is_open: Callable[[], bool],
        *,
        where: str,
        local: bool = False,
    ) -> None:
        super().__init__(link, observer, where)
        self.robot = robot
        self.is_open = is_open
        self.on_listening: Callable[[str, int], None] | None = None
        self._server = server
        self._caller: Caller | None = None
        self._callers: set[Caller] = set()  # on the local socket
        self._is_lost = False
        self._local = WebotsSocket(robot, self._local_controller) if local else None
        self._held: Caller | None = None  # on the local socket, until the robot is open
        if server is not None:
            server.add(self)

    async def run(self) -> None:
        self._enter(State.OPENING, self.where)
        server, local = self._server, self._local
        try:
            if server is not None:
                await server.open()
            if local is not None:
                local.open(str(server.port) if server is not None else INSTANCE)
            addresses = [each.where for each in (server, local) if each is not None]
            self._begin(", ".join(addresses))
            if self.on_listening is not None and server is not None:
                self.on_listening(server.host, server.port)
            while True:
                await sleep_in_real_time(STALL_POLL_S)
                self._drop_when_stalled()
                self._admit_held()
        finally:
            self._drop(PeerError("the gateway ends"))
            self._stop_listening()
            self._enter(State.CLOSED, "")

    @property
    def is_taken(self) -> bool:
        return self._connection is not None

    def was_late(self) -> bool:
        """Whether the event loop was late: what comes now may have waited for it."""
        return self._link.was_late()

    def admit(self, caller: Caller) -> None:
        """The controller whose handshake is done."""
        self._caller = caller
        caller.on_data = self._link.data_received
        caller.on_lost = self._connection_lost
        self._link.session.local = caller.local
        self._attach(caller.stream, caller.peer)

    def refuse(self, reason: RequestRefused, text: str) -> None:
        """A connection was refused: counted and shown."""
        self._refuse(reason, text)

    def refuse_second(self, peer: str) -> None:
        """Another controller connects to a robot that has one."""
        text = f"{peer}: robot '{self.robot}' has a controller"
        self._refuse(RequestRefused.SECOND_CONTROLLER, text)

    # --- on the local socket, which has no handshake ------------------------------------------

    def _local_controller(self, connection: socket.socket) -> None:
        """Connected: it may have to wait for the answer to its first request."""
        stream = TcpStream(connection, "local socket", limit=ANSWER_BYTES)
        caller = Caller(stream, "this machine", self._callers, local=True)
        if self.is_taken or self._held is not None:
            self.refuse_second(caller.peer)
            # libController takes the end of the stream for a refusal only when it reads.
            caller.on_data = lambda data: caller.close()
            caller.expect(HANDSHAKE_S, caller.close)
            caller.start()
            return
        self._held = caller
        self._admit_held()

    def _admit_held(self) -> None:
        caller = self._held
        if caller is None or not self.is_open() or self.was_late():
            return
        self._held = None
        if self.is_taken:
            self.refuse_second(caller.peer)
            caller.close()
        else:
            caller.start()
            self.admit(caller)

    # --- the end ------------------------------------------------------------------------------

    def _connection_lost(self, caller: Caller, error: HilgwError) -> None:
        if self._caller is caller:
            self._is_lost = True
            self._drop(error)

    def _end_session(self) -> None:
        """Has the controller end: it does not notice that the connection is closed."""
        if not self._is_lost:
            self._link.call(self._link.session.quit, self._link.checked_now())

    def _close(self, stream: Transport, error: HilgwError) -> None:
        caller, self._caller = self._caller, None
        if caller is None:
            stream.close()
        elif self._is_lost:
            caller.close()
        else:
            caller.say_farewell()
        self._is_lost = False

    def _stop_listening(self) -> None:
        if self._local is not None:
            self._local.close()
        if self._server is not None:
            self._server.remove(self)
        for caller in [*self._callers, self._held]:
            if caller is not None:
                caller.close()
        self._held = None


class Caller:
    """One connection: during its handshake, then of a robot's port, then until the controller has
    closed it. local: on a local socket, which has no handshake."""

    def __init__(
        self, stream: Transport, peer: str, callers: set[Caller], *, local: bool = False
    ) -> None:
        """callers: it is one of them as long as its connection is open."""
        self.stream = stream
        self.peer = peer
        self.local = local
        self.on_data: Callable[[bytes], None] = _ignore
        self.on_lost: Callable[[Caller, HilgwError], None] = Caller._leave
        self._callers = callers
        self._loop = asyncio.get_running_loop()
        self._timer: Handle | None = None

        callers.add(self)

    def start(self) -> None:
        self.stream.start(lambda data: self.on_data(data), lambda error: self.on_lost(self, error))

    def dismiss(self, word: Acknowledgement | None) -> None:
        """Ends the handshake with this word."""
        if word is not None:
            self.write(word)
        self.close()

    def write(self, word: Acknowledgement) -> None:
        """In one write: libController reads it by one read."""
        try:
            self.stream.write(word.encode())
        except PortError:
            pass  # it is gone, which on_lost reports

    def say_farewell(self) -> None:
        """The controller was told to quit; it closes the connection, or is closed soon."""
        self.on_data, self.on_lost = _ignore, Caller._leave
        self.expect(FAREWELL_S, self.close)

    def close(self) -> None:
        self._callers.discard(self)
        self.expect_nothing()
        self.stream.close()

    def _leave(self, error: HilgwError) -> None:
        self.close()

    def expect(self, seconds: float, then: Callable[[], None]) -> None:
        """Calls it after so long, unless something else is expected before."""
        self.expect_nothing()
        self._timer = call_in_real_time(self._loop, seconds, then)

    def expect_nothing(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _ignore(data: bytes) -> None:
    """Of a controller that was told to quit."""


class WebotsServer:
    """Listens on one address, and connects each controller to the robot that it names.

    permits: whether the token in the name (rover?token=...) lets a controller command robots; None
    on a loopback address, where none is needed. any_port: it listens on any free port when the
    address is in use. new_listener: the kind of its listener.
    """

    def __init__(
        self,
        host: str,
        port: int,
        observer: Observer,
        *,
        permits: Callable[[str | None], bool] | None = None,
        tls: ssl.SSLContext | None = None,
        any_port: bool = False,
        new_listener: Listen = TcpListener,
    ) -> None:
        self.host = host
        self._ports: dict[str, WebotsPort] = {}  # by encoded name
        self._observer = observer
        self._permits = permits
        self._tls = tls
        self._any_port = any_port
        self._new_listener = new_listener
        self._number = port
        self._listener: Listener | None = None
        self._opening: asyncio.Future[None] | None = None
        self._polling: asyncio.TimerHandle | None = None
        self.callers: set[Caller] = set()  # all connections

    @property
    def where(self) -> str:
        return "" if self._listener is None else self._listener.where

    @property
    def port(self) -> int:
        return self._number if self._listener is None else self._listener.port

    def add(self, port: WebotsPort) -> None:
        self._ports[encode_name(port.robot)] = port

    def remove(self, port: WebotsPort) -> None:
        """The robot accepts no controller any more; the last one ends the server."""
        self._ports.pop(encode_name(port.robot), None)
        if self._ports:
            return
        if self._listener is not None:
            self._listener.close()
        if self._polling is not None:
            self._polling.cancel()
        for caller in list(self.callers):
            caller.close()

    async def open(self) -> None:
        """Listens; for all robots once. Raises PortError."""
        if self._opening is None:
            self._opening = asyncio.ensure_future(self._listen())
        await asyncio.shield(self._opening)

    async def _listen(self) -> None:
        try:
            await self._listen_on(self._number)
        except PortError as error:
            if not self._any_port or error.reason != PortError.BUSY:
                raise
            first = next(iter(self._ports.values()))
            self._observer.notice(first.supervised.name, f"{error}; listening on another port")
            await self._listen_on(0)
        self._poll()

    async def _listen_on(self, number: int) -> None:
        robots = len(self._ports)
        listener = self._new_listener(
            self.host,
            number,
            self._incoming,
            loopback_only=self._permits is None,
            max_clients=MAX_CLIENTS + robots,
            max_per_address=MAX_PER_ADDRESS + robots,
            limit=ANSWER_BYTES,
            tls=self._tls,
        )
        await listener.start()
        self._listener = listener

    def _poll(self) -> None:
        """Counts connections that the listener refused."""
        listener = self._listener
        if listener is None or not self._ports:
            return
        first = next(iter(self._ports.values()))
        if listener.refused:
            first.refuse(
                RequestRefused.TOO_MANY_CONNECTIONS, f"{listener.refused} more connections"
            )
            listener.refused = 0
        self._polling = asyncio.get_running_loop().call_later(STALL_POLL_S, self._poll)

    # --- connections that come in -------------------------------------------------------------

    def _incoming(self, stream: Transport, peer: str) -> None:
        caller = Caller(stream, peer, self.callers)
        line = bytearray()
        caller.on_data = lambda data: self._hello(caller, line, data)
        caller.expect(HANDSHAKE_S, caller.close)
        caller.start()

    def _hello(self, caller: Caller, line: bytearray, data: bytes) -> None:
        line += data
        try:
            name = decode_hello(bytes(line))
        except ProtocolError as error:
            self._reject(caller, error)
            return
        if name is None:
            return
        if self._knows(name):
            self._decide(caller, name)
        else:
            caller.expect(SILENCE_S, lambda: self._decide(caller, name))

    def _knows(self, name: str) -> bool:
        """Whether the line is complete: a robot has this name, and no robot a longer one that
        begins with it."""
        port, token = self._find(name)
        if port is None or (self._permits is not None and not self._permits(token)):
            return False
        longer = [known for known in self._ports if known != name and known.startswith(name)]
        return bool(name) and not longer

    def _find(self, name: str) -> tuple[WebotsPort | None, str | None]:
        """The robot of an encoded name, and the token in it. No name: the only robot."""
        robot, _, token = unquote(name).partition(TOKEN)
        if robot:
            port = self._ports.get(name) or self._ports.get(encode_name(robot))
        else:
            port = next(iter(self._ports.values())) if len(self._ports) == 1 else None
        return port, token or None

    def _decide(self, caller: Caller, name: str) -> None:
        """The handshake of a controller for the robot of this name."""
        first = next(iter(self._ports.values()), None)
        port, token = self._find(name)
        if first is None:
            caller.dismiss(Acknowledgement.FAILED)
        elif self._permits is not None and not self._permits(token):
            text = f"{caller.peer}: no token, or not one that may drive"
            (port or first).refuse(RequestRefused.NOT_PERMITTED, text)
            caller.dismiss(Acknowledgement.FORBIDDEN)
        elif port is None:
            first.refuse(RequestRefused.UNKNOWN_ROBOT, f"{caller.peer}: {self._robots(name)}")
            caller.dismiss(Acknowledgement.FAILED)
        elif port.was_late() or not (port.is_taken or port.is_open()):
            caller.dismiss(Acknowledgement.PROCESSING)
        elif port.is_taken:
            port.refuse_second(caller.peer)
            caller.dismiss(Acknowledgement.FORBIDDEN)
        else:
            caller.expect_nothing()
            caller.write(Acknowledgement.CONNECTED)
            port.admit(caller)

    def _robots(self, name: str) -> str:
        names = ", ".join(sorted(port.robot for port in self._ports.values()))
        robot = unquote(name).partition(TOKEN)[0]
        what = f"no robot '{robot:.100}' here" if robot else "names no robot"
        return f"{what}; robots: {names}"

    def _reject(self, caller: Caller, error: ProtocolError) -> None:
        """The peer is not a Webots controller."""
        first = next(iter(self._ports.values()), None)
        if first is not None:
            first.refuse(RequestRefused.NOT_A_CONTROLLER, f"{caller.peer}: {error.what}")
        caller.dismiss(None)
