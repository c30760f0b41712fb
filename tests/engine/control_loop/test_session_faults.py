"""A session that raises in any method: its error stays in the control loop, and all motors stop."""

from typing import Any

import pytest

from hilgw.control.events import LedValue, MotorCommand, SensorSwitch, SensorValue, Write
from hilgw.control.modes import RobotMode
from hilgw.devices.kinds import Device, MotorLimits
from hilgw.engine.control_loop.peer_link import PeerLink
from hilgw.engine.supervisor import PortListener
from hilgw.errors import AdapterError, HilgwError, PeerError, SafetyError
from tests.engine.control_loop.scripted import ScriptedLoop

WHEEL = Device(name="wheel", kind="RotationalMotor", index=0, limits=MotorLimits(max_velocity=2.0))
DEVICES = (
    WHEEL,
    Device(name="gyro", kind="DistanceSensor", index=1),
    Device(name="lamp", kind="LED", index=2),
)
GO, FAST = (MotorCommand(0, "velocity", value) for value in (1.0, 9.0))
BODY = [
    "can_stop",
    "command",
    "emergency",
    "expire",
    "is_idle",
    "next_deadline",
    "own_period",
    "receive",
    "switch",
    "tune",
]
CONTROLLER = [
    "close",
    "expire",
    "fault",
    "forget",
    "forget_values",
    "next_deadline",
    "receive",
    "report",
]
ENDS = [(end, each) for end in ("body", "remote") for each in BODY] + [
    ("controller", each) for each in CONTROLLER
]
MOTIONS = ("command", "stop", "stop_motor")


class Failures(PortListener):
    def __init__(self) -> None:
        self.errors: list[HilgwError] = []

    def on_failed(self, error: HilgwError) -> None:
        self.errors.append(error)

    def disconnect(self, error: HilgwError) -> bool:
        return False


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


def test_a_body_whose_emergency_stop_cannot_be_prepared_stops_at_once() -> None:
    run = ScriptedLoop([WHEEL])
    assert run.body is not None
    run.body.supervisor = failures = Failures()

    def raising() -> bytes:
        raise RuntimeError("no bytes")

    run.sessions[run.body].emergency = raising  # type: ignore[attr-defined]
    assert [call[:2] for call in run.controller_sends(GO)] == [
        ("body", "command"),
        ("body", "stop"),
    ]
    assert "no bytes" in str(failures.errors)


@pytest.mark.parametrize("answer", [None, [], [Write(b"go")]])
def test_a_body_that_answers_a_command_with_no_outcome_has_failed(answer: Any) -> None:
    """As a body of an earlier interface does, whose answer was the events alone."""
    run = ScriptedLoop([WHEEL])
    assert run.body is not None
    run.body.supervisor = failures = Failures()
    run.sessions[run.body].command = lambda command, now: answer  # type: ignore[attr-defined]
    assert run.controller_sends(GO) == [("body", "stop", "fault")]
    run.pass_ms(20)
    assert [type(each) for each in failures.errors] == [AdapterError]


def test_a_body_that_fails_when_it_is_asked_for_faults_is_not_armed() -> None:
    run = ScriptedLoop([WHEEL], on_fault="stop")
    assert run.body is not None
    run.body.supervisor = failures = Failures()

    def raising() -> list[str]:
        raise RuntimeError("no faults")

    run.sessions[run.body].faults = raising  # type: ignore[attr-defined]
    run.loop.disarm(0)
    with pytest.raises(SafetyError, match="its session failed"):
        run.loop.arm()
    assert not run.loop.safety.state.armed
    assert [type(each) for each in failures.errors] == [AdapterError]
