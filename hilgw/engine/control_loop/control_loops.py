"""All control loops of a gateway: their watchdog, their start and their end."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from hilgw.control.events import StopReason
from hilgw.control.safety_settings import DEFAULT_GUARDIAN_MS
from hilgw.devices.kinds import Device
from hilgw.engine.control_loop.watchdog import Watchdog
from hilgw.engine.observer import State
from hilgw.engine.simulated.event_loop import real_time, sleep_in_real_time
from hilgw.errors import HilgwError, SafetyError, quoted, suggest
from hilgw.transports.base import Scheduler
from hilgw.units import NS_PER_S, ns_to_s, s_to_ns

if TYPE_CHECKING:
    from hilgw.engine.control_loop.loop import ControlLoop
    from hilgw.engine.control_loop.safety import Safety

DRAIN_S = 1.0  # time for the last commands to leave
POLL_S = 0.002
ARM_S = 10.0  # from the start: `--arm` arms a real body that is up by then
HANDSHAKE_NS = 2 * NS_PER_S  # of `hilgw arm`, for a body on its way and the guardian
COMING = (State.CLOSED, State.OPENING, State.HANDSHAKE)


class Interlock(Protocol):
    """The emergency-stop switch, which can keep all robots disarmed.

    It starts after the watchdog, and stops at the end. cause: why it is pressed; empty while it is
    released.
    """

    cause: str

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def demand_released(self) -> None:
        """Raise SafetyError while no robot may be armed."""


class ControlLoops:
    """The control loops by the names of their robots.

    simulated: whether the scheduler's time is. guardian_ms: as of `GatewayConfig`.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        *,
        simulated: bool = False,
        guardian_ms: int = DEFAULT_GUARDIAN_MS,
    ) -> None:
        self.watchdog = Watchdog(scheduler, threaded=not simulated, guardian_ms=guardian_ms)
        self._scheduler = scheduler
        self._loops: dict[str, ControlLoop] = {}
        self.estop: Interlock | None = None
        self.arm_within_s: float | None = None  # of the start; None: whenever it comes up
        self._held: dict[Safety, int] = {}  # armed from the start, but not yet -> its disarms then
        self._ended: set[str] = set()  # robots whose motors were stopped for good
        self.unstopped: set[str] = set()  # those of them whose body took no stop
        self.unconfirmed: dict[str, str] = {}  # body -> why its last stop may not have left

    def add(self, loop: ControlLoop) -> None:
        self._loops[loop.name] = loop
        for safety in loop.safeties:
            self.watchdog.watch(safety)

    def __getitem__(self, robot: str) -> ControlLoop:
        """Return the control loop of this robot. HilgwError for a robot without one."""
        if robot not in self._loops:
            raise self._unknown(robot)
        return self._loops[robot]

    def __iter__(self) -> Iterator[str]:
        return iter(self._loops)

    def _unknown(self, *robots: str) -> HilgwError:
        named = ", ".join(map(repr, robots))
        return HilgwError(
            f"no robot {named} with a control loop here", fix=suggest(robots[0], self._loops)
        )

    def unused(self, *, shadows: bool) -> set[str]:
        """Return the names of the links to bodies that no controller moves.

        shadows: with the shadows'.
        """
        return set().union(*(loop.modes.unused(shadows=shadows) for loop in self._loops.values()))

    def names(self) -> list[str]:
        """Return the robots with a control loop. HilgwError when there is none."""
        if not self._loops:
            raise HilgwError("no robot with a control loop here")
        return list(self._loops)

    def device_of(self, robot: str, name: str) -> Device | None:
        """Return the device of a robot, or of one body as ROBOT.remote, that has this name.

        None while it is not registered.
        """
        return self._loops[robot.partition(".")[0]].statistics.devices.get(name)

    def show_file(self, file: str) -> None:
        """Show Webots' controllers the configuration file as their world."""
        path = Path(file).absolute()
        for loop in self._loops.values():
            loop.steps.show_paths(str(path.parent), str(path))

    def start(self) -> None:
        """Raise SafetyError where there are real bodies, and their guardian cannot start."""
        self.watchdog.guardian.demand()
        self.hold_back()
        if self.arm_within_s is not None:
            self._scheduler.call_at(
                self._scheduler.now() + s_to_ns(self.arm_within_s), self._give_up
            )
        self.watchdog.start()
        if self.estop is not None:
            self.estop.start()
        for loop in self._loops.values():
            loop.start()

    def end(self, *, by_hand: bool = False) -> None:
        """Stop all motors for good, and write it now, while the connections are still up.

        The first step of a shutdown. A second call does nothing. by_hand: a person ends the run.
        """
        for name, loop in self._loops.items():
            if name not in self._ended:
                self._ended.add(name)
                loop.end(by_hand=by_hand)
                if loop.unstopped:
                    self.unstopped.add(name)

    async def stop_motors(self) -> None:
        """Stop all motors for good, and wait until the bodies' connections have taken the stops."""
        self.end()
        end_ns = self._scheduler.now() + s_to_ns(DRAIN_S)
        while not all(loop.has_drained() for loop in self._loops.values()):
            stops_are_over = all(safety.stops.is_over for safety in self.safeties())
            if self._scheduler.now() > end_ns and stops_are_over:
                break
            await asyncio.sleep(POLL_S)
        for safety in self.safeties():
            safety.stops.close()
        for loop in self._loops.values():
            self.unconfirmed |= loop.unconfirmed

    async def stops_left(self, *robots: str) -> dict[str, str]:
        """Wait until the last stops of these robots have left.

        Return the robots of which that is not known, with the reason.
        """
        loops = {robot: self._loops[robot] for robot in robots}
        while any(each.stops.is_leaving for loop in loops.values() for each in loop.safeties):
            await sleep_in_real_time(POLL_S)
        whys = {robot: ", ".join(loop.unconfirmed.values()) for robot, loop in loops.items()}
        return {robot: why for robot, why in whys.items() if why}

    def close(self) -> None:
        self.watchdog.stop()
        if self.estop is not None:
            self.estop.stop()
        for loop in self._loops.values():
            loop.close()
        self.watchdog.guardian.close()

    # --- armed from the start -----------------------------------------------------------------

    def hold_back(self) -> None:
        """Keep robots disarmed until the emergency-stop switch was read as closed.

        And real ones until they are up for the first time.
        """
        for safety in self.safeties():
            if safety.state.armed and (safety.is_guarded or self.estop is not None):
                safety.state.armed, safety.on_up = False, self.arm_held
                self._held[safety] = safety.state.disarms

    def arm_held(self) -> None:
        """Arm those that are held back no more, unless they were disarmed meanwhile."""
        if not self.watchdog.guardian.confirmed() or (self.estop is not None and self.estop.cause):
            return
        for safety, disarms in list(self._held.items()):
            if not safety.away:
                del self._held[safety]
                if safety.state.disarms == disarms and not safety.misplaced():
                    safety.arm()

    def _give_up(self) -> None:
        for safety in [each for each in self._held if each.away]:
            del self._held[safety]
            safety.gave_up(self.arm_within_s or 0)

    # --- by the user --------------------------------------------------------------------------

    async def await_bodies(self, *robots: str, limit_ns: int = HANDSHAKE_NS) -> None:
        """Return when the guardian has answered and no real body of these robots is on its way.

        SafetyError where one was disarmed meanwhile. After this time it returns in any case.
        """
        self.watchdog.guardian.demand()
        loops = [self[robot] for robot in robots]
        disarms, event_loop = [loop.disarms for loop in loops], asyncio.get_running_loop()
        end_s = real_time(event_loop) + ns_to_s(limit_ns)
        while real_time(event_loop) < end_s and (
            not self.watchdog.guardian.confirmed()
            or any(state in COMING for loop in loops for state in loop.away)
        ):
            await sleep_in_real_time(POLL_S)
        if disarms != [loop.disarms for loop in loops]:
            raise SafetyError("not armed: it was disarmed meanwhile", fix="arm it again")

    def arm(self, *robots: str, accepted: Collection[str] = ()) -> None:
        """Let the motors of these robots move.

        accepted: motors whose position counts, though their zero was lost. HilgwError for a robot
        without a control loop, with a hardware fault, or whose real body is down, for a motor that
        none has, while the guardian has not answered, and while the emergency-stop switch is
        pressed: none is armed then.
        """
        if self.estop is not None:
            self.estop.demand_released()
        loops = [self[robot] for robot in robots]
        self.watchdog.guardian.demand()
        if not self.watchdog.guardian.confirmed():
            raise SafetyError("not armed: the guardian has not answered yet", fix="arm again")
        for loop in loops:
            loop.demand_armable(accepted)
        motors = [name for loop in loops for each in loop.safeties for name in each.motors()]
        if unknown := next((name for name in accepted if name not in motors), None):
            raise HilgwError(f"no motor {quoted(unknown)}", fix=suggest(unknown, motors))
        for loop in loops:
            loop.arm(accepted)

    def notes(self, *robots: str) -> dict[str, str]:
        """Return those of these robots, which are to be armed, that no controller moves.

        With what to do, and those that no guardian stops.
        """
        notes = {
            robot: [
                self[robot].presence.absence(),
                self[robot].safety.idleness if self[robot].presence.is_connected else "",
                *(each.emergency_stop.unguarded for each in self[robot].safeties),
            ]
            for robot in robots
        }
        return {robot: "; ".join(filter(None, some)) for robot, some in notes.items() if any(some)}

    def disarm(self, *robots: str, reason: StopReason = StopReason.DISARMED) -> list[str]:
        """Stop these robots; their motors do not move until `arm`.

        HilgwError for robots without a control loop; the others are stopped then. Returns those
        whose body took no stop: it is lost.
        """
        now = self._scheduler.now()
        known = [robot for robot in robots if robot in self._loops]
        down = [robot for robot in known if self._loops[robot].disarm(now, reason)]
        if unknown := [robot for robot in robots if robot not in self._loops]:
            raise self._unknown(*unknown)
        return down

    def safeties(self) -> Iterator[Safety]:
        """Yield the `Safety` of each body."""
        for loop in self._loops.values():
            yield from loop.safeties

    def emergency_stop(self) -> None:
        """Stop all robots from another thread, as the event loop is late.

        No command passes until `disarm`, which the event loop calls as soon as it goes on.
        """
        for safety in self.safeties():
            safety.state.armed = False
            safety.emergency()

    def demand_none_latched(self) -> None:
        """Raise SafetyError for the first control loop with a latched stop."""
        for name, loop in self._loops.items():
            if latched := next(filter(None, (each.state.latched for each in loop.safeties)), None):
                raise SafetyError(
                    f"safety stop latched: {latched.replace('_', ' ')}",
                    where=name,
                    fix="the report lists every stop",
                )
