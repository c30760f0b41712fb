"""The session of body wc2ec: what the robot's bytes become, and what reaches its motors."""

import math
from typing import Any

import pytest

from hilgw.bodies.wc2ec import BODY, Wc2ecBodySettings
from hilgw.bodies.wc2ec.session import Wc2ecBodySession
from hilgw.control.events import (
    Accepted,
    BrakeDamping,
    Connected,
    DeviceFault,
    Disconnected,
    EmitterSettings,
    Event,
    FeedbackSwitch,
    FrameNotice,
    LedValue,
    MotorCommand,
    MotorPid,
    MotorSettings,
    Notice,
    PacketIn,
    PacketOut,
    ProtocolFailure,
    ReceiverSettings,
    RefusedRequest,
    Registered,
    SensorValue,
    Write,
)
from hilgw.control.safety import MotorMode
from hilgw.devices.kinds import MotorLimits
from hilgw.errors import ConfigError
from hilgw.framing import create
from hilgw.protocols.wc2ec import (
    Decoder,
    Error,
    Layouts,
    Message,
    PacketData,
    RegisterSensor,
    SendPacket,
    SensorData,
    SetEmitter,
    SetMotor,
    SetPeriod,
    SetReceiver,
    SetValue,
    Side,
    encode,
)
from tests.bodies.bench import commanded

MS = 1_000_000
INF = math.inf
REGISTRATIONS = [
    RegisterSensor(38, 0, b"ds"),
    RegisterSensor(53, 1, b"left"),
    RegisterSensor(53, 2, b"right"),
    RegisterSensor(46, 3, b"lift"),
    RegisterSensor(39, 4, b"tx"),
    RegisterSensor(52, 5, b"rx"),
    RegisterSensor(34, 6, b"camera"),
]


def raw(*messages: Any) -> bytes:
    return b"".join(map(encode, messages))


def robot(**given_: Any) -> Wc2ecBodySession:
    """A session on TCP with all devices registered."""
    session = BODY.session(Wc2ecBodySettings(connect="tcp://127.0.0.1:27015", **given_), "R2020a")
    session.open(0)
    session.receive(raw(*REGISTRATIONS), 0)
    return session


def sent(events: list[Event]) -> list[Message]:
    decoder = Decoder(Side.EXTERNAL, Layouts("R2020a", extensions=True))
    data = b"".join(event.data for event in events if isinstance(event, Write))
    messages = decoder.feed(data)
    assert decoder.pending == 0 and not decoder.failed
    return messages


def reasons(events: list[Event]) -> list[str]:
    return [event.reason for event in events if isinstance(event, RefusedRequest)]


def test_what_the_robot_shows() -> None:
    session = BODY.session(
        Wc2ecBodySettings(connect="tcp://127.0.0.1:27015", extensions=True), "R2020a"
    )
    assert session.open(0) == [Connected("WC2EC robot")]
    events = session.receive(
        raw(
            *REGISTRATIONS,
            SensorData(38, 0, 1.5),
            SensorData(46, 3, 0.25),
            Error(53, 1),
            PacketData(52, 5, 7, 4.0, (1.0, 0.0, 0.0), b"hi"),
        ),
        0,
    )
    devices = [event.device for event in events if isinstance(event, Registered)]
    assert [(d.index, d.name, d.kind) for d in devices] == [
        (0, "ds", "DistanceSensor"),
        (1, "left", "RotationalMotor"),
        (2, "right", "RotationalMotor"),
        (3, "lift", "LinearMotor"),
        (4, "tx", "Emitter"),
        (5, "rx", "Receiver"),
        (6, "camera", "Camera"),
    ]
    assert events[len(devices) :] == [
        SensorValue(0, 1.5),
        SensorValue(3, 0.25),
        DeviceFault(1),
        PacketIn(5, 7, 4.0, (1.0, 0.0, 0.0), b"hi"),
    ]
    assert list(session.devices) == devices


def test_a_robot_written_from_the_document_alone() -> None:
    """Its numbers mean its devices under every version, and it gets them back."""
    made = Wc2ecBodySettings(connect="tcp://127.0.0.1:27015", wc2ec_types="document")
    session = BODY.session(made, "R2025a")
    session.open(0)
    names = ((37, b"ds"), (46, b"lift"), (53, b"left"))
    session.receive(raw(*(RegisterSensor(t, i, n) for i, (t, n) in enumerate(names))), 0)
    kinds = [device.kind for device in session.devices]
    assert kinds == ["DistanceSensor", "LinearMotor", "RotationalMotor"]
    assert session.receive(raw(SensorData(37, 0, 2.5)), 0) == [SensorValue(0, 2.5)]
    driven = commanded(session, MotorCommand(2, "velocity", 3.0), 0)
    assert driven == [Write(raw(SetValue(53, 2, 3.0)))]
    assert BODY.mock(made, "R2025a").parameters["wc2ec_types"] == "document"


def test_values_of_unknown_devices_and_nan_are_refused_and_counted() -> None:
    session = robot()
    nan = raw(SensorData(38, 0, 1.0))[:3] + b"\xff" * 8
    events = session.receive(raw(SensorData(38, 9, 1.0)) + nan + raw(SensorData(38, 0, 2.0)), 0)
    assert reasons(events) == ["unknown_device", "nan"]
    assert events[-1] == SensorValue(0, 2.0)
    assert session.counts["refused_unknown_device"] == session.counts["refused_nan"] == 1
    assert not sent(events)  # this role has no Error to answer with


def test_registering_again_is_nothing_and_otherwise_is_a_failure() -> None:
    session = robot()
    assert session.receive(raw(*REGISTRATIONS), 0) == []
    commanded(session, MotorCommand(1, "velocity", 2.0), 0)
    (failure,) = session.receive(raw(RegisterSensor(38, 1, b"left")), 0)
    assert isinstance(failure, ProtocolFailure) and "RotationalMotor" in str(failure.error)
    assert sent(session.stop("body", 0).events) == [SetValue(53, 1, 0.0), SetValue(53, 2, 0.0)]
    assert session.receive(raw(SensorData(38, 0, 1.0)), 0) == []


def test_a_lost_stream_ends_the_session_which_can_still_stop_its_motors() -> None:
    session = robot()
    commanded(session, MotorCommand(1, "velocity", 2.0), 0)
    (failure,) = session.receive(b"\x01\x22\x06\x01\x02", 0)
    assert isinstance(failure, ProtocolFailure)
    assert failure.tail == b"\x01\x22\x06\x01\x02" and "R2020a" in str(failure.error)
    assert sent(session.stop("body", 0).events) == [SetValue(53, 1, 0.0), SetValue(53, 2, 0.0)]
    assert reasons(commanded(session, MotorCommand(1, "velocity", 1.0), 0)) == ["down"]
    assert session.counts["failures"] == session.counts["stops"] == 1
    assert session.next_deadline() is None
    session.open(1)
    assert len(session.receive(raw(*REGISTRATIONS), 1)) == len(REGISTRATIONS)


def test_names_come_readable() -> None:
    session = BODY.session(Wc2ecBodySettings(connect="tcp://h:1"), "R2020a")
    session.open(0)
    session.receive(raw(RegisterSensor(38, 0, b"d\xff\n"), RegisterSensor(38, 1, "ä".encode())), 0)
    assert [device.name for device in session.devices] == ["d\\xff\\n", "ä"]


def test_other_settings_go_out_with_all_as_they_were_last() -> None:
    session = robot()
    commanded(session, MotorCommand(1, "velocity", 2.0), 0)
    assert sent(commanded(session, MotorCommand(1, "acceleration", 4.0), 0)) == [
        SetMotor(53, 1, INF, 2.0, 4.0, 10.0)
    ]
    assert sent(commanded(session, MotorCommand(1, "position", 0.5), 0)) == [
        SetMotor(53, 1, 0.5, 2.0, 4.0, 10.0)
    ]
    # A linear motor's position must be known for that: commanded, or measured.
    assert reasons(commanded(session, MotorCommand(3, "velocity", 0.1), 0)) == ["unknown_position"]
    session.receive(raw(SensorData(46, 3, 0.75)), 0)
    assert sent(commanded(session, MotorCommand(3, "velocity", 0.1), 0)) == [
        SetMotor(46, 3, 0.75, 0.1, -1.0, 10.0)
    ]
    assert sent(commanded(session, MotorSettings(2, INF, 1.0, -1.0, 3.0), 0)) == [
        SetMotor(53, 2, INF, 1.0, -1.0, 3.0)
    ]


@pytest.mark.parametrize(
    ("index", "field", "value", "reason"),
    [
        (0, "value", 1.0, "not_settable"),
        (6, "velocity", 1.0, "not_settable"),
        (77, "velocity", 1.0, "unknown_device"),
        (3, "velocity", 1.0, "unknown_position"),
        (1, "position", 1.0, "beyond_limit"),  # with the available torque that is assumed
    ],
)
def test_refusals_reach_no_motor(index: int, field: str, value: float, reason: str) -> None:
    session = robot(limits={"left": MotorLimits(max_force=6)})
    events = commanded(session, MotorCommand(index, field, value), 0)
    assert reasons(events) == [reason] and len(events) == 1
    assert session.counts[f"refused_{reason}"] == 1
    assert "commands" not in session.counts


def test_an_original_peer_is_never_sent_what_it_hangs_at() -> None:
    session = robot(original_peer=True)
    assert sent(commanded(session, MotorCommand(1, "velocity", 1.0), 0)) == [SetValue(53, 1, 1.0)]
    refused = [
        commanded(session, MotorSettings(1, 0.5, 1.0, -1.0, 10.0), 0),
        session.switch(0, None, 0),
        session.switch(0, 64.0, 0),
    ]
    assert [reasons(events) for events in refused] == [["original_peer"]] * 3
    assert not any(sent(events) for events in refused)


def test_what_an_original_peer_lacks_is_left_out_of_a_command() -> None:
    session = robot(original_peer=True)
    for lacked in ("acceleration", "available_torque"):
        outcome = session.command(MotorCommand(1, lacked, 1.0), 0)
        assert outcome == (Accepted.DROPPED, [])
    written = commanded(session, MotorSettings(1, INF, 1.0, -1.0, 1.0), 0)
    assert sent(written) == [SetValue(53, 1, 1.0)]


def test_the_default_is_sent_once_in_one_write_and_counted() -> None:
    session = robot(default_position={"lift": 0.1})
    commanded(session, MotorCommand(1, "velocity", 2.0), 0)
    (write,) = session.stop("disconnected", 0).events
    assert isinstance(write, Write)
    assert write.data.hex() == (
        "8235010000000000000000" + "8235020000000000000000" + "822e039a9999999999b93f"
    )
    assert session.stop("disconnected", 0).events == [write]  # it needs no memory
    assert session.counts["stops"] == 2
    commanded(session, MotorCommand(2, "velocity", 1.0), 0)
    assert len(session.stop("silence", 0).events) == 1
    assert session.counts["stops"] == 3


def test_a_linear_motor_without_a_default_holds() -> None:
    session = robot()
    commanded(session, MotorCommand(3, "position", 0.5), 0)
    wheels = [SetValue(53, 1, 0.0), SetValue(53, 2, 0.0)]
    assert sent(session.stop("test", 0).events) == wheels  # it stays where it was sent
    session.receive(raw(SensorData(46, 3, 0.3)), 0)
    commanded(session, MotorCommand(3, "position", 0.5), 0)
    assert sent(session.stop("test", 0).events) == [*wheels, SetValue(46, 3, 0.3)]  # where it is
    session = robot()
    commanded(session, MotorCommand(3, "position", INF), 0)
    assert sent(session.stop("test", 0).events)[-1] == SetMotor(46, 3, INF, 0.0, -1.0, 10.0)


def test_each_mode_of_a_motor_has_a_stop_or_cannot_be_selected() -> None:
    for session in (robot(), robot(original_peer=True)):
        assert all(session.can_stop(1, mode) for mode in MotorMode)
        assert not session.can_stop(3, MotorMode.POSITION)  # where it is, is unknown
    assert robot().can_stop(3, MotorMode.VELOCITY)
    assert not robot(original_peer=True).can_stop(3, MotorMode.VELOCITY)
    for session in (robot(), robot(original_peer=True)):
        session.receive(raw(SensorData(46, 3, 0.3)), 0)
        assert all(session.can_stop(3, mode) for mode in MotorMode)
        hold = session.stop_motor(3, 0)
        assert hold.commands == (MotorCommand(3, "position", 0.3),)
        assert sent(hold.events) == [SetValue(46, 3, 0.3)]
    session = robot(original_peer=True, default_position={"lift": 0.1})
    assert all(session.can_stop(3, mode) for mode in MotorMode)
    assert sent(session.stop_motor(3, 0).events) == [SetValue(46, 3, 0.1)]


def test_sensors_and_radios_are_asked_with_the_document_s_commands() -> None:
    session = robot(extensions=True)
    asked = [
        session.switch(0, None, 0),
        session.switch(0, 0.0, 0),
        session.switch(0, 64.0, 0),
        session.switch(5, 0.0, 0),
        session.send(PacketOut(4, -1, b"\0\xff"), 0),
        session.tune(EmitterSettings(4, 3, -1.0), 0),
        session.tune(ReceiverSettings(5, -1, 32), 0),
    ]
    assert b"".join(e.data for events in asked for e in events if isinstance(e, Write)) == raw(
        *[
            Decoder(Side.EXTERNAL, Layouts("R2020a")).feed(bytes.fromhex("802600"))[0],
            Decoder(Side.EXTERNAL, Layouts("R2020a")).feed(bytes.fromhex("812600"))[0],
            SetPeriod(38, 0, 64.0),
            Decoder(Side.EXTERNAL, Layouts("R2020a")).feed(bytes.fromhex("813405"))[0],
            SendPacket(39, 4, -1, b"\0\xff"),
            SetEmitter(39, 4, 3, -1.0),
            SetReceiver(52, 5, -1, 32),
        ]
    )


def test_packets_need_the_switch_and_the_right_device() -> None:
    assert reasons(robot().send(PacketOut(4, 0, b"x"), 0)) == ["no_extensions"]
    assert reasons(robot().tune(EmitterSettings(4, 0, 1.0), 0)) == ["no_extensions"]
    session = robot(extensions=True)
    refused = [
        session.send(PacketOut(5, 0, b"x"), 0),
        session.send(PacketOut(4, 0, b""), 0),
        session.send(PacketOut(4, -2, b"x"), 0),
        session.send(PacketOut(4, 0, bytes(65_537)), 0),
        session.send(PacketOut(9, 0, b"x"), 0),
        session.tune(EmitterSettings(5, 0, 1.0), 0),
        session.tune(EmitterSettings(4, 0, -2.0), 0),
        session.tune(ReceiverSettings(4, 0, 1), 0),
        session.tune(ReceiverSettings(5, 2**31, 1), 0),
        session.switch(0, -1.0, 0),
    ]
    assert [each for events in refused for each in reasons(events)] == [
        "not_settable",
        "out_of_range",
        "out_of_range",
        "unsendable",
        "unknown_device",
        "not_settable",
        "out_of_range",
        "not_settable",
        "unsendable",
        "out_of_range",
    ]
    assert not any(sent(events) for events in refused)


class Line:
    """A session on a framed line; its own framing on the robot's side."""

    def __init__(self, **given_: Any) -> None:
        self.session = BODY.session(
            Wc2ecBodySettings(port="/dev/ttyR", **given_), "R2020a", create("cobs-crc16")
        )
        self.framing = create("cobs-crc16")
        self.opened = self.session.open(0)

    def receive(self, now: int, *messages: Any) -> list[Event]:
        data = b"".join(self.framing.encode(encode(message)) for message in messages)
        return self.session.receive(data, now)

    def sent(self, events: list[Event]) -> list[Message]:
        data = b"".join(event.data for event in events if isinstance(event, Write))
        decoder = Decoder(Side.EXTERNAL, Layouts("R2020a", extensions=True))
        return [message for payload in self.framing.feed(data) for message in decoder.feed(payload)]


def test_a_pause_of_ours_is_a_disconnect_before_the_backlog_is_read() -> None:
    line = Line()
    line.receive(0, *REGISTRATIONS)
    commanded(line.session, MotorCommand(1, "velocity", 2.0), 1)
    events = line.receive(3_000 * MS, SensorData(38, 0, 1.0))
    kinds = [type(event).__name__ for event in events]
    assert kinds == ["Disconnected", "Connected", "SensorValue"]


def test_noise_and_cut_frames_are_dropped_and_a_cut_message_is_not() -> None:
    line = Line()
    line.receive(0, *REGISTRATIONS)
    good = line.framing.encode(encode(SensorData(38, 0, 1.0)))
    assert line.session.receive(b"\x07noise\0" + good[3:] + good, 1) == [SensorValue(0, 1.0)]
    half = line.framing.encode(encode(SensorData(38, 0, 1.0))[:-2])
    assert isinstance(line.session.receive(half + good, 2)[-1], ProtocolFailure)


def test_our_own_silence_is_broken_by_the_last_commands() -> None:
    line = Line(silence_s=0.3)
    line.receive(0, *REGISTRATIONS[:3])
    assert line.session.next_deadline() == 100 * MS
    assert line.sent(line.session.expire(100 * MS)) == [SetValue(53, 1, 0.0), SetValue(53, 2, 0.0)]
    line.receive(101 * MS, SensorData(38, 0, 1.0))
    commanded(line.session, MotorCommand(1, "velocity", 2.0), 150 * MS)
    assert line.session.next_deadline() == 250 * MS
    assert line.sent(line.session.expire(250 * MS))[0] == SetValue(53, 1, 2.0)


def test_a_slow_line_has_time_for_its_frames() -> None:
    """At 300 baud a value takes more than half a second, and a robot's registrations many."""
    line = Line(baudRate=300)
    line.receive(0, REGISTRATIONS[0], REGISTRATIONS[2])  # one was lost
    events = line.receive(1_500 * MS, REGISTRATIONS[2])
    assert not [event for event in events if isinstance(event, Disconnected)]
    for now in range(3_000, 12_000, 1_500):  # it registers on: a frame of ours would end that
        line.receive(now * MS, REGISTRATIONS[2])
        assert line.sent(line.session.expire(now * MS)) == []
    line.receive(12_000 * MS, REGISTRATIONS[1])
    assert line.sent(line.session.expire(13_000 * MS))
    assert Disconnected("silent for 0.5 s") in line.session.expire(16_000 * MS)


def registered(line: Line, count: int) -> list[Event]:
    """So many sensors and a motor are registered, and the first value comes."""
    sensors = [RegisterSensor(38, index, b"ds%d" % index) for index in range(count)]
    line.receive(0, *sensors, RegisterSensor(53, count, b"wheel"))
    return line.receive(1, SensorData(38, 0, 1.0))


def test_a_line_that_is_too_slow_for_the_robot_is_an_error_with_numbers() -> None:
    (failure,) = registered(Line(baudRate=9600), 3)
    assert isinstance(failure, ProtocolFailure) and isinstance(failure.error, ConfigError)
    assert failure.error.what == (
        "3 sensors and 1 motors of the robot: each period of 32 ms needs 45 bytes, and the line "
        "carries 30 at 9600 bit/s"
    )
    assert failure.error.fix == "raise baudRate, or step_ms where the robot is slower"
    assert registered(Line(baudRate=9600, step_ms=50), 3) == [SensorValue(0, 1.0)]
    assert registered(Line(baudRate=9600), 2) == [SensorValue(0, 1.0)]


def test_what_is_too_long_for_a_frame_is_refused() -> None:
    line = Line(extensions=True)
    line.receive(0, *REGISTRATIONS)
    assert reasons(line.session.send(PacketOut(4, 0, bytes(5_000)), 1)) == ["unsendable"]


def where(**given_: Any) -> list[str]:
    return [path for path, _, _ in BODY.check(Wc2ecBodySettings(**given_))]


def test_contradicting_settings_are_named() -> None:
    url = "tcp://127.0.0.1:27015"
    assert where(connect=url) == where(port="/dev/ttyUSB0") == []
    assert where() == where(connect=url, port="/dev/ttyUSB0") == ["connect"]
    assert where(connect=url, extensions=True, original_peer=True) == ["extensions"]
    assert where(connect=url, limits={"left": MotorLimits(min_position=2, max_position=1)}) == [
        "limits.left.min_position"
    ]
    limits = {"lift": MotorLimits(max_position=1)}
    assert where(connect=url, limits=limits, default_position={"lift": 2.0}) == [
        "default_position.lift"
    ]


VALUE = SensorData(38, 0, 1.0)


def test_nothing_is_reported_while_a_registration_is_missing() -> None:
    line, command = Line(), MotorCommand(2, "velocity", 1.0)
    line.receive(0, REGISTRATIONS[0], REGISTRATIONS[2])
    assert line.sent(line.session.expire(400 * MS)) == []
    assert reasons(commanded(line.session, command, 400 * MS)) == ["down"]
    line.receive(400 * MS, *REGISTRATIONS[:3])
    assert line.sent(line.session.expire(700 * MS))
    assert line.sent(commanded(line.session, command, 700 * MS))


def test_a_value_of_a_device_that_was_not_registered_reports_that_one_is_missing() -> None:
    line = Line()
    line.receive(0, *REGISTRATIONS[:2], SensorData(38, 2, 1.0))
    assert line.sent(line.session.expire(400 * MS)) == []


def test_a_robot_that_sends_before_it_registers_is_one_notice() -> None:
    """It did not notice that its port was opened; it registers again within a second."""
    line = Line()
    events = line.receive(10 * MS, *(SensorData(38, index, 1.0) for index in (0, 1, 2, 0)))
    assert [type(event) for event in events] == 4 * [FrameNotice]
    assert len({*events}) == 1  # shown once
    assert line.session.counts["refused_unknown_device"] == 4
    line.receive(15 * MS, REGISTRATIONS[2])  # the port was opened amid the registration
    events = line.receive(16 * MS, SensorData(38, 2, 1.0), VALUE)
    assert {type(event) for event in events} == {FrameNotice}
    line.receive(20 * MS, *REGISTRATIONS[:3])
    assert SensorValue(0, 1.0) in line.receive(30 * MS, VALUE)


def test_a_robot_that_means_its_gap_is_spoken_to_in_the_end() -> None:
    line = Line()
    for now in range(0, 3_001, 100):
        line.receive(now * MS, REGISTRATIONS[0], REGISTRATIONS[2])
        assert bool(line.sent(line.session.expire(now * MS))) is (now == 3_000)


def test_what_wc2ec_cannot_set_is_refused() -> None:
    for session in (robot(), robot(extensions=True), robot(original_peer=True)):
        assert reasons(commanded(session, MotorCommand(1, "torque", 1.0), 0)) == ["not_settable"]
        assert session.command(MotorPid(1, 1.0, 0.0, 0.0), 0) == (Accepted.DROPPED, [])
        for setting in (LedValue(0, 1), BrakeDamping(0, 1.0), FeedbackSwitch(1, 32.0)):
            assert reasons(session.tune(setting, 0)) == ["not_settable"]
        assert session.counts["commands"] == 0


def test_limits_of_a_motor_that_the_robot_does_not_have_are_reported_once() -> None:
    session = robot(limits={"lfet": MotorLimits(), "left": MotorLimits()})
    events = session.receive(raw(SensorData(38, 0, 1.0)), 0)
    assert [event.text for event in events if isinstance(event, Notice)] == [
        "the robot has no motor 'lfet'"
    ]
    assert session.receive(raw(SensorData(38, 0, 2.0)), 0) == [SensorValue(0, 2.0)]
