"""WC2EC in the C library: against the codec of hilgw, the firmware mocks, and time."""

from __future__ import annotations

import math
import struct
from ctypes import c_float, create_string_buffer

import pytest
from hypothesis import example, given, strategies as st

from firmware_mocks.air import Air
from firmware_mocks.wc2ec import cobs, wire
from firmware_mocks.wc2ec_robot import create
from hilgw.framing import create as create_framing
from hilgw.protocols.wc2ec import Decoder, Layouts, Rejected, Side
from tests.cases import cases
from tests.firmware.node import LINEAR, ROTATIONAL, SENSOR, Link, Robot, library

pytestmark = [pytest.mark.process, pytest.mark.judge("gcc")]
DEVICES = {"ds_front": SENSOR, "left": ROTATIONAL, "lift": LINEAR}
TYPES = {SENSOR: 38, LINEAR: 46, ROTATIONAL: 53}  # of R2020a
LARGEST = struct.unpack("<f", bytes.fromhex("FFFF7F7F"))[0]
SMALLEST = 2.0**-126  # normal


def controller(framing: str = "cobs-crc16") -> Robot:
    return Robot(Link(library(), framing, size=37), DEVICES)


def body(step_ms: int = 20) -> Robot:
    return Robot(Link(library(), "cobs-crc16", size=37), DEVICES, step_ms=step_ms)


def registrations() -> bytes:
    return b"".join(
        cobs.frame(wire.registration(TYPES[kind], index + 4, name.encode()))
        for index, (name, kind) in enumerate(DEVICES.items())
    )


def sensor(value: float, index: int = 4) -> bytes:
    return cobs.frame(wire.value(wire.SENSOR_DATA, 38, index, value))


def motor(value: float, index: int, number: int = 53) -> bytes:
    return cobs.frame(wire.value(wire.SET_VALUE, number, index, value))


def frames(data: bytes) -> list[bytes]:
    return create_framing("cobs-crc16").feed(data)


def connected() -> Robot:
    robot = controller()
    robot.poll(0, registrations() + sensor(250.0))
    assert robot.ready
    return robot


# --- numbers --------------------------------------------------------------------------------------


@cases(8)
@given(value=st.floats())
@example(value=math.inf)
@example(value=-math.nan)
@example(value=LARGEST * (1 + 2**-25))
@example(value=SMALLEST * (1 - 2**-30))
@example(value=1 + 2.0**-24)
@example(value=1 + 3 * 2.0**-24)
def test_a_double_becomes_the_nearest_float(value: float) -> None:
    found = library().hilgw_get_double(struct.pack("<d", value))
    if math.isnan(value):
        assert math.isnan(found)
    elif abs(value) < SMALLEST:
        assert (found, math.copysign(1, found)) == (0, math.copysign(1, value))
    elif math.isinf(value) or abs(value) <= LARGEST:
        assert found == struct.unpack("<f", struct.pack("<f", value))[0]
    else:
        assert found == math.copysign(LARGEST, value), "a finite number stays finite"


@cases(4)
@given(value=st.floats(width=32))
def test_a_float_becomes_the_same_double(value: float) -> None:
    data = create_string_buffer(8)
    library().hilgw_put_double(data, c_float(value))
    expected = math.copysign(0.0, value) if abs(value) < SMALLEST else value
    assert struct.pack("<d", expected) == data.raw or math.isnan(value)
    assert math.isnan(struct.unpack("<d", data.raw)[0]) == math.isnan(value)


# --- the controller -------------------------------------------------------------------------------


def test_it_is_ready_with_its_last_device_and_commands_by_the_registered_numbers() -> None:
    robot = controller()
    *first, last = registrations().split(b"\0")[:3]
    assert robot.poll(0, b"".join(each + b"\0" for each in first)) == b""
    assert not robot.ready
    assert not robot.command("left", 5)
    stop = robot.poll(1, last + b"\0")
    assert robot.ready
    assert stop == motor(0, 5), "velocity 0 shows the gateway that it is there"
    assert robot.command("left", 5)
    assert robot.poll(2) == bytes.fromhex("04 82 35 05 01 01 01 01 01 05 14 40") + crc_of(5, 5)


def crc_of(index: int, value: float) -> bytes:
    return motor(value, index)[12:]


def test_values_arrive_by_name_and_show_as_news() -> None:
    robot = connected()
    assert robot.value("ds_front") == 250
    robot.poll(1)
    assert not robot.news
    robot.poll(2, sensor(math.nan))
    assert not robot.news
    assert robot.value("ds_front") == 250
    robot.poll(3, sensor(99.5) + sensor(0.25, index=6))
    assert robot.news
    assert (robot.value("ds_front"), robot.value("lift")) == (99.5, 0.25)
    robot.poll(4, sensor(1, index=200))
    assert not robot.news, "a device that it does not use"


def test_a_command_is_sent_at_once_and_repeated() -> None:
    robot = connected()
    assert robot.command("left", 2.5)
    sent = {now: robot.poll(now, sensor(250)) for now in range(1, 320)}
    assert [now for now, data in sent.items() if data] == [1, 101, 201, 301]
    assert set(sent.values()) == {b"", motor(2.5, 5)}
    assert robot.command("left", 2.5)
    assert robot.poll(320, sensor(250)) == b"", "an equal one is repeated in its time"
    for bad in (math.nan, math.inf):
        assert not robot.command("left", bad)
    assert not robot.command("ds_front", 1)


def test_the_watchdog_stops_the_motors_when_the_gateway_falls_silent() -> None:
    robot = connected()
    robot.poll(1, sensor(0.125, index=6))
    assert robot.command("left", 5)
    assert robot.command("lift", 0.5)
    sent = [robot.poll(now) for now in range(2, 301)]
    assert motor(5, 5) in b"".join(sent)
    assert motor(0, 5) not in b"".join(sent)
    stop = robot.poll(301)
    assert stop == motor(0, 5) + motor(0.125, 6, 46), "it holds the reported position"
    assert not robot.ready
    assert not robot.command("left", 5)


def test_noise_does_not_feed_the_watchdog() -> None:
    robot = connected()
    robot.command("left", 5)
    for now in range(1, 300):
        robot.poll(now, sensor(250)[:-2] + b"\x55\0")
    assert motor(0, 5) in robot.poll(300, cobs.frame(b"\xff\xff"))


def test_another_gateway_registers_other_numbers() -> None:
    """After a long silence the old ones mean nothing; it sends none until all are registered."""
    robot = connected()
    robot.command("left", 5)
    robot.poll(300)
    assert robot.poll(500) == b""
    assert [robot.poll(now) for now in range(501, 1500)] == [b""] * 999
    other = [wire.registration(53, 9, b"left"), wire.registration(46, 8, b"lift")]
    other.append(wire.registration(38, 7, b"ds_front"))
    assert robot.poll(1500, b"".join(map(cobs.frame, other))) == motor(0, 9)


def test_without_motors_it_shows_that_it_is_there() -> None:
    robot = Robot(Link(library(), "cobs-crc16", size=37), {"ds_front": SENSOR})
    robot.poll(1000, registrations())
    sent = b"".join(robot.poll(now, sensor(1)) for now in range(1001, 1301))
    assert sent == cobs.frame(bytes((128, 38, 4))) * 3


def test_over_tcp_messages_have_no_frames() -> None:
    robot = controller("wc2ec")
    messages = [
        wire.registration(TYPES[k], i, n.encode()) for i, (n, k) in enumerate(DEVICES.items())
    ]
    messages.insert(1, wire.registration(1, 9, b"a name that is much longer than the buffer of it"))
    data = b"".join(messages) + wire.value(wire.SENSOR_DATA, 38, 0, 250)
    for byte in data:
        robot.poll(0, bytes([byte]))
    assert robot.ready
    assert robot.value("ds_front") == 250
    robot.command("left", 5)
    assert robot.poll(1) == wire.value(wire.SET_VALUE, 53, 1, 5)
    robot.poll(2, b"\x05garbage")
    assert robot.link.dropped["lost"] == 1


# --- the body -------------------------------------------------------------------------------------


def test_it_registers_each_second_until_the_gateway_answers() -> None:
    robot = body()
    expected = b"".join(
        cobs.frame(wire.registration(TYPES[kind], index, name.encode()))
        for index, (name, kind) in enumerate(DEVICES.items())
    )
    sent = {now: data for now in range(5, 2500) if (data := robot.poll(now))}
    assert sent == {5: expected, 1005: expected, 2005: expected}
    robot.report("ds_front", 1)  # values do not delay registrations
    sent = {now: data for now in range(2500, 5500) if expected in (data := robot.poll(now))}
    assert [now // 1000 for now in sent] == [3, 4, 5]
    robot = body()
    robot.poll(2501, motor(0, 1))
    quiet = b"".join(robot.poll(now, motor(0, 1)) for now in range(2502, 3600))
    assert expected not in quiet
    silent = b"".join(robot.poll(now) for now in range(3600, 4200))
    assert expected in silent, "after the silence of a gateway that is gone"


def test_it_moves_its_motors_and_stops_them_when_the_gateway_falls_silent() -> None:
    robot = body()
    robot.report("lift", 0.25)
    robot.poll(0, motor(5, 1) + motor(0.5, 2, 46))
    assert robot.news
    assert (robot.motor("left", 0), robot.motor("lift", 0)) == (5, 0.5)
    robot.poll(100, motor(6, 1))
    assert robot.motor("left", 399) == 6
    assert robot.motor("left", 400) == 0, "even if nobody polls"
    assert robot.motor("lift", 400) == 0.25
    robot.poll(401, motor(7, 1))
    assert robot.motor("left", 401) == 7


def test_settings_of_motors_and_sensors() -> None:
    robot = body()
    robot.report("ds_front", 123)

    def set_sensor(number: int, index: int, *values: float) -> bytes:
        return cobs.frame(bytes((131, number, index)) + struct.pack(f"<{len(values)}d", *values))

    robot.poll(0, set_sensor(53, 1, math.inf, 4, -1, 10) + set_sensor(46, 2, 0.5, 1, -1, 10))
    assert (robot.motor("left", 0), robot.motor("lift", 0)) == (4, 0.5)
    for bad in (set_sensor(53, 1, 1.5, 4, -1, 10), motor(math.nan, 1), motor(1, 0, 38)):
        refused = robot.poll(5, bad)
        assert b"\x7f" in b"".join(frames(refused)), "answered with Error"
    assert robot.motor("left", 5) == 4
    for data, count in ((b"", 50), (set_sensor(38, 0, 100), 10), (set_sensor(38, 0, 0), 0)):
        robot.poll(100, data)
        sent = b"".join(robot.poll(now, motor(0, 1)) for now in range(101, 1101))
        values = [each for each in frames(sent) if each[0] == 1]
        assert abs(len(values) - count) <= 1
        for message in values:
            assert message == wire.value(wire.SENSOR_DATA, 38, 0, 123)
        robot.poll(100, cobs.frame(bytes((128, 38, 0))))  # time begins again: enabled


@cases(2)
@given(data=st.lists(st.binary(max_size=40), max_size=6))
def test_no_frame_moves_a_motor_that_hilgw_would_refuse(data: list[bytes]) -> None:
    """What the C library takes for a motor command is one for hilgw's codec, too."""
    robot = body()
    robot.poll(0, motor(0, 1))
    kinds = {0: "DistanceSensor", 1: "RotationalMotor", 2: "LinearMotor"}
    for message in data:
        before = robot.motor("left", 0)
        robot.poll(0, cobs.frame(message))
        if robot.motor("left", 0) != before:
            decoder = Decoder(Side.EXTERNAL, Layouts("R2020a"), dict(kinds))
            meant = decoder.feed(message)
            assert any(not isinstance(each, Rejected) for each in meant)


def test_it_drives_the_mock_robot() -> None:
    """Controller and robot without hilgw between them: two independent readings of the page."""
    mock = create("robot", Air(), {"frame": "cobs-crc16"})
    names = {"ds_left": SENSOR, "ds_front": SENSOR, "ds_right": SENSOR, "left_wheel": ROTATIONAL}
    robot = Robot(Link(library(), "cobs-crc16", size=37), names)
    to_mock = b""
    for now in range(2000):
        mock.advance(now * 1_000_000)
        mock.receive(to_mock, now * 1_000_000)
        to_mock = robot.poll(now, mock.take(now * 1_000_000))
        robot.command("left_wheel", 3)
    assert mock.body.wheels[0] == 3
    assert robot.value("ds_front") > 0
    assert mock.tripped == 0
