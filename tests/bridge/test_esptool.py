"""esptool, unmodified, resets a chip through the bridge and uses its boot loader."""

import asyncio
import struct
import subprocess
import sys
from typing import Any

import pytest

from tests.bridge.served import RecordedPort, Served

pytestmark = pytest.mark.process

SYNC, READ_REG = 0x08, 0x0A
SYNC_ANSWERS = 8
TIMEOUT_S = 60
# pyserial's client waits for answers in steps of 50 ms, four times for each command of esptool.
HASTY = """
import runpy, time
sleep = time.sleep
time.sleep = lambda seconds: sleep(min(seconds, 0.002))
runpy.run_module("esptool", run_name="__main__")
"""


class BootLoader(RecordedPort):
    """The ROM of an ESP8266 on the port: it answers after a reset with GPIO0 low.

    The board's wires: DTR on pulls GPIO0 low, RTS on pulls EN low, which is the reset.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[str, bool] = {"dtr": False, "rts": False}
        self.programs: list[str] = []  # what ran after each reset

    def set_modem_line(self, name: str, on: bool) -> None:
        super().set_modem_line(name, on)
        if name == "rts" and self.lines["rts"] and not on:
            self.programs.append("boot loader" if self.lines["dtr"] else "program")
        self.lines[name] = on

    def write(self, data: bytes) -> None:
        self.calls.append(("data", data))
        if not self.programs or self.programs[-1] != "boot loader":
            return
        command, _, _ = data.strip(b"\xc0").partition(b"\xc0")
        count = SYNC_ANSWERS if command[1] == SYNC else 1
        answer = b"\xc0" + struct.pack("<BBHIH", 1, command[1], 2, 0x07122007, 0) + b"\xc0"
        asyncio.get_running_loop().call_soon(self.send, answer * count)


def esptool(url: str, *arguments: str) -> Any:
    command = [sys.executable, "-c", HASTY, "--chip", "esp8266", "--port", url, "--no-stub"]
    return subprocess.run(
        [*command, "--connect-attempts", "1", *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )


def test_it_resets_into_the_boot_loader_reads_and_starts_the_program() -> None:
    port = BootLoader()
    with Served(port) as bridge:
        done = esptool(bridge.url, "read_mem", "0x3ff00050")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0x3ff00050 = 0x07122007" in done.stdout
    assert port.programs == ["boot loader", "program"]
    written = [call[1] for call in port.calls if call[0] == "data"]
    assert next(data[2] for data in written) == SYNC
    assert any(data[2] == READ_REG for data in written)
    lines = [call[1] for call in port.calls if call[0] == "line"]
    assert "115200 8N1" in lines
