"""A machine with three axes that reads G-code, as the firmware Grbl 1.1 documents it."""

from firmware_mocks.base import creator
from firmware_mocks.gcode_machine.machine import Machine, Settings

SUMMARY = "a machine with three axes that reads G-code (Grbl 1.1)"
PARAMETERS = Settings.texts()

create = creator(Machine, Settings)
