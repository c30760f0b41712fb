"""The order in which the Emitters and Receivers of a gateway act.

By time; at one instant, first packets depart, then Receivers sample, then controllers get what is
theirs: first packets, then the end of their step. So it does not matter in which order timers fire,
nor how late: a packet that departs at a step end is read at that step end, and a controller that
acts at a step end acts after it.
"""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush

from hilgw.devices.steps import StepClock
from hilgw.engine.event_loop.scheduler import LazyHeap
from hilgw.transports.base import Scheduler, Wakeup

DEPARTURE, SAMPLE, STEP = 0, 1, 2


class Entry:
    """The next action of a device. `act` gets the time it was set to."""

    __slots__ = ("_schedule", "act", "due", "number", "order")

    def __init__(self, schedule: "Schedule", order: tuple[int, int], act: Callable[[int], None]):
        self._schedule = schedule
        self.order = order
        self.act = act
        self.due: int | None = None  # ns
        self.number = 0  # of its place in the heap; any other one is void

    def set(self, due: int | None) -> None:
        """Act at this time and at no other; None: not at all."""
        if due != self.due:
            was, self.due = self.due, due
            self._schedule.moved(self, was is not None)


class Schedule(LazyHeap[tuple[int, tuple[int, int], int, Entry]]):
    """The schedule of all devices of one gateway.

    advance(end): sets simulated time to `end` at once, where nothing else is due by then; returns
    whether it did.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        steps: StepClock,
        advance: Callable[[int], bool] = lambda end: False,
    ) -> None:
        super().__init__(lambda entry: entry[2] != entry[3].number)
        self.steps = steps
        self.now = scheduler.now
        self._advance = advance
        self._entries = 0
        self._deliveries: deque[tuple[int, Callable[[], None]]] = deque()
        self._acting = False
        self._is_awake = False  # the alarm is set once, at the end
        self._wakeup = Wakeup(scheduler, self._wake)

    def advance(self, end: int) -> bool:
        """Set simulated time to `end` at once, where nothing else is due by then.

        Returns whether it did; never while it does what is due, which is not on the clock.
        """
        return not self._is_awake and self._advance(end)

    def add(self, phase: int, act: Callable[[int], None]) -> Entry:
        """Add a device that acts in this phase.

        Of one phase, those that were added first act first.
        """
        self._entries += 1
        return Entry(self, (phase, self._entries), act)

    def catch_up(self) -> None:
        """Do all that is due by now.

        Controllers get what is theirs afterwards, from the timer: so this may be called in the
        middle of what a controller does.
        """
        heap = self._heap
        if self._acting or not heap or heap[0][0] > (now := self.now()):
            return  # for each packet, and mostly nothing is due
        try:
            self._act(now)
        finally:
            self._arm()

    def set_and_catch_up(self, entry: Entry, due: int | None) -> None:
        """Set the time of an entry, then do as `catch_up`.

        Without an alarm for what is due already, which costs a lone packet more than all else here.
        """
        if self._acting:
            entry.set(due)
            return
        self._acting = True  # no alarm
        try:
            entry.set(due)
            self._act(self.now())
        finally:
            self._acting = False
            self._arm()

    def _act(self, now: int, *, by_instant: bool = False) -> None:
        """Do all that is due by `now`.

        by_instant: up to the first instant at which something is delivered to a controller.
        """
        self._acting = True
        heap, deliveries = self._heap, self._deliveries
        try:
            while heap and heap[0][0] <= now:
                if by_instant and deliveries and deliveries[0][0] < heap[0][0]:
                    break
                due, _, number, entry = heappop(heap)
                if number != entry.number:
                    self._void -= 1
                    continue
                entry.due, entry.number = None, 0
                entry.act(due)
        finally:
            self._acting = False

    def deliver(self, controller: Callable[[], None], time_ns: int) -> None:
        """Call the controller when all that is due by `at` is done.

        A timer that is late for several instants delivers what belongs to each before it does what
        is due at the next.
        """
        self._deliveries.append((time_ns, controller))

    def moved(self, entry: Entry, had_time: bool) -> None:
        """Queue an entry whose time has changed. had_time: it had one before."""
        entry.number = 0
        if entry.due is not None:
            self._count = entry.number = self._count + 1
            heappush(self._heap, (entry.due, entry.order, entry.number, entry))
        if had_time:
            self._forget()
        if not self._acting:
            self._arm()

    def _arm(self) -> None:
        if self._is_awake:
            return
        if self._deliveries:
            self._wakeup.set(self._deliveries[0][0])
        else:
            self._wakeup.set(self._heap[0][0] if self._heap else None)

    def _wake(self, due: int) -> None:
        self._is_awake = True
        now = self.now()  # what becomes due meanwhile waits for the next turn of the event loop
        try:
            self._act(now, by_instant=True)
            while self._deliveries:
                time_ns = self._deliveries[0][0]
                while self._deliveries and self._deliveries[0][0] <= time_ns:
                    self._deliveries.popleft()[1]()
                self._act(now, by_instant=True)
        finally:
            self._is_awake = False
            self._arm()
