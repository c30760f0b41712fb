"""A USB IR Toy v2, and a remote control, a lamp or a jammer next to it."""

from firmware_mocks.base import creator
from firmware_mocks.ir_toy.settings import Settings
from firmware_mocks.ir_toy.toy import Toy

SUMMARY = "a USB IR Toy, with a remote control, a lamp that answers or a jammer next to it"
PARAMETERS = Settings.texts()

create = creator(Toy, Settings)
