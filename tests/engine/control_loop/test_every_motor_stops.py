"""Whatever a body accepted: after a stop the last command of every motor is its default."""

import math
import struct
from typing import Any
from unittest import mock

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from firmware_mocks.wc2ec import wire
from firmware_mocks.wc2ec.cobs import FrameReader, frame
from hilgw.devices.kinds import MotorLimits
from tests.cases import cases
from tests.e2e.control_loop_peers import (
    CAB,
    DISTANCE,
    LINEAR,
    ROTATIONAL,
    Devices,
    registrations,
    sensor_data,
    set_value,
)
from tests.engine.control_loop.fakes import MS, FakeLoop, Wire

DEVICES: Devices = (
    *CAB,
    (ROTATIONAL, "slow"),
    (LINEAR, "lift"),
    (LINEAR, "gate"),
    (LINEAR, "slide"),
)
KIND = {index: kind for index, (kind, _) in enumerate(DEVICES) if kind != DISTANCE}
HOME = {4: 0.25}  # the default position of the lift
VALUES = st.one_of(st.floats(-10, 10), st.sampled_from([math.inf, -math.inf, math.nan, 0.0, -1.0]))
BODY: dict[str, Any] = {
    "default_position": {"lift": 0.25},
    "limits": {"slow": {"rate": 5.0}, "slide": {"rate": 2.0}, "left": {"max_velocity": 6.0}},
}


def body_settings(original_peer: bool) -> dict[str, Any]:
    limits = {name: MotorLimits(**each) for name, each in BODY["limits"].items()}
    return {**BODY, "limits": limits, "original_peer": original_peer}


class EveryMotorStops(RuleBasedStateMachine):
    """All dialects and links of the bodies; a controller that sends any command."""

    @initialize(original=st.booleans(), serial=st.booleans(), timeout_s=st.sampled_from([0.0, 0.3]))
    def begin(self, original: bool, serial: bool, timeout_s: float) -> None:
        self.serial = serial
        self.loop = FakeLoop(
            DEVICES,
            serial=serial,
            body=body_settings(original),
            command_timeout_s=timeout_s,
            late_s=1.0,
        )
        self.loop.body.attach(self.loop.robot)  # type: ignore[arg-type]
        self.robot_sends(*registrations(DEVICES))
        self.loop.run(150)

    def wrapped(self, messages: tuple[bytes, ...]) -> bytes:
        return b"".join(map(frame, messages) if self.serial else messages)

    def robot_sends(self, *messages: bytes) -> None:
        self.loop.body.data_received(self.wrapped(messages))
        self.loop.settle()

    def controller_sends(self, *messages: bytes) -> None:
        self.loop.controller.data_received(self.wrapped(messages))
        self.loop.settle()

    @property
    def is_connected(self) -> bool:
        return self.loop.controller.transport is not None

    @property
    def body_is_up(self) -> bool:
        return self.loop.body.transport is not None

    def on_the_wire(self, connection: Wire) -> list[bytes]:
        if not self.serial:
            return connection.messages()
        return FrameReader().feed(connection.data())

    @precondition(lambda self: not self.is_connected)
    @rule()
    def controller_connects(self) -> None:
        self.loop.controller_comes()
        self.controller_sends(wire.bare(wire.ENABLE_SENSOR, DISTANCE, 0))

    @precondition(lambda self: self.is_connected and self.body_is_up)
    @rule(index=st.sampled_from(sorted(KIND)), value=VALUES)
    def sets_one_value(self, index: int, value: float) -> None:
        self.controller_sends(wire.value(wire.SET_VALUE, KIND[index], index, value))

    @precondition(lambda self: self.is_connected and self.body_is_up)
    @rule(index=st.sampled_from(sorted(KIND)), values=st.tuples(VALUES, VALUES, VALUES, VALUES))
    def sets_all_values(self, index: int, values: tuple[float, ...]) -> None:
        message = struct.pack("<BBBdddd", wire.SET_SENSOR, KIND[index], index, *values)
        self.controller_sends(message)

    @precondition(lambda self: self.is_connected and self.body_is_up)
    @rule(index=st.sampled_from([4, 5, 6]))
    def runs_a_linear_motor_by_velocity(self, index: int) -> None:
        self.controller_sends(
            wire.value(wire.SET_VALUE, LINEAR, index, math.inf),
            struct.pack("<BBBdddd", wire.SET_SENSOR, LINEAR, index, math.inf, 1.0, -1.0, 5.0),
        )

    @precondition(lambda self: self.body_is_up)
    @rule(index=st.sampled_from([4, 5, 6]), position=st.floats(-5, 5))
    def robot_reports_a_position(self, index: int, position: float) -> None:
        self.robot_sends(wire.value(wire.SENSOR_DATA, LINEAR, index, position))

    @rule(milliseconds=st.sampled_from([10, 50, 400, 700]))
    def time_passes(self, milliseconds: int) -> None:
        self.loop.run(milliseconds)
        self.loop.settle()

    @precondition(lambda self: self.is_connected)
    @rule(how=st.sampled_from(["leaves", "garbage", "late", "fault"]))
    def controller_is_gone(self, how: str) -> None:
        if how == "leaves":
            self.loop.controller_leaves()
        elif how == "garbage":
            self.controller_sends(b"\x05\x05")
        elif how == "late":
            self.loop.scheduler.time += 1_200 * MS
            self.controller_sends(set_value(1, 5.0))
        else:
            self.loop.controller.fault(RuntimeError("a defect"))
            self.loop.settle()
        if self.is_connected:  # a line, which is not closed for that
            self.loop.controller_leaves()
        self.loop.run(100)

    # --- what always holds --------------------------------------------------------------------

    @invariant()
    def every_motor_was_stopped(self) -> None:
        if self.loop.safety.moving or not self.body_is_up:
            return
        last = {
            message[2]: message
            for message in self.on_the_wire(self.loop.robot)
            if message[0] in (wire.SET_VALUE, wire.SET_SENSOR) and message[2] in KIND
        }
        for index, message in last.items():
            assert self.stops(index, message), (index, message.hex(" "))

    def stops(self, index: int, message: bytes) -> bool:
        values = struct.unpack(f"<{(len(message) - 3) // 8}d", message[3:])
        if KIND[index] == ROTATIONAL:
            return values == (0.0,)
        if len(values) == 1:
            # Reports that came after the stop do not move the position it holds.
            return values[0] == HOME[index] if index in HOME else math.isfinite(values[0])
        return values[:2] == (math.inf, 0.0)

    @invariant()
    def a_stop_is_reported_only_where_one_was_sent(self) -> None:
        assert len(self.loop.observer.stops) <= self.loop.body.session.counts["stops"]


TestEveryMotorStops = EveryMotorStops.TestCase
TestEveryMotorStops.settings = cases(1.5, stateful_step_count=30)


@pytest.mark.parametrize("position", [math.inf, 0.5])
def test_a_linear_motor_that_cannot_be_stopped_is_not_moved(position: float) -> None:
    loop = FakeLoop(DEVICES, body={"original_peer": True}).connected()
    loop.pilot.written.clear()
    loop.controller.data_received(wire.value(wire.SET_VALUE, LINEAR, 5, position))
    assert loop.robot.data() == b""
    assert loop.pilot.messages() == [wire.bare(wire.ERROR, LINEAR, 5)]
    assert loop.loop.report()["refused"] == {"no_stop": 1}
    loop.controller_leaves()
    assert loop.observer.stops == [] and loop.robot.data() == b""


@pytest.mark.parametrize(
    ("has_watchdog", "speed", "outcome"),
    [
        (False, 5.0, "drives on at left 5 rad/s"),
        (True, 5.0, "has to stop its motors itself"),
        (False, 0.0, "at rest"),
    ],
)
def test_a_robot_that_is_gone_is_not_reported_as_stopped(
    has_watchdog: bool, speed: float, outcome: str
) -> None:
    loop = FakeLoop(has_watchdog=has_watchdog).connected()
    loop.controller.data_received(set_value(1, speed))
    loop.robot_leaves()
    assert loop.safety.stops == {"body": 1} and loop.observer.stops == []
    (notice,) = loop.observer.notices
    assert notice.startswith("safety stop: the body is gone, ") and notice.endswith(outcome)
    assert loop.statistics.past_motors == {"left": {"velocity": speed}}  # as last sent


def test_a_stop_that_the_connection_does_not_take_is_not_reported_as_stopped_motors() -> None:
    loop = FakeLoop().connected()
    loop.controller.data_received(set_value(1, 5.0))
    loop.robot.full = True
    loop.controller_leaves()
    assert loop.safety.stops == {"disconnected": 1} and loop.observer.stops == []
    assert loop.observer.notices == ["safety stop: the controller disconnected"]


def test_an_emergency_stop_covers_every_motor_from_its_first_command_on() -> None:
    """A hang may begin before the watchdog prepares the stop again."""
    loop = FakeLoop(DEVICES).connected()
    halt = struct.pack("<BBBdddd", wire.SET_SENSOR, LINEAR, 5, math.inf, 0.0, -1.0, 10.0)
    for _ in range(2):  # for the next controller, too
        with mock.patch.object(loop.loop.safety.emergency_stop, "prepare") as prepare:
            loop.controller.data_received(set_value(1, 5.0))
            loop.controller.data_received(wire.value(wire.SET_VALUE, LINEAR, 5, math.inf))
            assert halt in prepare.call_args.args[0]
        loop.controller_leaves()
        loop.controller_comes()
        loop.body.session.open(0)  # a session of its own, as after a reconnection
        loop.body.data_received(b"".join(registrations(DEVICES)))


MOTORS = (1, 2)
SPEEDS = st.floats(-100, 100).filter(lambda speed: speed != 0)
NOT_FINITE = [set_value(1, bad) for bad in (math.nan, math.inf, -math.inf)]  # stop the motor
REFUSED = st.one_of(
    st.sampled_from(NOT_FINITE),
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
        self.seen = 0
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
        self.seen = 0
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
        before = len(self.loop.robot.messages())
        self.send_bytes(b"".join(orders), cuts)
        stops = [order for order in orders if order in NOT_FINITE]
        sent = self.loop.robot.messages()[before:]
        assert sent == [set_value(1, 0.0)] * len(sent) and len(sent) <= len(stops)
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
    def nothing_stops_twice_at_once(self) -> None:
        messages = self.loop.robot.messages()
        stop = b"".join(set_value(motor, 0.0) for motor in MOTORS)
        assert stop + stop not in b"".join(messages[self.seen :])
        self.seen = len(messages)


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = cases(1, stateful_step_count=30)
