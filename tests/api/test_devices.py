"""Devices of the API: sensors, motors, brakes, LEDs, cameras, Emitter and Receiver."""

import math
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from hilgw import api
from hilgw.api import Camera, DistanceSensor, Emitter, Motor, Receiver, Robot
from hilgw.protocols.webots import device_messages as messages
from hilgw.protocols.webots.answers import Image
from hilgw.protocols.webots.device_messages import (
    CameraConfiguration,
    EmitterConfiguration,
    ImageFile,
    SetSamplingPeriod,
)
from tests.api.simulator import Simulator, motor, robot_of

PIXELS = bytes(range(24))  # 3 columns, 2 rows


def configuration(tag: int) -> Any:
    limits = {"minFieldOfView": 0.5, "maxFieldOfView": 1.0}
    return CameraConfiguration(
        tag, 7, 3, 2, 0.75, 0.01, True, **limits, recognition=False, segmentation=False, exposure=2
    )


def test_what_a_camera_is(robot: Robot) -> None:
    eye = robot.getDevice("eye")
    assert isinstance(eye, Camera) and eye.getNodeType() == 38
    assert (eye.getWidth(), eye.getHeight(), eye.width, eye.height) == (3, 2, 3, 2)
    assert (eye.getFov(), eye.getMinFov(), eye.getMaxFov()) == (0.75, 0.5, 1.0)
    assert (eye.getNear(), eye.getExposure(), eye.hasRecognition()) == (0.01, 2.0, False)


def test_an_image_of_the_answer(
    simulator: Simulator, robot: Robot, capsys: pytest.CaptureFixture[str]
) -> None:
    eye = robot.getDevice("eye")
    assert eye.getImage() is None and "disabled device" in capsys.readouterr().err
    eye.enable(32)
    assert eye.getImage() is None and eye.getImageArray() is None
    simulator.images = [[Image(15, 0, PIXELS), Image(15, 9, b"segmentation")]]
    robot.step(32)
    assert simulator.commands() == [SetSamplingPeriod(15, 32)]
    assert eye.getImage() == PIXELS
    robot.step(32)
    assert eye.getImage() == PIXELS  # the last one stays
    assert Camera.imageGetRed(PIXELS, 3, 1, 1) == 18
    assert Camera.imageGetGreen(PIXELS, 3, 1, 1) == 17
    assert Camera.imageGetBlue(PIXELS, 3, 1, 1) == 16
    assert Camera.imageGetGray(PIXELS, 3, 1, 1) == Camera.imageGetGrey(PIXELS, 3, 1, 1) == 17
    assert eye.getImageArray() == [
        [[2, 1, 0], [14, 13, 12]],
        [[6, 5, 4], [18, 17, 16]],
        [[10, 9, 8], [22, 21, 20]],
    ]


def test_an_image_in_a_file(
    tmp_path: Path, simulator: Simulator, robot: Robot, capsys: pytest.CaptureFixture[str]
) -> None:
    """As on a local socket: the simulator changes the file."""
    file = tmp_path / "eye"
    file.write_bytes(PIXELS)
    eye = robot.getDevice("eye")
    eye.enable(32)
    simulator.answers = [[ImageFile(15, len(PIXELS), str(file))]]
    robot.step(32)
    assert eye.getImage() == PIXELS
    file.unlink()
    assert eye.getImage() is None and "wb_camera_get_image(): " in capsys.readouterr().err


def test_a_camera_that_the_robot_does_not_have(
    robot: Robot, capsys: pytest.CaptureFixture[str]
) -> None:
    """libController crashes when it enables one."""
    other = Camera("other")
    robot.step(32)
    assert (other.getWidth(), other.getImage()) == (-1, None)
    assert "'other' was not found" in capsys.readouterr().err


TABLE = ((0.0, 1024.0, 0.1), (0.5, 0.0, 0.2))
DEVICES: list[tuple[str, str, Any]] = [
    (
        "DistanceSensor",
        "ds",
        lambda tag: messages.DistanceSensorConfiguration(tag, 1, 0.0, 1024.0, 0.5, TABLE),
    ),
    ("RotationalMotor", "wheel", motor),
    ("PositionSensor", "encoder", lambda tag: messages.JointConfiguration(tag, 0)),
    ("Brake", "brake", lambda tag: messages.JointConfiguration(tag, 0)),
    ("LED", "led", None),
    ("LightSensor", "light", lambda tag: messages.TableConfiguration(tag, TABLE)),
    ("Accelerometer", "acc", lambda tag: messages.TableConfiguration(tag)),
    ("Gyro", "gyro", lambda tag: messages.TableConfiguration(tag)),
    ("Compass", "compass", lambda tag: messages.TableConfiguration(tag)),
    ("GPS", "gps", lambda tag: messages.GpsConfiguration(tag, 1)),
    ("InertialUnit", "imu", lambda tag: messages.InertialUnitConfiguration(tag, 0.25, "ENU")),
    ("TouchSensor", "bumper", lambda tag: messages.TouchSensorConfiguration(tag, 0)),
    ("TouchSensor", "force", lambda tag: messages.TouchSensorConfiguration(tag, 2, TABLE)),
    ("LinearMotor", "slider", None),
    ("Camera", "eye", configuration),
]
TAG = {name: tag for tag, (_, name, _) in enumerate(DEVICES, 1)}


@pytest.fixture
def simulator() -> Simulator:
    return Simulator(DEVICES)


def test_every_device_is_there_by_name_and_by_index(robot: Robot) -> None:
    names = [robot.getDeviceByIndex(index).getName() for index in range(15)]
    assert names == list(TAG) and robot.getNumberOfDevices() == 15
    assert [type(each).__name__ for each in robot.devices.values()][:5] == [
        "DistanceSensor",
        "Motor",
        "PositionSensor",
        "Brake",
        "LED",
    ]
    assert robot.getDevice("ds").getModel() == "ds-model"
    assert robot.getDevice("ds").getNodeType() == 42 and robot.getDevice("led").node_type == 47
    for outside in (15, -1):  # a KeyError with the name of the robot, which has tag 0
        with pytest.raises(KeyError, match="rover"):
            robot.getDeviceByIndex(outside)


def test_an_unknown_device_is_none(robot: Robot, capsys: pytest.CaptureFixture[str]) -> None:
    assert robot.getDevice("nix") is None
    assert capsys.readouterr().err == 'Device "nix" was not found on robot "rover"\n'
    assert robot.getDevice("Ds") is None
    assert capsys.readouterr().err.endswith("""; did you mean 'ds'?\n""")
    assert robot.getDistanceSensor("ds") is robot.getDevice("ds")  # type: ignore[attr-defined]
    assert capsys.readouterr().err.startswith("DEPRECATION: Robot.getDistanceSensor")


SENSORS = {
    "ds": (messages.ValueMessage(TAG["ds"], 7.5), "value", 7.5),
    "encoder": (messages.ValueMessage(TAG["encoder"], -1.5), "value", -1.5),
    "light": (messages.ValueMessage(TAG["light"], 3.0), "value", 3.0),
    "acc": (messages.Values(TAG["acc"], (1.0, 2.0, 3.0)), "value", [1.0, 2.0, 3.0]),
    "gyro": (messages.Values(TAG["gyro"], (1.0, 2.0, 3.0)), "value", [1.0, 2.0, 3.0]),
    "compass": (messages.Values(TAG["compass"], (0.0, 1.0, 0.0)), "value", [0.0, 1.0, 0.0]),
    "gps": (
        messages.GpsValues(TAG["gps"], (1.0, 2.0, 3.0), 5.0, (3.0, 4.0, 0.0)),
        "speed_vector",
        [3.0, 4.0, 0.0],
    ),
    "imu": (
        messages.Quaternion(TAG["imu"], (0.0, 0.0, 0.6, 0.8)),
        "quaternion",
        [0.0, 0.0, 0.6, 0.8],
    ),
    "bumper": (messages.ValueMessage(TAG["bumper"], 1.0), "value", 1.0),
    "force": (messages.Values(TAG["force"], (1.0, 2.0, 3.0)), "values", [1.0, 2.0, 3.0]),
}


@pytest.mark.parametrize("name", SENSORS)
def test_a_sensor_is_nan_then_has_the_last_value(
    name: str, simulator: Simulator, robot: Robot, capsys: pytest.CaptureFixture[str]
) -> None:
    sensor = robot.getDevice(name)
    message, attribute, value = SENSORS[name]
    assert sensor.getSamplingPeriod() == 0
    first = getattr(sensor, attribute)
    assert all(map(math.isnan, first if isinstance(first, list) else [first]))
    assert "called for a disabled device! Please use: wb_" in capsys.readouterr().err
    sensor.enable(64)
    sensor.enable(-1)
    assert "called with negative sampling period." in capsys.readouterr().err
    robot.step(32)
    assert simulator.commands() == [messages.SetSamplingPeriod(TAG[name], 64)]
    getattr(sensor, attribute)  # not sampled yet: no error
    simulator.answers = [[message]]
    robot.step(32)
    assert getattr(sensor, attribute) == value and capsys.readouterr().err == ""
    sensor.disable()
    robot.step(32)
    assert simulator.commands() == [messages.SetSamplingPeriod(TAG[name], 0)]
    assert getattr(sensor, attribute) == value and "disabled" in capsys.readouterr().err


def test_fields_of_sensors(robot: Robot, capsys: pytest.CaptureFixture[str]) -> None:
    assert DistanceSensor("ds").getSamplingPeriod() == 32, "made by its name it is enabled"
    assert DistanceSensor("ds", 100) and robot.getDevice("ds").sampling_period == 100
    ds, gps, imu = (robot.getDevice(name) for name in ("ds", "gps", "imu"))
    assert (ds.getType(), ds.getMinValue(), ds.getMaxValue()) == (DistanceSensor.INFRA_RED, 0, 1024)
    assert ds.getAperture() == 0.5 and ds.getLookupTable() == [0.0, 1024.0, 0.1, 0.5, 0.0, 0.2]
    assert gps.getCoordinateSystem() == api.GPS.WGS84 and imu.getNoise() == 0.25
    bumper, force = robot.getDevice("bumper"), robot.getDevice("force")
    assert force.getType() == api.TouchSensor.FORCE3D
    for wrong, other in ((bumper.getValues, "get_value"), (force.getValue, "get_values")):
        wrong()
        assert f"you should use wb_touch_sensor_{other}() instead" in capsys.readouterr().err
    assert api.GPS.convertToDegreesMinutesSeconds(12.5125) == "12° 30′ 45″"
    assert api.GPS.convertToDegreesMinutesSeconds(-0.5) == "-0° 30′ 0″"


def quaternion(*turns: tuple[int, float]) -> list[float]:
    """Of these turns about x, y or z, each in the frame that the one before has turned."""
    x, y, z, w = 0.0, 0.0, 0.0, 1.0
    for axis, angle in turns:
        a, b, c = (math.sin(angle / 2) * (axis == each) for each in range(3))
        d = math.cos(angle / 2)
        x, y, z, w = (
            *(w * a + x * d + y * c - z * b, w * b - x * c + y * d + z * a),
            *(w * c + x * b - y * a + z * d, w * d - x * a - y * b - z * c),
        )
    return [x, y, z, w]


def test_roll_pitch_yaw(simulator: Simulator, robot: Robot) -> None:
    imu = robot.getDevice("imu")
    imu.enable(32)
    for system, pitch, yaw in (("ENU", 1, 2), ("NUE", 2, 1)):
        turned = quaternion((yaw, 1.1), (pitch, -0.5), (0, 0.3))
        upright = [value * 1.000001 for value in quaternion((pitch, math.pi / 2))]  # rounded up
        for given in (upright, turned):
            configured = messages.InertialUnitConfiguration(TAG["imu"], 0.25, system)
            value = messages.Quaternion(TAG["imu"], tuple(given))  # type: ignore[arg-type]
            simulator.answers = [[configured, value]]
            robot.step(32)
            angles = imu.getRollPitchYaw()
            assert given is turned or angles[1] == pytest.approx(math.pi / 2)
        assert angles == pytest.approx([0.3, -0.5, 1.1])


def test_motor_commands_are_in_order_one_of_each_kind(simulator: Simulator, robot: Robot) -> None:
    motor = robot.getDevice("wheel")
    motor.setControlPID(5, 1, 0.5)
    motor.setAcceleration(2)
    motor.enableTorqueFeedback(64)
    motor.setAvailableTorque(3)
    for velocity in (1, 2, 9):
        motor.setVelocity(velocity)
    motor.setPosition(1.5)
    motor.setTorque(0.5)
    motor.setVelocity(-1)  # in position control
    robot.step(32)
    assert simulator.commands() == [
        messages.SetPosition(2, 1.5),
        messages.SetVelocity(2, 9),
        messages.SetAvailableForce(2, 3),
        messages.SetForce(2, 0.5),
        messages.SetFeedbackPeriod(2, 64),
        messages.SetAcceleration(2, 2),
        messages.SetControlPid(2, 5, 1, 0.5),
    ]
    robot.step(32)
    assert simulator.requests[-1].blocks == ()
    motor.setPosition(math.inf)
    motor.setVelocity(-1)
    robot.step(32)
    assert simulator.commands() == [messages.SetPosition(2, math.inf), messages.SetVelocity(2, -1)]


def test_a_motor_has_its_fields_and_targets(simulator: Simulator, robot: Robot) -> None:
    motor = robot.getDevice("wheel")
    assert (motor.getTargetPosition(), motor.getVelocity(), motor.getAcceleration()) == (
        0.5,
        10,
        -1,
    )
    assert (motor.getMinPosition(), motor.getMaxPosition(), motor.getMaxVelocity()) == (-3, 3, 10)
    assert motor.getAvailableTorque() == motor.getMaxTorque() == motor.getMaxForce() == 8
    assert motor.getMultiplier() == 1 and motor.getType() == Motor.ROTATIONAL
    motor.setVelocity(99)  # not clipped
    motor.setAcceleration(3)
    motor.setAcceleration(-1)  # unlimited
    assert (motor.getVelocity(), motor.getAcceleration()) == (99, -1)
    motor.enableForceFeedback(32)
    simulator.answers = [[messages.ValueMessage(2, 0.125)]]
    robot.step(32)
    assert motor.getForceFeedback() == motor.getTorqueFeedback() == 0.125


REFUSED = {
    "setPosition": (math.nan,),
    "setVelocity": (math.nan,),
    "setAcceleration": (-2,),
    "setAvailableForce": (-1,),
    "setForce": (math.nan,),
    "setControlPID": (0, 0, 0),
    "enableForceFeedback": (-1,),
}


@pytest.mark.parametrize("setter", REFUSED)
def test_a_motor_refuses_what_webots_refuses(
    setter: str, simulator: Simulator, robot: Robot, capsys: pytest.CaptureFixture[str]
) -> None:
    getattr(robot.getDevice("wheel"), setter)(*REFUSED[setter])
    robot.step(32)
    assert simulator.commands() == []
    assert capsys.readouterr().err.startswith("Error: wb_motor_")


def test_a_joint_has_its_other_devices(simulator: Simulator, robot: Robot) -> None:
    motor, encoder, brake = (robot.getDevice(name) for name in ("wheel", "encoder", "brake"))
    for ask, question, answer in (
        (motor.getPositionSensor, messages.GetAssociatedDevice(2, 52), encoder),
        (motor.getBrake, messages.GetAssociatedDevice(2, 37), brake),
        (encoder.getMotor, messages.GetAssociatedDevice(3, 57), motor),
        (encoder.getBrake, messages.GetAssociatedDevice(3, 37), brake),
        (brake.getMotor, messages.BrakeCommand(4, None, 57), motor),
        (brake.getPositionSensor, messages.BrakeCommand(4, None, 52), encoder),
    ):
        simulator.answers = [[messages.AssociatedDevice(question.tag, answer.tag)]]
        assert ask() is answer
        assert simulator.commands() == [question] and simulator.requests[-1].duration_ms == 0
    assert motor.getBrake() is None  # without an answer
    brake.setDampingConstant(2.5)
    brake.getMotor()
    assert simulator.commands() == [messages.BrakeCommand(4, 2.5, 57)]
    simulator.answers = [[messages.AssociatedDevice(2, 0)]]
    assert motor.getBrake() is None


def test_brake_and_led(simulator: Simulator, robot: Robot) -> None:
    robot.getDevice("brake").setDampingConstant(2.5)
    robot.getDevice("brake").setDampingConstant(-1)
    led = robot.getDevice("led")
    led.set(1)
    led.value = 0xFF0000
    robot.step(32)
    assert simulator.commands() == [messages.BrakeCommand(4, 2.5), messages.SetLed(5, 0xFF0000)]
    assert led.get() == 0xFF0000


Made = tuple[Simulator, Robot, Any]


def emitter(buffer_size: int = 32) -> Simulator:
    def make(tag: int) -> EmitterConfiguration:
        return EmitterConfiguration(tag, buffer_size, 3, -1.0, 2.0, 5.0, (3, 4, -1))

    return Simulator([("Emitter", "tx", make)])


@pytest.fixture
def open_robot() -> Iterator[Callable[[Simulator], Made]]:
    with ExitStack() as robots:

        def make(simulator: Simulator) -> Made:
            made = robots.enter_context(closing(robot_of(simulator)))
            return simulator, made, made.getDeviceByIndex(0)

        yield make


def test_a_range_keeps_to_its_largest_and_a_packet_to_that_of_its_time(
    open_robot: Callable[..., Made], capsys: pytest.CaptureFixture[str]
) -> None:
    simulator, rover, tx = open_robot(emitter(buffer_size=-1))
    for given, taken in ((-1, 5.0), (2.0, 2.0), (7, 5.0), (3.0, 3.0), (-2, 3.0)):
        tx.setRange(given)
        assert tx.getRange() == taken
        tx.send(b"x")
    assert capsys.readouterr().err.count("invalid range=-2") == 1
    rover.step(32)
    assert [each.range for each in simulator.commands()] == [5.0, 2.0, 5.0, 3.0, 3.0]


def received(data: bytes, channel: int = 3) -> messages.Receive:
    return messages.Receive(1, channel, (0.0, 0.6, 0.8), 0.25, data)


def receiver(size: int = -1) -> Simulator:
    made = messages.ReceiverConfiguration(1, size, 3, (3, 5))
    return Simulator([("Receiver", "rx", lambda tag: made)])


def test_a_receiver_keeps_what_fits_until_the_program_takes_it(
    open_robot: Callable[..., Made],
) -> None:
    simulator, rover, rx = open_robot(receiver(4))
    rx.enable(32)
    simulator.answers = [[received(b"ab"), received(b"cd"), received(b"e")]]
    rover.step(32)
    assert (rx.getQueueLength(), rx.getDataSize(), rx.getString()) == (2, 2, "ab")
    assert (rx.getSignalStrength(), rx.getEmitterDirection()) == (0.25, [0.0, 0.6, 0.8])
    rx.nextPacket()
    simulator.answers = [[received(b"fg")]]
    rover.step(32)
    for data in (b"cd", b"fg"):
        assert rx.getBytes() == data
        rx.nextPacket()
    assert (rx.getQueueLength(), rx.getDataSize(), rx.getBytes()) == (0, -1, b"")


def test_a_packet_as_numbers(open_robot: Callable[..., Made]) -> None:
    simulator, rover, rx = open_robot(receiver())
    for getter, form, numbers in (
        (rx.getInts, "2i", (1, -2)),
        (rx.getFloats, "2d", (1.5, -2.0)),
        (rx.getBools, "2?", (True, False)),
    ):
        simulator.answers = [[received(struct.pack(form, *numbers))]]
        rover.step(32)
        assert getter() == numbers
        rx.nextPacket()


def test_the_channel_of_a_receiver_is_an_allowed_one_or_that_of_webots(
    open_robot: Callable[..., Made], capsys: pytest.CaptureFixture[str]
) -> None:
    simulator, rover, rx = open_robot(receiver())
    for channel in (9, 3):  # the second is its own
        rx.setChannel(channel)
    rover.step(32)
    assert (simulator.commands(), rx.getChannel()) == ([], 3)
    assert capsys.readouterr().err.count("wb_receiver_set_channel() called with") == 1
    rx.setChannel(5)
    simulator.answers = [[received(b"x", channel=3)]]
    rover.step(32)
    assert simulator.commands() == [messages.SetChannel(1, 5)] and rx.channel == 3


def test_a_device_that_the_robot_does_not_have_sends_nothing(
    open_robot: Callable[..., Made], capsys: pytest.CaptureFixture[str]
) -> None:
    simulator, rover, tx = open_robot(emitter(buffer_size=-1))
    assert tx.getBufferSize() == -1
    for missing in (Emitter("nix"), Emitter(99), Receiver("tx", 0)):
        assert missing.tag == 0 and missing.name == ""
    assert Emitter("nix").send([1]) == 0
    rover.step(32)
    assert simulator.commands() == []
    assert "'tx' has type Emitter, not Receiver" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("message", "length", "data"),
    [
        (bytes(range(256)), None, bytes(range(256))),
        (b"abcdef", 3, b"abc"),
        (bytearray(b"ab"), None, b"ab"),
        (memoryview(b"ab"), None, b"ab"),
        ("hé", None, b"h\xc3\xa9"),  # libController cuts after two bytes
        ([1.5, 2], None, struct.pack("2d", 1.5, 2)),
        ((1, -2), None, struct.pack("2i", 1, -2)),
        ([True, False], None, struct.pack("2i", 1, 0)),
        ([], None, None),
        (["a"], None, None),
        (7, None, None),
        (b"abc", 4, None),  # libController reads beyond the packet
        (b"abc", 0, None),
    ],
)
def test_what_send_takes(
    open_robot: Callable[..., Made], message: Any, length: int | None, data: bytes | None
) -> None:
    simulator, rover, tx = open_robot(emitter(buffer_size=-1))
    assert tx.send(message, length) == (data is not None)
    rover.step(32)
    assert [each.data for each in simulator.commands()] == ([] if data is None else [data])


def test_numbers_that_do_not_fit_raise(open_robot: Callable[..., Made]) -> None:
    _, _, tx = open_robot(emitter())
    with pytest.raises(struct.error):
        tx.send([1, 2.5])
