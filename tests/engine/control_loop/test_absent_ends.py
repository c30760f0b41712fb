"""A robot without a body or without a controller; what reaches an end that is there, and once."""

from hilgw.control.events import BrakeDamping, LedValue, MotorCommand, PacketIn, PacketOut
from hilgw.control.safety import SafetyState
from hilgw.control.safety_settings import SafetySettings
from hilgw.devices.kinds import Device
from hilgw.engine.control_loop.context import LoopContext
from hilgw.engine.control_loop.devices.radios import Radios
from hilgw.engine.control_loop.loop import ControlLoop
from hilgw.engine.control_loop.parts import LoopBody, no_controller
from tests.engine.control_loop.scripted import ScriptedLoop

WHEEL = Device(name="wheel", kind="RotationalMotor", index=0)
FORWARD = MotorCommand(0, "velocity", 1.0)
PACKET = PacketIn(1, 1, 1.0, (0.0, 0.0, 1.0), b"x")


def test_each_request_to_a_robot_without_a_body_is_refused_counted_and_answered() -> None:
    run = ScriptedLoop(body=False)
    for request in (FORWARD, LedValue(1, 1), PacketOut(2, 1, b"x")):
        assert run.controller_sends(request) == [("controller", "fault", request.index)]
    report = run.loop.report()
    assert report["refused"] == {"no_body": 3} and report["commands_in"] == 1
    assert report["body"] is None and list(report["counts"]) == ["controller"]
    assert run.observer.refusals == [("cab", "no_body", "this robot has no body")] * 3


def test_a_robot_without_a_body_that_is_not_armed_refuses_for_want_of_a_body() -> None:
    run = ScriptedLoop(body=False, armed=False)
    for request in (FORWARD, BrakeDamping(1, 1.0)):
        assert run.controller_sends(request) == [("controller", "fault", request.index)]
    assert run.loop.report()["refused"] == {"no_body": 2}
    assert run.observer.refusals == [("cab", "no_body", "this robot has no body")] * 2


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


def test_a_controller_that_swamps_the_gateway_stops_each_body_once() -> None:
    run = ScriptedLoop([WHEEL])
    run.controller_sends(FORWARD)
    run.calls.clear()
    assert run.loop.swamped(run.scheduler.now())
    assert run.calls.count(("body", "stop", "swamped")) == 1


def test_an_error_of_a_session_is_contained_and_reported_once() -> None:
    run = ScriptedLoop([WHEEL])
    assert run.body is not None
    run.controller_sends(FORWARD)

    def fails(text: str) -> str:
        raise ValueError(text)

    assert run.body.ask("otherwise", fails, "a defect") == "otherwise"
    assert run.body.ask("otherwise", str.upper, "well") == "WELL"
    assert not run.body.call(run.scheduler.now(), fails, "a defect")
    assert run.loop.safety.state.stops == {"fault": 1}
