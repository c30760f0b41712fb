"""The kinds of module: what each one's manual says of registers, power, buffers and payload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from firmware_mocks.xbee.registers import Register

RATES = (1200, 2400, 4800, 9600, 19200, 38400, 57600, 115200, 230400, 460800, 921600)


@dataclass(frozen=True, slots=True)
class Hardware:
    """One kind of module.

    family: "802.15.4", "digimesh" (also the 900 MHz parts) or "zigbee": how it addresses and
    answers. powers_dbm: by PL. overhead: bytes around a payload on the air. payload: the most an
    unencrypted packet carries (802.15.4: see `limits`).
    """

    title: str
    family: str
    registers: Mapping[str, Register]
    powers_dbm: tuple[int, ...]
    sensitivity_dbm: float
    rssi_dbm: tuple[int, int]
    uart_buffer: int
    overhead: int
    payload: int
    modern: bool = True
    band: str = "2.4 GHz"


def number(
    default: int, low: int, high: int, size: int = 0, also: tuple[tuple[int, int], ...] = ()
) -> Register:
    """A number that can be read and set."""
    widest = max(high, *(top for _, top in also)) if also else high
    return Register(default, low, high, size or (widest.bit_length() + 7) // 8 or 1, also=also)


def fixed(value: int, size: int) -> Register:
    """A number that can only be read."""
    return Register(value, size=size, access="r")


def counter(size: int = 2) -> Register:
    """A number that counts by itself and may be set back."""
    return Register(0, 0, (1 << 8 * size) - 1, size, volatile=True)


def text(default: bytes = b"", size: int = 20) -> Register:
    return Register(default, size=size, kind="text")


KEY = Register(bytes(16), size=16, kind="key", access="w")

COMMON: dict[str, Register] = {
    "AP": number(0, 0, 2),
    "NB": number(0, 0, 4),
    "SB": number(0, 0, 1),
    "RO": number(3, 0, 0xFF),
    "CC": number(0x2B, 0, 0xFF),
    "CT": number(0x64, 2, 0xFFFF),
    "GT": number(0x3E8, 2, 0xCE4),
    "NI": text(b" "),
    "DH": number(0, 0, 0xFFFFFFFF),
    "DL": number(0, 0, 0xFFFFFFFF),
    "SH": fixed(0x0013A200, 4),
    "SL": fixed(0x40000000, 4),
    "HV": fixed(0, 2),
    "VR": fixed(0, 2),
    "DB": Register(0, 0, 0, 1, access="r", volatile=True),
    "EE": number(0, 0, 1),
    "KY": KEY,
    "CE": number(0, 0, 1),
    "SM": number(0, 0, 6),
    "SP": number(0, 0, 0xFFFF),
    "ST": number(0x1388, 1, 0xFFFF),
    "AI": Register(0, size=1, access="r"),
    "PL": number(4, 0, 4),
    "PR": number(0x1FFF, 0, 0x7FFF),
    "RP": number(0x28, 0, 0xFF),
    "IR": number(0, 0, 0xFFFF),
    "D5": number(1, 0, 5),
    "D6": number(0, 0, 5),
    "D7": number(1, 0, 7),
    "P0": number(1, 0, 5),
    "P1": number(0, 0, 5),
    **{f"D{pin}": number(0, 0, 5) for pin in (0, 1, 2, 3, 4, 8)},
}

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
}


def _variant(*tables: Mapping[str, Register], hv: int, vr: int) -> dict[str, Register]:
    merged: dict[str, Register] = {}
    for table in tables:
        merged.update(table)
    merged["HV"] = fixed(hv, 2)
    merged["VR"] = fixed(vr, 2)
    return merged


_MAC = {
    "ID": number(0x3332, 0, 0xFFFF),
    "MY": number(0, 0, 0xFFFF),
    "MM": number(0, 0, 3),
    "RR": number(0, 0, 6),
    "EA": counter(),
    "EC": counter(),
    "A1": number(0, 0, 0xF),
    "A2": number(0, 0, 0xF),
}

_S1 = {
    "CH": number(0x0C, 0x0B, 0x1A),
    "BD": number(3, 0, 7, 4, ((0x80, 0x3D090),)),
    "RN": number(0, 0, 3),
    "CA": number(0x2C, 0, 0x50),
    "NT": number(0x19, 1, 0xFC),
    "NO": number(0, 0, 1),
    "SC": number(0x1FFE, 0, 0xFFFF),
    "SD": number(4, 0, 0xF),
    "DP": number(0x3E8, 1, 0x68B0),
}

_XBEE3_MAC = {
    "CH": number(0x0C, 0x0B, 0x1A),
    "RN": number(0, 0, 5),
    "CA": number(0x41, 0x28, 0x64, 1, ((0, 0),)),
    "NT": number(0x19, 1, 0xFC),
    "AO": number(2, 0, 2),
    "C8": number(0, 0, 0xF),
    "SC": number(0xFFFF, 0, 0xFFFF),
}

_MESH = {
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
    "CT": number(0x64, 2, 0x1770),
    "EA": counter(),
}

_ZIGBEE = {
    "CH": Register(0, size=1, access="r"),
    "ID": number(0, 0, 0xFFFFFFFFFFFFFFFF),
    "OP": Register(0, size=8, access="r"),
    "OI": Register(0xFFFF, size=2, access="r"),
    "MY": Register(0xFFFE, size=2, access="r"),
    "MP": Register(0xFFFE, size=2, access="r"),
    "NC": fixed(20, 1),
    "SC": number(0x7FFF, 1, 0xFFFF),
    "NT": number(0x3C, 0x20, 0xFF),
    "NJ": number(0xFF, 0, 0xFF),
    "JV": number(0, 0, 1),
    "ZS": number(0, 0, 2),
    "NH": number(0x1E, 0, 0xFF),
    "BH": number(0, 0, 0x1E),
    "DB": Register(0, 0, 0, 1, volatile=True),
}

_900 = {
    "CM": number(0xFFFFFFFFFFFFFFFF, 0, 0xFFFFFFFFFFFFFFFF, 8),
    "HP": number(0, 0, 9),
    "BR": number(1, 0, 1),
    "BD": number(3, 0, 8, 4, ((0x12C, 0xEC400),)),
    "GT": number(0x3E8, 2, 0x3E8),
}

XBEE3_DBM = (-5, -1, 2, 5, 8)
XBEE3_PRO_DBM = (-5, 3, 8, 15, 19)

KINDS: dict[str, Hardware] = {
    "s1": Hardware(
        "XBee S1 802.15.4",
        "802.15.4",
        _variant(COMMON, _MAC, _S1, hv=0x1744, vr=0x10EF),
        powers_dbm=(-10, -6, -4, -2, 0),
        sensitivity_dbm=-92.0,
        rssi_dbm=(-0x5C, -0x17),
        uart_buffer=202,
        overhead=0,
        payload=100,
        modern=False,
    ),
    "s1pro": Hardware(
        "XBee-PRO S1 802.15.4",
        "802.15.4",
        _variant(COMMON, _MAC, _S1, {"CH": number(0x0C, 0x0C, 0x17)}, hv=0x1844, vr=0x10EF),
        powers_dbm=(10, 12, 14, 16, 18),
        sensitivity_dbm=-100.0,
        rssi_dbm=(-0x64, -0x24),
        uart_buffer=202,
        overhead=0,
        payload=100,
        modern=False,
    ),
    "xbee3": Hardware(
        "XBee 3 802.15.4",
        "802.15.4",
        _variant(COMMON, MODERN, _MAC, _XBEE3_MAC, hv=0x4142, vr=0x2014),
        powers_dbm=XBEE3_DBM,
        sensitivity_dbm=-103.0,
        rssi_dbm=(-0xFF, 0),
        uart_buffer=202,
        overhead=0,
        payload=116,
    ),
    "digimesh": Hardware(
        "XBee 3 DigiMesh",
        "digimesh",
        _variant(COMMON, MODERN, _MESH, {"CH": number(0x0C, 0x0B, 0x1A)}, hv=0x4142, vr=0x3014),
        powers_dbm=XBEE3_DBM,
        sensitivity_dbm=-103.0,
        rssi_dbm=(-0xFF, 0),
        uart_buffer=255,
        overhead=43,
        payload=73,
    ),
    "zigbee": Hardware(
        "XBee 3 Zigbee",
        "zigbee",
        _variant(COMMON, MODERN, _ZIGBEE, hv=0x4142, vr=0x1014),
        powers_dbm=XBEE3_DBM,
        sensitivity_dbm=-103.0,
        rssi_dbm=(-0xFF, 0),
        uart_buffer=384,
        overhead=43,
        payload=84,
    ),
    "900hp": Hardware(
        "XBee-PRO 900HP",
        "digimesh",
        _variant(COMMON, MODERN, _MESH, _900, hv=0x2300, vr=0x8071),
        powers_dbm=(7, 15, 18, 21, 24),
        sensitivity_dbm=-101.0,
        rssi_dbm=(-0x6E, -0x28),
        uart_buffer=384,
        overhead=43,
        payload=256,
        band="900 MHz",
    ),
}
