"""Who may move the motors of a loop now, and when they stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hilgw.control.events import MotorCommand, MotorSettings, Write
from hilgw.errors import PeerError

if TYPE_CHECKING:
    from hilgw.bodies.base import BodySession
    from hilgw.control.safety import SafetyState
    from hilgw.engine.control_loop.brake import EmergencyStop
    from hilgw.engine.control_loop.parts import Parts
    from hilgw.engine.control_loop.peer_link import PeerLink
    from hilgw.transports.base import Handle

# A command that has to wait longer for its line is old when it gets there.
BEHIND_NS = 500_000_000

# Why motors stop, beside what the session of the controller says (disconnected, silence,
# protocol), and in words.
COMMAND_TIMEOUT = "command_timeout"
LATE = "late"
SWAMPED = "swamped"
BODY = "body"
FAULT = "fault"
ENDED = "gateway_ended"
IN_WORDS = {
    "disconnected": "the controller is gone",
    "silence": "the controller is silent",
    "protocol": "the controller sent what cannot be read",
    COMMAND_TIMEOUT: "the controller commands no more",
    LATE: "the gateway was late",
    SWAMPED: "the controller sends faster than it can be obeyed",
    BODY: "the body is gone",
    FAULT: "a session failed",
    ENDED: "the gateway ends",
}


class Safety:
    """The way from the controller to the motors: every command and every stop passes here.

    Implements `hilgw.engine.control_loop.watchdog.Watched`.
    """

    def __init__(self, parts: Parts, failsafe: SafetyState, brake: EmergencyStop) -> None:
        self.failsafe = failsafe
        self.brake = brake
        self.late_ns = failsafe.late_ns
        self._parts = parts
        self.ending = False
        self._deadline: Handle | None = None

    # --- commands -----------------------------------------------------------------------------

    def command(self, order: MotorCommand | MotorSettings, now: int) -> None:
        """One command of the controller: to the body, or refused."""
        parts = self._parts
        parts.figures.counts["commands_in"] += 1
        body = parts.body
        if self.ending:
            parts.figures.refused[ENDED] += 1
            return
        obstacle = self._obstacle(body, now)
        if obstacle is not None or body is None:
            parts.refuse(order.index, *(obstacle or ("no_body", "this loop has no body")))
            return
        try:
            if type(order) is MotorCommand:
                events = body.session.command(order.index, order.field, order.value, now)
            else:
                assert isinstance(order, MotorSettings)
                events = body.session.configure(order, now)
        except Exception as error:  # noqa: BLE001 - as in Side.call, without its allocation
            body.fault(error)
            return
        parts.ask_body(order.index, events, now)
        if events and type(events[0]) is Write:
            self._moved(body, order, now)

    def _obstacle(self, body: PeerLink[BodySession] | None, now: int) -> tuple[str, str] | None:
        """Reason and text, when no motor may move."""
        name, latched = self._parts.name, self.failsafe.latched
        if latched:
            words = IN_WORDS.get(latched, latched)
            return "latched", f"stopped, as {words}; `hilgw arm {name}` lets the motors move again"
        if body is not None and body.behind_ns(now) > BEHIND_NS:
            body.fail(PeerError("its line is slower than the commands come", where=body.name))
            return "behind", "the line is slower than the commands come"
        return None

    def _moved(
        self, body: PeerLink[BodySession], order: MotorCommand | MotorSettings, now: int
    ) -> None:
        began = not self.failsafe.moving
        self.failsafe.command(now)
        self._parts.figures.commanded(order, self._parts.scheduler.now())
        if began:
            self.brake.ready(body.session.stop_bytes())
            self._watch_deadline()

    # --- stops --------------------------------------------------------------------------------

    def stop(self, reason: str, now: int, *, latch: bool = True) -> None:
        """Every motor to its default; said and counted when one was commanded since the last."""
        parts, body = self._parts, self._parts.body
        moved = self.failsafe.stop(reason, latch=latch)
        if body is not None and body.transport is not None:
            body.call(lambda: body.session.stop(reason, now), now)
        if not moved:
            return
        self.brake.ready(b"")
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if body is not None:
            parts.figures.stopped(body.session.devices)
        text = IN_WORDS.get(reason, reason)
        if self.failsafe.latched:
            text += f"; latched until `hilgw arm {parts.name}`"
        parts.observer.stopped(parts.name, reason, text)

    def body_fault(self, now: int) -> None:
        """The body's session raised: what it would say now cannot be relied on; what it has said
        before stops the motors."""
        self.brake.pull()
        self.stop(FAULT, now)

    def end(self, now: int) -> None:
        """The gateway ends, in order: that latches nothing."""
        self.ending = True
        self.stop(ENDED, now, latch=False)

    def _watch_deadline(self) -> None:
        due = self.failsafe.deadline()
        if due is not None:
            self._deadline = self._parts.scheduler.call_at(due, self._check_deadline)

    def _check_deadline(self) -> None:
        self._deadline = None
        body, controller = self._parts.body, self._parts.controller
        now = body.enter() if body is not None else self._parts.scheduler.now()
        due = self.failsafe.deadline()
        if due is None or now < due:
            self._watch_deadline()
            return
        self.stop(COMMAND_TIMEOUT, now)
        if controller is not None:
            controller.drop(f"no command for {self.failsafe.timeout_ns / 1e9:g} s")

    def swamped(self, now: int) -> bool:
        """What the controller sends waits ever longer: it would move the motors after its end."""
        self.stop(SWAMPED, now)
        if self._parts.controller is not None:
            self._parts.controller.drop("sends faster than it can be obeyed")
        return True

    # --- the pulse ----------------------------------------------------------------------------

    def beat(self) -> None:
        body = self._parts.body
        if body is not None and self.failsafe.moving:
            try:
                self.brake.ready(body.session.stop_bytes())
            except Exception as error:  # noqa: BLE001 - as in Side.call
                body.fault(error)

    def was_late(self, now: int) -> None:
        self.stop(LATE, now)
        if self._parts.controller is not None:
            self._parts.controller.drop("the gateway was late: what it sent meanwhile is old")

    def emergency(self) -> None:
        self.brake.pull()
