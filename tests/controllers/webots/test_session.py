"""The session of a Webots controller: its bytes, and what a controller may do."""

import math
import struct
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.control import events as control
from hilgw.controllers.webots.session import WebotsControllerSession
from hilgw.devices.fields import EmitterFields, ReceiverFields
from hilgw.devices.kinds import Device, MotorLimits
from hilgw.devices.properties import (
    BrakeFields,
    CameraFields,
    DistanceSensorFields,
    LinearMotorFields,
    PositionSensorFields,
    RotationalMotorFields,
    TouchSensorFields,
)
from hilgw.plugins import CONTROLLERS, load
from hilgw.protocols.webots.answers import AnswerReader
from hilgw.protocols.webots.codec import Codec
from hilgw.protocols.webots.device_messages import Receive
from hilgw.protocols.webots.requests import LEAVE, encode_request, without_leave
from hilgw.protocols.webots.robot_messages import RobotConfiguration
from tests import work
from tests.cases import pieces

MS = 1_000_000
INF, NAN = math.inf, math.nan
ROBOT = RobotConfiguration(name="rob", basicTimeStep=32.0, controller="c", mode=1)
FIRST = bytes.fromhex("11000000 00000000 0000 03000000 230000")
EXIT = bytes.fromhex("0f000000 00000000 0000 01000000 26")
REMOTE_ON = bytes.fromhex("0f000000 00000000 0000 01000000 20")
STEP = bytes.fromhex("08000000 20000000")
NOTHING = bytes.fromhex("0100 04000000 04000000 00 00000000")
QUIT = bytes.fromhex("0100 07000000 07000000 00 00000000 0000 02")
EMPTY = bytes.fromhex("0100 12000000 12000000 00 00000000 0000 05 0000000000000000 0000 02")
STOP = control.Stop(control.StopReason.DISCONNECTED)
ENDED = [STOP, control.Disconnected("the controller ended")]
DEVICES = [
    Device(
        name="ds", kind="DistanceSensor", index=0,
        fields=DistanceSensorFields(model="IR", type="sonar", lookupTable=((0, 0, 0), (1, 9, 0))),
    ),
    Device(
        name="wheel", kind="RotationalMotor", index=1,
        fields=RotationalMotorFields(joint="axle", maxVelocity=8.0),
    ),
    Device(
        name="angle", kind="PositionSensor", index=2, fields=PositionSensorFields(joint="axle")
    ),
    Device(
        name="tx", kind="Emitter", index=3,
        fields=EmitterFields(channel=3, range=2.0, maxRange=5.0, baudRate=9600, bufferSize=32),
    ),
    Device(name="rx", kind="Receiver", index=4, fields=ReceiverFields(channel=7, bufferSize=16)),
    Device(name="led", kind="LED", index=5),
    Device(name="brake", kind="Brake", index=6, fields=BrakeFields(joint="axle")),
    Device(name="acc", kind="Accelerometer", index=7),
    Device(name="touch", kind="TouchSensor", index=8, fields=TouchSensorFields(type="force-3d")),
    Device(name="lift", kind="LinearMotor", index=20, fields=LinearMotorFields()),
]  # fmt: skip
DS, WHEEL, ANGLE, TX, RX, LED, BRAKE, ACC, TOUCH, LIFT = range(1, 11)  # tags


def f64(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}d", *values)


def block(tag: int, data: str | bytes) -> bytes:
    raw = bytes.fromhex(data) if isinstance(data, str) else data
    return struct.pack("<Hi", tag, len(raw)) + raw


def request(ms: int, *blocks: bytes) -> bytes:
    body = b"".join(blocks)
    return struct.pack("<iI", 8 + len(body), ms) + body


def reply(messages: bytes, delay: int = 0) -> bytes:
    size = 4 + len(messages)
    return struct.pack("<HiiBi", 1, size, size, 0, delay) + messages


def time(seconds: float) -> bytes:
    return bytes.fromhex("0000 04") + f64(seconds)


def measured(tag: int, form: int, *values: float) -> bytes:
    return struct.pack("<HB", tag, form) + f64(*values)


def written(events: list[control.Event]) -> bytes:
    return b"".join(event.data for event in events if isinstance(event, control.Write))


def others(events: list[control.Event]) -> list[control.Event]:
    return [event for event in events if not isinstance(event, control.Write)]


def reasons(events: list[control.Event]) -> list[str]:
    return [event.reason for event in events if isinstance(event, control.RefusedRequest)]


class Run:
    """A session and the world around it: a clock that each step advances."""

    def __init__(self, devices: list[Device] = DEVICES, **keywords: Any) -> None:
        robot = keywords.pop("robot", ROBOT)
        self.session = WebotsControllerSession(robot, **keywords)
        self.time_ns = 0
        for device in devices:
            assert self.session.register(device) == []

    def open(self) -> bytes:
        """The configuration."""
        assert self.session.open(0) == [control.Connected("Webots controller")]
        assert self.session.receive(FIRST, 0) == [control.StepRequest(0)]
        return self.answer()

    def answer(self, delay: int = 0) -> bytes:
        return written(self.session.answer(self.time_ns, delay))

    def send(self, data: bytes) -> list[control.Event]:
        """The events of one request, without its StepRequest."""
        *events, last = self.session.receive(data, self.time_ns)
        assert isinstance(last, control.StepRequest)
        self.time_ns += last.duration_ms * MS
        return events

    def step(self, ms: int, *blocks: bytes, delay: int = 0) -> bytes:
        """Makes a step; its answer."""
        self.send(request(ms, *blocks))
        return self.answer(delay)

    def events(self, *blocks: bytes) -> list[control.Event]:
        """Makes a step of 32 ms; the events of its request."""
        events = self.send(request(32, *blocks))
        self.answer()
        return events


def running(devices: list[Device] = DEVICES, **keywords: Any) -> Run:
    run = Run(devices, **keywords)
    run.open()
    return run


def test_the_configuration_of_another_version_and_of_a_later_controller() -> None:
    old = Run(DEVICES[:1], version="R2023a").open()
    assert old[15:].startswith(bytes.fromhex("0000 00 00 01 0200 2100") + f64(0) + b"rob\0")
    run = running(DEVICES[:1])
    (late,) = run.session.register(DEVICES[1])
    assert isinstance(late, control.Notice) and "'wheel'" in late.text
    assert run.session.report([(1, 2.0)], 0) == []
    run.step(32, block(0, "25 0300 616200"))
    run.session.receive(LEAVE, 0)
    configuration = run.open()
    assert f64(0.032) in configuration and b"wheel\0" in configuration
    assert b"c\0ab\0" in configuration  # custom data stay
    run.session.receive(LEAVE, 0)
    run.session.forget()  # a body that is gone takes its devices with it
    assert run.session.register(Device(name="only", kind="LED", index=3)) == []
    assert b"rob\0R2025a\0\0\1\2\0" in run.open()
    (*_, failed) = run.session.receive(request(32, block(2, "01")), 0)
    assert isinstance(failed, control.ProtocolFailure)


@given(st.lists(st.integers(0, 200), max_size=6))
def test_requests_in_any_pieces(cuts: list[int]) -> None:
    run = running()
    data = request(32, block(DS, "01 2000"), block(LED, "01 07000000"))
    events = [event for piece in pieces(data, cuts) for event in run.session.receive(piece, 0)]
    assert events == [
        control.SensorSwitch(0, 32.0),
        control.LedValue(5, 7),
        control.StepRequest(32),
    ]


@pytest.mark.parametrize("kind", ["webots", "webots_plugin", "python"])
def test_a_step_beside_the_multiples_is_named_once_for_each_controller(kind: str) -> None:
    controller: Any = load(CONTROLLERS, kind)
    settings = controller.Settings(**({"file": "brain.py"} if kind == "python" else {}))
    session = controller.robot_session(settings, "R2025a", "rover", 32)
    for _ in range(2):
        session.open(0)
        session.receive(FIRST, 0)
        session.answer(0)
        events = []
        for ms in (0, 32, 64, 50, 32, 50, 20):
            events += session.receive(request(ms), 0)
            session.answer(0)
        assert [event.text for event in events if isinstance(event, control.Notice)] == [
            "a step of 50 ms takes 64 ms: steps are multiples of the basic time step of 32 ms"
        ]
        session.close()


# --- sensors, and blank cameras -------------------------------------------------------------------


def test_values_have_the_form_of_their_device_and_come_once_they_are_there() -> None:
    run = running()
    refused = run.session.report([(0, (1.0, 2.0)), (7, 1.0), (99, 1.0), (1, 5.0)], 0)
    assert reasons(refused) == ["unsendable", "unsendable", "unknown_device"]
    assert run.session.counts["refused_unsendable"] == 2  # a motor's value is left out silently
    assert run.session.report([(8, (1.0, 2.0, 3.0)), (2, 0.5), (0, INF)], 0) == []
    run.step(0, *(block(tag, "01 2000") for tag in (DS, ANGLE, ACC, TOUCH)))
    values = measured(DS, 0x32, INF) + measured(ANGLE, 1, 0.5)
    assert run.step(32) == reply(time(0.032) + values + measured(TOUCH, 0x29, 1, 2, 3))
    run.session.report([(7, (1.0, 2.0, 9.81))], 0)  # it stayed due
    acceleration = measured(ACC, 0x33, 1, 2, 9.81)
    assert run.step(32) == reply(
        time(0.064) + values + acceleration + measured(TOUCH, 0x29, 1, 2, 3)
    )


EYE = Device(
    name="eye", kind="Camera", index=0, fields=CameraFields(absent="blank", width=3, height=2)
)
BLACK = bytes.fromhex("000000ff" * 6)
ENABLE_EYE = block(1, "01 4000")  # 64 ms


def test_a_blank_camera_has_one_image_for_each_controller() -> None:
    """Configured as a new node in Webots: uid, width, height, fieldOfView, near, planar, two
    limits, recognition, segmentation, exposure, and four numbers of the focus."""
    run = Run([EYE])
    expected = struct.pack("<HBIHH2dB2d2B5d", 1, 0, 1, 3, 2, 0.7854, 0.01, 1, 0.7854, 0.7854, 0, 0,
                           1.0, 0, 0, 0, 0)  # fmt: skip
    assert run.open().endswith(expected)
    image = struct.pack("<iBHB", len(BLACK), 1, 1, 0) + BLACK
    (notice,) = run.send(request(0, ENABLE_EYE))
    assert isinstance(notice, control.Notice) and "'eye' is blank" in notice.text
    assert run.answer() == NOTHING  # an immediate answer has none
    assert run.step(32) == b"\2" + reply(time(0.032))[1:] + image
    assert run.step(32) == reply(time(0.064))  # libController keeps it
    settings = block(1, b"\4" + f64(1) + b"\5" + f64(2) + b"\6" + f64(3))
    assert run.step(96, block(1, "01 0000"), ENABLE_EYE, settings) == reply(time(0.16))
    run.session.close()
    run.open()
    assert run.step(64) == reply(time(0.224))
    assert BLACK in run.step(64, ENABLE_EYE)


def test_on_a_local_socket_the_image_is_a_file() -> None:
    run = running([EYE], local=True)
    assert run.session.images() == {"eye": BLACK}
    run.session.image_files = {"eye": "/tmp/eye"}
    message = struct.pack("<HBi", 1, 8, len(BLACK)) + b"/tmp/eye\0"
    assert run.step(64, ENABLE_EYE).endswith(message)


def test_each_of_many_devices_costs_as_much_as_each_of_few() -> None:
    counts = {}
    for many in (20, 200):
        session = WebotsControllerSession(ROBOT)
        devices = [
            Device(name=f"ds{index}", kind="DistanceSensor", index=index) for index in range(many)
        ]

        def register(
            session: WebotsControllerSession = session, devices: list[Device] = devices
        ) -> None:
            assert [event for each in devices for event in session.register(each)] == []
            assert session.report([(0, 1.0), (len(devices) - 1, 2.0)], 0) == []

        counts[many] = work.instructions(register)
    assert counts[200] < 11 * counts[20]


def test_devices_that_cannot_be_registered() -> None:
    run = Run()
    for fields in (CameraFields(), None):  # as a body in Webots may have it
        camera = Device(name="eye", kind="Camera", index=30, fields=fields)
        (refused,) = run.session.register(camera)
        assert isinstance(refused, control.RefusedRequest) and refused.reason == "unsupported"
        assert "eye: {node: Camera, absent: blank, width: 64, height: 64}" in refused.text
    assert reasons(run.session.register(Device(name="x", kind="LED", index=0))) == ["index_taken"]
    assert run.session.register(DEVICES[0]) == []
    assert b"eye" not in run.open()


# --- motors, and other devices that act -----------------------------------------------------------

MOTOR = {"position": 1, "velocity": 2, "available": 3, "force": 4, "acceleration": 6}


def motor(**settings: float) -> bytes:
    return b"".join(bytes([MOTOR[name], 0]) + f64(value) for name, value in settings.items())


def settings(
    position: float, velocity: float, acceleration: float = -1.0, available: float = 10.0
) -> control.MotorSettings:
    return control.MotorSettings(1, position, velocity, acceleration, available)


FORCE = control.MotorCommand(1, "torque", 0.5)
MOTORS: dict[str, list[tuple[bytes, list[control.Event]]]] = {
    "a velocity alone moves nothing: in Webots it is the speed of position control": [
        (motor(velocity=3.0), []),
        (motor(position=1.5), [settings(1.5, 3.0)]),
        (motor(velocity=2.0), [settings(1.5, 2.0)]),
        (motor(position=INF), [settings(INF, 2.0)]),
    ],
    "a command shows whether the controller set the velocity": [
        (motor(position=INF), [control.MotorSettings(1, INF, 8.0, -1.0, 10.0, velocity_set=False)]),
        (motor(velocity=3.0), [settings(INF, 3.0)]),
        (motor(position=INF), [settings(INF, 3.0)]),
    ],
    "all settings go together": [
        (
            motor(position=INF, velocity=-2.0, available=4.0, acceleration=7.0),
            [settings(INF, -2.0, 7.0, 4.0)],
        ),
        (b"\7\0" + f64(1, 0, 0.5), [control.MotorPid(1, 1.0, 0.0, 0.5)]),
        (bytes.fromhex("0500 2000"), [control.FeedbackSwitch(1, 32.0)]),
    ],
    "the available force must not end the control of force": [
        (motor(position=INF, velocity=1.0), [settings(INF, 1.0)]),
        (motor(force=0.5), [FORCE]),
        (motor(available=3.0), []),
        (motor(velocity=2.0), [settings(INF, 2.0, available=3.0)]),
    ],
    "a velocity without a position ends the control of force": [
        (motor(force=0.5), [FORCE]),
        (motor(velocity=2.0), [control.MotorCommand(1, "torque", 0.0)]),
    ],
}


@pytest.mark.parametrize("commands", MOTORS.values(), ids=MOTORS)
def test_commands_of_a_motor(commands: list[tuple[bytes, list[control.Event]]]) -> None:
    run = running()
    assert [run.events(block(WHEEL, data)) for data, _ in commands] == [
        events for _, events in commands
    ]


@pytest.mark.parametrize(
    ("name", "value", "field"),
    [
        ("position", NAN, "position"),
        ("position", -INF, "position"),
        ("velocity", NAN, "velocity"),
        ("velocity", INF, "velocity"),
        ("available", NAN, "available_torque"),
        ("acceleration", -INF, "acceleration"),
        ("force", NAN, "torque"),
    ],
)
def test_numbers_that_webots_refuses_go_to_the_limits(name: str, value: float, field: str) -> None:
    """Alone, so that they are refused and counted; and they are not kept."""
    run = running()
    run.events(block(WHEEL, motor(position=INF, velocity=1.0)))
    (event,) = run.events(block(WHEEL, motor(**{name: value})))
    assert isinstance(event, control.MotorCommand) and event.field == field
    assert event.value == value or math.isnan(value)
    assert run.events(block(WHEEL, motor(velocity=2.0))) == [settings(INF, 2.0)]


def test_values_beyond_the_fields_are_clipped_as_in_webots() -> None:
    fields = RotationalMotorFields(minPosition=-1.0, maxPosition=1.0, maxVelocity=5.0)
    run = running([Device(name="m", kind="RotationalMotor", index=0, fields=fields)])
    *notices, last = run.events(block(1, motor(position=3.0, velocity=50.0, available=11.0)))
    assert last == control.MotorSettings(0, 1.0, 5.0, -1.0, 10.0)
    assert [type(notice) for notice in notices] == [control.Notice] * 3


def test_the_configuration_keeps_to_the_limits_of_a_motor() -> None:
    """So the first position does not come with a velocity that the limits refuse."""
    limits = MotorLimits(max_velocity=2.0, max_acceleration=1.0, max_force=3.0)
    run = running([Device(name="m", kind="LinearMotor", index=0, limits=limits)])
    assert run.events(block(1, motor(position=0.5))) == [
        control.MotorSettings(0, 0.5, 2.0, 1.0, 3.0, velocity_set=False)
    ]
    assert run.events(block(1, motor(force=0.5))) == [control.MotorCommand(0, "force", 0.5)]


def test_coupled_motors_follow() -> None:
    twice_back = RotationalMotorFields(multiplier=-2.0)
    run = Run(
        [
            Device(name="hinge::a", kind="RotationalMotor", index=0),
            Device(name="hinge::b", kind="RotationalMotor", index=1, fields=twice_back),
        ]
    )
    assert b"\1\0\0\0\2\0" in run.open()  # the coupling of the first: tag 2
    assert run.events(block(1, motor(position=0.25, velocity=1.0))) == [
        control.MotorSettings(0, 0.25, 1.0, -1.0, 10.0),
        control.MotorSettings(1, -0.5, -2.0, -1.0, 10.0),
    ]


def send(channel: int, range_m: float, data: bytes) -> bytes:
    return b"\0" + struct.pack("<idi", channel, range_m, len(data)) + data


def output(stream: int, text: bytes) -> bytes:
    return bytes([0x1E, stream]) + struct.pack("<I", len(text) + 1) + text + b"\0"


COMMANDS: dict[str, tuple[list[bytes], list[control.Event]]] = {
    "LED": ([block(LED, "01 ff000000")], [control.LedValue(5, 255)]),
    "both questions of a brake in one": (
        [block(BRAKE, b"\6" + f64(0.5) + b"\x39\0")],
        [control.BrakeDamping(6, 0.5)],
    ),
    "packets carry their channel and range, frozen at send() (E6, E10)": (
        [block(TX, send(3, 2.0, b"a") + send(-1, 5.0, b"b") + send(4, 5.0, b"c"))],
        [
            control.PacketOut(3, 3, b"a"),
            control.EmitterSettings(3, 3, 5.0),
            control.PacketOut(3, -1, b"b"),
            control.PacketOut(3, 4, b"c"),
        ],
    ),
    "setChannel and setRange alone change nothing": ([block(TX, b"\1\4\0\0\0\2" + f64(1.0))], []),
    "output": (
        [block(0, output(1, b"one\n\x1b[2Jtwo\n") + output(2, b"e"))],
        [
            control.Notice("one", once=False),
            control.Notice("\\x1b[2Jtwo", once=False),
            control.Notice("stderr: e", once=False),
        ],
    ),
    "pin": ([block(0, "28 01")], [control.Notice("pin has no effect on a real robot")]),
}


@pytest.mark.parametrize(("blocks", "events"), COMMANDS.values(), ids=COMMANDS)
def test_commands_of_other_devices(blocks: list[bytes], events: list[control.Event]) -> None:
    assert running().events(*blocks) == events


def test_answers_of_devices() -> None:
    run = running()
    run.send(request(32, block(WHEEL, "0500 2000")))
    run.session.feedback(1, 0.5, 0)
    assert run.answer() == reply(time(0.032) + bytes.fromhex("0200 05") + f64(0.5))
    for tag, question, answer in (
        (BRAKE, b"\6" + f64(0.5) + b"\x39\0", "0700 04 0200"),
        (LIFT, "0800 3400", "0a00 08 0000"),  # no device on the joint
        (WHEEL, "0800 ffff", "0200 08 0000"),
    ):
        assert run.step(0, block(tag, question)) == reply(bytes.fromhex(answer))
    urdf = run.step(0, block(0, "2e 0300 265f00"))
    assert b'\0\0\x2e<?xml version="1.0"?>\n<robot name="rob">' in urdf
    assert b'<link name="&amp;_base_link"/>' in urdf and urdf.endswith(b"</robot>\n\0")


@pytest.mark.parametrize("data", ["1f 4000", "24 2000", "23 2000", "28 01", "50 01000000 64000000"])
def test_what_a_gateway_does_not_have_is_named_once(data: str) -> None:
    (event,) = running().events(block(0, data))
    assert isinstance(event, control.Notice) and event.once


# --- Emitter and Receiver -------------------------------------------------------------------------


def test_a_range_that_is_not_a_number_is_refused() -> None:
    """E8: libController lets NaN pass; no distance is within it."""
    run = running()
    assert reasons(run.send(request(32, block(TX, send(3, NAN, b"a"))))) == ["nan"]
    assert run.session.counts["refused_nan"] == 1


def packet(data: bytes, channel: int = 7) -> control.PacketIn:
    return control.PacketIn(4, channel, 1.0, (0.0, 0.0, 1.0), data)


def received(answer: bytes) -> list[tuple[int, bytes]]:
    """Channel and data of the RECEIVE messages in an answer."""
    codec = Codec()
    codec.kinds[RX] = "Receiver"
    reader = AnswerReader()
    reader.feed(answer)
    parsed = reader.next()
    assert parsed is not None
    return [
        (message.channel, message.data)
        for message in codec.decode_messages(parsed.messages)
        if isinstance(message, Receive)
    ]


def test_the_channel_of_a_receiver() -> None:
    """R14, R16: the library takes the channel of RECEIVE for the Receiver's own."""
    run = running()
    run.step(32, block(RX, "01 2000"))
    run.session.deliver(packet(b"a", channel=9))
    assert received(run.step(32)) == [(7, b"a")]
    assert run.send(request(32, block(RX, "02 ffffffff"))) == [control.ReceiverSettings(4, -1, 32)]
    run.session.deliver(packet(b"b", channel=9))
    assert received(run.answer()) == [(-1, b"b")]


def test_what_a_disabled_receiver_holds_is_bounded_and_counted_at_the_end() -> None:
    """Disabling and enabling in turn makes no room."""
    run = running()
    assert reasons(run.session.deliver(packet(b"a"))) == ["disabled"]
    assert run.session.counts["refused_disabled"] == 1
    refused = []
    for _ in range(17):
        run.step(32, block(RX, "01 6000"))
        refused += run.session.deliver(packet(bytes(1 << 20)))
        run.step(32, block(RX, "01 0000"))
    assert reasons(refused) == ["cap"]
    run.session.receive(LEAVE, 0)
    assert run.session.counts["refused_down"] == 16
    run.open()
    run.step(32, block(RX, "01 2000"))
    assert received(run.step(32)) == []


# --- the robot ------------------------------------------------------------------------------------


def test_output_is_cut() -> None:
    run = running()
    data = output(1, b"x" * 600 + b"\n" * 200)
    events = run.events(block(0, data))
    assert len(events) == 101 and events[0] == control.Notice("x" * 500 + "...", once=False)
    assert events[-1] == control.Notice("... the rest of this step's output is left out")
    assert len(run.send(request(32, block(0, data * 50)))) == 101


def test_a_wait_for_user_input_ends_after_its_time() -> None:
    run = running()
    assert run.send(request(0, block(0, "50 04000000 64000000"))) == []
    assert written(run.session.answer(0)) == NOTHING
    assert run.session.next_deadline() == 100 * MS
    assert run.session.expire(99 * MS) == []
    assert written(run.session.expire(100 * MS)) == reply(bytes.fromhex("0000 50 00000000"))
    assert run.session.next_deadline() is None


def test_remote_mode() -> None:
    """Its plug-in drives another robot: no sensor values, but time and packets; this one stops."""
    run = running()
    run.session.report([(0, 1.0)], 0)
    run.step(32, block(DS, "01 2000"), block(RX, "01 2000"))
    stop, notice = run.send(REMOTE_ON)
    assert stop == control.Stop(control.StopReason.REMOTE) and isinstance(notice, control.Notice)
    assert run.answer() == NOTHING
    run.session.deliver(packet(b"a"))
    answer = run.step(32)
    assert received(answer) == [(7, b"a")] and time(0.064) in answer and b"\1\0\x32" not in answer
    run.step(32, block(0, "21"))
    assert bytes.fromhex("0100 32") in run.step(32)


@pytest.mark.parametrize("shows", [False, True])
def test_a_plugin_reads_the_arming_as_the_mode_of_the_simulation(shows: bool) -> None:
    run = Run([], shows_arming=shows)
    run.session.armed = False
    assert (run.open()[-6:] == b"\0\0\0\0\0\0") is shows
    mode = bytes.fromhex("0000 0a 01000000")
    assert bytes.fromhex("0000 0a") not in run.step(32)
    run.session.armed = True
    assert (mode in run.step(32)) is shows
    assert mode not in run.step(32)


# --- the end, and faults --------------------------------------------------------------------------


def test_a_controller_that_is_interrupted_is_not_called_a_crash() -> None:
    """libController restores the default action of SIGINT: the process dies without a notice, in
    most cases while it waits for the end of a step."""
    run = running()
    gone = control.Disconnected("ended without notice")
    hint = without_leave(at_start=True)
    assert run.session.close() == [control.Notice(hint, once=False), STOP, gone]
    assert run.session.close() == []
    for is_answered in (False, True):
        run.open()
        run.send(STEP)
        if is_answered:
            run.answer()
        notice = control.Notice(without_leave(at_start=False), once=False)
        assert run.session.close() == [notice, STOP, gone]
        for text in (hint, notice.text):
            assert "without closing its connection (Ctrl-C, killed or crashed)" in text
    assert run.session.counts["ended_without_notice"] == 3
    assert "absent: blank" in hint and "webots: R2023a" in hint
    child = running(is_child=True)  # hilgw names its exit status
    assert others(child.session.close()) == [STOP, gone]


def test_quit_is_the_answer_of_a_waiting_controller() -> None:
    run = running()
    run.send(STEP)
    assert written(run.session.quit()) == QUIT
    assert run.session.quit() == [] and run.session.answer(0) == []
    assert others(run.session.receive(LEAVE, 0)) == ENDED


def test_quit_before_a_request_is_its_answer() -> None:
    run = running()
    assert written(run.session.quit()) == QUIT
    moving = request(32, block(WHEEL, motor(position=INF)))
    assert run.session.receive(moving, 0) == []  # answered, and not executed
    assert run.session.receive(STEP, 0) == [control.Write(QUIT)]
    assert run.session.close() == ENDED


def test_quit_before_the_configuration_brings_it() -> None:
    run = Run(DEVICES[:1])
    run.session.open(0)
    run.session.receive(FIRST, 0)
    data = written(run.session.quit())
    assert data[15:18] == b"\0\0\0" and data.endswith(b"\0\0\2")


@pytest.mark.parametrize(
    "data",
    [
        bytes.fromhex("07000000"),
        request(32, block(99, "01 2000")),
        request(32, block(DS, "63")),
        request(32, block(WHEEL, motor(position=INF)), block(WHEEL, b"\1\0")),
        request(
            32, *[block(0, b"\x26" * (1 << 16)) for _ in range(3)]
        ),  # far more memory than bytes
        STEP + STEP,
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_garbage_stops_the_motors_and_ends_the_controller(data: bytes) -> None:
    run = running()
    *_, stop, last_bytes, failure = run.session.receive(data, 0)
    assert stop == control.Stop(control.StopReason.PROTOCOL) and last_bytes == control.Write(QUIT)
    assert isinstance(failure, control.ProtocolFailure) and failure.error.fix and failure.tail
    assert run.session.receive(STEP, 0) == [] and run.session.answer(0) == []
    assert run.session.close() == []


@given(st.lists(st.binary(max_size=60) | st.sampled_from([STEP, EXIT, LEAVE, FIRST]), max_size=6))
def test_any_bytes(given_: list[bytes]) -> None:
    run = running()
    for piece in given_:
        events = run.session.receive(piece, 0)
        if any(isinstance(event, control.ProtocolFailure) for event in events):
            assert control.Stop(control.StopReason.PROTOCOL) in events
        run.session.answer(32 * MS)
        assert isinstance(run.session.describe(piece, received=True), str)
        assert isinstance(run.session.describe(piece, received=False), str)
    run.session.close()


def test_nothing_happens_without_a_connection() -> None:
    run = Run()
    assert run.session.receive(STEP, 0) == [] and run.session.answer(0) == []
    assert run.session.close() == [] and run.session.quit() == []
    assert reasons(run.session.deliver(packet(b"a"))) == ["down"]


def test_a_new_controller_starts_anew() -> None:
    run = running()
    run.session.report([(0, 1.0)], 0)
    run.step(32, block(DS, "01 2000"), block(WHEEL, motor(position=1.0)))
    run.session.receive(LEAVE, 0)
    run.open()
    assert run.step(32, delay=17) == reply(time(0.064), delay=17)
    assert run.events(block(WHEEL, motor(velocity=1.0))) == []


def test_bytes_in_words() -> None:
    session = running().session
    assert session.describe(encode_request(32), received=True) == "step 32 ms"
    words = session.describe(request(0, block(LED, "01 01000000")) + LEAVE, received=True)
    assert words == "immediate; SetLed(tag=6, value=1); leaves"
    assert session.describe(QUIT + b"\1", received=False) == (
        "delay 0 ms; Quit(); 1 bytes of an incomplete message"
    )


def test_the_bytes_of_a_whole_run() -> None:
    run = Run(DEVICES[:5])
    named = [(42, "ds", "IR"), (57, "wheel", ""), (52, "angle", ""), (43, "tx", ""), (56, "rx", "")]
    entries = b"".join(
        struct.pack("<H", node) + name.encode() + b"\0" + model.encode() + b"\0"
        for node, name, model in named
    )
    configuration = (
        bytes.fromhex("0000 00 726f6200 52323032356100 00 01 0600 2200")
        + f64(0.0)
        + entries
        + f64(32.0)
        + b"\0\0\0\0\0c\0\0"
        + bytes.fromhex("00 00 01000000")
        + bytes.fromhex("0100 00 02000000") + f64(0, 9, 1.5708)
        + bytes.fromhex("02000000") + f64(0, 0, 0, 1, 9, 0)
        + bytes.fromhex("0200 00 00000000") + f64(0, 0, 8, -1, 10, 10, 0, 0, 0, 8, 1)
        + bytes.fromhex("00000000")
        + bytes.fromhex("0300 00 00000000")
        + bytes.fromhex("0400 00 20000000 03000000") + f64(1.2, 2, 5) + bytes(4)
        + bytes.fromhex("0500 00 10000000 07000000 00000000")
    )  # fmt: skip
    assert run.open() == reply(configuration)
    session = run.session
    # Step 1: sensor, Receiver and motor; the first values are due one period later.
    session.report([(0, 101.0)], 0)
    enable = [block(DS, "01 4000"), block(WHEEL, motor(position=INF, velocity=3.0))]
    assert run.step(32, *enable, block(RX, "01 2000")) == reply(time(0.032))
    session.report([(0, 102.0)], 0)
    assert run.step(32) == reply(time(0.064) + measured(DS, 0x32, 102.0))
    # An immediate request takes no time and samples nothing.
    assert run.step(0, block(WHEEL, "0800 3400")) == reply(bytes.fromhex("0200 08 0300"))
    # A packet: the Receiver's channel goes with it, not the packet's.
    assert session.deliver(control.PacketIn(4, 9, 0.25, (1.0, 0.0, 0.0), b"hi")) == []
    arrived = bytes.fromhex("0500 01 07000000") + f64(1, 0, 0, 0.25) + b"\2\0\0\0hi"
    assert run.step(32, delay=17) == reply(time(0.096) + arrived, delay=17)
    assert run.step(32) == reply(time(0.128) + measured(DS, 0x32, 102.0))
    assert run.send(EXIT) == [] and run.answer() == NOTHING
    assert session.receive(LEAVE, 0) == ENDED
    assert session.close() == []
    assert session.counts["steps"] == 4 and session.counts["packets_in"] == 1


def test_nothing_is_ever_sent_to_an_led() -> None:
    run = Run([Device(name="led", kind="LED", index=0)])
    configuration = run.open()
    assert len(configuration) == configuration.index(bytes.fromhex("00 00 01000000")) + 6
    assert run.step(32, block(1, "01 01000000")) == reply(time(0.032))
