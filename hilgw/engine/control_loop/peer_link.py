"""One side of a loop: a session, the connection it speaks over, and the session's deadlines."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from hilgw.control.events import Event, ProtocolFailure, Write
from hilgw.engine.control_loop.watchdog import DEAF_NS
from hilgw.errors import AdapterError, PeerError, PortError
from hilgw.transports.stream import FdStream

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hilgw.engine.control_loop.watchdog import Watchdog
    from hilgw.engine.station.line_pacer import LinePacer
    from hilgw.errors import HilgwError
    from hilgw.transports.base import Handle, Scheduler, Transport


class LinkSession(Protocol):
    """What the sessions of bodies and of controllers have in common."""

    counts: dict[str, int]

    def open(self, now: int) -> list[Event]: ...

    def close(self) -> list[Event]: ...

    def receive(self, data: bytes, now: int) -> list[Event]: ...

    def next_deadline(self) -> int | None: ...

    def expire(self, now: int) -> list[Event]: ...


S = TypeVar("S", bound=LinkSession)

# What a peer gets of the loop before others have their turn: nearly two hundred commands.
TURN_BYTES = 2048
# When there was always more than that for so long, what is read now is old.
SWAMPED_NS = 500_000_000


class PeerLink(Generic[S]):
    """What a supervisor, or for TCP servers a door, keeps connected.

    take: gets every event but Write, in order. attached, gone: of the connection. faulted: the
    session raised. drained: what was written has left, after `congested`. swamped: the peer sends
    faster than it is read, and what it has sent is old; true when it was dropped for that. line:
    the reckoning of a serial line, None on TCP. hang_up: closes the connection at once, where that
    is how a peer is dropped. refused: connections that were not let in, by reason. heard: whether
    the peer of this connection has said anything that made sense.
    """

    def __init__(
        self,
        name: str,
        session: S,
        scheduler: Scheduler,
        pulse: Watchdog,
        line: LinePacer | None = None,
    ) -> None:
        self.name = name
        self.session = session
        self.identity = ""
        self.heard = False
        self.refused: Counter[str] = Counter()
        self.dropped: Mapping[str, int] = {}  # frames of a line that were damaged, by reason
        self.on_ready: Callable[[str], None] | None = None
        self.on_not_ready: Callable[[str], None] | None = None
        self.on_failed: Callable[[HilgwError], None] | None = None
        self.hang_up: Callable[[HilgwError], None] | None = None
        self.take: Callable[[list[Event], int], None] = lambda events, now: None
        self.attached: Callable[[Transport], None] = lambda transport: None
        self.gone: Callable[[int], None] = lambda now: None
        self.faulted: Callable[[int], None] = lambda now: None
        self.drained: Callable[[int], None] = lambda now: None
        self.swamped: Callable[[int], bool] = lambda now: False
        self.lock = threading.Lock()
        self.transport: Transport | None = None
        self._scheduler = scheduler
        self._pulse = pulse
        self._line = line
        self._deaf_until = 0
        self._full_since: int | None = None
        self._timer: Handle | None = None
        self._timer_ns = 0
        self._faulty = False
        self._waits = False  # somebody wants to know when it is no longer congested

    # --- from the supervisor or the door ------------------------------------------------------

    def attach(self, transport: Transport) -> None:
        """Connected."""
        now = self.enter()
        self.transport = transport
        transport.on_drained = self._drained
        if isinstance(transport, FdStream):
            transport.read_bytes = TURN_BYTES
        self._deaf_until = 0
        self._full_since = None
        self.heard = self._waits = self._faulty = False
        if self._line is not None:
            self._line.reset()
        self.attached(transport)
        self.call(lambda: self.session.open(now), now)

    def detach(self) -> None:
        """No longer connected."""
        now = self._scheduler.now()
        self.transport = None
        self._cancel()
        self.call(self.session.close, now)
        self.gone(now)

    def data_received(self, data: bytes) -> None:
        now = self.enter()
        if self.transport is None or now < self._deaf_until:
            return
        if len(data) < TURN_BYTES:
            self._full_since = None
        elif self._is_swamped(now):
            return
        try:
            events = self.session.receive(data, now)
        except Exception as error:  # noqa: BLE001 - as in call, which would cost an allocation
            self.fault(error)
            return
        self.run(events, now)

    def _is_swamped(self, now: int) -> bool:
        """After a full turn: whether more has been waiting for too long, and that is acted upon."""
        if not isinstance(self.transport, FdStream):
            return False
        from hilgw.transports.serial import tty  # POSIX, as is this stream

        if not tty.unread(self.transport.fileno()):
            self._full_since = None
            return False
        if self._full_since is None:
            self._full_since = now
        if now - self._full_since < SWAMPED_NS:
            return False
        self._full_since = None
        return self.swamped(now)

    # --- from the loop ------------------------------------------------------------------------

    def enter(self) -> int:
        """The time. Wherever something comes from outside: stops first if the loop was late."""
        now = self._scheduler.now()
        self._pulse.check(now)
        return now

    def was_late(self) -> bool:
        """Whether the loop was late a moment ago: what comes now may have waited for it."""
        return self.enter() < self._pulse.late_until_ns

    def call(self, ask: Callable[[], list[Event]], now: int) -> None:
        """Ask the session something, and do what it says. Its fault is its own."""
        try:
            events = ask()
        except Exception as error:  # noqa: BLE001 - sessions of other distributions raise anything
            self.fault(error)
        else:
            self.run(events, now)

    def run(self, events: list[Event], now: int) -> None:
        """Do what the session says."""
        said: list[Event] = []
        for event in events:
            if type(event) is Write:
                self._put(event.data, now)
            else:
                said.append(event)
        if said:
            self.take(said, now)
        for event in said:
            if type(event) is ProtocolFailure:
                self.fail(event.error)
        self._rearm()

    def ready(self, identity: str) -> None:
        """The peer is there."""
        self.identity = identity
        if self.on_ready is not None:
            self.on_ready(identity)

    def not_ready(self, reason: str) -> None:
        """The peer is not there any more, though the connection is."""
        if self.on_not_ready is not None and self.transport is not None:
            self.on_not_ready(reason)

    def fail(self, error: HilgwError) -> None:
        """The connection is to be closed, soon; it may be opened again."""
        if self.on_failed is not None:
            self.on_failed(error)

    def fault(self, error: Exception) -> None:
        """The session itself failed; said once a connection."""
        if self._faulty:
            return
        self._faulty = True
        self.faulted(self._scheduler.now())
        self.fail(AdapterError(f"the session failed: {error!r:.200}", where=self.name))

    def drop(self, why: str) -> None:
        """The peer is to go, now, and nothing it has sent counts any more. On a line, which cannot
        be closed for that, it has to show itself anew."""
        if self.transport is None:
            return
        if self.hang_up is not None:
            self.hang_up(PeerError(why, where=self.name))
            return
        now = self._scheduler.now()
        self.call(self.session.close, now)
        self.gone(now)
        self._deaf_until = now + DEAF_NS  # what it had sent is thrown away
        self.call(lambda: self.session.open(now), now)
        self.not_ready(why)

    def hush(self, now: int) -> None:
        """What a peer on a line says before it can have read what was written just now counts
        nothing: it means devices that are gone."""
        if self._line is not None:
            self._deaf_until = max(now, self._line.free_ns) + DEAF_NS

    # --- writing ------------------------------------------------------------------------------

    def behind_ns(self, now: int) -> int:
        """How long what is written now has to wait for the line."""
        return 0 if self._line is None else max(0, self._line.free_ns - now)

    def congested(self, now: int) -> bool:
        """Whether what is written now would have to wait. `drained` is called when not any more."""
        transport = self.transport
        if transport is None:
            return False
        free = 0 if self._line is None else self._line.free_ns
        if not transport.pending and free <= now:
            return False
        if not self._waits and not transport.pending:
            self._scheduler.call_at(free, self._drained)
        self._waits = True
        return True

    def has_drained(self) -> bool:
        """Whether nothing that was written waits any more: in the loop, or in a tty's driver."""
        transport = self.transport
        if transport is None:
            return True
        if transport.pending or self._line is None:
            return not transport.pending
        if not isinstance(transport, FdStream):
            return True
        from hilgw.transports.serial import tty  # POSIX, as is this stream

        return not tty.waiting(transport.fileno())

    def _put(self, data: bytes, now: int) -> None:
        transport = self.transport
        if transport is None:
            return
        if self._line is not None:
            self._line.occupy(len(data), now)
        try:
            with self.lock:
                transport.write(data)
        except PortError as error:
            full = error.reason == "full"
            self.fail(PeerError("reads too slowly", where=self.name) if full else error)

    def _drained(self) -> None:
        if not self._waits or self.transport is None:
            return
        now = self.enter()
        self._waits = False
        if not self.congested(now):
            self.drained(now)

    # --- time ---------------------------------------------------------------------------------

    def _rearm(self) -> None:
        """A timer at the session's next deadline or before: deadlines mostly move away."""
        due = self.session.next_deadline() if self.transport is not None else None
        if due is None or (self._timer is not None and self._timer_ns <= due):
            return
        self._cancel()
        self._timer_ns = due
        self._timer = self._scheduler.call_at(due, self._wake)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wake(self) -> None:
        self._timer = None
        now = self.enter()
        if self.transport is not None:
            self.call(lambda: self.session.expire(now), now)
