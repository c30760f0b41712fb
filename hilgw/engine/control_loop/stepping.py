"""Steps of stepped controllers, which end on one grid that waits for no controller.

A step takes whole basic steps, as in Webots. It begins where the step before it ended, so a
controller that computes for a part of its step keeps its period. One that asks too late misses step
ends: with synchronization, its step ends at the next step end, and step() returns 0 as in Webots,
where the simulation would have waited. Without synchronization the step ends where it should have,
or at once when that is past, and step() returns the delay of the request, in ms of the grid
(Webots reference manual, wb_robot_step).

Within a step of several basic steps, sensors and Receivers are sampled at the basic steps at which
they are due, as in Webots; the controller gets the samples at the end of its step.

All times are those of the schedule, so a simulated clock behind it moves the grid.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from hilgw.devices.steps import StepClock
from hilgw.engine.robot.schedule import STEP, Schedule
from hilgw.engine.simulated.pace import Hold, Holds
from hilgw.units import NS_PER_MS


@dataclass(frozen=True, slots=True)
class StepGrid:
    """The step ends of one gateway. steps: with a step of more than 0."""

    schedule: Schedule
    steps: StepClock

    @property
    def step_ms(self) -> int:
        return self.steps.step_ns // NS_PER_MS


@dataclass(frozen=True, slots=True)
class Stepping:
    """A controller asks for steps, which end on this grid.

    holds: where the controller makes simulated time wait; None: nowhere.
    """

    grid: StepGrid
    synchronization: bool
    holds: Holds | None = None


class Sampler(Protocol):
    """Sensors that a controller has enabled; see `hilgw.controllers.base.SteppedSession`."""

    def next_sample(self) -> int | None: ...

    def sample(self, time_ns: int) -> None: ...


class Stepper:
    """The steps of one controller.

    answer(time_ns, delay_ms) is called once for each request, with the simulation time and what
    step() returns; on_late(delay_ms) for a step that ends late. sampler: samples within a step;
    None: nothing does. hold: of simulated time, which waits for the controller; None: nothing waits
    for it.
    """

    def __init__(
        self,
        grid: StepGrid,
        answer: Callable[[int, int], None],
        on_late: Callable[[int], None],
        *,
        synchronization: bool,
        sampler: Sampler | None = None,
        hold: Hold | None = None,
    ) -> None:
        self._hold = hold
        self._sampler = sampler
        self._grid = grid
        self._answer = answer
        self._on_late = on_late
        self._synchronization = synchronization
        self._entry = grid.schedule.add(STEP, self._reached)
        self._end: int | None = None  # of the last step, ns; None before the first
        self._delay_ms = 0  # of the request that waits
        self._due: int | None = None  # the step end that it waits for; None: none waits

    def expect(self) -> None:
        """Expect a request: the controller is free to compute, and simulated time waits for it."""
        if self._hold is not None:
            self._hold.begin()

    def request(self, duration_ms: int) -> None:
        """Take the request of a step; 0: for an immediate answer, which takes no time."""
        if self._hold is not None:
            self._hold.release()
        schedule, steps, last = self._grid.schedule, self._grid.steps, self._end
        now = schedule.now()
        began = now if now == last else steps.last(now)
        if not duration_ms:
            self._respond(began, 0)
            return
        if last is None:
            last = began
        due = steps.end(last + duration_ms * NS_PER_MS)
        if self._synchronization:
            end, delay_ms = max(due, began + steps.step_ns), 0
        else:
            end, delay_ms = max(due, began), (began - last) // NS_PER_MS
        self._end = end
        if end > due:
            self._on_late((end - due) // NS_PER_MS)
        self._delay_ms = delay_ms
        self._pass(began, end)

    def reset(self) -> None:
        """Forget the controller, which is gone."""
        self._entry.set(None)
        self._end = self._due = None
        if self._hold is not None:
            self._hold.release()

    def _pass(self, step_end: int, end: int) -> None:
        while step_end < end:
            if self._end != end:
                return  # the sample failed: the controller is gone
            step_end = self._next(step_end, end)
            if not self._grid.schedule.advance(step_end):
                self._due = step_end
                self._entry.set(step_end)
                return
            if step_end < end:
                self._sample(step_end)
        self._respond(end, self._delay_ms)

    def _next(self, step_end: int, end: int) -> int:
        steps, sampler = self._grid.steps, self._sampler
        if sampler is None or end - step_end <= steps.step_ns:
            return end
        due = sampler.next_sample()
        if due is None:
            return end
        return min(
            max(steps.end(step_end + due - steps.time(step_end)), step_end + steps.step_ns), end
        )

    def _sample(self, step_end: int) -> None:
        assert self._sampler is not None
        self._sampler.sample(self._grid.steps.time(step_end))

    def _reached(self, step_end: int) -> None:
        self._grid.schedule.deliver(lambda: self._step_is_over(step_end), step_end)

    def _step_is_over(self, step_end: int) -> None:
        """End the step; the controller may have gone meanwhile, and another one may be there."""
        end = self._end
        if self._due != step_end or end is None:
            return
        self._due = None
        if step_end < end:
            self._sample(step_end)
        self._pass(step_end, end)

    def _respond(self, end: int, delay_ms: int) -> None:
        self._answer(self._grid.steps.time(end), delay_ms)
        if self._hold is not None:
            self._hold.begin()
