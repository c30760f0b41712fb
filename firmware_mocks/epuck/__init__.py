"""The e-puck with the firmware sercom, as Webots' own remote control uses it."""

from firmware_mocks.base import creator
from firmware_mocks.epuck.robot import Robot
from firmware_mocks.epuck.settings import Settings

SUMMARY = "an e-puck with the firmware sercom, in a walled arena"
PARAMETERS = Settings.texts()

create = creator(Robot, Settings)
