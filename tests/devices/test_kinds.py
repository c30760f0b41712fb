"""Kinds of devices, the device table, and a Receiver in free-running use."""

import math
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hilgw.control.declared import LineLoad
from hilgw.devices.fields import CAP_BYTES, EmitterFields, ReceiverFields, normalise
from hilgw.devices.kinds import (
    CAMERA,
    KINDS,
    Device,
    Devices,
    check_table,
    couplings,
    look_up,
    on_joint,
)
from hilgw.devices.nodes import cone_axis, name, number, upright_axis
from hilgw.devices.properties import (
    FIELDS,
    DistanceSensorFields,
    GpsFields,
    LinearMotorFields,
    NodeFields,
    PositionSensorFields,
    RotationalMotorFields,
    TouchSensorFields,
    node_of,
)
from hilgw.devices.radios import Receiver
from hilgw.errors import ConfigError


def test_devices_are_found_by_index_and_name_and_come_in_order() -> None:
    devices = Devices()
    for index, text in ((5, "b"), (0, "a"), (3, "b"), (254, "c")):
        devices.add(Device(name=text, kind="DistanceSensor", index=index))
    assert [device.index for device in devices] == [0, 3, 5, 254]
    assert devices.by_index(3).name == "b"  # type: ignore[union-attr]
    assert devices.by_name("b").index == 5  # type: ignore[union-attr]  # the first to come
    assert devices.by_index(4) is None and devices.by_name("d") is None
    assert 254 in devices and 1 not in devices and len(devices) == 4
    with pytest.raises(ConfigError, match="taken by 'a'"):
        devices.add(Device(name="z", kind="LED", index=0))
    devices.clear()
    assert not list(devices) and devices.by_name("a") is None


def shape(kind: str, fields: NodeFields | None = None) -> str:
    """Names and units of a device's value."""
    device = Device(name="d", kind=kind, index=0, fields=fields)
    return ", ".join(f"{each.name} {each.unit}".strip() for each in device.reports)


def test_every_value_has_names_and_units() -> None:
    vector = "x {0}, y {0}, z {0}"
    speed = "speed m/s, speed_x m/s, speed_y m/s, speed_z m/s"
    assert {kind: shape(kind) for kind in (*KINDS, "Camera") if shape(kind)} == {
        "DistanceSensor": "value",
        "PositionSensor": "value rad",
        "LightSensor": "value",
        "TouchSensor": "value",
        "Accelerometer": vector.format("m/s^2"),
        "Gyro": vector.format("rad/s"),
        "Compass": "x, y, z",
        "GPS": f"{vector.format('m')}, {speed}",
        "InertialUnit": "x, y, z, w",
        "LinearMotor": "position m",
        "RotationalMotor": "velocity rad/s",
    }
    assert shape("PositionSensor", PositionSensorFields(type="linear")) == "value m"
    assert shape("TouchSensor", TouchSensorFields(type="force")) == "value N"
    assert shape("TouchSensor", TouchSensorFields(type="force-3d")) == vector.format("N")
    earth = "latitude deg, longitude deg, altitude m"
    assert shape("GPS", GpsFields(gpsCoordinateSystem="WGS84")) == f"{earth}, {speed}"


def test_fields_are_those_of_webots() -> None:
    assert set(FIELDS) == {*KINDS, CAMERA}  # a camera is never a device of a body
    sensor = DistanceSensorFields(lookupTable=((0.0, 1000.0, 0.0), (0.3, 50.0, 0.1)))
    assert (sensor.minValue, sensor.maxValue) == (50.0, 1000.0)
    assert (DistanceSensorFields().minValue, DistanceSensorFields().maxValue) == (0.0, 1000.0)
    assert DistanceSensorFields(lookupTable=()).maxValue == math.inf
    motor = RotationalMotorFields(maxVelocity=6.28, position=0.5, maxTorque=2.0)
    assert (motor.targetPosition, motor.targetVelocity, motor.maxForceOrTorque) == (0.5, 6.28, 2.0)
    assert LinearMotorFields().maxForceOrTorque == 10.0
    assert {node_of(fields()) for fields in FIELDS.values()} == set(FIELDS)


def test_coupled_motors_share_a_name_and_devices_a_joint() -> None:
    def named(index: int, name: str, kind: str, fields: NodeFields | None = None) -> Device:
        return Device(name=name, kind=kind, index=index, fields=fields)

    devices = [
        named(0, "arm::a", "RotationalMotor", RotationalMotorFields(joint="elbow")),
        named(1, "arm::b", "RotationalMotor"),
        named(2, "arms::c", "RotationalMotor"),
        named(3, "arm", "LinearMotor"),
        named(4, "angle", "PositionSensor", PositionSensorFields(joint="elbow")),
        named(5, "free", "PositionSensor"),
    ]
    assert [each.index for each in couplings(devices, devices[0])] == [1]
    assert couplings(devices, devices[2]) == couplings(devices, devices[3]) == []
    assert on_joint(devices, devices[0], "PositionSensor") is devices[4]
    assert on_joint(devices, devices[4], "RotationalMotor") is devices[0]
    assert on_joint(devices, devices[0], "Brake") is None
    assert on_joint(devices, devices[5], "RotationalMotor") is None


# --- Webots' fields: defaults, limits, and what is normalised with a warning ----------------------


EMITTER, RECEIVER = EmitterFields(), ReceiverFields()


@pytest.mark.parametrize(
    ("node", "fields", "where"),
    [
        (EMITTER, {"type": "infrared"}, "type"),
        (EMITTER, {"range": -0.5}, "range"),
        (EMITTER, {"range": math.nan}, "range"),
        (EMITTER, {"maxRange": -2.0}, "maxRange"),
        (EMITTER, {"aperture": 6.3}, "aperture"),
        (EMITTER, {"channel": -2}, "channel"),
        (EMITTER, {"baudRate": -2}, "baudRate"),
        (EMITTER, {"byteSize": 7}, "byteSize"),
        (EMITTER, {"bufferSize": -2}, "bufferSize"),
        (EMITTER, {"allowedChannels": (0, -2)}, "allowedChannels"),
        (EMITTER, {"rotation": (0.0, 0.0, 0.0, 1.0)}, "rotation"),
        (EMITTER, {"translation": (0.0, math.nan, 0.0)}, "translation"),
        (EMITTER, {"channel": 2, "allowedChannels": (0, 1)}, "channel"),
        (RECEIVER, {"type": "IR"}, "type"),
        (RECEIVER, {"aperture": 7.0}, "aperture"),
        (RECEIVER, {"channel": -2}, "channel"),
        (RECEIVER, {"signalStrengthNoise": -0.1}, "signalStrengthNoise"),
        (RECEIVER, {"directionNoise": -1.0}, "directionNoise"),
        (RECEIVER, {"sampling_period_ms": -1}, "sampling_period_ms"),
        (RECEIVER, {"channel": 2**31}, "channel"),
        (RECEIVER, {"channel": 1, "allowedChannels": (2,)}, "channel"),
    ],
)
def test_what_webots_forbids(node: Any, fields: dict[str, Any], where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        normalise(replace(node, **fields))
    assert caught.value.where == where
    assert caught.value.fix


@pytest.mark.parametrize(
    ("node", "fields", "changed", "warnings"),
    [
        (EMITTER, {"range": 0.0, "aperture": 0.0, "bufferSize": 0, "baudRate": 0}, {}, 0),
        (EMITTER, {"range": 5.0, "maxRange": 5.0, "aperture": 2 * math.pi}, {}, 0),
        (EMITTER, {"range": 5.0}, {}, 0),
        (EMITTER, {"channel": 2**31 - 1, "allowedChannels": (2**31 - 1, -1)}, {}, 0),
        (EMITTER, {"range": -1.0, "maxRange": 5.0}, {}, 1),  # beyond maxRange, and holds
        (EMITTER, {"range": 5.5, "maxRange": 5.0}, {}, 1),
        (EMITTER, {"range": 3.0, "maxRange": 0.0}, {"maxRange": -1}, 1),  # reset by Webots
        (RECEIVER, {"bufferSize": 0, "baudRate": 0}, {"bufferSize": -1, "baudRate": -1}, 2),
        (EMITTER, {"channel": -1}, {}, 1),  # it only broadcasts
        (RECEIVER, {"channel": -1}, {}, 0),
    ],
)
def test_what_webots_accepts_changes_or_warns_of(
    node: Any, fields: dict[str, Any], changed: dict[str, Any], warnings: int
) -> None:
    given = replace(node, **fields)
    result, shown = normalise(given)
    assert result == replace(given, **changed)
    assert len(shown) == warnings


# --- Node numbers and frame conventions by Webots version -----------------------------------------


# Emitter, Receiver, DistanceSensor, LinearMotor, RotationalMotor, TouchSensor
SOME = {
    "R2019a": (38, 51, 37, 45, 52, 54),
    "R2019b": (39, 52, 38, 46, 53, 55),
    "R2020b": (40, 53, 39, 47, 54, 56),
    "R2021b": (41, 54, 40, 48, 55, 57),
    "R2021c": (41, 54, 40, 48, 55, 58),
    "R2022b": (42, 55, 41, 49, 56, 59),
    "R2023b": (43, 56, 42, 50, 57, 60),
    "R2025a": (43, 56, 42, 50, 57, 60),
}
NODES = (
    "EMITTER",
    "RECEIVER",
    "DISTANCE_SENSOR",
    "LINEAR_MOTOR",
    "ROTATIONAL_MOTOR",
    "TOUCH_SENSOR",
)


@pytest.mark.parametrize("version", SOME)
def test_numbers_and_names(version: str) -> None:
    numbers = [number(version, node) for node in NODES]
    assert tuple(numbers) == SOME[version]
    assert [name(version, each) for each in numbers] == list(NODES)
    assert name(version, 9999) is None


def test_nodes_that_came_and_went() -> None:
    assert number("R2021a", "DIFFERENTIAL_WHEELS") == 32
    assert number("R2021b", "ALTIMETER") == 34
    assert number("R2025a", "VACUUM_GRIPPER") == 61
    for version, node in (("R2021b", "DIFFERENTIAL_WHEELS"), ("R2021a", "ALTIMETER")):
        with pytest.raises(ConfigError, match="no node"):
            number(version, node)


@pytest.mark.parametrize("version", ["R2018b", "2025a", "", "R2025d", "R2025a; rm", "latest"])
def test_other_versions_are_refused(version: str) -> None:
    for ask in (cone_axis, upright_axis, lambda each: number(each, "EMITTER")):
        with pytest.raises(ConfigError) as caught:
            ask(version)
        assert caught.value.fix


@pytest.mark.parametrize(
    ("version", "cone", "up"),
    [("R2019a", 2, 1), ("R2021c", 2, 1), ("R2022a", 0, 2), ("R2025a", 0, 2)],
)
def test_axes(version: str, cone: int, up: int) -> None:
    assert (cone_axis(version), upright_axis(version)) == (cone, up)


TABLE = ((0.0, 1000.0, 0.0), (0.1, 1000.0, 0.1), (0.2, 400.0, 0.1), (0.3, 50.0, 0.1))


@pytest.mark.parametrize(
    ("measured", "value"),
    [(-1.0, 1000), (0.0, 1000), (0.1, 1000), (0.15, 700), (0.2, 400), (0.3, 50), (9.0, 50)],
)
def test_the_example_of_the_reference_manual(measured: float, value: float) -> None:
    """Webots reference manual, DistanceSensor, Lookup Table."""
    assert look_up(TABLE, measured) == pytest.approx(value)
    assert look_up((), measured) == measured


def test_rows_that_do_not_increase() -> None:
    assert check_table(TABLE) == "" and check_table(()) == ""
    assert "0.1 after 0.1" in check_table(((0.1, 0, 0), (0.1, 1, 0)))


def test_what_a_line_carries() -> None:
    """115200 8N1: 172.8 bytes in 15 ms."""
    assert LineLoad(0, 115_200, 10, 15_000_000).possible == 172
    assert LineLoad(0, 57_600, 10, 20_000_000, 20_000_001).possible == 0
    assert LineLoad(172, 115_200, 10, 15_000_000).overload == ""
    assert "needs 173 bytes" in LineLoad(173, 115_200, 10, 15_000_000).overload
    assert "carries 115 at" in LineLoad(173, 115_200, 10, 15_000_000, 5_000_000).overload


MS = 1_000_000


@dataclass(frozen=True)
class Packet:
    data: bytes


@dataclass(frozen=True)
class Copy:
    packet: Packet


def copy(size: int) -> Copy:
    return Copy(Packet(bytes(size)))


def started(period_ms: int = 32, now: int = 0, **fields: Any) -> Receiver[Copy]:
    receiver: Receiver[Copy] = Receiver(ReceiverFields(**fields))
    receiver.enable(period_ms, now)
    return receiver


def test_a_period_between_steps_acts_at_the_next_step_end() -> None:
    receiver: Receiver[Copy] = Receiver(ReceiverFields(), step_ms=32)
    receiver.enable(50, 0)
    read = []
    for step in range(1, 9):
        receiver.receive(copy(1), step * 32 * MS)
        read.append(len(receiver.sample(step * 32 * MS).readable))
    assert read == [0, 2, 0, 2, 0, 2, 0, 2]


def test_the_cap_bounds_what_is_held_too() -> None:
    receiver = started(32)
    assert receiver.receive(copy(CAP_BYTES), 0) is None
    assert receiver.receive(copy(1), 0) == "cap"
    assert receiver.queued == 1
    assert receiver.expire_all() == 1
    assert receiver.queued_bytes == 0


@given(
    st.sampled_from([-1, 0, 1, 16, 40]),
    st.lists(
        st.one_of(
            st.tuples(st.just("arrive"), st.integers(1, 20)),
            st.tuples(st.just("pass"), st.integers(0, 100)),
            st.tuples(st.just("read"), st.just(0)),
            st.tuples(st.just("enable"), st.integers(0, 80)),
        ),
        max_size=60,
    ),
)
def test_against_a_plain_model(buffer_size: int, actions: list[tuple[str, int]]) -> None:
    """Every copy is in one place at every instant; the queue holds what the model's holds."""
    receiver = started(32, bufferSize=buffer_size)
    buffer_size = buffer_size or -1  # WbReceiver resets 0
    held: list[tuple[int, int]] = []
    queue: list[int] = []
    now, period, last = 0, 32, 0
    taken = read = lost = 0
    for action, amount in actions:
        if action == "arrive":
            refused = receiver.receive(copy(amount), now * MS)
            assert bool(refused) == (period == 0)
            if not refused:
                held.append((now, amount))
                taken += 1
        elif action == "pass":
            for _ in range(amount):  # millisecond by millisecond
                now += 1
                if period and now == last + period:
                    last = now
                    for size in [size for at, size in held if at <= now]:
                        if buffer_size < 0 or sum(queue) + size <= buffer_size:
                            queue.append(size)
                    held = [(at, size) for at, size in held if at > now]
            sampled = receiver.sample(now * MS)
            lost += len(sampled.refused)
            assert set(sampled.reasons) <= {"overflow"}
        elif action == "read":
            taken_out = receiver.nextPacket()
            assert (len(taken_out.packet.data) if taken_out else None) == (
                queue.pop(0) if queue else None
            )
            read += taken_out is not None
        else:
            receiver.enable(amount, now * MS)
            period, last = amount, now
        head = receiver.head
        assert (head and len(head.packet.data)) == (queue[0] if queue else None)
        assert taken == receiver.queued + read + lost
        assert receiver.queued_bytes == sum(queue) + sum(size for _, size in held)
    assert [len(each.packet.data) for each in iter(receiver.nextPacket, None)] == queue


def test_samples_fall_on_the_grid_from_enabling_on_however_late_one_looks() -> None:
    receiver = started(32, now=5)
    assert receiver.next_sample() is None
    receiver.receive(copy(1), 40 * MS)
    assert receiver.next_sample() == 64 * MS + 5
    assert receiver.sample(64 * MS + 4).readable == ()
    receiver.receive(copy(2), 64 * MS + 6)  # after the grid instant, before anybody looked
    assert [len(each.packet.data) for each in receiver.sample(64 * MS + 99).readable] == [1]
    assert receiver.next_sample() == 96 * MS + 5


def test_an_arrival_on_the_grid_is_readable_then() -> None:
    receiver = started(32)
    receiver.receive(copy(1), 32 * MS)
    assert receiver.next_sample() == 32 * MS
    assert len(receiver.sample(32 * MS).readable) == 1
    receiver.receive(copy(1), 32 * MS)
    assert receiver.next_sample() == 64 * MS


def test_enabling_again_restarts_the_period_and_keeps_what_is_held() -> None:
    receiver = started(32)
    receiver.receive(copy(1), 10 * MS)
    receiver.enable(64, 20 * MS)
    assert receiver.next_sample() == 84 * MS
    receiver.disable()
    assert receiver.next_sample() is None
    assert receiver.sample(10**12).readable == ()
    assert receiver.receive(copy(1), 30 * MS) == "disabled"
    assert receiver.queued == 1
    receiver.enable(10, 100 * MS)
    assert len(receiver.sample(110 * MS).readable) == 1


def test_the_head_packet_stays_until_it_is_taken() -> None:
    receiver = started(32)
    assert receiver.head is None
    receiver.receive(copy(2), 7)
    receiver.receive(copy(3), 8)
    receiver.sample(32 * MS)
    first = receiver.head
    assert first is not None and len(first.packet.data) == 2
    assert receiver.nextPacket() is first
    assert receiver.head is not first
