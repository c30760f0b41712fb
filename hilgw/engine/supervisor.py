"""Reconnection: one supervisor above each station. Adapters and transports never retry.

States and their meaning: `hilgw.engine.observer.State`. A port that is absent is looked for every
100 ms; back-off is for opens and handshakes that fail, and for ports that are lost at once.
Before the first "up" a port that is busy or denied, or a device that is not the one named, ends
the gateway; afterwards it is always reconnected, and a wrong device is left alone until its port
goes away.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Protocol

from hilgw.engine.observer import Observer, State
from hilgw.errors import AdapterError, HilgwError, MismatchError, PeerError, PortError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from hilgw.transports.base import Transport

LOOK_S = 0.1
BACKOFF_FIRST_S = 0.1
BACKOFF_LAST_S = 5.0
UNANSWERED_S = 0.8  # a name with nobody behind it (a server that is down) is not asked less often
SETTLED_S = 2.0  # a port that is lost sooner than this is not there as it should be
STALL_S = 2.0
STALL_LOOK_S = 0.25
FAULTS_ALLOWED = 5  # an adapter that failed so often is not started again


class Supervised(Protocol):
    """What lives on the port: a station, or the serial side of a bridge.

    It is attached to each transport that was opened and detached when that one is gone, and says
    with the three callbacks what became of it.
    """

    name: str
    identity: str
    on_ready: Callable[[str], None] | None
    on_not_ready: Callable[[str], None] | None
    on_failed: Callable[[HilgwError], None] | None

    def attach(self, transport: Transport) -> None: ...

    def detach(self) -> None: ...

    def data_received(self, data: bytes) -> None: ...


class Supervisor:
    """Keeps one station's port open. `run` ends only by cancellation or a fatal first start.

    open_port: opens the transport, raises PortError. identity: what stands behind the path now
    (None: nothing), so that a wrong device is tried again once it was replaced. stall_s: a port
    that takes no byte for so long is opened anew; None: it is left to its flow control.
    """

    def __init__(
        self,
        station: Supervised,
        open_port: Callable[[], Awaitable[Transport]],
        identity: Callable[[], object | None],
        observer: Observer,
        *,
        place: str,
        jitter: random.Random,
        stall_s: float | None = STALL_S,
        retry_s: float | None = None,
    ) -> None:
        self.station = station
        self.place = place
        self.state = State.CLOSED
        self.reason = ""
        self.was_up = False
        self.opened = 0
        self.last_error: HilgwError | None = None
        self.ups = 0
        self.on_up: Callable[[], None] | None = None
        self._open_port = open_port
        self._identity = identity
        self._observer = observer
        self._jitter = jitter
        self._stall_s = stall_s
        self._retry_s = retry_s
        self._backoff_s = BACKOFF_FIRST_S
        self._faults = 0
        self._unanswered = False  # the port has a name, and nobody behind it who stays
        self._behind: object | None = None  # what stood behind the path at the last try
        self._lived_s = 0.0
        self._broken: asyncio.Future[HilgwError] | None = None
        station.on_ready = self._ready
        station.on_not_ready = self._not_ready
        station.on_failed = self._break

    @property
    def ready(self) -> bool:
        """It is up."""
        return self.state is State.UP

    async def run(self) -> None:
        try:
            while True:
                error = await self._live_once()
                self.last_error = error
                await self._after(error)
        finally:
            self._enter(State.CLOSED, "")

    # --- one life of the port ----------------------------------------------------------------

    async def _live_once(self) -> HilgwError:
        """Open, hand to the station, wait until it breaks; returns why."""
        again = self._retry_s is not None or self._unanswered
        if not again or self.state is not State.WAITING:
            self._enter(State.OPENING, self.place)
        self._behind, self._lived_s = self._identity(), 0.0
        try:
            transport = await self._open_port()
        except PortError as error:
            return error
        self.opened += 1
        opened_s = asyncio.get_running_loop().time()
        self._broken = asyncio.get_running_loop().create_future()
        try:
            for notice in transport.notices:
                self._observer.notice(self.station.name, notice)
            self._enter(State.HANDSHAKE, "port open")
            transport.start(self.station.data_received, self._break)
            self.station.attach(transport)
            return await self._watch(transport, self._broken)
        finally:
            self._lived_s = asyncio.get_running_loop().time() - opened_s
            if self._lived_s >= SETTLED_S:
                self._backoff_s = BACKOFF_FIRST_S
            transport.close()
            self.station.detach()
            self._broken = None
            await transport.wait_closed()

    async def _watch(self, transport: Transport, broken: asyncio.Future[HilgwError]) -> HilgwError:
        """Wait for the break; a port that takes no byte for `stall_s` is one too."""
        loop = asyncio.get_running_loop()
        stuck_since: float | None = None
        pending = 0
        while True:
            done, _ = await asyncio.wait({broken}, timeout=STALL_LOOK_S)
            if done:
                return broken.result()
            last, pending = pending, transport.pending
            if self._stall_s is None or not pending or pending < last:
                stuck_since = None
            elif stuck_since is None:
                stuck_since = loop.time()
            elif loop.time() - stuck_since >= self._stall_s:
                return PeerError(f"takes no bytes for {self._stall_s:g} s", where=self.place)

    async def _after(self, error: HilgwError) -> None:
        """Say why, and wait for the right moment to try again."""
        if isinstance(error, MismatchError):
            await self._stay_down(error)
        elif isinstance(error, AdapterError):
            await self._restart(error)
        elif isinstance(error, PortError) and error.reason in (PortError.ABSENT, PortError.LOST):
            await self._wait_for_port(error)
        else:
            if not self.was_up and isinstance(error, PortError):
                raise error  # busy or denied at the first start: the user must act
            if self.was_up and isinstance(error, PeerError):
                self._enter(State.STALLED, error.what)
            await self._back_off(error)

    async def _stay_down(self, error: MismatchError) -> None:
        if not self.was_up:
            raise error
        self._enter(State.FAILED, str(error))
        wrong = self._identity()
        while self._identity() == wrong:
            await asyncio.sleep(LOOK_S)

    async def _restart(self, error: AdapterError) -> None:
        self._faults += 1
        if self._faults > FAULTS_ALLOWED:
            self._enter(State.FAILED, f"{error}; given up after {FAULTS_ALLOWED} restarts")
            await asyncio.get_running_loop().create_future()
        self._backoff_s = max(self._backoff_s, BACKOFF_FIRST_S * 2**self._faults)
        await self._back_off(error)

    async def _wait_for_port(self, error: PortError) -> None:
        self._enter(State.WAITING, error.what)
        self._unanswered = self._identity() is not None and self._lived_s < SETTLED_S
        if self._retry_s is not None:
            await asyncio.sleep(self._retry_s)
        elif self._unanswered:
            await self._wait_for_another(min(self._next_delay_s(), UNANSWERED_S))
        else:
            await asyncio.sleep(LOOK_S)
        while self._identity() is None:
            self._unanswered = False
            self._backoff_s = BACKOFF_FIRST_S
            await asyncio.sleep(LOOK_S)

    async def _wait_for_another(self, longest_s: float) -> None:
        """Until something else stands behind the path, or for so long."""
        loop = asyncio.get_running_loop()
        end = loop.time() + longest_s
        while (left := end - loop.time()) > 0:
            await asyncio.sleep(min(left, LOOK_S))
            if self._identity() != self._behind:
                self._backoff_s = BACKOFF_FIRST_S
                return

    async def _back_off(self, error: HilgwError) -> None:
        delay = self._next_delay_s()
        self._enter(State.BACKOFF, f"{error}; next try in {delay:.1f} s")
        await asyncio.sleep(delay)

    def _next_delay_s(self) -> float:
        delay = self._backoff_s * self._jitter.uniform(0.8, 1.2)
        self._backoff_s = min(self._backoff_s * 2, BACKOFF_LAST_S)
        return delay

    # --- told by the station and the transport -----------------------------------------------

    def _ready(self, identity: str) -> None:
        self.was_up = True
        self.ups += 1
        self._enter(State.UP, identity)
        if self.on_up is not None:
            self.on_up()

    def _not_ready(self, reason: str) -> None:
        self._enter(State.HANDSHAKE, reason)

    def _break(self, error: HilgwError) -> None:
        if self._broken is not None and not self._broken.done():
            self._broken.set_result(error)

    def _enter(self, state: State, reason: str) -> None:
        if (state, reason) != (self.state, self.reason):
            self.state, self.reason = state, reason
            self._observer.state(self.station.name, state, reason)
