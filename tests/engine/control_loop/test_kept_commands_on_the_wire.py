"""A controller that is stepped commands a motor once, as in Webots: its robot receives the command
again as long as the controller steps. Asked of the bytes and the motion of the mock."""

import json
import math
import struct
from pathlib import Path
from typing import Any

import pytest
import yaml

from firmware_mocks.wc2ec import cobs, wire
from hilgw.control.events import Command, MotorCommand, MotorSettings, StepRequest, StopReason
from hilgw.devices.kinds import MotorLimits
from tests.bodies.bench import CONFIGS
from tests.engine.control_loop.fakes import TYPES
from tests.engine.control_loop.on_mocks import OnMock, declared, kinds
from tests.engine.control_loop.test_webots_controllers import Running

GO, SLOW = 3.0, 0.5  # rad/s
LATEST = wire.types_of("R2025a")


def stepped(kind: str, settings: Any = None, **safety: Any) -> OnMock:
    return OnMock(kind, settings, step_ms=32, **safety).start()


def messages(robot: OnMock) -> list[bytes]:
    """What the robot of WC2EC was sent since the last call."""
    robot.step()
    data = bytes(robot.written)
    robot.written.clear()
    whole = wire.whole_messages(data, LATEST, extended=True)
    assert whole is not None, data.hex(" ")
    return whole


def velocity(index: int, value: float) -> bytes:
    return wire.value(wire.SET_VALUE, LATEST.rotational_motor, index, value)


def adds_up(robot: OnMock) -> dict[str, int]:
    """Every command of the controller has one outcome."""
    report = robot.loop.loop.report()
    refused = sum(report["refused"].values())
    lost = report.get("commands_superseded", 0) + report.get("commands_dropped", 0)
    assert report["commands_in"] == report["commands_out"] + lost + refused
    return dict(report)


def wheels(robot: OnMock) -> list[int]:
    return [each.index for each in robot.motors if each.kind == "RotationalMotor"]


def test_commands_reach_the_robot_again_while_the_controller_steps_and_count_once() -> None:
    robot = stepped("wc2ec")
    left, right = wheels(robot)[:2]
    both = [velocity(left, GO), velocity(right, GO)]
    robot.sends(*(MotorCommand(each, "velocity", GO) for each in (left, right)), StepRequest(32))
    robot.run(32)
    assert messages(robot) == both
    robot.steps(10)
    assert messages(robot) == both * 2  # not more often than each 100 ms
    assert adds_up(robot)["commands_out"] == 2
    robot.run(1_000)  # a controller that freezes asks for no step
    assert messages(robot) == []


def test_nothing_is_sent_again_after_a_stop_and_later_only_what_came_since() -> None:
    robot = stepped("wc2ec")
    left, right = wheels(robot)[:2]
    robot.sends(*(MotorCommand(each, "velocity", GO) for each in (left, right)), StepRequest(32))
    robot.run(32)
    robot.loop.loop.safety.stop(StopReason.LATE, robot.loop.scheduler.now())
    robot.run(100)
    messages(robot)
    robot.steps(10)
    assert messages(robot) == [] and not robot.moves
    robot.sends(MotorCommand(right, "velocity", GO))
    robot.steps(11)
    assert set(messages(robot)) == {velocity(right, GO)}
    adds_up(robot)


def test_a_motor_that_a_refusal_stopped_stays_and_the_other_goes_on() -> None:
    robot = stepped("wc2ec", simulated=False, armed=True, command_timeout_s=0)
    left, right = wheels(robot)[:2]
    robot.sends(*(MotorCommand(each, "velocity", GO) for each in (left, right)))
    robot.steps(1)
    robot.sends(MotorCommand(left, "velocity", math.nan))
    robot.steps(1)
    messages(robot)
    robot.steps(10)
    assert set(messages(robot)) == {velocity(right, GO)}
    robot.sends(MotorCommand(left, "velocity", SLOW))
    messages(robot)
    robot.steps(10)
    assert set(messages(robot)) == {velocity(right, GO), velocity(left, SLOW)}
    adds_up(robot)


def test_a_command_of_another_mode_takes_the_place_of_those_before() -> None:
    """Oldest set first: what comes again leaves the motor as the newest command has it."""
    robot = stepped("webots")
    left = wheels(robot)[0]
    motor = robot.mock.world.robots["robot"].robot.body.motors[0]
    settings = MotorSettings(left, math.inf, 2.0, -1.0, 10.0)
    robot.sends(settings)
    robot.steps(20)
    assert motor.velocity == 2.0
    robot.sends(MotorCommand(left, "torque", 0.5))
    velocities = []
    for _ in range(20):
        robot.steps(1)
        velocities.append(motor.velocity)
    assert velocities == sorted(velocities) and velocities[-1] > 2.2  # it accelerates all the time
    robot.sends(MotorCommand(left, "position", math.inf), MotorCommand(left, "velocity", 1.0))
    robot.steps(4)
    motor.force = 0.25  # no torque comes any more that would overwrite it
    robot.steps(20)
    assert (motor.velocity, motor.force) == (1.0, 0.25)
    robot.sends(MotorCommand(left, "torque", 0.5))
    robot.sends(settings)
    robot.steps(20)
    assert motor.velocity == 2.0
    adds_up(robot)


@pytest.mark.parametrize("kind", kinds())
def test_a_stop_ends_what_is_sent_again_on_every_robot(kind: str) -> None:
    robot = stepped(kind)
    robot.sends(*(command_to(robot, each.index) for each in robot.motors))
    robot.steps(8)
    assert robot.moves, "it moves while its controller steps"
    robot.loop.loop.safety.stop(StopReason.SILENCE, robot.loop.scheduler.now())
    robot.run(50)
    robot.steps(30)
    assert not robot.moves
    adds_up(robot)


def command_to(robot: OnMock, index: int) -> Command:
    device = next(each for each in robot.motors if each.index == index)
    return robot.subject.motion(device)


ROBOTS = ("create2", "dynamixel", "epuck", "feetech", "text", "wc2ec")
LARGEST = 3.0  # rad/s, of the motor that the tests move
INF, NAN = math.inf, math.nan
KEPT = (INF, 2.0, -1.0, 10.0)  # settings of a motor under velocity control


def of_motor(kind: str) -> dict[str, Any]:
    """The settings of the body: the limits of the motor that moves. A WC2EC robot of the original
    program cannot be given a position; nothing stops it but hilgw."""
    if kind != "wc2ec":
        return {"limits": {"left wheel motor": {"max_velocity": LARGEST}}}
    mock = {"watchdog_ms": 0, "webots": "R2025a"}
    return {
        "limits": {"left_wheel": {"max_velocity": LARGEST}},
        "original_peer": True,
        "mock": mock,
    }


class Wc2ecPilot:
    """The robot on its mock, under a WC2EC controller on TCP, or on a serial line."""

    def __init__(self, kind: str, *, serial: bool = False, **safety: Any) -> None:
        made = of_motor(kind)
        made["limits"] = {name: MotorLimits(**each) for name, each in made["limits"].items()}
        made.get("mock", {}).pop("webots", None)  # the version of this test
        settings = declared(kind).settings_with(**made)
        given = {"simulated": False, "armed": True, "command_timeout_s": 0, "late_s": 1.0, **safety}
        self.robot = OnMock(kind, settings, serial=serial, **given).start()
        names = (next(iter(made["limits"])),)
        (self.motor,) = (each for each in self.robot.motors if each.name in names)
        self._serial = serial
        self.send_velocity(2.0)
        assert self.robot.moves

    def send(self, message: bytes) -> None:
        data = cobs.frame(message) if self._serial else message
        self.robot.loop.controller.data_received(data)
        self.robot.run(150)

    def send_velocity(self, value: float) -> None:
        index = self.motor.index
        self.send(wire.value(wire.SET_VALUE, TYPES.rotational_motor, index, value))

    def send_settings(self, *values: float) -> None:
        head = bytes((wire.SET_SENSOR, TYPES.rotational_motor, self.motor.index))
        self.send(head + struct.pack("<4d", *values))


@pytest.mark.parametrize(
    ("kind", "serial"), [*((kind, False) for kind in ROBOTS), ("create2", True), ("wc2ec", True)]
)
@pytest.mark.parametrize(
    "values",
    [(NAN,), (INF,), (-INF,), (LARGEST + 1,), (NAN, *KEPT[1:]), (-INF, *KEPT[1:]),
     (INF, NAN, *KEPT[2:]), (INF, LARGEST + 1, *KEPT[2:]), (1.0, *KEPT[1:])],
    ids=str,
)  # fmt: skip
def test_a_refused_velocity_or_settings_over_wc2ec_stop_the_motor(
    kind: str, serial: bool, values: tuple[float, ...]
) -> None:
    if kind in ("dynamixel", "feetech") and values[0] == 1.0:  # it has position control
        values = (1.0, LARGEST + 1, *KEPT[2:])
    bench = Wc2ecPilot(kind, serial=serial)
    send = bench.send_velocity if len(values) == 1 else bench.send_settings
    for _ in range(2):
        send(*values)
        assert not bench.robot.moves
    report = bench.robot.loop.loop.report()
    assert report["motor_stops"] == 1 and report["armed"] and not report["stops"]
    bench.send_velocity(1.0)
    assert bench.robot.moves


@pytest.mark.parametrize("kind", sorted({*ROBOTS} - {"dynamixel", "feetech"}))
def test_settings_without_torque_stop_the_motor_of_a_robot_that_lacks_it(kind: str) -> None:
    bench = Wc2ecPilot(kind)
    bench.send_settings(INF, 2.0, -1.0, 0.0)
    assert not bench.robot.moves
    bench.send_velocity(2.0)
    assert not bench.robot.moves
    counts = bench.robot.loop.body.session.counts
    assert counts["dropped_available"] == 1 and not bench.robot.loop.loop.report()["refused"]
    bench.send_settings(*KEPT)
    assert bench.robot.moves and counts["dropped_available"] == 2


@pytest.mark.parametrize("kind", ROBOTS)
def test_what_is_not_for_a_motor_stops_none(kind: str) -> None:
    bench = Wc2ecPilot(kind)
    sensor = next(each for each in bench.robot.loop.body.session.devices if each.role == "sensor")
    for index in (sensor.index, 250):
        bench.send(wire.value(wire.SET_VALUE, TYPES.rotational_motor, index, NAN))
        bench.send(wire.value(wire.SET_SENSOR, TYPES.distance_sensor, index, NAN))
    refused = bench.robot.loop.loop.report()["refused"]
    assert sum(refused.values()) >= 3 and bench.robot.moves


def test_a_real_motor_whose_robot_refuses_a_command_stops() -> None:
    """Error (127) of the robot."""
    bench = Wc2ecPilot("wc2ec")
    error = wire.bare(wire.ERROR, TYPES.rotational_motor, bench.motor.index)
    bench.robot.loop.body.data_received(error)
    bench.robot.run(100)
    assert not bench.robot.moves


# --- the protocol of Webots' controllers ----------------------------------------------------------

POSITION, VELOCITY, FORCE, ACCELERATION = 1, 2, 4, 6
WEBOTS = """
version: 1
backend: loopback
medium: {{step_ms: 32}}
robots:
  rover:
    controller: {{kind: webots, listen: "tcp://127.0.0.1:0", mock: {{script: "step 32 x 0"}}}}
    safety: {{armed: true, command_timeout_s: 0, late_s: 1.0, latch: true}}
    body: {body}
"""


class WebotsPilot:
    """The robot on its mock, under a Webots controller that steps."""

    def __init__(self, running: Running, kind: str, name: str) -> None:
        self.running = running
        self._subject = declared(kind)
        self._mock = running.mock("rover" if kind == "wc2ec" else "rover.body")
        self._name = name
        running.until(lambda: running.controller.library.find(name) is not None, "the devices")
        self.send((POSITION, INF), (VELOCITY, 2.0))
        running.until(lambda: self.moves, "the motor moves")

    @property
    def moves(self) -> bool:
        return self._subject.moves(self._mock)

    def send(self, *settings: tuple[int, float]) -> None:
        """With the next step; then what the robot needs to obey."""
        for number, value in settings:
            motor = self.running.controller.library.find(self._name)
            motor.set(number, struct.pack("<d", value))
        self.running.loop.advance(0.3)


def webots(folder: Path, kind: str, *, simulated: bool = False) -> tuple[Running, str]:
    body: dict[str, Any] = {"kind": kind, "port": "/dev/x"}
    if kind == "wc2ec":
        body = {"kind": kind, "connect": "tcp://127.0.0.1:1"}
    elif kind == "text":
        file = yaml.safe_load((CONFIGS / "khepera.yaml").read_text())
        body = file["robots"]["khepera"]["body"]
    body |= {**of_motor(kind), "simulated": simulated}
    text = WEBOTS.format(body=json.dumps(body))
    return Running(folder, text=text), next(iter(body["limits"]))


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ROBOTS)
@pytest.mark.parametrize(
    "settings",
    [[(VELOCITY, NAN)], [(VELOCITY, INF)], [(VELOCITY, -INF)],
     [(POSITION, NAN)], [(POSITION, -INF)], [(FORCE, NAN)], [(FORCE, 1.0)],
     [(POSITION, INF), (VELOCITY, NAN)], [(POSITION, NAN), (VELOCITY, 2.0)],
     [(VELOCITY, NAN), (ACCELERATION, 1.0)]],
    ids=str,
)  # fmt: skip
def test_a_refused_request_of_a_webots_controller_stops_the_motor(
    tmp_path: Path, kind: str, settings: list[tuple[int, float]]
) -> None:
    running, name = webots(tmp_path, kind)
    with running:
        bench = WebotsPilot(running, kind, name)
        for _ in range(3):
            bench.send(*settings)
            assert not bench.moves
        bench.send((ACCELERATION, 2.0))  # alone it moves nothing
        assert not bench.moves
        bench.send((POSITION, INF), (VELOCITY, 1.0))
        assert bench.moves


@pytest.mark.parametrize("kind", ROBOTS)
def test_refused_accelerations_of_a_webots_controller_stop_none(tmp_path: Path, kind: str) -> None:
    running, name = webots(tmp_path, kind)
    with running:
        bench = WebotsPilot(running, kind, name)
        bench.send((ACCELERATION, NAN))
        assert bench.moves


def test_a_simulated_robot_goes_on_at_nan(tmp_path: Path) -> None:
    running, name = webots(tmp_path, "create2", simulated=True)
    with running:
        bench = WebotsPilot(running, "create2", name)
        bench.send((VELOCITY, NAN))
        assert bench.moves
        bench.send((POSITION, INF), (VELOCITY, NAN), (ACCELERATION, 1.0))
        assert bench.moves
        assert running.report()["refused"]["nan"] == 2 and "motor_stops" not in running.report()
