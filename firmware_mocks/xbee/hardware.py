"""The kinds of module: what each one's manual says of power, sensitivity, buffers and payload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from firmware_mocks.xbee import tables
from firmware_mocks.xbee.registers import Register
from firmware_mocks.xbee.tables import COMMON, MAC, MESH, MODERN, joined

RATES = (1200, 2400, 4800, 9600, 19200, 38400, 57600, 115200, 230400, 460800, 921600)

MAC_FAMILY = "802.15.4"
MESH_FAMILY = "DigiMesh"
ZIGBEE_FAMILY = "Zigbee"


def nominal_rate(value: int) -> int:
    """The rate a BD value names, bit/s."""
    return RATES[value] if value < len(RATES) else value


@dataclass(frozen=True, slots=True)
class Hardware:
    """One kind of module.

    family: how it addresses and answers. powers_dbm: by PL. rssi_dbm: weakest and strongest it
    can tell. uart_buffer: bytes, each way. payload: bytes in one packet (802.15.4 other than S1:
    before headers and addresses). clock_hz: of the rate divider, 0 where any rate is met exactly.
    """

    title: str
    family: str
    registers: Mapping[str, Register]
    powers_dbm: tuple[int, ...]
    sensitivity_dbm: float
    uart_buffer: int
    payload: int
    rssi_dbm: tuple[int, int] = (-0xFF, 0)
    modern: bool = True
    band: str = "2.4 GHz"
    clock_hz: int = 0

    def stored_rate(self, value: int) -> int:
        """BD as it reads back: a raw rate becomes the rate achieved."""
        if value < len(RATES) or not self.clock_hz:
            return value
        return self.clock_hz // -(-self.clock_hz // value)

    def line_rate(self, value: int) -> int:
        """The UART rate for a BD value, bit/s. A divider makes 111,111 of 115,200."""
        rate = nominal_rate(value)
        if value >= len(RATES) or not self.clock_hz:
            return rate
        return self.clock_hz // round(self.clock_hz / rate)


_XBEE3_DBM = (-5, -1, 2, 5, 8)
_XBEE3_PRO_DBM = (-5, 3, 8, 15, 19)
_S1_CLOCK_HZ = 1_000_000
_XBEE3_MAC = (COMMON, MODERN, MAC, tables.XBEE3_MAC)

KINDS: dict[str, Hardware] = {
    "s1": Hardware(
        "XBee S1 802.15.4",
        MAC_FAMILY,
        joined((COMMON, MAC, tables.S1), hv=0x1744, vr=0x10EF),
        powers_dbm=(-10, -6, -4, -2, 0),
        sensitivity_dbm=-92.0,
        uart_buffer=202,
        payload=100,
        rssi_dbm=(-0x5C, -0x17),
        modern=False,
        clock_hz=_S1_CLOCK_HZ,
    ),
    "s1pro": Hardware(
        "XBee-PRO S1 802.15.4",
        MAC_FAMILY,
        joined((COMMON, MAC, tables.S1, tables.S1_PRO), hv=0x1844, vr=0x10EF),
        powers_dbm=(10, 12, 14, 16, 18),
        sensitivity_dbm=-100.0,
        uart_buffer=202,
        payload=100,
        rssi_dbm=(-0x64, -0x24),
        modern=False,
        clock_hz=_S1_CLOCK_HZ,
    ),
    "s2c": Hardware(
        "XBee S2C 802.15.4",
        MAC_FAMILY,
        joined((*_XBEE3_MAC, tables.S2C), hv=0x2E46, vr=0x2003),
        powers_dbm=(-5, -1, 1, 3, 5),
        sensitivity_dbm=-100.0,
        uart_buffer=174,
        payload=116,
    ),
    "xbee3": Hardware(
        "XBee 3 802.15.4",
        MAC_FAMILY,
        joined(_XBEE3_MAC, hv=0x4142, vr=0x2014),
        powers_dbm=_XBEE3_DBM,
        sensitivity_dbm=-103.0,
        uart_buffer=202,
        payload=116,
    ),
    "xbee3pro": Hardware(
        "XBee 3 PRO 802.15.4",
        MAC_FAMILY,
        joined(_XBEE3_MAC, hv=0x4143, vr=0x2014),
        powers_dbm=_XBEE3_PRO_DBM,
        sensitivity_dbm=-103.0,
        uart_buffer=202,
        payload=116,
    ),
    "digimesh": Hardware(
        "XBee 3 DigiMesh",
        MESH_FAMILY,
        joined((COMMON, MODERN, MESH, tables.MESH_2_4), hv=0x4142, vr=0x3014),
        powers_dbm=_XBEE3_DBM,
        sensitivity_dbm=-103.0,
        uart_buffer=255,
        payload=73,
    ),
    "zigbee": Hardware(
        "XBee 3 Zigbee",
        ZIGBEE_FAMILY,
        joined((COMMON, MODERN, tables.ZIGBEE), hv=0x4142, vr=0x1014),
        powers_dbm=_XBEE3_DBM,
        sensitivity_dbm=-103.0,
        uart_buffer=384,
        payload=84,
    ),
    "900hp": Hardware(
        "XBee-PRO 900HP DigiMesh",
        MESH_FAMILY,
        joined((COMMON, MODERN, MESH, tables.HP900), hv=0x2300, vr=0x8071),
        powers_dbm=(7, 15, 18, 21, 24),
        sensitivity_dbm=-101.0,
        uart_buffer=384,
        payload=256,
        rssi_dbm=(-0x6E, -0x28),
        band="900 MHz",
    ),
}
