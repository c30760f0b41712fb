"""The way of a motor command: what safety refuses, and that it is checked once."""

import math

import pytest

from firmware_mocks.wc2ec import wire
from hilgw.control.events import Command, MotorCommand, MotorSettings
from hilgw.devices.kinds import MotorLimits
from tests.e2e.control_loop_peers import CAB, LINEAR, ROTATIONAL, Devices
from tests.engine.control_loop.fakes import FakeLoop

INF = math.inf
DEVICES: Devices = (*CAB, (LINEAR, "lift"))
BODY = {
    "limits": {
        "left": MotorLimits(max_velocity=6, max_force=5),
        "lift": MotorLimits(max_position=1),
    },
    "default_position": {"lift": 0.0},
}


def connected() -> FakeLoop:
    loop = FakeLoop(DEVICES, body=BODY)
    loop.robot_comes()
    loop.controller_comes()
    loop.pilot.written.clear()
    return loop


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (MotorCommand(1, "velocity", math.nan), "nan"),
        (MotorCommand(1, "velocity", INF), "infinite"),
        (MotorCommand(1, "velocity", 6.5), "beyond_limit"),
        (MotorCommand(1, "velocity", -6.5), "beyond_limit"),
        (MotorCommand(3, "position", -INF), "infinite"),
        (MotorCommand(3, "position", math.nan), "nan"),
        (MotorCommand(3, "position", 1.5), "beyond_limit"),
        (MotorCommand(1, "colour", 1.0), "no_such_field"),
        (MotorCommand(1, "acceleration", -2.0), "out_of_range"),
        (MotorSettings(1, INF, 7.0, -1.0, 1.0), "beyond_limit"),
        (MotorSettings(1, INF, 1.0, -1.0, 5.5), "beyond_limit"),
        (MotorSettings(1, INF, 1.0, math.nan, 1.0), "nan"),
        (MotorSettings(1, 1.0, -1.0, -1.0, 1.0), "out_of_range"),
    ],
)
def test_what_is_refused_never_reaches_the_body_and_is_counted_and_answered(
    command: Command, reason: str
) -> None:
    loop = connected()
    loop.controller.handle([command], loop.scheduler.time)
    assert loop.robot.data() == b""
    kind = LINEAR if command.index == 3 else ROTATIONAL
    assert loop.pilot.messages() == [wire.bare(wire.ERROR, kind, command.index)]
    assert loop.loop.report()["refused"] == {reason: 1}
    loop.controller_leaves()
    assert loop.robot.data() == b""  # no motor was commanded: no stop
