"""The link to a peer of a control loop: a session, its connection, its deadlines."""

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from hilgw.control.events import Event, Notice, ProtocolFailure, Write
from hilgw.control.session import ChecksFrames, LinkSession
from hilgw.engine.control_loop.watchdog import STALE_INPUT_NS, Watchdog
from hilgw.engine.station.line import LinePacer
from hilgw.engine.supervisor import PortListener
from hilgw.errors import AdapterError, HilgwError, MismatchError, PeerError, PortError
from hilgw.framing.base import TURN_BYTES
from hilgw.framing.guess import AFTER_NS, FirstFrame
from hilgw.transports.base import NOT_SET, Flag, Scheduler, Transport, Wakeup
from hilgw.units import NS_PER_MS

S = TypeVar("S", bound=LinkSession)
T = TypeVar("T")
F = TypeVar("F")

# Bytes read in one turn of the event loop: nearly a hundred commands. The framings bound their work
# for this many bytes.
READ_BYTES = TURN_BYTES
# A peer that has had more than that waiting for this long is swamping us: what is read is old.
SWAMPED_NS = 500 * NS_PER_MS
# Commands wait while a serial line has more than that to send, or its port takes no bytes.
BUSY_NS = 20 * NS_PER_MS
# A line on the network whose peer answers nothing for this long is opened anew.
UNANSWERED_NS = 10_000 * NS_PER_MS
# A stop does not wait longer than that for bytes that were written before.
HELD_UP_NS = 100 * NS_PER_MS
# Telnet at a raw address, which shows no negotiation: this many frames, in this many bytes, are
# good only where each FF FF is one FF.
CHECKED_BYTES, MOST_CHECKED_BYTES = 128, 1024
FEWEST_DOUBLED = 3
LONGEST_FRAME = 1024  # bytes of a line or frame of a robot or controller


class PeerListener:
    """Listener to the link to a peer: the control loop.

    A subclass overrides the methods that it needs; the others do nothing.
    """

    @property
    def is_complete(self) -> bool:
        """True if all is known that a peer learns once only, when it connects."""
        return True

    def attached(self, transport: Transport) -> None:
        """Handle a new connection; the session opens next."""

    async def release(self) -> None:
        """Return when no other process holds the connection, which is closed next."""

    def alarmed(self) -> None:
        """Handle the flag of the connection: nothing may be written to it any more."""

    def detached(self, now: int) -> None:
        """Handle the end of the connection; the session is closed."""

    def events(self, events: list[Event], now: int) -> None:
        """Handle these events of the session, in order: all but Write."""

    def faulted(self, now: int) -> None:
        """Handle an exception of the session, whose connection will be closed."""

    def drained(self, now: int) -> None:
        """Handle that all that was written has left, after `congested`."""

    def swamped(self, now: int) -> bool:
        """Handle a peer that sends faster than it is read; return whether it was dropped."""
        return False


class PeerLink(Generic[S]):
    """Connects a session with the transport that a supervisor or a TCP server keeps open.

    listener: the control loop, which sets it before the first connection. supervisor: the
    supervisor or the TCP server. lock: held during a write. pacer: of a serial line, None on TCP.
    is_on_line: on a serial line, perhaps behind a serial server. dropped: frames of a line that
    were damaged, by reason.
    refused: connections that were refused, by reason. peer_confirmed: the peer of this connection
    has sent a valid message. is_absent: the robot does not have this end; nothing ever connects.
    flag: its first byte is set once the guardian has taken this process for dead, and has stopped
    the body.
    """

    listener: PeerListener
    is_absent = False

    def __init__(
        self,
        name: str,
        session: S,
        scheduler: Scheduler,
        watchdog: Watchdog,
        pacer: LinePacer | None = None,
        dropped: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self.name = name
        self.session = session
        self.identity = ""
        self.peer_confirmed = False
        self.refused: Counter[str] = Counter()
        self.dropped = dropped
        self.supervisor = PortListener()
        self.lock = threading.Lock()
        self.flag: Flag = NOT_SET
        self.transport: Transport | None = None
        self._scheduler = scheduler
        self._now, self._check = scheduler.now, watchdog.check  # bound once: each read calls both
        self._watchdog = watchdog
        self._pacer = pacer
        self.is_on_line = pacer is not None
        self._wakeup = Wakeup(scheduler, self._wake)
        self._first_frame = FirstFrame()  # of a serial line
        self._first_frame_wakeup = Wakeup(scheduler, self._note_no_frame)
        self._discard_until_ns = 0
        self._full_since: int | None = None
        self._has_faulted = False
        self._drain_awaited = False
        self._asked_ns: int | None = None  # the first write to this peer
        self._checked: bytearray | None = None  # what came last at a raw address on the network

    # --- called by the supervisor or the TCP server -------------------------------------------

    def attach(self, transport: Transport) -> None:
        """Prepare for a new peer, and open the session."""
        now = self.checked_now()
        self.transport = transport
        self._is_remote = self.is_on_line and "://" in transport.name
        is_raw = self._is_remote and transport.name.startswith("socket://")
        self._checked = bytearray() if is_raw and isinstance(self.session, ChecksFrames) else None
        transport.on_drained = self._drained
        transport.read_bytes = READ_BYTES
        self._discard_until_ns = 0
        self._full_since = self._asked_ns = None
        self.peer_confirmed = self._drain_awaited = self._has_faulted = False
        if self._pacer is not None:
            self._pacer.reset()
            self._first_frame = FirstFrame(
                "",
                self._pacer.baudRate,
                max(AFTER_NS, self._pacer.duration_ns(LONGEST_FRAME)),
            )
        self.listener.attached(transport)
        self.call(now, self.session.open, now)

    async def release(self) -> None:
        """See `hilgw.engine.lines.Port`."""
        await self.listener.release()

    def detach(self) -> None:
        """Close the session of the lost connection, and notify the listener."""
        now = self._scheduler.now()
        self.transport = None
        self._wakeup.set(None)
        self._first_frame.found()
        self._first_frame_wakeup.set(None)
        self.call(now, self.session.close)
        self.listener.detached(now)

    def data_received(self, data: bytes) -> None:
        now = self._now()
        self._check(now)
        passed = self.supervisor.passed
        passed.received += len(data)
        passed.last_ns = now
        if self.transport is None or now < self._discard_until_ns:
            return
        if len(data) < READ_BYTES:
            self._full_since = None
        elif self._is_swamped(now):
            return
        if self._checked is not None and self._is_doubled(self._checked, data):
            self._checked = None
            self.handle(
                [
                    ProtocolFailure(
                        MismatchError(
                            "its answers have each 0xFF twice: telnet changes them and our bytes",
                            where=self.name,
                            fix="use rfc2217://, or the raw address of the server",
                        )
                    )
                ],
                now,
            )
            return
        try:
            events = self.session.receive(data, now)
        except Exception as error:  # noqa: BLE001 - as in ask, but the peer's bytes are the cause
            self.fault(error, by_peer=True)
            return
        if self._pacer is not None and not self._first_frame.over:
            self._watch(data, events, now)
        self.handle(events, now)

    def _is_doubled(self, checked: bytearray, data: bytes) -> bool:
        """Return whether the answers of the peer have each FF twice."""
        is_due = len(checked) % CHECKED_BYTES + len(data) >= CHECKED_BYTES
        checked += data
        if not is_due or not isinstance(self.session, ChecksFrames):
            return False
        good = self.session.good_frames(bytes(checked))
        single = self.session.good_frames(checked.replace(b"\xff\xff", b"\xff"))
        if good or len(checked) > MOST_CHECKED_BYTES:
            checked.clear()
        return single >= good + FEWEST_DOUBLED

    def _watch(self, data: bytes, events: list[Event], now: int) -> None:
        if all(type(event) is Notice for event in events):
            self._first_frame.take(data, now)
        else:
            self._first_frame.found()
        self._first_frame_wakeup.set(self._first_frame.deadline)

    def _note_no_frame(self, due: int) -> None:
        now = self.checked_now()
        if notice := self._first_frame.expire(now):
            self.listener.events([Notice(notice, once=False)], now)
        self._first_frame_wakeup.set(self._first_frame.deadline)

    def _is_swamped(self, now: int) -> bool:
        """Return whether the peer was dropped: input waited too long after a full read."""
        if not self.has_unread():
            self._full_since = None
            return False
        if self._full_since is None:
            self._full_since = now
        if now - self._full_since < SWAMPED_NS:
            return False
        self._full_since = None
        return self.listener.swamped(now)

    # --- called by the control loop -----------------------------------------------------------

    def checked_now(self) -> int:
        """Return the time, at each entry from outside.

        Stops the motors first when the event loop was late.
        """
        now = self._scheduler.now()
        self._watchdog.check(now)
        return now

    def was_late(self) -> bool:
        """Return whether the event loop was late a moment ago: input may have waited for it."""
        return self.checked_now() < self._watchdog.late_until_ns

    def unanswered_ns(self) -> int:
        """Return for how long the peer has answered nothing valid.

        0 while it waits for the first bytes from here.
        """
        if self.peer_confirmed or self._asked_ns is None:
            return 0
        return self._scheduler.now() - self._asked_ns

    def has_unread(self) -> bool:
        """Return whether bytes of the peer have arrived that the event loop has not read yet."""
        return self.transport is not None and self.transport.in_waiting > 0

    def ask(self, otherwise: F, method: Callable[..., T], *arguments: Any) -> T | F:
        """Return what the session answers.

        An error that it raises is contained here, and reported; the answer is `otherwise` then.
        """
        try:
            return method(*arguments)
        except Exception as error:  # noqa: BLE001 - sessions of other distributions raise anything
            self.fault(error)
            return otherwise

    def call(self, now: int, method: Callable[..., list[Event]], *arguments: Any) -> bool:
        """Ask the session, and handle the events that it answers.

        Returns whether it raised no error, and the connection took all that it wrote.
        """
        try:
            events = method(*arguments)
        except Exception as error:  # noqa: BLE001 - ask costs 0.3 us of 5.2 us per sensor value
            self.fault(error)
            return False
        return self.handle(events, now)

    def handle(self, events: list[Event], now: int) -> bool:
        """Write what the session wants to write, and pass its other events on.

        Returns whether the connection took all bytes.
        """
        others: list[Event] | None = None
        written = True
        for event in events:
            if type(event) is Write:
                written &= self._write(event.data, now)
            elif others is None:
                others = [event]
            else:
                others.append(event)
        if others is not None:
            self.listener.events(others, now)
            for event in others:
                if type(event) is ProtocolFailure:
                    self.fail(event.error)
        self._rearm()
        return written

    def ready(self, identity: str) -> None:
        """Report the peer as ready, with this identity."""
        self.identity = identity
        self.peer_confirmed |= self.is_on_line  # on TCP the connection alone is enough for that
        self.supervisor.on_ready(identity)

    def not_ready(self, reason: str) -> None:
        """Report the peer as gone, though the connection is up.

        One on the network may be dead all the same, with somebody who acknowledges its bytes.
        """
        if self.transport is not None:
            self.supervisor.on_not_ready(reason)
            if self._is_remote:
                self.fail(PeerError(reason, where=self.name))

    def fail(self, error: HilgwError) -> None:
        """Have the connection closed soon; it may be opened again."""
        self.supervisor.on_failed(error)

    def fault(self, error: Exception, *, by_peer: bool = False) -> None:
        """Report once per connection that the session itself failed.

        by_peer: at bytes of the peer, which must not use up the restarts: then it is an error of
        the peer.
        """
        if self._has_faulted:
            return
        self._has_faulted = True
        self.listener.faulted(self._scheduler.now())
        kind = PeerError if by_peer else AdapterError
        self.fail(kind(f"the session failed: {error!r:.200}", where=self.name))

    def dismiss(self, text: str, *, restarts: bool = False) -> None:
        """End the peer's session now; nothing it has sent counts any more.

        A serial line cannot be closed for that: its peer has to show itself anew. restarts: a
        program is not to blame, and its `restart` decides whether it starts again.
        """
        if self.transport is None:
            return
        if restarts and self.supervisor.program is not None:
            self.supervisor.program.dismissed()
        if self.supervisor.disconnect(PeerError(text, where=self.name)):
            return
        now = self._scheduler.now()
        self.call(now, self.session.close)
        self.listener.detached(now)
        self._discard_until_ns = now + STALE_INPUT_NS
        self.call(now, self.session.open, now)
        self.not_ready(text)

    def discard_stale_input(self, now: int) -> None:
        """Discard what a peer on a line sends before it can have read what was written just now.

        It means devices that are gone.
        """
        if self._pacer is not None:
            self._discard_until_ns = max(now, self._pacer.free_ns) + STALE_INPUT_NS

    # --- writing ------------------------------------------------------------------------------

    def write_delay_ns(self, now: int) -> int:
        """Return how long bytes that are written now wait for the line."""
        return 0 if self._pacer is None else max(0, self._pacer.free_ns - now)

    def is_busy(self, now: int) -> bool:
        """Return whether a serial line has so much to send that a newer command may overtake.

        A newer one may come before one that is written now. Never on TCP.
        """
        if self._pacer is None or self.transport is None:
            return False
        return self._pacer.free_ns - now > BUSY_NS or self._is_stalled(now)

    def _is_stalled(self, now: int) -> bool:
        """Return whether bytes wait in the transport that the line should have sent before."""
        transport, pacer = self.transport, self._pacer
        if transport is None or pacer is None or not transport.pending:
            return False
        late_ns = pacer.duration_ns(transport.pending) - max(0, pacer.free_ns - now)
        return late_ns > BUSY_NS

    def discard_unsent(self, now: int) -> bool:
        """Discard what would hold up a stop on a serial line.

        Return whether anything was: a frame may be cut then.
        """
        transport, pacer = self.transport, self._pacer
        if transport is None or pacer is None:
            return False
        if pacer.free_ns - now <= HELD_UP_NS and not self._is_stalled(now):
            return False
        transport.take_unsent()
        with contextlib.suppress(PortError):  # its driver discards nothing
            transport.purge(received=False, to_send=True)
        pacer.reset()
        return True

    def congested(self, now: int) -> bool:
        """Return whether bytes that are written now would wait.

        The listener's `drained` is called once they would not.
        """
        transport = self.transport
        if transport is None:
            return False
        free = 0 if self._pacer is None else self._pacer.free_ns
        if not transport.pending and free <= now:
            return False
        if not self._drain_awaited and not transport.pending:
            self._scheduler.call_at(free, self._drained)
        self._drain_awaited = True
        return True

    def has_drained(self) -> bool:
        """Return whether no written byte waits any more, in the transport or in a tty's driver."""
        transport = self.transport
        if transport is None:
            return True
        if transport.pending or self._pacer is None:
            return not transport.pending
        return not transport.out_waiting

    def _write(self, data: bytes, now: int) -> bool:
        transport = self.transport
        if transport is None:
            return False
        if self._asked_ns is None:
            self._asked_ns = now
        if self._pacer is not None:
            self._pacer.occupy(len(data), now)
        try:
            with self.lock:
                if not self.flag[0]:
                    transport.write(data)
        except PortError as error:
            full = error.reason == PortError.FULL
            self.fail(PeerError("reads too slowly", where=self.name) if full else error)
            return False
        if self.flag[0]:  # also where it was set between the look and the write
            self.listener.alarmed()
            return False
        passed = self.supervisor.passed
        passed.sent += len(data)
        passed.last_ns = now
        return True

    def _drained(self) -> None:
        if not self._drain_awaited or self.transport is None:
            return
        now = self.checked_now()
        self._drain_awaited = False
        if not self.congested(now):
            self.listener.drained(now)

    # --- time ---------------------------------------------------------------------------------

    def _rearm(self) -> None:
        """Wake at the session's next deadline or before: deadlines mostly move away."""
        try:
            due = self.session.next_deadline() if self.transport is not None else None
        except Exception as error:  # noqa: BLE001 - as in ask, without its call for each message
            self.fault(error)
            return
        wakes_ns = self._wakeup.at
        if due is not None and (wakes_ns is None or due < wakes_ns):
            self._wakeup.set(due)

    def _wake(self, due: int) -> None:
        now = self.checked_now()
        if self.transport is not None:
            self.call(now, self.session.expire, now)
            if self._is_remote and self.unanswered_ns() > UNANSWERED_NS:
                self.fail(PeerError("no answer on this connection", where=self.name))
