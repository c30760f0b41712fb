"""Dynamixel X and P servos on a bus, from the maker's e-manual (protocol 2.0, XL430-W250)."""

from firmware_mocks.base import creator
from firmware_mocks.dynamixel.bus import Bus, Settings

SUMMARY = "Dynamixel X and P servos on one bus: protocol 2.0, position and velocity control"
PARAMETERS = Settings.texts()

create = creator(Bus, Settings)
