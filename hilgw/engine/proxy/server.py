"""The address where controllers connect to reach Webots through hilgw: one or more robots."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hilgw.engine.control_loop.servers.webots_handshake import HANDSHAKE_S, Handshake
from hilgw.engine.observer import State
from hilgw.engine.proxy.connection import WRITE_LIMIT_BYTES, ProxyConnection
from hilgw.engine.proxy.place import ProxyPlace
from hilgw.engine.supervisor import PortListener, PortStatus, Unsupervised
from hilgw.engine.waiting_line import MOST_OF_ADDRESS, MOST_WAITING
from hilgw.errors import PeerError, PortError
from hilgw.protocols.webots.handshake import Acknowledgement
from hilgw.transports.tcp.address import format_address
from hilgw.transports.tcp.listener import TcpListener

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Sequence

    from hilgw.engine.control_loop.servers.webots_handshake import TokenCheck
    from hilgw.engine.observer import Observer
    from hilgw.engine.proxy.robot import ProxiedRobot
    from hilgw.errors import HilgwError
    from hilgw.transports.base import Transport

MOST_REPORTED = 100
STOP_S = 0.5  # for controllers to say goodbye when the gateway ends
USER_TIMEOUT_MS = 0  # a controller in a debugger reads nothing for minutes


class _Place:
    """What a `PortStatus` reports about."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.identity = ""
        self.supervisor: PortListener = Unsupervised()

    def attach(self, transport: Transport) -> None:
        return

    def detach(self) -> None:
        return

    def data_received(self, data: bytes) -> None:
        return


class ProxyServer(PortStatus):
    """Listens on one address. `run` ends by cancellation, or with an error when it cannot.

    robots: told apart by the name in the controller's line, which may be missing when there is
    one. check_token: why the token in the line lets a controller command no robot; None: a
    loopback address, where none is needed. any_port: listens on any free port when that one is
    busy; on_listening gets host and port. prepare: awaited before it listens.
    """

    def __init__(
        self,
        name: str,
        robots: Sequence[ProxiedRobot],
        address: tuple[str, int],
        observer: Observer,
        *,
        where: str,
        any_port: bool = False,
        check_token: TokenCheck | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(_Place(name), observer, where)
        self.on_listening: Callable[[str, int], None] | None = None
        self.prepare: Callable[[], Awaitable[None]] | None = None
        refused = lambda robot, error: self._refuse(robot.world_name, str(error))  # noqa: E731
        self._places = {
            robot.encoded_name: ProxyPlace(robot, self._taken, refused) for robot in robots
        }
        self._host, port = address
        self._any_port = any_port
        self._check_token = check_token
        self._tls = tls
        self._handshakes: set[Handshake] = set()
        self._listener = self._listen_on(port)
        self._connections: set[ProxyConnection] = set()
        self._reported: set[str] = set()

    @property
    def ready(self) -> bool:
        """A controller may connect."""
        return self.was_up

    async def run(self) -> None:
        self._enter(State.OPENING, self.where)
        try:
            if self.prepare is not None:
                await self.prepare()
            await self._listen()
            self.was_up = True
            self._wait()
            if self.on_up is not None:
                self.on_up()
            if self.on_listening is not None:
                self.on_listening(self._host, self._listener.port)
            await asyncio.get_running_loop().create_future()
        finally:
            self._listener.close()
            for handshake in list(self._handshakes):
                handshake.close()
            for place in self._places.values():
                place.unwanted()
            await self._stop()
            self._enter(State.CLOSED, "")

    async def _listen(self) -> None:
        try:
            await self._listener.start()
        except PortError as error:
            if not self._any_port or error.reason != PortError.BUSY:
                raise
            self._observer.notice(self.supervised.name, f"{error}; listening on another port")
            self._listener = self._listen_on(0)
            await self._listener.start()

    def _listen_on(self, port: int) -> TcpListener:
        return TcpListener(
            self._host,
            port,
            self._incoming,
            loopback_only=self._check_token is None,
            tls=self._tls,
            tls_handshake_s=HANDSHAKE_S,
            max_clients=MOST_WAITING + len(self._places),
            max_per_address=MOST_OF_ADDRESS + len(self._places),
            limit=WRITE_LIMIT_BYTES,
            user_timeout_ms=USER_TIMEOUT_MS,
        )

    def _wait(self) -> None:
        self._enter(State.WAITING, f"listening on {self._listener.where}")

    async def _stop(self) -> None:
        """QUIT to every controller; those that need longer to leave find it in their socket."""
        open_ones = list(self._connections)
        for connection in open_ones:
            connection.quit(PeerError("the gateway ends"))
        if open_ones:
            await asyncio.wait([each.ended for each in open_ones], timeout=STOP_S)
        for connection in open_ones:
            connection.controller_lost(PeerError("the gateway ends"))

    # --- controllers that come ------------------------------------------------------------------

    def _incoming(self, stream: Transport, peer: str) -> None:
        refused = lambda _, reason, text: self._refuse(peer, text)  # noqa: E731
        handshake = Handshake(stream, peer, self._handshakes, refused)
        handshake.read_line(self._places, self._greeted)

    def _greeted(self, handshake: Handshake) -> None:
        """It waits for the robot that it names, or is gone."""
        name, peer, check = handshake.robot, handshake.peer, self._check_token
        reason = check(handshake.token, peer) if check is not None else None
        if check is not None and reason is not None:
            why = check.why(handshake.token, reason)
            self._refuse(peer.rpartition(":")[0], why.text)
            handshake.dismiss(Acknowledgement.FORBIDDEN, why)
            return
        place = self._places.get(name)
        if place is None and not name and len(self._places) == 1:
            (place,) = self._places.values()
        if place is None:
            known = ", ".join(each.robot.world_name for each in self._places.values())
            self._refuse(peer, f"no robot '{name:.100}' here; robots: {known}")
            handshake.dismiss(Acknowledgement.FAILED)
            return
        self.opened += 1
        place.line.join(handshake)

    def _taken(
        self, handshake: Handshake, robot: ProxiedRobot, webots: Transport, early: bytes
    ) -> None:
        """The controller has the robot."""
        request = handshake.take()
        connection = ProxyConnection(handshake.stream, webots, robot, self._ended)
        self._connections.add(connection)
        self.ups += 1
        there = format_address(robot.host, robot.port)
        self._enter(State.UP, f"{robot.world_name} from {handshake.peer}, Webots on {there}")
        connection.start(request, early)

    def _refuse(self, peer: str, text: str) -> None:
        """A controller tries again every second: one line for each reason."""
        if text not in self._reported and len(self._reported) < MOST_REPORTED:
            self._reported.add(text)
            self._observer.notice(self.supervised.name, f"{peer}: {text}")

    def _ended(self, connection: ProxyConnection, error: HilgwError) -> None:
        self._connections.discard(connection)
        self.last_error = error
        if not self._connections:
            self._enter(State.WAITING, f"{error.what}; listening on {self._listener.where}")
