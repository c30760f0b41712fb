"""The AT registers of each kind of module: ranges and defaults as in the manuals' tables."""

from __future__ import annotations

from collections.abc import Mapping

from firmware_mocks.xbee.registers import Register

Range = tuple[int, int]


def number(
    default: int, low: int, high: int, size: int = 0, also: tuple[Range, ...] = ()
) -> Register:
    """A number that can be read and set; as many bytes as its largest value needs."""
    widest = max(high, *(top for _, top in also)) if also else high
    return Register(default, low, high, size or (widest.bit_length() + 7) // 8 or 1, also=also)


def fixed(value: int, size: int) -> Register:
    """A number that can only be read."""
    return Register(value, size=size, access="r")


def counter() -> Register:
    """Counts by itself up to FFFF and may be set back."""
    return Register(0, 0, 0xFFFF, 2, volatile=True)


def joined(table: tuple[Mapping[str, Register], ...], hv: int, vr: int) -> dict[str, Register]:
    """The tables in one, later ones winning, with the hardware and firmware version."""
    merged: dict[str, Register] = {}
    for part in table:
        merged.update(part)
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
    # sleep and pins: kept, without effect here
    "SM": number(0, 0, 6),
    "SP": number(0, 0, 0xFFFF),
    "ST": number(0x1388, 1, 0xFFFF),
    "PR": number(0x1FFF, 0, 0x7FFF),
    "RP": number(0x28, 0, 0xFF),
    "IR": number(0, 0, 0xFFFF),
    "D5": number(1, 0, 5),
    "P0": number(1, 0, 5),
    "P1": number(0, 0, 5),
    **{f"D{pin}": number(0, 0, 5) for pin in (0, 1, 2, 3, 4, 8)},
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
    "A1": number(0, 0, 0xF),
    "A2": number(0, 0, 0xF),
}

S1: dict[str, Register] = {
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
    "NC": fixed(20, 1),
    "SC": number(0x7FFF, 1, 0xFFFF),
    "NT": number(0x3C, 0x20, 0xFF),
    "NJ": number(0xFF, 0, 0xFF),
    "JV": number(0, 0, 1),
    "ZS": number(0, 0, 2),
    "NH": number(0x1E, 0, 0xFF),
    "BH": number(0, 0, 0x1E),
    "DB": Register(0, 0, 0, volatile=True),
}

HP900: dict[str, Register] = {
    "BD": number(3, 0, 8, 4, ((0x12C, 0xEC400),)),
    "GT": number(0x3E8, 2, 0x3E8),
    "CM": number(0xFFFFFFFFFFFFFFFF, 0, 0xFFFFFFFFFFFFFFFF),
    "HP": number(0, 0, 9),
    "BR": number(1, 0, 1),
    "FT": number(0x13F, 0x11, 0x16F),
}
