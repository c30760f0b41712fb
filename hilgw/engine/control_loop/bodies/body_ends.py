"""The bodies of a control loop, and which of them the controller moves."""

from collections.abc import Iterator, Mapping

from hilgw.bodies.base import BodySession
from hilgw.control.events import Command, Outcome, StopReason
from hilgw.control.modes import RobotMode, differing, of_one_only
from hilgw.devices.kinds import Device, Refusal
from hilgw.engine.control_loop.bodies.body_end import BodyEnd, BodyOwner
from hilgw.engine.control_loop.bodies.shadow import Shadow
from hilgw.engine.control_loop.parts import LoopBody, LoopContext, LoopController, RemoteBody
from hilgw.engine.control_loop.peer_link import PeerLink
from hilgw.engine.control_loop.safety import Safety
from hilgw.engine.reporting.statistics import ControlLoopStatistics
from hilgw.errors import HilgwError, PeerError


class BodyEnds:
    """The configuration has `body` and, for a robot with two bodies, `remote` under these keys.

    The controller moves `active`, whose safety is `safety`. `shadow` is the other one where it
    follows.
    """

    def __init__(
        self,
        context: LoopContext,
        body: LoopBody,
        remote: RemoteBody | None,
        controller: LoopController,
        owner: BodyOwner,
    ) -> None:
        def end(part: LoopBody, source: str) -> BodyEnd:
            return BodyEnd(
                context, part, controller, owner, source, is_one_of_two=remote is not None
            )

        self.body = end(body, context.name)
        self.remote = None if remote is None else end(remote, remote.link.name)
        self.mode = RobotMode.SIMULATION if remote is None else remote.mode
        self.shadow: Shadow | None = None
        self._context = context
        self._ends = [each for each in (self.body, self.remote) if each is not None]
        self.safeties = [each.safety for each in self]
        self._compared: set[str] = set()  # differences that were shown
        self.activate(self.of(self.mode))

    def __iter__(self) -> Iterator[BodyEnd]:
        return iter(self._ends)

    def of(self, mode: RobotMode) -> BodyEnd:
        """Return the body that the controller moves in this mode."""
        is_remote = mode is RobotMode.REMOTE and self.remote is not None
        return self._ends[is_remote]

    @property
    def link(self) -> PeerLink[BodySession]:
        """The link to the controller's body."""
        return self.active.link

    @property
    def commanded(self) -> list[Safety]:
        """The safeties of the bodies that get commands in this mode."""
        return [self.safety] + ([] if self.shadow is None else [self.shadow.end.safety])

    def activate(self, end: BodyEnd) -> None:
        """Let the controller move this body from now on."""
        for safety in self.safeties:
            safety.has_controller, safety.statistics = False, ControlLoopStatistics()
        self.active, self.safety = end, end.safety
        self.safety.has_controller = True
        self.safety.statistics = self._context.statistics

    # --- commands -----------------------------------------------------------------------------

    def command(self, command: Command, now: int) -> Outcome:
        """Execute a motor command on the controller's body, then on its shadow if accepted."""
        self._context.statistics.counts["commands_in"] += 1
        outcome = self.active.command(command, now)
        if self.shadow is not None and not isinstance(outcome, Refusal):
            self.shadow.command(command, now)
        return outcome

    def repeat(self, now: int) -> None:
        """Send the last commands again."""
        self.active.repeat(now)
        if self.shadow is not None:
            self.shadow.end.repeat(now)

    # --- stops --------------------------------------------------------------------------------

    def stop(self, reason: StopReason, now: int, *, latch: bool = True) -> None:
        """Stop all bodies."""
        for safety in self.safeties:
            safety.stop(reason, now, latch=latch)

    def alive(self, now: int) -> None:
        """Note a valid message of the controller."""
        self.safety.alive(now)
        if self.shadow is not None:
            self.shadow.end.safety.alive(now)

    def resume_deadlines(self, now: int) -> None:
        """Resume the deadlines: the controller has its answer."""
        for safety in self.safeties:
            safety.resume_deadline(now)

    # --- modes --------------------------------------------------------------------------------

    def demand(self, mode: RobotMode, table: Mapping[str, Device], now: int) -> None:
        """Raise HilgwError when the robot cannot have this mode now.

        table: the devices that the controller has, by name. The way back to the simulation is
        always free: it stops the real robot.
        """
        if self.remote is None:
            fix = "write the second body under `remote:` in its configuration"
            raise HilgwError("the robot has no remote body", where=self._context.name, fix=fix)
        if mode is RobotMode.SIMULATION:
            return
        if not self.remote.is_registered(now):
            problem = "the remote body is not connected"
            fix = f"connect it; `hilgw mode {self._context.name}` shows its state"
            if self.remote.is_up:
                problem, fix = "the remote body registers its devices", "ask again in a second"
            raise PeerError(problem, where=self._context.name, fix=fix)
        if differences := differing(table.values(), self.remote.own.devices):
            fix = "give the devices of both bodies one kind, or other names"
            problem = f"the bodies differ: {'; '.join(differences)}"
            raise HilgwError(problem, where=self._context.name, fix=fix)

    def differences(self, table: Mapping[str, Device], end: BodyEnd) -> list[str]:
        """Return notices of devices that only one body has, and that are not the same; each once.

        table: the devices that the controller has.
        """
        own = end.own.devices
        notices = differing(table.values(), own)
        role = "remote" if end is self.remote else "simulated"
        if names := of_one_only(own, table.values()):
            notices.append(f"only the {role} body has: {', '.join(names)}")
        if names := of_one_only(table.values(), own):
            notices.append(f"the {role} body does not have: {', '.join(names)}")
        shown, self._compared = self._compared, self._compared | set(notices)
        return [text for text in notices if text not in shown]
