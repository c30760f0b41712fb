"""Where Webots controllers connect: one address for the controllers of several robots, by name."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import unquote

from hilgw.engine.control_loop.servers.webots_port import ANSWER_BYTES, Caller, WebotsPort
from hilgw.engine.supervisor import STALL_POLL_S
from hilgw.engine.webots_handshake import Handshake
from hilgw.errors import PortError
from hilgw.protocols.webots import Acknowledgement, ProtocolError, encode_name
from hilgw.reasons import RequestRefused
from hilgw.transports.tcp.listener import (
    MAX_CLIENTS,
    MAX_PER_ADDRESS,
    Listen,
    Listener,
    TcpListener,
)

if TYPE_CHECKING:
    import ssl

    from hilgw.engine.observer import Observer
    from hilgw.engine.webots_handshake import TokenCheck
    from hilgw.transports.base import Transport


class WebotsServer:
    """Listens on one address, and connects each controller to the robot that it names.

    check_token: why the token in the name (rover?token=...) lets a controller command no robot;
    None on a loopback address, where none is needed. any_port: it listens on any free port when the
    address is in use. new_listener: the kind of its listener.
    """

    def __init__(
        self,
        host: str,
        port: int,
        observer: Observer,
        *,
        check_token: TokenCheck | None = None,
        tls: ssl.SSLContext | None = None,
        any_port: bool = False,
        new_listener: Listen = TcpListener,
    ) -> None:
        self.host = host
        self._ports: dict[str, WebotsPort] = {}  # by encoded name
        self._observer = observer
        self._check_token = check_token
        self._tls = tls
        self._any_port = any_port
        self._new_listener = new_listener
        self._number = port
        self._listener: Listener | None = None
        self._opening: asyncio.Future[None] | None = None
        self._polling: asyncio.TimerHandle | None = None
        self._handshakes: set[Handshake] = set()
        self.callers: set[Caller] = set()  # all connections after their handshake

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
        for handshake in list(self._handshakes):
            handshake.close()
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
            loopback_only=self._check_token is None,
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
        Handshake(stream, peer, self._ports, self._handshakes, self._decide, self._reject)

    def _decide(self, handshake: Handshake) -> None:
        """The word for a controller; it has the robot that it names, or is gone."""
        first = next(iter(self._ports.values()), None)
        if first is None:
            handshake.dismiss(Acknowledgement.FAILED)
            return
        port, peer = self._find(handshake.robot), handshake.peer
        if self._check_token is not None:
            reason = self._check_token(handshake.token, peer)
            if reason is not None:
                (port or first).refuse(reason, f"{peer}: {reason.doc}")
                handshake.dismiss(Acknowledgement.FORBIDDEN)
                return
        if port is None:
            text = f"{peer}: {self._robots(handshake.robot)}"
            first.refuse(RequestRefused.UNKNOWN_ROBOT, text)
            handshake.dismiss(Acknowledgement.FAILED)
        elif port.was_late() or not (port.is_taken or port.is_open()):
            handshake.dismiss(Acknowledgement.PROCESSING)
        elif port.is_taken:
            port.refuse_second(peer)
            handshake.dismiss(Acknowledgement.FORBIDDEN)
        else:
            handshake.answer(Acknowledgement.CONNECTED)
            port.admit(Caller(handshake.stream, peer, self.callers))

    def _find(self, robot: str) -> WebotsPort | None:
        """The robot of an encoded name. No name: the only robot."""
        if robot:
            return self._ports.get(robot)
        return next(iter(self._ports.values())) if len(self._ports) == 1 else None

    def _robots(self, robot: str) -> str:
        names = ", ".join(sorted(port.robot for port in self._ports.values()))
        what = f"no robot '{unquote(robot):.100}' here" if robot else "names no robot"
        return f"{what}; robots: {names}"

    def _reject(self, handshake: Handshake, error: ProtocolError) -> None:
        """The peer is not a Webots controller."""
        first = next(iter(self._ports.values()), None)
        if first is not None:
            first.refuse(RequestRefused.NOT_A_CONTROLLER, f"{handshake.peer}: {error.what}")
