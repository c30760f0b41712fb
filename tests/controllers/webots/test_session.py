"""The session of a Webots controller: the bytes of whole runs, and what a controller may do."""

import itertools
import math
import struct
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.control import events as control
from hilgw.controllers.webots.battery import Battery
from hilgw.controllers.webots.session import (
    WebotsControllerSession,
)
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
from hilgw.errors import HilgwError
from hilgw.plugins import CONTROLLERS, load
from hilgw.protocols.webots.answers import AnswerReader
from hilgw.protocols.webots.codec import Codec
from hilgw.protocols.webots.device_messages import Receive
from hilgw.protocols.webots.requests import LEAVE, encode_request, without_leave
from hilgw.protocols.webots.robot_messages import RobotConfiguration

MS = 1_000_000
INF = math.inf
ROBOT = RobotConfiguration(name="rob", basicTimeStep=32.0, controller="c", mode=1)
FIRST = bytes.fromhex("11000000 00000000 0000 03000000 230000")
EXIT = bytes.fromhex("0f000000 00000000 0000 01000000 26")
REMOTE_ON = bytes.fromhex("0f000000 00000000 0000 01000000 20")
STEP = bytes.fromhex("08000000 20000000")
NOTHING = bytes.fromhex("0100 04000000 04000000 00 00000000")
QUIT = bytes.fromhex("0100 07000000 07000000 00 00000000 0000 02")
EMPTY = bytes.fromhex("0100 12000000 12000000 00 00000000 0000 05 0000000000000000 0000 02")
STOP = control.Stop(control.StopReason.DISCONNECTED)
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


def written(events: list[control.Event]) -> bytes:
    return b"".join(event.data for event in events if isinstance(event, control.Write))


def others(events: list[control.Event]) -> list[control.Event]:
    return [event for event in events if not isinstance(event, control.Write)]


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
        return written(self.session.answer(self.time_ns))

    def send(self, data: bytes) -> list[control.Event]:
        """The events of one request, without its StepRequest."""
        *events, last = self.session.receive(data, self.time_ns)
        assert isinstance(last, control.StepRequest)
        self.time_ns += last.duration_ms * MS
        return events

    def step(self, ms: int, *blocks: bytes, delay: int = 0) -> bytes:
        """Makes a step; its answer."""
        self.send(request(ms, *blocks))
        return written(self.session.answer(self.time_ns, delay))


def running(devices: list[Device] = DEVICES, **keywords: Any) -> Run:
    run = Run(devices, **keywords)
    run.open()
    return run


# --- Ctrl-C, and an empty battery -----------------------------------------------------------------


def test_a_controller_that_is_interrupted_is_not_called_a_crash() -> None:
    """libController restores the default action of SIGINT: the process dies without a notice, in
    most cases while it waits for the end of a step."""
    run = running()
    run.send(STEP)
    notice, *_ = run.session.close()
    assert notice == control.Notice(without_leave(at_start=False), once=False)
    run.open()
    run.step(32)
    assert run.session.close()[0] == notice  # it computed
    run.open()
    first, *_ = run.session.close()  # it never stepped
    assert first == control.Notice(without_leave(at_start=True), once=False)
    for each in (notice, first):
        assert "without closing its connection (Ctrl-C, killed or crashed)" in each.text


def test_the_exit_status_names_the_end_of_a_program_of_hilgw() -> None:
    run = running(is_child=True)
    assert others(run.session.close()) == [STOP, control.Disconnected("ended without notice")]
    assert run.session.counts["ended_without_notice"] == 1


@pytest.mark.parametrize("kind", ["webots", "webots_plugin", "python"])
def test_a_step_beside_the_multiples_is_named_once_for_each_controller(kind: str) -> None:
    controller: Any = load(CONTROLLERS, kind)
    given = {"file": "brain.py"} if kind == "python" else {}
    settings = controller.Settings(**given)
    session = controller.robot_session(settings, "R2025a", "rover", 32)
    for _ in range(2):
        session.open(0)
        session.receive(FIRST, 0)
        session.answer(0)
        found = []
        for ms in (0, 32, 64, 50, 32, 50, 20):
            found += session.receive(request(ms), 0)
            session.answer(0)
        assert [each.text for each in found if isinstance(each, control.Notice)] == [
            "a step of 50 ms takes 64 ms: steps are multiples of the basic time step of 32 ms"
        ]
        session.close()


def test_an_empty_battery_is_reported_before_the_end_and_can_be_charged() -> None:
    """The message is one of libController, too: the value of the battery sensor."""
    run = running(battery=Battery(1.0, 1000.0, most_j=5.0))
    last = run.step(32)
    assert last == reply(bytes.fromhex("0000 05") + f64(0.0) + bytes.fromhex("0000 02"))
    for energy in (-1.0, 6.0, INF, math.nan):
        with pytest.raises(HilgwError, match="does not hold"):
            run.session.charge(energy)
    assert run.session.charge(4.0) == []
    run.session.close()
    run.time_ns = 1000 * MS  # nothing is used up while no controller is there
    run.open()
    assert run.session.robot_report()["battery_j"] == pytest.approx(4.0)
    run.send(STEP)
    assert run.session.charge(5.0) == []
    assert run.session.robot_report()["battery_j"] == 5.0


@pytest.mark.parametrize("battery", [Battery(), Battery(sensor="charge")])
def test_a_battery_that_cannot_be_charged(battery: Battery) -> None:
    with pytest.raises(HilgwError, match="cannot be charged"):
        Run(battery=battery).session.charge(1.0)


# --- cameras: blank ones --------------------------------------------------------------------------

EYE = Device(
    name="eye", kind="Camera", index=0, fields=CameraFields(absent="blank", width=3, height=2)
)
BLACK = bytes.fromhex("000000ff" * 6)
ENABLE_EYE = block(1, "01 4000")  # 64 ms


def test_a_blank_camera_is_configured_as_a_new_node_in_webots() -> None:
    """uid, width, height, fieldOfView, near, planar, two limits, recognition, segmentation,
    exposure, and four numbers of the focus."""
    expected = struct.pack("<HBIHH2dB2d2B5d", 1, 0, 1, 3, 2, 0.7854, 0.01, 1, 0.7854, 0.7854, 0, 0,
                           1.0, 0, 0, 0, 0)  # fmt: skip
    assert Run([EYE]).open().endswith(expected)


def test_the_image_comes_once_with_the_first_step() -> None:
    run = running([EYE])
    image = struct.pack("<iBHB", len(BLACK), 1, 1, 0) + BLACK
    (notice,) = run.send(request(0, ENABLE_EYE))
    assert isinstance(notice, control.Notice) and "'eye' is blank" in notice.text
    assert written(run.session.answer(run.time_ns)) == NOTHING  # an immediate answer has none
    assert run.step(32) == b"\2" + reply(time(0.032))[1:] + image
    assert run.step(32) == reply(time(0.064))  # libController keeps it
    assert run.step(96, block(1, "01 0000"), ENABLE_EYE) == reply(time(0.16))
    run.session.close()
    run.open()  # another controller has no image yet
    assert run.step(64) == reply(time(0.224))
    assert BLACK in run.step(64, ENABLE_EYE)


def test_a_camera_takes_its_settings() -> None:
    run = running([EYE])
    given = block(1, b"\4" + f64(1) + b"\5" + f64(2) + b"\6" + f64(3))
    assert run.step(32, given) == reply(time(0.032))


def test_on_a_local_socket_the_image_is_a_file() -> None:
    run = Run([EYE], local=True)
    run.open()
    assert run.session.images() == {"eye": BLACK}
    run.session.image_files = {"eye": "/tmp/eye"}
    message = struct.pack("<HBi", 1, 8, len(BLACK)) + b"/tmp/eye\0"
    assert run.step(64, ENABLE_EYE).endswith(message)


def test_a_camera_without_a_blank_one_names_the_remedy() -> None:
    """As a body in Webots may have it."""
    session = WebotsControllerSession(ROBOT)
    (refused,) = session.register(Device(name="eye", kind="Camera", index=0, fields=CameraFields()))
    assert isinstance(refused, control.Refused)
    assert "eye: {node: Camera, absent: blank, width: 64, height: 64}" in refused.text
    assert "absent: blank" in without_leave(at_start=True)
    assert "webots: R2023a" in without_leave(at_start=True)


# --- a whole run ----------------------------------------------------------------------------------


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
    enable = [block(DS, "01 4000"), block(WHEEL, b"\1\0" + f64(INF) + b"\2\0" + f64(3.0))]
    assert run.step(32, *enable, block(RX, "01 2000")) == reply(time(0.032))
    session.report([(0, 102.0)], 0)
    assert run.step(32) == reply(time(0.064) + bytes.fromhex("0100 32") + f64(102.0))
    # An immediate request takes no time and samples nothing.
    asked = run.step(0, block(WHEEL, "0800 3400"))
    assert asked == reply(bytes.fromhex("0200 08 0300"))
    # A packet: the Receiver's channel goes with it, not the packet's.
    assert session.deliver(control.PacketIn(4, 9, 0.25, (1.0, 0.0, 0.0), b"hi")) == []
    received = bytes.fromhex("0500 01 07000000") + f64(1, 0, 0, 0.25) + b"\2\0\0\0hi"
    assert run.step(32, delay=17) == reply(time(0.096) + received, delay=17)
    assert run.step(32) == reply(time(0.128) + bytes.fromhex("0100 32") + f64(102.0))
    # The end.
    assert run.send(EXIT) == [] and written(session.answer(run.time_ns)) == NOTHING
    assert session.receive(LEAVE, 0) == [
        STOP, control.Disconnected("the controller ended"),
    ]  # fmt: skip
    assert session.close() == []
    assert session.counts["steps"] == 4 and session.counts["packets_in"] == 1


def test_the_session_of_r2023a() -> None:
    run = Run(DEVICES[:1], version="R2023a")
    assert run.open()[15:].startswith(bytes.fromhex("0000 00 00 01 0200 2100") + f64(0) + b"rob\0")


@given(st.lists(st.integers(0, 200), max_size=6))
def test_requests_in_any_pieces(cuts: list[int]) -> None:
    run = running()
    data = request(32, block(DS, "01 2000"), block(LED, "01 07000000"))
    places = sorted({0, len(data), *(cut % len(data) for cut in cuts)})
    events: list[control.Event] = []
    for begin, end in itertools.pairwise(places):
        events += run.session.receive(data[begin:end], 0)
    assert events == [
        control.SensorSwitch(0, 32.0),
        control.LedValue(5, 7),
        control.StepRequest(32),
    ]


# --- the sensor grid ------------------------------------------------------------------------------


def test_a_sensor_without_a_value_stays_due() -> None:
    run = running()
    assert run.step(32, block(ACC, "01 2000")) == reply(time(0.032))
    run.session.report([(7, (1.0, 2.0, 9.81))], 0)
    assert run.step(32) == reply(time(0.064) + bytes.fromhex("0800 33") + f64(1, 2, 9.81))


def test_the_form_of_a_value_follows_the_device() -> None:
    run = running()
    assert run.session.report([(8, (1.0, 2.0, 3.0)), (2, 0.5), (0, math.inf)], 0) == []
    run.step(0, *(block(tag, "01 2000") for tag in (DS, ANGLE, TOUCH)))
    assert run.step(32) == reply(
        time(0.032)
        + bytes.fromhex("0100 32") + f64(math.inf)
        + bytes.fromhex("0300 01") + f64(0.5)
        + bytes.fromhex("0900 29") + f64(1, 2, 3)
    )  # fmt: skip


def test_values_that_webots_cannot_carry() -> None:
    run = running()
    events = run.session.report([(0, (1.0, 2.0)), (7, 1.0), (99, 1.0), (1, 5.0)], 0)
    assert [(e.index, e.reason) for e in events if isinstance(e, control.Refused)] == [
        (0, "unsendable"), (7, "unsendable"), (99, "unknown_device"),
    ]  # fmt: skip
    assert run.session.counts["refused_unsendable"] == 2  # a motor's value is left out silently


def test_the_feedback_of_a_motor() -> None:
    run = running()
    assert run.send(request(32, block(WHEEL, "0500 2000"))) == [control.FeedbackSwitch(1, 32.0)]
    run.session.feedback(1, 0.5, 0)
    answer = written(run.session.answer(run.time_ns))
    assert answer == reply(time(0.032) + bytes.fromhex("0200 05") + f64(0.5))


def test_time_is_sent_when_it_has_changed_only() -> None:
    run = running()
    assert run.step(32) == reply(time(0.032))
    run.send(STEP)
    assert written(run.session.answer(32 * MS)) == NOTHING
    assert run.step(0) == NOTHING


# --- motors ---------------------------------------------------------------------------------------


def motor(run: Run, data: bytes, tag: int = WHEEL) -> list[control.Event]:
    events = run.send(request(32, block(tag, data)))
    run.session.answer(run.time_ns)
    return events


def test_a_command_shows_whether_the_controller_set_the_velocity() -> None:
    """A real robot must not run at its largest velocity for setPosition(INFINITY) alone."""
    run = running()
    (alone,) = motor(run, b"\1\0" + f64(math.inf))
    assert isinstance(alone, control.MotorSettings) and not alone.velocity_set
    assert motor(run, b"\2\0" + f64(3.0)) == [control.MotorSettings(1, math.inf, 3.0, -1.0, 10.0)]
    assert motor(run, b"\1\0" + f64(math.inf)) == [
        control.MotorSettings(1, math.inf, 3.0, -1.0, 10.0)
    ]


def test_a_velocity_alone_moves_nothing() -> None:
    """In Webots it is the speed of position control."""
    run = running()
    assert motor(run, b"\2\0" + f64(3.0)) == []
    assert motor(run, b"\1\0" + f64(1.5)) == [control.MotorSettings(1, 1.5, 3.0, -1.0, 10.0)]
    assert motor(run, b"\2\0" + f64(2.0)) == [control.MotorSettings(1, 1.5, 2.0, -1.0, 10.0)]


def test_all_settings_of_a_motor_go_together() -> None:
    run = running()
    data = b"\1\0" + f64(INF) + b"\2\0" + f64(-2.0) + b"\3\0" + f64(4.0) + b"\6\0" + f64(7.0)
    assert motor(run, data) == [control.MotorSettings(1, INF, -2.0, 7.0, 4.0)]
    assert motor(run, b"\7\0" + f64(1, 0, 0.5)) == [control.MotorPid(1, 1.0, 0.0, 0.5)]
    assert run.session.counts["commands"] == 2


def test_the_control_of_force() -> None:
    run = running()
    motor(run, b"\1\0" + f64(INF) + b"\2\0" + f64(1.0))
    assert motor(run, b"\4\0" + f64(0.5)) == [control.MotorCommand(1, "torque", 0.5)]
    assert motor(run, b"\4\0" + f64(0.5), LIFT) == [control.MotorCommand(20, "force", 0.5)]
    assert motor(run, b"\3\0" + f64(3.0)) == []  # kept; it must not end the control of force
    assert motor(run, b"\2\0" + f64(2.0)) == [control.MotorSettings(1, INF, 2.0, -1.0, 3.0)]
    assert motor(run, b"\2\0" + f64(2.0), LIFT) == [control.MotorCommand(20, "force", 0.0)]


@pytest.mark.parametrize(
    ("number", "value", "field"),
    [(1, math.nan, "position"), (1, -INF, "position"), (2, math.nan, "velocity"),
     (2, INF, "velocity"), (3, math.nan, "available_torque"), (6, -INF, "acceleration"),
     (4, math.nan, "torque")],
)  # fmt: skip
def test_numbers_that_webots_refuses_go_to_the_limits(
    number: int, value: float, field: str
) -> None:
    """Alone, so that they are refused and counted; and they are not kept."""
    run = running()
    motor(run, b"\1\0" + f64(INF) + b"\2\0" + f64(1.0))
    (event,) = motor(run, bytes([number, 0]) + f64(value))
    assert isinstance(event, control.MotorCommand) and event.field == field
    assert event.value == value or math.isnan(value)
    assert motor(run, b"\2\0" + f64(2.0)) == [control.MotorSettings(1, INF, 2.0, -1.0, 10.0)]


def test_values_beyond_the_fields_are_clipped_as_in_webots() -> None:
    fields = RotationalMotorFields(minPosition=-1.0, maxPosition=1.0, maxVelocity=5.0)
    run = running([Device(name="m", kind="RotationalMotor", index=0, fields=fields)])
    events = motor(run, b"\1\0" + f64(3.0) + b"\2\0" + f64(50.0) + b"\3\0" + f64(11.0), 1)
    assert events[-1] == control.MotorSettings(0, 1.0, 5.0, -1.0, 10.0)
    assert [isinstance(event, control.Notice) for event in events] == [True, True, True, False]


def test_the_configuration_keeps_to_the_limits_of_a_motor() -> None:
    """So the first position does not come with a velocity that the limits refuse."""
    limits = MotorLimits(max_velocity=2.0, max_acceleration=1.0, max_force=3.0)
    run = running([Device(name="m", kind="LinearMotor", index=0, limits=limits)])
    assert motor(run, b"\1\0" + f64(0.5), 1) == [
        control.MotorSettings(0, 0.5, 2.0, 1.0, 3.0, velocity_set=False)
    ]


def test_coupled_motors_follow() -> None:
    devices = [
        Device(name="hinge::a", kind="RotationalMotor", index=0),
        Device(
            name="hinge::b", kind="RotationalMotor", index=1,
            fields=RotationalMotorFields(multiplier=-2.0),
        ),
    ]  # fmt: skip
    run = Run(devices)
    assert b"\1\0\0\0\2\0" in run.open()  # the coupling of the first: tag 2
    assert motor(run, b"\1\0" + f64(0.25) + b"\2\0" + f64(1.0), 1) == [
        control.MotorSettings(0, 0.25, 1.0, -1.0, 10.0),
        control.MotorSettings(1, -0.5, -2.0, -1.0, 10.0),
    ]


# --- other devices --------------------------------------------------------------------------------


def test_commands_of_other_devices() -> None:
    run = running()
    events = run.send(
        request(32, block(LED, "01 ff000000"), block(BRAKE, b"\6" + f64(0.5) + b"\x39\0"))
    )
    assert events == [control.LedValue(5, 255), control.BrakeDamping(6, 0.5)]
    answer = written(run.session.answer(run.time_ns))
    assert answer == reply(time(0.032) + bytes.fromhex("0700 04 0200"))


def test_no_device_on_the_joint() -> None:
    run = running()
    assert run.step(0, block(LIFT, "0800 3400")) == reply(bytes.fromhex("0a00 08 0000"))
    assert run.step(0, block(WHEEL, "0800 ffff")) == reply(bytes.fromhex("0200 08 0000"))


def test_nothing_is_ever_sent_to_an_led() -> None:
    run = Run([Device(name="led", kind="LED", index=0)])
    configuration = run.open()
    end = configuration.index(bytes.fromhex("00 00 01000000"))
    assert len(configuration) == end + 6
    assert run.step(32, block(1, "01 01000000")) == reply(time(0.032))


# --- Emitter and Receiver -------------------------------------------------------------------------


def send(channel: int, range_m: float, data: bytes) -> bytes:
    return b"\0" + struct.pack("<idi", channel, range_m, len(data)) + data


def test_packets_carry_their_channel_and_range() -> None:
    """E6, E10: frozen at send(); setChannel and setRange alone change nothing here."""
    run = running()
    events = run.send(
        request(32, block(TX, send(3, 2.0, b"a") + send(-1, 5.0, b"b") + send(4, 5.0, b"c")))
    )
    assert events == [
        control.PacketOut(3, 3, b"a"),
        control.EmitterSettings(3, 3, 5.0),
        control.PacketOut(3, -1, b"b"),
        control.PacketOut(3, 4, b"c"),
    ]
    run.session.answer(run.time_ns)
    assert run.send(request(32, block(TX, b"\1\4\0\0\0" + b"\2" + f64(1.0)))) == []


def test_a_range_that_is_not_a_number() -> None:
    """E8: libController lets NaN pass; no distance is within it."""
    run = running()
    (event,) = run.send(request(32, block(TX, send(3, math.nan, b"a"))))
    assert isinstance(event, control.Refused) and event.reason == "nan"
    assert run.session.counts["refused_nan"] == 1


def test_an_immediate_request_carries_packets_too() -> None:
    """B8."""
    run = running()
    events = run.send(request(0, block(TX, send(3, 2.0, b"a"))))
    assert events == [control.PacketOut(3, 3, b"a")]
    assert written(run.session.answer(run.time_ns)) == NOTHING


def packet(data: bytes, channel: int = 7) -> control.PacketIn:
    return control.PacketIn(4, channel, 1.0, (0.0, 0.0, 1.0), data)


def received(answer: bytes) -> list[tuple[int, bytes]]:
    """Channel and data of the RECEIVE messages in an answer."""
    codec = Codec()
    codec.kinds[RX] = "Receiver"
    reader = AnswerReader()
    reader.feed(answer)
    found = reader.next()
    assert found is not None
    return [
        (message.channel, message.data)
        for message in codec.decode_messages(found.messages)
        if isinstance(message, Receive)
    ]


def test_packets_come_on_the_sampling_grid() -> None:
    """R21: period 96, step 32, packets at steps 1, 2, 3, 5."""
    run = running()
    found = []
    for number in range(1, 7):
        run.send(request(32, *([block(RX, "01 6000")] if number == 1 else [])))
        if number in (1, 2, 3, 5):
            assert run.session.deliver(packet(bytes([number]))) == []
        found.append([data for _, data in received(written(run.session.answer(run.time_ns)))])
    assert found == [[], [], [b"\1", b"\2", b"\3"], [], [], [b"\5"]]


def test_the_channel_of_a_receiver() -> None:
    """R14, R16: the library takes the channel of RECEIVE for the Receiver's own."""
    run = running()
    run.step(32, block(RX, "01 2000"))
    run.session.deliver(packet(b"a", channel=9))
    assert received(run.step(32)) == [(7, b"a")]
    assert run.send(request(32, block(RX, "02 ffffffff"))) == [control.ReceiverSettings(4, -1, 32)]
    run.session.deliver(packet(b"b", channel=9))
    assert received(written(run.session.answer(run.time_ns))) == [(-1, b"b")]


def test_a_disabled_receiver_takes_nothing() -> None:
    run = running()
    (event,) = run.session.deliver(packet(b"a"))
    assert isinstance(event, control.Refused) and event.reason == "disabled"
    assert run.session.counts["refused_disabled"] == 1


def test_packets_that_wait_for_a_disabled_receiver_are_counted_when_the_controller_ends() -> None:
    run = running()
    run.step(32, block(RX, "01 6000"))
    run.session.deliver(packet(b"a"))
    run.step(32, block(RX, "01 0000"))
    run.session.receive(LEAVE, 0)
    assert run.session.counts["refused_down"] == 1
    run.open()
    run.step(32, block(RX, "01 2000"))
    assert received(run.step(32)) == []


def test_what_a_disabled_receiver_holds_is_bounded() -> None:
    """Disabling and enabling in turn makes no room."""
    run = running()
    mebibyte = bytes(1 << 20)
    reasons = []
    for _ in range(17):
        run.step(32, block(RX, "01 6000"))
        reasons += run.session.deliver(packet(mebibyte))
        run.step(32, block(RX, "01 0000"))
    (event,) = reasons
    assert isinstance(event, control.Refused) and event.reason == "cap"


VALUE = bytes.fromhex("0100 32")


def test_a_sensor_that_is_due_within_a_step_is_sampled_there() -> None:
    """A period of three basic steps, steps of two."""
    run = running()
    run.session.report([(0, 1.0)], 0)
    run.step(32, block(DS, "01 6000"))
    run.send(request(64))
    assert run.session.next_sample() == 96 * MS
    assert written(run.session.answer(run.time_ns)) == reply(time(0.096) + VALUE + f64(1.0))
    run.send(request(64))
    run.session.report([(0, 2.0)], 0)
    assert run.session.next_sample() == 192 * MS
    assert written(run.session.answer(run.time_ns)) == reply(time(0.16))
    run.send(request(64))
    run.session.sample(192 * MS)
    run.session.report([(0, 3.0)], 0)
    assert run.session.next_sample() == 288 * MS
    assert written(run.session.answer(run.time_ns)) == reply(time(0.224) + VALUE + f64(2.0))


# --- the robot ------------------------------------------------------------------------------------


def test_output_of_the_controller_is_shown() -> None:
    run = running()
    text = b"one\n\x1b[2Jtwo\n"
    data = b"\x1e\x01" + struct.pack("<I", len(text) + 1) + text + b"\0"
    error = b"\x1e\x02" + struct.pack("<I", 2) + b"e\0"
    assert run.send(request(32, block(0, data + error))) == [
        control.Notice("one", once=False),
        control.Notice("\\x1b[2Jtwo", once=False),
        control.Notice("stderr: e", once=False),
    ]


def test_output_is_cut() -> None:
    run = running()
    text = b"x" * 600 + b"\n" * 200
    data = b"\x1e\x01" + struct.pack("<I", len(text) + 1) + text + b"\0"
    events = run.send(request(32, block(0, data)))
    assert len(events) == 101 and events[0] == control.Notice("x" * 500 + "...", once=False)
    assert events[-1] == control.Notice("... the rest of this step's output is left out")
    run.session.answer(run.time_ns)
    assert len(run.send(request(32, block(0, data * 50)))) == 101


def test_custom_data_stay_for_the_next_controller() -> None:
    run = running(DEVICES[:1])
    run.step(0, block(0, "25 0300 616200"))
    run.session.receive(LEAVE, 0)
    assert b"c\0ab\0" in run.open()


@pytest.mark.parametrize("data", ["1f 4000", "24 2000", "23 2000", "28 01", "50 01000000 64000000"])
def test_what_a_gateway_does_not_have(data: str) -> None:
    run = running()
    (event,) = run.send(request(32, block(0, data)))
    assert isinstance(event, control.Notice) and event.once


def test_urdf() -> None:
    run = running()
    answer = run.step(0, block(0, "2e 0300 265f00"))
    assert b'\0\0\x2e<?xml version="1.0"?>\n<robot name="rob">' in answer
    assert b'<link name="&amp;_base_link"/>' in answer and answer.endswith(b"</robot>\n\0")


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
    events = run.send(REMOTE_ON)
    assert events[0] == control.Stop(control.StopReason.REMOTE) and isinstance(
        events[1], control.Notice
    )
    assert written(run.session.answer(run.time_ns)) == NOTHING
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


def test_quit_is_the_answer_of_a_waiting_controller() -> None:
    run = running()
    run.send(STEP)
    assert written(run.session.quit()) == QUIT
    assert run.session.quit() == [] and run.session.answer(0) == []
    assert others(run.session.receive(LEAVE, 0)) == [
        STOP, control.Disconnected("the controller ended"),
    ]  # fmt: skip


def test_quit_before_a_request_is_its_answer() -> None:
    run = running()
    assert written(run.session.quit()) == QUIT
    moving = request(32, block(WHEEL, b"\1\0" + f64(INF)))
    assert run.session.receive(moving, 0) == []  # answered, and not executed
    assert run.session.receive(STEP, 0) == [control.Write(QUIT)]
    assert run.session.close() == [
        STOP,
        control.Disconnected("the controller ended"),
    ]


def test_quit_before_the_configuration_brings_it() -> None:
    run = Run(DEVICES[:1])
    run.session.open(0)
    run.session.receive(FIRST, 0)
    data = written(run.session.quit())
    assert data[15:18] == b"\0\0\0" and data.endswith(b"\0\0\2")


def test_an_end_without_notice_brings_the_hint() -> None:
    run, hint = running(), without_leave(at_start=True)
    assert run.session.close() == [
        control.Notice(hint, once=False), STOP, control.Disconnected("ended without notice"),
    ]  # fmt: skip
    assert "Camera" in hint and "webots:" in hint and run.session.close() == []
    assert run.session.counts["ended_without_notice"] == 1


@pytest.mark.parametrize(
    "data",
    [
        bytes.fromhex("07000000"),
        request(32, block(99, "01 2000")),
        request(32, block(DS, "63")),
        request(32, block(WHEEL, b"\1\0" + f64(INF)), block(WHEEL, b"\1\0")),
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


def test_a_request_of_very_many_commands() -> None:
    """Each needs far more memory than its byte."""
    run = running()
    data = request(32, *[block(0, b"\x26" * (1 << 16)) for _ in range(3)])
    assert isinstance(run.session.receive(data, 0)[-1], control.ProtocolFailure)


@given(st.lists(st.binary(max_size=60) | st.sampled_from([STEP, EXIT, LEAVE, FIRST]), max_size=6))
def test_any_bytes(pieces: list[bytes]) -> None:
    run = running()
    for piece in pieces:
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
    (event,) = run.session.deliver(packet(b"a"))
    assert isinstance(event, control.Refused) and event.reason == "down"


# --- devices --------------------------------------------------------------------------------------


def test_devices_that_cannot_be_registered() -> None:
    run = Run()
    camera = Device(name="eye", kind="Camera", index=30)
    (event,) = run.session.register(camera)
    assert (
        isinstance(event, control.Refused)
        and event.reason == "unsupported"
        and "'eye'" in event.text
    )
    (event,) = run.session.register(Device(name="x", kind="LED", index=0))
    assert isinstance(event, control.Refused) and event.reason == "index_taken"
    assert run.session.register(DEVICES[0]) == []
    assert b"eye" not in run.open()


def test_a_new_device_is_for_the_next_controller() -> None:
    run = running(DEVICES[:1])
    (event,) = run.session.register(DEVICES[1])
    assert isinstance(event, control.Notice) and "'wheel'" in event.text
    assert run.session.report([(1, 2.0)], 0) == []
    run.session.receive(LEAVE, 0)
    assert b"wheel\0" in run.open()


def test_a_body_that_is_gone_takes_its_devices_with_it() -> None:
    run = running()
    run.session.receive(LEAVE, 0)
    run.session.forget()
    assert run.session.register(Device(name="only", kind="LED", index=3)) == []
    assert b"rob\0R2025a\0\0\1\2\0" in run.open()
    assert isinstance(
        run.session.receive(request(32, block(2, "01")), 0)[-1], control.ProtocolFailure
    )


def test_a_new_controller_starts_anew() -> None:
    run = running()
    run.session.report([(0, 1.0)], 0)
    run.step(32, block(DS, "01 2000"), block(WHEEL, b"\1\0" + f64(1.0)))
    run.session.receive(LEAVE, 0)
    run.open()
    assert run.step(32) == reply(time(0.064))
    assert motor(run, b"\2\0" + f64(1.0)) == []


def test_the_configuration_has_the_time() -> None:
    run = Run(DEVICES[:1])
    run.time_ns = 64 * MS
    assert f64(0.064) in run.open()
    run.send(STEP)
    assert written(run.session.answer(64 * MS)) == NOTHING


def test_bytes_in_words() -> None:
    run = running()
    assert run.session.describe(encode_request(32), received=True) == "step 32 ms"
    words = run.session.describe(request(0, block(LED, "01 01000000")) + LEAVE, received=True)
    assert words == "immediate; SetLed(tag=6, value=1); leaves"
    assert run.session.describe(QUIT + b"\1", received=False) == (
        "delay 0 ms; Quit(); 1 bytes of an incomplete message"
    )
