"""Bodies that are real robots, on their mocks: whatever a controller sends, a robot that is there
and that no controller moves stands still."""

import math
import struct

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from firmware_mocks.wc2ec import wire
from hilgw.devices.kinds import LINEAR_MOTOR, MotorLimits
from tests.cases import cases
from tests.engine.control_loop.fakes import MS, TYPES, Wire
from tests.engine.control_loop.on_mocks import AXES, OnMock, declared, kinds

VALUES = st.one_of(st.floats(-10, 10), st.sampled_from([math.inf, -math.inf, math.nan, 0.0, -1.0]))
# wc2ec has the machine of test_every_motor_stops.py, webots that of test_webots.py.
KINDS = [*sorted({*kinds()} - {"wc2ec", "webots"}), AXES]
UPSETS: dict[str, list[tuple[str, str]]] = {  # what may happen to the mock
    "create2": [
        ("wheel_drop", "both"),
        ("wheel_drop", "none"),
        ("cliff", "left"),
        ("cliff", "none"),
    ],
    "dynamixel": [("echo", "yes"), ("echo", "no"), ("temperature", "60"), ("temperature", "31")],
    "feetech": [
        ("echo", "yes"),
        ("echo", "no"),
        ("registers", "1:48:0"),
        ("registers", "1:48:255"),
    ],
    "epuck": [("echo", "yes"), ("echo", "no"), ("delay_ms", "40"), ("delay_ms", "1")],
    "text": [("answer_ms", "1"), ("answer_ms", "90"), ("answer_ms", "150"), ("width", "2")],
    AXES: [("max_rate", "100"), ("max_rate", "5000"), ("travel", "300, 300, 9")],
}


class EveryRobotStops(RuleBasedStateMachine):
    """One kind of robot; a controller that sends any command, and a line that is cut."""

    kind = ""

    @initialize(timeout_s=st.sampled_from([0.0, 0.3]))
    def begin(self, timeout_s: float) -> None:
        limits = {} if self.kind == AXES else {"left wheel motor": MotorLimits(rate=5.0)}
        settings = declared(self.kind).settings_with(limits=limits)
        self.robot = OnMock(self.kind, settings, command_timeout_s=timeout_s, late_s=1.0).start()
        self.loop = self.robot.loop
        self.loop.controller_leaves()
        self.motors = self.robot.motors

    @property
    def is_connected(self) -> bool:
        return self.loop.controller.transport is not None

    def send(self, *messages: bytes) -> None:
        self.loop.controller.data_received(b"".join(messages))
        self.loop.settle()
        self.robot.step()

    @precondition(lambda self: not self.is_connected)
    @rule()
    def controller_connects(self) -> None:
        self.loop.controller_comes()

    @precondition(lambda self: self.is_connected)
    @rule(place=st.integers(0, 1), value=VALUES)
    def sets_a_value(self, place: int, value: float) -> None:
        motor = self.motors[place]
        if motor.kind == LINEAR_MOTOR:
            self.send(wire.value(wire.SET_VALUE, TYPES.linear_motor, motor.index, value / 50))
        else:
            self.send(wire.value(wire.SET_VALUE, TYPES.rotational_motor, motor.index, value))

    @precondition(lambda self: self.is_connected)
    @rule(
        place=st.integers(0, 1),
        position=st.one_of(VALUES, st.just(math.inf)),
        values=st.tuples(VALUES, st.sampled_from([-1.0, 1.0, math.nan]), st.floats(0, 10)),
    )
    def sets_everything(
        self, place: int, position: float, values: tuple[float, float, float]
    ) -> None:
        motor = self.motors[place]
        is_linear = motor.kind == LINEAR_MOTOR
        number = TYPES.linear_motor if is_linear else TYPES.rotational_motor
        head = (wire.SET_SENSOR, number, motor.index)
        self.send(struct.pack("<BBBdddd", *head, position / 50 if is_linear else position, *values))

    @rule(milliseconds=st.sampled_from([10, 50, 400, 1_300]))
    def time_passes(self, milliseconds: int) -> None:
        self.robot.run(milliseconds)

    @rule()
    def the_line_is_cut_or_whole_again(self) -> None:
        self.robot.cut = not self.robot.cut

    @rule(data=st.binary(min_size=1, max_size=40))
    def noise_comes(self, data: bytes) -> None:
        if self.loop.body.transport is not None:
            self.loop.body.data_received(data)
            self.loop.settle()

    @rule(choice=st.integers(0, 99))
    def the_robot_is_upset(self, choice: int) -> None:
        if upsets := UPSETS.get(self.kind):
            self.robot.mock.set(*upsets[choice % len(upsets)])

    @rule()
    def the_port_is_opened_again(self) -> None:
        if self.loop.body.transport is not None:
            self.loop.robot_leaves()
        self.loop.robot = Wire()
        self.loop.body.attach(self.loop.robot)  # type: ignore[arg-type]
        self.robot.step()

    @precondition(lambda self: self.is_connected)
    @rule(how=st.sampled_from(["leaves", "garbage", "late", "fault"]))
    def controller_is_gone(self, how: str) -> None:
        if how == "leaves":
            self.loop.controller_leaves()
        elif how == "garbage":
            self.send(b"\x05\x05")
        elif how == "late":
            self.loop.scheduler.time += 1_200 * MS
            self.robot.command(5.0)
            self.loop.settle()
        else:
            self.loop.controller.fault(RuntimeError("a defect"))
            self.loop.settle()
        self.robot.run(100)

    @invariant()
    def a_robot_that_is_not_moved_stands_still(self) -> None:
        if self.robot.cut or not self.robot.is_up or self.loop.safety.moving:
            return
        self.robot.run(60)  # a stop is repeated when the line is free
        stands = self.loop.safety.moving or not self.robot.is_up or not self.robot.moves
        assert stands, self.robot.mock.describe()

    @invariant()
    def a_stop_is_reported_only_where_one_was_sent(self) -> None:
        assert len(self.loop.observer.stops) <= self.loop.body.session.counts["stops"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_robot_stops(kind: str) -> None:
    machine = type(f"Every_{kind}_stops", (EveryRobotStops,), {"kind": kind})
    run_state_machine_as_test(machine, settings=cases(1, stateful_step_count=25))


@pytest.mark.parametrize("kind", KINDS)
def test_the_robot_moves_while_it_is_commanded(kind: str) -> None:
    """What the machine above watches is not always still."""
    machine = type(f"Moving_{kind}", (EveryRobotStops,), {"kind": kind})()
    machine.begin(0.0)
    machine.controller_connects()
    machine.robot.run(300)
    machine.sets_everything(0, 9.0 if kind == AXES else math.inf, (3.0, -1.0, 1.0))
    machine.robot.run(50)
    assert machine.robot.moves
    machine.controller_is_gone("leaves")
    assert not machine.robot.moves
    assert machine.loop.observer.stops == [("disconnected", "the controller disconnected")]
