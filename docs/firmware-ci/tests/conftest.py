"""Starts the firmware as CI does: in a process of its own, on a serial port."""

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent


@pytest.fixture
def firmware(tmp_path):
    """firmware(path) runs it on that port. The file `celsius` holds the temperature."""
    celsius = tmp_path / "celsius"
    celsius.write_text("21.5")
    running = []

    class Firmware:
        def __init__(self, port):
            self.celsius = celsius
            command = [sys.executable, "-m", "firmware.on_pc", port, str(celsius)]
            self.process = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True)
            running.append(self.process)
            assert self.process.stdout.readline() == "running\n"

    yield Firmware
    for process in running:
        process.kill()
        process.communicate()
