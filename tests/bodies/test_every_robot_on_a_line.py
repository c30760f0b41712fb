"""What every robot on a serial line does alike: each on its mock, with its own bytes."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from hilgw.bodies.create2 import oi
from hilgw.bodies.create2.settings import DEFAULT_SENSORS, Create2Sensor
from hilgw.bodies.dynamixel.settings import ServoSettings
from hilgw.bodies.epuck import sercom
from hilgw.bodies.epuck.settings import EPuckSensor
from hilgw.control import events as control
from hilgw.control.safety import Mode
from hilgw.devices.kinds import MotorLimits
from tests.bodies.bench import BodyBench, commanded
from tests.bodies.kinds import CREATE2, DYNAMIXEL, EPUCK, KHEPERA, LEFT, RIGHT, Robot

CREATE2_STOP = 3 * b"\x91\0\0\0\0"
EPUCK_STOP = b"\0\0\0\0\0\nD,0,0\n"


@dataclass(frozen=True)
class Wheeled:
    """A robot with two wheels. speeds: what its mock's wheels do. five: that at 5 rad/s, left.
    stop, emergency: its stop, and the one that ends a command that was cut; ours: a few commands.
    sensor: any. silent: how it is gone."""

    robot: Robot
    speeds: Callable[[Any], tuple[int, int]]
    five: int
    stop: bytes
    emergency: bytes
    ours: bytes
    sensor: str
    silent: str


CREATE = Wheeled(
    CREATE2,
    lambda mock: mock.drive,
    five=155,
    stop=b"\0" + CREATE2_STOP,
    emergency=b"\0" + CREATE2_STOP,
    ours=oi.drive_direct(300, 300) + oi.stream(range(7, 25)) + oi.leds(1, 2, 3),
    sensor="light_bumper_left",
    silent="silent for 0.5 s",
)
E_PUCK = Wheeled(
    EPUCK,
    lambda mock: mock.speeds,
    five=796,
    stop=EPUCK_STOP,
    emergency=EPUCK_STOP,
    ours=sercom.drive(300, 300)
    + sercom.led(3, 1)
    + sercom.ask("aNOQE")
    + sercom.drive_line(300, -300),
    sensor="ps7",
    silent="no valid answer for 0.5 s",
)
THIRD = Wheeled(
    KHEPERA,
    lambda mock: mock.speed,
    five=15265,
    stop=b"D,l0,l0\r",
    emergency=b"\rD,l0,l0\r",
    ours=b"D,l9000,l9000\rN\rK,0,1\rR\r",
    sensor="ds0",
    silent="no answer for 0.5 s",
)
ALL = pytest.mark.parametrize("one", [CREATE, E_PUCK, THIRD], ids=["create2", "epuck", "khepera"])


def moving(one: Wheeled, **settings: Any) -> BodyBench:
    line = one.robot.up(**settings)
    line.command(LEFT, "velocity", 5.0)
    line.run(50)
    assert one.speeds(line.mock) == (one.five, 0)
    return line


# --- the handshake and the end --------------------------------------------------------------------


@ALL
def test_a_robot_that_still_drives_is_stopped_by_the_handshake(one: Wheeled) -> None:
    line = moving(one)
    line.cut = True
    line.session.close()  # the gateway was killed
    line.run(5_000)
    assert one.speeds(line.mock) == (one.five, 0)  # the robot has no watchdog
    line.cut = False
    line.open(5)
    assert one.speeds(line.mock) == (0, 0)


@pytest.mark.parametrize(
    ("one", "texts"),
    [
        (CREATE, {"no answer: is the robot switched on (its light), and baudRate its own?"}),
        (
            E_PUCK,
            {
                "no answer: is the robot switched on, with sercom, and baudRate its own?",
                "no answer to V, only other bytes: is baudRate the robot's own?",
            },
        ),
    ],
    ids=["create2", "epuck"],
)
@pytest.mark.parametrize("mock", [{}, {"baud_rate": 19200}], ids=["off", "another rate"])
def test_a_robot_that_is_off_or_at_another_rate_is_not_there(
    one: Wheeled, texts: set[str], mock: dict[str, Any]
) -> None:
    line = one.robot.bench(mock)
    line.cut = not mock
    line.mock.host_baud = 115200
    line.open(3_500)
    assert not line.found(control.Connected) and not line.found(control.ProtocolFailure)
    assert {event.text for event in line.found(control.Notice)} <= texts
    refused = line.command(LEFT, "velocity", 1.0)
    assert [event.reason for event in refused if isinstance(event, control.Refused)] == ["down"]
    if line.cut:
        line.cut = False
        line.run(2_500)
        assert line.found(control.Connected)


@ALL
def test_a_silent_robot_is_gone_and_the_stop_is_still_written(one: Wheeled) -> None:
    line = moving(one, silence_s=0.5)
    line.cut = True
    line.run(400)
    assert not line.found(control.Disconnected)
    line.run(300)
    assert line.found(control.Disconnected) == [control.Disconnected(one.silent)]
    line.written.clear()
    line.handle(line.session.stop(control.StopReason.BODY, line.now).events)
    assert bytes(line.written).endswith(one.stop)
    line.cut = False
    line.run(3_000)
    assert len(line.found(control.Connected)) == 1 and one.speeds(line.mock) == (0, 0)


# --- motors and sensors ---------------------------------------------------------------------------


@ALL
def test_velocity_control_alone_moves_nothing(one: Wheeled) -> None:
    line = one.robot.up()
    assert line.command(LEFT, "position", math.inf) == []
    line.run(100)
    assert one.speeds(line.mock) == (0, 0)


@ALL
@pytest.mark.parametrize("field", ["position", "torque"])
def test_what_the_robot_cannot_do_is_refused(one: Wheeled, field: str) -> None:
    line = one.robot.up()
    (refused,) = line.command(LEFT, field, 1.0)
    assert isinstance(refused, control.Refused) and refused.reason == "not_settable"
    line.run(50)
    assert one.speeds(line.mock) == (0, 0)


@ALL
def test_a_rate_limit_is_followed_and_a_stop_is_not_slowed(one: Wheeled) -> None:
    line = one.robot.up(limits={LEFT: MotorLimits(rate=10.0)})
    line.command(LEFT, "velocity", 5.0)
    line.run(240)
    assert 0.37 < one.speeds(line.mock)[0] / one.five < 0.65
    line.run(400)
    assert one.speeds(line.mock)[0] == one.five
    line.handle(line.session.stop(control.StopReason.SILENCE, line.now).events)
    line.run(5)
    assert one.speeds(line.mock) == (0, 0)
    line.run(400)
    assert one.speeds(line.mock) == (0, 0)


@pytest.mark.parametrize("one", [CREATE, E_PUCK], ids=["create2", "epuck"])
def test_the_wheels_turn_and_report_their_angles(one: Wheeled) -> None:
    line = one.robot.up({"width": 100, "depth": 100})
    for side in ("left", "right"):
        line.enable(f"{side} wheel sensor")
    line.run(50)
    assert line.values() == {"left wheel sensor": 0.0, "right wheel sensor": 0.0}
    line.settings(LEFT, math.inf, 6.0, -1.0, 10.0)
    line.settings(RIGHT, math.inf, -6.0, -1.0, 10.0)
    line.run(40_000)  # more than the encoders of an e-puck count
    values = line.values()
    assert values["left wheel sensor"] == pytest.approx(240.0, abs=0.6)
    assert values["right wheel sensor"] == pytest.approx(-240.0, abs=0.6)


@ALL
def test_what_is_not_a_device(one: Wheeled) -> None:
    line = one.robot.up()
    index = line.index(one.sensor)
    for events in (
        line.session.switch(99, None, line.now),
        line.session.switch(line.index(LEFT), None, line.now),
        line.session.tune(control.LedValue(index, 1), line.now),
        line.session.tune(control.LedValue(99, 1), line.now),
        commanded(line.session, control.MotorCommand(index, "velocity", 1.0), line.now),
    ):
        assert [type(event) for event in events] == [control.Refused]


# --- stops ----------------------------------------------------------------------------------------


@ALL
def test_stop(one: Wheeled) -> None:
    line = one.robot.up()
    session = line.session
    line.command(LEFT, "velocity", 5.0)
    assert session.emergency() == one.emergency
    line.run(50)
    assert all(session.can_stop(line.index(LEFT), mode) for mode in Mode)
    assert not session.can_stop(line.index(one.sensor), Mode.VELOCITY)
    plan = session.stop(control.StopReason.ENDED, line.now)
    assert len(plan.commands) == 2
    events = plan.events
    assert events == [control.Write(one.stop)]
    line.handle(events)
    line.run(50)
    assert one.speeds(line.mock) == (0, 0)
    assert session.stop(control.StopReason.ENDED, line.now).events == events  # it needs no memory
    assert session.counts["stops"] == 2


@ALL
def test_the_emergency_stop_ends_any_command_that_was_cut(one: Wheeled) -> None:
    """The emergency stop discards what the kernel has not sent, and writes the stop twice."""
    for cut in range(len(one.ours) + 1):
        line = moving(one)
        line.mock.receive(one.ours[:cut], line.now)
        line.mock.receive(2 * line.session.emergency(), line.now)
        assert one.speeds(line.mock) == (0, 0), cut
        line.handle(line.session.stop(control.StopReason.LATE, line.now).events)
        line.run(500)
        assert one.speeds(line.mock) == (0, 0)
        assert one is CREATE or not line.found(
            control.Disconnected
        )  # its stream may be another one


# --- the configuration ----------------------------------------------------------------------------

NO_LIGHT = {name: Create2Sensor(packet="off") for name in DEFAULT_SENSORS if "light" in name}
NO_MICROPHONE = {f"mic{place}": EPuckSensor(present=False) for place in range(3)}
SIX: dict[str, Any] = {"motors": {f"m{number}": ServoSettings(id=number) for number in range(6)}}


@pytest.mark.parametrize(
    ("robot", "slow", "error", "recovered"),
    [
        (
            CREATE2,
            {"baudRate": 19200},
            (
                "baudRate",
                "each period of 15 ms needs 45 bytes, and the line carries 28 at 19200 bit/s",
                "raise baudRate, or leave sensors out (sensors: {NAME: {packet: off}})",
            ),
            {"sensors": NO_LIGHT},
        ),
        (
            EPUCK,
            {"period_ms": 8},
            (
                "period_ms",
                "each period of 8 ms needs 94 bytes, and the line carries 92 at 115200 bit/s",
                "raise period_ms or baudRate, or leave sensors out "
                "(sensors: {NAME: {present: false}})",
            ),
            {"sensors": NO_MICROPHONE},
        ),
        (
            DYNAMIXEL,
            SIX,
            (
                "period_ms",
                "each period of 20 ms needs 275 bytes, and the line carries 95 at 57600 bit/s",
                "raise baudRate or period_ms, or lower the return delay of the servos",
            ),
            {"baudRate": 1_000_000},
        ),
        (
            KHEPERA,
            {"baudRate": 19200},
            (
                "period_ms",
                "each period of 32 ms needs 137 bytes, and the line carries 61 at 19200 bit/s",
                "raise baudRate or period_ms, or leave sensors out",
            ),
            {"period_ms": 100.0},
        ),
    ],
    ids=["create2", "epuck", "dynamixel", "khepera"],
)
def test_a_line_that_is_too_slow_is_an_error_with_numbers(
    robot: Robot, slow: dict[str, Any], error: tuple[str, str, str], recovered: dict[str, Any]
) -> None:
    assert robot.body.check(robot.settings(**slow)) == [error]
    assert robot.body.check(robot.settings(**{**slow, **recovered})) == []
