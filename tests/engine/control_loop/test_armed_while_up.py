"""A real robot is armed only while its body is up: what is away would move when it comes back."""

import asyncio
import contextlib
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hilgw.assemble.gateway import build
from hilgw.client import Gateway as Client
from hilgw.client.arming import arm
from hilgw.client.holding import take
from hilgw.config.load import load_config, load_text
from hilgw.config.model import armed
from hilgw.engine.control_loop.control_loops import ARM_S
from hilgw.engine.control_socket.control_server import ControlServer
from hilgw.engine.observer import State
from hilgw.errors import HilgwError, PeerError, SafetyError
from hilgw.testing.sim import Recorder, until
from hilgw.units import NS_PER_S
from tests.engine.control_loop.running import GO, RunningLoop, driving, robot_of
from tests.engine.gateways import running
from tests.scenarios import scenario_of

REAL = "simulated: false"
ARMED = "    safety: {armed: true}"


def state(running: RunningLoop) -> bool:
    return bool(running.report()["armed"])


class ArmOption(RunningLoop):
    """As with `--arm`."""

    async def _build(self, file: str) -> Any:
        config = armed(load_config(file).config)
        gateway = build(config, self.loop, self.log, timer=self.clock)
        gateway.control_loops.arm_within_s = ARM_S
        return gateway


@pytest.mark.parametrize("after_s", [0.0, 9.0])
def test_arm_at_the_start_arms_at_the_first_coming_up(tmp_path: Path, after_s: float) -> None:
    with ArmOption(tmp_path, body=REAL, away=True) as running:
        running.advance(after_s)
        assert not state(running)
        running.robot = running.accept()
        running.until(lambda: running.log.saw("cab.body", State.UP))
        assert state(running)
        driving(running)
        running.gateway.control_loops.disarm("cab")
        running.advance(10.0)
        assert not any("--arm" in text for text in running.log.notices)


def test_it_arms_not_later_and_reports_it(tmp_path: Path) -> None:
    with ArmOption(tmp_path, body=REAL, away=True) as running:
        running.advance(ARM_S + 0.1)
        text = "--arm: not armed, as its body was not up within 10 s of the start; `hilgw arm cab`"
        assert any(each.startswith(text) for each in running.log.notices)
        running.robot = running.accept()
        running.until(lambda: running.log.saw("cab.body", State.UP))
        controller = running.controller()
        controller.send(GO)
        running.advance(1.0)
        assert not state(running) and GO not in robot_of(running).poll()


def test_it_arms_at_the_first_coming_up_alone(tmp_path: Path) -> None:
    with ArmOption(tmp_path, body=REAL) as running:
        assert state(running)
        robot_of(running).finish()
        running.until(lambda: not state(running))
        running.robot = running.accept()
        running.until(lambda: running.log.saw("cab.body", State.UP) == 2)
        assert not state(running)


def test_who_is_disarmed_before_it_is_up_stays_disarmed(tmp_path: Path) -> None:
    with ArmOption(tmp_path, body=REAL, away=True) as running:
        running.gateway.control_loops.disarm("cab")
        running.robot = running.accept()
        running.until(lambda: running.log.saw("cab.body", State.UP))
        assert not state(running)


def test_a_file_that_arms_has_no_such_limit(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, ARMED, body=REAL, away=True) as running:
        running.advance(60.0)
        assert not state(running)
        running.robot = running.accept()
        running.until(lambda: running.log.saw("cab.body", State.UP))
        assert state(running)


def test_simulated_bodies_are_armed_from_the_start(tmp_path: Path) -> None:
    with ArmOption(tmp_path, away=True) as running:
        assert state(running)
        running.gateway.control_loops.disarm("cab")
        running.gateway.control_loops.arm("cab")
        assert state(running)


TWO = """
version: 1
webots: R2020a
robots:
  cab: {body: {kind: wc2ec, connect: "tcp://127.0.0.1:PORT", simulated: false}}
  bus: {body: {kind: wc2ec, connect: "tcp://127.0.0.1:1", simulated: false}}
"""


def with_two(script: Callable[[Any, str], Any], *, tmp_path: Path) -> None:
    """A gateway that runs, with a robot that is up and another that is down. script: gets it, and
    the path of its control socket."""
    path = str(tmp_path / "control")

    async def run(port: int) -> None:
        config = load_text(TWO.replace("PORT", str(port)), "f").config
        async with running(config, Recorder()) as gateway:
            server = ControlServer(gateway, path)
            await server.start()
            try:
                await until(lambda: gateway.supervisors["bus.body"].state is State.WAITING)
                await until(lambda: gateway.supervisors["cab.body"].state is State.UP)
                await script(gateway, path)
            finally:
                await server.close()

    with socket.create_server(("127.0.0.1", 0)) as robot:  # a connection is all that it takes
        asyncio.run(run(robot.getsockname()[1]))


def armed_in(gateway: Any) -> set[str]:
    loops = gateway.control_loops
    return {name for name in loops if loops[name].safety.state.armed}


WAYS: dict[str, Callable[[str], Any]] = {
    "arm": lambda path: arm("bus", control=path),
    "both": lambda path: arm("cab", "bus", control=path),
    "Gateway.arm": lambda path: Client(Path(path)).arm("bus"),
    "hold": lambda path: take(("cab", "bus"), None, path, None),
}


@pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS)
@scenario_of(with_two)
async def test_a_robot_whose_body_is_down_is_refused(
    gateway: Any, path: str, /, ask: Callable[[str], Any]
) -> None:
    with pytest.raises(HilgwError, match="bus: not armed: its body is down") as caught:
        await asyncio.to_thread(ask, path)
    assert caught.value.exit_code == 5 and armed_in(gateway) == set()


@scenario_of(with_two)
async def test_all_arms_those_that_are_up_and_names_the_others(gateway: Any, path: str, /) -> None:
    with pytest.raises(PeerError, match="bus: not armed: its body is down"):
        await asyncio.to_thread(arm, control=path)
    assert armed_in(gateway) == {"cab"}
    gateway.control_loops.disarm("cab")
    answer = await asyncio.to_thread(Client(Path(path)).arm)
    assert (answer.robots, answer.down) == (["cab"], ["bus"])


@scenario_of(with_two)
async def test_all_that_are_up_are_held_and_the_others_are_named(
    gateway: Any, path: str, /, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hilgw.engine.arming.leases.LEASE_NS", 3600 * NS_PER_S)
    (held,) = await asyncio.to_thread(take, (), None, path, None)
    with contextlib.closing(held):
        assert armed_in(gateway) == {"cab"} == set(held.robots)
        (error,) = held.errors
        assert (str(error), error.exit_code) == ("bus: not armed: its body is down; connect it", 5)
    await until(lambda: armed_in(gateway) == set())


@scenario_of(with_two)
async def test_in_a_handshake_it_waits_and_a_disarm_counts(gateway: Any, path: str, /) -> None:
    port, loops = gateway.supervisors["bus.body"], gateway.control_loops
    port.state = State.HANDSHAKE
    asked = asyncio.create_task(asyncio.to_thread(arm, "bus", control=path))
    await asyncio.sleep(0.2)
    assert not asked.done() and armed_in(gateway) == set()
    loops.disarm("bus")
    port.state = State.UP
    with pytest.raises(HilgwError, match="disarmed meanwhile"):
        await asked
    assert armed_in(gateway) == set()
    port.state = State.HANDSHAKE
    asked = asyncio.create_task(asyncio.to_thread(arm, "bus", control=path))
    await asyncio.sleep(0.2)
    port.state = State.UP
    assert await asked == ["bus"]


@scenario_of(with_two)
async def test_no_motor_is_armed_before_the_guardian_has_answered(
    gateway: Any, path: str, /, monkeypatch: pytest.MonkeyPatch
) -> None:
    guardian = gateway.control_loops.watchdog.guardian
    monkeypatch.setattr(guardian, "confirmed", lambda: False)
    with pytest.raises(SafetyError, match="the guardian has not answered yet"):
        gateway.control_loops.arm("cab")
    asked = asyncio.create_task(asyncio.to_thread(arm, "cab", control=path))
    await asyncio.sleep(0.2)
    assert not asked.done() and armed_in(gateway) == set()
    monkeypatch.setattr(guardian, "confirmed", lambda: True)
    assert await asked == ["cab"]
