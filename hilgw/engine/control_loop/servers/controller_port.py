"""The controller's end of a control loop where hilgw is the server: one connection at a time."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from hilgw.engine.lines import STALL_S
from hilgw.engine.observer import State
from hilgw.engine.supervisor import AttachedPort, StallDetector
from hilgw.errors import AdapterError, HilgwError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hilgw.engine.control_loop.peer_link import PeerLink
    from hilgw.engine.lines import Lines
    from hilgw.reasons import RequestReason
    from hilgw.transports.base import Transport


class ControllerPort(AttachedPort, ABC):
    """Keeps the connection that a server accepted attached to the peer link, and ends it.
    listening: the address where a controller may connect; empty before."""

    def __init__(self, link: PeerLink[Any], lines: Lines, where: str) -> None:
        super().__init__(link, lines, where)
        self._link = link
        self.listening = ""
        self._connection: Transport | None = None
        self._peer = ""
        self._stall = StallDetector(STALL_S)

    @property
    def advice(self) -> str:
        return f"start one; hilgw is listening on {self.listening}"

    @property
    def ready(self) -> bool:
        """A controller may connect."""
        return self.was_up

    @abstractmethod
    async def run(self, on_up: Callable[[], None]) -> None:
        """As of a `PortStatus`."""

    def _begin(self, listening: str, on_up: Callable[[], None]) -> None:
        """A controller may connect from now on, at this address."""
        self.listening = listening
        self._enter(State.WAITING, f"listening on {listening}")
        self.was_up = True
        on_up()

    def _refuse(self, reason: RequestReason, text: str, number: int = 1) -> None:
        self._link.refused[reason] += number
        self._observer.refused(self._link.name, reason, text)

    def _attach(self, stream: Transport, peer: str) -> None:
        """The next controller; there is none at present. stream: as `Lines.opened` returned it."""
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
        self._end_session()
        self._link.detach()
        self._close(stream, error)
        if self._may_restart(error):
            self._enter(State.WAITING, f"{error.what}; listening on {self.listening}")
        else:
            self._stop_listening()

    def _end_session(self) -> None:
        """The last that is written to the controller."""

    def _close(self, stream: Transport, error: HilgwError) -> None:
        """The connection of a controller that is gone, or is dropped."""
        stream.close()

    @abstractmethod
    def _stop_listening(self) -> None:
        """The session raised too often: no further controller is accepted."""

    def _drop_when_stalled(self) -> None:
        """Drops a peer that takes no bytes."""
        if self._connection is None:
            return
        now_s = asyncio.get_running_loop().time()
        error = self._stall.error(self._connection.pending, now_s)
        if error is not None:
            self._drop(error)
