"""Reconnection: one supervisor per port. Adapters and transports never retry.

`hilgw.engine.observer.State` defines the states. The supervisor looks for an absent port every
100 ms. It backs off after a failed open or handshake, and when a port is lost at once. Before the
first "up", a needed port that is busy or denied, or has a device other than the configured one,
ends the gateway. Otherwise the supervisor always reconnects, and leaves a wrong device alone until
its port goes away. A port that is lent to another program it leaves alone until it is back.
"""

import asyncio
import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from hilgw.engine.lines import Lines, Port
from hilgw.engine.observer import State
from hilgw.errors import AdapterError, ConfigError, HilgwError, MismatchError, PeerError, PortError
from hilgw.transports.base import Transport
from hilgw.transports.open_errors import port_error
from hilgw.units import ns_to_s

if TYPE_CHECKING:
    from hilgw.engine.processes.processes import Child

RESOLUTION_S = 1e-6  # of event loops: a shorter wait may end before its time
POLL_S = 0.1
BACKOFF_FIRST_S = 0.1
BACKOFF_LAST_S = 5.0
UNANSWERED_S = 0.8  # longest pause between tries of a name that does not answer (a server is down)
START_S = 10.0  # a configuration error that a device shows so soon ends the gateway
SETTLED_S = 2.0  # a port that is lost sooner than this did not work
STALL_POLL_S = 0.25
FAULTS_ALLOWED = 5  # restarts of a session that raises; then its port stays down


class Passed:
    """Bytes that passed a port. last_ns: when the last ones did; None: none did."""

    __slots__ = ("last_ns", "received", "sent")

    def __init__(self) -> None:
        self.received = self.sent = 0
        self.last_ns: int | None = None

    def age_s(self, now: int) -> float | None:
        """Return the seconds since the last byte."""
        return None if self.last_ns is None else round(ns_to_s(now - self.last_ns), 3)


class PortListener:
    """Listener to the user of a port: the supervisor or the TCP server that keeps it open.

    A subclass overrides what concerns it; the other methods do nothing, as for a port that nothing
    keeps open yet.

    program: the peer, where hilgw starts it. passed: what its user reads and writes.
    """

    program: "Child | None" = None
    passed = Passed()  # of none

    @property
    def advice(self) -> str:
        """Advice to a user who misses a peer on it; empty where there can be none."""
        return ""

    def on_ready(self, identity: str) -> None:
        """Mark the peer or the module as present."""

    def on_not_ready(self, reason: str) -> None:
        """Mark the peer or the module as gone, though the port is open."""

    def on_failed(self, error: HilgwError) -> None:
        """Close the port soon; it may be opened again."""

    def disconnect(self, error: HilgwError) -> bool:
        """Close the connection at once.

        False, and nothing happens, where the port stays open for another peer, as a serial line
        does.
        """
        return False


class Supervised(Protocol):
    """The user of a port: a station, a link to a peer, or the serial end of a bridge.

    It is attached to each transport that was opened, and detached when that one is gone. It
    reports its state to its supervisor.
    """

    name: str
    identity: str
    supervisor: PortListener

    def attach(self, transport: Transport) -> None: ...

    def detach(self) -> None: ...

    def data_received(self, data: bytes) -> None: ...


class ObservedPort(PortListener, ABC):
    """A port that a gateway runs: its state and counts, whatever keeps it open.

    where: the port as the user reads it. was_up: at least once. opened, ups: how often.
    """

    def __init__(self, name: str, lines: Lines, where: str) -> None:
        self.name = name
        self.lines = lines
        self.where = where
        self.state = State.CLOSED
        self.reason = ""
        self.was_up = False
        self.passed = Passed()
        self.opened = 0
        self.ups = 0
        self.last_error: HilgwError | None = None
        self._observer = lines.observer

    @property
    def ready(self) -> bool:
        """True if the port is up; of a server, which stays up: if a controller may connect."""
        return self.was_up

    @property
    def identity(self) -> str:
        """The module or peer that is there, where one is supervised."""
        return ""

    @property
    def peer(self) -> str:
        """Address of the controller that is connected to it; empty without one."""
        return ""

    @property
    def advice(self) -> str:
        return f"connect or reset the one on {self.where}"

    @abstractmethod
    async def run(self, on_up: Callable[[], None], *, is_needed: bool = True) -> None:
        """Run until cancellation, or until the error that ends the gateway.

        on_up: called each time the port is up. is_needed: the gateway ends when it cannot open the
        port at first.
        """

    def report(self) -> dict[str, Any]:
        """Return the state and the counts, for `--report`."""
        return {
            "state": self.state.value,
            "reason": self.reason,
            "identity": self.identity,
            "port": self.where,
            "opened": self.opened,
            "ups": self.ups,
        }

    def notify(self, text: str) -> None:
        """Show the user a remark about this port."""
        self._observer.notice(self.name, text)

    def _accepted(self, name: str, stream: Transport, received: bytes = b"") -> Transport | None:
        """Return the accepted connection as this part uses it, see `Lines.opened`.

        None: its opening failed, which the user reads, and it is closed.
        """
        try:
            return self.lines.opened(name, stream, received)
        except PortError as error:
            self.notify(str(error))
            return None

    def _enter(self, state: State, reason: str) -> None:
        if (state, reason) != (self.state, self.reason):
            self.state, self.reason = state, reason
            self._observer.state(self.name, state, reason)


class AttachedPort(ObservedPort):
    """A supervised port with one user, to which its connection is attached."""

    def __init__(self, supervised: Supervised, lines: Lines, where: str) -> None:
        super().__init__(supervised.name, lines, where)
        self.supervised = supervised
        self._faults = 0
        supervised.supervisor = self

    @property
    def identity(self) -> str:
        return self.supervised.identity

    def _may_restart(self, error: HilgwError) -> bool:
        if self._faults <= FAULTS_ALLOWED:
            return True
        self._enter(State.FAILED, f"{error}; given up after {FAULTS_ALLOWED} restarts")
        return False


class StallDetector:
    """The detector of a port that takes no bytes.

    Output is pending, and none of it leaves for `stall_s`.

    stall_s None: never, as of a `Port`.
    """

    def __init__(self, stall_s: float | None) -> None:
        self._stall_s = stall_s
        self._left = 0
        self._since_s: float | None = None

    def error(self, sent: int, pending: int, now_s: float, where: str = "") -> PeerError | None:
        """Return the error when the port is stalled, else None.

        Args:
            sent: bytes written until now.
            pending: those of them that have not left.
        """
        last, self._left = self._left, sent - pending
        if self._stall_s is None or not pending or self._left > last:
            self._since_s = None
        elif self._since_s is None:
            self._since_s = now_s
        elif now_s - self._since_s >= self._stall_s:
            return PeerError(f"takes no bytes for {self._stall_s:g} s", where=where)
        return None


class Supervisor(AttachedPort):
    """The supervisor that keeps one port open.

    `run` ends only by cancellation or a fatal first start. lent_to: the program that has it; empty
    while none has.
    """

    def __init__(
        self,
        supervised: Supervised,
        port: Port,
        lines: Lines,
        *,
        jitter: random.Random | None = None,
    ) -> None:
        super().__init__(supervised, lines, port.where)
        self.port = port
        self._identity = port.identity
        self._jitter = jitter or random.Random(supervised.name)
        self._on_up: Callable[[], None] = lambda: None
        self._must_open = True  # the gateway ends when the first start fails
        self._discarded: int | None = None  # bytes that came while the board starts; then None
        self._backoff_s = BACKOFF_FIRST_S
        self._unanswered = False  # the port has a name, but no peer that stays
        self._tried: object | None = None  # the device behind the path at the last try
        self._lived_s = 0.0
        self._broken: asyncio.Future[HilgwError] | None = None
        self.lent_to = ""
        self._closed, self._back = asyncio.Event(), asyncio.Event()  # of the loan
        self._pause: asyncio.Task[None] | None = None  # between two lives of the port

    @property
    def ready(self) -> bool:
        return self.state is State.UP

    async def run(
        self, on_up: Callable[[], None] = lambda: None, *, is_needed: bool = True
    ) -> None:
        self._on_up, self._must_open = on_up, is_needed
        try:
            while True:
                error = await self._live_once()
                if not self.lent_to:
                    self.last_error = error
                    pause = self._pause = asyncio.create_task(self._after(error))
                    try:
                        await asyncio.wait({pause})
                    finally:
                        pause.cancel()
                    if not pause.cancelled():
                        pause.result()
                if self.lent_to:
                    self._enter(State.RELEASED, f"to {self.lent_to}")
                    self._closed.set()
                    await self._back.wait()
                    self._faults, self._backoff_s, self._unanswered = 0, BACKOFF_FIRST_S, False
        finally:
            self._enter(State.CLOSED, "")

    # --- lent to another program -------------------------------------------------------------

    async def lend(self, to: str) -> None:
        """Close the port, and leave it closed until `take_back`. to: who has it."""
        self.lent_to, self._closed, self._back = to, asyncio.Event(), asyncio.Event()
        self._must_open = False  # what another program does to it ends no gateway
        if self._pause is not None:
            self._pause.cancel()
        self.on_failed(PortError(f"released to {to}", reason=PortError.LOST, where=self.where))
        await self._closed.wait()

    def take_back(self) -> None:
        """Open the port anew, as at the start."""
        self.lent_to = ""
        self._back.set()

    # --- one life of the port ----------------------------------------------------------------

    async def _live_once(self) -> HilgwError:
        again = self.port.retry_s is not None or self._unanswered
        if not again or self.state is not State.WAITING:
            self._enter(State.OPENING, self.where)
        self._tried, self._lived_s = self._identity(), 0.0
        connection: Transport | None = None
        try:
            connection = await self.port.open()
            transport = self.lines.opened(self.name, connection)
        except PortError as error:
            if connection is not None:
                await connection.wait_closed()
            return error
        self.opened += 1
        opened_s = asyncio.get_running_loop().time()
        self._broken = asyncio.get_running_loop().create_future()
        if self.lent_to:  # meanwhile
            self._broken.set_result(PortError("released", reason=PortError.LOST, where=self.where))
        attached = False
        try:
            for notice in transport.notices:
                self.notify(notice)
            self._enter(State.HANDSHAKE, "port open")
            if not self.port.boot_s:
                transport.start(self.supervised.data_received, self.on_failed)
            elif (broke := await self._await_boot(transport, self._broken)) is not None:
                return broke
            attached = True
            try:
                self.supervised.attach(transport)
            except OSError as error:  # no descriptor is left for its emergency stop
                return port_error(error, self.where)
            return await self._watch(transport, self._broken)
        finally:
            self._lived_s = asyncio.get_running_loop().time() - opened_s
            if self._lived_s >= SETTLED_S:
                self._backoff_s = BACKOFF_FIRST_S
            try:
                if attached and self.port.release is not None:
                    await self.port.release()
            finally:
                transport.close()
                if attached:
                    self.supervised.detach()
                self._broken = None
            await transport.wait_closed()

    async def _await_boot(
        self, transport: Transport, broken: asyncio.Future[HilgwError]
    ) -> HilgwError | None:
        """Read and write nothing while the board starts; return the error when the port breaks."""
        self._discarded = 0
        self._enter(State.HANDSHAKE, f"{self.port.boot_s:g} s for the board to start")
        transport.start(self._receive, self.on_failed)
        done, _ = await asyncio.wait({broken}, timeout=self.port.boot_s)
        discarded, self._discarded = self._discarded, None
        if discarded:
            self.notify(f"{discarded} bytes discarded that came while the board started")
        return broken.result() if done else None

    def _receive(self, data: bytes) -> None:
        """Discard the bytes that come while the board starts, and pass on those after it."""
        if self._discarded is None:
            self.supervised.data_received(data)
        else:
            self._discarded += len(data)

    async def _watch(self, transport: Transport, broken: asyncio.Future[HilgwError]) -> HilgwError:
        loop, detector = asyncio.get_running_loop(), StallDetector(self.port.stall_s)
        while True:
            done, _ = await asyncio.wait({broken}, timeout=STALL_POLL_S)
            if done:
                return broken.result()
            sent, pending = self.passed.sent, transport.pending
            if (error := detector.error(sent, pending, loop.time(), self.where)) is not None:
                return error

    async def _after(self, error: HilgwError) -> None:
        if isinstance(error, MismatchError | ConfigError):
            await self._stay_down(error)
        elif isinstance(error, AdapterError):
            await self._restart(error)
        elif isinstance(error, PortError) and error.reason in (PortError.ABSENT, PortError.LOST):
            await self._wait_for_port(error)
        else:
            if not self.was_up and isinstance(error, PortError) and self._must_open:
                raise error  # busy or denied at the first start: the user must act
            if self.was_up and isinstance(error, PeerError):
                self._enter(State.STALLED, error.what)
            await self._back_off(error)

    async def _stay_down(self, error: HilgwError) -> None:
        """Keep the port down until another device is behind the path.

        At the start the gateway ends: the user must act. A ConfigError shows only once the
        device is up, and has reported what it has.
        """
        is_first = self.opened == 1 and self._lived_s < START_S
        is_fatal = not self.was_up or (is_first and isinstance(error, ConfigError))
        if is_fatal and self._must_open:
            raise error
        self._enter(State.FAILED, str(error))
        wrong = self._identity()
        while self._identity() == wrong:
            await asyncio.sleep(POLL_S)

    async def _restart(self, error: AdapterError) -> None:
        self._faults += 1
        if not self._may_restart(error):
            await asyncio.get_running_loop().create_future()
        self._backoff_s = max(self._backoff_s, BACKOFF_FIRST_S * 2**self._faults)
        await self._back_off(error)

    async def _wait_for_port(self, error: PortError) -> None:
        self._enter(State.WAITING, error.what)
        self._unanswered = self._identity() is not None and self._lived_s < SETTLED_S
        if self.port.retry_s is not None:
            await asyncio.sleep(self.port.retry_s)
        elif self._unanswered:
            await self._wait_for_another(min(self._next_delay_s(), UNANSWERED_S))
        else:
            await asyncio.sleep(POLL_S)
        while self._identity() is None:
            self._unanswered = False
            self._backoff_s = BACKOFF_FIRST_S
            await asyncio.sleep(POLL_S)

    async def _wait_for_another(self, longest_s: float) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + longest_s
        while (left := end - loop.time()) > RESOLUTION_S:
            await asyncio.sleep(min(left, POLL_S))
            if self._identity() != self._tried:
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

    # --- called by the user of the port and by the transport ---------------------------------

    def on_ready(self, identity: str) -> None:
        self.was_up = True
        self.ups += 1
        self._enter(State.UP, identity)
        self._on_up()

    def on_not_ready(self, reason: str) -> None:
        self._enter(State.HANDSHAKE, reason)

    def on_failed(self, error: HilgwError) -> None:
        if self._broken is not None and not self._broken.done():
            self._broken.set_result(error)
