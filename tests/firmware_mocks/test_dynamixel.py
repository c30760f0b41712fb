"""The mock of Dynamixel servos: what a weak supply, an error and a bus watchdog do to them."""

from typing import Any

import pytest

from firmware_mocks import dynamixel
from firmware_mocks.air import Air
from firmware_mocks.base import MS
from firmware_mocks.dynamixel import packets
from firmware_mocks.dynamixel.bus import Bus

MODE, TORQUE, ERROR, WATCHDOG, GOAL_VELOCITY, GOAL_POSITION = 11, 64, 70, 98, 104, 116


def bus(**parameters: Any) -> Bus:
    made = dynamixel.create("bus", Air(), {"ids": "1", **parameters})
    made.reset(0)
    return made


def send(made: Bus, number: int, instruction: int, *parameters: int, now: int = 0) -> bytes:
    """All bytes of the answer."""
    made.receive(packets.packet(number, instruction, bytes(parameters)), now)
    answer = b""
    while (due := made.uart.next_deadline()) is not None:
        answer += made.take(due)
    return answer


def ask(made: Bus, now: int, instruction: int, *parameters: int) -> tuple[int, bytes]:
    """The error and the data of the answer."""
    taken = packets.take(bytearray(send(made, 1, instruction, *parameters, now=now)))
    assert taken is not None
    return taken[2][0], taken[2][1:]


def turning(**parameters: Any) -> Bus:
    made = bus(**parameters)
    for register, value in ((MODE, 1), (TORQUE, 1)):
        assert ask(made, 0, 3, register, 0, value) == (0, b"")
    assert ask(made, 0, 3, GOAL_VELOCITY, 0, 100, 0, 0, 0) == (0, b"")
    return made


@pytest.mark.parametrize(("bits", "torque"), [(1, 1), (4, 0), (8, 1), (16, 0), (32, 0)])
def test_shutdown_decides_which_error_switches_the_torque_off(bits: int, torque: int) -> None:
    """e-manual, Shutdown (63): overheating, electrical shock and overload at first."""
    made = turning()
    made.set("hardware_error", str(bits))
    assert made.servos[1].torque is bool(torque)
    begin = made.servos[1].pulses
    made.advance(100 * MS)
    assert (made.servos[1].pulses > begin) is bool(torque)
    assert ask(made, 100 * MS, 2, ERROR, 0, 1, 0) == (0x80, bytes((bits,)))
    error, _ = ask(made, 100 * MS, 3, TORQUE, 0, 1)
    assert (error & 0x7F == 0) is bool(torque)  # only a reboot helps


def test_a_reboot_keeps_the_eeprom_only() -> None:
    made = turning()
    ask(made, 0, 3, WATCHDOG, 0, 10)
    assert ask(made, 0, 8) == (0, b"")
    assert ask(made, 0, 2, MODE, 0, 1, 0) == (0, b"\1")
    assert ask(made, 0, 2, TORQUE, 0, 1, 0) == (0, b"\0")
    assert ask(made, 0, 2, WATCHDOG, 0, 1, 0) == (0, b"\0")
    ask(made, 0, 6, 0xFF)  # factory reset
    assert ask(made, 0, 2, MODE, 0, 1, 0) == (0, b"\3")


def test_a_servo_whose_supply_sags_restarts_while_it_turns() -> None:
    made = turning(brown_out_s=0.2)
    made.advance(150 * MS)
    assert made.servos[1].torque
    made.advance(210 * MS)
    assert not made.servos[1].torque and not made.servos[1].moves
    assert made.servos[1].table[MODE] == 1


def test_registers_at_power_on_and_by_themselves() -> None:
    made = bus(registers="1:11:1, 1:104:-5")
    assert (made.servos[1].table[MODE], made.servos[1].get(104, 4)) == (1, -5)
    made.set("registers", "1:98:7")
    assert (made.servos[1].table[MODE], made.servos[1].table[WATCHDOG]) == (1, 7)
    for wrong in ("1:98", "2:98:0", "1:999:0", "a:b:c"):
        with pytest.raises(ValueError, match="registers: "):
            made.set("registers", wrong)


@pytest.mark.parametrize("resumes", ["yes", "no"])
def test_a_servo_that_its_watchdog_stopped_takes_no_goal_until_it_is_cleared(resumes: str) -> None:
    """e-manual, Bus Watchdog (98). The profile is not a goal value."""
    made = turning(resumes=resumes)
    ask(made, 0, 3, WATCHDOG, 0, 2)
    made.advance(100 * MS)
    servo = made.servos[1]
    assert servo.tripped and not servo.moves
    assert ask(made, 100 * MS, 3, GOAL_VELOCITY, 0, 0, 0, 0, 0) == (4, b"")
    assert ask(made, 100 * MS, 3, GOAL_POSITION, 0, 0, 8, 0, 0) == (4, b"")
    assert ask(made, 100 * MS, 3, 112, 0, 1, 0, 0, 0) == (0, b"")
    assert ask(made, 100 * MS, 3, WATCHDOG, 0, 0) == (0, b"")
    made.advance(150 * MS)
    assert servo.moves is (resumes == "yes")


@pytest.mark.parametrize(
    "request_bytes",
    [
        bytes((0x8A, 132, 0, 4, 0, 1, 2)),  # fast sync read
        bytes((0x9A, 1, 132, 0, 4, 0, 2, 132, 0, 4, 0)),  # fast bulk read
    ],
)
def test_a_fast_read_is_answered_in_one_packet(request_bytes: bytes) -> None:
    """e-manual, Fast Sync Read: after the header each servo adds error, id, data and a CRC."""
    made = bus(ids="1, 2")
    made.servos[2].pulses = 1000
    answer = send(made, 254, *request_bytes)
    first = bytes.fromhex("ff ff fd 00 fe 11 00 55 00 01 00 08 00 00")
    first += packets.crc(first).to_bytes(2, "little")
    both = first + bytes.fromhex("00 02 e8 03 00 00")
    assert answer == both + packets.crc(both).to_bytes(2, "little")


def test_a_fast_read_ends_at_the_servo_that_is_not_there() -> None:
    made = bus(ids="1, 3")
    answer = send(made, 254, 0x8A, 132, 0, 4, 0, 1, 2, 3)
    assert answer[5:7] == bytes((25, 0)) and len(answer) == 16
    assert send(made, 254, 0x8A, 132, 0, 4, 0, 2, 3) == b""


def test_a_bulk_read_may_ask_for_other_registers_of_each() -> None:
    answer = send(bus(ids="1, 2"), 254, 0x9A, 1, 144, 0, 2, 0, 2, 146, 0, 1, 0)
    assert answer[5:7] == bytes((12, 0)) and answer[8:12] == bytes((0, 1, 120, 0))
    assert answer[14:17] == bytes((0, 2, 31)) and len(answer) == 19


def test_a_new_id_answers_from_the_next_instruction_on() -> None:
    made = bus()
    assert send(made, 1, 3, 7, 0, 9) == packets.packet(1, 0x55, b"\0")
    assert send(made, 1, 1) == b"" and list(made.servos) == [9]
    assert send(made, 9, 2, 7, 0, 1, 0) == packets.packet(9, 0x55, b"\0\x09")
    made.reset(0)
    assert send(made, 9, 1)  # it is in the EEPROM
    assert send(made, 9, 3, 7, 0, 253)[8] == 4  # out of range
    assert send(made, 9, 3, TORQUE, 0, 1)[8] == 0
    assert send(made, 9, 3, 7, 0, 10)[8] == 7  # not while the torque is on


def test_two_servos_with_one_id_answer_at_the_same_time() -> None:
    made = bus(ids="1, 2")
    second = made.servos[2]
    assert send(made, 2, 3, 7, 0, 1)
    answer = bytearray(send(made, 1, 2, 132, 0, 4, 0))
    assert packets.take(answer) is not None  # both at 2048
    second.pulses = 1000.0
    answer = bytearray(send(made, 1, 2, 132, 0, 4, 0))
    taken = packets.take(answer)
    assert taken is not None and not taken[3]  # the CRC is wrong


def test_a_new_baud_rate_holds_after_the_answer() -> None:
    made = bus(ids="1, 2")
    made.host_baud = 57_600
    made.receive(packets.packet(1, 3, bytes((8, 0, 3))), 0)
    made.advance(50 * MS)
    assert made.take(50 * MS) == packets.packet(1, 0x55, b"\0")
    assert send(made, 1, 1) == b"" and send(made, 2, 1)
    made.host_baud = 1_000_000
    assert send(made, 1, 2, 8, 0, 1, 0)[9] == 3 and send(made, 2, 1) == b""
    assert send(made, 1, 3, 8, 0, 8)[8] == 4  # there is no such rate
    made.host_baud = 57_600
    made.receive(packets.packet(2, 3, bytes((8, 0, 3))), 0)  # the last one there
    made.host_baud = 1_000_000
    made.advance(50 * MS)
    made.take(50 * MS)
    assert send(made, 2, 1) and send(made, 1, 1) and made.baud_rate == 1_000_000
    send(made, 2, 6, 2)  # a factory reset that keeps id and rate
    assert send(made, 2, 1)
    send(made, 2, 6, 0xFF)
    made.host_baud = 57_600
    assert send(made, 1, 1)


@pytest.mark.parametrize("bits", [4, 16, 32])
def test_during_a_shutdown_error_no_write_switches_the_torque_on(bits: int) -> None:
    made = bus(hardware_error=bits)
    assert ask(made, 0, 3, TORQUE, 0, 1) == (0x87, b"")
    ask(made, 0, 4, TORQUE, 0, 1)  # reg write, and action
    assert ask(made, 0, 5) == (0x87, b"")
    made.receive(packets.packet(254, 0x83, bytes((TORQUE, 0, 1, 0, 1, 1))), 0)  # sync write
    made.receive(packets.packet(254, 0x93, bytes((1, TORQUE, 0, 1, 0, 1))), 0)  # bulk write
    made.receive(packets.packet(254, 3, bytes((TORQUE, 0, 1))), 0)
    assert not made.servos[1].torque
    made.set("hardware_error", "0")
    assert ask(made, 0, 3, TORQUE, 0, 1) == (0, b"") and made.servos[1].torque


@pytest.mark.parametrize(
    ("instruction", "parameters", "error"),
    [
        (0x33, (), 2),  # there is none
        (2, (1,), 5),  # a read of no length
        (0x10, (1, 0x44, 0x58, 0x4C, 0x22), 0),  # clear
    ],
)
def test_instructions_that_are_answered_without_data(
    instruction: int, parameters: tuple[int, ...], error: int
) -> None:
    assert ask(bus(), 0, instruction, *parameters) == (error, b"")


def test_a_damaged_packet_is_answered_with_the_error_of_its_crc() -> None:
    made = bus()
    made.receive(packets.packet(1, 1, b"")[:-1] + b"\0", 0)
    due = made.uart.next_deadline()
    assert due is not None
    assert made.take(due) == bytes.fromhex("ff ff fd 00 01 04 00 55 03 ab 0c")
