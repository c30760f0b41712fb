"""A body that reports a fault of its hardware: `safety: {on_fault: stop|report}`."""

import pytest

from hilgw.control.events import DeviceFault, HardwareFault, MotorCommand
from hilgw.control.modes import RobotMode
from hilgw.devices.kinds import Device
from hilgw.errors import SafetyError
from tests.engine.control_loop.scripted import ScriptedBody, ScriptedLoop

ROBOT = (
    Device(name="wheel", kind="RotationalMotor", index=0),
    Device(name="arm", kind="RotationalMotor", index=1),
)
FORWARD = MotorCommand(0, "velocity", 1.0)
FAULT = "'arm': hardware error: overload"


def body_of(run: ScriptedLoop, remote: bool = False) -> ScriptedBody:
    link = run.remote if remote else run.body
    assert link is not None
    session = run.sessions[link]
    assert isinstance(session, ScriptedBody)
    return session


@pytest.mark.parametrize("latch", [True, False])
def test_a_fault_stops_all_motors_and_latches(latch: bool) -> None:
    run = ScriptedLoop(ROBOT, on_fault="stop", latch=latch)
    run.controller_sends(FORWARD)
    assert run.body_reports(HardwareFault(1)) == [
        ("body", "stop", "hardware_fault"),
        ("controller", "fault", 1),
    ]
    state = run.loop.safety.state
    assert state.latched == "hardware_fault" and not state.armed
    assert state.stops == {"hardware_fault": 1}
    assert run.controller_sends(FORWARD) == [("controller", "fault", 0)]
    assert run.controller.transport is not None  # the controller stays


def test_a_fault_at_rest_latches_too() -> None:
    run = ScriptedLoop(ROBOT, on_fault="stop")
    run.body_reports(HardwareFault(1))
    state = run.loop.safety.state
    assert state.latched == "hardware_fault" and not state.armed and not state.stops
    assert run.controller_sends(FORWARD) == [("controller", "fault", 0)]


def test_a_robot_with_a_fault_is_not_armed_and_the_answer_names_it() -> None:
    run = ScriptedLoop(ROBOT, on_fault="stop")
    body_of(run).hardware_faults = [FAULT]
    run.body_reports(HardwareFault(1))
    with pytest.raises(SafetyError, match="not armed: 'arm': hardware error: overload"):
        run.loop.arm()
    assert not run.loop.safety.state.armed
    body_of(run).hardware_faults = []
    run.loop.arm()
    assert run.controller_sends(FORWARD) == [("body", "command", FORWARD)]


@pytest.mark.parametrize("safety", [{"on_fault": "report"}, {}], ids=["report", "simulated"])
def test_a_fault_may_be_a_report_only(safety: dict[str, str]) -> None:
    """As it always is of a simulated body, unless the configuration has otherwise."""
    run = ScriptedLoop(ROBOT, **safety)
    body_of(run).hardware_faults = [FAULT]
    run.controller_sends(FORWARD)
    assert run.body_reports(HardwareFault(1)) == [("controller", "fault", 1)]
    assert run.loop.safety.state.moving
    run.loop.arm()


def test_an_error_of_wc2ec_is_a_report() -> None:
    run = ScriptedLoop(ROBOT, on_fault="stop")
    run.controller_sends(FORWARD)
    assert run.body_reports(DeviceFault(1)) == [("controller", "fault", 1)]
    assert run.loop.safety.state.moving and run.loop.safety.state.armed


def test_a_real_body_that_only_follows_stops_alone() -> None:
    """A remote body is real: its faults stop and latch without a word in the file."""
    run = ScriptedLoop(ROBOT, remote=ROBOT, mode=RobotMode.SHADOW)
    run.controller_sends(FORWARD)
    first, second = run.loop.safeties
    assert run.remote_reports(HardwareFault(1)) == [("remote", "stop", "hardware_fault")]
    assert second.state.latched == "hardware_fault" and first.state.moving
    body_of(run, remote=True).hardware_faults = [FAULT]
    with pytest.raises(SafetyError, match="overload"):
        run.loop.arm()


def test_a_shadow_does_not_drive_on_when_the_first_body_has_a_fault() -> None:
    """It would get no command any more."""
    run = ScriptedLoop(ROBOT, remote=ROBOT, mode=RobotMode.SHADOW, on_fault="stop")
    run.controller_sends(FORWARD)
    calls = run.body_reports(HardwareFault(1))
    assert ("body", "stop", "hardware_fault") in calls
    assert ("remote", "stop", "hardware_fault") in calls
    assert run.loop.safeties[1].state.latched is None
