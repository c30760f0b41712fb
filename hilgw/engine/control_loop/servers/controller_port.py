"""The controller's end of a control loop where hilgw is the server: one connection at a time.

`TcpServer` is the one for a controller that connects to an address of its own.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hilgw.engine.lines import STALL_S, Lines
from hilgw.engine.observer import State
from hilgw.engine.supervisor import STALL_POLL_S, AttachedPort, StallDetector
from hilgw.errors import AdapterError, HilgwError, PeerError
from hilgw.reasons import RequestReason, RequestRefused
from hilgw.transports.base import Transport
from hilgw.transports.tcp.listener import ListenerLimits
from hilgw.units import s_to_ns

if TYPE_CHECKING:
    from hilgw.engine.control_loop.peer_link import PeerLink
    from hilgw.engine.listening import Listening


class ControllerPort(AttachedPort, ABC):
    """Keeps the connection that a server accepted attached to the peer link, and ends it.

    listening: the address where a controller may connect; empty before.
    """

    def __init__(self, link: PeerLink[Any], lines: Lines, where: str) -> None:
        super().__init__(link, lines, where)
        self._link = link
        self.listening = ""
        self._connection: Transport | None = None
        self._peer = ""
        self._stall = StallDetector(STALL_S)

    @property
    def peer(self) -> str:
        return "" if self._connection is None else self._connection.name

    @property
    def advice(self) -> str:
        return f"start one; hilgw is listening on {self.listening}"

    def _begin(self, listening: str, on_up: Callable[[], None]) -> None:
        self.listening = listening
        self._enter(State.WAITING, f"listening on {listening}")
        self.was_up = True
        on_up()

    def count(self, reason: RequestReason, text: str, number: int = 1) -> None:
        """Count and show connections that were refused."""
        self._link.refused[reason] += number
        self._observer.refused(self._link.name, reason, text)

    def _attach(self, stream: Transport, peer: str) -> None:
        """Attach the next controller; there is none at present.

        stream: as `_accepted` returned it.
        """
        self.opened += 1
        self._connection, self._peer = stream, peer
        self._stall = StallDetector(STALL_S)
        self._link.attach(stream)

    def on_ready(self, identity: str) -> None:
        self.ups += 1
        self._enter(State.UP, f"{identity} from {self._peer}")

    def _lost(self, stream: Transport, error: HilgwError) -> None:
        if self._connection is stream:
            self._drop(error)

    def on_failed(self, error: HilgwError) -> None:
        """Disconnect from within the peer link: closes the connection once that is done."""
        stream = self._connection
        if isinstance(error, AdapterError):
            self._faults += 1
        if stream is not None:
            asyncio.get_running_loop().call_soon(self._lost, stream, error)

    def disconnect(self, error: HilgwError) -> bool:
        self._drop(error)
        return True

    def _drop(self, error: HilgwError) -> None:
        stream, self._connection = self._connection, None
        if stream is None:
            return
        self.last_error = error
        self._end_session()
        self._link.detach()
        self._close(stream, error)
        if self._may_restart(error):
            self._enter(State.WAITING, f"{error.what}; listening on {self.listening}")
        else:
            self._stop_listening()

    def _end_session(self) -> None:
        """Write the last bytes to the controller."""

    def _close(self, stream: Transport, error: HilgwError) -> None:
        stream.close()

    @abstractmethod
    def _stop_listening(self) -> None:
        """Accept no further controller: the session raised too often."""

    def _poll(self, listening: Listening | None) -> None:
        over, failed, why = (0, 0, "") if listening is None else listening.take_refused()
        if over:
            self.count(RequestRefused.TOO_MANY_CONNECTIONS, f"{over} more connections", over)
        if failed:
            self.count(RequestRefused.NOT_SECURED, f"TLS: {why}", failed)
        if self._connection is None:
            return
        now_s = asyncio.get_running_loop().time()
        error = self._stall.error(self.passed.sent, self._connection.pending, now_s)
        if error is not None:
            self._drop(error)


# A peer that has registrations, and has sent nothing valid for this time, gives way to the next one
# that connects.
HANDSHAKE_S = 2.0
# A small buffer, as values that wait in the kernel become old; a step of 255 sensors has 2.8 kB.
LIMITS = ListenerLimits(kernel_bytes=16384)


class TcpServer(ControllerPort):
    """Listens on loopback addresses and keeps one connection attached to the peer link."""

    def __init__(
        self, link: PeerLink[Any], listening: Listening, lines: Lines, *, where: str
    ) -> None:
        super().__init__(link, lines, where)
        self._listening = listening

    async def run(self, on_up: Callable[[], None], *, is_needed: bool = True) -> None:
        self._enter(State.OPENING, self.where)
        try:
            await self._listening.open(self._incoming, LIMITS, self.notify)
            self._begin(self._listening.where, on_up)
            while True:
                await asyncio.sleep(STALL_POLL_S)
                self._poll(self._listening)
        finally:
            self._listening.close()
            self._drop(PeerError("the gateway ends"))
            self._enter(State.CLOSED, "")

    def _stop_listening(self) -> None:
        self._listening.close()

    # --- connections that come in -------------------------------------------------------------

    def _incoming(self, stream: Transport, peer: str) -> None:
        if self._link.was_late() and stream.in_waiting:
            stream.close()  # it came while the event loop was late: what it has sent is old
            self.notify(f"{peer} closed: it sent while the gateway was late; connect again")
        else:
            # One turn later: the present peer may have left, and that is not yet read.
            asyncio.get_running_loop().call_soon(self._accept, stream, peer)

    def _accept(self, stream: Transport, peer: str) -> None:
        if self._connection is not None and self._link.unanswered_ns() < s_to_ns(HANDSHAKE_S):
            stream.close()
            self.count(
                RequestRefused.SECOND_CONTROLLER,
                f"{peer}: {self._peer} is the controller, and only one may connect",
            )
            return
        self._drop(PeerError(f"{self._peer} sent no valid message, and {peer} connected"))
        if (line := self._accepted(self.name, stream)) is not None:
            line.start(self._link.data_received, lambda error: self._lost(line, error))
            self._attach(line, peer)
