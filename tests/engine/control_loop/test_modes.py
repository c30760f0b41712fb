"""A robot with two bodies: the controller gets one or the other, or both, and stays."""

import math
from typing import Any

import pytest

from hilgw.control.events import (
    Command,
    Event,
    FeedbackSwitch,
    LedValue,
    MotorCommand,
    MotorPid,
    MotorSettings,
    RefusedRequest,
    SensorSwitch,
    SensorValue,
    Stop,
    StopReason,
    StopSent,
)
from hilgw.control.modes import RobotMode
from hilgw.devices.kinds import Device, MotorLimits
from hilgw.devices.properties import LedFields
from hilgw.errors import HilgwError, PeerError
from hilgw.testing.sim import FakeTransport
from tests.engine.control_loop.fakes import ScriptedBody, ScriptedLoop

SIMULATION, REMOTE, SHADOW = RobotMode
WHEEL = Device(name="wheel", kind="RotationalMotor", index=0, limits=MotorLimits(max_velocity=5))
EYE = Device(name="eye", kind="DistanceSensor", index=1)
SIMULATED = (WHEEL, EYE)
# The same robot in another order, with a radar that no simulation has, and lower limits.
REAL = (
    Device(name="radar", kind="LightSensor", index=0),
    Device(name="eye", kind="DistanceSensor", index=1),
    Device(name="wheel", kind="RotationalMotor", index=2, limits=MotorLimits(max_velocity=2)),
)
FORWARD = MotorCommand(0, "velocity", 1.0)
REMOTE_FORWARD = MotorCommand(2, "velocity", 1.0)


def of(run: ScriptedLoop, name: str) -> list[tuple[Any, ...]]:
    """The calls of one session, without the loop's questions."""
    return [call[1:] for call in run.calls if call[0] == name and call[1] != "forget_values"]


def wire(run: ScriptedLoop, which: str) -> FakeTransport:
    transport = (run.body if which == "body" else run.remote).transport
    assert isinstance(transport, FakeTransport)
    return transport


def test_a_switch_maps_devices_by_name_and_the_controller_stays() -> None:
    run = ScriptedLoop(SIMULATED, remote=REAL)
    run.loop.modes.switch(REMOTE)
    assert run.controller.transport is run.pilot
    assert run.controller_sends(FORWARD) == [("remote", "command", REMOTE_FORWARD)]
    assert run.remote_reports(SensorValue(1, 7.0)) == [("controller", "report", (1, 7.0))]
    assert run.remote_reports(SensorValue(0, 7.0)) == []  # the radar: the controller has none
    assert run.body_reports(SensorValue(1, 9.0)) == []  # late, of the body that was left
    assert run.loop.report()["sensors"] == {"eye": 7.0}
    run.loop.modes.switch(SIMULATION)
    assert run.controller_sends(FORWARD) == [("body", "command", FORWARD)]
    assert run.remote_reports(SensorValue(1, 3.0)) == []


def test_the_body_that_is_left_stops_and_the_other_goes_on() -> None:
    """The controller commands once, as controllers for Webots do."""
    run = ScriptedLoop(SIMULATED, remote=REAL)
    run.controller_sends(FORWARD)
    for wired in ("body", "remote"):
        wire(run, wired).take()
    run.calls.clear()
    run.loop.modes.switch(REMOTE)
    assert wire(run, "body").take().startswith(b"stop ")
    assert wire(run, "remote").take() == b"command "
    assert of(run, "remote") == [("command", REMOTE_FORWARD)]
    assert run.loop.safety.state.moving
    assert ("exchanged", "another body takes its place") in run.observer.stops
    run.loop.modes.switch(SIMULATION)
    assert wire(run, "remote").take().startswith(b"stop ")
    assert wire(run, "body").take() == b"command "
    run.loop.disarm(run.scheduler.now())
    run.loop.arm()
    for wired in ("body", "remote"):
        wire(run, wired).take()
    run.loop.modes.switch(REMOTE)  # what was stopped stays so
    assert wire(run, "remote").take() == b""
    assert not run.loop.safety.state.moving
    report = run.loop.report()
    assert {name: each["stops"] for name, each in report["bodies"].items()} == {
        "body": {"exchanged": 1, "disarmed": 1},
        "remote": {"exchanged": 1},
    }


def test_the_motors_that_are_shown_are_those_of_the_controllers_body() -> None:
    run = ScriptedLoop(SIMULATED, remote=REAL)
    run.controller_sends(FORWARD)
    run.loop.modes.switch(REMOTE)
    # the body that was left had to keep its stop until now
    run.body_reports(StopSent(StopReason.EXCHANGED, (MotorCommand(0, "velocity", 0.0),)))
    assert run.loop.report()["motors"] == {"wheel": {"velocity": 1.0}}
    run.loop.disarm(run.scheduler.now())
    assert run.loop.report()["motors"] == {"wheel": {"velocity": 0.0}}


INF = math.inf
TUNED = [
    MotorCommand(0, "acceleration", 2.0),
    MotorCommand(0, "available_torque", 3.0),
    MotorPid(0, 10.0, 0.0, 1.0),
]


@pytest.mark.parametrize(
    ("commands", "carried"),
    [
        ([MotorSettings(0, INF, 3.0, -1, 5)], [MotorSettings(0, INF, 3.0, -1, 5)]),
        ([MotorSettings(0, 1.5, 3.0, -1, 5)], []),
        ([MotorSettings(0, INF, 3, -1, 5), MotorSettings(0, 1.5, 3, -1, 5)], []),
        ([MotorCommand(0, "position", 1.5), MotorCommand(0, "velocity", 3.0)], []),
        (
            [MotorCommand(0, "position", INF), MotorCommand(0, "velocity", 3.0)],
            [MotorCommand(0, "position", INF), MotorCommand(0, "velocity", 3.0)],
        ),
        ([MotorCommand(0, "torque", 1.0)], []),
        ([MotorCommand(0, "velocity", 3.0), MotorCommand(0, "torque", 1.0)], []),
        ([MotorCommand(0, "position", 1.5), *TUNED], TUNED),
        ([FORWARD, MotorCommand(0, "velocity", 2.0)], [MotorCommand(0, "velocity", 2.0)]),
    ],
)
def test_carried_as_by_libcontroller(commands: list[Command], carried: list[Command]) -> None:
    """Velocities of motors in velocity control, accelerations, available forces and gains; no
    positions and no forces."""
    free = Device(name="wheel", kind="RotationalMotor", index=0)
    run = ScriptedLoop((free, EYE), remote=(free, EYE))
    run.controller_sends(*commands)
    run.calls.clear()
    run.loop.modes.switch(REMOTE)
    assert of(run, "remote") == [("command", command) for command in carried]


def test_what_one_body_lacks_is_carried_to_one_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    free = Device(name="wheel", kind="RotationalMotor", index=0)
    run = ScriptedLoop((free,), remote=(free,))
    with monkeypatch.context() as patch:
        patch.setattr(ScriptedBody, "lacks", (MotorPid,))
        run.controller_sends(FORWARD, *TUNED)
    assert run.loop.report()["commands_dropped"] == 1
    run.calls.clear()
    run.loop.modes.switch(REMOTE)
    assert of(run, "remote") == [("command", command) for command in (FORWARD, *TUNED)]


def test_leds_shine_on_the_body_that_is_taken() -> None:
    led, other = (Device(name="lamp", kind="LED", index=index) for index in (2, 3))
    run = ScriptedLoop((*SIMULATED, led), remote=(*REAL, other))
    run.controller_sends(LedValue(2, 5))
    run.calls.clear()
    run.loop.modes.switch(REMOTE)
    assert of(run, "remote") == [("tune", LedValue(3, 5))]
    run.controller_sends(LedValue(2, 0))
    run.loop.modes.switch(SIMULATION)
    run.calls.clear()
    run.loop.modes.switch(SHADOW)
    run.pass_ms(150)
    assert of(run, "remote") == [("tune", LedValue(3, 0))]
    run.controller.detach()
    run.controller.attach(FakeTransport())
    run.calls.clear()
    run.loop.modes.switch(REMOTE)
    assert of(run, "remote")[1:] == []  # of the controller that has left


def test_a_robot_that_is_not_armed_is_not_moved_by_a_switch() -> None:
    run = ScriptedLoop(SIMULATED, remote=REAL)
    remote = run.loop.safeties[1]
    remote.disarm(run.scheduler.now())
    run.controller_sends(FORWARD)
    wire(run, "remote").take()
    run.loop.modes.switch(REMOTE)
    assert wire(run, "remote").take() == b""
    assert not remote.state.moving
    assert run.loop.report()["refused"] == {"disarmed": 1}
    run.loop.arm()
    assert wire(run, "remote").take() == b""  # arming moves nothing by itself


def test_arming_is_for_the_bodies_of_the_mode_and_disarming_for_all() -> None:
    run = ScriptedLoop(SIMULATED, remote=REAL)
    simulated, remote = run.loop.safeties
    run.loop.disarm(run.scheduler.now())
    assert not simulated.state.armed and not remote.state.armed
    run.loop.arm()  # the user sees the simulated robot
    assert simulated.state.armed and not remote.state.armed
    run.loop.modes.switch(SHADOW)
    run.loop.arm()
    assert remote.state.armed
    run.loop.disarm(run.scheduler.now())
    run.loop.modes.switch(REMOTE)
    run.loop.arm()
    assert remote.state.armed and not simulated.state.armed


def test_a_controller_that_waits_for_its_step_during_a_switch_has_a_deadline_after_it() -> None:
    """Its body moves already, and it hangs after the answer."""
    run = ScriptedLoop(SIMULATED, remote=REAL, command_timeout_s=0.5)
    run.controller_sends(FORWARD)
    for safety in run.loop.safeties:
        safety.state.waits_for_us = True
    run.pass_ms(100)
    run.loop.modes.switch(SHADOW)
    for safety in run.loop.safeties:
        safety.resume_deadline(run.scheduler.now())
    wires = [wire(run, each) for each in ("body", "remote")]
    for end in wires:
        end.take()
    run.pass_ms(490)
    assert [each.take() for each in wires] == [b"", b""]
    run.pass_ms(20)
    assert all(each.take().startswith(b"stop ") for each in wires)


def test_the_silence_of_a_controller_before_a_switch_counts_for_its_deadline() -> None:
    run = ScriptedLoop(SIMULATED, remote=REAL, command_timeout_s=0.5)
    run.controller_sends(FORWARD)
    run.pass_ms(300)
    run.loop.modes.switch(REMOTE)
    run.pass_ms(190)
    remote = run.loop.safeties[1].state
    assert remote.moving
    run.pass_ms(20)
    assert remote.stops == {"command_timeout": 1}


@pytest.mark.parametrize("mode", [REMOTE, SHADOW])
@pytest.mark.parametrize("hung", [False, True])
def test_a_controller_that_is_silent_moves_no_other_body(mode: RobotMode, hung: bool) -> None:
    """The simulated body has no deadline; the real one's is over. Or the gateway hung."""
    run = ScriptedLoop(SIMULATED, remote=REAL)
    for safety in run.loop.safeties:
        run.watchdog.watch(safety)
    run.controller_sends(FORWARD)
    if hung:
        run.scheduler.time += 6_000_000_000
    else:
        run.pass_ms(60_000)
    run.loop.modes.switch(mode)
    assert not run.loop.safeties[1].state.moving
    assert b"command" not in wire(run, "remote").take()


def test_a_controller_learns_of_no_refusal_of_what_it_did_not_send() -> None:
    led = Device(name="lamp", kind="LED", index=2)
    run = ScriptedLoop((*SIMULATED, led), remote=REAL)
    run.loop.safeties[1].disarm(run.scheduler.now())
    run.controller_sends(FORWARD)
    run.controller_sends(LedValue(2, 1))
    run.calls.clear()
    run.loop.modes.switch(REMOTE)
    assert "fault" not in [call[1] for call in run.calls if call[0] == "controller"]
    report = run.loop.report()
    assert (report["commands_in"], report["commands_out"]) == (2, 1)
    assert report["refused"] == {"disarmed": 1}


def test_a_shadow_that_begins_goes_on_as_the_first_body() -> None:
    run = ScriptedLoop(SIMULATED, remote=REAL)
    run.controller_sends(FORWARD)
    run.calls.clear()
    run.loop.modes.switch(SHADOW)
    assert of(run, "remote") == [("command", REMOTE_FORWARD)]
    assert of(run, "body") == []
    run.loop.modes.switch(REMOTE)
    run.calls.clear()
    run.loop.modes.switch(SHADOW)
    assert [call[1:] for call in run.calls if call[1] == "command"] == [
        ("command", FORWARD),
        ("command", REMOTE_FORWARD),
    ]


def test_a_body_that_did_not_move_reports_no_stop() -> None:
    run = ScriptedLoop(SIMULATED, remote=REAL)
    run.loop.modes.switch(REMOTE)
    run.loop.modes.switch(SIMULATION)
    assert run.observer.stops == []
    assert run.loop.report()["stops"] == {}


def test_a_remote_body_gets_no_motion_in_simulation_and_stays_supervised() -> None:
    run = ScriptedLoop(SIMULATED, remote=REAL)
    wire(run, "remote").take()
    run.controller_sends(FORWARD, LedValue(0, 1), SensorSwitch(1, 64.0))
    run.pass_ms(2000)
    assert wire(run, "remote").take() == b""
    assert run.loop.report()["bodies"]["remote"]["up"] is True
    run.remote.detach()
    assert run.loop.report()["bodies"]["remote"]["up"] is False
    assert run.controller.transport is run.pilot  # nothing happens to the controller
    assert run.controller_sends(FORWARD)[0][0] == "body"


@pytest.mark.parametrize("given_back", [False, True])
def test_periods_that_a_controller_holds_are_those_of_the_body_in_use(given_back: bool) -> None:
    run = ScriptedLoop(SIMULATED, remote=REAL)
    run.controller_sends(SensorSwitch(1, 64.0), FeedbackSwitch(0, 32.0))
    if given_back:
        run.controller_sends(SensorSwitch(1, None))
    run.calls.clear()
    run.loop.modes.switch(REMOTE)
    off, on = [("switch", 1, None)], [("switch", 1, 64.0)]
    assert of(run, "body") == [*off[given_back:], ("tune", FeedbackSwitch(0, 0))]
    assert of(run, "remote") == [*on[given_back:], ("tune", FeedbackSwitch(2, 32.0))]


def test_a_value_held_for_the_controller_is_forgotten() -> None:
    """It reads too slowly, so a value of the left body waits in the gateway; another one waits in
    the controller's session for its period."""
    run = ScriptedLoop(SIMULATED, remote=REAL)
    run.pilot.stalled = True
    run.body_reports(SensorValue(1, 8.0))
    run.body_reports(SensorValue(1, 8.5))
    run.calls.clear()
    run.loop.modes.switch(REMOTE)
    assert ("controller", "forget_values") in run.calls
    run.pilot.accept()
    assert of(run, "controller") == []
    assert run.loop.report()["sensors"] == {}


def test_devices_of_one_body_only_are_named_and_refused() -> None:
    run = ScriptedLoop((*SIMULATED, Device(name="arm", kind="LinearMotor", index=2)), remote=REAL)
    run.loop.modes.switch(REMOTE)
    assert [text for text in run.observer.notices if "body" in text] == [
        "only the remote body has: radar",
        "the remote body does not have: arm",
    ]
    assert run.controller_sends(MotorCommand(2, "position", 0.1)) == [("controller", "fault", 2)]
    assert run.controller_sends(FORWARD) == [("remote", "command", REMOTE_FORWARD)]


def test_a_device_of_the_configuration_may_be_of_the_second_body_only() -> None:
    led = Device(name="lamp", kind="LED", index=7)
    run = ScriptedLoop(SIMULATED, {"lamp": LedFields()}, remote=(*REAL, led))
    assert run.controller_sends(LedValue(2, 1)) == [("controller", "fault", 2)]
    run.loop.modes.switch(REMOTE)
    assert run.controller_sends(LedValue(2, 1)) == [("remote", "tune", LedValue(7, 1))]


def test_other_kinds_under_one_name_are_refused_and_nothing_changes() -> None:
    other = Device(name="wheel", kind="LinearMotor", index=0)
    run = ScriptedLoop(SIMULATED, remote=(other, EYE))
    run.controller_sends(FORWARD)
    with pytest.raises(HilgwError, match="'wheel' is a RotationalMotor and a LinearMotor"):
        run.loop.modes.switch(REMOTE)
    assert run.loop.modes.mode is SIMULATION and run.observer.stops == []
    assert run.controller_sends(FORWARD) == [("body", "command", FORWARD)]


def test_a_remote_body_that_is_down_is_refused_and_nothing_changes() -> None:
    run = ScriptedLoop(SIMULATED, remote=REAL)
    run.remote.detach()
    run.controller_sends(FORWARD)
    wire(run, "body").take()
    for mode in (REMOTE, SHADOW):
        with pytest.raises(PeerError, match="the remote body is not connected"):
            run.loop.modes.switch(mode)
    assert run.loop.modes.mode is SIMULATION
    assert wire(run, "body").take() == b"" and run.loop.safety.state.moving
    assert run.controller.transport is run.pilot
    run.remote.attach(FakeTransport())
    with pytest.raises(PeerError, match="the remote body registers its devices; ask again"):
        run.loop.modes.switch(REMOTE)
    run.pass_ms(200)
    run.loop.modes.switch(REMOTE)
    assert run.controller_sends(FORWARD) == [("remote", "command", REMOTE_FORWARD)]


def test_a_robot_without_a_remote_body_has_one_mode() -> None:
    run = ScriptedLoop(SIMULATED)
    run.loop.modes.switch(SIMULATION)
    with pytest.raises(HilgwError, match="no remote body"):
        run.loop.modes.switch(REMOTE)
    assert "mode" not in run.loop.report()


def test_back_to_a_simulation_that_is_down_stops_the_robot() -> None:
    run = ScriptedLoop(SIMULATED, remote=REAL)
    run.loop.modes.switch(REMOTE)
    run.controller_sends(FORWARD)
    run.body.detach()
    assert run.controller_sends(FORWARD) == [("remote", "command", REMOTE_FORWARD)]
    wire(run, "remote").take()
    run.loop.modes.switch(SIMULATION)
    assert wire(run, "remote").take().startswith(b"stop ")
    assert run.loop.modes.mode is SIMULATION
    assert run.controller_session.devices.by_name("wheel") is None  # it has to connect anew
    run.connect(run.body)
    run.controller.attach(run.pilot)  # type: ignore[arg-type]
    assert run.controller_sends(FORWARD) == [("body", "command", FORWARD)]


def test_a_remote_body_that_is_lost_takes_the_controller_along_and_comes_back() -> None:
    run = ScriptedLoop(SIMULATED, remote=REAL)
    run.loop.modes.switch(REMOTE)
    run.remote.detach()
    assert list(run.controller_session.devices) == []
    run.connect(run.remote)  # the controller now learns the table of the remote body
    run.controller.attach(run.pilot)  # type: ignore[arg-type]
    assert run.controller_sends(REMOTE_FORWARD) == [("remote", "command", REMOTE_FORWARD)]
    run.loop.modes.switch(SIMULATION)
    assert run.controller_sends(REMOTE_FORWARD) == [("body", "command", FORWARD)]


def test_the_start_may_be_remote_without_a_simulation() -> None:
    run = ScriptedLoop((), remote=REAL, mode=REMOTE)
    assert run.controller_sends(REMOTE_FORWARD) == [("remote", "command", REMOTE_FORWARD)]
    assert run.remote_reports(SensorValue(0, 1.0)) == [("controller", "report", (0, 1.0))]


@pytest.mark.parametrize("mode", RobotMode)
@pytest.mark.parametrize(
    "cause", ["controller exit", "Stop of the controller", "late", "end", "controller fault"]
)
def test_every_cause_stops_every_body_that_moves(mode: RobotMode, cause: str) -> None:
    run = ScriptedLoop(SIMULATED, remote=REAL)
    run.loop.modes.switch(mode)
    for _ in range(2):
        run.pass_ms(150)  # the shadow's registration
        run.controller_sends(FORWARD)
    moving = {SIMULATION: ["body"], REMOTE: ["remote"], SHADOW: ["body", "remote"]}[mode]
    connections = {name: wire(run, name) for name in ("body", "remote")}
    for connection in connections.values():
        connection.take()
    if cause == "controller exit":
        run.controller.detach()
    elif cause == "Stop of the controller":
        run.controller_sends(Stop(StopReason.SILENCE))
    elif cause == "late":
        for safety in run.loop.safeties:
            safety.was_late(run.scheduler.now(), safety.late_ns)
    elif cause == "end":
        run.loop.end()
    else:
        run.controller.fault(ValueError("?"))
    stopped = [name for name, each in connections.items() if b"stop " in each.take()]
    assert set(moving) <= set(stopped)
    assert not any(safety.state.moving for safety in run.loop.safeties)
    report = run.loop.report()
    assert [name for name, each in report["bodies"].items() if each["stops"]] == moving


# --- shadow ---------------------------------------------------------------------------------------


def shadowed(**safety: Any) -> ScriptedLoop:
    run = ScriptedLoop(SIMULATED, remote=REAL, **safety)
    run.loop.modes.switch(SHADOW)
    run.pass_ms(150)
    run.calls.clear()
    return run


def test_a_shadow_gets_the_same_commands_and_reports_nothing() -> None:
    run = shadowed()
    assert run.controller_sends(FORWARD) == [
        ("body", "command", FORWARD),
        ("remote", "command", REMOTE_FORWARD),
    ]
    assert run.controller_sends(SensorSwitch(1, 64.0)) == [
        ("body", "switch", 1, 64.0),
        ("remote", "switch", 1, 64.0),
    ]
    assert run.remote_reports(SensorValue(1, 3.0)) == []
    assert run.body_reports(SensorValue(1, 2.0)) == [("controller", "report", (1, 2.0))]
    run.remote_reports(SensorValue(1, 3.0))
    divergence = run.loop.report()["divergence"]["eye"]
    assert (divergence["offset"], divergence["rms"], divergence["n"]) == (1.0, 1.0, 1)


def test_a_shadow_has_limits_of_its_own() -> None:
    run = shadowed()
    fast = MotorCommand(0, "velocity", 4.0)
    assert run.controller_sends(fast) == [("body", "command", fast)]
    assert run.controller_sends(FORWARD)[-1][:2] == ("remote", "command")
    assert run.controller_sends(fast) == [("body", "command", fast), ("remote", "stop_motor", 2)]
    report = run.loop.report()
    assert report["shadow"]["refused"] == {"beyond_limit": 2}
    assert report["refused"] == {}


def test_a_command_that_the_first_body_refuses_stops_the_motor_of_the_shadow_too() -> None:
    run = shadowed()
    run.controller_sends(FORWARD)
    slow_only_here = MotorCommand(0, "velocity", 6.0)
    assert run.controller_sends(slow_only_here) == [
        ("body", "stop_motor", 0),
        ("remote", "stop_motor", 2),  # its own index
        ("controller", "fault", 0),
    ]
    assert run.controller_sends(slow_only_here) == [("controller", "fault", 0)]  # both stand still


@pytest.mark.parametrize(
    "refused",
    [MotorCommand(0, "velocity", math.nan), RefusedRequest(0, "nan", "?", moves=True)],
    ids=["in the loop", "in the session of the controller"],
)
def test_nan_stops_the_motor_of_a_real_shadow_and_no_simulated_one(refused: Event) -> None:
    run = shadowed()
    run.controller_sends(FORWARD)
    calls = [call for call in run.controller_sends(refused) if call[0] != "controller"]
    assert calls == [("remote", "stop_motor", 2)]


def test_a_shadow_that_faults_or_is_lost_disturbs_nothing() -> None:
    run = shadowed()
    run.controller_sends(FORWARD)
    connection = wire(run, "remote")
    connection.take()
    run.remote.fault(ValueError("?"))
    assert connection.take().startswith(b"stop ")
    assert run.loop.safety.state.moving and run.controller.transport is run.pilot
    run.remote.detach()
    assert run.controller_sends(FORWARD) == [("body", "command", FORWARD)]
    assert run.body_reports(SensorValue(1, 2.0)) == [("controller", "report", (1, 2.0))]
    run.connect(run.remote)  # and it follows again
    assert ("remote", "command", REMOTE_FORWARD) in run.controller_sends(FORWARD)
    assert run.loop.report()["stops"] == {}


def test_a_shadow_stops_at_its_own_deadline_and_the_controller_stays() -> None:
    run = shadowed()  # the simulated body has no deadline, the remote one 0.5 s
    run.controller_sends(FORWARD)
    run.pass_ms(400)
    run.controller_sends(FORWARD)
    connection = wire(run, "remote")
    connection.take()
    run.pass_ms(490)
    assert connection.take() == b""
    run.pass_ms(20)
    assert connection.take().startswith(b"stop ")
    assert run.controller.transport is run.pilot and run.loop.safety.state.moving
    assert run.loop.report()["bodies"]["remote"]["stops"] == {"command_timeout": 1}


def test_a_latched_shadow_stays_and_the_first_body_moves() -> None:
    run = shadowed(latch=True)
    run.controller_sends(FORWARD)
    run.pass_ms(600)  # the deadline of the remote body only
    assert run.loop.report()["bodies"]["remote"]["latched"] == "command_timeout"
    assert run.controller_sends(FORWARD) == [("body", "command", FORWARD)]
    run.loop.arm()
    assert ("remote", "command", REMOTE_FORWARD) in run.controller_sends(FORWARD)


def test_a_first_body_that_comes_back_without_a_device_is_not_compared_in_it() -> None:
    run = shadowed()
    run.body.detach()
    run.sessions[run.body].own = [WHEEL]
    run.connect(run.body)
    assert run.remote_reports(SensorValue(1, 3.0)) == []
    run.pass_ms(1000)
    assert run.observer.statuses[-1].divergences == {}


def test_the_end_of_a_shadow_stops_it_and_keeps_the_comparison() -> None:
    run = shadowed()
    run.controller_sends(FORWARD)
    run.body_reports(SensorValue(1, 2.0))
    run.remote_reports(SensorValue(1, 3.0))
    connection = wire(run, "remote")
    connection.take()
    run.loop.modes.switch(SIMULATION)
    assert connection.take().startswith(b"stop ")
    assert run.loop.safety.state.moving  # the simulated body was not left
    assert run.loop.report()["divergence"]["eye"]["n"] == 1
    run.body_reports(SensorValue(1, 2.0))
    run.remote_reports(SensorValue(1, 3.0))
    assert run.loop.report()["divergence"]["eye"]["n"] == 1


def test_the_status_has_the_mode_and_the_divergence() -> None:
    run = shadowed()
    run.body_reports(SensorValue(1, 2.0))
    run.remote_reports(SensorValue(1, 3.0))
    run.pass_ms(1000)
    status = run.observer.statuses[-1]
    assert status.mode == "shadow"
    assert status.divergences["eye"].offset == 1.0
