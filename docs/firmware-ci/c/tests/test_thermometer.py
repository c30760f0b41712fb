"""The compiled firmware on an emulated Arduino Uno: alone, and with the robot of gateway.yaml."""

from contextlib import suppress
from pathlib import Path

import serial

from hilgw.errors import PeerError

C = Path(__file__).parent.parent
ELF = C / "build" / "thermometer.elf"
TEMP_ASKED = bytes.fromhex("08 74 65 6d 70 3f 76 c4 00")
TEMP_21_5 = bytes.fromhex("0c 74 65 6d 70 20 32 31 2e 35 8e 73 00")


def test_it_answers(firmware):
    board = firmware(ELF, machine="uno", framing="cobs-crc16")
    answers = set()
    with serial.Serial(board.port, 115200, timeout=1) as line:
        for _ in range(10):  # a board that still boots reads nothing
            line.write(bytes(range(255, 0, -1)) + b"\0" + TEMP_ASKED)
            answers.update(iter(lambda: line.read_until(b"\0"), b""))
            if TEMP_21_5 in answers:
                break
    assert TEMP_21_5 in answers


def test_the_robot_asks_for_the_temperature(gateway):
    program = f"qemu-system-avr -M uno -nographic -monitor none -serial stdio -bios {ELF}"
    mock = f"adapters.thermometer.mock={{program: {program}}}"
    running = gateway(C.parent / "gateway.yaml", overrides=[mock])
    packets = []
    for _ in range(10):  # a board that still boots reads nothing
        running.send("rover.ask", b"temp?")
        with suppress(PeerError):
            packets.append(running.wait_for(b"temp 21.5", listener="rover.hear", timeout_s=1))
            break
    assert packets
