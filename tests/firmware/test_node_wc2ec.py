"""WC2EC in the C library: against the codec of hilgw, the firmware mocks, and time."""

import math
import struct
from ctypes import c_float, create_string_buffer

import pytest
from hypothesis import example, given, strategies as st

from firmware_mocks.wc2ec import cobs, wire
from hilgw.framing import create as create_framing
from hilgw.protocols.wc2ec import Decoder, Layouts, Rejected, Side
from tests.cases import cases
from tests.firmware.node import EMITTER, LINEAR, RECEIVER, ROTATIONAL, SENSOR, Link, Robot, library

pytestmark = [pytest.mark.process, pytest.mark.judge("gcc")]
DEVICES = {"ds_front": SENSOR, "left": ROTATIONAL, "lift": LINEAR}
TYPES = {SENSOR: 38, LINEAR: 46, ROTATIONAL: 53, EMITTER: 39, RECEIVER: 52}  # of R2020a
LARGEST = struct.unpack("<f", bytes.fromhex("FFFF7F7F"))[0]
SMALLEST = 2.0**-126  # normal


def controller(framing: str = "cobs-crc16") -> Robot:
    return Robot(Link(library(), framing, size=37), DEVICES)


def body(step_ms: int = 20) -> Robot:
    return Robot(Link(library(), "cobs-crc16", size=37), DEVICES, step_ms=step_ms)


def registered(devices: dict[str, int] = DEVICES, first: int = 0) -> list[bytes]:
    """Return the messages that register these devices. first: the number of the first one."""
    return [
        wire.registration(TYPES[kind], index, name.encode())
        for index, (name, kind) in enumerate(devices.items(), first)
    ]


def framed(messages: list[bytes]) -> bytes:
    return b"".join(map(cobs.frame, messages))


def registrations() -> bytes:
    return framed(registered(first=4))


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
    number = library().hilgw_get_double(struct.pack("<d", value))
    if math.isnan(value):
        assert math.isnan(number)
    elif abs(value) < SMALLEST:
        assert (number, math.copysign(1, number)) == (0, math.copysign(1, value))
    elif math.isinf(value) or abs(value) <= LARGEST:
        assert number == struct.unpack("<f", struct.pack("<f", value))[0]
    else:
        assert number == math.copysign(LARGEST, value), "a finite number stays finite"


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
    assert robot.poll(2) == bytes.fromhex("04 82 35 05 01 01 01 01 01 05 14 40") + motor(5, 5)[12:]


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
    assert robot.poll(1500, framed(other)) == motor(0, 9)


def test_without_motors_it_shows_that_it_is_there() -> None:
    robot = Robot(Link(library(), "cobs-crc16", size=37), {"ds_front": SENSOR})
    robot.poll(1000, registrations())
    sent = b"".join(robot.poll(now, sensor(1)) for now in range(1001, 1301))
    assert sent == cobs.frame(bytes((128, 38, 4))) * 3


def test_over_tcp_messages_have_no_frames() -> None:
    robot = controller("wc2ec")
    messages = registered()
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
    expected = framed(registered())
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


# --- Emitters and Receivers -----------------------------------------------------------------------

RADIO = {"left": ROTATIONAL, "tx": EMITTER, "rx": RECEIVER, "ds_front": SENSOR}
WIDE = 43 + 64 + 2  # the packet buffer that its header asks for
SIGNAL = (0.25, 1.0, 0.0, -0.5)
# Examples of docs/wc2ec-wire.md, for other devices:
SEND = bytes.fromhex("82 27 01 07 00 00 00 02 00 00 00 68 69")
SET_EMITTER = bytes.fromhex("83 27 01 07 00 00 00 00 00 00 00 00 00 f0 bf")
SET_RECEIVER = bytes.fromhex("83 34 02 ff ff ff ff 20 00 00 00")


def radio_controller(framing: str = "cobs-crc16", size: int = WIDE) -> Robot:
    """A controller that is ready."""
    robot = Robot(Link(library(), framing, size=size), RADIO)
    messages = [*registered(RADIO), wire.value(wire.SENSOR_DATA, 38, 3, 1)]
    robot.poll(0, b"".join(messages) if framing == "wc2ec" else framed(messages))
    assert robot.ready
    return robot


def radio_body() -> Robot:
    """A body whose gateway is there."""
    robot = Robot(Link(library(), "cobs-crc16", size=WIDE), RADIO, step_ms=20)
    assert robot.poll(1000) == framed(registered(RADIO))
    robot.poll(1001, motor(0, 0))
    return robot


def received(data: bytes, channel: int = 7, signal: tuple[float, ...] = SIGNAL) -> bytes:
    return wire.received_packet(52, 2, channel, signal[0], signal[1:], data)


def test_a_controller_sends_packets_and_sets_its_radio() -> None:
    robot = radio_controller()
    assert robot.send("tx", 7, b"hi")
    assert robot.link.sent() == cobs.frame(SEND)
    assert robot.set_emitter("tx", 7, -1)
    assert robot.link.sent() == cobs.frame(SET_EMITTER)
    assert robot.set_receiver("rx", -1, 32)
    assert robot.link.sent() == cobs.frame(SET_RECEIVER)
    assert robot.send("tx", -1, bytes(64))
    (message,) = Decoder(Side.EXTERNAL, Layouts("R2020a", extensions=True)).feed(
        frames(robot.link.sent())[0]
    )
    assert (message.channel, message.data) == (-1, bytes(64))
    refused = [
        robot.send("tx", 7, b""),
        robot.send("tx", 7, bytes(65)),
        robot.send("tx", -2, b"x"),
        robot.send("rx", 7, b"x"),
        robot.set_emitter("tx", 7, math.nan),
        robot.set_emitter("tx", 7, -0.5),
        robot.set_emitter("rx", 7, 1),
        robot.set_receiver("rx", 7, -1),
        robot.set_receiver("tx", 7, 32),
        robot.command("tx", 1),
    ]
    assert not any(refused)
    assert robot.poll(300) == motor(0, 0), "of the watchdog, and nothing of what was refused"
    assert not robot.send("tx", 7, b"hi"), "its gateway is silent"
    assert robot.poll(301) == b""


@pytest.mark.parametrize("framing", ["cobs-crc16", "wc2ec"])
def test_a_controller_receives_packets_one_in_each_poll(framing: str) -> None:
    robot = radio_controller(framing)
    messages = [received(b"one"), received(bytes(64), -1), wire.value(wire.SENSOR_DATA, 38, 3, 5)]
    robot.poll(1, b"".join(messages) if framing == "wc2ec" else framed(messages))
    assert robot.news
    assert robot.packet == ("rx", 7, b"one", SIGNAL)
    robot.poll(2)
    assert robot.packet == ("rx", -1, bytes(64), SIGNAL)
    assert robot.value("ds_front") == 1, "what follows is read later"
    robot.poll(3)
    assert (robot.news, robot.packet, robot.value("ds_front")) == (True, None, 5)
    assert robot.ready, "packets feed the watchdog, too"


def test_packets_that_a_controller_refuses() -> None:
    robot = radio_controller()
    short = received(b"four")[:-1]
    bad = [received(b""), short, received(b"x", -2), received(b"x", 1, (math.nan, 0.0, 0.0, 0.0))]
    for message in bad:
        robot.poll(1, cobs.frame(message))
        assert (robot.news, robot.packet) == (False, None)
    robot.poll(2, cobs.frame(received(bytes(65))))
    assert robot.link.dropped == {"too_long": 1}
    tcp = radio_controller("wc2ec", size=37)
    tcp.poll(1, received(bytes(100)))
    assert tcp.packet is None
    assert tcp.link.dropped == {"lost": 1}, "no room for the length"
    tcp = radio_controller("wc2ec")
    tcp.poll(1, received(bytes(100)) + received(b"next"))
    assert tcp.packet == ("rx", 7, b"next", SIGNAL), "a long one is dropped"
    assert tcp.link.dropped == {"too_long": 1}


def test_a_body_takes_packets_to_send_and_the_settings_of_its_radio() -> None:
    robot = radio_body()
    robot.poll(1002, cobs.frame(SEND + SEND[:-1] + b"o" + wire.value(wire.SET_VALUE, 53, 0, 3)))
    assert robot.news
    assert robot.packet == ("tx", 7, b"hi", (0, 0, 0, 0))
    robot.poll(1003)
    assert robot.packet == ("tx", 7, b"ho", (0, 0, 0, 0)), "the next one of this frame"
    assert robot.motor("left", 1003) == 0
    robot.poll(1004)
    assert (robot.packet, robot.motor("left", 1004)) == (None, 3)
    assert (robot.radio("tx"), robot.radio("rx")) == ((-7, -7), (-7, -7))
    robot.poll(1005, cobs.frame(SET_EMITTER + SET_RECEIVER))
    assert (robot.radio("tx"), robot.radio("rx")) == ((7, -1), (-1, -7))
    assert robot.poll(1005, cobs.frame(SEND[:7] + bytes(4))) == b"", "empty: no message"
    assert robot.packet is None
    bad = [
        SEND.replace(b"\x07", b"\xfe", 1).replace(bytes(3), b"\xff" * 3, 1),
        SET_EMITTER[:7] + struct.pack("<d", math.inf),
        SET_RECEIVER[:7] + struct.pack("<i", -1),
        bytes((130, 52, 2)) + bytes(8),
    ]
    for message in bad:
        before = robot.radio("tx"), robot.radio("rx")
        assert frames(robot.poll(1006, cobs.frame(message))) == [bytes((127, *message[1:3]))]
        assert (robot.packet, robot.news) == (None, False)
        assert (robot.radio("tx"), robot.radio("rx")) == before
    robot.poll(2000)
    assert robot.radio("tx") == (-7, -7), "of a gateway that is gone"


def test_a_body_passes_on_what_its_receiver_receives() -> None:
    robot = radio_body()
    assert robot.receive("rx", 7, b"hi", *SIGNAL)
    assert robot.link.sent() == cobs.frame(received(b"hi"))
    assert robot.receive("rx", -1, bytes(64), 0, 0, 0, 0)
    assert frames(robot.link.sent()) == [received(bytes(64), -1, (0, 0, 0, 0))]
    refused = [
        robot.receive("rx", 7, bytes(65), *SIGNAL),
        robot.receive("rx", 7, b"", *SIGNAL),
        robot.receive("rx", -2, b"x", *SIGNAL),
        robot.receive("rx", 7, b"x", math.inf, 0, 0, 0),
        robot.receive("tx", 7, b"x", *SIGNAL),
    ]
    robot.poll(1002, cobs.frame(bytes((129, 52, 2))))
    refused.append(robot.receive("rx", 7, b"x", *SIGNAL))
    robot.poll(1003, cobs.frame(SET_RECEIVER))
    assert robot.receive("rx", 7, b"x", *SIGNAL), "on again"
    robot.link.sent()
    robot.poll(2000)
    refused.append(robot.receive("rx", 7, b"x", *SIGNAL))
    assert not any(refused)


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
