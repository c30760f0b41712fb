"""The door of a loop whose controller comes in over TCP: one at a time, the others are told no."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from hilgw.engine.observer import State
from hilgw.engine.supervisor import FAULTS_ALLOWED, STALL_LOOK_S, STALL_S
from hilgw.errors import AdapterError, HilgwError, PeerError, PortError
from hilgw.transports.tcp.listener import TcpListener

if TYPE_CHECKING:
    from collections.abc import Callable

    from hilgw.engine.control_loop.peer_link import PeerLink
    from hilgw.engine.observer import Observer
    from hilgw.transports.base import Transport

# Who has said nothing for so long gives its place to the next one that comes.
HANDSHAKE_S = 2.0
# Values that wait in the kernel grow old there; a step of 255 sensors has 2.8 kB.
KERNEL_BYTES = 16384
SECOND = "second_controller"
TOO_MANY = "too_many_connections"


class TcpServer:
    """Listens on loopback addresses and keeps one connection attached to the side.

    To the gateway it is what a supervisor is to a port: `run` ends by cancellation, or with an
    error when the address cannot be had. any_port: then another port will do (a stand-in in place
    of the real peer finds it). on_listening: told host and port.
    """

    def __init__(
        self,
        side: PeerLink[Any],
        host: str,
        port: int,
        observer: Observer,
        *,
        place: str,
        any_port: bool = False,
    ) -> None:
        self.station = side
        self.place = place
        self.state = State.CLOSED
        self.reason = ""
        self.was_up = False
        self.opened = 0
        self.ups = 0
        self.last_error: HilgwError | None = None
        self.on_up: Callable[[], None] | None = None
        self.on_listening: Callable[[str, int], None] | None = None
        self._host = host
        self._any_port = any_port
        self._observer = observer
        self._listener = self._listen_on(port)
        self._owner: Transport | None = None
        self._peer = ""
        self._since_s = 0.0
        self._pending = 0
        self._stuck_s: float | None = None
        self._faults = 0
        side.on_ready = self._ready
        side.on_failed = self._failed
        side.hang_up = self._drop

    @property
    def ready(self) -> bool:
        """A controller may come in."""
        return self.was_up

    async def run(self) -> None:
        self._enter(State.OPENING, self.place)
        try:
            await self._listen()
            self._enter(State.WAITING, f"listening on {self._listener.where}")
            self.was_up = True
            if self.on_up is not None:
                self.on_up()
            if self.on_listening is not None:
                self.on_listening(self._host, self._listener.port)
            while True:
                await asyncio.sleep(STALL_LOOK_S)
                self._look()
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
            self._observer.notice(self.station.name, f"{error}; listening on another port")
            self._listener = self._listen_on(0)
            await self._listener.start()

    def _listen_on(self, port: int) -> TcpListener:
        return TcpListener(self._host, port, self._knocked, send_buffer_bytes=KERNEL_BYTES)

    # --- who may come in ----------------------------------------------------------------------

    def _knocked(self, stream: Transport, peer: str) -> None:
        if self.station.was_late():
            stream.close()  # it came while nobody looked; what it has sent is old
        else:
            # A turn later, as the owner may have left and nobody has read that yet.
            asyncio.get_running_loop().call_soon(self._accept, stream, peer)

    def _accept(self, stream: Transport, peer: str) -> None:
        if self._owner is not None and not self._gives_way():
            stream.close()
            self._refuse(SECOND, f"{peer}: {self._peer} is the controller, and there is one only")
            return
        self._drop(PeerError(f"{self._peer} has said nothing, and {peer} came"))
        self.opened += 1
        self._owner, self._peer = stream, peer
        self._since_s = asyncio.get_running_loop().time()
        self._stuck_s = None
        stream.start(self.station.data_received, lambda error: self._lost(stream, error))
        self.station.attach(stream)

    def _gives_way(self) -> bool:
        """Whether the one that is connected has not shown to be a controller, for too long."""
        waited_s = asyncio.get_running_loop().time() - self._since_s
        return not self.station.heard and waited_s >= HANDSHAKE_S

    def _refuse(self, reason: str, text: str) -> None:
        self.station.refused[reason] += 1
        self._observer.refused(self.station.name, reason, text)

    # --- the one that is in -------------------------------------------------------------------

    def _ready(self, identity: str) -> None:
        self.ups += 1
        self._enter(State.UP, f"{identity} from {self._peer}")

    def _lost(self, stream: Transport, error: HilgwError) -> None:
        if self._owner is stream:
            self._drop(error)

    def _failed(self, error: HilgwError) -> None:
        """Told from inside of what the side does: close when that is done."""
        owner = self._owner
        if isinstance(error, AdapterError):
            self._faults += 1
        if owner is not None:
            asyncio.get_running_loop().call_soon(self._lost, owner, error)

    def _drop(self, error: HilgwError) -> None:
        """The motors first, then the connection."""
        stream, self._owner = self._owner, None
        if stream is None:
            return
        self.last_error = error
        self.station.detach()
        stream.close()
        if self._faults > FAULTS_ALLOWED:
            self._listener.close()
            self._enter(State.FAILED, f"{error}; given up after {FAULTS_ALLOWED} restarts")
        else:
            self._enter(State.WAITING, f"{error.what}; listening on {self._listener.where}")

    def _look(self) -> None:
        """Now and then: connections the listener did not let in; a peer that takes no bytes."""
        refused = self.station.refused
        over = self._listener.refused - refused[TOO_MANY]
        if over:
            self._refuse(TOO_MANY, f"{over} more")
            refused[TOO_MANY] = self._listener.refused
        if self._owner is None:
            return
        now_s = asyncio.get_running_loop().time()
        last, self._pending = self._pending, self._owner.pending
        if not self._pending or self._pending < last:
            self._stuck_s = None
        elif self._stuck_s is None:
            self._stuck_s = now_s
        elif now_s - self._stuck_s >= STALL_S:
            self._drop(PeerError(f"takes no bytes for {STALL_S:g} s"))

    def _enter(self, state: State, reason: str) -> None:
        if (state, reason) != (self.state, self.reason):
            self.state, self.reason = state, reason
            self._observer.state(self.station.name, state, reason)
