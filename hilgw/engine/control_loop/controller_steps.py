"""The steps of the controller of a control loop: its requests, and their answers."""

from collections.abc import Sequence
from typing import Any

from hilgw.control.events import StepRequest
from hilgw.engine.control_loop.bodies.body_ends import BodyEnds
from hilgw.engine.control_loop.parts import LoopContext, LoopController
from hilgw.engine.control_loop.peer_link import PeerLink
from hilgw.engine.control_loop.stepping import Stepper, Stepping
from hilgw.engine.simulated.pace import Hold
from hilgw.errors import HilgwError
from hilgw.units import NS_PER_MS

LATE_STEP = "the controller asked too late for its next step; the report counts late_steps"


class NoSteps:
    """The steps of a controller that asks for none."""

    def __init__(self, context: LoopContext) -> None:
        self._context = context

    def expect(self) -> None:
        """Let simulated time wait for the next request: the controller is free to compute."""

    def request(self, event: StepRequest, now: int) -> None:
        """Take the controller's request for a step."""

    def reset(self, now: int) -> None:
        """Forget the steps of the controller, which is gone."""

    def end(self, now: int) -> None:
        """Have the controller end, as the gateway ends."""

    def has_left(self) -> bool:
        """Return whether the controller has disconnected after `end`."""
        return True

    def press(self, keys: Sequence[int], hold_ns: int) -> None:
        """Hold keys down for this long of simulated time. HilgwError when nothing reads them."""
        raise self._unknown()

    def say(self, text: str) -> None:
        """Send the controller a text, as from its robot window. HilgwError when it takes none."""
        raise self._unknown()

    def charge(self, energy_j: float) -> None:
        """Set the energy of the battery. HilgwError when it cannot have it."""
        raise self._unknown()

    def _unknown(self) -> HilgwError:
        return HilgwError(
            "the robot has no Webots controller",
            where=self._context.name,
            fix="give it a controller of kind webots or python",
        )

    def show_paths(self, project: str, world: str) -> None:
        """Give the controller the paths of its project and world."""

    def report(self) -> dict[str, Any]:
        """Return what a controller that is stepped adds to the control loop's report."""
        return {}


class ControllerSteps(NoSteps):
    """The controller asks for steps, which end on a grid; each is answered once."""

    def __init__(
        self,
        context: LoopContext,
        controller: PeerLink[Any],
        bodies: BodyEnds,
        stepping: Stepping,
    ) -> None:
        super().__init__(context)
        self._controller = controller
        self._bodies = bodies
        context.statistics.counts["late_steps"] = 0
        holds, longest_ns = stepping.holds, bodies.safety.state.timeout_ns
        self._stepper = Stepper(
            stepping.grid,
            self._answer,
            self._ended_late,
            synchronization=stepping.synchronization,
            sampler=self,
            hold=None if holds is None else Hold(holds, controller.name, longest_ns),
        )

    def expect(self) -> None:
        self._stepper.expect()

    def reset(self, now: int) -> None:
        self._stepper.reset()
        self._bodies.resume_deadlines(now)

    def end(self, now: int) -> None:
        self._stepper.reset()
        self._controller.call(now, self._controller.session.quit)

    def has_left(self) -> bool:
        return self._controller.transport is None

    def request(self, event: StepRequest, now: int) -> None:
        bodies = self._bodies
        bodies.repeat(now)
        for safety in bodies.safeties:
            safety.state.waits_for_us = True
        self._stepper.request(event.duration_ms)

    # --- the user -----------------------------------------------------------------------------

    def press(self, keys: Sequence[int], hold_ns: int) -> None:
        now = self._controller.checked_now()
        self._controller.handle(self._controller.session.press(keys, hold_ns), now)

    def say(self, text: str) -> None:
        now = self._controller.checked_now()
        self._controller.handle(self._controller.session.say(text), now)

    def charge(self, energy_j: float) -> None:
        self._controller.session.charge(energy_j)

    def show_paths(self, project: str, world: str) -> None:
        self._controller.session.show_paths(project, world)

    def report(self) -> dict[str, Any]:
        return {"robot": self._controller.session.robot_report()}

    # --- answers ------------------------------------------------------------------------------

    def next_sample(self) -> int | None:
        due: int | None = self._controller.ask(None, self._controller.session.next_sample)
        return due

    def sample(self, time_ns: int) -> None:
        self._controller.ask(None, self._controller.session.sample, time_ns)

    def _answer(self, time_ns: int, delay_ms: int) -> None:
        controller, now = self._controller, self._context.scheduler.now()
        controller.session.armed = self._bodies.safety.state.armed
        controller.call(now, controller.session.answer, time_ns, delay_ms)
        self._bodies.resume_deadlines(now)

    def _ended_late(self, delay_ms: int) -> None:
        self._context.statistics.counts["late_steps"] += 1
        self._context.statistics.lateness.add(delay_ms * NS_PER_MS)
        self._context.notices.add(f"a step ended {delay_ms} ms late: {LATE_STEP}", LATE_STEP)


def steps_of(context: LoopContext, controller: LoopController, bodies: BodyEnds) -> NoSteps:
    """Return the steps of this controller, which may ask for none."""
    if controller.stepping is None:
        return NoSteps(context)
    return ControllerSteps(context, controller.link, bodies, controller.stepping)
