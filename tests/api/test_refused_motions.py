"""A motion that the API refuses: a gateway learns of it on the wire, Webots does not."""

import math
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from hilgw.api import Motor, Robot
from hilgw.control import events as control
from hilgw.controllers.webots.session import WebotsControllerSession
from hilgw.devices.kinds import ROTATIONAL_MOTOR, Device
from hilgw.protocols.webots.device_messages import MotorConfiguration
from hilgw.protocols.webots.robot_messages import RobotConfiguration
from tests.api.simulator import Simulator, robot_of

NAN, INF = math.nan, math.inf
POSITION, VELOCITY, FORCE = 1, 2, 4  # the numbers of the commands on the wire


def simulator_of(world: str) -> Simulator:
    limits = (0, -3.0, 3.0, 10.0, -1.0, 8.0, 10.0, 0.0, 0.0, INF, 0.0, 1.0)
    motor = ("RotationalMotor", "motor", lambda tag: MotorConfiguration(tag, *limits))
    return Simulator([motor], world=world)


@pytest.fixture
def simulator() -> Simulator:
    """A gateway."""
    return simulator_of("")


def passed_on(simulator: Simulator) -> list[tuple[int, float]]:
    """The motor's commands in the last request: number and value, as they are on the wire."""
    data, motions = b"".join(block.data for block in simulator.requests[-1].blocks if block.tag), []
    while data:
        motions.append(struct.unpack("<Hd", data[:10]))
        data = data[10:]
    return motions


def refused(motions: list[tuple[int, float]]) -> list[int]:
    assert all(math.isnan(value) for _, value in motions)
    return [number for number, _ in motions]


Call = Callable[[Motor], Any]
REFUSED: list[tuple[Call, int]] = [
    (lambda motor: motor.setVelocity(NAN), VELOCITY),
    (lambda motor: motor.setPosition(NAN), POSITION),
    (lambda motor: motor.setForce(NAN), FORCE),
    (lambda motor: motor.setTorque(NAN), FORCE),
    (lambda motor: setattr(motor, "target_velocity", NAN), VELOCITY),
    (lambda motor: motor.setVelocity("fast"), VELOCITY),  # type: ignore[arg-type]
    (lambda motor: motor.setPosition(None), POSITION),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "number"), REFUSED)
def test_a_gateway_learns_of_it(
    call: Call, number: int, simulator: Simulator, robot: Robot
) -> None:
    motor = robot.getDevice("motor")
    motor.setPosition(INF)
    motor.setVelocity(2.0)
    robot.step(32)
    with suppress(TypeError):
        call(motor)
    robot.step(32)
    assert refused(passed_on(simulator)) == [number]
    assert (motor.getVelocity(), motor.getTargetPosition()) == (2.0, INF)  # as before
    robot.step(32)
    assert passed_on(simulator) == []
    motor.setVelocity(1.0)
    robot.step(32)
    assert passed_on(simulator) == [(VELOCITY, 1.0)]


def test_of_several_in_one_step_the_last_valid_one_is_kept(
    simulator: Simulator, robot: Robot, capsys: pytest.CaptureFixture[str]
) -> None:
    motor = robot.getDevice("motor")
    motor.setVelocity(NAN)
    motor.setVelocity(1.0)
    robot.step(32)
    assert passed_on(simulator) == [(VELOCITY, 1.0)]  # the newest one counts
    motor.setVelocity(3.0)
    motor.setVelocity(NAN)
    robot.step(32)
    (number, value), kept = passed_on(simulator)
    assert math.isnan(value) and (number, kept) == (VELOCITY, (VELOCITY, 3.0))
    motor.setPosition(1.0)
    robot.step(32)
    motor.setVelocity(-1.0)  # in position control
    robot.step(32)
    assert refused(passed_on(simulator)) == [VELOCITY]
    assert "negative 'velocity' argument in position control" in capsys.readouterr().err
    for value in (INF, -INF):  # is sent as it is
        motor.setForce(value)
        robot.step(32)
        assert passed_on(simulator) == [(FORCE, value)]


def test_limits_gains_and_other_devices_pass_nothing_on(simulator: Simulator, robot: Robot) -> None:
    motor = robot.getDevice("motor")
    motor.setAcceleration(NAN)
    motor.setAvailableForce(NAN)
    motor.setControlPID(NAN, 0.0, 0.0)
    Motor("none").setVelocity(NAN)
    robot.step(32)
    assert passed_on(simulator) == []
    robot.close()
    motor.setVelocity(NAN)  # a line, as before


@pytest.mark.parametrize(("call", "number"), REFUSED)
def test_webots_gets_what_its_own_library_sends(call: Call, number: int) -> None:
    simulator = simulator_of("/project/worlds/w.wbt")
    robot = robot_of(simulator)
    with suppress(TypeError):
        call(robot.getDevice("motor"))
    robot.step(32)
    assert passed_on(simulator) == []
    robot.close()


def test_the_gateway_reads_it_as_a_motion_that_is_not_a_number(
    simulator: Simulator, robot: Robot
) -> None:
    """Its own session of a Webots controller reads the requests of the API."""
    session = WebotsControllerSession(RobotConfiguration(name="rover", basicTimeStep=32.0))
    session.register(Device(index=0, kind=ROTATIONAL_MOTOR, name="motor"))
    session.open(0)
    robot.getDevice("motor").setVelocity(NAN)
    robot.step(32)
    robot.close()
    events = []
    for data in simulator.raw:
        events += session.receive(data, 0)
        session.answer(0)
    (command,) = (each for each in events if isinstance(each, control.MotorCommand))
    assert command.field == "velocity" and math.isnan(command.value)
