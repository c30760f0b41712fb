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

    # --- what happens -------------------------------------------------------------------------

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
    loop = FakeLoop(DEVICES, body={"original_peer": True})
    loop.robot_comes()
    loop.controller_comes()
    loop.pilot.written.clear()
    loop.controller.data_received(wire.value(wire.SET_VALUE, LINEAR, 5, position))
    assert loop.robot.data() == b""
    assert loop.pilot.messages() == [wire.bare(wire.ERROR, LINEAR, 5)]
    assert loop.loop.report()["refused"] == {"no_stop": 1}
    loop.controller_leaves()
    assert loop.observer.stops == [] and loop.robot.data() == b""


def test_a_stop_without_a_body_is_not_reported_as_stopped_motors() -> None:
    loop = FakeLoop()
    loop.robot_comes()
    loop.controller_comes()
    loop.controller.data_received(set_value(1, 5.0))
    loop.robot_leaves()
    assert loop.safety.stops == {"body": 1} and loop.observer.stops == []
    assert loop.observer.notices == ["safety stop: the body is gone, and drives on at left 5 rad/s"]
    assert loop.statistics.past_motors == {"left": {"velocity": 5.0}}  # as last sent


def test_a_lost_robot_with_a_watchdog_stops_itself_and_one_at_rest_rests() -> None:
    loop = FakeLoop(has_watchdog=True)
    loop.robot_comes()
    loop.controller_comes()
    loop.controller.data_received(set_value(1, 5.0))
    loop.robot_leaves()
    assert loop.observer.notices == [
        "safety stop: the body is gone, and has to stop its motors itself"
    ]
    loop = FakeLoop()
    loop.robot_comes()
    loop.controller_comes()
    loop.controller.data_received(set_value(1, 0.0))
    loop.robot_leaves()
    assert loop.observer.notices == ["safety stop: the body is gone, at rest"]


def test_a_stop_that_the_connection_does_not_take_is_not_reported_as_stopped_motors() -> None:
    loop = FakeLoop()
    loop.robot_comes()
    loop.controller_comes()
    loop.controller.data_received(set_value(1, 5.0))
    loop.robot.full = True
    loop.controller_leaves()
    assert loop.safety.stops == {"disconnected": 1} and loop.observer.stops == []
    assert loop.observer.notices == ["safety stop: the controller disconnected"]


def test_an_emergency_stop_covers_every_motor_from_its_first_command_on() -> None:
    """A hang may begin before the watchdog prepares the stop again."""
    loop = FakeLoop(DEVICES)
    loop.robot_comes()
    loop.controller_comes()
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
