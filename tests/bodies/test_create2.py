"""Body `create2`: against bytes of the Open Interface specification, and on its mock."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, strategies as st

from firmware_mocks.base import Mock
from firmware_mocks.create2.packets import stream_frame
from hilgw.bodies.create2 import BODY, Create2Settings, oi
from hilgw.bodies.create2.settings import Create2Sensor
from hilgw.control.events import (
    Connected,
    Disconnected,
    HardwareFault,
    LedValue,
    Notice,
    StopReason,
)
from hilgw.devices.kinds import MotorLimits
from tests.bodies.bench import CREATE2, LEFT, RIGHT

bench, up = CREATE2.bench, CREATE2.up

STOPPED = bytes((145, 0, 0, 0, 0))
STOP = b"\0" + 3 * STOPPED


def test_the_streams_example_of_the_specification() -> None:
    """OI specification, Input Commands, Stream: packets 29 and 13."""
    frame = bytes.fromhex("13 05 1d 02 19 0d 00 a3")
    assert oi.StreamReader([13, 29]).feed(frame) == [{29: 0x219, 13: 0}]


@pytest.mark.parametrize(
    ("made", "data"),
    [
        (oi.START, "80"),
        (oi.SAFE, "83"),
        (oi.FULL, "84"),
        (oi.drive_direct(-200, 500), "91 01 f4 ff 38"),  # the right wheel first, high byte first
        (oi.leds(0b0010, 255, 128), "8b 02 ff 80"),
        (oi.stream([29, 13]), "94 02 1d 0d"),
    ],
)
def test_commands_of_the_specification(made: bytes, data: str) -> None:
    assert made == bytes.fromhex(data)


def test_sizes_of_the_packets_add_up_to_the_groups() -> None:
    """OI specification, Sensor Packets, groups 0, 6, 100, 101, 106 and 107."""
    groups = {(7, 26): 26, (7, 42): 52, (7, 58): 80, (43, 58): 28, (46, 51): 12, (54, 58): 9}
    for (first, last), size in groups.items():
        assert sum(oi.SIZES[packet] for packet in range(first, last + 1)) == size


VALUES = st.dictionaries(
    st.sampled_from(sorted(oi.SIZES)), st.integers(0, 127), min_size=1, max_size=12
)


def chunks(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    begin = 0
    for size in sizes:
        yield data[begin : begin + size]
        begin += size
    yield data[begin:]


@given(
    st.lists(st.tuples(st.binary(max_size=20), VALUES), min_size=1, max_size=8),
    st.lists(st.integers(1, 30), max_size=20),
)
def test_every_good_frame_is_found_in_noise(
    sent: list[tuple[bytes, dict[int, int]]], sizes: list[int]
) -> None:
    reader = oi.StreamReader(oi.SIZES)
    data = b"".join(noise + stream_frame(list(values), values) for noise, values in sent)
    longest = oi.frame_size(oi.SIZES)
    frames = [frame for part in chunks(data + bytes(longest), sizes) for frame in reader.feed(part)]
    expected = [values for _, values in sent]
    # Noise may be a frame of its own once in 256 times that it looks like one.
    assert [frame for frame in frames if frame in expected] == expected
    assert reader.pending <= longest


def test_one_bit_of_a_packet_is_a_sensor() -> None:
    line = up()
    line.enable("bumper_left")
    line.run(40)
    for bits, value in ((2, 1.0), (1, 0.0)):
        line.handle(line.session.receive(stream_frame([35, 7], {35: 2, 7: bits}), line.now))
        assert line.values() == {"bumper_left": value}


def test_only_enabled_sensors_are_asked_for_and_values_follow_their_tables() -> None:
    halved = Create2Sensor(packet="cliff_left_signal", table=((0, 0, 0), (4095, 2047.5, 0)))
    line = up(sensors={"eye": halved, "cliff_left": Create2Sensor(packet="off")})
    assert line.session.devices.by_name("cliff_left") is None
    line.run(50)
    assert line.mock.stream == [35, 14] and line.values() == {}
    line.enable("eye", 32)
    line.enable("bumper_right")
    line.run(50)
    assert line.mock.stream == [35, 7, 14, 28]
    assert line.values() == {"eye": 1250.0, "bumper_right": 0.0}
    line.enable("eye", 0)
    line.run(50)
    assert line.mock.stream == [35, 7, 14] and line.values() == {"bumper_right": 0.0}
    assert line.session.own_period(line.index("eye")) == 0


@pytest.mark.parametrize(
    ("name", "value", "usual", "why"),
    [
        ("wheel_drop", "left", "none", "a wheel hangs in the air"),
        ("charger", "yes", "no", "it is charging"),
    ],
)
def test_a_robot_that_cannot_enter_safe_mode_reports_why(
    name: str, value: str, usual: str, why: str
) -> None:
    line = bench({name: value})
    line.open(1_500)
    assert line.found(Notice)[0].text == f"the robot stays in passive mode: {why}"
    line.mock.set(name, usual)
    line.run(1_500)
    assert len(line.found(Connected)) == 1


@pytest.mark.parametrize(
    ("name", "value"), [("wheel_drop", "both"), ("cliff", "front_left"), ("charger", "yes")]
)
def test_a_robot_that_stops_itself_is_gone_until_it_is_safe(name: str, value: str) -> None:
    line = up()
    line.command(LEFT, "velocity", 5.0)
    line.command(RIGHT, "velocity", 5.0)
    line.mock.set(name, value)
    line.run(30)
    assert line.found(Disconnected) == [Disconnected("the robot went from safe to passive mode")]
    assert line.mock.drive == (0, 0)
    line.handle(line.session.stop(StopReason.BODY, line.now).events)
    line.mock.set(name, "none" if name != "charger" else "no")
    line.run(2_500)
    assert len(line.found(Connected)) == 1
    assert line.mock.drive == (0, 0)  # not what was commanded before


class AtACliff(Mock):
    """A robot that takes safe mode, shows it in one frame, and leaves it again: at a cliff with a
    wheel that rolls. asked_ns: when safe mode was requested."""

    def __init__(self) -> None:
        super().__init__("robot")
        self.asked_ns: list[int] = []

    def reset(self, now: int) -> None: ...

    def receive(self, data: bytes, now: int) -> None:
        if oi.SAFE in data:
            self.asked_ns.append(now)
            charge = {7: 0, 21: 0, 25: 2000, 26: 2600}
            for mode in (2, 1):
                self.uart.write(stream_frame([35, *charge], charge | {35: mode}), now)


def test_safe_mode_is_requested_once_a_second_at_a_cliff() -> None:
    line = bench()
    line.mock = robot = AtACliff()
    line.open(10_000)
    assert len(line.found(Connected)) == len(line.found(Disconnected)) == len(robot.asked_ns)
    assert 8 <= len(robot.asked_ns) <= 10
    pauses = [after - before for before, after in pairwise(robot.asked_ns)]
    assert min(pauses) >= 1_000_000_000


def test_full_mode_drives_on_at_a_cliff() -> None:
    line = up(mode="full")
    line.command(LEFT, "velocity", 5.0)
    line.mock.set("cliff", "left")
    line.run(200)
    assert line.mock.drive == (155, 0) and not line.found(Disconnected)


def test_velocities_become_millimetres_per_second() -> None:
    line = up()
    line.command(LEFT, "velocity", 10.0)
    assert line.mock.drive == (310, 0)
    line.command(RIGHT, "velocity", -10.0)
    assert line.mock.drive == (310, -310)
    notice = line.command(RIGHT, "velocity", 1e300)
    assert line.mock.drive == (310, 500)
    assert notice == [Notice(f"'{RIGHT}': velocities beyond 16.13 rad/s are cut to it")]


def test_leds() -> None:
    line = up()
    for name, value in (("led_on", 1), ("led_step", 1), ("led_play", 2)):
        line.handle(line.session.tune(LedValue(line.index(name), value), line.now))
    assert line.mock.leds == (0b1010, 255, 255)
    line.handle(line.session.tune(LedValue(line.index("led_on"), 0), line.now))
    assert line.mock.leds == (0b1010, 255, 0)
    line.mock.reset(line.now)
    line.run(3_000)
    assert line.found(Connected) and line.mock.leds == (0b1010, 255, 0)  # they shine again


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"always_on": ("nose",)}, "always_on"),
        ({"limits": {"wheel": MotorLimits()}}, "limits.wheel"),
        ({"limits": {LEFT: MotorLimits(max_velocity=-1.0)}}, f"limits.{LEFT}.max_velocity"),
        ({"sensors": {LEFT: Create2Sensor(packet="wall")}}, f"sensors.{LEFT}"),
        (
            {"sensors": {"a": Create2Sensor(packet="wall", table=((1, 1, 0), (1, 2, 0)))}},
            "sensors.a.table",
        ),
    ],
)
def test_errors_in_the_configuration(settings: dict[str, Any], path: str) -> None:
    assert path in [error[0] for error in BODY.check(Create2Settings(port="/dev/x", **settings))]


def test_bytes_in_words() -> None:
    line = bench()
    sent = oi.START + oi.SAFE + oi.STOP + oi.drive_direct(1, -1) + oi.stream([35, 7]) + b"\x00\x91"
    assert line.session.describe(sent, received=False) == (
        "start; safe mode; stop; drive left 1, right -1 mm/s; stream 35 7; 00 91"
    )
    frame = stream_frame([35, 28], {35: 2, 28: 700})
    assert line.session.describe(frame, received=True) == "35=2 28=700"


@pytest.mark.parametrize(("wheels", "names"), [("left", [LEFT]), ("both", [RIGHT, LEFT])])
def test_an_overcurrent_is_a_hardware_fault_while_it_lasts(wheels: str, names: list[str]) -> None:
    """OI specification, packet 14: bit 3 is the right wheel, bit 4 the left one."""
    line = up()
    line.command(LEFT, "velocity", 5.0)
    line.mock.set("overcurrent", wheels)
    line.run(100)
    expected = [HardwareFault(line.index(name)) for name in names]
    assert line.found(HardwareFault) == expected
    texts = [f"'{name}': overcurrent: is the wheel blocked?" for name in names]
    assert [each.text for each in line.found(Notice)] == texts == line.session.faults()
    line.mock.set("overcurrent", "none")
    line.run(100)
    assert line.session.faults() == [] and line.events == []
    line.mock.set("overcurrent", "left")
    line.run(100)
    assert line.found(HardwareFault) == [HardwareFault(line.index(LEFT))]


def test_the_brushes_of_packet_14_are_no_fault_of_a_wheel() -> None:
    line = up()
    line.handle(line.session.receive(stream_frame([35, 14], {35: 2, 14: 0b11100111}), line.now))
    assert line.found(HardwareFault) == line.session.faults() == []


def test_an_overcurrent_is_not_remembered_across_a_lost_connection() -> None:
    line = up()
    line.mock.set("overcurrent", "right")
    line.run(50)
    line.session.close()
    line.mock.set("overcurrent", "none")
    line.open(1_500)
    assert line.session.faults() == []
