"""Body `epuck`: against the bytes of sercom, and on its mock."""

import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from firmware_mocks.epuck import create
from hilgw.bodies.epuck import BODY, EPuckSettings, sercom
from hilgw.bodies.epuck.settings import EPuckSensor
from hilgw.control.events import (
    Connected,
    Disconnected,
    Event,
    LedValue,
    Notice,
    ProtocolFailure,
    StopReason,
)
from hilgw.devices.kinds import MotorLimits
from hilgw.errors import MismatchError
from hilgw.plugins import new_air
from tests.bodies.bench import EPUCK, LEFT, RIGHT, BodyBench

bench, up = EPUCK.bench, EPUCK.up

STOP = b"\0\0\0\0\0\nD,0,0\n"
GROUND = {f"gs{place}": EPuckSensor() for place in range(3)}
WIDE = {"width": 50, "depth": 50}


def requests(line: BodyBench) -> list[str]:
    """The letters of the last binary requests; forgets them."""
    requested, line.mock.requests = line.mock.requests, []
    return list(requested)


@pytest.mark.parametrize(
    ("made", "data"),
    [
        (sercom.drive(100, -200), "bc 64 00 38 ff"),  # 256 - 'D'; left first, low byte first
        (sercom.led(8, 1), "b4 08 01"),
        (sercom.ask("aMNOQ"), "9f b3 b2 b1 af 00"),
        (sercom.ask("ugE"), "8b 99 bb 00"),
        (sercom.STOP, STOP.hex()),
        (sercom.drive_line(-5, 7), (b"\0\0\0\0\0\nD,-5,7\n").hex()),
    ],
)
def test_requests(made: bytes, data: str) -> None:
    assert made == bytes.fromhex(data)


LETTERS = st.sets(st.sampled_from(sercom.LETTERS)).map(
    lambda found: "".join(letter for letter in sercom.LETTERS if letter in found)
)


@given(st.integers(-1000, 1000), st.integers(-1000, 1000), LETTERS, st.binary(max_size=3))
def test_the_mock_reads_every_request(left: int, right: int, letters: str, cut: bytes) -> None:
    """An independent reading of the same protocol, after anything that was cut."""
    robot = create("r", new_air(), {})
    robot.reset(0)
    robot.receive(bytes((188,)) + cut + sercom.STOP, 0)
    assert robot.speeds == (0, 0)
    robot.receive(sercom.drive(left, right) + sercom.led(3, 1) + sercom.ask(letters), 0)
    assert (robot.speeds, robot.leds[3], robot.requests[-1]) == ((left, right), 1, "DL" + letters)


@pytest.mark.parametrize(
    ("velocity", "steps"),
    [
        *((6.28, 1000), (1.0, 159), (-1.0, -159), (0.00627, 0), (-3.0, -477)),
        *((7.0, 1000), (-9e9, -1000)),
    ],
)
def test_speeds_are_cut_towards_zero_and_limited(velocity: float, steps: int) -> None:
    line = up()
    line.command(LEFT, "velocity", velocity)
    line.run(5)
    assert line.mock.speeds == (steps, 0)


def test_an_epuck2_is_faster() -> None:
    line = up(model="e-puck2")
    assert sercom.steps_s(7.536, 1200) == 1200
    line.command(RIGHT, "velocity", 8.0)
    line.run(5)
    assert line.mock.speeds == (0, 1200)


@pytest.mark.parametrize(
    ("model", "raw", "expected"),
    [
        ("e-puck", (2000, 2000, 2800), (0.0, 0.0, 9.81)),
        ("e-puck", (2800, 2000, 2000), (-9.81, 0.0, 0.0)),
        ("e-puck", (1200, 2800, 2000), (9.81, 9.81, 0.0)),
        ("e-puck", (0, 0, 65535), (24.525, -24.525, 779.098)),
        ("e-puck2", (2048, 2048, 2816), (0.0, 0.0, 9.81)),
        ("e-puck2", (2816, 1280, 2048), (-9.81, -9.81, 0.0)),
    ],
)
def test_acceleration(model: str, raw: tuple[int, int, int], expected: tuple[float, ...]) -> None:
    assert sercom.acceleration(raw, model) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    "version", ["Version 1.2.2 August 2008 GCtronic", "Version 2.0 e-puck2", "version 9.1"]
)
def test_any_sensible_version_is_accepted_and_shown(version: str) -> None:
    line = bench({"version": version})
    line.open(600)
    (connected,) = line.found(Connected)
    assert version in connected.identity
    advised = [event.text for event in line.found(Notice)]
    assert advised == (
        ["the robot is an e-puck2: set model: e-puck2 for its speed and gyro"]
        if version.startswith("Version 2")
        else []
    )


def test_a_robot_that_starts_during_the_handshake_is_not_refused() -> None:
    """It misses the questions, and sends the two lines of its start."""
    line = bench()
    line.mock.switch_off()
    line.open(400)
    for _ in range(5):
        line.mock.reset(line.now)
        line.run(3)
        line.mock.switch_off()
        line.run(300)
    assert not line.found(ProtocolFailure)
    line.mock.reset(line.now)
    line.run(2_000)
    assert line.found(Connected) and not line.found(ProtocolFailure)


@pytest.mark.parametrize("answer", [b"OK\r\n", b"z,Command not found\r\n", b"+++ v2.1\r\n"])
def test_another_device_is_refused(answer: bytes) -> None:
    line = bench()
    line.cut = True
    line.handle(line.session.open(line.now))
    for _ in range(40):
        line.run(50)
        line.handle(line.session.receive(answer, line.now))
    (failure,) = line.found(ProtocolFailure)
    assert isinstance(failure.error, MismatchError)
    shown = answer.decode().strip()
    assert failure.error.what == f"not an e-puck with sercom: it answers '{shown}' to V"
    assert not line.found(Connected) and line.session.emergency() == b""
    assert b"\xbc" not in line.written  # no speeds in binary


def test_only_enabled_sensors_are_asked_for_in_one_request() -> None:
    line = up(sensors=GROUND)
    requests(line)
    line.run(100)
    assert set(requests(line)) == {"E"} and line.values() == {}
    for name in ("mic1", "right wheel sensor", "ls7", "ps3", "gs2", "accelerometer"):
        line.enable(name)
    line.run(100)
    assert requests(line)[1:] == ["aMNOQuE"] * 2
    assert line.values() == {
        "mic1": 12.0,
        "right wheel sensor": 0.0,
        "ls7": 3500.0,
        "ps3": 67.0,
        "gs2": 900.0,
        "accelerometer": pytest.approx((0.0, 0.0, 9.81)),
    }
    line.enable("ps3", 0)
    line.enable("ls7", 0)
    line.run(100)
    assert requests(line)[1:] == ["aMQuE"] * 2
    assert set(line.values()) == {"mic1", "right wheel sensor", "gs2", "accelerometer"}


def test_a_gyro_reports_the_numbers_of_webots() -> None:
    line = up({"rotation": (-100, 7, 32767)}, model="e-puck2")
    line.enable("gyro")
    line.run(80)
    assert line.values() == {"gyro": (-100.0, 7.0, 32767.0)}


@pytest.mark.parametrize("echo", ["no", "yes"])
@pytest.mark.parametrize("binary", [3, 4, 5, 8])
@pytest.mark.parametrize("text", [3, 5])
def test_ground_sensors_are_counted_in_the_binary_answer(text: int, binary: int, echo: str) -> None:
    """An e-puck2 since 2019 answers five numbers in text and four in binary: it drove blind for a
    second, and was lost."""
    mock = {"ground_values": text, "ground_binary": binary, "ground": 321, "echo": echo, **WIDE}
    line = bench(mock, model="e-puck2", sensors=GROUND)
    line.open(900)
    assert len(line.found(Connected)) == 1
    for name in ("gs0", "gs2", "ps0"):
        line.enable(name)
    line.command(LEFT, "velocity", 2.0)
    line.run(1_500)
    values = line.values()
    assert (values["gs0"], values["gs2"]) == (321.0, 321.0)
    assert line.events == [] and line.session.counts["misses"] == 0
    assert line.mock.speeds == (318, 0)


def test_the_end_of_the_first_binary_answer_is_late() -> None:
    """Without its last number the answer looks whole, with three numbers of the ground for four."""
    mock = {"ground_values": 5, "ground_binary": 4, "ground": 321, **WIDE}
    line = bench(mock, model="e-puck2", sensors=GROUND)
    receive, size, late = line.session.receive, sercom.answer_size("MQE"), bytearray()

    def cut(data: bytes, now: int) -> list[Event]:
        late.extend(data[size:])
        line.session.receive = receive
        return list(receive(data[:size], now))

    line.connect()
    while not line.mock.requests:
        line.run(1)
    line.session.receive = cut
    line.run(50)
    assert len(late) == 2
    line.run(70)  # longer than answer_ms
    line.handle(receive(bytes(late), line.now))
    line.run(1_500)
    line.enable("gs0")
    line.command(LEFT, "velocity", 2.0)
    line.run(1_500)
    assert not line.of(Disconnected) and len(line.of(Connected)) == 1
    assert line.values()["gs0"] == 321.0 and line.mock.speeds == (318, 0)


@pytest.mark.parametrize("ground", [0, 321])
def test_nothing_moves_before_the_first_valid_answer_of_the_exchange(ground: int) -> None:
    line = bench({"ground_values": 5, "ground": ground, **WIDE}, sensors=GROUND)
    line.mock.binary_ground = lambda: [ground] * 2
    line.connect()
    for _ in range(300):
        line.run(10)
        line.command(LEFT, "velocity", 2.0)
        assert line.mock.speeds == (0, 0)
    assert not line.of(Connected)
    assert {each.text for each in line.of(Notice)} == {"no answer to a binary request"}


def test_leds() -> None:
    line = up()
    for name, value in (("led0", 1), ("led7", 255), ("led8", 2), ("led9", -1)):
        line.handle(line.session.tune(LedValue(line.index(name), value), line.now))
    line.run(40)
    assert [number for number, state in line.mock.leds.items() if state] == [0, 7, 8, 9]
    line.handle(line.session.tune(LedValue(line.index("led8"), 0), line.now))
    line.run(40)
    assert line.mock.leds[8] == 0
    line.mock.reset(line.now)
    line.run(2_000)
    assert line.found(Connected)
    assert [number for number, state in line.mock.leds.items() if state] == [0, 7, 9]


def thief(place: int, added: bytes) -> Callable[[bytes], bytes]:
    """Return what takes the byte at this place of a stream, or puts bytes there."""
    seen = 0

    def stolen(data: bytes) -> bytes:
        nonlocal seen
        index, seen = place - seen, seen + len(data)
        if 0 <= index < len(data):
            data = data[:index] + added + data[index + 1 - len(added) :]
        return data

    return stolen


@pytest.mark.parametrize("to_robot", [True, False])
@pytest.mark.parametrize("added", [b"", b"\x55\xaa"], ids=["lost", "added"])
@pytest.mark.parametrize("place", range(0, 26, 2))
def test_a_lost_or_added_byte_shifts_no_values(place: int, added: bytes, to_robot: bool) -> None:
    line = up({**WIDE, "light": 1234}, model="e-puck2")
    for name in ("ps0", "ls5", "gyro", "accelerometer"):
        line.enable(name)
    line.command(LEFT, "velocity", 2.0)
    line.command(RIGHT, "velocity", -2.0)
    expected = {"ps0": 67.0, "ls5": 1234.0, "gyro": (0.0, 0.0, 0.0)}
    receive, take, steal = line.mock.receive, line.mock.take, thief(place, added)
    if to_robot:
        line.mock.receive = lambda data, now: receive(steal(data), now)
    else:
        line.mock.take = lambda now: steal(take(now))
    line.run(600)
    line.values()
    assert line.mock.speeds == (318, -318)
    assert not line.found(Disconnected)
    before = line.session.counts["misses"]
    line.run(500)
    assert line.session.counts["misses"] == before <= 3
    values = line.values()
    assert {name: values[name] for name in expected} == expected


@pytest.mark.parametrize("ignores", ["no", "yes"])
def test_a_robot_that_was_reset_is_asked_again_and_stands_still(ignores: str) -> None:
    """Its angle begins at 0 and goes on, also where it keeps its counters at command P."""
    line = bench({"ignores_zero": ignores, **WIDE})
    line.mock.arena.steps = [1_000.0, -30_000.0]
    line.open(600)
    line.enable("left wheel sensor")
    line.run(100)
    assert line.values()["left wheel sensor"] == 0.0
    line.command(LEFT, "velocity", 5.0)
    line.run(1_000)
    line.mock.reset(line.now)
    line.run(60)
    assert line.found(Disconnected) == [Disconnected("the robot was reset")]
    line.handle(line.session.stop(StopReason.BODY, line.now).events)
    line.run(1_000)
    assert len(line.found(Connected)) == 2 and line.mock.speeds == (0, 0)
    assert line.values()["left wheel sensor"] == pytest.approx(5.0, abs=0.4)  # goes on from there


def test_a_robot_with_other_speeds_than_commanded_is_corrected() -> None:
    line = up()
    line.command(LEFT, "velocity", 2.0)
    line.run(50)
    line.mock.speeds = (600, 600)  # its infra-red remote control
    line.run(100)
    assert line.mock.speeds == (318, 0) and line.session.counts["damaged"] == 1


def test_a_robot_that_answers_too_late_for_the_period() -> None:
    line = up()
    line.mock.set("delay_ms", "40")
    line.enable("ps0")
    line.run(50)
    line.run(300)
    assert [event.text for event in line.found(Notice)] == [
        "the robot answers too late for a period of 32 ms: 23 bytes take 2.0 ms, the rest is its "
        "delay; raise period_ms"
    ]
    assert line.session.counts["late_periods"] >= 3 and line.session.counts["misses"] == 0


def test_a_velocity_beyond_the_robots_own_is_reported() -> None:
    line = up()
    assert line.command(RIGHT, "velocity", 6.28) == []
    assert line.command(RIGHT, "velocity", 1e300) == [
        Notice(f"'{RIGHT}': velocities beyond 6.28 rad/s are cut to it")
    ]


def test_a_damaged_answer_is_not_called_late() -> None:
    line = up()
    receive, requests = line.mock.receive, []

    def asked(data: bytes, now: int) -> None:
        requests.append(data)
        receive(data, now)

    line.command(LEFT, "velocity", 2.0)
    line.mock.receive = asked
    assert line.run(100, lambda: bool(requests))
    line.handle(line.session.receive(bytes(20), line.now))  # noise, and the answer comes after it
    line.run(200)
    assert line.session.counts["damaged"] == 1 and line.of(Notice) == []
    assert line.session.counts["late_answers"] == 0 and line.mock.speeds == (318, 0)


@pytest.mark.parametrize("late_ms", [95, 130, 160])
@pytest.mark.parametrize("wait_ms", range(0, 32, 5))
def test_late_answers_are_named_and_belong_to_no_other_request(late_ms: int, wait_ms: int) -> None:
    line = up(WIDE, model="e-puck2")
    line.enable("ps0")
    line.command(LEFT, "velocity", 2.0)
    line.run(200 + wait_ms)
    line.events.clear()
    line.delay_ms = late_ms
    line.run(100)
    line.delay_ms = 0
    line.run(600)
    counts = line.session.counts
    assert (counts["late_answers"] > 0) is (late_ms > 100)
    notices = {event.text for event in line.of(Notice) if "too late for a period" not in event.text}
    assert {text.split(",")[0] for text in notices} == (
        {"answers come later than answer_ms"} if late_ms > 100 else set()
    )
    assert not line.of(Disconnected)
    assert line.mock.speeds == (318, 0) and line.values() == {"ps0": 67.0}
    before = counts["misses"]
    line.run(300)
    assert counts["misses"] == before


def test_a_stop_is_the_fence_and_comes_again_until_it_is_answered() -> None:
    line = up()
    line.command(LEFT, "velocity", 2.0)
    line.run(200)
    line.delay_ms = 150
    line.run(140)  # an answer is missing, and that to the fence
    line.written.clear()
    line.handle(line.session.stop(StopReason.SILENCE, line.now).events)
    assert bytes(line.written) == STOP and line.mock.speeds == (0, 0)
    assert not line.session.is_idle()
    line.run(115)
    assert bytes(line.written).count(STOP) >= 2
    line.delay_ms = 0
    line.run(500)
    assert line.session.is_idle() and line.mock.speeds == (0, 0)


def test_no_copies_follow_a_stop_that_the_session_repeats_itself() -> None:
    line = up()
    line.command(LEFT, "velocity", 3.0)
    line.run(100)
    assert line.session.stop_motor(line.index(LEFT), line.now).copies == 0
    assert line.session.stop(StopReason.DISARMED, line.now).copies == 0


def test_nodes_have_the_fields_of_webots() -> None:
    devices = bench(model="e-puck2", sensors=GROUND).session.devices
    fields: Any = {device.name: device.fields for device in devices}
    assert fields[LEFT].maxVelocity == pytest.approx(7.536)
    assert (fields["ps0"].type, fields["ps0"].aperture) == ("infra-red", 0.1)
    assert fields["ps0"].lookupTable[2] == (0.01, 1465.73, 0.007)
    assert (fields["gs0"].minValue, fields["gs0"].maxValue) == (300.0, 1000.0)
    assert fields["gyro"].lookupTable[1][:2] == (13.315805, 100_000.0)
    first: Any = {device.name: device.fields for device in bench().session.devices}
    assert first[RIGHT].maxVelocity == pytest.approx(6.28)


@pytest.mark.parametrize(
    ("settings", "path", "message"),
    [
        ({"always_on": ("gs0",)}, "always_on", "the robot has no sensor 'gs0'"),
        ({"limits": {"wheel": MotorLimits()}}, "limits.wheel", "the robot has no such motor"),
        ({"sensors": {"camera": EPuckSensor()}}, "sensors.camera", "camera images are not carried"),
        ({"sensors": {"gyro": EPuckSensor()}}, "sensors.gyro", "an e-puck has no gyro"),
        ({"sensors": {"ps8": EPuckSensor()}}, "sensors.ps8", "the robot has no such sensor"),
        (
            {"sensors": {"ps0": EPuckSensor(table=((1, 1, 0), (1, 2, 0)))}},
            "sensors.ps0.table",
            "1 after 1",
        ),
    ],
)
def test_errors_in_the_configuration(settings: dict[str, Any], path: str, message: str) -> None:
    errors = {error[0]: error[1] for error in BODY.check(EPuckSettings(port="/dev/x", **settings))}
    assert message in errors[path]


def test_bytes_in_words() -> None:
    line = bench()
    sent = sercom.drive(1, -1) + sercom.led(8, 1) + sercom.ask("NE") + b"\xbc\x01"
    assert line.session.describe(sent, received=False) == (
        "drive left 1, right -1 steps/s; LED 8 1; ask N; ask E; bc 01"
    )
    assert line.session.describe(sercom.ask("NE"), received=False) == "ask N; ask E"
    assert line.session.describe(STOP, received=False) == "D,0,0"
    assert line.session.describe(b"v,Version 1\r\nHW version: A\r\n", received=True) == (
        "v,Version 1; HW version: A"
    )
    assert line.session.describe(struct.pack("<2h", 1, -1), received=True) == "01 00 ff ff"


def test_a_stop_leaves_at_once_and_the_exchanges_go_on() -> None:
    line = up()
    line.enable("ps0")
    for after_ms in range(40):
        line.command(LEFT, "velocity", 5.0)
        line.run(after_ms)
        line.handle(line.session.stop(StopReason.SILENCE, line.now).events)
        assert line.mock.speeds == (0, 0)
        line.run(100)
        assert line.mock.speeds == (0, 0)
    line.run(100)
    assert line.values() == {"ps0": 67.0}
    assert line.session.counts["misses"] == 0 and not line.found(Disconnected)
