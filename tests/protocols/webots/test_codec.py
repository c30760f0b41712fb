"""The messages of every device, byte by byte as in libController, and with random bytes."""

from __future__ import annotations

import dataclasses
import math
import typing

import pytest
from hypothesis import given, strategies as st

from hilgw.protocols.webots import device_messages as device, robot_messages as robot
from hilgw.protocols.webots.codec import Codec, Command, Message
from hilgw.protocols.webots.requests import Block
from hilgw.protocols.webots.wire import ProtocolError

# One device of each kind, with the R2025a numbers of the specification; and a camera.
NODES = {
    1: (43, "Emitter"),
    2: (56, "Receiver"),
    3: (57, "RotationalMotor"),
    4: (50, "LinearMotor"),
    5: (42, "DistanceSensor"),
    6: (52, "PositionSensor"),
    7: (47, "LED"),
    8: (49, "LightSensor"),
    9: (35, "Accelerometer"),
    10: (45, "Gyro"),
    11: (39, "Compass"),
    12: (44, "GPS"),
    13: (46, "InertialUnit"),
    14: (60, "TouchSensor"),
    15: (37, "Brake"),
    16: (48, "Lidar"),
    17: (38, "Camera"),
}
CONFIGURATION = robot.RobotConfiguration(
    name="rob 1",
    version="R2025a",
    devices=tuple(robot.DeviceEntry(node, f"d{tag}", "m") for tag, (node, _) in NODES.items()),
    basicTimeStep=32.0,
)
ZERO, ONE, TWO = "0000000000000000", "000000000000f03f", "0000000000000040"
MINUS_ONE, HALF, INFINITE = "000000000000f0bf", "000000000000e03f", "000000000000f07f"

ROW = ((0.0, 1.0, 2.0),)
ROW_BYTES = f"01000000 {ZERO}{ONE}{TWO}"
MESSAGES: list[tuple[Message, str]] = [
    (device.EmitterConfiguration(1, 32, 3, 0.5, 2.0, -1.0, (3, -1)), "0100 00 20000000 03000000"
     f"{HALF}{TWO}{MINUS_ONE} 02000000 03000000 ffffffff"),
    (device.SetChannel(1, -1), "0100 01 ffffffff"),
    (device.SetRange(1, 2.0), f"0100 02 {TWO}"),
    (device.SetBufferSize(1, 64), "0100 03 40000000"),
    (device.SetAllowedChannels(1, (7,)), "0100 04 01000000 07000000"),
    (device.ReceiverConfiguration(2, -1, 7, ()), "0200 00 ffffffff 07000000 00000000"),
    (device.Receive(2, 7, (0.0, 1.0, -1.0), 0.5, b"hi"),
     f"0200 01 07000000 {ZERO}{ONE}{MINUS_ONE} {HALF} 02000000 6869"),
    (device.MotorConfiguration(3, 0, 0.0, 1.0, 2.0, -1.0, 0.5, 1.0, 0.0, 2.0, 0.0, 1.0, -1.0, (4,)),
     f"0300 00 00000000 {ZERO}{ONE}{TWO}{MINUS_ONE}{HALF}{ONE}{ZERO}{TWO}{ZERO}{ONE}{MINUS_ONE}"
     "01000000 0400"),
    (device.ValueMessage(3, 0.5), f"0300 05 {HALF}"),
    (device.AssociatedDevice(3, 6), "0300 08 0600"),
    (device.AssociatedDevice(4, 0), "0400 08 0000"),
    (device.DistanceSensorConfiguration(5, 3, 0.0, 1.0, 0.5, ROW),
     f"0500 00 03000000 {ZERO}{ONE}{HALF} {ROW_BYTES}"),
    (device.ValueMessage(5, 2.0), f"0500 32 {TWO}"),
    (device.JointConfiguration(6, 1), "0600 00 01000000"),
    (device.ValueMessage(6, 1.0), f"0600 01 {ONE}"),
    (device.AssociatedDevice(6, 3), "0600 02 0300"),
    (device.TableConfiguration(8, ROW), f"0800 00 {ROW_BYTES}"),
    (device.ValueMessage(8, 1.0), f"0800 37 {ONE}"),
    (device.TableConfiguration(9), "0900 00 00000000"),
    (device.Values(9, (0.0, 1.0, 2.0)), f"0900 33 {ZERO}{ONE}{TWO}"),
    (device.Values(10, (0.0, 1.0, 2.0)), f"0a00 35 {ZERO}{ONE}{TWO}"),
    (device.Values(11, (0.0, 1.0, 2.0)), f"0b00 34 {ZERO}{ONE}{TWO}"),
    (device.GpsConfiguration(12, 1), "0c00 00 01000000"),
    (device.GpsValues(12, (0.0, 1.0, 2.0), 0.5, (1.0, 0.0, -1.0)),
     f"0c00 02 {ZERO}{ONE}{TWO} {HALF} {ONE}{ZERO}{MINUS_ONE}"),
    (device.InertialUnitConfiguration(13, -1.0, "ENU"), f"0d00 00 {MINUS_ONE} 454e5500"),
    (device.Quaternion(13, (0.0, 1.0, 2.0, 0.5)), f"0d00 36 {ZERO}{ONE}{TWO}{HALF}"),
    (device.TouchSensorConfiguration(14, 2, ROW), f"0e00 00 02000000 {ROW_BYTES}"),
    (device.ValueMessage(14, 1.0), f"0e00 28 {ONE}"),
    (device.Values(14, (0.0, 1.0, 2.0)), f"0e00 29 {ZERO}{ONE}{TWO}"),
    (device.JointConfiguration(15, 0), "0f00 00 00000000"),
    (device.AssociatedDevice(15, 3), "0f00 04 0300"),
    (device.CameraConfiguration(17, 7, 64, 32, 0.5, 1, True, 0.5, 2.0, False, True, 1.0, 0.0, 2.0),
     f"1100 00 07000000 4000 2000 {HALF}{ONE} 01 {HALF}{TWO} 00 01 {ONE}{ZERO}{TWO}{ZERO}{ZERO}"),
    (device.ImageFile(17, 8192, "/a"), "1100 08 00200000 2f6100"),
    (robot.Quit(), "0000 02"),
    (robot.Time(2.0), f"0000 04 {TWO}"),
    (robot.Battery(0.5), f"0000 05 {HALF}"),
    (robot.KeyboardKeys((65, 66)), "0000 06 02 41000000 42000000"),
    (robot.MouseState(True, False, True, (0.0, 1.0), (0.0, 1.0, 2.0)),
     f"0000 08 010001 {ZERO}{ONE} {ZERO}{ONE}{TWO}"),
    (robot.JoystickConfiguration(2, 3, 1, "J"),
     "0000 03 02000000 03000000 01000000 4a00"),
    (robot.JoystickConfiguration(-1, -1, -1, ""), "0000 03 ffffffff ffffffff ffffffff"),
    (robot.JoystickState((1,), (-5, 5), ()),
     "0000 07 01000000 01000000 02000000 fbffffff 05000000 00000000"),
    (robot.WindowShow(), "0000 09"),
    (robot.SimulationMode(2), "0000 0a 02000000"),
    (robot.CustomData("ab"), "0000 0b 616200"),
    (robot.SupervisorFlag(True), "0000 0c 01"),
    (robot.Model(""), "0000 0d 00"),
    (robot.WindowUpdate(), "0000 0e"),
    (robot.Urdf("<r/>"), "0000 2e 3c722f3e00"),
    (robot.UserInputEvent(4), "0000 50 04000000"),
    (robot.WwiMessage(b"hi\0"), "0000 51 03000000 686900"),
]  # fmt: skip
COMMANDS: list[tuple[Command, str]] = [
    (robot.JoystickSamplingPeriod(0), "23 0000"),
    (robot.KeyboardSamplingPeriod(16), "22 1000"),
    (robot.MouseSamplingPeriod(16), "24 1000"),
    (robot.BatterySamplingPeriod(64), "1f 4000"),
    (robot.SetCustomData("ab"), "25 0300 616200"),
    (robot.ConsoleMessage(2, "e\n"), "1e 02 03000000 650a00"),
    (robot.ClientExitNotify(), "26"),
    (robot.Pin(True), "28 01"),
    (robot.RemoteOn(), "20"),
    (robot.RemoteOff(), "21"),
    (robot.GetUrdf("p_"), "2e 0300 705f00"),
    (robot.WaitForUserInput(1, -1), "50 01000000 ffffffff"),
    (robot.WwiMessage(b"x\0"), "51 02000000 7800"),
    (robot.MouseEnable3dPosition(True), "27 01"),
    (robot.JoystickForceFeedback(7), "29 0700"),
    (robot.JoystickForceFeedback(-5), "29 fbff"),
    (robot.JoystickForceFeedbackDuration(2.0), f"2a {TWO}"),
    (robot.JoystickAutoCenteringGain(0.5), f"2b {HALF}"),
    (robot.JoystickResistanceGain(0.5), f"2c {HALF}"),
    (robot.JoystickForceAxis(1), "2d 01000000"),
    (device.EmitterSend(1, -1, 2.0, b"hi"), f"00 ffffffff {TWO} 02000000 6869"),
    (device.SetChannel(1, 4), "01 04000000"),
    (device.SetRange(1, 2.0), f"02 {TWO}"),
    (device.SetSamplingPeriod(2, 64), "01 4000"),
    (device.SetChannel(2, 8), "02 08000000"),
    (device.SetPosition(3, math.inf), f"0100 {INFINITE}"),
    (device.SetVelocity(3, -1.0), f"0200 {MINUS_ONE}"),
    (device.SetAvailableForce(3, 2.0), f"0300 {TWO}"),
    (device.SetForce(3, 2.0), f"0400 {TWO}"),
    (device.SetFeedbackPeriod(4, 32), "0500 2000"),
    (device.SetAcceleration(4, -1.0), f"0600 {MINUS_ONE}"),
    (device.SetControlPid(4, 1.0, 0.0, 0.5), f"0700 {ONE}{ZERO}{HALF}"),
    (device.GetAssociatedDevice(4, 52), "0800 3400"),
    *[
        (device.SetSamplingPeriod(tag, 65535), "01 ffff")
        for tag in (5, 6, 8, 9, 10, 11, 12, 13, 14)
    ],
    (device.GetAssociatedDevice(6, 57), "02 3900"),
    (device.SetLed(7, -1), "01 ffffffff"),
    (device.SetFieldOfView(17, 0.5), f"04 {HALF}"),
    (device.SetFocalDistance(17, 0.5), f"05 {HALF}"),
    (device.SetExposure(17, 0.5), f"06 {HALF}"),
    (device.BrakeCommand(15, 0.5), f"02 {HALF}"),
    (device.BrakeCommand(15, None, 57), "04 3900"),
    (device.BrakeCommand(15, 0.5, 57), f"06 {HALF} 3900"),
]


def codec(version: str = "R2025a") -> Codec:
    """A codec that has seen the configuration."""
    made = Codec(version)
    made.encode_messages([CONFIGURATION])
    return made


@pytest.mark.parametrize(("message", "data"), MESSAGES, ids=repr)
def test_messages_of_the_simulator(message: Message, data: str) -> None:
    raw = bytes.fromhex(data)
    assert codec().encode_messages([message]) == raw
    assert codec().decode_messages(raw * 2) == [message] * 2  # they have no length
    for size in range(1, len(raw)):  # one that is cut is never read past its end
        with pytest.raises(ProtocolError):
            codec().decode_messages(raw[:size])


@pytest.mark.parametrize(("command", "data"), COMMANDS, ids=repr)
def test_commands_of_the_controller(command: Command, data: str) -> None:
    block = Block(getattr(command, "tag", 0), bytes.fromhex(data))
    assert codec().encode_commands([command]) == [block]
    assert codec().decode_commands(block) == [command]


def test_every_message_and_command_has_its_vector() -> None:
    for listed, union in ((MESSAGES, Message), (COMMANDS, Command)):
        missing = set(typing.get_args(union)) - {type(each) for each, _ in listed}
        assert missing <= {robot.RobotConfiguration, robot.NewDevices}


PLAIN = robot.RobotConfiguration(
    name="rob 1",
    version="R2025a",
    time=0.0,
    devices=(robot.DeviceEntry(43, "emitter", "em-model"),),
    basicTimeStep=2.0,
    projectPath="/p",
    controller="c",
    customData="d",
    mode=1,
)
DEVICE = "656d697474657200 656d2d6d6f64656c00"
END = f"{TWO} 2f7000 00 00 00 00 6300 6400 00 00 01000000"


def test_the_configuration_from_r2023b_on() -> None:
    data = bytes.fromhex(
        f"0000 00 726f62203100 52323032356100 00 01 0200 2200 {ZERO} 2b00 {DEVICE} {END}"
    )
    for version in ("R2023b", "R2024a", "R2025a"):
        assert Codec(version).encode_messages([PLAIN]) == data
        assert Codec(version).decode_messages(data) == [PLAIN]


def test_the_configuration_of_r2023a() -> None:
    """Name behind the time, no version; node numbers are one lower."""
    older = dataclasses.replace(
        PLAIN, version="", devices=(robot.DeviceEntry(42, "emitter", "em-model"),)
    )
    data = bytes.fromhex(f"0000 00 00 01 0200 2100 {ZERO} 726f62203100 2a00 {DEVICE} {END}")
    made = Codec("R2023a")
    assert made.encode_messages([older]) == data
    assert Codec("R2023a").decode_messages(data) == [older]
    assert made.kinds == {0: "Robot", 1: "Emitter"}
    with pytest.raises(ProtocolError):
        Codec("R2025a").decode_messages(data)


def test_another_version_is_an_error_with_its_name() -> None:
    data = bytearray(Codec().encode_messages([PLAIN]))
    data[data.index(b"\x22\0")] = 33
    with pytest.raises(ProtocolError, match=r"33 is not a Robot; the peer is R2025a") as caught:
        Codec().decode_messages(bytes(data))
    assert "webots:" in caught.value.fix


def test_new_devices_continue_the_tags() -> None:
    sender, receiver = codec(), codec()
    message = robot.NewDevices((robot.DeviceEntry(47, "led", ""),))
    data = sender.encode_messages([message])
    assert data == bytes.fromhex("0000 0f 0100 2f00 6c656400 00")
    assert receiver.decode_messages(data) == [message]
    assert sender.kinds[18] == receiver.kinds[18] == "LED"


def test_each_block_is_read_by_the_configuration_that_came_last() -> None:
    """Also one whose bytes came before."""
    made, block = codec(), Block(1, bytes.fromhex("01 04000000"))
    assert made.decode_commands(block) == [device.SetChannel(1, 4)]
    led = dataclasses.replace(CONFIGURATION, devices=(robot.DeviceEntry(47, "led", ""),))
    made.encode_messages([led])
    assert made.decode_commands(block) == [device.SetLed(1, 4)]
    assert made.kinds.keys() == {0, 1}
    made.forget()
    with pytest.raises(ProtocolError, match="device 1 is not in the configuration"):
        made.decode_commands(block)


def test_blocks_are_in_the_order_of_their_devices() -> None:
    commands: list[Command] = [device.SetLed(7, 1), robot.Pin(True), device.SetChannel(1, 2)]
    assert [block.tag for block in codec().encode_commands(commands)] == [0, 1, 7]


def test_names_that_are_not_utf8_come_back_as_they_were() -> None:
    data = bytes.fromhex("0000 0b ff80 00")
    messages = codec().decode_messages(data)
    assert codec().encode_messages(messages) == data


@pytest.mark.parametrize(
    ("tag", "data", "message"),
    [
        (None, "0000 63", "message 99 of Robot"),
        (None, "6300 01", "device 99 is not in the configuration"),
        (None, "1000 01", r"device 16 \(Lidar\)"),
        (None, "0700 01", "message 1 of LED"),
        (None, "0500 32 0000", "cut off"),
        (None, "0500", "cut off"),
        (None, "0000 0b 6161", "no end"),
        (None, "0200 01 07000000" + ZERO * 4 + "03000000 6869", "cut off"),
        (None, "0200 01 07000000" + ZERO * 4 + "ffffffff 6869", "negative"),
        (None, "0200 01 07000000" + ZERO * 4 + "ffffff7f 6869", "cut off"),
        (None, "0200 00 00000000 00000000 ffffff7f", "2147483647 items"),
        (None, "0900 00 ffffff7f", "2147483647 items"),
        (None, "0900 00 ffffffff", "-1 items"),
        (None, "0000 07 ffffffff", "4294967295 items"),
        (None, "0000 0f ffff", "65535 devices"),
        (None, f"0000 00 00 00 00 00 0000 2200 {ZERO}", "-1 devices"),
        (0, "63", "command 99 of Robot"),
        (0, "23 00", "cut off"),
        (0, "25 0300 610061", "ends at byte 2 of 3"),
        (0, "25 ffff 6100", "ends at byte 2"),
        (0, "1e 01 ffffffff 6100", "ends at byte 2"),
        (99, "01", "device 99"),
        (16, "01 2000", "Lidar"),
        (17, "0a 2000", "command 10 of Camera"),
        (1, f"00 00000000 {ZERO} ffffff7f 00", "cut off"),
        (1, f"00 00000000 {ZERO} ffffffff 00", "negative"),
        (3, "01", "cut off"),
        (3, "0900", "command 9 of RotationalMotor"),
        (15, "00", "command 0 of Brake"),
        (15, "08", "command 8 of Brake"),
        (15, "06 00", "cut off"),
    ],
)
def test_hostile_messages_and_commands(tag: int | None, data: str, message: str) -> None:
    """tag: of a command; None: messages."""
    sent, before = bytes.fromhex(data), bytes.fromhex(f"0000 04 {TWO}")
    if tag is None:
        assert codec().decode_known(before + sent) == ([robot.Time(2.0)], len(before))
    with pytest.raises(ProtocolError, match=message) as caught:
        if tag is None:
            codec().decode_messages(before + sent)
        else:
            codec().decode_commands(Block(tag, sent))
    assert caught.value.where == ("answer" if tag is None else "request") and caught.value.fix
    assert caught.value.tail == sent[:256]


@pytest.mark.parametrize(
    "message",
    [
        device.ValueMessage(1, 1.0),  # an Emitter has none
        device.ValueMessage(7, 1.0),  # nothing is ever sent to an LED
        device.ValueMessage(99, 1.0),
        device.Values(16, (0.0, 0.0, 0.0)),
        device.AssociatedDevice(3, 65536),
        robot.SimulationMode(2**31),
        robot.CustomData("a\0b"),
        robot.CustomData("\ud800"),
    ],
)
def test_messages_that_cannot_be_sent(message: Message) -> None:
    with pytest.raises(ProtocolError):
        codec().encode_messages([message])


@pytest.mark.parametrize("command", [device.SetSamplingPeriod(2, 70000), device.BrakeCommand(15)])
def test_commands_that_cannot_be_sent(command: Command) -> None:
    """A number that does not fit its field; an empty set of bits."""
    with pytest.raises(ProtocolError):
        codec().encode_commands([command])


def test_very_many_messages() -> None:
    """Each needs far more memory than its bytes."""
    with pytest.raises(ProtocolError, match="messages in one answer"):
        codec().decode_messages(b"\0\0\2" * ((1 << 17) + 1))
    with pytest.raises(ProtocolError, match="commands in one block"):
        codec().decode_commands(Block(0, b"\x26" * ((1 << 17) + 1)))


HEADS = st.builds(
    lambda tag, command: bytes([tag, 0, command]), st.integers(0, 17), st.integers(0, 90)
)
HOSTILE = st.binary(max_size=40) | st.builds(
    lambda head, count, rest: head + count + rest,
    st.one_of(HEADS, st.sampled_from([bytes.fromhex(data)[:20] for _, data in MESSAGES])),
    st.sampled_from([b"", b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff", b"\0\0\0\x80"]),
    st.binary(max_size=60),
)


@given(HOSTILE, st.sampled_from(["R2023a", "R2025a"]))
def test_any_bytes_as_messages(data: bytes, version: str) -> None:
    made = Codec(version)
    made.kinds = codec().kinds.copy()
    try:
        messages = made.decode_messages(data)
    except ProtocolError as error:
        assert error.what and error.fix and len(error.tail) <= 256
    else:
        assert bool(messages) == bool(data)


@given(HOSTILE, st.integers(0, 17))
def test_any_bytes_as_commands(data: bytes, tag: int) -> None:
    try:
        commands = codec().decode_commands(Block(tag, data[2:]))
    except ProtocolError as error:
        assert error.what and error.fix and len(error.tail) <= 256
    else:
        assert bool(commands) == bool(data[2:])
