"""A microcontroller on a serial line: it echoes, answers, floods, stalls, reboots."""

from firmware_mocks.base import creator
from firmware_mocks.uart_node.node import Node
from firmware_mocks.uart_node.settings import Settings

SUMMARY = "a microcontroller on a serial line: echoes, answers, floods, stalls, reboots"
PARAMETERS = Settings.texts()

create = creator(Node, Settings)
