"""A gateway with a control loop, in a thread of its own, between peers the test plays by hand."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from hilgw.assemble.gateway import build
from hilgw.config.load import load_config
from hilgw.engine.control_loop.loop import ControlLoop
from hilgw.engine.control_loop.tcp_server import TcpServer
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import Observer, State
from hilgw.errors import HilgwError
from tests.e2e.control_loop_peers import (
    CAB,
    DEADLINE_S,
    Devices,
    Peer,
    RobotServer,
    configuration,
    connect,
    knock,
    set_value,
    write_configuration,
)

T = TypeVar("T")
GO = set_value(1, 5.0)
STOP = set_value(1, 0.0) + set_value(2, 0.0)


class Log(Observer):
    """Everything that was said."""

    def __init__(self) -> None:
        self.states: list[tuple[str, State, str]] = []
        self.refusals: list[tuple[str, str, str]] = []
        self.notices: list[str] = []

    def state(self, station: str, state: State, reason: str) -> None:
        self.states.append((station, state, reason))

    def refused(self, station: str, reason: str, text: str) -> None:
        self.refusals.append((station, reason, text))

    def notice(self, source: str, text: str) -> None:
        self.notices.append(text)

    def saw(self, station: str, state: State) -> int:
        return sum((station, state) == each[:2] for each in self.states)


def until(condition: Callable[[], object], what: str = "", deadline_s: float = DEADLINE_S) -> None:
    """Polls the condition until it holds; fails after the deadline."""
    end = time.monotonic() + deadline_s
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < end, f"not within {deadline_s} s: {what or condition}"
        pause.wait(0.001)


class RunningLoop:
    """`with RunningLoop(tmp_path) as running:` robot and gateway are connected.

    more: further keys of the robot, or of the file; body: of its body. text: the whole file
    instead. robot: False leaves the robot's server alone. controller: False for none.
    """

    def __init__(
        self,
        folder: Path,
        more: str = "",
        *,
        body: str = "",
        text: str | None = None,
        devices: Devices = CAB,
        robot: bool = True,
        controller: bool = True,
    ) -> None:
        self.server = RobotServer()
        self.devices = devices
        self.log = Log()
        self.error: BaseException | None = None
        self.robot: Peer | None = None
        self._peers: list[Peer] = []
        if text is None:
            text = configuration(self.server.port, body=body, more=more, controller=controller)
        self._config = load_config(write_configuration(folder, text)).config
        self._accept = robot
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> RunningLoop:
        self._thread.start()
        try:
            self._wait_until_up()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def _wait_until_up(self) -> None:
        assert self._started.wait(DEADLINE_S)
        if self._accept:
            self.robot = self.accept()
        server = self.gateway.supervisors.get("cab.controller")
        if isinstance(server, TcpServer):
            until(lambda: server.was_up, "listening")
            self.tcp_server = server
            self.port = server._listener.port
        if self._accept:
            until(lambda: self.log.saw("cab.body", State.UP), "the body")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.end()
        self.server.close()
        for peer in self._peers:
            peer.finish()
        if error is None and self.error is not None:
            raise self.error

    def end(self) -> None:
        """Ends the gateway, as a signal does."""
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(DEADLINE_S)
            assert not self._thread.is_alive()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except HilgwError as error:
            self.error = error

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self.gateway: Gateway = build(self._config, self.loop, self.log)
        self._started.set()
        try:
            await self.gateway.run(self._stop)
        finally:
            self.gateway.close()

    # --- in the loop --------------------------------------------------------------------------

    def call(self, function: Callable[[], T]) -> T:
        """Runs it in the gateway's thread and returns what it returned."""
        done: list[T] = []
        ready = threading.Event()

        def run() -> None:
            done.append(function())
            ready.set()

        self.loop.call_soon_threadsafe(run)
        assert ready.wait(DEADLINE_S)
        return done[0]

    def hang(self, seconds: float) -> None:
        """The loop does nothing for so long; returns at once."""
        self.loop.call_soon_threadsafe(time.sleep, seconds)

    def accept(self) -> Peer:
        """The gateway connects to the robot."""
        return self._keep(self.server.accept(self.devices))

    def knock(self) -> Peer:
        """Somebody connects to the gateway."""
        return self._keep(knock(self.port))

    def controller(self) -> Peer:
        """A controller that is connected, and knows the devices."""
        return self._keep(connect(self.port, self.devices))

    def controller_again(self) -> Peer:
        """A controller that tries until it is let in."""
        end = time.monotonic() + DEADLINE_S
        while True:
            try:
                return self.controller()
            except AssertionError:
                assert time.monotonic() < end, "it is never let in"

    def _keep(self, peer: Peer) -> Peer:
        self._peers.append(peer)
        return peer

    @property
    def cab(self) -> ControlLoop:
        return self.gateway.control_loops["cab"]

    def report(self) -> dict[str, Any]:
        return self.call(lambda: self.gateway.report()["control_loops"]["cab"])

    def stops(self) -> dict[str, int]:
        return dict(self.cab.safety.state.stops)


def robot_of(running: RunningLoop) -> Peer:
    """The robot that is connected."""
    assert running.robot is not None
    return running.robot


def driving(running: RunningLoop, command: bytes = GO) -> Peer:
    """A controller whose command has reached the robot."""
    controller = running.controller()
    controller.send(command)
    robot_of(running).wait_for(command)
    return controller
