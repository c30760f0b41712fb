"""The motors of body webots: what reaches them in the world, and that every one of them stops."""

import math
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hilgw.control.events import (
    Accepted,
    Command,
    Disconnected,
    MotorCommand,
    MotorPid,
    MotorSettings,
    ProtocolFailure,
    StopReason,
    StopSent,
)
from hilgw.control.limits import check_command
from hilgw.control.safety import MotorMode
from hilgw.control.stop import StopPlan
from hilgw.devices.kinds import MotorLimits
from tests.bodies.bench import commanded
from tests.bodies.webots_line import WebotsLine, body
from tests.cases import cases

INF = math.inf
MOTORS = ("left", "right", "lift")


def motors(bench: WebotsLine) -> dict[str, tuple[float, float]]:
    """Position that each motor in the world aims at, and velocity set."""
    return {name: (bench.device(name).target, bench.device(name).wanted) for name in MOTORS}


def test_a_robot_that_an_earlier_controller_left_moving_stops() -> None:
    bench = WebotsLine()
    left = bench.device("left")
    left.target, left.wanted = INF, 3.0
    bench.start()
    bench.steps(2)
    assert left.velocity == 0.0


def test_commands_reach_the_motors_with_the_next_request() -> None:
    bench = WebotsLine().start()
    session, index = bench.session, bench.index
    outcome, _ = session.command(MotorCommand(index("left"), "velocity", 3.0), 0)
    assert outcome is Accepted.SENT
    commanded(session, MotorSettings(index("right"), 1.5, 2.0, 4.0, 7.0), 0)
    commanded(session, MotorCommand(index("lift"), "position", 0.1), 0)
    commanded(session, MotorPid(index("lift"), 5.0, 1.0, 0.5), 0)
    bench.steps(2)
    assert motors(bench)["left"] == (INF, 3.0) and motors(bench)["right"] == (1.5, 2.0)
    right, lift = bench.device("right"), bench.device("lift")
    assert (right.acceleration, right.available) == (4.0, 7.0)
    assert lift.target == 0.1 and lift.wanted > 0 and lift.pid == (5.0, 1.0, 0.5)
    bench.steps(100)
    assert lift.position == pytest.approx(0.1)
    commanded(session, MotorCommand(index("left"), "acceleration", 9.0), 0)
    commanded(session, MotorCommand(index("left"), "available_torque", 8.0), 0)
    commanded(session, MotorCommand(index("left"), "torque", 0.5), 0)
    bench.steps(2)
    left = bench.device("left")
    assert (left.acceleration, left.available, left.force) == (9.0, 8.0, 0.5)


def test_a_stop_is_reported_when_it_has_left_not_before() -> None:
    bench = WebotsLine().start()
    session = bench.session
    commanded(session, MotorCommand(bench.index("left"), "velocity", 3.0), 0)
    bench.steps(2)
    bench.events.clear()
    commands = tuple(MotorCommand(bench.index(name), "velocity", 0.0) for name in MOTORS)
    assert session.stop(StopReason.DISCONNECTED, 0) == StopPlan([], commands)
    assert not session.is_idle() and bench.events == []
    bench.steps()
    assert bench.events.count(StopSent()) == 1
    assert session.is_idle() and session.stop(StopReason.DISCONNECTED, 0).events == []
    bench.steps()
    assert bench.device("left").velocity == 0.0
    commanded(session, MotorCommand(bench.index("left"), "velocity", 3.0), 0)
    session.stop(StopReason.DISCONNECTED, 0)
    bench.events.clear()
    bench.disconnect()
    assert bench.events == [Disconnected("connection closed")]  # and no stop: it was not sent


def test_the_emergency_stop_is_a_request_of_its_own_and_the_session_begins_anew() -> None:
    bench = WebotsLine().start()
    session = bench.session
    commanded(session, MotorCommand(bench.index("left"), "velocity", 3.0), 0)
    bench.steps(2)
    stop = session.emergency()
    assert stop == session.emergency()  # changes nothing
    events = session.stop(StopReason.LATE, 0).events
    assert [event for event in events if isinstance(event, ProtocolFailure)]
    assert session.emergency() == b"" and session.stop(StopReason.LATE, 0).events == []
    waiting = WebotsLine()  # for a request: its answer is not read
    waiting.connect()
    (first,) = waiting.session.receive(b"CONNECTED", waiting.now)
    waiting.mock.receive(first.data, waiting.now)
    waiting.device("left").target, waiting.device("left").wanted = INF, 3.0
    waiting.mock.receive(stop, waiting.now)
    assert waiting.device("left").wanted == 0.0


def test_a_position_without_a_velocity_is_approached_within_the_limit_of_velocity() -> None:
    for limits, speed in ((MotorLimits(), 10.0), (MotorLimits(max_velocity=3.0), 3.0)):
        bench = WebotsLine(body(limits={"left": limits})).start()
        commanded(bench.session, MotorCommand(bench.index("left"), "position", 1.0), bench.now)
        bench.steps(2)
        assert (bench.device("left").target, bench.device("left").wanted) == (1.0, speed)


def test_a_rate_limit_holds_and_never_delays_a_stop() -> None:
    bench = WebotsLine(body(limits={"left": MotorLimits(rate=10.0)})).start()
    commanded(bench.session, MotorCommand(bench.index("left"), "velocity", 3.0), bench.now)
    seen = []
    for _ in range(18):
        bench.steps()
        seen.append(bench.device("left").wanted)
    fastest = [10.0 * 0.032 * (step + 1) + 0.2 for step in range(18)]  # a step of 20 ms at once
    assert all(value <= most for value, most in zip(seen, fastest, strict=True))
    assert seen[-1] == 3.0 and seen[0] < 1.0
    bench.session.stop(StopReason.SILENCE, bench.now)
    bench.steps(2)
    assert bench.device("left").wanted == 0.0
    bench.steps(5)
    assert bench.device("left").wanted == 0.0


VALUES = st.one_of(st.floats(-5, 5), st.sampled_from([INF, 0.0, -1.0]))
FIELDS = ("position", "velocity", "acceleration", "force", "torque", "available_torque")


class EveryMotorStops(RuleBasedStateMachine):
    """Any commands that the safety lets pass, in any order with steps, stops and connections."""

    @initialize()
    def begin(self) -> None:
        self.bench = WebotsLine().start()
        self.stopped = False
        self.settles = 40

    def command(self, command: Command) -> None:
        device = self.bench.session.devices.by_index(command.index)
        assert device is not None
        if check_command(device, command) is None:
            outcome, _ = self.bench.session.command(command, self.bench.now)
            assert outcome is Accepted.SENT
            self.stopped, self.settles = False, 40

    @rule(name=st.sampled_from(MOTORS), field=st.sampled_from(FIELDS), value=VALUES)
    def sets_one_value(self, name: str, field: str, value: float) -> None:
        self.command(MotorCommand(self.bench.index(name), field, value))

    @rule(name=st.sampled_from(MOTORS), values=st.tuples(VALUES, VALUES, VALUES, VALUES))
    def sets_all_values(self, name: str, values: tuple[Any, ...]) -> None:
        self.command(MotorSettings(self.bench.index(name), *values))

    @rule(count=st.integers(1, 3))
    def time_passes(self, count: int) -> None:
        self.bench.steps(count)

    @rule(reason=st.sampled_from([StopReason.DISCONNECTED, StopReason.COMMAND_TIMEOUT]))
    def stops(self, reason: StopReason) -> None:
        self.bench.session.stop(reason, self.bench.now)
        self.stopped = True

    @rule()
    def connects_again(self) -> None:
        self.bench.disconnect()
        self.bench.start()
        self.stopped = True

    @invariant()
    def every_motor_stands(self) -> None:
        if self.stopped:
            self.bench.steps(self.settles)  # an acceleration of its own may slow it down
            self.settles = 2
            for name in MOTORS:
                device = self.bench.device(name)
                slow = 0 <= device.acceleration < 5
                assert device.velocity == 0.0 or slow, (name, device.velocity)
                assert device.wanted == 0.0

    @invariant()
    def a_stop_is_reported_only_where_one_was_sent(self) -> None:
        sent = [event for event in self.bench.events if isinstance(event, StopSent)]
        assert len(sent) <= self.bench.session.counts["stops"]
        assert not [e for e in self.bench.events if isinstance(e, ProtocolFailure)]


TestEveryMotorStops = EveryMotorStops.TestCase
TestEveryMotorStops.settings = cases(1, stateful_step_count=20)


def test_every_mode_of_every_motor_has_its_stop() -> None:
    bench = WebotsLine().start()
    for name in MOTORS:
        for mode in MotorMode:
            assert bench.session.can_stop(bench.index(name), mode)
    assert not bench.session.can_stop(bench.index("ds"), MotorMode.VELOCITY)


@pytest.mark.parametrize("field", ["force", "torque"])
def test_a_force_of_an_earlier_connection_ends_with_the_first_stop_of_the_next(field: str) -> None:
    """The new session does not know it: the motor accelerated for ever."""
    bench = WebotsLine().start()
    bench.session.command(MotorCommand(bench.index("left"), field, 1.0), bench.now)
    bench.steps(3)
    assert bench.device("left").velocity > 0
    bench.disconnect()
    bench.start()
    bench.steps(40)
    assert bench.device("left").velocity == 0.0
