"""The jumps of a simulated clock: when it may jump, and how far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hilgw.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from hilgw.engine.simulated.clock import SimulatedClock
    from hilgw.engine.simulated.pace import Pace


class Jumps:
    """The jumps of an event loop's clock: to the next deadline, of the event loop or of the clock.

    on_fault: gets what a callback of the clock raises; None: it is raised.
    """

    def __init__(self, clock: SimulatedClock, pace: Pace) -> None:
        self.on_fault: Callable[[Exception], None] | None = None
        self.clock = clock
        self.pace = pace

    def over(self, timeout: float | None) -> int | None:
        """The time at which a select() with this timeout is over; None: never."""
        return None if timeout is None else self.clock.time + round(timeout * NS_PER_S)

    def end(self, over: int | None) -> int | None:
        """Where the next jump ends; None: nowhere, only an event from outside can help."""
        due = self.clock.next()
        if due is None or over is None:
            return over if due is None else due
        return min(due, over)

    def wait_s(self, end: int) -> float | None:
        """Real seconds until this jump may be made; 0: now; None: only an event from outside ends
        the wait."""
        time = self.clock.time
        return 0.0 if end <= time else self.pace.wait_s(time, end)

    def interrupted(self, end: int) -> None:
        """Something came from outside during the wait for this jump."""
        self.clock.time = self.pace.reached(self.clock.time, end)

    def jump(self, end: int) -> None:
        """Runs the first callback that is due then, or advances the time without one."""
        try:
            self.clock.step(end)
        except Exception as error:
            if self.on_fault is None:
                raise
            self.on_fault(error)
