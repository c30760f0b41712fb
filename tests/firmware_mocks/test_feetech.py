"""The mock of Feetech STS servos, by the bytes of the protocol manual."""

from typing import Any

import pytest

from firmware_mocks.feetech import create
from hilgw.plugins import new_air

MS = 1_000_000


def bus(**parameters: Any) -> Any:
    made = create("bus", new_air(), {"ids": "1, 2", **parameters})
    made.reset(0)
    return made


def packet(number: int, instruction: int, *data: int) -> bytes:
    body = bytes((number, len(data) + 2, instruction, *data))
    return b"\xff\xff" + body + bytes((~sum(body) & 255,))


def asked(made: Any, data: bytes, now: int) -> str:
    made.receive(data, now)
    answer = bytearray()
    while (due := made.uart.next_deadline()) is not None:
        answer += made.take(due)
    return answer.hex(" ")


def test_ping_read_and_what_is_damaged() -> None:
    """Protocol manual (SCS), examples of ping and read position."""
    made = bus()
    assert asked(made, packet(1, 1), MS) == "ff ff 01 02 00 fc"
    assert asked(made, packet(1, 2, 56, 2), 2 * MS) == "ff ff 01 04 00 00 08 f2"
    assert asked(made, packet(254, 0x82, 3, 2, 2, 9, 1), 3 * MS) == (
        "ff ff 02 04 00 09 03 ed ff ff 01 04 00 09 03 ee"  # in its order, without the one missing
    )
    noise = b"\xff" + packet(1, 1)[:-1] + b"\0"
    assert asked(made, noise + packet(2, 1), 4 * MS) == "ff ff 02 02 00 fb"


def test_a_goal_position_switches_the_torque_on_and_speed_0_is_unlimited() -> None:
    made = bus()
    made.receive(packet(254, 0x83, 42, 2, 1, 0, 4), 0)  # 1024
    made.receive(packet(254, 0x83, 46, 2, 1, 0, 0), 0)
    made.advance(100 * MS)
    first, second = made.servos.values()
    assert first.torque and not second.torque
    assert first.pulses == pytest.approx(2048 - 340) and first.moves


@pytest.mark.parametrize(("lock", "kept"), [(0, 1), (1, 0)])
def test_a_restart_has_no_torque_and_the_mode_that_was_saved(lock: int, kept: int) -> None:
    made = bus(brown_out_s=0.2)
    for address, value in ((55, lock), (33, 1), (40, 1)):
        made.receive(packet(1, 3, address, value), 0)
    made.receive(packet(1, 3, 46, 100, 0x80), 0)
    made.advance(150 * MS)
    assert made.servos[1].pulses == pytest.approx(2048 - 15)
    made.advance(300 * MS)
    servo = made.servos[1]
    assert (servo.table[33], servo.torque, servo.table[55]) == (kept, False, 1)


@pytest.mark.parametrize(("name", "value", "status", "torque"), [
    ("volts", "3", 1, True), ("errors", "4", 4, False), ("registers", "1:40:0", 0, False),
])  # fmt: skip
def test_errors_and_registers(name: str, value: str, status: int, torque: bool) -> None:
    made = bus(registers="1:33:1")
    made.receive(packet(1, 3, 40, 1), 0)
    made.set(name, value)
    made.advance(10 * MS)
    assert made.servos[1].torque is torque
    assert asked(made, packet(1, 1), 20 * MS).split()[-2] == f"{status:02x}"


def test_registers_are_there_from_the_start_as_a_host_of_mocks_resets_nothing() -> None:
    made = create("bus", new_air(), {"ids": "1, 2", "registers": "1:18:28"})
    assert asked(made, packet(1, 2, 18, 1), MS) == "ff ff 01 03 00 1c df"
    with pytest.raises(ValueError, match="there is no servo 9"):
        create("bus", new_air(), {"ids": "1, 2", "registers": "9:18:28"})
