"""A port is handed over only when the motors of the body on it have stopped."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from hilgw.control.events import StopReason
from hilgw.engine.control_loop.control_loops import ControlLoops
from hilgw.engine.control_socket.handover import STOP_S, Handover
from hilgw.engine.lines import Lines, Port
from hilgw.engine.observer import State
from hilgw.engine.supervisor import Supervisor
from hilgw.errors import PortError, SafetyError
from hilgw.testing.sim import Clock, elapse
from hilgw.units import NS_PER_S
from tests.e2e.control_loop_peers import set_value
from tests.engine.control_loop.fakes import FakeLoop

PORT = "cab.body"


class Rig:
    """A robot that moves, on a port that a supervisor keeps open."""

    def __init__(self, clock: Clock) -> None:
        self.loop = FakeLoop(clock=clock)
        self.loops = ControlLoops(clock)
        self.loops.add(self.loop.loop)
        self.loop.robot_comes()
        self.loop.controller_comes()
        self.loop.run(200)
        self.loop.controller.data_received(set_value(1, 2.0))
        assert self.loop.safety.moving
        self.port = Port("port", _absent, path=lambda: "/dev/x")
        self.supervisor = Supervisor(
            self.loop.body, self.port, Lines(self.loop.observer, clock.now)
        )
        self.gateway: Any = SimpleNamespace(
            supervisors={PORT: self.supervisor}, control_loops=self.loops
        )
        self.handover = Handover(self.gateway, PORT, "avrdude (process 7)")


async def _absent() -> Any:
    raise PortError("no", reason=PortError.ABSENT)


@pytest.fixture
def rig(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Rig:
    async def at_once(work: Callable[[], object]) -> object:
        return work()

    monkeypatch.setattr(asyncio, "to_thread", at_once)
    return Rig(clock)


async def test_a_stop_that_does_not_leave_keeps_the_port(rig: Rig, clock: Clock) -> None:
    rig.loop.robot.stalled = True
    with pytest.raises(SafetyError, match="the stop of its motors was not sent"):
        await rig.handover.begin()
    assert clock.now() >= STOP_S * NS_PER_S
    assert rig.supervisor.state is State.CLOSED
    assert not rig.loop.safety.armed and rig.loop.safety.disarmed_by is StopReason.RELEASED


async def test_the_robot_cannot_be_armed_before_the_port_is_back(rig: Rig, clock: Clock) -> None:
    rig.loop.robot.stalled = True
    task = asyncio.get_running_loop().create_task(rig.handover.begin())
    await elapse(STOP_S / 2)
    with pytest.raises(SafetyError, match=r"is released to avrdude \(process 7\)"):
        rig.loops.arm("cab")
    with pytest.raises(SafetyError):
        await task
    rig.handover.end()
    rig.loops.arm("cab")
    assert rig.loop.safety.armed


async def test_a_body_that_is_down_is_not_reported_as_stopped(
    rig: Rig, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.loop.robot_leaves()
    both = property(lambda loop: [PORT, "cab.remote"])
    monkeypatch.setattr(type(rig.loop.loop), "unstopped", both)
    port = asyncio.get_running_loop().create_task(rig.supervisor.run())
    lent = await rig.handover.begin()
    assert lent.note == (
        "; cab is disarmed; no stop was sent, as cab.body was down; "
        "no stop was sent to cab.remote, which is down"
    )
    port.cancel()
