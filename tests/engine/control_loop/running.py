"""A gateway with a control loop in simulated time, between peers that the test plays by hand."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hilgw.assemble.gateway import build
from hilgw.config.load import load_config
from hilgw.engine.control_loop.loop import ControlLoop
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import State
from hilgw.errors import HilgwError
from hilgw.testing.sim import Recorder, SimEventLoop, local_sockets
from tests.e2e.control_loop_peers import (
    CAB,
    DEADLINE_S,
    Devices,
    Peer,
    configuration,
    port_in,
    registrations,
    set_value,
    write_configuration,
)

GO = set_value(1, 5.0)
STOP = set_value(1, 0.0) + set_value(2, 0.0)


class SimPeer(Peer):
    """One end of a connection; its waits run the gateway."""

    def __init__(self, connection: socket.socket, loop: SimEventLoop) -> None:
        super().__init__(connection)
        connection.setblocking(False)
        self.ended = False
        self._loop = loop

    def poll(self) -> bytearray:
        """All that was received and not yet waited for."""
        try:
            while data := self.connection.recv(65536):
                self.received += data
            self.ended = True
        except BlockingIOError:
            pass
        except OSError:
            self.ended = True
        return self.received

    def wait_for(self, data: bytes, deadline_s: float = DEADLINE_S) -> int:
        """Forgets up to the end of these bytes; the simulated time at which they came, ns."""
        self._loop.until(lambda: data in self.poll() or self.ended, data.hex(" "), deadline_s)
        begin = self.received.find(data)
        assert begin >= 0, f"the stream ended; before that: {bytes(self.received[-64:]).hex(' ')}"
        del self.received[: begin + len(data)]
        return self._loop.clock.time

    def wait_for_end(self, deadline_s: float = DEADLINE_S) -> None:
        self._loop.until(lambda: self.poll() is None or self.ended, "the end", deadline_s)


class SimGateway:
    """`with` runs a gateway in simulated time. Its connections are those of the test."""

    def __init__(self) -> None:
        self.log = Recorder()
        self.loop = SimEventLoop()
        self.clock = self.loop.clock
        self.ends = contextlib.ExitStack()
        self.ends.enter_context(local_sockets())
        self._stop = asyncio.Event()

    def load(self, folder: Path, text: str) -> None:
        file = write_configuration(folder, text)
        self.gateway = self.loop.run_until_complete(self._build(file))

    async def _build(self, file: str) -> Gateway:
        return build(load_config(file).config, self.loop, self.log, timer=self.clock)

    async def _run(self) -> None:
        try:
            await self.gateway.run(self._stop)
        finally:
            self.gateway.close()

    def __enter__(self) -> Self:
        self._running = self.loop.create_task(self._run())
        try:
            self.started()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def started(self) -> None:
        """Until everything is there."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        try:
            self.end()
        except HilgwError:
            if error is None:
                raise
        finally:
            self.ends.close()
            self.loop.close()

    def end(self) -> None:
        """Ends the gateway, as a signal does. Raises the error that it ends with."""
        self._stop.set()
        self.loop.run_until_complete(self._running)

    def until(self, condition: Callable[[], object], expected: str = "") -> None:
        self.loop.until(condition, expected, DEADLINE_S)

    def advance(self, seconds: float) -> None:
        self.loop.advance(seconds)

    def hang(self, seconds: float) -> None:
        """The event loop does nothing for this long."""
        self.clock.time += round(seconds * 1e9)

    def peer(self, connection: socket.socket) -> SimPeer:
        return SimPeer(self.ends.enter_context(connection), self.loop)


class RunningLoop(SimGateway):
    """`with RunningLoop(tmp_path) as running:` robot and gateway are connected.

    more: further keys of the robot, or of the file; body: of its body. text: the whole file
    instead; PORT in it is the robot's port. robot: False leaves the robot's server alone; away:
    there is none before `accept`.
    controller: False for none.
    """

    robot: SimPeer | None = None

    def __init__(
        self,
        folder: Path,
        more: str = "",
        *,
        body: str = "",
        text: str | None = None,
        devices: Devices = CAB,
        robot: bool = True,
        away: bool = False,
        controller: bool = True,
    ) -> None:
        super().__init__()
        self.devices = devices
        self._listening = self.ends.enter_context(socket.socket())
        self._listening.bind(("127.0.0.1", 0))
        self._listening.setblocking(False)
        if not away:
            self._listening.listen()
        port = self._listening.getsockname()[1]
        if text is None:
            text = configuration(port, body=body, more=more, controller=controller)
        self.load(folder, text.replace("PORT", str(port)))
        self._accept = robot and not away

    def started(self) -> None:
        if self._accept:
            self.robot = self.accept()
        if "cab.controller" in self.gateway.supervisors:
            self.until(lambda: self.port, "listening")
            self.tcp_server = self.gateway.supervisors["cab.controller"]
        if self._accept:
            self.until(lambda: self.log.saw("cab.body", State.UP), "the body")

    @property
    def port(self) -> int:
        """The port on which the gateway listens; 0 before it does."""
        reasons = [reason for name, _, reason in self.log.states if name == "cab.controller"]
        return max(map(port_in, (f"{reason} " for reason in reasons)), default=0)

    def accept(self) -> SimPeer:
        """The gateway connects to the robot, and the robot registers its devices."""
        connections: list[socket.socket] = []
        self._listening.listen()

        def accepted() -> bool:
            with contextlib.suppress(BlockingIOError):
                connections.append(self._listening.accept()[0])
            return bool(connections)

        self.until(accepted, "a connection to the robot")
        robot = self.peer(connections[0])
        robot.send(*registrations(self.devices))
        return robot

    def knock(self) -> SimPeer:
        """Somebody connects to the gateway."""
        return self.peer(socket.create_connection(("127.0.0.1", self.port)))

    def controller(self) -> SimPeer:
        """A controller that is connected, and has received the devices."""
        controller = self.knock()
        controller.wait_for(b"".join(registrations(self.devices)))
        return controller

    @property
    def cab(self) -> ControlLoop:
        return self.gateway.control_loops["cab"]

    def report(self) -> dict[str, Any]:
        report: dict[str, Any] = self.gateway.report()["control_loops"]["cab"]
        return report

    def stops(self) -> dict[str, int]:
        return dict(self.cab.safety.state.stops)


def robot_of(running: RunningLoop) -> SimPeer:
    assert running.robot is not None
    return running.robot


def driving(running: RunningLoop, command: bytes = GO) -> SimPeer:
    """A controller whose command has reached the robot."""
    controller = running.controller()
    controller.send(command)
    robot_of(running).wait_for(command)
    return controller
