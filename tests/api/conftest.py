"""A program's robot, whose simulator is the fixture `simulator` of each file."""

from collections.abc import Iterator

import pytest

from hilgw.api import Robot
from tests.api.simulator import Simulator, robot_of


@pytest.fixture
def robot(simulator: Simulator) -> Iterator[Robot]:
    robot = robot_of(simulator)
    yield robot
    robot.close()
