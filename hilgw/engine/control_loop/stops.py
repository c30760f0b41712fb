"""The stops of one body: how often each is written, and whether it has left.

A serial line may damage a stop, so it is written several times, REPEAT_NS apart. The copies end
with the next accepted command of their motor, or when the robot is armed. A session that
repeats its stop itself, or needs no copies (`StopPlan.copies` is 0), is only watched until
the stop has left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hilgw.control.events import Command, StopPlan, StopReason, Write
from hilgw.control.safety import BY_HAND
from hilgw.devices.kinds import MOTOR
from hilgw.transports.base import Scheduler, Wakeup
from hilgw.units import NS_PER_MS

if TYPE_CHECKING:
    from hilgw.bodies.base import BodySession
    from hilgw.engine.control_loop.peer_link import PeerLink

REPEAT_NS = 30 * NS_PER_MS
LOOK_NS = 5 * NS_PER_MS
LEAVE_NS = 700 * NS_PER_MS
"""A line that has not sent a stop after this time takes no bytes."""
STEP_NS = 300 * NS_PER_MS
"""A stop waits this long for the next step of a simulation."""
STALLED = "the line takes no bytes"
STANDS_STILL = "the simulation stands still, and gets the stop with its next step"
LOST = "the connection was lost"
UNANSWERED = "the robot has not answered it"


class Stops:
    """took: whether the connection took the last stop of all motors.

    unconfirmed: why that stop is not known to have left; empty where it has, and as long as it may.
    inform: shows the user a line about this body.
    """

    def __init__(
        self, body: PeerLink[BodySession], scheduler: Scheduler, inform: Callable[[str], None]
    ) -> None:
        self.took = True
        self.unconfirmed = ""
        self._body = body
        self._inform = inform
        self._wakeup = Wakeup(scheduler, self._look)
        self._again: dict[int | None, int] = {}  # copies to come, by motor; None: of all motors
        self._copies = 0  # written of a stop of all motors; 0: its session asks the robot
        self._waits = False  # the stop waits in the session
        self._reason: StopReason | None = None  # of the last stop, None after a command
        self._written_ns = self._late_ns = 0
        self._on_left: Callable[[str], None] | None = None

    @property
    def is_over(self) -> bool:
        """True if the last stop has left with all its copies, or never will."""
        return self._wakeup.at is None

    @property
    def is_leaving(self) -> bool:
        """True if the last stop may still leave, and has not yet."""
        return not self.is_over and not self._has_left()

    # --- stops ----------------------------------------------------------------------------------

    def write(self, reason: StopReason, now: int) -> Sequence[Command]:
        """Write a stop of all motors, unless one was written just now.

        Return its commands; none where the connection took none.
        """
        if self._is_fresh(reason, now):
            return ()
        self.end()
        body, self._reason = self._body, None
        self.took, self.unconfirmed = False, ""
        if body.transport is None:
            return ()
        plan = body.ask(None, self._plan, reason, now)
        if plan is None:
            return ()
        is_kept = not any(type(event) is Write for event in plan.events)
        self._waits = is_kept and bool(plan.commands)
        self.took = body.handle(plan.events, now)
        if not self.took:
            return ()
        self._reason = reason
        self._copies = 0 if plan.is_asked else plan.copies
        if plan.copies > 1:
            self._again = {None: plan.copies - 1}
        self._wait(now)
        return plan.commands

    def _is_fresh(self, reason: StopReason, now: int) -> bool:
        """Return whether the stop before, of the same event, serves for this one.

        One by hand never does, since the controller stays after it; nor any for a fault, before
        which the session may have written a command.
        """
        by_hand = {reason, self._reason} & {None, *BY_HAND}
        is_apart = by_hand or reason is StopReason.FAULT
        return not is_apart and now < self._written_ns + REPEAT_NS

    def _plan(self, reason: StopReason, now: int) -> StopPlan:
        body = self._body
        cut = body.session.emergency() if body.discard_unsent(now) else b""
        plan = body.session.stop(reason, now)
        # The robot may take the first stop for the end of a frame that was cut.
        return replace(plan, events=[Write(cut), *plan.events]) if cut else plan

    def write_motor(self, index: int, now: int) -> Sequence[Command] | None:
        """Write a stop of this motor. Return its commands; None where it has not got its stop."""
        body = self._body
        plan = body.ask(None, body.session.stop_motor, index, now)
        if plan is None:
            return None
        events = plan.events
        if body.discard_unsent(now):
            # The robot may take the first stop for the end of a frame that was cut.
            events = [*(each for each in events if type(each) is Write), *events]
        if not body.handle(events, now):
            return None
        if plan.copies > 1:
            self._again[index] = plan.copies - 1
            if self.is_over:
                self._wait(now)
        return plan.commands

    def when_left(self, report: Callable[[str], None]) -> None:
        """Call report("") once the stop that was just written has left.

        At once where the kernel has taken it, or the driver of the line has sent it; report(why)
        where it never does.
        """
        if self._has_left():
            report("")
        else:
            self._on_left = report

    def left(self) -> None:
        """Wait for the stop to leave, as the session has written the one that it kept."""
        if self._waits:
            self._waits = False
            if self._has_left():
                self._report("")
            self._wait(self._written_ns)

    # --- their end ------------------------------------------------------------------------------

    def commanded(self, index: int) -> None:
        """End the copies for this motor, as it follows a command that was accepted."""
        self._reason = None
        if self.is_over:
            return
        self._report("")  # the line carries it before the command
        if (copies := self._again.pop(None, 0)) > 0:
            motors = self._body.session.devices.of_role(MOTOR)
            self._again |= dict.fromkeys([each.index for each in motors], copies)
        self._again.pop(index, None)

    def end(self) -> None:
        """End all copies: the robot is armed, or another stop follows."""
        self._copies = 0
        self._again.clear()

    def lost(self) -> None:
        """Give up a stop that has not left, as the connection is gone."""
        self._reason = None
        if not self.is_over:
            self._give_up(LOST)

    def close(self) -> None:
        """Give up a stop whose answer has not come on a line, as the run ends."""
        if self._body.is_on_line and not self._body.ask(True, self._body.session.is_idle):
            self._give_up(UNANSWERED)

    # --- time -----------------------------------------------------------------------------------

    def _wait(self, now: int) -> None:
        self._written_ns = now
        self._late_ns = now + (STEP_NS if self._waits else LEAVE_NS)
        is_over = not (self._copies or self._again) and self._has_left()
        self._wakeup.set(None if is_over else now + LOOK_NS)

    def _has_left(self) -> bool:
        return self._body.has_drained() and not self._waits

    def _look(self, due: int) -> None:
        now = self._body.checked_now()
        if not self._has_left():
            if now < self._late_ns:
                self._wakeup.set(now + LOOK_NS)
            else:
                self._give_up(STANDS_STILL if self._waits else STALLED)
            return
        self._report("")
        if not self._again:
            if self._copies:
                times = "once" if self._copies == 1 else f"{self._copies} times"
                self._inform(f"stop sent {times}; no answer of the robot confirms it")
        elif now < self._written_ns + REPEAT_NS:
            self._wakeup.set(self._written_ns + REPEAT_NS)
        else:
            self._write_again(now)

    def _write_again(self, now: int) -> None:
        body = self._body
        motors = [index for index in self._again if index is not None]
        of_all = None in self._again
        self._again = {index: left - 1 for index, left in self._again.items() if left > 1}
        if body.call(now, body.session.stop_again, None if of_all else motors, now):
            self._wait(now)
        else:
            self._give_up(STALLED)

    def _give_up(self, why: str) -> None:
        self.unconfirmed = why
        self.end()
        self._wakeup.set(None)
        if self._on_left is None:
            self._inform(f"stop not confirmed: {why}")
        self._report(why)

    def _report(self, why: str) -> None:
        report, self._on_left = self._on_left, None
        if report is not None:
            report(why)
