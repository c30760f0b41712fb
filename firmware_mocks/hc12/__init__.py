"""HC-12 radio modules, from the user manuals V2.3 and V2.4."""

from firmware_mocks.hc12.module import Module
from firmware_mocks.hc12.settings import PARAMETERS

SUMMARY = "HC-12 radio modules, 433 MHz: SET pin, AT commands, FU1 to FU4, air rates"

__all__ = ["PARAMETERS", "SUMMARY", "create"]

create = Module
