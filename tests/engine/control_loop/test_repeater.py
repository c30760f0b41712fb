"""A controller that is stepped commands a motor once, as in Webots; the robot receives it again."""

from __future__ import annotations

from hilgw.control.events import MotorCommand, MotorSettings, StepRequest, StopReason
from hilgw.devices.kinds import Device
from hilgw.engine.control_loop.bodies.kept_commands import REPEAT_NS, Repeater
from tests.engine.control_loop.scripted import ScriptedLoop

WHEELS = tuple(Device(name=f"wheel{n}", kind="RotationalMotor", index=n) for n in range(2))
LEFT, RIGHT = (MotorCommand(index, "velocity", 3.0) for index in range(2))


def stepped() -> ScriptedLoop:
    return ScriptedLoop(WHEELS, step_ms=32)


def commands(run: ScriptedLoop, steps: int) -> list[tuple[str, MotorCommand]]:
    """What the body is sent in so many steps of 32 ms."""
    found = []
    for _ in range(steps):
        calls = run.controller_sends(StepRequest(32))
        found += [call[1:] for call in calls if call[0] == "body"]
        run.pass_ms(32)
    return found


def test_commands_are_repeated_while_the_controller_steps_and_counted_once() -> None:
    run = stepped()
    run.controller_sends(LEFT, RIGHT, StepRequest(32))
    run.pass_ms(32)
    again = [("command", LEFT), ("command", RIGHT)]
    assert commands(run, 10) == again * 2
    assert run.loop.report()["commands_in"] == 2
    run.calls.clear()
    run.pass_ms(1000)  # a controller that freezes asks for no step
    assert run.calls == []


def test_nothing_is_repeated_after_a_stop_and_later_only_what_came_since() -> None:
    run = stepped()
    run.controller_sends(LEFT, RIGHT, StepRequest(32))
    run.loop.safety.stop(StopReason.LATE, run.scheduler.now())
    run.pass_ms(32)
    assert commands(run, 10) == []
    run.controller_sends(RIGHT, StepRequest(32))
    run.pass_ms(32)
    assert set(commands(run, 10)) == {("command", RIGHT)}


def test_a_command_of_another_mode_replaces_those_before() -> None:
    repeater = Repeater()
    settings = MotorSettings(0, 1.0, 2.0, -1.0, 10.0)
    force = MotorCommand(0, "force", 0.5)
    for number, (command, left) in enumerate(
        [(LEFT, [LEFT]), (settings, [settings]), (force, [force]), (LEFT, [LEFT])]
    ):
        now = number * REPEAT_NS
        repeater.keep(command, now, first=False)
        assert repeater.due(now + REPEAT_NS - 1) == []
        assert repeater.due(now + REPEAT_NS) == left
