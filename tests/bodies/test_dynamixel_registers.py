"""Drive Mode (10): bits in the servos that change what the numbers of hilgw mean."""

import math
from typing import Any

import pytest

from firmware_mocks.dynamixel.servo import ACCESS
from hilgw.control.events import Connected, Notice, ProtocolFailure
from hilgw.devices.kinds import MotorLimits
from hilgw.errors import MismatchError
from tests.bodies.bench import BodyBench
from tests.bodies.kinds import DYNAMIXEL, LEFT, RIGHT
from tests.bodies.servos import MODE, TORQUE, Packet, packets_of

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
    servo, found = line.mock.servos[1], 0.0
    for _ in range(milliseconds // 20):
        before = servo.pulses
        line.run(20)
        found = max(found, abs(servo.pulses - before) * math.tau / 4096 / 0.02)
    return found


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
