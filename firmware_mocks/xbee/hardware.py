"""The kinds of module: the AT registers of each, its power, sensitivity, buffers and payload.

Ranges and defaults are those of the manuals' tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from firmware_mocks.xbee.registers import Register

RATES = (1200, 2400, 4800, 9600, 19200, 38400, 57600, 115200, 230400, 460800, 921600)

MAC_FAMILY = "802.15.4"
MESH_FAMILY = "DigiMesh"
ZIGBEE_FAMILY = "Zigbee"


def nominal_rate(value: int) -> int:
    """Return the rate a BD value names, bit/s."""
    return RATES[value] if value < len(RATES) else value


@dataclass(frozen=True, slots=True)
class Hardware:
    """A kind of module.

    family: the protocol it speaks. powers_dbm: by PL. rssi_dbm: weakest and strongest it can
    report. uart_buffer: bytes, each way. payload: bytes in one packet (802.15.4 other than S1:
    before headers and addresses). clock_hz: of the rate divider, 0 where any rate is met exactly.
    scans_all: AS has no limit of five networks.
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
    scans_all: bool = False

    def stored_rate(self, value: int) -> int:
        """Return BD as it reads back: a raw rate becomes the rate achieved."""
        if value < len(RATES) or not self.clock_hz:
            return value
        return self.clock_hz // -(-self.clock_hz // value)

    def line_rate(self, value: int) -> int:
        """Return the UART rate for a BD value, bit/s; a divider makes 111,111 of 115,200."""
        rate = nominal_rate(value)
        if value >= len(RATES) or not self.clock_hz:
            return rate
        return self.clock_hz // round(self.clock_hz / rate)


# --- registers ------------------------------------------------------------------------------------

Range = tuple[int, int]


def number(
    default: int, low: int, high: int, size: int = 0, also: tuple[Range, ...] = ()
) -> Register:
    """Return a number that can be read and set; as many bytes as its largest value needs."""
    widest = max(high, *(top for _, top in also)) if also else high
    return Register(default, low, high, size or (widest.bit_length() + 7) // 8 or 1, also=also)


def fixed(value: int, size: int) -> Register:
    """Return a number that can only be read."""
    return Register(value, size=size, access="r")


def counter() -> Register:
    """Return a register that counts by itself up to FFFF and may be set back."""
    return Register(0, 0, 0xFFFF, 2, volatile=True)


def joined(table: tuple[Mapping[str, Register], ...], hv: int, vr: int) -> dict[str, Register]:
    """Join the tables, later ones winning, with the hardware and firmware version."""
    merged: dict[str, Register] = {}
    for part in table:
        merged.update(part)
    if "NP" in merged:  # S1 has neither, VL since firmware 10C9
        text = f"VR {vr:04X}, HV {hv:04X}, built Jan 01 2021 12:00:00"
        merged["VL"] = Register(text.encode(), size=len(text), kind="text", access="r")
    return merged | {"HV": fixed(hv, 2), "VR": fixed(vr, 2)}


_TEXT = Register(b" ", size=20, kind="text")
_KEY = Register(bytes(16), size=16, kind="key", access="w")

COMMON: dict[str, Register] = {
    # serial
    "AP": number(0, 0, 2),
    "NB": number(0, 0, 4),
    "SB": number(0, 0, 1),
    "RO": number(3, 0, 0xFF),
    "D6": number(0, 0, 5),
    "D7": number(1, 0, 7),
    # command mode
    "CC": number(0x2B, 0, 0xFF),
    "CT": number(0x64, 2, 0x1770),
    "GT": number(0x3E8, 2, 0xCE4),
    # addresses
    "NI": _TEXT,
    "DH": number(0, 0, 0xFFFFFFFF),
    "DL": number(0, 0, 0xFFFFFFFF),
    "SH": fixed(0x0013A200, 4),
    "SL": fixed(0x40000000, 4),
    "CE": number(0, 0, 1),
    # radio
    "PL": number(4, 0, 4),
    "DB": Register(0, access="r", volatile=True),
    "AI": Register(0, access="r", volatile=True),
    "EE": number(0, 0, 1),
    "KY": _KEY,
    # pins
    "PR": number(0x1FFF, 0, 0x7FFF),
    "IR": number(0, 0, 0xFFFF),
    "IC": number(0, 0, 0xFFFF),
    "D5": number(1, 0, 5),
    "P0": number(1, 0, 5),
    "P1": number(0, 0, 5),
    **{f"D{pin}": number(0, 0, 5) for pin in (0, 1, 2, 3, 4, 8)},
    # sleep and PWM: kept, without effect here
    "M0": number(0, 0, 0x3FF),
    "M1": number(0, 0, 0x3FF),
    "SM": number(0, 0, 6),
    "SP": number(0, 0, 0xFFFF),
    "ST": number(0x1388, 1, 0xFFFF),
    "RP": number(0x28, 0, 0xFF),
}

# What S2C and XBee 3 have in all firmwares.
MODERN: dict[str, Register] = {
    "BD": number(3, 0, 0xA, 4, ((0x12C, 0xEC400),)),
    "NP": fixed(0, 2),
    "NO": number(0, 0, 7),
    "N?": fixed(0, 4),
    "PP": fixed(0, 1),
    "AO": number(0, 0, 7),
    "PM": number(1, 0, 1),
    "DD": number(0x00120000, 0, 0xFFFFFFFF),
    "SD": number(3, 0, 0xF),
    "TP": fixed(0x19, 2),
    "%V": fixed(3300, 2),
    "CI": number(0x11, 0, 0xFFFF),
    "DE": number(0xE8, 0, 0xFF),
    "SE": number(0xE8, 0, 0xFF),
    "PD": number(0x1FFF, 0, 0x7FFF),
    "D9": number(1, 0, 5),
    "P2": number(0, 0, 5),
    "P3": number(1, 0, 5),
    "P4": number(1, 0, 5),
}

MAC: dict[str, Register] = {
    "CH": number(0x0C, 0x0B, 0x1A),
    "ID": number(0x3332, 0, 0xFFFF),
    "MY": number(0, 0, 0xFFFF),
    "MM": number(0, 0, 3),
    "RR": number(0, 0, 6),
    "NT": number(0x19, 1, 0xFC),
    "EA": counter(),
    "EC": counter(),
    "IT": number(1, 1, 0xFF),
    "IU": number(1, 0, 1),
    "IA": number(0xFFFFFFFFFFFFFFFF, 0, 0xFFFFFFFFFFFFFFFF),  # kept: no line passing here
    "A1": number(0, 0, 0xF),
    "A2": number(0, 0, 0xF),
}

S1: dict[str, Register] = {
    "PR": number(0xFF, 0, 0xFF),
    "IC": number(0, 0, 0xFF),
    "BD": number(3, 0, 7, 4, ((0x80, 0x3D090),)),
    "CT": number(0x64, 2, 0xFFFF),
    "RN": number(0, 0, 3),
    "CA": number(0x2C, 0, 0x50),
    "NO": number(0, 0, 1),
    "SC": number(0x1FFE, 0, 0xFFFF),
    "SD": number(4, 0, 0xF),
    "DP": number(0x3E8, 1, 0x68B0),
}

S1_PRO: dict[str, Register] = {"CH": number(0x0C, 0x0C, 0x17)}

XBEE3_MAC: dict[str, Register] = {
    "RN": number(0, 0, 5),
    "CA": number(0x41, 0x28, 0x64, 1, ((0, 0),)),
    "AO": number(2, 0, 2),
    "C8": number(0, 0, 0xF),
    "SC": number(0xFFFF, 0, 0xFFFF),
}

S2C: dict[str, Register] = {
    "BD": number(3, 0, 8, 4, ((0x4B0, 0x3D090),)),
    "CA": number(0x2C, 0, 0x50),
    "FT": number(0x6D, 0x11, 0xA2),
}

MESH: dict[str, Register] = {
    "ID": number(0x7FFF, 0, 0x7FFF),
    "RR": number(0xA, 0, 0xF),
    "MR": number(1, 0, 7),
    "MT": number(3, 0, 5),
    "NT": number(0x82, 0x20, 0x2EE0),
    "NH": number(7, 1, 0x20),
    "BH": number(0, 0, 0x20),
    "TO": number(0xC0, 0, 0xFF),
    "CE": number(0, 0, 6),
    "SM": number(0, 0, 8),
    "SS": fixed(0, 1),
    "EA": counter(),
}

MESH_2_4: dict[str, Register] = {
    "CH": number(0x0C, 0x0B, 0x1A),
    "CA": number(0x41, 0x28, 0x64, 1, ((0, 0),)),
    "EC": counter(),
    "FT": number(0xBE, 0x11, 0xEE),
}

ZIGBEE: dict[str, Register] = {
    "CH": Register(0, access="r", volatile=True),
    "ID": number(0, 0, 0xFFFFFFFFFFFFFFFF),
    "OP": Register(0, size=8, access="r", volatile=True),
    "OI": Register(0xFFFF, size=2, access="r", volatile=True),
    "MY": Register(0xFFFE, size=2, access="r", volatile=True),
    "MP": Register(0xFFFE, size=2, access="r", volatile=True),
    "AI": Register(0xFF, access="r", volatile=True),
    "NC": fixed(20, 4),
    "SC": number(0x7FFF, 1, 0xFFFF),
    "NT": number(0x3C, 0x20, 0xFF),
    "NJ": number(0xFF, 0, 0xFF),
    "KT": number(0x12C, 0x1E, 0xFFFF),
    "NK": _KEY,
    "EO": number(0, 0, 0xFF),
    "II": number(0xFFFF, 0, 0xFFFF),
    # kept, without effect here
    "JV": number(0, 0, 1),
    "JN": number(0, 0, 1),
    "NW": number(0, 0, 0x64FF),
    "AR": number(0xFF, 0, 0xFF),
    "TO": number(0, 0, 0xFF),
    "SN": number(1, 1, 0xFFFF),
    # the network
    "ZS": number(0, 0, 2),
    "NH": number(0x1E, 0, 0xFF),
    "BH": number(0, 0, 0x1E),
    "DB": Register(0, 0, 0, volatile=True),
    "V+": number(0, 0, 0xFFFF),
}

HP900: dict[str, Register] = {
    "BD": number(3, 0, 8, 4, ((0x12C, 0xEC400),)),
    "GT": number(0x3E8, 2, 0x3E8),
    "CM": number(0xFFFFFFFFFFFFFFFF, 0, 0xFFFFFFFFFFFFFFFF),
    "HP": number(0, 0, 9),
    "BR": number(1, 0, 1),
    "FT": number(0x13F, 0x11, 0x16F),
}

# --- kinds ----------------------------------------------------------------------------------------

_XBEE3_DBM = (-5, -1, 2, 5, 8)
_XBEE3_PRO_DBM = (-5, 3, 8, 15, 19)
_S1_CLOCK_HZ = 1_000_000
_XBEE3_MAC = (COMMON, MODERN, MAC, XBEE3_MAC)

KINDS: dict[str, Hardware] = {
    "s1": Hardware(
        "XBee S1 802.15.4",
        MAC_FAMILY,
        joined((COMMON, MAC, S1), hv=0x1744, vr=0x10EF),
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
        joined((COMMON, MAC, S1, S1_PRO), hv=0x1844, vr=0x10EF),
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
        joined((*_XBEE3_MAC, S2C), hv=0x2E46, vr=0x2003),
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
        scans_all=True,
    ),
    "xbee3pro": Hardware(
        "XBee 3 PRO 802.15.4",
        MAC_FAMILY,
        joined(_XBEE3_MAC, hv=0x4143, vr=0x2014),
        powers_dbm=_XBEE3_PRO_DBM,
        sensitivity_dbm=-103.0,
        uart_buffer=202,
        payload=116,
        scans_all=True,
    ),
    "digimesh": Hardware(
        "XBee 3 DigiMesh",
        MESH_FAMILY,
        joined((COMMON, MODERN, MESH, MESH_2_4), hv=0x4142, vr=0x3014),
        powers_dbm=_XBEE3_DBM,
        sensitivity_dbm=-103.0,
        uart_buffer=255,
        payload=73,
    ),
    "zigbee": Hardware(
        "XBee 3 Zigbee",
        ZIGBEE_FAMILY,
        joined((COMMON, MODERN, ZIGBEE), hv=0x4142, vr=0x1014),
        powers_dbm=_XBEE3_DBM,
        sensitivity_dbm=-103.0,
        uart_buffer=384,
        payload=84,
    ),
    "900hp": Hardware(
        "XBee-PRO 900HP DigiMesh",
        MESH_FAMILY,
        joined((COMMON, MODERN, MESH, HP900), hv=0x2300, vr=0x8071),
        powers_dbm=(7, 15, 18, 21, 24),
        sensitivity_dbm=-101.0,
        uart_buffer=384,
        payload=256,
        rssi_dbm=(-0x6E, -0x28),
        band="900 MHz",
    ),
}
