"""The TCP server that the controller of a control loop connects to: one at a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from hilgw.engine.observer import State
from hilgw.engine.supervisor import STALL_POLL_S, STALL_S, PortStatus, StallDetector
from hilgw.errors import AdapterError, HilgwError, PeerError, PortError
from hilgw.reasons import RequestRefused
from hilgw.transports.tcp.listener import TcpListener
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


class TcpServer(PortStatus):
    """Listens on loopback addresses and keeps one connection attached to the peer link.

    The gateway runs it like a supervisor: `run` ends by cancellation, or with an error when it
    cannot listen on the address. any_port: it listens on any free port then; a mock of the peer
    gets that port from `on_listening`, which is called with host and port.
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
    ) -> None:
        super().__init__(link, observer, where)
        self.on_listening: Callable[[str, int], None] | None = None
        self._link = link
        self._host = host
        self._any_port = any_port
        self._listener = self._listen_on(port)
        self._connection: Transport | None = None
        self._peer = ""
        self._stall = StallDetector(STALL_S)

    @property
    def ready(self) -> bool:
        """A controller may connect."""
        return self.was_up

    async def run(self) -> None:
        self._enter(State.OPENING, self.where)
        try:
            await self._listen()
            self._enter(State.WAITING, f"listening on {self._listener.where}")
            self.was_up = True
            if self.on_up is not None:
                self.on_up()
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

    def _listen_on(self, port: int) -> TcpListener:
        return TcpListener(self._host, port, self._incoming, send_buffer_bytes=KERNEL_BYTES)

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
        self.opened += 1
        self._connection, self._peer = stream, peer
        self._stall = StallDetector(STALL_S)
        stream.start(self._link.data_received, lambda error: self._lost(stream, error))
        self._link.attach(stream)

    def _gives_way(self) -> bool:
        """Whether the present peer has answered nothing valid for too long."""
        return self._link.unanswered_ns() >= s_to_ns(HANDSHAKE_S)

    def _refuse(self, reason: RequestRefused, text: str) -> None:
        self._link.refused[reason] += 1
        self._observer.refused(self._link.name, reason, text)

    # --- the present connection ---------------------------------------------------------------

    def on_ready(self, identity: str) -> None:
        self.ups += 1
        self._enter(State.UP, f"{identity} from {self._peer}")

    def _lost(self, stream: Transport, error: HilgwError) -> None:
        if self._connection is stream:
            self._drop(error)

    def on_failed(self, error: HilgwError) -> None:
        """Called from within the peer link: closes the connection once that is done."""
        stream = self._connection
        if isinstance(error, AdapterError):
            self._faults += 1
        if stream is not None:
            asyncio.get_running_loop().call_soon(self._lost, stream, error)

    def disconnect(self, error: HilgwError) -> bool:
        """Stops the motors and closes the connection at once."""
        self._drop(error)
        return True

    def _drop(self, error: HilgwError) -> None:
        """Stops the motors, then closes the connection."""
        stream, self._connection = self._connection, None
        if stream is None:
            return
        self.last_error = error
        self._link.detach()
        stream.close()
        if self._may_restart(error):
            self._enter(State.WAITING, f"{error.what}; listening on {self._listener.where}")
        else:
            self._listener.close()

    def _poll(self) -> None:
        """Counts connections that the listener refused; drops a peer that takes no bytes."""
        refused = self._link.refused
        over = self._listener.refused - refused[RequestRefused.TOO_MANY_CONNECTIONS]
        if over:
            self._refuse(RequestRefused.TOO_MANY_CONNECTIONS, f"{over} more connections")
            refused[RequestRefused.TOO_MANY_CONNECTIONS] = self._listener.refused
        if self._connection is None:
            return
        now_s = asyncio.get_running_loop().time()
        error = self._stall.error(self._connection.pending, now_s)
        if error is not None:
            self._drop(error)
