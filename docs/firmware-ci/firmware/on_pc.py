"""The firmware on a serial port of the PC: `python -m firmware.on_pc PORT [FILE]`.

FILE holds the temperature, so that a test can change it; without FILE it is 21.5 degrees.
"""

import sys
from pathlib import Path

import serial

from firmware.thermometer import Thermometer


class Uart:
    """Replaces `machine.UART` of the board."""

    def __init__(self, port):
        self.port = serial.Serial(port, 115200, timeout=0.01)

    def read(self):
        return self.port.read(self.port.in_waiting or 1)

    def write(self, data):
        self.port.write(data)


def main():
    port, *files = sys.argv[1:]

    def sense():
        try:
            return float(Path(files[0]).read_text()) if files else 21.5
        except ValueError:
            return 21.5  # another process is writing the file

    thermometer = Thermometer(Uart(port), sense)
    print("running", flush=True)
    while True:
        thermometer.loop()


if __name__ == "__main__":
    main()
