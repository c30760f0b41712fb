"""All loops of a gateway, and what they have in common: the pulse, their start and their end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from hilgw.engine.control_loop.watchdog import Watchdog
from hilgw.errors import HilgwError, SafetyError

if TYPE_CHECKING:
    from hilgw.engine.control_loop.loop import ControlLoop
    from hilgw.transports.base import Scheduler

DRAIN_S = 1.0  # for the last commands to leave
DRAIN_LOOK_S = 0.002


class ControlLoops:
    """The loops by the names of their robots."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.pulse = Watchdog(scheduler)
        self._scheduler = scheduler
        self._loops: dict[str, ControlLoop] = {}

    def add(self, loop: ControlLoop) -> None:
        self._loops[loop.name] = loop
        self.pulse.watch(loop.drive)

    def __getitem__(self, robot: str) -> ControlLoop:
        """The loop of this robot. HilgwError for a robot without one."""
        if robot not in self._loops:
            known = ", ".join(self._loops) or "none"
            raise HilgwError(f"no robot {robot!r} with a body here", fix=f"robots: {known}")
        return self._loops[robot]

    def start(self) -> None:
        self.pulse.start()
        for loop in self._loops.values():
            loop.start()

    async def stop_motors(self) -> None:
        """First of all when the gateway ends, while the connections are still there."""
        for loop in self._loops.values():
            loop.end()
        end_ns = self._scheduler.now() + round(DRAIN_S * 1e9)
        while not all(loop.has_drained() for loop in self._loops.values()):
            if self._scheduler.now() > end_ns:
                break
            await asyncio.sleep(DRAIN_LOOK_S)

    def close(self) -> None:
        self.pulse.stop()
        for loop in self._loops.values():
            loop.close()

    def arm(self, robot: str) -> bool:
        """Let motors move again after a stop that was latched; whether one was. HilgwError for a
        robot without a loop."""
        return self[robot].failsafe.arm()

    def demand_none_latched(self) -> None:
        """Raises FailsafeError for the first loop whose motors were stopped for good."""
        for name, loop in self._loops.items():
            if loop.failsafe.latched:
                what = f"the failsafe is latched: {loop.failsafe.latched.replace('_', ' ')}"
                raise SafetyError(what, where=name, fix="see the report for every stop")

    def report(self) -> dict[str, Any]:
        return {name: loop.report() for name, loop in self._loops.items()}
