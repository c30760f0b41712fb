"""The compiled firmware on an emulated Arduino Uno: alone, and with the robot of gateway.yaml."""

from pathlib import Path

import serial

C = Path(__file__).parent.parent
ELF = C / "build" / "thermometer.elf"
TEMP_ASKED = bytes.fromhex("08 74 65 6d 70 3f 76 c4 00")
TEMP_21_5 = bytes.fromhex("0c 74 65 6d 70 20 32 31 2e 35 8e 73 00")


def test_it_answers(firmware):
    board = firmware(ELF, machine="uno", framing="cobs-crc16")
    with serial.Serial(board.port, 115200, timeout=10) as line:
        line.write(bytes(range(255, 0, -1)) + b"\0" + TEMP_ASKED)
        answers = iter(lambda: line.read_until(b"\0"), b"")
        assert TEMP_21_5 in answers  # after "ready", unless the board booted before


def test_the_robot_asks_for_the_temperature(gateway):
    program = f"qemu-system-avr -M uno -nographic -monitor none -serial stdio -bios {ELF}"
    mock = f"adapters.thermometer.mock={{program: {program}}}"
    running = gateway(C.parent / "gateway.yaml", overrides=[mock])
    running.send("rover.ask", b"temp?")  # the emulated UART keeps it while the board boots
    running.wait_for(b"temp 21.5", listener="rover.hear", timeout_s=20)
