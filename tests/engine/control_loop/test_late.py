"""A gateway that is late ends controllers whose robots have motors, and no others."""

from pathlib import Path

import pytest

from hilgw.cli.output.summary import control_loop_lines
from hilgw.control.safety import SafetyState
from hilgw.control.safety_settings import SafetySettings
from hilgw.engine.observer import State
from tests.e2e.control_loop_peers import DISTANCE
from tests.engine.control_loop.running import GO, STOP, RunningLoop, driving, robot_of
from tests.engine.control_loop.test_webots_controllers import Running

SENSORS = ((DISTANCE, "ds"), (DISTANCE, "other"))
REAL = "    safety: {late_s: 0.5, latch: true, armed: true}"  # as of a real body


def last_words(running: RunningLoop) -> str:
    """The last state of the controller's port."""
    return next(text for name, _, text in reversed(running.log.states) if name == "cab.controller")


@pytest.mark.parametrize(
    ("real", "given", "late_s"), [(True, None, 0.5), (False, None, 5.0), (False, 0.2, 0.2)]
)
def test_simulated_bodies_have_5_s(real: bool, given: float | None, late_s: float) -> None:
    state = SafetyState(SafetySettings(late_s=given), simulated=not real)
    assert state.late_ns == late_s * 1e9


def test_a_simulated_robot_goes_on_after_4_s_and_not_after_6(tmp_path: Path) -> None:
    with RunningLoop(tmp_path) as running:
        controller = driving(running)
        running.hang(4.0)
        controller.send(GO)
        robot_of(running).wait_for(GO)
        running.hang(6.0)
        controller.send(GO)
        controller.wait_for_end()
        robot_of(running).wait_for(STOP)
        assert robot_of(running).poll() == b""
        assert running.stops() == {"late": 1}
        assert "hilgw itself was late by 6.0 s (safety.late_s: 5 s)" in last_words(running)


def test_a_robot_without_motors_has_no_such_stop(tmp_path: Path) -> None:
    with RunningLoop(tmp_path, "    safety: {late_s: 0.5}", devices=SENSORS) as running:
        controller = running.controller()
        running.hang(60.0)
        running.advance(0.5)
        controller.poll()
        assert not controller.ended and running.stops() == {}
        assert "late_ends" not in running.report()


def test_a_robot_without_a_body_has_no_such_stop(tmp_path: Path) -> None:
    with Running(tmp_path, script="step 32 x 0") as running:
        running.until(lambda: running.log.saw("rover.controller", State.UP))
        before = running.controller.counts["steps"]
        running.loop.clock.time += 60 * 10**9
        running.loop.advance(1.0)
        assert not running.controller.ended and running.controller.counts["steps"] > before


def test_a_robot_that_latches_is_disarmed_at_rest_where_its_controller_is_ended(
    tmp_path: Path,
) -> None:
    with RunningLoop(tmp_path, REAL) as running:
        running.hang(1.0)
        running.advance(0.5)  # no controller: none has to end
        assert running.report()["armed"]
        controller = running.controller()
        running.hang(0.7)
        controller.wait_for_end()
        report = running.report()
        assert not report["armed"] and report["late_ends"] == 1 and not report["stops"]
        assert "hilgw itself was late by 0.7 s (safety.late_s: 0.5 s)" in last_words(running)
        (line, *_) = control_loop_lines({"cab": report})
        assert "controller ended as hilgw was late: 1" in line
        controller = running.controller()
        controller.send(GO)
        running.advance(0.2)
        assert GO not in robot_of(running).poll()
