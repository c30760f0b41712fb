"""The mock of Dynamixel servos: what a weak supply, an error and a bus watchdog do to them."""

from __future__ import annotations

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


def ask(made: Bus, now: int, instruction: int, *parameters: int) -> tuple[int, bytes]:
    """The error and the data of the answer."""
    made.receive(packets.packet(1, instruction, bytes(parameters)), now)
    answer = bytearray()
    while (due := made.uart.next_deadline()) is not None:
        answer += made.take(due)
    taken = packets.take(answer)
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


def test_a_low_supply_is_an_error_with_which_the_wheel_goes_on() -> None:
    made = turning()
    made.set("volts", "5.9")
    made.advance(100 * MS)
    assert made.servos[1].moves
    assert ask(made, 100 * MS, 2, ERROR, 0, 1, 0) == (0x80, b"\1")
    assert ask(made, 100 * MS, 2, 144, 0, 2, 0) == (0x80, b"\x3b\0")
    made.set("volts", "12")
    assert ask(made, 100 * MS, 2, ERROR, 0, 1, 0) == (0, b"\0")


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
def test_a_servo_that_its_watchdog_has_stopped_takes_no_goal_until_that_is_cleared(
    resumes: str,
) -> None:
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
