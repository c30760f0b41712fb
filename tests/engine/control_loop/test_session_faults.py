"""A session that raises in any method: its error stays in the control loop, and all motors stop."""

from typing import Any
from unittest.mock import Mock

import pytest

from hilgw.control.events import (
    BrakeDamping,
    DeviceFault,
    HardwareFault,
    LedValue,
    MotorCommand,
    PacketIn,
    PacketOut,
    SensorSwitch,
    SensorValue,
    Write,
)
from hilgw.control.modes import RobotMode
from hilgw.control.safety import SafetyState
from hilgw.control.safety_settings import SafetySettings
from hilgw.devices.kinds import Device, MotorLimits
from hilgw.engine.control_loop.devices.radios import Radios
from hilgw.engine.control_loop.loop import ControlLoop
from hilgw.engine.control_loop.parts import LoopBody, LoopContext, no_controller
from hilgw.engine.control_loop.peer_link import PeerLink
from hilgw.errors import AdapterError, PeerError, SafetyError
from tests.engine.control_loop.fakes import ScriptedBody, ScriptedLoop
from tests.engine.control_loop.on_mocks import OnMock
from tests.engine.fakes import Failures

WHEEL = Device(name="wheel", kind="RotationalMotor", index=0, limits=MotorLimits(max_velocity=2.0))
DEVICES = (
    WHEEL,
    Device(name="gyro", kind="DistanceSensor", index=1),
    Device(name="lamp", kind="LED", index=2),
)
GO, FAST = (MotorCommand(0, "velocity", value) for value in (1.0, 9.0))
BODY = "can_stop command emergency expire is_idle next_deadline own_period receive switch tune"
CONTROLLER = "close expire fault forget forget_values next_deadline receive report"
METHODS = {"body": BODY, "remote": BODY, "controller": CONTROLLER}
ENDS = [(end, method) for end, names in METHODS.items() for method in names.split()]
MOTIONS = ("command", "stop", "stop_motor")


@pytest.mark.parametrize("step_ms", [0, 32])
@pytest.mark.parametrize("calls_before", [0, 1, 2, 3])
@pytest.mark.parametrize(("end", "method"), ENDS)
def test_no_error_of_a_session_escapes_or_leaves_a_motor_running(
    end: str, method: str, calls_before: int, step_ms: int
) -> None:
    run = ScriptedLoop(
        DEVICES, remote=DEVICES, mode=RobotMode.SHADOW, step_ms=step_ms, command_timeout_s=0.3
    )
    run.pass_ms(300)
    link: PeerLink[Any] = getattr(run, end)
    link.supervisor = failures = Failures()
    session, left = run.sessions[link], [calls_before]
    usual = getattr(session, method)

    def raising(*arguments: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError(method)
        return usual(*arguments)

    setattr(session, method, raising)
    calls = run.controller_sends(GO)
    for event in (FAST, GO, SensorSwitch(1, 32.0), LedValue(2, 1)):
        calls += run.controller_sends(event)
    calls += run.body_reports(SensorValue(1, 2.0)) + run.remote_reports(SensorValue(1, 2.0))
    calls += run.controller_sends(GO)
    run.calls.clear()
    run.pass_ms(500)
    run.controller.detach()
    run.loop.end()
    run.loop.has_drained()
    calls += run.calls
    for body in ("body", "remote"):
        motions = [call for call in calls if call[0] == body and call[1] in MOTIONS]
        assert not motions or motions[-1][1] != "command", motions
    kind = PeerError if method == "receive" else AdapterError
    assert left[0] >= 0 or [type(each) for each in failures.errors] == [kind]


@pytest.mark.parametrize("answer", [None, [], [Write(b"go")]])
def test_a_body_that_answers_a_command_with_no_outcome_has_failed(answer: Any) -> None:
    """As a body of an earlier interface does, whose answer was the events alone."""
    run = ScriptedLoop([WHEEL])
    run.body.supervisor = failures = Failures()
    run.sessions[run.body].command = lambda command, now: answer  # type: ignore[attr-defined]
    assert run.controller_sends(GO) == [("body", "stop", "fault")]
    run.pass_ms(20)
    assert [type(each) for each in failures.errors] == [AdapterError]


def test_a_body_that_fails_when_it_is_asked_for_faults_is_not_armed() -> None:
    run = ScriptedLoop([WHEEL], on_fault="stop")
    run.body.supervisor = failures = Failures()
    run.sessions[run.body].faults = Mock(side_effect=RuntimeError("no faults"))  # type: ignore[attr-defined]
    run.loop.disarm(0)
    with pytest.raises(SafetyError, match="its session failed"):
        run.loop.arm()
    assert not run.loop.safety.state.armed
    assert [type(each) for each in failures.errors] == [AdapterError]


# --- a body that reports a fault of its hardware: `safety: {on_fault: stop|report}` ---------------


ROBOT = (
    Device(name="wheel", kind="RotationalMotor", index=0),
    Device(name="arm", kind="RotationalMotor", index=1),
)
FORWARD = MotorCommand(0, "velocity", 1.0)
FAULT = "'arm': hardware error: overload"


def body_of(run: ScriptedLoop, remote: bool = False) -> ScriptedBody:
    session = run.sessions[run.remote if remote else run.body]
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


def test_an_overcurrent_stops_latches_and_keeps_the_robot_from_being_armed() -> None:
    robot = OnMock("create2", simulated=False, armed=True).start()
    robot.drive()
    robot.mock.set("overcurrent", "left")
    robot.run(60)
    assert robot.mock.drive == (0, 0)
    assert robot.loop.safety.latched == "hardware_fault"
    with pytest.raises(SafetyError, match="'left wheel motor': overcurrent"):
        robot.loop.loop.arm()
    robot.mock.set("overcurrent", "none")
    robot.run(60)
    robot.loop.loop.arm()
    assert robot.loop.safety.armed


@pytest.mark.parametrize("armed", [True, False])
def test_each_request_to_a_robot_without_a_body_is_refused_counted_and_answered(
    armed: bool,
) -> None:
    run = ScriptedLoop(body=False, armed=armed)
    for request in (FORWARD, LedValue(1, 1), PacketOut(2, 1, b"x"), BrakeDamping(1, 1.0)):
        assert run.controller_sends(request) == [("controller", "fault", request.index)]
    report = run.loop.report()
    assert report["refused"] == {"no_body": 4} and report["commands_in"] == 1
    assert report["body"] is None and list(report["counts"]) == ["controller"]
    assert run.observer.refusals == [("cab", "no_body", "this robot has no body")] * 4


PACKET = PacketIn(1, 1, 1.0, (0.0, 0.0, 1.0), b"x")


def test_a_packet_for_a_controller_that_the_robot_does_not_have_is_refused() -> None:
    run = ScriptedLoop()
    context = LoopContext("cart", run.scheduler, run.observer, run.watchdog)
    body = run.new_body([WHEEL])
    state = SafetyState(SafetySettings(), simulated=True)
    loop = ControlLoop(context, LoopBody(body, state), no_controller(context), Radios(None))
    loop.start()
    run.connect(body)
    run.sessions[body].script(PACKET)
    body.data_received(b"?")
    report = loop.report()
    assert report["refused"] == {"no_controller": 1} and report["controller"] is None
    assert list(report["counts"]) == ["body"]
    assert loop.presence.absence() == "" and loop.is_complete


def test_an_error_of_a_session_is_contained_and_reported_once() -> None:
    run = ScriptedLoop([WHEEL])
    run.controller_sends(FORWARD)
    fails = Mock(side_effect=ValueError("a defect"))
    assert run.body.ask("otherwise", fails, "a defect") == "otherwise"
    assert run.body.ask("otherwise", str.upper, "well") == "WELL"
    assert not run.body.call(run.scheduler.now(), fails, "a defect")
    assert run.loop.safety.state.stops == {"fault": 1}
