"""The subscribers of a gateway's control socket: each reads the events that it asked for.

An event is encoded once, for all subscribers that take it, in a later turn of the event loop: few
in each, so that nothing waits long for them. Nothing is built where no subscriber takes its kind. A
subscriber that reads slowly loses events, which are counted; the gateway never waits for it. Of
each kind, RATE events a second pass, and of those of TRAFFIC as many as a subscriber has enough of;
what exceeds that is left out and counted.
"""

import asyncio
import socket
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, count
from typing import Any

from hilgw.devices.kinds import Device
from hilgw.engine.observer import Observers
from hilgw.engine.recording.event_stream import OBSERVED, EventStream
from hilgw.engine.reporting.status import StatusSteps, make_in_turns
from hilgw.events import kinds as events, wire
from hilgw.protocols.gateway.requests import RATE
from hilgw.records import record
from hilgw.transports.base import Handle, Scheduler
from hilgw.units import NS_PER_MS, NS_PER_S

WINDOW_NS = 100 * NS_PER_MS
TRAFFIC = {events.Packet, events.Delivered, events.Frame, events.Bytes}
"""The kinds of which some are enough for one who looks: not states, and not what programs print."""
BUFFER_BYTES = 256 * 1024
"""What waits for a subscriber at most; and that of the data of events that are not encoded yet."""
STATUS = events.NAMES[events.StatusJson]
END: Any = object()  # of the states that a subscriber has asked for
TOGETHER = 5
"""Events that are encoded in one turn of the event loop, at most."""
SEND_BYTES = 16 * 1024
SEND_NS = 10 * NS_PER_MS
"""What is sent at once, about, and how long more may come before it is sent, after what was sent
last: each time a reader wakes, it takes the processor from others."""
Times = tuple[int, int, float, int]
"""Its number among all events, mono_ns, wall_s and time_ns."""
EVENT_BYTES = 512
"""What an event takes beside its data, about."""


@record
class Filter:
    """The choice of events that a subscriber takes.

    kinds: their names. names: of robots, stations, other parts, and devices as ROBOT.DEVICE; none:
    all. lost: only packets and requests that were lost. per_second: this many of each kind of
    TRAFFIC are enough.
    """

    kinds: frozenset[str] = frozenset(events.LIVE)
    names: frozenset[str] = frozenset()
    lost: bool = False
    per_second: int = RATE

    def takes(self, kind: str, names: Sequence[str], *, lost: bool) -> bool:
        """Return whether an event of this kind about these names passes.

        lost: it reports a loss.
        """
        if kind not in self.kinds or (self.lost and not lost):
            return False
        return not self.names or any(events.is_chosen(name, self.names) for name in names)


def in_window(per_second: int) -> int:
    """Return how many of this many a second pass in one window: they do not come evenly."""
    return max(per_second * 5 // 4 * WINDOW_NS // NS_PER_S, 1)


IN_WINDOW = in_window(RATE)


class Subscriber:
    """A connection that gets events.

    slow: how many events it lost since the last `left_out`, as it reads too slowly; sampled: those
    of each kind that it would have got, as more came than may pass. states: those of all parts that
    it has asked for and does not have yet; owed: the newest states that did not pass, with their
    times. is_served: some of them follow soon.
    """

    def __init__(
        self, connection: socket.socket, chosen: Filter, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.chosen = chosen
        self.slow = 0
        self.sampled: Counter[str] = Counter()
        self.states: Iterator[events.Cell | None] = iter(())
        self.owed: dict[tuple[Any, ...], tuple[Any, Times]] = {}
        self.is_served = False
        self._connection, self._loop = connection, loop
        self._waiting = bytearray()
        self._will_send = self._is_blocked = False
        self._passed: Counter[Any] = Counter()  # in this window: of each kind, and of each name

    def passes(self, kind: type[Any], name: str, *, lost: bool) -> bool:
        """Return whether the subscriber gets an event that it takes.

        False when it has enough of this kind. The first of each name, and the first lost one,
        always pass: who sends much hides no one who sends little.
        """
        if kind not in TRAFFIC or (most := self.chosen.per_second) == RATE:
            return True
        self._passed[kind] += 1
        self._passed[series := (kind, name, lost)] += 1
        if self._passed[kind] <= in_window(most) or self._passed[series] == 1:
            return True
        self.sampled[events.NAMES[kind]] += 1
        return False

    def next_window(self) -> None:
        """Begin a new window, in which nothing has passed yet."""
        self._passed.clear()

    def put(self, line: bytes | bytearray, room: int = BUFFER_BYTES) -> bool:
        """Queue the line for `send_soon`, or until enough of them wait.

        False: it is lost, as too much waits. room: for what waits, in bytes; a line that is alone
        may be longer.
        """
        if self._waiting and len(self._waiting) + len(line) > room:
            return False
        self._waiting += line
        if len(self._waiting) > SEND_BYTES:
            self.send_soon()
        return True

    def send_soon(self) -> None:
        """Send what waits, in a later turn of the event loop."""
        if self._waiting and not (self._will_send or self._is_blocked):
            self._will_send = True
            self._loop.call_soon(self._send)

    @property
    def has_room(self) -> bool:
        """True if it reads what it is sent, so that it may get more states."""
        return len(self._waiting) <= BUFFER_BYTES // 4

    def owe(self, state: Any, times: Times) -> None:
        """Owe the subscriber this state, which it gets later.

        Of two of the same, the newer one is kept, and the other is counted.
        """
        known = self.owed.pop(key := events.cell_of(state), None)
        self.sampled[events.NAMES[key[0]]] += known is not None
        self.owed[key] = (state, times) if known is None or known[1] <= times else known

    def settle(self, state: Any, times: Times) -> None:
        """Drop an older state of the same that is still owed: the subscriber gets this one."""
        known = self.owed.get(key := events.cell_of(state))
        if known is not None and known[1] <= times:
            del self.owed[key]
            self.sampled[events.NAMES[key[0]]] += 1

    def lose(self, event: Any, times: Times) -> None:
        """Count an event that the subscriber does not get, or what it counts.

        A state it gets later.
        """
        if type(event) in events.CELLS:
            self.owe(event, times)
            return
        left = event if isinstance(event, events.LeftOut) else events.LeftOut({}, 1)
        self.sampled.update(left.sampled)
        self.slow += left.slow

    def close(self) -> None:
        """Send what can be sent now, and then nothing any more; the connection stays open."""
        self._send()
        if self._is_blocked:
            self._loop.remove_writer(self._connection)
        self._waiting.clear()
        self._is_blocked = True  # nothing is sent any more

    def _send(self) -> None:
        self._will_send = False
        try:
            sent = self._connection.send(self._waiting) if self._waiting else 0
        except BlockingIOError:
            sent = 0
        except OSError:
            self._waiting.clear()  # it left: who reads its requests notices that
            return
        del self._waiting[:sent]
        if bool(self._waiting) is not self._is_blocked:
            self._is_blocked = bool(self._waiting)
            if self._is_blocked:
                self._loop.add_writer(self._connection, self._send)
            else:
                self._loop.remove_writer(self._connection)


class Subscriptions(EventStream):
    """The subscribers of one gateway.

    scheduler: of the gateway's time, simulated or not; clock: of real time. device: that of a
    robot, by both names; None where it is not known. status: makes the event of each second; empty:
    there is none.
    """

    def __init__(
        self,
        observers: Observers,
        scheduler: Scheduler,
        clock: Scheduler,
        device: Callable[[str, str], Device | None],
        wall: Callable[[], float] = time.time,
        status: Callable[[], StatusSteps] = lambda: iter(()),
    ) -> None:
        super().__init__(device=device)
        self._observers = observers
        self._scheduler, self._clock, self._wall = scheduler, clock, wall
        self._status, self._status_ns = status, clock.now() + NS_PER_S
        self._subscribers: list[Subscriber] = []
        self._passed: Counter[type[Any]] = Counter()  # in this window
        self._timer: Handle | None = None
        self._sending: Handle | None = None
        self._sent_ns = -SEND_NS
        self._numbers = count()
        self._waiting: deque[Any] = deque()  # takers, the event, its bytes, its times
        self._waiting_bytes = 0  # about

    def add(self, subscriber: Subscriber) -> None:
        """Give the subscriber its events from now on.

        One that was added before, as `chosen` is now.
        """
        if subscriber not in self._subscribers:
            self._subscribers.append(subscriber)
        self._observe()
        if self._timer is None:
            self._next_window()

    def show(self, subscriber: Subscriber, states: Iterable[events.Cell]) -> None:
        """Give the subscriber those of these states that it takes, as fast as it reads them."""
        status = self._status() if STATUS in subscriber.chosen.kinds else ()
        now = self._scheduler.now
        first = (made and replace(made, since_ns=now()) for made in status)
        subscriber.states = chain(first, states)
        self._serve(subscriber)

    def _serve(self, subscriber: Subscriber, is_due: bool = False) -> None:
        """Give the subscriber some of the states that it is owed or has asked for.

        More follow in a later turn of the event loop. is_due: this is such a turn.
        """
        if subscriber not in self._subscribers or (subscriber.is_served and not is_due):
            return
        subscriber.is_served, most = True, TOGETHER if subscriber.has_room else 0
        for _ in range(most):
            owed = (key for key in subscriber.owed if self._passed[key[0]] < IN_WINDOW)
            if (key := next(owed, None)) is not None:
                self._passed[key[0]] += 1
                self._wait([subscriber], *subscriber.owed.pop(key))
            elif (state := next(subscriber.states, END)) is None:
                continue  # a part of the status was made
            elif state is not END:
                kind, *names = events.cell_of(state)
                about = [f"{names[0]}.{names[-1]}"] if len(names) > 1 else names
                if subscriber.chosen.takes(events.NAMES[kind], about, lost=False):
                    self._wait([subscriber], state, self._times(state))
            else:
                subscriber.is_served = False
                return
        if most:
            asyncio.get_running_loop().call_soon(self._serve, subscriber, True)
        else:  # it has not read what it was sent
            self._clock.call_at(
                self._clock.now() + SEND_NS, partial(self._serve, subscriber, is_due=True)
            )

    def remove(self, subscriber: Subscriber) -> None:
        """Remove the subscriber, which gets no more. Nothing happens to one that was not added."""
        if subscriber in self._subscribers:
            self.encode()
            self._subscribers.remove(subscriber)
            subscriber.close()
            self._observe()

    def _observe(self) -> None:
        taken = {name for each in self._subscribers for name in each.chosen.kinds}
        kinds = [method for name, method in OBSERVED.items() if name in taken]
        if kinds:
            self._observers.add(self, kinds)
        else:
            self._observers.remove(self)

    def _next_window(self) -> None:
        self._passed.clear()
        if not self._subscribers:
            self._timer = None
            return
        if (now := self._clock.now()) >= self._status_ns:
            self._status_ns = now + NS_PER_S
            if self.takers(events.StatusJson, ""):
                make_in_turns(self._status(), self._emit_status)
        for subscriber in self._subscribers:
            subscriber.next_window()
            if subscriber.owed:
                self._serve(subscriber)
            if subscriber.sampled or subscriber.slow:
                self.emit([subscriber], events.LeftOut(dict(subscriber.sampled), subscriber.slow))
                subscriber.slow, subscriber.sampled = 0, Counter()
        self._timer = self._clock.call_at(now + WINDOW_NS, self._next_window)

    def _emit_status(self, made: events.StatusJson) -> None:
        if takers := self.takers(events.StatusJson, ""):
            self.emit(takers, made)

    def takers(self, kind: type[Any], *names: str, lost: bool = False) -> list[Subscriber]:
        """Return who takes an event of this kind about these names; none where it is left out."""
        name = events.NAMES[kind]
        takers = [
            each
            for each in self._subscribers
            if each.chosen.takes(name, names, lost=lost) and each.passes(kind, names[0], lost=lost)
        ]
        if takers:
            self._passed[kind] += 1
            if kind not in events.CELLS and self._passed[kind] > IN_WINDOW:
                for subscriber in takers:
                    subscriber.sampled[name] += 1
                return []
        return takers

    def emit(self, takers: Sequence[Subscriber], event: Any) -> None:
        kind, times = type(event), self._times(event)
        if kind in events.CELLS:
            for subscriber in takers:
                if subscriber.owed or self._passed[kind] > IN_WINDOW:
                    subscriber.owe(event, times)
            takers = [each for each in takers if not each.owed]
        if takers:
            data = event.data if "data" in events.FIELDS[kind] else ""
            self._wait(takers, event, times, len(data))

    def _times(self, event: Any = None) -> Times:
        """Return the present times; for a state that is repeated, those of its origin."""
        mono_ns, wall_s, time_ns = self._clock.now(), self._wall(), self._scheduler.now()
        is_old = type(event) in events.CELLS and event.since_ns is not None
        age_ns = time_ns - event.since_ns if is_old else 0
        return next(self._numbers), mono_ns - age_ns, wall_s - age_ns / NS_PER_S, time_ns - age_ns

    def pass_on(self, kind: type[Any], values: tuple[Any, ...]) -> None:
        self._wait(None, (kind, values), self._times(), 2 * len(values[wire.DATA_AT[kind]]))

    def _wait(
        self, takers: Sequence[Subscriber] | None, event: Any, times: Times, size: int = 0
    ) -> None:
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._encode_some)
        self._waiting.append((takers, event, size + EVENT_BYTES, times))
        self._waiting_bytes += size + EVENT_BYTES
        while self._waiting_bytes > BUFFER_BYTES:
            self.encode(1)

    def encode(self, most: int = sys.maxsize) -> None:
        """Encode at most this many of the events that wait for it."""
        for _ in range(min(most, len(self._waiting))):
            takers, event, size, times = self._waiting.popleft()
            _, mono_ns, wall_s, time_ns = times
            self._waiting_bytes -= size
            wall_s = round(wall_s, 6)
            if takers is not None:
                line = wire.encode_event(event, mono_ns, wall_s, time_ns)
            elif takers := self.takers_of(*event):
                kind, values = event
                line = wire.encode_with_data(kind, values, mono_ns, wall_s, time_ns)
            else:
                continue
            for subscriber in takers:
                if not subscriber.put(line):
                    subscriber.lose(event, times)
                elif subscriber.owed and type(event) in events.CELLS:
                    subscriber.settle(event, times)
        if not self._waiting and self._sending is None:
            if (due := self._sent_ns + SEND_NS) <= self._clock.now():
                self._send()
            else:
                self._sending = self._clock.call_at(due, self._send)

    def _send(self) -> None:
        self._sending, self._sent_ns = None, self._clock.now()
        for subscriber in self._subscribers:
            subscriber.send_soon()

    def _encode_some(self) -> None:
        try:
            self.encode(TOGETHER)
        finally:
            if self._waiting:
                asyncio.get_running_loop().call_soon(self._encode_some)
