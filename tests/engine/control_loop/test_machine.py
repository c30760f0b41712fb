"""Anything in any order: no motor ever does what no controller was allowed to command."""

import math
import struct

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from firmware_mocks.wc2ec import wire
from tests.cases import cases
from tests.e2e.control_loop_peers import CAB, DISTANCE, ROTATIONAL, sensor_data, set_value
from tests.engine.control_loop.fakes import FakeLoop

MOTORS = (1, 2)
SPEEDS = st.floats(-100, 100).filter(lambda speed: speed != 0)
REFUSED = st.one_of(
    st.sampled_from([math.nan, math.inf, -math.inf]).map(lambda bad: set_value(1, bad)),
    st.integers(3, 255).map(lambda index: set_value(index, 1.0)),
    st.just(set_value(0, 1.0)),  # the sensor
    st.floats(allow_nan=False).map(lambda value: sensor_data(1, value)),  # the robot's half
    st.integers(0, 255).map(lambda index: wire.bare(wire.ERROR, ROTATIONAL, index)),
    st.integers(3, 255).map(lambda index: wire.bare(wire.DISABLE_SENSOR, DISTANCE, index)),
)
LOSES_THE_STREAM = st.one_of(
    st.sampled_from([*range(2, 127), *range(132, 256)]).map(lambda command: bytes((command,))),
    st.sampled_from([n for n in range(256) if n not in (37, 38, 46, 53)]).map(
        lambda kind: bytes((wire.SET_VALUE, kind, 1))
    ),
    st.integers(65_537, 2**32 - 1).map(  # a packet for which no buffer has room
        lambda size: bytes((wire.SET_VALUE, 39, 1)) + struct.pack("<iI", 0, size)
    ),
)


class AnyOrder(RuleBasedStateMachine):
    """What the robot may have been sent: the commands of admitted controllers, and the defaults."""

    @initialize(latch=st.booleans(), timeout=st.sampled_from([0.0, 0.3]))
    def begin(self, latch: bool, timeout: float) -> None:
        self.loop = FakeLoop(latch=latch, command_timeout_s=timeout, late_s=1.0)
        self.legal: list[bytes] = []
        self.loop.robot_comes()

    @property
    def pilot_is_there(self) -> bool:
        return self.loop.controller.transport is not None

    @property
    def robot_is_there(self) -> bool:
        return self.loop.body.transport is not None

    def send_bytes(self, data: bytes, cuts: list[int]) -> None:
        """The controller sends this, in any chunks."""
        start = 0
        for cut in [*sorted(cut % (len(data) + 1) for cut in cuts), len(data)]:
            if self.pilot_is_there:
                self.loop.controller.data_received(data[start:cut])
            start = cut
        self.loop.settle()

    # --- rules --------------------------------------------------------------------------------

    @precondition(lambda self: not self.pilot_is_there)
    @rule()
    def controller_comes(self) -> None:
        self.loop.controller_comes()

    @precondition(lambda self: self.pilot_is_there)
    @rule()
    def controller_leaves(self) -> None:
        self.loop.controller_leaves()

    @precondition(lambda self: not self.robot_is_there)
    @rule()
    def robot_comes(self) -> None:
        self.legal.clear()
        self.loop.robot_comes(CAB)

    @precondition(lambda self: self.robot_is_there)
    @rule()
    def robot_leaves(self) -> None:
        self.loop.robot_leaves()

    @precondition(lambda self: self.pilot_is_there)
    @rule(motor=st.sampled_from(MOTORS), speed=SPEEDS, cuts=st.lists(st.integers(0, 11)))
    def command(self, motor: int, speed: float, cuts: list[int]) -> None:
        order = set_value(motor, speed)
        may = self.robot_is_there and self.loop.safety.armed
        before = len(self.loop.robot.messages())
        self.send_bytes(order, cuts)
        reported = self.loop.robot.messages()[before:]
        assert reported == ([order] if may else [])
        self.legal += reported

    @precondition(lambda self: self.pilot_is_there)
    @rule(orders=st.lists(REFUSED, min_size=1, max_size=4), cuts=st.lists(st.integers(0, 40)))
    def command_what_is_refused(self, orders: list[bytes], cuts: list[int]) -> None:
        before = self.loop.robot.data()
        self.send_bytes(b"".join(orders), cuts)
        assert self.loop.robot.data() == before
        assert self.pilot_is_there

    @precondition(lambda self: self.pilot_is_there)
    @rule(start=LOSES_THE_STREAM, rest=st.binary(max_size=40), cuts=st.lists(st.integers(0, 60)))
    def send_garbage(self, start: bytes, rest: bytes, cuts: list[int]) -> None:
        self.send_bytes(start + rest + set_value(1, 77.0) + set_value(2, 77.0), cuts)
        assert not self.pilot_is_there

    @precondition(lambda self: self.robot_is_there)
    @rule(index=st.integers(0, 255), value=st.floats())
    def robot_shows(self, index: int, value: float) -> None:
        self.loop.body.data_received(sensor_data(index, value))
        self.loop.settle()

    @precondition(lambda self: self.robot_is_there)
    @rule(command=st.integers(2, 126))
    def robot_sends_garbage(self, command: int) -> None:
        self.loop.body.data_received(bytes((command,)))
        self.loop.settle()
        assert not self.robot_is_there

    @rule(milliseconds=st.sampled_from([10, 100, 500]))
    def time_passes(self, milliseconds: int) -> None:
        self.loop.run(milliseconds)
        self.loop.settle()

    @precondition(lambda self: self.pilot_is_there)
    @rule()
    def the_gateway_is_late(self) -> None:
        self.loop.scheduler.time += 2_000_000_000
        self.send_bytes(set_value(1, 88.0), [])  # sent long ago
        assert not self.pilot_is_there

    @rule()
    def arm(self) -> None:
        self.loop.safety.arm()

    # --- what always holds --------------------------------------------------------------------

    @invariant()
    def the_robot_was_sent_what_it_may_be_sent(self) -> None:
        defaults = {set_value(motor, 0.0) for motor in MOTORS}
        switches = (wire.ENABLE_SENSOR, wire.DISABLE_SENSOR)
        reported = [each for each in self.loop.robot.messages() if each[0] not in switches]
        assert [each for each in reported if each not in defaults] == self.legal

    @invariant()
    def motors_without_a_command_stand_still(self) -> None:
        if self.pilot_is_there or not self.robot_is_there:
            return
        last = {each[2]: each for each in self.loop.robot.messages() if each[0] == wire.SET_VALUE}
        assert all(order == set_value(motor, 0.0) for motor, order in last.items())
        assert not self.loop.safety.moving

    @invariant()
    def each_stop_was_reported_once(self) -> None:
        messages = self.loop.robot.messages()
        stop = b"".join(set_value(motor, 0.0) for motor in MOTORS)
        assert stop + stop not in b"".join(messages)


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = cases(1, stateful_step_count=30)
