"""The address where controllers connect to reach Webots through hilgw: one or more robots."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hilgw.engine.control_loop.servers.webots_handshake import HANDSHAKE_S, Handshake
from hilgw.engine.observer import State
from hilgw.engine.proxy.connection import WRITE_LIMIT_BYTES, ProxyConnection
from hilgw.engine.proxy.place import ProxyPlace
from hilgw.engine.supervisor import ObservedPort
from hilgw.engine.waiting_line import MOST_OF_ADDRESS, MOST_WAITING
from hilgw.errors import PeerError
from hilgw.protocols.webots.handshake import Acknowledgement
from hilgw.transports.tcp.listener import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hilgw.engine.lines import Lines
    from hilgw.engine.listening import Listening
    from hilgw.engine.proxy.robot import ProxiedRobot
    from hilgw.errors import HilgwError
    from hilgw.transports.base import Transport

MOST_REPORTED = 100
STOP_S = 0.5  # for controllers to leave when the gateway ends


class ProxyServer(ObservedPort):
    """Listens on one address, a `hilgw.engine.supervisor.PortStatus`.

    robots: told apart by the name in the controller's line, which may be missing when there is
    one.
    """

    def __init__(
        self,
        name: str,
        robots: Sequence[ProxiedRobot],
        listening: Listening,
        lines: Lines,
        *,
        where: str,
    ) -> None:
        super().__init__(name, lines, where)
        refused = lambda robot, error: self._refuse(robot.world_name, str(error))  # noqa: E731
        self._places = {
            robot.encoded_name: ProxyPlace(robot, lines, self._taken, refused) for robot in robots
        }
        self._listening = listening
        self._handshakes: set[Handshake] = set()
        self._connections: set[ProxyConnection] = set()
        self._reported: set[str] = set()

    @property
    def ready(self) -> bool:
        """A controller may connect."""
        return self.was_up

    async def run(self, on_up: Callable[[], None]) -> None:
        self._enter(State.OPENING, self.where)
        limits = Limits(
            clients=MOST_WAITING + len(self._places),
            per_address=MOST_OF_ADDRESS + len(self._places),
            write_bytes=WRITE_LIMIT_BYTES,
            silent_ms=0,  # a controller in a debugger reads nothing for minutes
            tls_handshake_s=HANDSHAKE_S,
        )
        try:
            await self._listening.open(self._incoming, limits, self.notify)
            self.was_up = True
            self._wait()
            on_up()
            await asyncio.get_running_loop().create_future()
        finally:
            self._listening.close()
            for handshake in list(self._handshakes):
                handshake.close()
            for place in self._places.values():
                place.all_left()
            await self._stop()
            self._enter(State.CLOSED, "")

    def _wait(self) -> None:
        self._enter(State.WAITING, f"listening on {self._listening.where}")

    async def _stop(self) -> None:
        """QUIT to every controller; those that need longer to leave find it in their socket."""
        open_ones = list(self._connections)
        for connection in open_ones:
            connection.quit(PeerError("the gateway ends"))
        if open_ones:
            await asyncio.wait([each.ended for each in open_ones], timeout=STOP_S)
        for connection in open_ones:
            connection.controller_lost(PeerError("the gateway ends"))

    # --- controllers that come ------------------------------------------------------------------

    def _incoming(self, stream: Transport, peer: str) -> None:
        refused = lambda _, reason, text: self._refuse(peer, text)  # noqa: E731
        handshake = Handshake(stream, peer, self._handshakes, refused)
        handshake.read_line(self._places, self._greeted)

    def _greeted(self, handshake: Handshake) -> None:
        """It waits for the robot that it names, or is gone."""
        name, peer, check = handshake.robot, handshake.peer, self._listening.check_token
        reason = check(handshake.token, peer) if check is not None else None
        if check is not None and reason is not None:
            why = check.why(handshake.token, reason)
            self._refuse(peer.rpartition(":")[0], why.text)
            handshake.dismiss(Acknowledgement.FORBIDDEN, why)
            return
        place = self._places.get(name)
        if place is None and not name and len(self._places) == 1:
            (place,) = self._places.values()
        if place is None:
            known = ", ".join(each.robot.world_name for each in self._places.values())
            self._refuse(peer, f"no robot '{name:.100}' here; robots: {known}")
            handshake.dismiss(Acknowledgement.FAILED)
            return
        self.opened += 1
        place.line.join(handshake)

    def _taken(
        self, handshake: Handshake, robot: ProxiedRobot, webots: Transport, early: bytes
    ) -> None:
        """The controller has the robot."""
        request = handshake.take()
        stream = self.lines.opened(f"{robot.name}.controller", handshake.stream, request)
        connection = ProxyConnection(stream, webots, robot, self._ended)
        self._connections.add(connection)
        self.ups += 1
        there = f"Webots on {webots.name.removeprefix('socket://')}"
        self._enter(State.UP, f"{robot.world_name} from {handshake.peer}, {there}")
        connection.start(request, early)

    def _refuse(self, peer: str, text: str) -> None:
        """A controller tries again every second: one line for each reason."""
        if text not in self._reported and len(self._reported) < MOST_REPORTED:
            self._reported.add(text)
            self.notify(f"{peer}: {text}")

    def _ended(self, connection: ProxyConnection, error: HilgwError) -> None:
        self._connections.discard(connection)
        self.last_error = error
        if not self._connections:
            self._enter(State.WAITING, f"{error.what}; listening on {self._listening.where}")
