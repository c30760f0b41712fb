"""The bodies of a control loop, and which of them the controller has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hilgw.control.modes import RobotMode, differing, of_one_only
from hilgw.errors import HilgwError, PeerError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hilgw.bodies.base import BodySession
    from hilgw.control.events import StopReason
    from hilgw.devices.kinds import Device
    from hilgw.engine.control_loop.bodies.body_end import BodyEnd
    from hilgw.engine.control_loop.bodies.shadow import Shadow
    from hilgw.engine.control_loop.peer_link import PeerLink
    from hilgw.engine.control_loop.safety import Safety
    from hilgw.transports.base import Scheduler


class BodyEnds:
    """body: of the key `body`; remote: of the key `remote`, the second one. active: the one that
    the controller has, and safety: its safety. shadow: the other one, where it follows."""

    def __init__(self, name: str, safety: Safety) -> None:
        """safety: until there is a body."""
        self.safety = safety
        self.safeties = [safety]  # of all bodies; of a robot without one, that of the control loop
        self.mode = RobotMode.SIMULATION
        self.body: BodyEnd | None = None
        self.remote: BodyEnd | None = None
        self.active: BodyEnd | None = None
        self.shadow: Shadow | None = None
        self._name = name
        self._compared: set[str] = set()  # differences that were shown

    def add(self, end: BodyEnd, *, remote: bool = False) -> None:
        """A body, before the first connection; the remote one is the second."""
        if remote:
            self.remote = end
        else:
            self.body = end
        self.safeties = [each.safety for each in self]

    def __iter__(self) -> Iterator[BodyEnd]:
        return (end for end in (self.body, self.remote) if end is not None)

    def of(self, mode: RobotMode) -> BodyEnd | None:
        """The body that the controller has in this mode."""
        return self.remote if mode is RobotMode.REMOTE else self.body

    @property
    def link(self) -> PeerLink[BodySession] | None:
        """The link to the controller's body."""
        return None if self.active is None else self.active.link

    @property
    def commanded(self) -> list[Safety]:
        """Of the bodies that get commands in this mode."""
        return [self.safety] + ([] if self.shadow is None else [self.shadow.end.safety])

    def activate(self, end: BodyEnd) -> None:
        """The controller has this body from now on."""
        self.safety.drops_controller = False
        self.active, self.safety = end, end.safety
        self.safety.drops_controller = True

    # --- stops --------------------------------------------------------------------------------

    def stop(self, reason: StopReason, now: int, *, latch: bool = True) -> None:
        """Stops all bodies."""
        for safety in self.safeties:
            safety.stop(reason, now, latch=latch)

    def end(self, now: int) -> None:
        """The gateway ends: stops all bodies for good."""
        for safety in self.safeties:
            safety.end(now)

    def alive(self, now: int) -> None:
        """The controller sent a valid message."""
        self.safety.alive(now)
        if self.shadow is not None:
            self.shadow.end.safety.alive(now)

    def suspend_deadlines(self) -> None:
        """The controller waits for an answer of the gateway."""
        for safety in self.safeties:
            safety.suspend_deadline()

    def resume_deadlines(self, now: int) -> None:
        """The controller has its answer."""
        for safety in self.safeties:
            safety.resume_deadline(now)

    def use_deadlines(self, clock: Scheduler) -> None:
        """The clock of the controller's deadlines."""
        for safety in self.safeties:
            safety.deadlines = clock

    def repeat(self, now: int) -> None:
        """The last commands, again."""
        if self.active is None:
            return
        self.active.repeat(now)
        if self.shadow is not None:
            self.shadow.end.repeat(now)

    # --- modes --------------------------------------------------------------------------------

    def demand(self, mode: RobotMode, table: Mapping[str, Device], now: int) -> None:
        """Raises HilgwError when the robot cannot have this mode now. table: the devices that the
        controller knows, by name. Back to the simulation is refused only for other devices: it
        stops the real robot."""
        if self.remote is None:
            fix = "write the second body under `remote:` in its configuration"
            raise HilgwError("the robot has no remote body", where=self._name, fix=fix)
        if mode is RobotMode.SIMULATION:
            return
        if not self.remote.is_registered(now):
            what = "the remote body is not connected"
            fix = f"connect it; `hilgw mode {self._name}` shows its state"
            raise PeerError(what, where=self._name, fix=fix)
        if differences := differing(table.values(), self.remote.own_devices):
            fix = "give the devices of both bodies one kind, or other names"
            raise HilgwError(
                f"the bodies differ: {'; '.join(differences)}", where=self._name, fix=fix
            )

    def differences(self, table: Mapping[str, Device], end: BodyEnd) -> list[str]:
        """Notices of devices that only one body has, and that are not the same; each once. table:
        the devices that the controller knows."""
        own = end.own_devices
        found = differing(table.values(), own)
        role = "remote" if end is self.remote else "simulated"
        if names := of_one_only(own, table.values()):
            found.append(f"only the {role} body has: {', '.join(names)}")
        if names := of_one_only(table.values(), own):
            found.append(f"the {role} body does not have: {', '.join(names)}")
        shown, self._compared = self._compared, self._compared | set(found)
        return [text for text in found if text not in shown]
