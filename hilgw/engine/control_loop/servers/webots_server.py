"""Where Webots controllers connect: one address for the controllers of several robots, by name."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import unquote

from hilgw.engine.control_loop.servers.webots_handshake import HANDSHAKE_S, Handshake
from hilgw.engine.control_loop.servers.webots_port import ANSWER_BYTES, WebotsPort
from hilgw.engine.supervisor import STALL_POLL_S
from hilgw.engine.waiting_line import MOST_OF_ADDRESS, MOST_WAITING
from hilgw.protocols.webots.handshake import Acknowledgement, encode_name
from hilgw.reasons import RequestRefused
from hilgw.transports.tcp.listener import Limits

if TYPE_CHECKING:
    from hilgw.engine.listening import Listening
    from hilgw.transports.base import Transport


class WebotsServer:
    """Listens on one address, and connects each controller to the robot that it names.

    The token in the name (rover?token=...) is checked where the address has a `check_token`.
    """

    def __init__(self, listening: Listening) -> None:
        self._listening = listening
        self._ports: dict[str, WebotsPort] = {}  # by encoded name
        self._opening: asyncio.Future[None] | None = None
        self._polling: asyncio.TimerHandle | None = None
        self._handshakes: set[Handshake] = set()

    @property
    def host(self) -> str:
        return self._listening.host

    @property
    def where(self) -> str:
        return self._listening.where

    @property
    def port(self) -> int:
        return self._listening.port

    def add(self, port: WebotsPort) -> None:
        self._ports[encode_name(port.robot)] = port

    def remove(self, port: WebotsPort) -> None:
        """The robot accepts no controller any more; the last one ends the server."""
        self._ports.pop(encode_name(port.robot), None)
        if self._ports:
            return
        self._listening.close()
        if self._polling is not None:
            self._polling.cancel()
        for handshake in list(self._handshakes):
            handshake.close()

    async def open(self) -> None:
        """Listens; for all robots once. Raises PortError."""
        if self._opening is None:
            self._opening = asyncio.ensure_future(self._listen())
        await asyncio.shield(self._opening)

    async def _listen(self) -> None:
        robots = len(self._ports)
        limits = Limits(
            clients=MOST_WAITING + robots,
            per_address=MOST_OF_ADDRESS + robots,
            write_bytes=ANSWER_BYTES,
            tls_handshake_s=HANDSHAKE_S,
        )
        first = next(iter(self._ports.values()))
        await self._listening.open(self._incoming, limits, first.notify)
        self._poll()

    def _poll(self) -> None:
        """Counts connections that the listener refused."""
        if not self._ports:
            return
        first = next(iter(self._ports.values()))
        if number := self._listening.take_refused():
            text = f"{number} more connections"
            first.count(RequestRefused.TOO_MANY_CONNECTIONS, text, number)
        self._polling = asyncio.get_running_loop().call_later(STALL_POLL_S, self._poll)

    # --- connections that come in -------------------------------------------------------------

    def _incoming(self, stream: Transport, peer: str) -> None:
        handshake = Handshake(stream, peer, self._handshakes, self._count)
        handshake.read_line(self._ports, self._decide)

    def _decide(self, handshake: Handshake) -> None:
        """It waits for the robot that it names, or is gone."""
        first = next(iter(self._ports.values()), None)
        if first is None:
            handshake.dismiss(Acknowledgement.FAILED)
            return
        port, check = self._find(handshake.robot), self._listening.check_token
        reason = check(handshake.token, handshake.peer) if check is not None else None
        if check is not None and reason is not None:
            why = check.why(handshake.token, reason)
            (port or first).count(reason, f"{handshake.peer}: {why.text}")
            handshake.dismiss(Acknowledgement.FORBIDDEN, why)
        elif port is None:
            text = f"{handshake.peer}: {self._robots(handshake.robot)}"
            first.count(RequestRefused.UNKNOWN_ROBOT, text)
            handshake.dismiss(Acknowledgement.FAILED)
        else:
            port.line.join(handshake)

    def _find(self, robot: str) -> WebotsPort | None:
        """The robot of an encoded name. No name: the only robot."""
        if robot:
            return self._ports.get(robot)
        return next(iter(self._ports.values())) if len(self._ports) == 1 else None

    def _robots(self, robot: str) -> str:
        names = ", ".join(sorted(port.robot for port in self._ports.values()))
        what = f"no robot '{unquote(robot):.100}' here" if robot else "names no robot"
        return f"{what}; robots: {names}"

    def _count(self, handshake: Handshake, reason: RequestRefused, text: str) -> None:
        """The peer was too slow, or is not a Webots controller."""
        port = self._find(handshake.robot) or next(iter(self._ports.values()), None)
        if port is not None:
            port.count(reason, text)
