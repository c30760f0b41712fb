"""Commands that a robot cannot follow: it does not drive on with the command before.

Each wheeled robot on its mock; what its wheels do is asked of the mock."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from firmware_mocks.wc2ec import wire
from hilgw.control.events import (
    Command,
    LedValue,
    MotorCommand,
    MotorPid,
    MotorSettings,
    StopReason,
)
from hilgw.devices.kinds import MotorLimits
from tests.e2e.control_loop_peers import CAB, LINEAR, ROTATIONAL, Devices
from tests.engine.control_loop.fakes import FakeLoop
from tests.engine.control_loop.on_mocks import OnMock

SPEEDS: dict[str, Callable[[Any], tuple[int, int]]] = {
    "create2": lambda mock: tuple(mock.drive),
    "epuck": lambda mock: tuple(mock.speeds),
    "text": lambda mock: tuple(mock.speed),
}
NEVER_SET = False
"""The velocity of a MotorSettings is the motor's default."""


class Driving:
    """A robot of this kind, both wheels turning, under a controller that sends `commands`."""

    def __init__(self, kind: str, **safety: Any) -> None:
        real = {"simulated": False, "armed": True, "command_timeout_s": 0, "late_s": 1.0}
        self.robot = OnMock(kind, **real, **safety).start()
        self.left, self.right = self.robot.motors[:2]
        self._speeds = SPEEDS[kind]
        self.send(*(MotorCommand(each.index, "velocity", 2.0) for each in (self.left, self.right)))
        assert 0 not in self.speeds

    def send(self, *commands: Command | LedValue) -> None:
        """As from the controller's session; then what the robot needs to obey."""
        self.hand(*commands)
        self.robot.run(150)

    def hand(self, *commands: Command | LedValue) -> None:
        self.robot.loop.controller.handle(list(commands), self.robot.loop.scheduler.now())

    @property
    def speeds(self) -> tuple[int, int]:
        """Of the wheels, in the order of `left` and `right`."""
        speeds = self._speeds(self.robot.mock)
        first = self.robot.motors[0].name
        return speeds if "left" in first else (speeds[1], speeds[0])

    @property
    def report(self) -> dict[str, Any]:
        return self.robot.loop.loop.report()

    @property
    def notices(self) -> list[str]:
        """And the texts of refusals."""
        observer = self.robot.loop.observer
        return observer.notices + [text for _, _, text in observer.refusals]


@pytest.fixture(params=sorted(SPEEDS))
def driving(request: pytest.FixtureRequest) -> Driving:
    return Driving(request.param, latch=True)


def refused_commands(index: int) -> list[Command]:
    return [
        MotorCommand(index, "position", 1.0),
        MotorSettings(index, 1.0, 3.0, -1.0, 10.0),
        MotorCommand(index, "torque", 1.0),
        MotorCommand(index, "velocity", math.nan),
        MotorCommand(index, "position", -math.inf),
    ]


@pytest.mark.parametrize("number", range(5))
def test_a_refused_motion_stops_its_motor_and_no_other(driving: Driving, number: int) -> None:
    loop, other = driving.robot.loop, driving.speeds[1]
    driving.send(refused_commands(driving.left.index)[number])
    assert driving.speeds == (0, other)
    assert loop.safety.armed and loop.safety.latched is None and not loop.safety.stops
    report = driving.report
    assert sum(report["refused"].values()) == 1 and report["motor_stops"] == 1
    assert report["motors"][driving.left.name]["velocity"] == 0.0
    assert any("stopped: a command to it was refused" in each for each in driving.notices)
    driving.send(MotorCommand(driving.left.index, "velocity", 1.0))
    assert 0 not in driving.speeds


def test_velocity_0_is_accepted_also_on_the_way_to_a_position(driving: Driving) -> None:
    other = driving.speeds[1]
    driving.send(MotorSettings(driving.left.index, 1.0, 0.0, -1.0, 10.0))
    assert driving.speeds == (0, other) and not driving.report["refused"]


def test_what_moves_nothing_stops_nothing_when_it_is_refused(driving: Driving) -> None:
    before = driving.speeds
    driving.send(
        LedValue(driving.left.index, 1),
        MotorCommand(driving.left.index, "acceleration", math.nan),
        MotorPid(driving.left.index, -1.0, 0.0, 0.0),
    )
    assert driving.speeds == before
    assert sum(driving.report["refused"].values()) == 3 and "motor_stops" not in driving.report


def test_refusals_of_a_disarmed_robot_write_nothing(driving: Driving) -> None:
    loop = driving.robot.loop
    driving.robot.disarm()
    driving.robot.run(300)
    assert driving.speeds == (0, 0)
    counts = dict(loop.body.session.counts)
    driving.send(
        MotorCommand(driving.left.index, "velocity", 0.0),
        MotorCommand(driving.left.index, "position", 1.0),
    )
    assert driving.report["refused"] == {"disarmed": 2} and "motor_stops" not in driving.report
    assert loop.body.session.counts["commands"] == counts["commands"]


def test_what_the_robot_lacks_is_left_out_and_the_rest_applies(driving: Driving) -> None:
    index, before = driving.left.index, driving.speeds
    for _ in range(3):
        driving.send(
            MotorSettings(index, math.inf, 1.0, 3.0, 2.0),
            MotorCommand(index, "acceleration", 4.0),
            MotorPid(index, 1.0, 0.0, 0.0),
        )
    assert not driving.report["refused"] and 0 not in driving.speeds
    assert driving.speeds[0] < before[0]
    counts = driving.robot.loop.body.session.counts
    assert counts["dropped_gains"] == 3
    assert counts["dropped_acceleration"] == 6 and counts["dropped_available"] == 1
    for quantity in ("acceleration", "available torque", "gains"):
        shown = [each for each in driving.notices if f"cannot be given {quantity}" in each]
        assert len(shown) == 1, quantity
    report = driving.report
    assert report["commands_in"] == report["commands_out"] + report["commands_dropped"]


def test_an_available_torque_of_0_stops_a_motor_until_there_is_more(driving: Driving) -> None:
    index, other = driving.left.index, driving.speeds[1]
    driving.send(MotorCommand(index, "available_torque", 0.0))
    assert driving.speeds == (0, other)
    driving.send(MotorCommand(index, "velocity", 1.0))
    assert driving.speeds == (0, other)
    driving.send(MotorSettings(index, math.inf, 1.0, -1.0, 0.0))
    assert driving.speeds == (0, other)
    driving.send(MotorSettings(index, math.inf, 1.0, -1.0, 5.0))
    assert 0 not in driving.speeds and not driving.report["refused"]


def test_position_infinity_without_a_velocity_moves_nothing(driving: Driving) -> None:
    index = driving.left.index
    driving.send(MotorSettings(index, math.inf, 6.0, -1.0, 10.0, NEVER_SET))
    assert driving.speeds[0] == 0
    driving.send(MotorSettings(index, math.inf, 1.0, -1.0, 10.0))
    assert driving.speeds[0] != 0


def test_the_answer_of_a_body_that_is_down(driving: Driving) -> None:
    loop = driving.robot.loop
    driving.robot.cut = True
    driving.robot.run(2_000)
    loop.loop.arm()
    loop.controller_comes()
    driving.send(MotorCommand(driving.left.index, "velocity", 0.0))
    assert any("not sent: body down" in each for each in driving.notices)
    assert loop.loop.disarm(loop.scheduler.now()) == ["cab.body"]


def test_a_line_that_the_robot_refuses_in_motion_stops_its_motors() -> None:
    driving = Driving("text", latch=True, step_ms=32)
    driving.robot.mock.set("refused_speed", 15_000)
    driving.send(MotorCommand(driving.left.index, "velocity", 5.0))  # 15265
    assert driving.speeds == (0, 0)  # both are in the line
    report = driving.report
    assert report["refused"]["failed"] == 1 and report["motor_stops"] == 2
    assert report["motors"][driving.right.name]["velocity"] == 0.0
    assert driving.robot.loop.safety.armed and not driving.robot.loop.safety.stops
    driving.robot.steps(31)
    assert driving.report["refused"]["failed"] == 1  # the line is not sent again and again
    driving.send(MotorCommand(driving.left.index, "velocity", 1.0))
    assert driving.speeds[0] > 0 and driving.speeds[1] == 0


def test_a_motor_of_a_robot_that_is_back_is_stopped_again() -> None:
    driving = Driving("create2", latch=False)
    driving.send(MotorCommand(driving.left.index, "velocity", math.nan))
    driving.robot.loop.robot_leaves()
    driving.robot.run(100)
    driving.robot.start()
    driving.robot.mock.drive = 100, 100  # as something else drives it now
    driving.send(MotorCommand(driving.left.index, "velocity", math.nan))
    assert driving.speeds == (0, 0)


@pytest.mark.parametrize("kind", sorted(SPEEDS))
def test_a_flood_delays_no_stop_and_the_newest_command_counts(kind: str) -> None:
    driving = Driving(kind, latch=True)
    loop, left = driving.robot.loop, driving.left
    (index, *_) = [each.index for each in loop.body.session.devices if each.kind == "LED"]
    for number in range(3_000):
        command = MotorCommand(left.index, "velocity", 1.0 + number % 7 / 10)
        driving.hand(command, LedValue(index, number % 2))
        if number % 3 == 0:
            driving.robot.run(1)
            assert loop.body.write_delay_ns(loop.scheduler.now()) <= 30_000_000
    assert not loop.failures and loop.body.transport is not None
    driving.robot.written.clear()
    driving.robot.disarm()
    assert driving.robot.ms_to_stop(50) >= 0
    driving.robot.run(300)
    assert driving.speeds == (0, 0)
    report = driving.report
    lost = report.get("commands_superseded", 0)
    assert report["commands_in"] == report["commands_out"] + lost
    assert loop.safety.stops == {StopReason.DISARMED: 1}


def test_a_stop_overtakes_what_the_port_does_not_take() -> None:
    """The port is stalled: by flow control, or as the adapter hangs."""
    driving = Driving("create2", latch=True)
    loop, left = driving.robot.loop, driving.left
    loop.robot.stalled = True
    for number in range(3_000):
        driving.hand(MotorCommand(left.index, "velocity", 1.0 + number % 7 / 10))
        driving.robot.run(1)
    assert loop.robot.pending < 500 and not loop.failures
    driving.robot.written.clear()
    driving.robot.disarm()
    loop.robot.accept()
    assert driving.robot.ms_to_stop(2) >= 0
    first = driving.robot.stop.search(driving.robot.written)
    assert first is not None and first.start() == 0  # nothing that was written before comes first
    driving.robot.run(100)
    assert driving.speeds == (0, 0)


def fill_the_line(driving: Driving) -> None:
    """Until commands wait for it."""
    loop, other = driving.robot.loop, driving.right
    number = 0
    while not loop.body.is_busy(loop.scheduler.now()):
        number += 1
        driving.hand(MotorCommand(other.index, "velocity", 2.0 + number % 2 / 10))


def test_no_command_overtakes_an_older_one_of_its_motor() -> None:
    """The line becomes free between two looks for what waits."""
    driving = Driving("create2")
    loop, index = driving.robot.loop, driving.left.index
    fill_the_line(driving)
    driving.hand(MotorCommand(index, "velocity", 3.0))
    while loop.body.is_busy(loop.scheduler.now()):
        loop.scheduler.run(100_000)
    driving.hand(MotorCommand(index, "velocity", 0.0))
    driving.robot.run(100)
    assert driving.speeds[0] == 0
    report = driving.report
    assert report["motors"][driving.left.name]["velocity"] == 0.0
    assert report["commands_in"] == report["commands_out"] + report["commands_superseded"]


def test_a_stop_of_one_motor_that_the_port_does_not_take_is_not_reported() -> None:
    driving = Driving("create2")
    driving.robot.loop.robot.full = True
    driving.hand(MotorCommand(driving.left.index, "position", 1.0))
    assert "motor_stops" not in driving.report and driving.robot.loop.failures
    assert driving.report["motors"][driving.left.name]["velocity"] != 0.0


@pytest.mark.parametrize(
    "reason", [StopReason.DISARMED, StopReason.ESTOP, StopReason.LEASE_OVER, StopReason.HARDWARE]
)
def test_an_available_torque_of_0_outlasts_a_stop_but_no_controller(
    driving: Driving, reason: StopReason
) -> None:
    index, loop = driving.left.index, driving.robot.loop
    driving.send(MotorCommand(index, "available_torque", 0.0))
    loop.loop.disarm(loop.scheduler.now(), reason)
    driving.robot.run(100)
    loop.loop.arm()
    driving.send(MotorCommand(index, "velocity", 2.0))
    assert driving.speeds[0] == 0
    driving.send(MotorCommand(index, "available_torque", 0.0))
    assert loop.body.session.counts["dropped_available"] == 1  # as it was
    loop.controller_leaves()
    loop.loop.arm()
    loop.controller_comes()
    driving.send(MotorCommand(index, "velocity", 2.0))
    assert driving.speeds[0] != 0


def test_a_robot_that_is_back_has_the_torque_that_it_has(driving: Driving) -> None:
    index, loop = driving.left.index, driving.robot.loop
    driving.send(MotorCommand(index, "available_torque", 0.0))
    loop.robot_leaves()
    driving.robot.start()
    loop.loop.arm()
    driving.send(MotorCommand(index, "velocity", 2.0))
    assert driving.speeds[0] != 0


def test_a_motor_without_torque_gets_no_command_again_from_a_stepped_controller() -> None:
    driving = Driving("create2", step_ms=32)
    index = driving.left.index
    driving.send(MotorSettings(index, math.inf, 2.0, -1.0, 0.0))
    driving.send(MotorCommand(driving.right.index, "velocity", 2.0))
    driving.robot.steps(31)
    assert driving.speeds[0] == 0 and driving.speeds[1] != 0


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
    loop = FakeLoop(DEVICES, body=BODY).connected()
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
def test_refusals_reach_no_body_and_are_counted_and_answered(command: Command, reason: str) -> None:
    loop = connected()
    loop.controller.handle([command], loop.scheduler.time)
    assert loop.robot.data() == b""
    kind = LINEAR if command.index == 3 else ROTATIONAL
    assert loop.pilot.messages() == [wire.bare(wire.ERROR, kind, command.index)]
    assert loop.loop.report()["refused"] == {reason: 1}
    loop.controller_leaves()
    assert loop.robot.data() == b""  # no motor was commanded: no stop
