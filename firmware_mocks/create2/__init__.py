"""The iRobot Create 2, from its Open Interface specification (based on the Roomba 600)."""

from firmware_mocks.base import creator
from firmware_mocks.create2.robot import Robot, Settings

SUMMARY = "an iRobot Create 2 with its Open Interface, in a walled room"
PARAMETERS = Settings.texts()

create = creator(Robot, Settings)
