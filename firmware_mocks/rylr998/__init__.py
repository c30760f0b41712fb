"""REYAX RYLR998 and RYLR498 LoRa modules, from their AT command guide."""

from firmware_mocks.rylr998.module import Module
from firmware_mocks.rylr998.settings import PARAMETERS

SUMMARY = "REYAX RYLR998 LoRa modules: AT commands, addresses, air time"

__all__ = ["PARAMETERS", "SUMMARY", "create"]

create = Module
