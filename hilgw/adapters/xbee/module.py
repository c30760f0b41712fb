"""An XBee after the handshake: its hardware and firmware, its addresses and limits.

Sources: Digi's XBee host libraries for hardware (HV, high byte) and firmware (VR, first digit).
"""

from dataclasses import dataclass

RAW_802, DIGIMESH, MULTIPOINT, ZIGBEE = "802.15.4", "DigiMesh", "point-to-multipoint", "Zigbee"
# The setting `firmware` -> its name, and the protocols it allows.
FIRMWARES = {
    "802.15.4": (RAW_802, (RAW_802,)),
    "digimesh": (DIGIMESH, (DIGIMESH, MULTIPOINT)),
    "zigbee": (ZIGBEE, (ZIGBEE,)),
}


@dataclass(frozen=True, slots=True)
class XBeeModule:
    """A module after the handshake.

    my: FFFE where there is none; channel: -1 where there is no CH; payload, broadcast: bytes to one
    module and to all; explicit: frames 11 and 91 are used.
    """

    hardware: str
    serial: str
    my: int
    channel: int
    pan_id: int
    payload: int
    protocol: str = RAW_802
    broadcast: int = 0
    explicit: bool = False

    @property
    def identity(self) -> str:
        parts = [self.hardware, self.protocol, self.serial]
        if self.protocol in (RAW_802, ZIGBEE):
            parts.append(f"MY {self.my:04X}")
        if self.channel >= 0:
            parts.append(f"CH {self.channel:02X}")
        width = 16 if self.protocol == ZIGBEE else 4
        return " ".join([*parts, f"PAN {self.pan_id:0{width}X}", f"NP {self.payload}"])


_SERIES = {
    0x17: "XBee S1", 0x18: "XBee S1 PRO", 0x19: "XBee S2", 0x1A: "XBee S2 PRO",
    0x1E: "XBee S2B PRO", 0x21: "XBee S2C PRO", 0x22: "XBee S2C", 0x23: "XBee-PRO 900HP",
    0x24: "XBee 868", 0x2D: "XBee S2C PRO", 0x2E: "XBee S2C", 0x30: "XBee S2C PRO",
    0x31: "XBee SX PRO", 0x3E: "XBee SX", 0x41: "XBee 3", 0x42: "XBee 3", 0x45: "XB8X",
    0x50: "XBee XR 900", 0x51: "XBee XR 868", 0x52: "XBee RR", 0x57: "XBee RR",
}  # fmt: skip
# First hex digit of VR -> protocol; None: all other digits.
_S1: dict[int | None, str] = {8: "DigiMesh", None: "802.15.4"}
_S2C: dict[int | None, str] = {
    2: "802.15.4", 9: "DigiMesh", 5: "Smart Energy", 6: "Smart Energy", None: "Zigbee",
}  # fmt: skip
_XBEE_3: dict[int | None, str] = {2: "802.15.4", 3: "DigiMesh", None: "Zigbee"}
_SUB_GHZ: dict[int | None, str] = {8: "DigiMesh", 1: "point-to-multipoint", None: ""}
_SX: dict[int | None, str] = {None: "DigiMesh"}  # or point-to-multipoint, by BR: the same frames
_PROTOCOLS: dict[int, dict[int | None, str]] = {
    0x17: _S1, 0x18: _S1, 0x21: _S2C, 0x22: _S2C, 0x2D: _S2C, 0x2E: _S2C, 0x30: _S2C,
    0x41: _XBEE_3, 0x42: _XBEE_3, 0x19: {None: "Zigbee"}, 0x1A: {None: "Zigbee"},
    0x1E: {None: "Zigbee"}, 0x23: _SUB_GHZ, 0x24: _SUB_GHZ, 0x31: _SX, 0x3E: _SX,
    0x45: _SX, 0x50: _SX, 0x51: _SX,
}  # fmt: skip


def hardware_of(hv: int, vr: int) -> tuple[str, str]:
    """Return series and protocol by hardware and firmware version; "" for an unknown protocol."""
    series = _SERIES.get(hv >> 8, f"hardware {hv:04X}")
    protocols = _PROTOCOLS.get(hv >> 8, {None: ""})
    return series, protocols.get(int(f"{vr:04X}"[0], 16), protocols[None])


def runs(hv: int, protocol: str) -> bool:
    """Return whether firmware of this protocol is known for this hardware."""
    return protocol in _PROTOCOLS.get(hv >> 8, {}).values()
