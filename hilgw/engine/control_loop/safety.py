"""Safety of a running control loop: whether motors may move now, and how they are stopped.

The rules are pure (`hilgw.control.safety`); this module applies them to the connections, also
from the watchdog's thread while the event loop hangs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

from hilgw.control.events import BrakeDamping, Command, Event, LedValue, MotorSettings, StopReason
from hilgw.control.limits import check_command, check_value
from hilgw.control.record import MotorRecords
from hilgw.control.safety import MotorMode, Standstill
from hilgw.devices.kinds import MOTOR, Refusal
from hilgw.engine.control_loop.bodies.positions import Positions
from hilgw.engine.control_loop.stops import Stops
from hilgw.engine.control_loop.watchdog import EmergencyStop
from hilgw.engine.observer import State
from hilgw.engine.reporting.statistics import ControlLoopStatistics, motions
from hilgw.engine.supervisor import ObservedPort
from hilgw.errors import PeerError, PortError
from hilgw.reasons import RequestRefused
from hilgw.transports.base import Transport, Wakeup
from hilgw.units import NS_PER_MS, ns_to_s

if TYPE_CHECKING:
    from hilgw.engine.control_loop.parts import LoopBody, LoopContext, LoopController

# A command that would wait longer than this for the serial line is out of date when it arrives.
LONGEST_DELAY_NS = 500 * NS_PER_MS

# At a deadline: time for the event loop to read what the controller has sent.
UNREAD_NS = 5 * NS_PER_MS

_ENDED = Refusal(RequestRefused.ENDED, "")


class Safety:
    """Every stop of one body's motors, and the permission to move them.

    Implements `hilgw.engine.control_loop.watchdog.Watched`. has_controller: the controller moves
    this body, so a stop for a fault of the controller disconnects it. statistics: of the commands
    that were given to this body. released: to whom its port is; it cannot be armed then. stops: how
    they are written. records: of its motors. is_guarded: the body is real. on_up: called when it is
    up. positions: of its motors. standstill: of a real body, from a stop until its motors may move
    again.
    """

    def __init__(
        self, context: LoopContext, body: LoopBody, controller: LoopController, source: str
    ) -> None:
        self.state = state = body.safety
        self.late_ns = state.late_ns
        self.ending = False
        self.records = MotorRecords()
        self.has_controller = False
        self.released = ""
        self.is_guarded = body.is_guarded
        self.on_up: Callable[[], None] = lambda: None
        self.statistics = ControlLoopStatistics()
        self.positions = Positions(context.statistics.devices)
        self.standstill: Standstill | None = None
        self._name = context.name
        self._source = source
        self._body = body.link
        self._has_watchdog = body.has_watchdog
        guardian = context.watchdog.guardian if body.is_guarded else None
        self.emergency_stop = EmergencyStop(body.link.name, guardian, is_line=body.link.is_on_line)
        if guardian is not None:
            guardian.guarded.append(self)
        self._controller = controller.link
        self._clock, self._scheduler = controller.clock, context.scheduler
        self._observer = context.observer
        self.stops = Stops(body.link, context.scheduler, self._inform)
        self._deadline = Wakeup(controller.clock, lambda due: self._check_deadline())
        self._refusal_shown = False  # since the robot was disarmed
        body.link.lock = self.emergency_stop.lock

    # --- commands -----------------------------------------------------------------------------

    def check(self, command: Command, mode: MotorMode | None, now: int) -> Refusal | None:
        """Check one motor command immediately before its session gets it; None: allowed.

        mode: the one that it selects.
        """
        body = self._body
        if self.ending:
            return _ENDED
        if not self.state.armed and not body.is_absent:
            return self._not_armed()
        if body.write_delay_ns(now) > LONGEST_DELAY_NS:
            self.stop(StopReason.BEHIND, now)
            body.fail(PeerError("the line is full", where=body.name))
            return Refusal(RequestRefused.BEHIND, "the line to the body is full")
        session = body.session
        device = session.devices.by_index(command.index)
        if device is None or device.role != MOTOR:
            return None  # the session refuses what is not a motor of this body
        refusal = check_command(device, command)
        if refusal is not None:
            return refusal
        if isinstance(command, MotorSettings) and command.is_stale and not self.state.simulated:
            return Refusal(
                RequestRefused.NAN, f"'{device.name}': its last position or velocity was refused"
            )
        if mode is not None and not session.can_stop(command.index, mode):
            return Refusal(
                RequestRefused.NO_STOP,
                f"'{device.name}' could not be stopped in {mode} mode; set its default_position",
            )
        return None

    def check_value(self, command: LedValue | BrakeDamping) -> Refusal | None:
        """Check a value for an LED or a brake; None: allowed.

        An LED moves nothing. A brake may release a load, so a robot that is not armed holds it.
        """
        is_held = not self.state.armed and not self._body.is_absent
        if is_held and isinstance(command, BrakeDamping):
            return self._not_armed()
        device = self._body.session.devices.by_index(command.index)
        return None if device is None else check_value(device, command)

    def _not_armed(self) -> Refusal:
        """Return the refusal of a motor command.

        Only the first one has a text, which is shown.
        """
        latched, shown, self._refusal_shown = self.state.latched, self._refusal_shown, True
        reason = RequestRefused.LATCHED if latched else RequestRefused.DISARMED
        if shown:
            return Refusal(reason, "")
        fix = f"`hilgw arm {self._name}` lets the motors move"
        if latched:
            return Refusal(reason, f"safety stop latched: {latched.doc}; {fix} again")
        return Refusal(reason, f"the robot is not armed; {fix}")

    def faults(self) -> list[str]:
        """Return the hardware faults of the body that keep it from being armed now.

        Or that its session failed at this question.
        """
        if not self.state.stops_on_fault:
            return []
        return self._body.ask(["its session failed"], self._body.session.faults)

    def stop_after_hardware_fault(self, now: int) -> None:
        """Stop after a fault that the body reports of its hardware."""
        if self.state.stops_on_fault:
            self.stop(StopReason.HARDWARE, now)

    @property
    def away(self) -> State | None:
        """The state of the port of a real body that is not up, and is not armed then; else None."""
        port = self._body.supervisor
        state = port.state if isinstance(port, ObservedPort) else State.CLOSED
        if state is State.UP and self.positions.awaited(self._body.session.devices):
            state = State.HANDSHAKE
        return state if self.is_guarded and state is not State.UP else None

    def motors(self) -> list[str]:
        """Return the names of the motors of the body."""
        return [each.name for each in self._body.session.devices.of_role(MOTOR)]

    def misplaced(self, accepted: Collection[str] = ()) -> str:
        """Return why the positions of its motors keep the body from being armed; else nothing.

        accepted: motors whose position counts, though their zero may be lost.
        """
        is_here, devices = self.away is State.HANDSHAKE, self._body.session.devices
        missing = self.positions.awaited(devices) if is_here else []
        texts = [text for text in self.positions.places.values() if text]
        texts += self.positions.lost_zeros(devices, accepted)
        return "; ".join(
            [*texts, *(f"'{each.name}' has reported no position yet" for each in missing)]
        )

    def place(self, events: list[Event], now: int) -> None:
        """Follow where the motors of the body are.

        Disarm and name one that is outside its limits, or has lost its zero.
        """
        for text in self.positions.see(events, self._body.session.devices, now):
            self._inform(f"not armed: {text}")
            if self.state.armed:
                self.disarm(now, StopReason.OUTSIDE)
        self.on_up()

    def gave_up(self, within_s: float) -> None:
        """`--arm` arms it no more."""
        self._observer.notice(
            self._source,
            f"--arm: not armed, as its body was not up within {within_s:g} s of the start; "
            f"`hilgw arm {self._name}` once it is up",
        )

    @property
    def idleness(self) -> str:
        """Return that no motor was commanded since this body was disarmed; else nothing."""
        return (
            ""
            if self.state.armed or self._refusal_shown
            else "the controller has commanded no motor since the robot was disarmed: it stands "
            "until the next command"
        )

    def arm(self, accepted: Collection[str] = ()) -> None:
        """Let the motors move.

        accepted: as of `misplaced`, from now on.
        """
        for name in accepted:
            self.positions.lost.pop(name, None)
        self._refusal_shown = False
        self.standstill = None
        self.stops.end()
        if self.state.arm():
            self._observer.armed(self._source, True, "armed: its motors may move")

    def disarm(self, now: int, reason: StopReason = StopReason.DISARMED) -> None:
        """Stop the motors; none moves until `arm`."""
        self.stop(reason, now, latch=False)
        if self.state.disarm(reason):
            why = "" if reason is StopReason.DISARMED else f"{reason.doc}: "
            self._show_disarmed(f"{why}disarmed until `hilgw arm {self._name}`")

    def _show_disarmed(self, text: str) -> None:
        self._refusal_shown = False
        self._observer.armed(self._source, False, text)

    def alive(self, now: int) -> None:
        """Note a valid message of the controller.

        What was written to it before may still be on the line: it waits for that, and its deadline
        counts from then.
        """
        self.state.alive(self._on_clock(now) + self._controller.write_delay_ns(now))

    def _on_clock(self, now: int) -> int:
        return now if self._clock is self._scheduler else self._clock.now()

    def resume_deadline(self, now: int) -> None:
        """Resume the deadline: the controller has its answer."""
        self.state.waits_for_us = False
        if self.state.moving:
            self.alive(now)
            if self._deadline.at is None:  # a later one is set when this one is over
                self._deadline.set(self.state.deadline())

    def silent_ns(self, now: int) -> int:
        """Return for how long the controller has given no sign of life."""
        return self.state.silent_ns(self._on_clock(now))

    def inherit(self, silent_ns: int, now: int) -> None:
        """Take over from another body, whose commands were given just now.

        silent_ns: for how long the controller has been silent.
        """
        self.state.alive(self._on_clock(now) - silent_ns)
        self._deadline.set(self.state.deadline())

    def is_prepared(self, index: int, mode: MotorMode | None) -> bool:
        """Return whether the stop that this command needs is ready; each mode may have its own."""
        return self.state.moving and self.records.motors[index].prepared == (mode,)

    def prepare(self, index: int, mode: MotorMode | None) -> bool:
        """Before a motor command that the session has accepted is written: has its stop ready.

        False where the guardian could not take it. May raise what the session raises.
        """
        self.records.motors[index].prepared = (mode,)
        return self.emergency_stop.prepare(self._body.session.emergency())

    def commanded(self, command: Command, now: int) -> None:
        """Note that a motor command was written to the body."""
        began = not self.state.moving
        self.state.command(self._on_clock(now))
        if began:
            self.standstill = None
            self._deadline.set(self.state.deadline())

    # --- stops --------------------------------------------------------------------------------

    def stop(
        self, reason: StopReason, now: int, *, latch: bool = True, by_hand: bool = False
    ) -> None:
        """Set every motor to its default, where a stop is due (`SafetyState.owes_stop`).

        Counted and reported when one was commanded since the last stop. by_hand: a person ends the
        run.
        """
        self.records.stop()
        was_armed = self.state.armed
        is_due = self.state.owes_stop(reason, by_hand=by_hand)
        moved = self.state.stop(reason, latch=latch and not self.ending)
        sent = self.stops.write(reason, now) if is_due else ()
        if is_due and self.stops.took and not self.state.simulated:
            self.standstill = self.standstill or Standstill(now)
        if not moved:
            if was_armed and not self.state.armed:
                self._show_disarmed(f"{reason.doc}: disarmed until `hilgw arm {self._name}`")
            return
        self.emergency_stop.prepare(b"")
        self._deadline.set(None)
        text = self._cause(reason) if sent else self._unsent(reason)
        if self.state.latched:
            text += f"; latched until `hilgw arm {self._name}`"
        if sent and reason is not StopReason.BODY:
            self.stops.when_left(partial(self._report_stop, reason, sent, text))
        else:
            self.statistics.stopped(sent)
            self._inform(f"safety stop: {text}")
        if was_armed and not self.state.armed:
            self._show_disarmed("")  # the text of the stop contains it

    def _report_stop(
        self, reason: StopReason, sent: Sequence[Command], text: str, why: str
    ) -> None:
        """Report a stop that has left; why: it is not known to have left."""
        if why:
            self._inform(f"safety stop: {text}; stop not confirmed: {why}")
            return
        self.statistics.stopped(sent)
        self._observer.stopped(self._source, reason, text)

    def _inform(self, text: str) -> None:
        self._observer.notice(self._source, text)  # bound when called: observers come and go

    def _cause(self, reason: StopReason) -> str:
        is_network = reason is StopReason.COMMAND_TIMEOUT and not self._controller.is_on_line
        return reason.doc + ", or the network between is slow or cut" * is_network

    def _unsent(self, reason: StopReason) -> str:
        if reason is not StopReason.BODY:
            return self._cause(reason)
        if self._has_watchdog:
            return f"{reason.doc}, and has to stop its motors itself"
        moving = ", ".join(motions(self.statistics.motors, self.statistics.devices))
        return f"{reason.doc}, and drives on at {moving}" if moving else f"{reason.doc}, at rest"

    def watch(self, standstill: Standstill, events: list[Event], now: int) -> None:
        """Watch the positions of the body after a stop: motors that move get the stop again.

        It counts as none of a motion that was commanded, and latches nothing.
        """
        session = self._body.session
        sensors = standstill.moving(events, session.devices, now)
        drivers = [self.positions.driver(session.devices, each) for each in sensors]
        names = [
            f"'{each.name}'"
            for each in drivers
            if each.role != MOTOR or session.can_stop(each.index, None)
        ]
        if not names or not standstill.is_due(now):
            return
        if not standstill.is_shown:
            standstill.is_shown = True
            verb = "moves" if len(names) == 1 else "move"
            state = "stopped" if self.state.armed else "disarmed"
            self._inform(
                f"{' and '.join(names)} {verb} although {state}: pushed by hand, or driven by "
                "something else"
            )
        if self.state.enforces_standstill:
            self.statistics.counts["standstill_stops"] += 1
            self._body.handle(session.stop(StopReason.DISARMED, now).events, now)

    def stop_after_body_fault(self, now: int) -> None:
        """Stop after an exception of the body's session.

        It may not stop the motors now: the bytes prepared before the fault do.
        """
        self.emergency_stop.trigger()
        self.stop(StopReason.FAULT, now)

    def end(self, now: int, *, by_hand: bool) -> None:
        """End with the gateway in order, which latches nothing."""
        self.ending = True
        self.stop(StopReason.ENDED, now, latch=False, by_hand=by_hand)
        if self._body.transport is not None:
            self._body.call(now, self._body.session.leave, now)

    def _check_deadline(self) -> None:
        """Stop the motors, unless the controller waits for this event loop, not the other way."""
        now = self._body.checked_now()
        due, time = self.state.deadline(), self._on_clock(now)
        if due is None or time < due:
            self._deadline.set(self.state.deadline())
            return
        if self._controller.has_unread():
            self._deadline.set(time + UNREAD_NS)
            return
        self.stop(StopReason.COMMAND_TIMEOUT, now)
        if self.has_controller:
            self._controller.dismiss(f"no message for {ns_to_s(self.state.timeout_ns):g} s")

    # --- the watchdog -------------------------------------------------------------------------

    def in_time(self) -> None:
        if self.state.moving:
            body = self._body
            body.ask(None, lambda: self.emergency_stop.prepare(body.session.emergency()))
        elif self.emergency_stop.is_kept and self.has_drained():
            self.emergency_stop.forget()

    def has_drained(self) -> bool:
        """Return whether the last stop has left, with all its copies."""
        body = self._body
        return self.stops.is_over and body.has_drained() and body.ask(False, body.session.is_idle)

    def was_late(self, now: int, gap_ns: int) -> None:
        """Follow a late event loop: commands that came meanwhile are out of date.

        hilgw ends the controller: a program starts again, and finds a real robot disarmed.
        """
        if not self.motors():
            return
        self.stop(StopReason.LATE, now)
        if not self.has_controller or self._controller.transport is None:
            return
        self.statistics.counts["late_ends"] += 1
        if self.state.latch and self.state.armed:
            self.disarm(now, StopReason.LATE)
        self._controller.dismiss(
            f"hilgw itself was late by {ns_to_s(gap_ns):.1f} s (safety.late_s: "
            f"{ns_to_s(self.late_ns):g} s); commands sent meanwhile are out of date",
            restarts=True,
        )

    def emergency(self) -> None:
        self.emergency_stop.trigger()

    # --- the guardian -------------------------------------------------------------------------

    def attached(self, transport: Transport) -> None:
        """Begin with the connection to the body, which is up."""
        self.standstill = None
        self.emergency_stop.attach(transport)
        self.guard()

    def guard(self) -> None:
        """Give a new guardian the connection of the body.

        What waits in it never leaves.
        """
        if (transport := self._body.transport) is not None and not self.emergency_stop.is_final:
            self.emergency_stop.guard()
            self._body.flag = transport.flag = self.emergency_stop.flag

    def guardian_acted(self) -> None:
        """Stop the body for good: the guardian has stopped it.

        Commands may have been written between the guardian's stop and here.
        """
        body = self._body
        if body.transport is None or self.emergency_stop.is_final:
            return
        self.emergency_stop.is_final = True
        self.emergency_stop.trigger()
        self.stop(StopReason.GUARDIAN, self._scheduler.now())
        body.fail(
            PortError(
                "the guardian has stopped the robot, as hilgw did not run",
                reason=PortError.LOST,
                where=body.name,
            )
        )

    def guardian_died(self) -> None:
        self.stop(StopReason.GUARDIAN_ENDED, self._scheduler.now())
