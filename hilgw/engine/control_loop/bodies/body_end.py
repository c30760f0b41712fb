"""A body of a control loop: its link, its safety, and whether it is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from hilgw.control.events import (
    Accepted,
    Command,
    Connected,
    DeviceFault,
    Disconnected,
    Event,
    FeedbackSwitch,
    HardwareFault,
    MotorCommand,
    MotorField,
    MotorHeld,
    Notice,
    Outcome,
    RefusedRequest,
    Registered,
    SensorSwitch,
    StopSent,
    Write,
)
from hilgw.control.missing import AVAILABLE, default_of, in_words, settings_in
from hilgw.control.record import kind_of
from hilgw.control.safety import MotorMode, mode_of, stands_still
from hilgw.devices.kinds import Device, Refusal
from hilgw.engine.control_loop.bodies.deferred import Deferred
from hilgw.engine.control_loop.bodies.renumbered import RenumberedSession
from hilgw.engine.control_loop.peer_link import PeerListener
from hilgw.engine.control_loop.safety import Safety
from hilgw.engine.observer import CommandEvent
from hilgw.reasons import RequestRefused
from hilgw.transports.base import Transport
from hilgw.units import NS_PER_MS

if TYPE_CHECKING:
    from hilgw.engine.control_loop.parts import LoopBody, LoopContext, LoopController

# A body registers its devices one by one; after this pause the registration is complete.
REGISTRATION_PAUSE_NS = 100 * NS_PER_MS
_NO_GUARDIAN = Refusal(
    RequestRefused.NO_GUARDIAN, "the guardian does not run, which stops the motors if hilgw cannot"
)


class BodyOwner(Protocol):
    """Listener to a body: its control loop."""

    def from_body(self, end: BodyEnd, events: list[Event], now: int) -> None:
        """Take the events of the session of this body."""

    def body_detached(self, end: BodyEnd, now: int) -> None:
        """Take the end of the connection to this body."""

    def refused_late(self, index: int) -> None:
        """Take the late refusal of a command to this motor, which waited for the line."""

    def motor_stopped(self, index: int, now: int) -> None:
        """Take the stop of this motor: the controller's body refused a command to it."""


class BodyEnd(PeerListener):
    """Listens to the link of one body.

    is_up: it has answered and is still there. was_lost: it was there, and is not any more, since
    lost_ns. own: its session, in its own indices; that of the link has those of the table. named:
    the devices that its settings name. newest: what became of the newest command of each motor, and
    when. is_one_of_two: the robot has two bodies: each may take the other's place, and decides what
    the indices mean then.
    """

    def __init__(
        self,
        context: LoopContext,
        body: LoopBody,
        controller: LoopController,
        owner: BodyOwner,
        source: str,
        *,
        is_one_of_two: bool,
    ) -> None:
        self.link = body.link
        self.named = body.named
        self.safety = Safety(context, body, controller, source)
        self.is_up = self.was_lost = False
        self.lost_ns = 0
        self.own = self.link.session
        self._numbered = RenumberedSession(self.own) if is_one_of_two else None
        if self._numbered is not None:
            self.link.session = self._numbered
        self._context = context
        self._shown_as = self.link.name.rpartition(".")[2] if is_one_of_two else ""
        self.newest: dict[str, tuple[Command, Outcome, int]] = {}
        self._owner = owner
        self._registered_ns = 0  # the last device
        self._records = self.safety.records
        self.deferred = Deferred(context.scheduler, self.link.is_busy)
        self.link.listener = self

    # --- the link -----------------------------------------------------------------------------

    def events(self, events: list[Event], now: int) -> None:
        self._owner.from_body(self, events, now)
        if not self.safety.positions.is_over:
            self.safety.place(events, now)
        if self.safety.standstill is not None:
            self.link.ask(None, self.safety.watch, self.safety.standstill, events, now)

    def attached(self, transport: Transport) -> None:
        self.safety.attached(transport)

    async def release(self) -> None:
        await self.safety.emergency_stop.release()

    def alarmed(self) -> None:
        self.safety.guardian_acted()

    def detached(self, now: int) -> None:
        self.safety.emergency_stop.detach()
        self.safety.stops.lost()
        self.drop_waiting()
        self._records.forget_lacking()
        self._owner.body_detached(self, now)

    def faulted(self, now: int) -> None:
        self.safety.stop_after_body_fault(now)

    # --- commands -----------------------------------------------------------------------------

    def command(self, command: Command, now: int, *, may_wait: bool = True) -> Outcome:
        """Execute one motor command of the controller.

        It leaves at once, or on a busy line as soon as there is room, unless a newer one takes its
        place. A refused one that would move the motor stops it: it cannot go where the controller
        wants it to go. Where the session raises an error, all motors stop, and the command is
        dropped.
        """
        link, waiting, mode = self.link, self.deferred.waiting, mode_of(command)
        try:
            refusal = self.safety.check(command, mode, now)
            is_behind = bool(waiting) and self._records.has_waiting(command.index)
            waits = may_wait and (is_behind or link.is_busy(now))
            if refusal is None and not waits:
                self.safety.state.was_commanded = True
                outcome, events = self._execute(command, mode, now)
        except Exception as error:  # noqa: BLE001 - PeerLink.ask costs 0.7 us of 13.3 us per command
            link.fault(error)
            return self._settle(command, Accepted.DROPPED)
        if refusal is not None:
            return self._turn_down(command, refusal, now)
        if waits:
            return self._defer(command, now)  # not before an older one
        return self._handle(command, mode, outcome, events, now)

    def _execute(
        self, command: Command, mode: MotorMode | None, now: int
    ) -> tuple[Outcome, list[Event]]:
        """Execute a command, but for the settings that the robot lacks: changes are reported.

        An available force or torque of 0, which it cannot be given, stops the motor until there is
        more.
        """
        session, index = self.link.session, command.index
        settings, known = settings_in(command), self._records.motors[index].lacking
        if not (settings or known):  # most commands
            return session.command(command, now)
        lacked = {name: settings[name] for name in settings if name in self.own.missing}
        available = lacked.get(AVAILABLE, known.get(AVAILABLE))
        if available == 0 and (mode is not None or AVAILABLE in lacked):
            outcome, events = session.command(  # refused, or dropped
                MotorCommand(index, MotorField.AVAILABLE_TORQUE, 0.0), now
            )
            plan = None if isinstance(outcome, Refusal) else session.stop_motor(index, now)
            if plan is not None:
                outcome, events = Accepted.SENT, plan.events
        else:
            outcome, events = session.command(command, now)
        if isinstance(outcome, Refusal) or lacked.items() <= known.items():
            return outcome, events
        return outcome, events + self._leave_out(index, lacked, known)

    def _leave_out(
        self, index: int, lacked: Mapping[str, float], known: dict[str, float]
    ) -> list[Event]:
        """Note the settings that were left out of a command; count and name those that changed."""
        device = self.link.session.devices.by_index(index)
        notices: list[Event] = []
        for name, value in lacked.items():
            if device is not None and known.get(name, default_of(device, name)) != value:
                counts, key = self.own.counts, f"dropped_{name}"
                counts[key] = counts.get(key, 0) + 1
                notices.append(Notice(in_words(device, name)))
            known[name] = value
        return notices

    def _handle(
        self,
        command: Command,
        mode: MotorMode | None,
        outcome: Outcome,
        events: list[Event],
        now: int,
    ) -> Outcome:
        link = self.link
        if outcome is Accepted.SENT and not self.safety.is_prepared(command.index, mode):
            ready = link.ask(None, self.safety.prepare, command.index, mode)
            if ready is None:
                return self._settle(command, Accepted.DROPPED)
            if not ready:
                return self._turn_down(command, _NO_GUARDIAN, now)
        stops = self._records.stops
        written = link.handle(events, now)
        is_void = self._records.stops != stops  # the robot was found to be gone, and was stopped
        settled = outcome if written and not is_void else Accepted.DROPPED
        if not isinstance(settled, Refusal):
            self._settle(command, settled)
        if outcome is Accepted.SENT and not is_void:
            self.safety.stops.commanded(command.index)
            self._records.set(command, now, waits=False)
            self.safety.commanded(command, now)
        elif isinstance(outcome, Refusal):
            self._context.notices.show(
                link.name, RefusedRequest(command.index, outcome.reason, outcome.text)
            )
            if mode is not None:
                self.stop_motor(command.index, now)
            if written:
                self._settle(command, outcome)
        elif not is_void:
            self._records.dropped(command)
        return outcome

    def _turn_down(self, command: Command, refusal: Refusal, now: int) -> Outcome:
        """Refuse a command for safety.

        Velocity 0 is what this does to a motor, so that one is accepted.
        """
        stops = self._may_move and mode_of(command) is not None
        if stops and stands_still(command) and self.stop_motor(command.index, now):
            return self._settle(command, Accepted.SENT)
        if self.safety.has_controller:
            self._context.refuse(refusal.reason, refusal.text)
        else:
            self.safety.statistics.refused[refusal.reason] += 1
        if stops:
            self.refuse_motion(command.index, refusal.reason, now)
        return self._settle(command, refusal)

    @property
    def _may_move(self) -> bool:
        """True if a motor may move: where none may, an earlier stop has stopped all."""
        return self.safety.state.armed and not self.safety.ending

    def refuse_motion(self, index: int, reason: str, now: int) -> None:
        """Stop a motor for which a motion was refused, wherever that was.

        It stops, as it cannot go where the controller wants it to go. A simulated one ignores NaN,
        as in Webots, and goes on, but for that of a shadow.
        """
        if self._may_move and not (self.safety.state.simulated and reason == RequestRefused.NAN):
            self.stop_motor(index, now)
        elif self.safety.has_controller:
            self._owner.motor_stopped(index, now)

    def _settle(self, command: Command, outcome: Outcome) -> Outcome:
        context, statistics = self._context, self.safety.statistics
        if outcome is Accepted.SENT:
            statistics.commanded(command, context.scheduler.now())
        elif outcome is Accepted.DROPPED:
            statistics.counts["commands_dropped"] += 1
        elif outcome is Accepted.REPLACED:
            statistics.counts["commands_superseded"] += 1
        device = context.statistics.name_of(command.index)
        if device in context.statistics.devices:
            self.newest[device] = command, outcome, context.scheduler.now()
        if (report := context.observer.motor_command) is not None:
            report(self.event_of(device, command, outcome, context.scheduler.now()))
        return outcome

    def event_of(self, device: str, command: Command, outcome: Outcome, now: int) -> CommandEvent:
        """Return the event of a command to this motor at that time, with what is applied now."""
        applied = dict(self.safety.statistics.motors.get(device, {}))
        robot, body = self._context.name, self._shown_as
        return CommandEvent(robot, body, device, command, outcome, applied, now)

    def _defer(self, command: Command, now: int) -> Outcome:
        index, kind = command.index, kind_of(command)
        self._replaced(self._records.set(command, now, waits=True))
        outcome = self._settle(command, Accepted.WAITS)
        self.deferred.put(index, kind, lambda now: self._write_waiting(index, kind, now))
        return outcome

    def _write_waiting(self, index: int, kind: str, now: int) -> None:
        """Write the command of this kind: the line has room. A stop may have made it void."""
        waiting = self._records.motors[index].take(kind)
        if waiting is None:
            return
        if waiting.stops != self._records.stops:
            self._replaced([waiting.command])
            return
        outcome = self.command(waiting.command, now, may_wait=False)
        if isinstance(outcome, Refusal) and self.safety.has_controller:
            self._owner.refused_late(index)

    def _replaced(self, commands: Sequence[Command]) -> None:
        for command in commands:
            self._settle(command, Accepted.REPLACED)

    def stop_motor(self, index: int, now: int) -> bool:
        """Stop one motor, of a simulated robot where this run has commanded it.

        Whether it has got its stop, which counts where a motor was commanded since the last stop of
        all.
        """
        state, record = self.safety.state, self._records.motors[index]
        self._replaced(self._records.stop_motor(index))
        owes_stop = state.was_commanded or not state.simulated
        if record.is_held or self.link.transport is None or not owes_stop:
            return record.is_held
        commands = self.safety.stops.write_motor(index, now)
        record.is_held = commands is not None
        self._motor_stopped(index, commands if commands and state.moving else (), now)
        return record.is_held

    def _motor_stopped(self, index: int, stops: Sequence[Command], now: int) -> None:
        """Note that a motor was stopped, as a command to it was refused.

        stops: the commands that were written to stop it; none where no motor was commanded since
        the last stop.
        """
        statistics, is_controllers = self.safety.statistics, self.safety.has_controller
        if stops:
            statistics.counts["motor_stops"] += 1
            statistics.stopped(stops)
            if is_controllers:
                self._context.notices.add(
                    f"'{statistics.name_of(index)}' stopped: a command to it was refused"
                )
        if is_controllers:
            self._owner.motor_stopped(index, now)

    def switch(self, switch: SensorSwitch | FeedbackSwitch, now: int) -> None:
        """Give the body one period. Its refusal makes no difference to the controller."""
        if self.link.transport is None:
            return
        self.deferred.put(
            switch.index,
            type(switch).__name__,
            lambda now: self.link.call(now, self._switched, switch, now),
        )

    def _switched(self, switch: SensorSwitch | FeedbackSwitch, now: int) -> list[Event]:
        session = self.link.session
        if isinstance(switch, FeedbackSwitch):
            events = session.tune(switch, now)
        else:
            events = session.switch(switch.index, switch.period_ms, now)
        return [event for event in events if type(event) is Write]

    def drop_waiting(self) -> None:
        """Drop what waits: the body is gone, or the controller gets another one."""
        self.deferred.clear()
        self._replaced(self._records.clear())

    def repeat(self, now: int) -> None:
        """Send the last commands again.

        A motor in Webots keeps its last command, so controllers command it once; firmware stops
        motors that get none. A controller that freezes asks for no step: then the robot's own
        watchdog stops the motors.
        """
        link = self.link
        if link.is_busy(now):
            return
        for command in self._records.refresh(now):
            if not link.call(now, self._again, command, now):
                return

    def _again(self, command: Command, now: int) -> list[Event]:
        if self.safety.check(command, mode_of(command), now) is not None:
            return []
        _, events = self._execute(command, mode_of(command), now)
        return [event for event in events if type(event) is Write]

    # --- a body that the controller does not have ---------------------------------------------

    def note(self, event: Event, now: int) -> None:
        """Follow an event that is not for the controller."""
        match event:
            case Connected(identity):
                self.is_up, self.was_lost, self._registered_ns = True, False, now
                self.link.ready(identity)
                self.safety.positions.begin()
                session = self.link.session
                for sensor in self.safety.positions.awaited(session.devices):
                    if session.own_period(sensor.index) is not None:  # a controller would ask
                        self.link.call(now, session.switch, sensor.index, None, now)
                self.safety.on_up()
            case Registered():
                self._registered_ns = now
            case MotorHeld(index):
                self._replaced(self._records.stop_motor(index))
                self._records.motors[index].is_held = True
                self._motor_stopped(index, [MotorCommand(index, MotorField.VELOCITY, 0.0)], now)
            case DeviceFault(index) if not self.safety.state.simulated:
                self.refuse_motion(index, RequestRefused.NOT_SETTABLE, now)
            case StopSent():
                self.safety.stops.left()
            case HardwareFault():
                self.safety.stop_after_hardware_fault(now)
            case Disconnected(reason):
                self.lost(reason)

    def lost(self, reason: str) -> None:
        """Forget the body and its devices: it is gone."""
        self.align(None)
        if self.is_up:
            self.is_up, self.was_lost = False, True
            self.lost_ns = self._context.scheduler.now()
            self.link.not_ready(reason)

    def is_registered(self, now: int, pause_ns: int = REGISTRATION_PAUSE_NS) -> bool:
        """Return whether the body is there, and has registered no device for a while."""
        return self.is_up and now - self._registered_ns >= pause_ns

    def align(self, table: Mapping[str, Device] | None) -> None:
        """Use the indices of this table, where another body may decide what they mean.

        None: the body's own.
        """
        if self._numbered is not None:
            self._numbered.renumber(table)
