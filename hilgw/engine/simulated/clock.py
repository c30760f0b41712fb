"""The clock of a simulated run: time is where its event loop has set it."""

import heapq

from hilgw.engine.event_loop.scheduler import Deadlines
from hilgw.units import NS_PER_S


class SimulatedClock(Deadlines):
    """A `hilgw.transports.base.Scheduler`, with the close() of `hilgw.engine.event_loop.scheduler`.

    time: integer nanoseconds; it always begins at the same value, so that two runs are equal to the
    nanosecond. It advances in step() only: callbacks run exactly at their times, in the order of
    their times and, at equal times, of their calls.
    """

    def __init__(self, time_ns: int = NS_PER_S) -> None:
        super().__init__()
        self.time = time_ns

    def now(self) -> int:
        return self.time

    def next(self) -> int | None:
        """Return the time of the first callback that waits; None: there is none."""
        heap = self._heap
        while heap and heap[0][2].callback is None:
            heapq.heappop(heap)
            self._void -= 1
        return heap[0][0] if heap else None

    def step(self, end: int) -> bool:
        """Run the first callback that is due by `end`; return whether there was one.

        If not, the time is `end`.
        """
        heap = self._heap
        while heap and heap[0][0] <= end:
            when, _, deadline = heapq.heappop(heap)
            callback, deadline.callback = deadline.callback, None
            if callback is None:
                self._void -= 1
                continue
            deadline._timer = None
            if when > self.time:
                self.time = when
            callback()
            return True
        if end > self.time:
            self.time = end
        return False
