"""A port of the running gateway in the hands of another program (`hilgw release`).

Such as one that flashes a board. Motors of a body on it are stopped first, and stay disarmed.
"""

import asyncio

from hilgw.control.events import StopReason
from hilgw.engine.control_loop.bodies.body_end import BodyEnd
from hilgw.engine.control_loop.peer_link import PeerLink
from hilgw.engine.gateway import Gateway
from hilgw.engine.simulated.event_loop import sleep_in_real_time
from hilgw.engine.supervisor import Supervisor
from hilgw.errors import HilgwError, SafetyError, quoted, suggest
from hilgw.protocols.gateway.requests import PortReleased

STOP_S = 1.0  # for the stop to leave the port
POLL_S = 0.005


class Handover:
    """A port that is released to a program, until `end`.

    HilgwError for a port that is unknown, or no device of this machine.
    """

    def __init__(self, gateway: Gateway, name: str, to: str) -> None:
        self.name, self.to, self._loops = name, to, gateway.control_loops
        port = gateway.supervisors.get(name)
        if port is None:
            raise HilgwError(f"no port {quoted(name)} here", fix=suggest(name, gateway.supervisors))
        if not isinstance(port, Supervisor) or port.port.path is None:
            raise HilgwError(f"there is no real port to hand over: {port.where}", where=name)
        self._port, self._path = port, port.port.path
        link = port.supervised
        end = link.listener if isinstance(link, PeerLink) else None
        self._body = end if isinstance(end, BodyEnd) else None

    async def begin(self) -> PortReleased:
        """Close the port in all processes of this gateway.

        Return the path of the device, and a note for the user. HilgwError, and the port is kept,
        when a stop of its motors was not sent.
        """
        path, body = await asyncio.to_thread(self._path), self._body
        note = "" if body is None else await self._stop(body)
        await self._port.lend(self.to)
        while body and (thread := body.safety.emergency_stop.closing) and thread.is_alive():
            await sleep_in_real_time(POLL_S)
        return PortReleased(path, note)

    async def _stop(self, body: BodyEnd) -> str:
        """Disarm the robot; return when the stop has left. Nothing arms it until `end`."""
        link, was_up, transport = body.link, body.is_up, body.link.transport
        robot, left_s = self.name.rpartition(".")[0], STOP_S
        body.safety.released = f"to {self.to}"
        self._loops.disarm(robot, reason=StopReason.RELEASED)
        others = [each for each in self._loops[robot].unstopped if each != self.name]
        more = f"; no stop was sent to {', '.join(others)}, which is down" if others else ""
        if not was_up:
            return f"; {robot} is disarmed; no stop was sent, as {self.name} was down{more}"
        sent = body.safety.stops.took
        while sent and not body.safety.has_drained():
            await sleep_in_real_time(POLL_S)
            left_s -= POLL_S
            sent = left_s > 0
        sent = sent and not body.safety.stops.unconfirmed
        if not sent or link.transport is not transport:
            raise SafetyError(
                "not handed over: the stop of its motors was not sent",
                where=self.name,
                fix="stop it by hand, then try again",
            )
        return f"; {robot} is stopped, and disarmed until `hilgw arm {robot}`{more}"

    def end(self) -> None:
        """Take the port back for the gateway."""
        self._port.take_back()
        if self._body is not None:
            self._body.safety.released = ""
