"""A control loop's controller that is stepped: its requests, their answers, repeated commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hilgw.engine.control_loop.stepping import Stepper
from hilgw.engine.simulated.pace import Hold

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hilgw.control.events import StepRequest
    from hilgw.engine.control_loop.body_ends import BodyEnds
    from hilgw.engine.control_loop.peer_link import PeerLink
    from hilgw.engine.control_loop.stepping import StepGrid
    from hilgw.engine.simulated.pace import Holds
    from hilgw.engine.statistics import ControlLoopStatistics
    from hilgw.transports.base import Scheduler


LATE_STEP = "the controller asked too late for its next step; the report counts late_steps"


class ControllerSteps:
    """The controller asks for steps, which end on a grid; each is answered once."""

    def __init__(
        self,
        controller: PeerLink[Any],
        bodies: BodyEnds,
        grid: StepGrid,
        scheduler: Scheduler,
        statistics: ControlLoopStatistics,
        notice: Callable[[str], None],
        *,
        synchronization: bool,
        holds: Holds | None,
    ) -> None:
        """notice(text): called for a step that ends late. holds: where the controller makes
        simulated time wait; None: nowhere."""
        self._controller = controller
        self._bodies = bodies
        self._scheduler = scheduler
        self._statistics = statistics
        self._notice = notice
        statistics.counts["late_steps"] = 0
        longest_ns = bodies.safety.state.timeout_ns
        self._stepper = Stepper(
            grid,
            self._answer,
            self._ended_late,
            synchronization=synchronization,
            hold=None if holds is None else Hold(holds, controller.name, longest_ns),
        )
        for end in bodies:
            end.repeat_commands()

    def expect(self) -> None:
        """The controller is free to compute: simulated time waits for its next request."""
        self._stepper.expect()

    def reset(self) -> None:
        """The controller is gone, or has to go."""
        self._stepper.reset()

    def request(self, event: StepRequest, now: int) -> None:
        bodies = self._bodies
        bodies.repeat(now)
        bodies.suspend_deadlines()
        self._stepper.request(event.duration_ms)

    # --- the user -----------------------------------------------------------------------------

    def press(self, keys: Sequence[int], hold_ns: int) -> None:
        """Keys are down for so long of simulated time. HilgwError when nothing reads them."""
        now = self._controller.checked_now()
        self._controller.handle(self._controller.session.press(keys, hold_ns), now)

    def say(self, text: str) -> None:
        """A text for the controller, as from its robot window. HilgwError when it takes none."""
        now = self._controller.checked_now()
        self._controller.handle(self._controller.session.say(text), now)

    def show_paths(self, project: str, world: str) -> None:
        """What the controller learns as its project and world."""
        self._controller.session.show_paths(project, world)

    def report(self) -> dict[str, Any]:
        """The part `robot` of the control loop's report."""
        found: dict[str, Any] = self._controller.session.robot_report()
        return found

    # --- answers ------------------------------------------------------------------------------

    def _answer(self, time_ns: int, delay_ms: int) -> None:
        controller, now = self._controller, self._scheduler.now()
        session = controller.session
        session.armed = self._bodies.safety.state.armed
        try:
            events = session.answer(time_ns, delay_ms)
        except Exception as error:  # noqa: BLE001 - as in PeerLink.call, without its allocation
            controller.fault(error)
        else:
            controller.handle(events, now)
        self._bodies.resume_deadlines(now)

    def _ended_late(self, delay_ms: int) -> None:
        self._statistics.counts["late_steps"] += 1
        self._notice(f"a step ended {delay_ms} ms late: {LATE_STEP}")
