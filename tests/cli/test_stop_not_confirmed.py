"""A run names the robots that may still move, and a disarm waits until the stop has left."""

import asyncio
from pathlib import Path

import pytest

from hilgw.cli.main import main
from hilgw.engine.control_loop.control_loops import ControlLoops
from hilgw.engine.control_loop.peer_link import PeerLink
from tests.bodies.webots_line import WebotsLine
from tests.engine.control_loop.on_mocks import OnMock


def test_a_run_whose_last_stop_did_not_leave_ends_with_exit_code_5(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["-c", "create2", "--speed", "max", "--control", str(tmp_path / "control")]
    assert main([*arguments, "--duration", "2s"]) == 0
    assert "NOT confirmed" not in capsys.readouterr().err
    monkeypatch.setattr(PeerLink, "has_drained", lambda link: False)
    assert main([*arguments, "--duration", "2s"]) == 5
    error = capsys.readouterr().err
    assert "stop NOT confirmed: create.body: the line takes no bytes" in error
    assert "switch the robot off" in error


def loops_of(robot: OnMock) -> ControlLoops:
    loops = ControlLoops(robot.loop.scheduler, simulated=True)
    loops.add(robot.loop.loop)
    return loops


async def answer_of(robot: OnMock, loops: ControlLoops) -> dict[str, str]:
    """What `hilgw disarm` learns; time passes while it waits."""
    loops.disarm("cab")
    waiting = asyncio.create_task(loops.stops_left("cab"))
    while not waiting.done():
        robot.run(10)
        await asyncio.sleep(0)
    return await waiting


@pytest.mark.parametrize("kind", ["create2", "text", "epuck", "dynamixel"])
def test_a_disarm_waits_until_the_stop_has_left(kind: str) -> None:
    robot = OnMock(kind, simulated=False, armed=True).start()
    assert asyncio.run(answer_of(robot, loops_of(robot))) == {}
    assert robot.stop.search(robot.written)
    robot.loop.loop.arm()
    robot.loop.robot.stalled = True
    whys = asyncio.run(answer_of(robot, loops_of(robot)))
    assert whys == {"cab": "the line takes no bytes"}


def test_a_simulation_that_stands_still_is_named_after_300_ms() -> None:
    robot = OnMock("webots").start()
    robot.drive()
    robot.cut = True  # Webots is paused: it answers nothing
    robot.run(100)
    loops = loops_of(robot)
    loops.disarm("cab")
    robot.run(290)
    assert robot.loop.loop.safety.stops.is_leaving
    robot.run(20)
    assert not robot.loop.loop.safety.stops.is_leaving and robot.loop.observer.stops == []
    whys = asyncio.run(loops.stops_left("cab"))
    assert "the simulation stands still" in whys["cab"]


def test_a_simulation_that_stands_still_does_not_hold_the_end_of_the_run() -> None:
    bench = WebotsLine().start()
    session = bench.session
    session.stop("gateway_ended", 0)
    session.leave(0)
    assert session.next_deadline() == 300_000_000
