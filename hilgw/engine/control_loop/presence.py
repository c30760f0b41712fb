"""Presence of a robot's controller, and what the user can do where none runs."""

from hilgw.engine.control_loop.parts import LoopContext, LoopController
from hilgw.engine.processes.processes import ProgramState
from hilgw.transports.base import Wakeup
from hilgw.units import NS_PER_S

NONE_RUNS = "no controller runs"
# From the return of a body until its controller should be there: libController tries each second.
RETURN_NS = 2 * NS_PER_S


class Presence:
    """The controller of one control loop. is_connected: one of another process is there."""

    def __init__(self, context: LoopContext, controller: LoopController) -> None:
        self.is_connected = False
        self._link = controller.link
        self._advice = controller.advice
        self._clock = controller.clock
        self._notices = context.notices
        self._body_was_lost = False
        self._wakeup = Wakeup(controller.clock, lambda due: self._show())

    def absence(self) -> str:
        """State that no controller runs, and what to do.

        Empty where one runs, or is a part of the gateway. A program runs before it connects, too.
        """
        program = self._link.supervisor.program
        if program is not None:
            runs = program.state is ProgramState.RUNNING
            return "" if runs else f"{NONE_RUNS}: {program.reason}"
        if self.is_connected:
            return ""
        advice = self._link.supervisor.advice if self._advice is None else self._advice
        return f"{NONE_RUNS}: {advice}" if advice else ""

    def body_lost(self) -> None:
        self._body_was_lost = True
        self.close()

    def body_up(self) -> None:
        """Handle a body that has registered its devices.

        Where it comes back and the controller does not, the user gets a notice. A program that
        waits for its body starts now, without one.
        """
        was_lost, self._body_was_lost = self._body_was_lost, False
        if not was_lost:
            return
        if (program := self._link.supervisor.program) is None:
            self._wakeup.set(self._clock.now() + RETURN_NS)
        elif program.state is ProgramState.DOWN:
            self._show()

    def close(self) -> None:
        """Show nothing any more."""
        self._wakeup.set(None)

    def _show(self) -> None:
        if text := self.absence():
            self._notices.add(text)
