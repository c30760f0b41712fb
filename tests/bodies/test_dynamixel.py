"""Body `dynamixel`: against packets and registers of the e-manual, and on its mock."""

import math
from typing import Any

import pytest
from dynamixel_sdk import (
    COMM_SUCCESS,
    GroupBulkRead,
    GroupBulkWrite,
    GroupSyncRead,
    GroupSyncWrite,
    PacketHandler,
)
from hypothesis import given, strategies as st

from firmware_mocks.dynamixel import packets as mock_packets
from firmware_mocks.dynamixel.servo import ACCESS
from hilgw.bodies.dynamixel import BODY, DynamixelSettings
from hilgw.bodies.dynamixel.packet import LONGEST, PING, Dynamixel, ServoAnswer, StatusReader
from hilgw.bodies.dynamixel.settings import ServoSettings
from hilgw.control.events import (
    Connected,
    Disconnected,
    FeedbackSwitch,
    MotorFeedback,
    Notice,
    PacketOut,
    ProtocolFailure,
    RefusedRequest,
    StopReason,
)
from hilgw.devices.kinds import MotorLimits
from hilgw.errors import MismatchError
from tests.bodies.bench import DYNAMIXEL, LEFT, RIGHT, BodyBench
from tests.bodies.servos import MODE, PROFILE, TORQUE, Packet, packets_of

bench, up = DYNAMIXEL.bench, DYNAMIXEL.up

MIXED = {
    LEFT: ServoSettings(id=1),
    "arm": ServoSettings(id=7, series="P"),
    RIGHT: ServoSettings(id=2),
}
OFFSETS = {1: 0, 7: 448, 2: 0}
SERVOS = Dynamixel({1: 0})


class RecordingPort:
    """A port of dynamixel-sdk that keeps what is written."""

    is_using = False

    def __init__(self) -> None:
        self.written = b""

    def clearPort(self) -> None:
        return

    def setPacketTimeout(self, length: int) -> None:
        return

    def writePort(self, data: list[int]) -> int:
        self.written += bytes(data)
        return len(data)


def test_the_makers_client_makes_the_same_packets_for_many_servos() -> None:
    alike, client = dict.fromkeys((1, 7), 448), PacketHandler(2.0)
    ports = [RecordingPort() for _ in range(4)]
    read, write = GroupSyncRead(ports[0], client, 580, 4), GroupSyncWrite(ports[1], client, 552, 4)
    bulk_read, bulk_write = GroupBulkRead(ports[2], client), GroupBulkWrite(ports[3], client)
    for number in alike:
        read.addParam(number)
        write.addParam(number, [number, 0, 0, 0])
    for number, offset in OFFSETS.items():
        bulk_read.addParam(number, 132 + offset, 4)
        bulk_write.addParam(number, 104 + offset, 4, [number, 0, 0, 0])
    for made in (read.txPacket, write.txPacket, bulk_read.txPacket, bulk_write.txPacket):
        assert made() == COMM_SUCCESS
    assert [port.written for port in ports] == [
        Dynamixel(alike).read_all(132, 4, alike),
        Dynamixel(alike).write_all(104, {1: 1, 7: 7}),
        Dynamixel(OFFSETS).read_all(132, 4, OFFSETS),
        Dynamixel(OFFSETS).write_all(104, {1: 1, 7: 7, 2: 2}),
    ]


@pytest.mark.parametrize(
    ("made", "data"),
    [
        (SERVOS.packet(1, PING), "ff ff fd 00 01 03 00 01 19 4e"),
        (SERVOS.read(1, 132, 4), "ff ff fd 00 01 07 00 02 84 00 04 00 1d 15"),
        (SERVOS.write(1, 116, 512), "ff ff fd 00 01 09 00 03 74 00 00 02 00 00 ca 89"),
    ],
)
def test_instructions_of_the_manual(made: bytes, data: str) -> None:
    """e-manual, Protocol 2.0, Ping, Read and Write: examples."""
    assert made == bytes.fromhex(data)


def test_the_status_of_the_manual() -> None:
    """e-manual, Protocol 2.0, Ping: status of model 1030, firmware 38."""
    data = bytes.fromhex("ff ff fd 00 01 07 00 55 00 06 04 26 65 5d")
    assert StatusReader(SERVOS).feed(data) == [ServoAnswer(1, 0, False, b"\x06\x04\x26")]


@given(
    st.lists(
        st.tuples(st.integers(0, 252), st.integers(0, 255), st.binary(max_size=30)), max_size=6
    ),
    st.lists(st.integers(1, 30), max_size=20),
    st.booleans(),
)
def test_status_in_chunks(sent: list[tuple[int, int, bytes]], sizes: list[int], echo: bool) -> None:
    """Also with FF FF FD in the data, and with the gateway's own packets echoed between."""
    data = b""
    for number, error, rest in sent:
        data += SERVOS.write(1, 116, 512) * echo
        data += mock_packets.packet(number, 0x55, bytes((error,)) + rest + b"\xff\xff\xfd" + rest)
    reader = StatusReader(SERVOS)
    answers = []
    for size in (*sizes, len(data)):
        answers += reader.feed(data[:size])
        data = data[size:]
    assert answers == [
        ServoAnswer(number, error & 0x7F, error >= 0x80, rest + b"\xff\xff\xfd" + rest)
        for number, error, rest in sent
    ]


@given(st.integers(0, 252), st.integers(1, 255), st.binary(max_size=60))
def test_both_readings_of_the_manual_agree(number: int, code: int, data: bytes) -> None:
    made = SERVOS.packet(number, code, data)
    assert made == mock_packets.packet(number, code, data)
    assert mock_packets.take(bytearray(made)) == (number, code, data, True)


def test_a_good_packet_is_found_after_a_damaged_one() -> None:
    good = mock_packets.packet(3, 0x55, b"\0\1\2")
    for bit in range(8 * len(good)):
        damaged = bytearray(good)
        damaged[bit // 8] ^= 1 << bit % 8
        reader = StatusReader(SERVOS)
        answers = reader.feed(bytes(damaged) + good + good + bytes(LONGEST))
        assert answers[-1] == ServoAnswer(3, 0, False, b"\1\2"), bit


def test_a_tripped_watchdog_is_noticed() -> None:
    line = up()
    line.command(LEFT, "velocity", 1.0)
    line.run(100)
    servo = line.mock.servos[1]
    servo.tripped, servo.table[98] = True, 255
    line.run(400)
    assert line.found(Disconnected) == [Disconnected("the bus watchdog stopped servo 1")]


def test_a_model_with_current_gets_goal_current() -> None:
    line = up({"model": 1020}, motors={"arm": ServoSettings(id=1, max_torque=4.0)})
    line.settings("arm", 0.5, 1.0, -1.0, 1.0)
    line.run(300)
    servo = line.mock.servos[1]
    assert (servo.table[11], servo.get(102, 2)) == (5, 1193 // 4)


def test_a_position_beyond_the_servos_limits_is_refused() -> None:
    line = up()
    (refused,) = line.command(LEFT, "position", 4.0)
    assert isinstance(refused, RefusedRequest) and refused.reason == "out_of_range"
    line = up(motors={"arm": ServoSettings(id=1, multi_turn=True)})
    line.enable("arm sensor")
    line.command("arm", "position", 10.0)
    line.run(3_000)
    assert line.values()["arm sensor"] == pytest.approx(10.0, abs=0.01)


def test_motors_show_their_velocity_on_request() -> None:
    line = up(show_velocity=True)
    line.command(LEFT, "velocity", 2.0)
    line.run(300)
    assert line.values()[LEFT] == pytest.approx(2.0, abs=0.03)


def test_torque_feedback() -> None:
    line = up()
    line.handle(line.session.tune(FeedbackSwitch(line.index(LEFT), 20.0), line.now))
    line.command(LEFT, "velocity", 1.0)
    line.run(200)
    assert line.found(MotorFeedback)[-1] == MotorFeedback(line.index(LEFT), 0.1 * 1.4)


def test_torque_control_and_packets_are_refused() -> None:
    line = up()
    (refused,) = line.command(LEFT, "torque", 0.5)
    assert isinstance(refused, RefusedRequest) and refused.reason == "not_settable"
    (refused,) = line.session.send(PacketOut(line.index(LEFT), 1, b"x"), line.now)
    assert refused.text == f"RotationalMotor '{LEFT}' is not an Emitter of the robot"


def test_errors_in_the_configuration() -> None:
    two = {"a": ServoSettings(id=1, sensor="s"), "b": ServoSettings(id=1, sensor="s")}
    settings = DynamixelSettings(port="/dev/x", motors=two, limits={"c": MotorLimits()})
    paths = [error[0] for error in BODY.check(settings)]
    assert paths == ["motors.a.id", "motors.b.id", "motors", "limits.c"]


# --- servos of different series -------------------------------------------------------------------


def test_a_mixed_chain_is_read_in_one_exchange() -> None:
    line = up(motors=MIXED, baudRate=1_000_000)
    for name in ("left wheel sensor", "arm sensor", "right wheel sensor"):
        line.enable(name)
    line.mock.servos[7].pulses = 607_500 / 4  # a quarter of a turn
    line.written.clear()
    line.run(100)
    asked = packets_of(line.written)
    reads = [parameters for _, instruction, parameters in asked if instruction == 0x92]
    assert 4 <= len(reads) <= 6 and len(set(reads)) == 1
    assert reads[0] == bytes.fromhex("01 84 00 04 00  07 44 02 04 00  02 84 00 04 00")
    assert {instruction for _, instruction, _ in asked} <= {0x02, 0x92}  # and the watchdogs
    assert line.values() == {
        "left wheel sensor": pytest.approx(0, abs=0.002),
        "arm sensor": pytest.approx(math.pi / 2, abs=1e-4),
        "right wheel sensor": pytest.approx(0, abs=0.002),
    }


def test_a_mixed_chain_moves_and_stops_with_one_packet_for_each_goal() -> None:
    line = up(motors=MIXED, baudRate=1_000_000)
    line.command(LEFT, "velocity", 2.0)
    line.command("arm", "velocity", 1.0)
    line.run(200)
    arm = line.mock.servos[7]
    assert arm.get(104, 4) == round(1.0 / (0.01 * math.tau / 60))
    assert arm.speed * math.tau / 607_500 == pytest.approx(1.0, rel=0.01)
    frames = packets_of(line.session.emergency())
    assert [(number, instruction) for number, instruction, _ in frames] == [(254, 0x93)] * 2
    line.written.clear()
    line.handle(line.session.stop(StopReason.ENDED, line.now).events)
    line.run(100)
    assert not line.mock.servos[1].moves and not arm.moves
    line.settings("arm", 0.5, 2.0, 10.0, 44.0)
    line.run(1500)
    assert arm.pulses * math.tau / 607_500 == pytest.approx(0.5, abs=0.001)


def test_a_servo_of_another_series_is_named() -> None:
    line = bench({"model": "1060"}, motors=MIXED, baudRate=1_000_000)
    line.open(300)
    (failure,) = line.found(ProtocolFailure)
    assert str(failure.error) == (
        "servo 7 is a model 1060 of series X; set series: X of 'arm', or correct its id"
    )
    assert not line.found(Connected) and line.session.next_deadline() is None


def test_the_load_and_the_stop_of_a_mixed_chain() -> None:
    alike, mixed = (
        DynamixelSettings(port="/dev/x", motors=motors)
        for motors in ({name: ServoSettings(id=each.id) for name, each in MIXED.items()}, MIXED)
    )
    grown = BODY.line_load(mixed).needed - BODY.line_load(alike).needed
    request = len(Dynamixel(OFFSETS).read_all(132, 4, OFFSETS)) - len(
        Dynamixel(dict.fromkeys(OFFSETS, 0)).read_all(132, 4, OFFSETS)
    )
    assert grown == pytest.approx(request + 2 * request * 20 / 250, abs=1)
    stop = BODY.stop_frame(mixed)
    assert "Bulk Write" in stop.words and "(104, 552)" in stop.words
    known = bytes.fromhex(stop.form.partition("??")[0])
    assert known.startswith(Dynamixel(OFFSETS).write_all(104, dict.fromkeys(OFFSETS, 0)))


@pytest.mark.parametrize("echo", ["no", "yes"])
def test_handshake(echo: str) -> None:
    line = bench({"echo": echo})
    line.open(300)
    assert line.found(Connected) == [Connected("Dynamixel servos 1: model 1060, 2: model 1060")]
    for servo in line.mock.servos.values():
        assert not servo.torque and servo.table[98] == 10
    line.run(2_000)
    assert line.events == [] and line.session.counts["late_periods"] < 10


DRIVE_MODE = 10
WRITE = 3  # instruction
REVERSE, TIME_BASED, TORQUE_ON_BY_GOAL = 1, 4, 8
LIMIT = 0.5  # rad/s
BOTH = {name: MotorLimits(max_velocity=LIMIT) for name in (LEFT, RIGHT)}


def opened(registers: str, **settings: Any) -> BodyBench:
    line = DYNAMIXEL.bench({"registers": registers}, **settings)
    line.open(DYNAMIXEL.open_ms)
    return line


def fastest(line: BodyBench, milliseconds: int) -> float:
    """The largest velocity of the left servo in rad/s, from where it is every 20 ms."""
    servo, speed = line.mock.servos[1], 0.0
    for _ in range(milliseconds // 20):
        before = servo.pulses
        line.run(20)
        speed = max(speed, abs(servo.pulses - before) * math.tau / 4096 / 0.02)
    return speed


def drive_mode_writes(line: BodyBench) -> list[Packet]:
    """The packets that write this register."""
    packets = packets_of(bytes(line.written))
    return [each for each in packets if each[1] == WRITE and each[2][:2] == bytes((DRIVE_MODE, 0))]


@pytest.mark.parametrize("drive", [TIME_BASED, TORQUE_ON_BY_GOAL, TIME_BASED | REVERSE, 0x0C])
def test_a_drive_mode_that_changes_our_numbers_is_refused_with_its_fix(drive: int) -> None:
    line = opened(f"2:{DRIVE_MODE}:{drive}")
    (failure,) = line.found(ProtocolFailure)
    assert isinstance(failure.error, MismatchError)
    assert f"servo 2 has Drive Mode (register 10) {drive}: bit 2" in failure.error.what
    assert "drive_mode: velocity" in failure.error.fix
    assert f"write {drive & REVERSE} to the register" in failure.error.fix
    assert not line.found(Connected)
    assert line.mock.servos[2].table[DRIVE_MODE] == drive  # hilgw was not asked to change it


@pytest.mark.parametrize("drive", [TIME_BASED, TORQUE_ON_BY_GOAL])
@pytest.mark.parametrize("mode", [1, 3])
def test_servos_that_are_refused_stand(drive: int, mode: int) -> None:
    """A wheel that still turns lets go, and an arm holds, before the refusal ends the body."""
    others = f"2:{MODE}:{mode}, 2:{TORQUE}:1, 2:104:100, 2:112:20, 2:116:3000"
    line = opened(f"2:{DRIVE_MODE}:{drive}, {others}")
    assert line.found(ProtocolFailure)
    assert line.mock.servos[2].torque is (mode == 3)
    before = line.mock.servos[2].pulses
    line.run(500)
    assert line.mock.servos[2].pulses == pytest.approx(before, abs=1)


@pytest.mark.parametrize("torque", [0, 1])
@pytest.mark.parametrize("drive", [TIME_BASED, TIME_BASED | REVERSE, 0x0C | REVERSE])
def test_drive_mode_velocity_lets_hilgw_clear_it(drive: int, torque: int) -> None:
    """With the torque off, as the servo requires it. The direction stays that of the servo."""
    others = f"1:{MODE}:3, 1:{TORQUE}:{torque}, 1:116:2048"
    line = opened(f"1:{DRIVE_MODE}:{drive}, {others}", drive_mode="velocity", limits=BOTH)
    assert len(line.found(Connected)) == 1
    assert line.mock.servos[1].table[DRIVE_MODE] == drive & REVERSE
    assert drive_mode_writes(line) == [(1, 3, bytes((DRIVE_MODE, 0, drive & REVERSE)))]
    line.written.clear()
    line.settings(LEFT, 0.4, LIMIT, -1.0, 1.4)
    assert fastest(line, 500) == pytest.approx(LIMIT, rel=0.1)
    line.disconnect()
    line.written.clear()
    line.open(DYNAMIXEL.open_ms)  # there is nothing to clear the next time
    assert not drive_mode_writes(line)


def test_a_drive_mode_that_the_servo_keeps_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    line = DYNAMIXEL.bench({"registers": f"1:{DRIVE_MODE}:4"}, drive_mode="velocity")
    line.mock.reset(line.now)
    servo = line.mock.servos[1]
    plain = servo.write
    locked = lambda address, data: ACCESS if address == DRIVE_MODE else plain(address, data)  # noqa: E731
    monkeypatch.setattr(servo, "write", locked)
    line.open(1500)
    assert not line.found(Connected) and not line.found(ProtocolFailure)
    assert any("servo 1 did not let go" in each.text for each in line.found(Notice))
    monkeypatch.setattr(servo, "write", plain)
    line.run(1500)
    assert len(line.found(Connected)) == 1 and servo.table[DRIVE_MODE] == 0


@pytest.mark.parametrize(("fastest", "profile"), [(math.inf, 0), (3.0, 125), (0.01, 1)])
def test_a_position_without_a_velocity_keeps_to_the_limit(fastest: float, profile: int) -> None:
    """Profile Velocity, in 0.229 rev/min, and 0 without a limit."""
    line = up(limits={LEFT: MotorLimits(max_velocity=None if fastest == math.inf else fastest)})
    line.command(LEFT, "position", 0.5)
    line.run(200)
    assert line.mock.servos[1].get(PROFILE, 4) == profile


def test_a_rate_limit() -> None:
    line = up(limits={LEFT: MotorLimits(rate=2.0)})
    line.command(LEFT, "velocity", 2.0)
    line.run(500)
    assert 0.5 < line.mock.servos[1].speed / 4096 * math.tau < 1.5
    line.run(700)
    assert line.mock.servos[1].speed / 4096 * math.tau == pytest.approx(2.0, abs=0.02)


def test_acceleration_and_torque_of_a_position_are_those_of_the_servo() -> None:
    line = up(motors={"arm": ServoSettings(id=1)}, mock={})
    line.settings("arm", 1.0, 0.5, 3.0, 0.7)
    line.run(500)
    servo = line.mock.servos[1]
    assert (servo.table[11], servo.get(108, 4), servo.get(112, 4)) == (3, 8, 21)
    assert servo.get(100, 2) == 442  # half the torque: Goal PWM
