"""Notices on a station that has nothing to report.

Its packets wait for a port, or go out and nothing comes back.
"""

from collections.abc import Callable
from dataclasses import replace

from hilgw.engine.observer import Observer, State
from hilgw.events.words import of_port
from hilgw.records import record
from hilgw.transports.base import Scheduler, Wakeup
from hilgw.units import NS_PER_S, ns_to_s

CHECK_NS = NS_PER_S
WAITS_NS = 2 * NS_PER_S  # a handshake is over by then
REPEAT_NS = 10 * NS_PER_S
SILENT_NS = 5 * NS_PER_S
MANY = 5  # packets out: those of one that sends each second


@record
class StationTraffic:
    """Counts of what a station has done so far.

    state, reason: of its port. connections: how often that was up. delivered, unacknowledged:
    packets that have left. received: packets. received_ns: when bytes came last; 0 where they do
    not show that the other end sends: its own echo, acknowledgements.
    """

    state: State
    reason: str
    connections: int
    queued: int
    delivered: int
    unacknowledged: int
    received: int
    received_ns: int

    @property
    def sent(self) -> int:
        return self.delivered + self.unacknowledged


NOTHING = StationTraffic(State.CLOSED, "", 0, 0, 0, 0, 0, 0)


class StationWatch:
    """The judge of one station. causes: what is likely wrong where nothing comes back."""

    def __init__(self, causes: str) -> None:
        self._causes = causes
        self._waits_since: int | None = None
        self._shown_ns = 0
        self._before, self._before_ns = NOTHING, 0  # of the last look
        self._first: StationTraffic | None = (
            None  # of this connection, before its first packet had left
        )
        self._first_ns = 0

    def look(self, now: int, traffic: StationTraffic, *, is_listening: bool) -> str:
        """Return the line for the user; mostly empty.

        is_listening: something waits for its packets.
        """
        if traffic.state is not State.UP:
            text = self._waiting(now, traffic) if traffic.queued else ""
        else:
            self._waits_since = None
            text = self._unanswered(now, traffic, is_listening=is_listening)
        self._before, self._before_ns = traffic, now
        return text

    def _waiting(self, now: int, traffic: StationTraffic) -> str:
        """Return the line about a port that is down while packets wait for it.

        Reported again and again.
        """
        if self._waits_since is None:
            self._waits_since, self._shown_ns = now, now - REPEAT_NS
        if now - self._waits_since < WAITS_NS or now - self._shown_ns < REPEAT_NS:
            return ""
        self._shown_ns = now
        why = of_port({"state": traffic.state, "reason": traffic.reason})
        return f"queued {traffic.queued}, sent {traffic.sent}: waits for its port ({why})"

    def _unanswered(self, now: int, traffic: StationTraffic, *, is_listening: bool) -> str:
        """Return the line about many packets sent and nothing back, once for each connection.

        Bytes that are no packet are reported by the session.
        """
        if traffic.connections != self._before.connections:
            # The bytes of the handshake are no answer to a packet.
            self._first = replace(self._before, received_ns=traffic.received_ns)
            self._first_ns = self._before_ns
        first = self._first
        if first is None:
            return ""
        if self._before.sent == first.sent:
            self._first_ns = self._before_ns  # the time begins with the first packet
        came = traffic.received != first.received or traffic.received_ns != first.received_ns
        if came or (not is_listening and traffic.delivered != first.delivered):
            self._first = None
            return ""
        sent = traffic.sent - first.sent
        if sent < MANY or now - self._first_ns < SILENT_NS:
            return ""
        self._first = None
        seconds = f"{ns_to_s(now - self._first_ns):.0f} s"
        text = "nothing came back" if is_listening else "none was acknowledged"
        return f"{sent} packets out in {seconds}, and {text}; check {self._causes}"


class StationWatches:
    """The watch that looks at all stations once a second."""

    def __init__(self, scheduler: Scheduler, observer: Observer) -> None:
        self._scheduler = scheduler
        self._observer = observer
        self._stations: dict[
            str, tuple[StationWatch, Callable[[], StationTraffic], Callable[[], bool]]
        ] = {}
        self._wakeup = Wakeup(scheduler, lambda _: self._look())

    def add(
        self,
        name: str,
        causes: str,
        traffic: Callable[[], StationTraffic],
        is_listening: Callable[[], bool],
    ) -> None:
        self._stations[name] = StationWatch(causes), traffic, is_listening

    def start(self) -> None:
        if self._stations:
            self._look()

    def stop(self) -> None:
        self._wakeup.set(None)

    def _look(self) -> None:
        now = self._scheduler.now()
        for name, (watch, traffic, is_listening) in self._stations.items():
            if text := watch.look(now, traffic(), is_listening=is_listening()):
                self._observer.notice(name, text)
        self._wakeup.set(now + CHECK_NS)
