"""Bodies that are real robots, on their mocks: whatever a controller sends, a robot that is there
and that no controller moves stands still."""

import math
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from firmware_mocks import create2, dynamixel, epuck, feetech, gcode_machine, khepera
from firmware_mocks.wc2ec import wire
from hilgw.bodies.create2 import BODY as CREATE2, Create2Settings
from hilgw.bodies.dynamixel import BODY as DYNAMIXEL, DynamixelSettings
from hilgw.bodies.epuck import BODY as EPUCK, EPuckSettings
from hilgw.bodies.feetech import BODY as FEETECH, FeetechSettings
from hilgw.bodies.text import BODY as TEXT
from hilgw.bodies.text.settings import Line, Motion, Request, TextBodySettings, TextMotor
from hilgw.devices.kinds import MOTOR, MotorLimits
from hilgw.plugins import new_air
from hilgw.protocols.text.steps import Step
from tests.cases import cases
from tests.e2e.control_loop_peers import ROTATIONAL
from tests.engine.control_loop.fakes import MS, FakeLoop, Wire

VALUES = st.one_of(st.floats(-10, 10), st.sampled_from([math.inf, -math.inf, math.nan, 0.0, -1.0]))


class Robot(NamedTuple):
    """moves: whether a motor of the mock has to move. upsets: what may happen to the mock."""

    session: Callable[[], Any]
    mock: Callable[[], Any]
    moves: Callable[[Any], bool]
    upsets: list[tuple[str, str]]


KHEPERA = TextBodySettings(
    port="/dev/x",
    setup=(Step(send="B", expect="b,(?P<identity>.*)", timeout_s=0.1),),
    motors={name: TextMotor(scale=3053) for name in ("left", "right")},
    commands=(Motion(send="D,l{left},l{right}", expect="d", timeout_s=0.1),),
    stop=(Line(send="D,l0,l0", expect="d", timeout_s=0.1),),
    requests=(Request(send="R", expect="r,.*", timeout_s=0.1),),
    limits={"left": MotorLimits(rate=5.0)},
    failed="z,.*",
)
AXES = TextBodySettings(  # rotational, for this controller; position control all the same
    port="/dev/x",
    line_end="\n",
    setup=(
        Step(send="$I", expect=".*VER:(?P<identity>.*)", timeout_s=0.1),
        Step(expect="ok", timeout_s=0.1),
    ),
    motors={name: TextMotor(mode="position", scale=10, text=f" {name}{{}}") for name in "XY"},
    commands=(
        Motion(
            send="\x85$J=G90 G21{X}{Y} F{velocity}",
            expect="ok",
            timeout_s=0.1,
            velocity_scale=600,
            velocity_decimals=3,
        ),
    ),
    stop=(Line(send="\x85", realtime=True),),
    requests=(Request(send="?", realtime=True, expect="<.*>", timeout_s=0.1),),
    failed="error:.*",
    restarted="Grbl .*|ALARM.*",
)
ROBOTS: dict[str, Robot] = {  # a kind, and after a - what is special
    "create2": Robot(
        lambda: CREATE2.session(
            Create2Settings(port="/dev/x", limits={"left wheel motor": MotorLimits(rate=5.0)}),
            "R2020a",
        ),
        lambda: create2.create("robot", new_air(), {}),
        lambda mock: mock.drive != (0, 0),
        [("wheel_drop", "both"), ("wheel_drop", "none"), ("cliff", "left"), ("cliff", "none")],
    ),
    "dynamixel": Robot(
        lambda: DYNAMIXEL.session(
            DynamixelSettings(
                port="/dev/x",
                baudRate=115200,
                limits={"left wheel motor": MotorLimits(rate=5.0)},
            ),
            "R2020a",
        ),
        lambda: dynamixel.create("robot", new_air(), {"baud_rate": 115200}),
        lambda mock: any(servo.moves for servo in mock.servos.values()),
        [("echo", "yes"), ("echo", "no"), ("temperature", "60"), ("temperature", "31")],
    ),
    "feetech": Robot(
        lambda: FEETECH.session(
            FeetechSettings(
                port="/dev/x",
                baudRate=115200,
                limits={"left wheel motor": MotorLimits(rate=5.0)},
            ),
            "R2020a",
        ),
        lambda: feetech.create("robot", new_air(), {"baud_rate": 115200}),
        lambda mock: any(servo.moves for servo in mock.servos.values()),
        [("echo", "yes"), ("echo", "no"), ("registers", "1:48:0"), ("registers", "1:48:255")],
    ),
    "epuck": Robot(
        lambda: EPUCK.session(
            EPuckSettings(
                port="/dev/x",
                always_on=("ps0",),
                limits={"left wheel motor": MotorLimits(rate=5.0)},
            ),
            "R2020a",
        ),
        lambda: epuck.create("robot", new_air(), {}),
        lambda mock: mock.speeds != (0, 0),
        [("echo", "yes"), ("echo", "no"), ("delay_ms", "40"), ("delay_ms", "1")],
    ),
    "text": Robot(
        lambda: TEXT.session(KHEPERA, "R2020a"),
        lambda: khepera.create("robot", new_air(), {}),
        lambda mock: mock.speed != (0, 0),
        [("answer_ms", "1"), ("answer_ms", "90"), ("answer_ms", "150"), ("width", "2")],
    ),
    "text-position": Robot(
        lambda: TEXT.session(AXES, "R2020a"),
        lambda: gcode_machine.create("robot", new_air(), {}),
        lambda mock: mock.state in ("Run", "Jog"),
        [("max_rate", "100"), ("max_rate", "5000"), ("travel", "300, 300, 9")],
    ),
}


class EveryRobotStops(RuleBasedStateMachine):
    """One kind of robot; a controller that sends any command, and a line that is cut."""

    kind = ""

    @initialize(timeout_s=st.sampled_from([0.0, 0.3]))
    def begin(self, timeout_s: float) -> None:
        robot = ROBOTS[self.kind]
        self.cut = False
        self.taken = 0
        self.loop = FakeLoop(session=robot.session(), command_timeout_s=timeout_s, late_s=1.0)
        self.mock = robot.mock()
        self.mock.reset(self.loop.scheduler.time)
        self.attach()
        self.run_for(500)
        assert self.is_up
        devices = self.loop.body.session.devices
        self.motors = [device.index for device in devices if device.role == MOTOR]

    def attach(self) -> None:
        self.loop.robot = Wire()
        self.taken = 0
        self.loop.body.attach(self.loop.robot)  # type: ignore[arg-type]

    @property
    def is_up(self) -> bool:
        return self.loop.loop.modes.states() == {"body": "up"}

    @property
    def is_connected(self) -> bool:
        return self.loop.controller.transport is not None

    def carry(self) -> None:
        """The line carries what both ends have written."""
        now = self.loop.scheduler.time
        data = self.loop.robot.data()
        fresh, self.taken = data[self.taken :], len(data)
        if fresh and not self.cut:
            self.mock.receive(fresh, now)
        self.mock.advance(now)
        while data := self.mock.take(now):
            if not self.cut and self.loop.body.transport is not None:
                self.loop.body.data_received(data)

    def run_for(self, milliseconds: int) -> None:
        self.carry()
        for _ in range(milliseconds // 2):
            self.loop.scheduler.run(2 * MS)
            self.loop.watchdog.check(self.loop.scheduler.time)
            self.carry()
        self.loop.settle()

    def send(self, *messages: bytes) -> None:
        self.loop.controller.data_received(b"".join(messages))
        self.loop.settle()
        self.carry()

    # --- what happens -------------------------------------------------------------------------

    @precondition(lambda self: not self.is_connected)
    @rule()
    def controller_connects(self) -> None:
        self.loop.controller_comes()

    @precondition(lambda self: self.is_connected)
    @rule(place=st.integers(0, 1), value=VALUES)
    def sets_a_velocity(self, place: int, value: float) -> None:
        self.send(wire.value(wire.SET_VALUE, ROTATIONAL, self.motors[place], value))

    @precondition(lambda self: self.is_connected)
    @rule(
        place=st.integers(0, 1),
        position=st.one_of(VALUES, st.just(math.inf)),
        values=st.tuples(VALUES, st.sampled_from([-1.0, 1.0, math.nan]), st.floats(0, 10)),
    )
    def sets_everything(
        self, place: int, position: float, values: tuple[float, float, float]
    ) -> None:
        head = (wire.SET_SENSOR, ROTATIONAL, self.motors[place])
        self.send(struct.pack("<BBBdddd", *head, position, *values))

    @rule(milliseconds=st.sampled_from([10, 50, 400, 1_300]))
    def time_passes(self, milliseconds: int) -> None:
        self.run_for(milliseconds)

    @rule()
    def the_line_is_cut_or_whole_again(self) -> None:
        self.cut = not self.cut

    @rule(data=st.binary(min_size=1, max_size=40))
    def noise_comes(self, data: bytes) -> None:
        if self.loop.body.transport is not None:
            self.loop.body.data_received(data)
            self.loop.settle()

    @rule(choice=st.integers(0, 99))
    def the_robot_is_upset(self, choice: int) -> None:
        upsets = ROBOTS[self.kind].upsets
        self.mock.set(*upsets[choice % len(upsets)])

    @rule()
    def the_port_is_opened_again(self) -> None:
        if self.loop.body.transport is not None:
            self.loop.robot_leaves()
        self.attach()
        self.carry()

    @precondition(lambda self: self.is_connected)
    @rule(how=st.sampled_from(["leaves", "garbage", "late", "fault"]))
    def controller_is_gone(self, how: str) -> None:
        if how == "leaves":
            self.loop.controller_leaves()
        elif how == "garbage":
            self.send(b"\x05\x05")
        elif how == "late":
            self.loop.scheduler.time += 1_200 * MS
            self.send(wire.value(wire.SET_VALUE, ROTATIONAL, self.motors[0], 5.0))
        else:
            self.loop.controller.fault(RuntimeError("a defect"))
            self.loop.settle()
        self.run_for(100)

    # --- what always holds --------------------------------------------------------------------

    @invariant()
    def a_robot_that_is_not_moved_stands_still(self) -> None:
        if self.cut or not self.is_up or self.loop.safety.moving:
            return
        self.run_for(60)  # a stop is repeated when the line is free
        assert (
            self.loop.safety.moving or not self.is_up or not ROBOTS[self.kind].moves(self.mock)
        ), self.mock.describe()

    @invariant()
    def a_stop_is_reported_only_where_one_was_sent(self) -> None:
        assert len(self.loop.observer.stops) <= self.loop.body.session.counts["stops"]


@pytest.mark.parametrize("kind", ROBOTS)
def test_every_robot_stops(kind: str) -> None:
    machine = type(f"Every_{kind}_stops", (EveryRobotStops,), {"kind": kind})
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(machine, settings=cases(1, stateful_step_count=25))


@pytest.mark.parametrize("kind", ROBOTS)
def test_the_robot_moves_while_it_is_commanded(kind: str) -> None:
    """What the machine above watches is not always still."""
    machine = type(f"Moving_{kind}", (EveryRobotStops,), {"kind": kind})()
    machine.begin(0.0)
    machine.controller_connects()
    machine.run_for(300)
    position = 9.0 if kind.endswith("-position") else math.inf
    machine.sets_everything(0, position, (3.0, -1.0, 1.0))
    machine.run_for(50)
    assert ROBOTS[kind].moves(machine.mock)
    machine.controller_is_gone("leaves")
    assert not ROBOTS[kind].moves(machine.mock)
    assert machine.loop.observer.stops == [("disconnected", "the controller disconnected")]
