"""The TCP server that the controller of a control loop connects to: one at a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from hilgw.engine.control_loop.servers.controller_port import ControllerPort
from hilgw.engine.observer import State
from hilgw.engine.supervisor import STALL_POLL_S
from hilgw.errors import PeerError
from hilgw.reasons import RequestRefused
from hilgw.transports.tcp.listener import Limits
from hilgw.units import s_to_ns

if TYPE_CHECKING:
    from collections.abc import Callable

    from hilgw.engine.control_loop.peer_link import PeerLink
    from hilgw.engine.lines import Lines
    from hilgw.engine.listening import Listening
    from hilgw.transports.base import Transport

# A peer that has registrations, and has sent nothing valid for this time, gives way to the next one
# that connects.
HANDSHAKE_S = 2.0
# A small buffer, as values that wait in the kernel become old; a step of 255 sensors has 2.8 kB.
LIMITS = Limits(kernel_bytes=16384)


class TcpServer(ControllerPort):
    """Listens on loopback addresses and keeps one connection attached to the peer link."""

    def __init__(
        self, link: PeerLink[Any], listening: Listening, lines: Lines, *, where: str
    ) -> None:
        super().__init__(link, lines, where)
        self._listening = listening

    async def run(self, on_up: Callable[[], None]) -> None:
        self._enter(State.OPENING, self.where)
        try:
            await self._listening.open(self._incoming, LIMITS, self.notify)
            self._begin(self._listening.where, on_up)
            while True:
                await asyncio.sleep(STALL_POLL_S)
                self._poll()
        finally:
            self._listening.close()
            self._drop(PeerError("the gateway ends"))
            self._enter(State.CLOSED, "")

    def _stop_listening(self) -> None:
        self._listening.close()

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
        stream = self.lines.opened(self.name, stream)
        stream.start(self._link.data_received, lambda error: self._lost(stream, error))
        self._attach(stream, peer)

    def _gives_way(self) -> bool:
        """Whether the present peer has answered nothing valid for too long."""
        return self._link.unanswered_ns() >= s_to_ns(HANDSHAKE_S)

    def _poll(self) -> None:
        """Counts connections that the listener refused; drops a peer that takes no bytes."""
        if over := self._listening.take_refused():
            text = f"{over} more connections"
            self._refuse(RequestRefused.TOO_MANY_CONNECTIONS, text, over)
        self._drop_when_stalled()
