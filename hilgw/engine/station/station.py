"""A hardware station: the queue, the window and the counts around one adapter session.

It sits between the medium (copies to send, packets received) and a transport (bytes). All of it is
synchronous: bytes in, session, medium, write. The only queue is the one that Webots' bufferSize
limits.
"""

import itertools
from collections import deque
from collections.abc import Callable
from typing import TypeVarTuple

from hilgw.adapters.base import (
    AdapterSession,
    CannotSend,
    Delivered,
    Dropped,
    Event,
    Failed,
    NetworkSession,
    Notice,
    NotReady,
    Ready,
    Received,
    Refused,
    RemoteAnswer,
    SetLine,
    StationSettings,
    Transmission,
    Write,
    line_of,
)
from hilgw.engine.observer import Direction
from hilgw.engine.reporting.statistics import StationStatistics
from hilgw.engine.station.line import FrameTap, LinePacer, ReceiveFilter
from hilgw.engine.supervisor import PortListener
from hilgw.errors import AdapterError, HilgwError, PeerError, PortError
from hilgw.framing.base import TURN_BYTES, FrameDropped
from hilgw.medium.airs import AIR_TIME_NS
from hilgw.medium.listeners import Listener
from hilgw.medium.packet import Copy
from hilgw.reasons import ExpiredReason, PacketRefused, RefusedReason
from hilgw.transports.base import Scheduler, Transport, Wakeup

Given = TypeVarTuple("Given")

MOST_READS_FIRST = 3  # turns of the event loop in which a deadline waits for unread bytes
SILENT_FRAMES = 3  # frames in a row without an answer: the module counts as stalled


class Station:
    """An adapter on the medium.

    window: frames that may wait for their acknowledgement. listener: itself, for the medium. Its
    state goes to `supervisor`, and its frames to `taps`. A frame without a token counts as
    delivered when its last byte has left according to the line pacer.
    """

    def __init__(
        self,
        session: AdapterSession,
        common: StationSettings,
        window: int,
        receive_filter: ReceiveFilter,
        statistics: StationStatistics,
        scheduler: Scheduler,
    ) -> None:
        self.name = statistics.name
        self.session = session
        self.common = common
        self.statistics = statistics
        self.taps: list[FrameTap] = []
        self.identity = ""
        self.ready = False
        self.supervisor = PortListener()
        self._pacer = LinePacer(common.baudRate, line_of(common)[0].byteSize)
        self._scheduler = scheduler
        self._queue = TransmitQueue(common.bufferSize)
        statistics.count.queued = lambda: self.queued
        self._receive_filter = receive_filter
        self.air, self._airs = receive_filter.air, receive_filter.airs
        self._airs.own(self.air, self.name, ())  # it may receive the others before it is ready
        self._window = window
        self._transport: Transport | None = None
        self._wakeup = Wakeup(scheduler, self._wake)
        self._reads_first = 0
        self._unanswered = 0
        self.received_ns = 0  # when bytes came last
        self.unacknowledged = 0  # packets that left, and whose acknowledgement did not come
        self._ending = False
        self._commands: dict[int, Callable[[RemoteAnswer], None]] = {}  # by their tokens
        self._tokens = itertools.count()
        self.listener = Listener(
            name=self.name,
            type=receive_filter.type,
            deliver=self.deliver,
            on_fault=self.fault,
            air=self.air,
            relay=common.relay,
            channels=session.channels,
            mounted_on=receive_filter.mount.object,
            mount=receive_filter.mount.pose,
        )

    @property
    def queued(self) -> int:
        """The number of copies accepted and neither delivered nor refused: waiting or in flight."""
        return len(self._queue)

    @property
    def queued_bytes(self) -> int:
        """The bytes of the copies that wait; at most bufferSize."""
        return self._queue.bytes

    # --- called by the medium -----------------------------------------------------------------

    def deliver(self, copy: Copy) -> None:
        """Queue one copy of the medium, to be sent."""
        queue = self._queue
        if not queue.add(copy):
            reason = queue.full_reason if self.ready else PacketRefused.DOWN
            self.statistics.refuse(reason, f"the queue of {queue.limit} B is full")
        elif self.ready:
            self._pump(self._scheduler.now())

    # --- called for the user ------------------------------------------------------------------

    def command(
        self, address: str, name: str, value: bytes, answer: Callable[[RemoteAnswer], None]
    ) -> None:
        """Send a command to another module of the network.

        `answer` is called once, with its answer or the problem. HilgwError when this hardware
        cannot send commands now.
        """
        session = self.session
        if not isinstance(session, NetworkSession):
            raise HilgwError("has no remote commands", where=self.name)
        if not self.ready:
            raise PeerError("is not up", where=self.name)
        now, token = self._scheduler.now(), next(self._tokens)
        self._commands[token] = answer
        self._call(now, session.command, address, name, value, token, now)

    # --- called by the supervisor -------------------------------------------------------------

    def attach(self, transport: Transport) -> None:
        """Start the handshake on the open port."""
        self.statistics.latency.clear()
        self._transport = transport
        transport.read_bytes = TURN_BYTES
        self._unanswered = 0
        now = self._scheduler.now()
        self._pacer.reset()
        self._call(now, self.session.open, now)

    def detach(self) -> None:
        """Give up the copies in flight, lost and counted, and keep the queue: the port is gone.

        At the end of the gateway they are not lost: what becomes of them is not known.
        """
        self._transport = None
        self.ready = False
        now = self._scheduler.now()
        if self._ending:
            self._settle(now)
            self.statistics.expire(self._queue.drop_in_flight(), ExpiredReason.IN_FLIGHT)
        for tap in self.taps:
            tap.flush()
        self._call(now, self._ended if self._ending else self.session.close)
        self._settle(now)
        self.statistics.refuse(
            PacketRefused.DOWN, "the port went down", self._queue.drop_in_flight()
        )
        self._rearm(now)
        commands, self._commands = self._commands, {}
        for token, answer in commands.items():
            answer(RemoteAnswer("", "", problem="the port went down", token=token))

    def _ended(self) -> list[Event]:
        """Close the session, and return its events.

        A frame that the end of the gateway cut off is not lost.
        """
        return [
            each
            for each in self.session.close()
            if not (isinstance(each, Dropped) and each.reason is FrameDropped.TRUNCATED)
        ]

    def end(self) -> None:
        """Prepare for the end of the gateway, which closes the port soon."""
        self._ending = True

    def close(self) -> None:
        """Expire the waiting copies: the gateway has ended."""
        self.end()
        self.detach()
        self.statistics.expire(self._queue.drop_waiting())

    def fault(self, error: Exception) -> None:
        """Report that the adapter itself failed: the supervisor reopens its port."""
        self.ready = False
        self.supervisor.on_failed(
            AdapterError(f"the adapter failed: {error!r:.200}", where=self.name)
        )

    # --- called by the transport --------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        self._unanswered = 0
        self.received_ns = now = self._scheduler.now()
        passed = self.supervisor.passed
        passed.received += len(data)
        passed.last_ns = now
        for tap in self.taps:
            tap.received(data)
        try:
            self._handle(self.session.receive(data, now), now)
        except Exception as error:  # noqa: BLE001 - as in _call: a call less for each read
            self.fault(error)

    # --- events of the session ----------------------------------------------------------------

    def _call(self, now: int, ask: Callable[[*Given], list[Event]], *given: *Given) -> None:
        try:
            self._handle(ask(*given), now)
        except Exception as error:  # noqa: BLE001 - adapters of other distributions raise anything
            self.fault(error)

    def _handle(self, events: list[Event], now: int) -> None:
        for tap in self.taps:
            tap.answered(events)
        for event in events:
            match event:
                case Received():
                    self._receive_filter.receive(event, now)
                case Delivered(token):
                    sent = self._queue.outstanding.pop(token, None)
                    if sent is not None:
                        copy, ends = sent
                        self.statistics.module.add(now - ends)
                        self.statistics.deliver(copy, now)
                case Refused(token, reason):
                    self._lose(token, reason)
                case Write(data):
                    if self._write(data, now):
                        self._pacer.occupy(len(data), now)
                case RemoteAnswer():
                    if (answer := self._commands.pop(event.token, None)) is not None:
                        answer(event)
                case SetLine(name, on):
                    self._set_modem_line(name, on)
                case Dropped(reason, text, count):
                    self.statistics.drop(reason, text, count)
                case Notice(text, once):
                    self.statistics.notice(text, once)
                case Ready(identity, addresses):
                    self._become_ready(identity, addresses)
                case NotReady(reason):
                    self.ready = False
                    self.supervisor.on_not_ready(reason)
                case Failed(error):
                    self.ready = False
                    self.supervisor.on_failed(error)
        if self.ready:
            self._pump(now)
        else:
            self._rearm(now)

    def _become_ready(self, identity: str, addresses: tuple[str, ...]) -> None:
        self.identity = identity
        self.ready = True
        self._airs.own(self.air, self.name, addresses)
        self.supervisor.on_ready(identity)

    def _lose(self, token: int, reason: str) -> None:
        if self._queue.outstanding.pop(token, None) is None:
            return
        self.statistics.refuse(reason, "not delivered")
        self.unacknowledged += self.ready
        if reason == PacketRefused.NO_STATUS:
            self._unanswered += 1
            if self._unanswered >= SILENT_FRAMES:
                self._unanswered = 0
                self.supervisor.on_failed(PeerError("stopped answering", where=self.name))

    # --- to the transport ---------------------------------------------------------------------

    def _pump(self, now: int, *, backlog: bool = False) -> None:
        queue = self._queue
        self._settle(now)
        while queue.waiting and self.ready and len(queue.outstanding) < self._window:
            if not self._pacer.is_free(now):
                break
            frame = self._frame(queue.waiting[0], now)
            if frame is None:
                break
            copy = queue.waiting[0]  # it waits until the port has it: a write may fail at once
            if isinstance(frame, CannotSend):
                queue.take()
                self.statistics.refuse(frame.reason, frame.text)
            elif not self._write(frame.data, now):
                if queue.waiting and queue.waiting[0] is copy:
                    queue.take()
                    self.statistics.refuse(PacketRefused.DOWN, "the port took no bytes")
            else:
                queue.take()
                ends = self._pacer.occupy(len(frame.data), now, backlog=backlog)
                backlog = False
                air_ns, packet, line_ns = AIR_TIME_NS + frame.air_time_ns, copy.packet, ends - now
                owner, data = packet.owner, packet.data
                self._airs.sent(self.air, data, now, self.name, air_ns, owner, line_ns)
                self.statistics.line.add(ends - copy.arrived_ns)
                queue.sent(copy, frame.token, ends, frame.lost)
        self._rearm(now)

    def _frame(self, copy: Copy, now: int) -> Transmission | CannotSend | None:
        try:
            frame = self.session.send(copy.packet, now)
        except Exception as error:  # noqa: BLE001 - as in _call; this packet must not come again
            self.fault(error)
            return CannotSend(PacketRefused.FAULT, "the adapter failed on it")
        if isinstance(frame, Transmission):
            for tap in self.taps:
                tap.on_frame(Direction.SENT, frame.data)
        return frame

    def _settle(self, now: int) -> None:
        while (sent := self._queue.take_sent(now)) is not None:
            copy, lost = sent
            if lost is None:
                self.statistics.deliver(copy, now)
            else:
                self.statistics.refuse(lost, "not delivered")

    def _write(self, data: bytes, now: int) -> bool:
        if self._transport is None:
            return False
        try:
            self._transport.write(data)
        except PortError as error:
            self.supervisor.on_failed(error)
            return False
        passed = self.supervisor.passed
        passed.sent += len(data)
        passed.last_ns = now
        return True

    def _set_modem_line(self, name: str, on: bool) -> None:
        """Set a modem line of the port. name: "dtr" or "rts"."""
        transport = self._transport
        if transport is None:
            return
        try:
            transport.set_modem_line(name, on)
        except PortError as error:
            self.supervisor.on_failed(error)

    # --- time --------------------------------------------------------------------------------

    def _rearm(self, now: int) -> None:
        queue = self._queue
        due = self.session.next_deadline() if self._transport is not None else None
        if queue.on_wire:
            ends = queue.on_wire[0][0]
            due = ends if due is None else min(due, ends)
        if queue.waiting and self.ready and len(queue.outstanding) < self._window:
            free = self._pacer.free_ns
            if free > now:
                due = free if due is None else min(due, free)
        self._wakeup.set(due)

    def _expires(self, now: int) -> bool:
        """Return whether the session's deadline has passed.

        If the event loop was late, what it has not read yet may have come in time: it is read
        first, in the next turn.
        """
        deadline = self.session.next_deadline()
        if deadline is None or deadline > now or self._transport is None:
            return False
        self._reads_first += 1
        if self._reads_first <= MOST_READS_FIRST and self._transport.in_waiting:
            return False
        self._reads_first = 0
        return True

    def _wake(self, due: int) -> None:
        # It waited for the line itself: the next frame follows without a gap.
        backlog = due == self._pacer.free_ns and bool(self._queue.waiting)
        now = self._scheduler.now()
        if self._expires(now):
            self._call(now, self.session.expire, now)
        if self.ready:
            self._pump(now, backlog=backlog)
        else:
            self._settle(now)
            self._rearm(now)


UNLIMITED_BYTES = 16 * 1024 * 1024


class TransmitQueue:
    """The sending half of one station, in order. A bufferSize of -1 is a cap of 16 MiB.

    A copy waits, then it is in flight: outstanding under the token that the hardware will
    acknowledge, or on the wire until its last byte has left according to the line pacer.
    """

    def __init__(self, bufferSize: int) -> None:
        self.limit = UNLIMITED_BYTES if bufferSize < 0 else bufferSize
        self.full_reason = PacketRefused.CAP if bufferSize < 0 else PacketRefused.OVERFLOW
        self.waiting: deque[Copy] = deque()
        self.outstanding: dict[int, tuple[Copy, int]] = {}  # with the end of its last byte
        self.on_wire: deque[tuple[int, Copy, RefusedReason | None]] = deque()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self.waiting) + len(self.outstanding) + len(self.on_wire)

    def add(self, copy: Copy) -> bool:
        """Queue a copy; False when it does not fit."""
        size = len(copy.packet.data)
        if self.bytes + size > self.limit:
            return False
        self.waiting.append(copy)
        self.bytes += size
        return True

    def take(self) -> Copy:
        """Remove the head; the caller sends it or gives it up."""
        copy = self.waiting.popleft()
        self.bytes -= len(copy.packet.data)
        return copy

    def sent(
        self, copy: Copy, token: int | None, ends_ns: int, lost: RefusedReason | None = None
    ) -> None:
        """Keep a copy in flight: under a token, or until its last byte has left.

        lost: the reason why it does not count as delivered then.
        """
        if token is None:
            self.on_wire.append((ends_ns, copy, lost))
        else:
            self.outstanding[token] = copy, ends_ns

    def take_sent(self, now: int) -> tuple[Copy, RefusedReason | None] | None:
        """Remove a copy whose last byte has left by now, with the reason why it is lost, if it is.

        None when there is no such copy.
        """
        if self.on_wire and self.on_wire[0][0] <= now:
            _, copy, lost = self.on_wire.popleft()
            return copy, lost
        return None

    def drop_in_flight(self) -> int:
        """Give up the copies in flight; return their number."""
        count = len(self.outstanding) + len(self.on_wire)
        self.outstanding.clear()
        self.on_wire.clear()
        return count

    def drop_waiting(self) -> int:
        """Give up the copies that wait; return their number."""
        count = len(self.waiting)
        self.waiting.clear()
        self.bytes = 0
        return count
