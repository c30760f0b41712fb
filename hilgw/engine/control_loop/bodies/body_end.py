"""One body of a control loop: its link, its safety, and whether it is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from hilgw.control.events import (
    Accepted,
    Connected,
    Disconnected,
    HardwareFault,
    MotorCommand,
    MotorField,
    MotorHeld,
    Refused,
    Registered,
    Write,
)
from hilgw.control.safety import mode_of, stands_still
from hilgw.devices.kinds import Refusal
from hilgw.engine.control_loop.bodies.deferred import Deferred
from hilgw.engine.control_loop.bodies.renumbered import RenumberedSession
from hilgw.engine.control_loop.bodies.repeater import MOTIONS, Repeater, kind_of, superseded_by
from hilgw.engine.control_loop.peer_link import PeerListener
from hilgw.reasons import RequestRefused
from hilgw.units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hilgw.bodies.base import BodySession
    from hilgw.control.events import Command, Event
    from hilgw.devices.kinds import Device, Devices
    from hilgw.engine.control_loop.peer_link import PeerLink
    from hilgw.engine.control_loop.safety import Safety
    from hilgw.transports.base import Scheduler, Transport

# A body registers its devices one by one; after this pause the registration is complete.
REGISTRATION_PAUSE_NS = 100 * NS_PER_MS
# Refusals that stop no motor: those of a disarmed robot were stopped before.
_STOPS_NOTHING = (RequestRefused.DISARMED, RequestRefused.LATCHED)


class BodyOwner(Protocol):
    """What a control loop does with its bodies."""

    def from_body(self, end: BodyEnd, events: list[Event], now: int) -> None:
        """Events of the session of this body."""

    def body_detached(self, end: BodyEnd, now: int) -> None:
        """The connection to this body is gone."""

    def refused(self, end: BodyEnd, refusal: Refusal) -> None:
        """The safety refused a command to this body."""

    def commanded(self, end: BodyEnd, command: Command) -> None:
        """A command to this body was written."""

    def not_commanded(self, end: BodyEnd, count: str) -> None:
        """A command to this body was accepted and not written. count: commands_superseded, by a
        newer one or a stop while the line was busy; commands_dropped, as the body lacks all that it
        sets."""

    def report_fault(self, end: BodyEnd, command: Command) -> None:
        """A command that was accepted, and waited, is refused after all."""

    def motor_stopped(self, end: BodyEnd, index: int, stops: Sequence[Command], now: int) -> None:
        """A command to this motor was refused: these commands of a stop were written for it; none
        where it was not commanded since the last stop."""


class BodyEnd(PeerListener):
    """Listens to the link of one body. is_up: it has answered and is still there. was_lost: it was
    there, and is not any more. numbered: its session, where another body decides what the indices
    mean; else None."""

    def __init__(
        self,
        link: PeerLink[BodySession],
        safety: Safety,
        owner: BodyOwner,
        scheduler: Scheduler,
    ) -> None:
        self.link = link
        self.safety = safety
        self.is_up = self.was_lost = False
        self.numbered: RenumberedSession | None = None
        self._owner = owner
        self._repeater: Repeater | None = None
        self._registered_ns = 0  # the last device
        self._held: set[int] = set()  # motors that a refusal stopped, since their last command
        self._deferred = Deferred(scheduler, link.is_busy)
        safety.attach(link)
        link.listener = self

    # --- the link -----------------------------------------------------------------------------

    def events(self, events: list[Event], now: int) -> None:
        self._owner.from_body(self, events, now)

    def attached(self, transport: Transport) -> None:
        self.safety.emergency_stop.attach(transport)

    def detached(self, now: int) -> None:
        self.safety.emergency_stop.detach()
        self._deferred.clear()
        self._held.clear()
        self._owner.body_detached(self, now)

    def faulted(self, now: int) -> None:
        self.safety.stop_after_body_fault(now)

    # --- commands -----------------------------------------------------------------------------

    def repeat_commands(self) -> None:
        """From now on the last commands are kept: `repeat` sends them again."""
        self._repeater = Repeater()

    def command(self, command: Command, now: int) -> bool:
        """One motor command of the controller; whether it was accepted. It leaves at once, or on a
        busy line as soon as there is room, unless a newer one takes its place. A refused one that
        would move the motor stops it: it cannot go where the controller wants it to go."""
        try:
            refusal = self.safety.check(self.link, command, now)
        except Exception as error:  # noqa: BLE001 - as in PeerLink.call, without its allocation
            return self._fault(error)
        if refusal is not None:
            return self._refuse(command, refusal, now)
        if self.link.is_busy(now) or self._deferred.has(command.index):  # not before an older one
            self._defer(command)
            return True
        return self._send(command, now)

    def _give(self, command: Command, now: int) -> bool:
        """A command that has waited; whether it is still accepted."""
        try:
            refusal = self.safety.check(self.link, command, now)
        except Exception as error:  # noqa: BLE001 - as in PeerLink.call
            return self._fault(error)
        return self._send(command, now) if refusal is None else self._refuse(command, refusal, now)

    def _defer(self, command: Command) -> None:
        """Keeps a command until the line has room. One that a stop overtakes is void."""
        kind, stops = kind_of(command), self.safety.stop_calls
        self._deferred.drop(command.index, *superseded_by(kind), kind)

        def send(now: int) -> None:
            if stops != self.safety.stop_calls:
                superseded()
            elif not self._give(command, now):
                self._owner.report_fault(self, command)

        def superseded() -> None:
            self._owner.not_commanded(self, "commands_superseded")

        self._deferred.put(command.index, kind, send, superseded)

    def _send(self, command: Command, now: int) -> bool:
        """Writes the command, unless the session refuses it."""
        link = self.link
        try:
            outcome, events = link.session.command(command, now)
        except Exception as error:  # noqa: BLE001 - as in PeerLink.call, without its allocation
            return self._fault(error)
        link.handle(events, now)
        if outcome is Accepted.SENT:
            self._held.discard(command.index)
            self._owner.commanded(self, command)
            if self._repeater is not None:
                self._repeater.keep(command, now, first=not self.safety.state.moving)
            self.safety.commanded(command, now)
            return True
        if isinstance(outcome, Refusal):
            refused = Refused(command.index, outcome.reason, outcome.text)
            self._owner.from_body(self, [refused], now)
            if mode_of(command) is not None:
                self.stop_motor(command.index, now)
            return False
        if self._repeater is not None:
            self._repeater.replace(command)
        self._owner.not_commanded(self, "commands_dropped")
        return True

    def _fault(self, error: Exception) -> bool:
        """The session raised, which stops all motors."""
        self.link.fault(error)
        self._owner.not_commanded(self, "commands_dropped")
        return True

    def _refuse(self, command: Command, refusal: Refusal, now: int) -> bool:
        """The safety refused a command. Velocity 0 is what this does to a motor, so that one is
        accepted."""
        if refusal.reason in _STOPS_NOTHING or mode_of(command) is None:
            self._owner.refused(self, refusal)
            return False
        if stands_still(command) and self.stop_motor(command.index, now):
            self._owner.commanded(self, command)
            return True
        self._owner.refused(self, refusal)
        self.stop_motor(command.index, now)
        return False

    def stop_motor(self, index: int, now: int) -> bool:
        """Stops one motor that was commanded since the last stop; whether it stands now."""
        link, session = self.link, self.link.session
        self._deferred.drop(index, *MOTIONS)
        if index in self._held or link.transport is None:
            return index in self._held
        try:
            stops = [each for each in session.stop_commands() if each.index == index]
            events = session.stop_motor(index, now)
        except Exception as error:  # noqa: BLE001 - as in PeerLink.call
            return self._fault(error)
        if events is not None and link.discard_unsent(now):
            # The robot may take the first stop for the end of a frame that was cut.
            events = [*(each for each in events if type(each) is Write), *events]
        stopped = events is not None and link.handle(events, now)
        if stopped:
            self._hold(index)
        self._owner.motor_stopped(self, index, stops if stopped else [], now)
        return stopped

    def _hold(self, index: int) -> None:
        """This motor was stopped: what was commanded before is void."""
        self._held.add(index)
        self._deferred.drop(index, *MOTIONS)
        if self._repeater is not None:
            self._repeater.forget(index)

    def when_free(self, index: int, kind: str, act: Callable[[int], None], now: int) -> None:
        """Calls act(now) once the line has room, unless a newer request of this kind for the device
        takes its place."""
        if self.link.is_busy(now) or self._deferred.has(index, kind):
            self._deferred.put(index, kind, act)
        else:
            act(now)

    def drop_waiting(self) -> None:
        """The controller gets another body: what waits for this one is void."""
        self._deferred.clear()

    def for_another_body(self) -> list[Command]:
        """The last commands of a body whose motors move, as far as another body takes them."""
        if self._repeater is None or not self.safety.state.moving:
            return []
        return self._repeater.for_another_body()

    def repeat(self, now: int) -> None:
        """Motors in Webots keep a command; robots with a watchdog need it again and again."""
        link = self.link
        if self._repeater is None or not self.safety.state.moving or link.is_busy(now):
            return
        for command in self._repeater.due(now):
            try:
                if self.safety.check(link, command, now) is not None:
                    continue
                _, events = link.session.command(command, now)
            except Exception as error:  # noqa: BLE001 - as in PeerLink.call
                link.fault(error)
                return
            link.handle([event for event in events if type(event) is Write], now)

    # --- a body that the controller does not have ---------------------------------------------

    def note(self, event: Event, now: int) -> None:
        """An event while another body is the controller's."""
        match event:
            case Connected(identity):
                self.is_up, self.was_lost, self._registered_ns = True, False, now
                self.link.ready(identity)
            case Registered():
                self._registered_ns = now
            case MotorHeld(index):
                self._hold(index)
                still = MotorCommand(index, MotorField.VELOCITY, 0.0)
                self._owner.motor_stopped(self, index, [still], now)
            case HardwareFault():
                self.safety.stop_after_hardware_fault(now)
            case Disconnected(reason):
                self.lost(reason)

    def lost(self, reason: str) -> None:
        """The body is gone, and its devices with it."""
        if self.numbered is not None:
            self.numbered.renumber(None)
        if self.is_up:
            self.is_up, self.was_lost = False, True
            self.link.not_ready(reason)

    def number(self) -> None:
        """Another body may decide what the indices mean, and may take the place of this one;
        before the first connection."""
        self.repeat_commands()
        self.link.session = self.numbered = RenumberedSession(self.link.session)

    def is_registered(self, now: int, pause_ns: int = REGISTRATION_PAUSE_NS) -> bool:
        """Whether it is there, and has registered no device for a while."""
        return self.is_up and now - self._registered_ns >= pause_ns

    @property
    def own_devices(self) -> Devices:
        """Those of the body, in its own indices."""
        return self.link.session.devices if self.numbered is None else self.numbered.own_devices

    def align(self, table: Mapping[str, Device]) -> None:
        """The session uses the indices of this table."""
        if self.numbered is not None:
            self.numbered.renumber(table)
