"""The TCP server that the controller of a control loop connects to: one at a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from hilgw.engine.control_loop.servers.controller_port import ControllerPort
from hilgw.engine.observer import State
from hilgw.engine.supervisor import STALL_POLL_S
from hilgw.errors import PeerError, PortError
from hilgw.reasons import RequestRefused
from hilgw.transports.tcp.listener import Listen, Listener, TcpListener
from hilgw.units import s_to_ns

if TYPE_CHECKING:
    from collections.abc import Callable

    from hilgw.engine.control_loop.peer_link import PeerLink
    from hilgw.engine.observer import Observer
    from hilgw.transports.base import Transport

# A peer that has registrations, and sent nothing valid for so long, gives way to the next one that
# connects.
HANDSHAKE_S = 2.0
# Small, as values that wait in the kernel become old; a step of 255 sensors has 2.8 kB.
KERNEL_BYTES = 16384


class TcpServer(ControllerPort):
    """Listens on loopback addresses and keeps one connection attached to the peer link.

    The gateway runs it like a supervisor: `run` ends by cancellation, or with an error when it
    cannot listen on the address. any_port: it listens on any free port then; a mock of the peer
    gets that port from `on_listening`, which is called with host and port. new_listener: the kind
    of its listener.
    """

    def __init__(
        self,
        link: PeerLink[Any],
        host: str,
        port: int,
        observer: Observer,
        *,
        where: str,
        any_port: bool = False,
        new_listener: Listen = TcpListener,
    ) -> None:
        super().__init__(link, observer, where)
        self.on_listening: Callable[[str, int], None] | None = None
        self._host = host
        self._any_port = any_port
        self._new_listener = new_listener
        self._listener = self._listen_on(port)

    async def run(self) -> None:
        self._enter(State.OPENING, self.where)
        try:
            await self._listen()
            self._begin(self._listener.where)
            if self.on_listening is not None:
                self.on_listening(self._host, self._listener.port)
            while True:
                await asyncio.sleep(STALL_POLL_S)
                self._poll()
        finally:
            self._listener.close()
            self._drop(PeerError("the gateway ends"))
            self._enter(State.CLOSED, "")

    async def _listen(self) -> None:
        try:
            await self._listener.start()
        except PortError as error:
            if not self._any_port or error.reason != PortError.BUSY:
                raise
            self._observer.notice(self._link.name, f"{error}; listening on another port")
            self._listener = self._listen_on(0)
            await self._listener.start()

    def _listen_on(self, port: int) -> Listener:
        return self._new_listener(self._host, port, self._incoming, send_buffer_bytes=KERNEL_BYTES)

    def _stop_listening(self) -> None:
        self._listener.close()

    # --- connections that come in -------------------------------------------------------------

    def _incoming(self, stream: Transport, peer: str) -> None:
        if self._link.was_late():
            stream.close()  # it came while the event loop was late: what it has sent is old
        else:
            # One turn later: the present peer may have left, and that is not yet read.
            asyncio.get_running_loop().call_soon(self._accept, stream, peer)

    def _accept(self, stream: Transport, peer: str) -> None:
        if self._connection is not None and not self._gives_way():
            stream.close()
            self._refuse(
                RequestRefused.SECOND_CONTROLLER,
                f"{peer}: {self._peer} is the controller, and only one may connect",
            )
            return
        self._drop(PeerError(f"{self._peer} sent no valid message, and {peer} connected"))
        stream.start(self._link.data_received, lambda error: self._lost(stream, error))
        self._attach(stream, peer)

    def _gives_way(self) -> bool:
        """Whether the present peer has answered nothing valid for too long."""
        return self._link.unanswered_ns() >= s_to_ns(HANDSHAKE_S)

    def _poll(self) -> None:
        """Counts connections that the listener refused; drops a peer that takes no bytes."""
        refused = self._link.refused
        over = self._listener.refused - refused[RequestRefused.TOO_MANY_CONNECTIONS]
        if over:
            text = f"{over} more connections"
            self._refuse(RequestRefused.TOO_MANY_CONNECTIONS, text, over)
        self._drop_when_stalled()
