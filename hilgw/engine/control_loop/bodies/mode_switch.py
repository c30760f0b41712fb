"""Gives the controller of a robot one of its two bodies, while the controller stays connected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hilgw.control.divergence import Comparison, Divergence
from hilgw.control.events import Command, Event, StopReason
from hilgw.control.modes import RobotMode
from hilgw.engine.control_loop.bodies.body_end import BodyEnd
from hilgw.engine.control_loop.bodies.shadow import Shadow
from hilgw.engine.control_loop.parts import LoopContext
from hilgw.units import NS_PER_S

if TYPE_CHECKING:
    from hilgw.engine.control_loop.bodies.body_ends import BodyEnds
    from hilgw.engine.control_loop.devices.radios import Forwarder
    from hilgw.engine.control_loop.devices.readings import Readings
    from hilgw.engine.control_loop.devices.registration import Registration
    from hilgw.engine.control_loop.devices.requests import Requests

# A robot on a line that lost a registration repeats it after a second.
LATE_DEVICES_NS = 2 * NS_PER_S


class ModeSwitch:
    """comparison: of the two bodies, since the robot had its shadow last."""

    def __init__(
        self,
        context: LoopContext,
        bodies: BodyEnds,
        registration: Registration,
        readings: Readings,
        requests: Requests,
        forwarder: Forwarder,
    ) -> None:
        self.comparison = Comparison()
        self._bodies = bodies
        self._registration = registration
        self._readings = readings
        self._requests = requests
        self._forwarder = forwarder
        self._notices = context.notices
        self._context = context
        self._follow(bodies.mode)

    @property
    def mode(self) -> RobotMode:
        return self._bodies.mode

    def states(self) -> dict[str, str]:
        """Return "up" or "down" for each body, by its key in the configuration."""
        return {
            end.link.name.rpartition(".")[2]: "up" if end.is_up else "down" for end in self._bodies
        }

    def unused(self, *, shadows: bool) -> set[str]:
        """Return the names of the links to bodies that the controller does not move.

        shadows: with the shadow's.
        """
        shadow, active = self._bodies.shadow, self._bodies.active
        kept = [active] if shadows or shadow is None else [active, shadow.end]
        return {end.link.name for end in self._bodies if end not in kept}

    def switch(self, mode: RobotMode) -> None:
        """Give the controller the body of this mode.

        The body that is left stops. The one that is taken goes on as libController has a robot go
        on that its controller takes: it gets the velocities of a body that moved, gains and LEDs,
        and neither positions nor forces. HilgwError when that is not possible; then nothing
        changes.
        """
        bodies = self._bodies
        now = bodies.link.checked_now()
        if mode is bodies.mode:
            return
        bodies.demand(mode, self._registration.table, now)
        silent_ns = bodies.safety.silent_ns(now)
        commands = self._carried(silent_ns)
        if bodies.shadow is not None:
            self._leave(bodies.shadow.end, now)
            bodies.shadow = None
        end, left = bodies.of(mode), bodies.active
        if end is not left:
            self._exchange(end, now)
        self._follow(mode)
        self._notices.add(f"mode {mode}")
        self._context.observer.mode(self._context.name, mode)
        self._go_on(commands, now, taken=bodies.active is not left)
        if commands:
            for safety in bodies.commanded:
                safety.inherit(silent_ns, now)

    def _carried(self, silent_ns: int) -> list[Command]:
        """Return the commands of the body that is left, as far as they hold for another one.

        None of a controller whose silence stops one of the bodies.
        """
        if any(0 < each.state.timeout_ns <= silent_ns for each in self._bodies.safeties):
            return []
        return self._bodies.safety.records.carry()

    def _go_on(self, commands: list[Command], now: int, *, taken: bool) -> None:
        """Give the controller's last settings to the bodies that follow it from now on.

        taken: the controller's own body is one of them.
        """
        active, shadow = self._bodies.active, self._bodies.shadow
        if taken and self._registration.is_complete:
            self._requests.light(active, now)
            for command in commands:  # the controller does not give them now: it gets no refusal
                self._bodies.command(command, now)
        elif shadow is not None:
            for command in commands:
                shadow.command(command, now)
        if shadow is not None and shadow.is_ready(now):
            self._requests.light(shadow.end, now)

    def _follow(self, mode: RobotMode) -> None:
        bodies = self._bodies
        bodies.mode = mode
        if mode is RobotMode.SHADOW and bodies.remote is not None:
            self.comparison.forget()
            bodies.shadow = Shadow(bodies.remote, self.comparison, self._align, self._context)

    def _leave(self, end: BodyEnd, now: int) -> None:
        end.drop_waiting()
        end.safety.stop(StopReason.EXCHANGED, now, latch=False)
        if end.is_up:
            self._requests.restore(end, now)

    def _exchange(self, end: BodyEnd, now: int) -> None:
        """Give the controller another body; no value of the one that is left reaches it."""
        registration = self._registration
        self._leave(self._bodies.active, now)
        self._forwarder.close()
        self._readings.forget_all()
        self._bodies.activate(end)
        if registration.is_complete and end.is_registered(now):
            self._align(end, now)
            self._compare(end)
        else:
            had_devices = bool(registration.table)
            registration.lost()
            if had_devices:
                registration.dismiss_controller("the other body is not connected")
        if end.is_up and end is self._bodies.body:  # packets are forwarded for the first one only
            self._forwarder.open(end.link, now)
        if not registration.is_complete:
            for device in end.link.session.devices:
                registration.add(device, now)

    def _align(self, end: BodyEnd, now: int) -> bool:
        """Give a body the indices that the controller has, and its periods.

        False while there are none.
        """
        if self._registration.is_complete:
            end.align(self._registration.table)
            self._requests.apply(end, now)
        return self._registration.is_complete

    def _compare(self, end: BodyEnd) -> None:
        for text in self._bodies.differences(self._registration.table, end):
            self._notices.add(text)

    def status(self, now: int) -> tuple[RobotMode, Mapping[str, Divergence]]:
        """Return the mode, and how the shadow's sensors differ; observers get both once a second.

        Shows the devices that only one body has, once both have registered all.
        """
        shadow = self._bodies.shadow
        for end in self._bodies:
            is_other = end is not self._bodies.active and self._registration.is_complete
            if is_other and end.is_registered(now, LATE_DEVICES_NS):
                self._compare(end)
        return self._bodies.mode, {} if shadow is None else shadow.divergences()

    def from_other(self, end: BodyEnd, events: list[Event], now: int) -> None:
        """Take the events of a body that the controller does not move.

        Its values count only where it is the shadow.
        """
        shadow = self._bodies.shadow
        if shadow is not None:
            shadow.handle(events, self._registration.devices, now)
        for event in events:
            end.note(event, now)
            self._notices.show(end.link.name, event)
