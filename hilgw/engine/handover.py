"""A port of the running gateway in the hands of another program, such as one that flashes a board
(`hilgw release`). Motors of a body on it are stopped first, and stay disarmed."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from hilgw.control.events import StopReason
from hilgw.engine.simulated.event_loop import in_real_time, real_time, sleep_in_real_time
from hilgw.engine.supervisor import Supervisor
from hilgw.errors import HilgwError, PortError, SafetyError, quoted, suggest
from hilgw.transports.threads import run_in_thread

if TYPE_CHECKING:
    from hilgw.engine.control_loop.bodies.body_end import BodyEnd
    from hilgw.engine.gateway import Gateway

STOP_S = 1.0  # for the stop to leave the port
CLOSE_S = 12.0  # for the port to be closed; a driver that is opening it takes up to 10 s
UP_S = 10.0  # for the module to be up again
POLL_S = 0.005


class Handover:
    """One port that is released to a program. path: of the device. notes: for the user.

    HilgwError for a port that is unknown, no device of this machine, or released already.
    """

    def __init__(self, gateway: Gateway, name: str, to: str) -> None:
        self.name, self.to = name, to
        self.path = ""
        self.notes: list[str] = []
        self._gateway = gateway
        port = gateway.supervisors.get(name)
        if port is None:
            known = gateway.supervisors
            raise HilgwError(f"no port {quoted(name)} here", fix=suggest(name, known))
        if not isinstance(port, Supervisor) or port.path is None:
            what = f"there is no real port to hand over: {port.where}"
            raise HilgwError(what, where=name, fix="only a serial port of this machine can be")
        if port.lent_to:
            raise HilgwError(f"it is released to {port.lent_to} already", where=name)
        self._port, self._find = port, port.path
        robot, _, _ = name.rpartition(".")
        loops = gateway.control_loops
        self._robot = robot
        self._end: BodyEnd | None = loops[robot].end_on(name) if robot in loops else None
        self._is_over = False
        port.lent_to = to

    async def begin(self) -> None:
        """Returns when no process of this gateway has the port open any more. HilgwError when its
        motors could not be stopped, or it could not be closed; `end` has to be called then, too."""
        try:
            self.path = await run_in_thread(self._find, deadline_s=CLOSE_S, undo=_nothing)
            if self._end is not None:
                self._end.safety.released = f"to {self.to}"  # nobody arms it from now on
                await self._stop(self._end)
            await in_real_time(self._port.lend(self.to), CLOSE_S)
            await in_real_time(self._closed(), CLOSE_S)
        except TimeoutError:
            what = "the port could not be closed"
            raise PortError(what, reason=PortError.BUSY, where=self.name) from None

    async def _stop(self, end: BodyEnd) -> None:
        """Disarms the robot; returns when the stop has left."""
        link, was_up, transport = end.link, end.is_up, end.link.transport
        self._gateway.control_loops.disarm(self._robot, reason=StopReason.RELEASED)
        if transport is None or not was_up:
            self.notes.append(f"{self._robot} is disarmed; no stop was sent: {self.name} was down")
            return
        until = real_time(asyncio.get_running_loop()) + STOP_S
        sent = end.safety.took_stop
        while sent and not (link.ask(True, link.session.is_idle) and link.has_drained()):
            sent = real_time(asyncio.get_running_loop()) < until
            await sleep_in_real_time(POLL_S)
        if not sent or link.transport is not transport:
            what = "not handed over: the stop of its motors was not sent"
            raise SafetyError(what, where=self.name, fix="stop it by hand, then try again")
        self.notes.append(f"{self._robot} is stopped, and disarmed until `hilgw arm`")

    async def _closed(self) -> None:
        """Our last descriptor may be closed in a thread, as its driver may block."""
        from hilgw.transports.serial import tty

        ours = {os.getpid(), self._gateway.control_loops.watchdog.guardian.pid}

        def is_open() -> bool:
            return any(each.pid in ours for each in tty.holders(self.path))

        while await run_in_thread(is_open, deadline_s=CLOSE_S, undo=_nothing):
            await sleep_in_real_time(POLL_S)

    def end(self) -> None:
        """The gateway takes the port back. A second call does nothing."""
        if self._is_over:
            return
        self._is_over, self._port.lent_to = True, ""
        self._port.take_back()
        if self._end is not None:
            self._end.safety.released = ""

    async def until_up(self) -> str:
        """After `end`: empty when it is up again, else its state after some seconds."""
        until = real_time(asyncio.get_running_loop()) + UP_S
        while not self._port.ready and real_time(asyncio.get_running_loop()) < until:
            await sleep_in_real_time(POLL_S)
        port = self._port
        return "" if port.ready else port.state.because(port.reason)


def _nothing(_: object) -> None:
    """Of a call that was given up."""
