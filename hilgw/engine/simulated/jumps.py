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

    def next(self, over: int | None) -> tuple[int, float | None]:
        """Where the next jump ends, and the real seconds until it may be made: 0: now; None: only
        an event from outside ends the wait."""
        clock = self.clock
        time, end = clock.time, clock.next()
        if end is None or (over is not None and over < end):
            if over is None:
                return time, None
            end = over
        return end, 0.0 if end <= time else self.pace.wait_s(time, end)

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
