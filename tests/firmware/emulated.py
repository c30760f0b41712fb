"""The examples of the C library, compiled once for each board, and the command that runs them."""

import functools
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.firmware.node import SOURCES

BOARDS = {  # the compiler, the emulator and its options before the ELF file
    "uno": ("avr-gcc", "qemu-system-avr", "-M uno -nographic -monitor none -serial stdio -bios"),
    "netduinoplus2": (
        "arm-none-eabi-gcc",
        "qemu-system-arm",
        "-M netduinoplus2 -nographic -monitor none -serial stdio -kernel",
    ),
}
EMULATED = pytest.mark.parametrize(
    "board",
    [
        pytest.param(name, marks=[pytest.mark.judge(each) for each in (*judges[:2], "make")])
        for name, judges in BOARDS.items()
    ],
)


@functools.cache
def _built(board: str) -> tuple[tempfile.TemporaryDirectory[str], Path]:
    folder = tempfile.TemporaryDirectory(prefix="hilgw-firmware-")
    command = ["make", "-s", "-C", str(SOURCES), f"BOARD={board}", f"BUILD={folder.name}"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return folder, Path(folder.name)


def elf(example: str, board: str) -> Path:
    return _built(board)[1] / f"{example}.{board}.elf"


def command(example: str, board: str) -> str:
    _, emulator, options = BOARDS[board]
    return f"{emulator} {options} {elf(example, board)}"
