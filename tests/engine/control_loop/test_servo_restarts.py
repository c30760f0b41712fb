"""A servo of a bus restarts: through a whole control loop, in simulated time."""

import pytest

from tests.engine.control_loop.on_mocks import OnMock

SAFETY = {"command_timeout_s": 0.5, "late_s": 1.0, "latch": True}


# The goal of velocity, and the register that a restart changes, with its number once it is set up.
KINDS = {"dynamixel": ((104, 4), (98, 10)), "feetech": ((46,), (55, 0))}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [1, 2])
def test_the_others_stop_then_the_body_is_lost_and_the_robot_disarmed(
    number: int, kind: str
) -> None:
    goal, (marker, set_up) = KINDS[kind]
    robot = OnMock(kind, **SAFETY).start()
    robot.command(1.0, 1.0)
    robot.run(200)
    robot.command(2.0, 2.0)
    servos = robot.mock.servos
    other = servos[3 - number]
    assert all(servo.moves for servo in servos.values())
    servos[number].boot()

    def commands_go_on() -> bool:
        if robot.is_up:
            robot.command(2.0, 2.0)
        return not robot.is_up

    robot.run(1, until=commands_go_on, limit_ms=350)
    robot.run(2)
    assert other.get(*goal) == 0 and not other.moves
    assert not robot.loop.safety.armed
    assert robot.loop.body.session.counts["differences"] == 1
    begin = [servo.pulses for servo in servos.values()]
    robot.run(1, until=lambda: robot.is_up, limit_ms=3_000)
    assert [servo.table[marker] for servo in servos.values()] == [set_up, set_up]
    robot.loop.controller_comes()
    robot.command(2.0, 2.0)  # refused: the user has to arm it
    robot.run(200)
    assert [servo.pulses for servo in servos.values()] == begin
