"""What an XBee is: its series and protocol, by hardware and firmware version.

Source: Digi's XBee host libraries (HV high byte, first digit of VR).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Module:
    """What the handshake found."""

    hardware: str
    serial: str
    my: int
    channel: int
    pan_id: int
    payload: int

    @property
    def identity(self) -> str:
        return (
            f"{self.hardware} 802.15.4 {self.serial} MY {self.my:04X} CH {self.channel:02X} "
            f"PAN {self.pan_id:04X} NP {self.payload}"
        )


_SERIES = {
    0x17: "XBee S1", 0x18: "XBee S1 PRO", 0x19: "XBee S2", 0x1A: "XBee S2 PRO",
    0x1E: "XBee S2B PRO", 0x21: "XBee S2C PRO", 0x22: "XBee S2C", 0x23: "XBee-PRO 900HP",
    0x24: "XBee 868", 0x2D: "XBee S2C PRO", 0x2E: "XBee S2C", 0x30: "XBee S2C PRO",
    0x31: "XBee SX PRO", 0x3E: "XBee SX", 0x41: "XBee 3", 0x42: "XBee 3", 0x45: "XB8X",
    0x50: "XBee XR 900", 0x51: "XBee XR 868", 0x52: "XBee RR", 0x57: "XBee RR",
}  # fmt: skip
# First hex digit of VR -> protocol; the digit None stands for all others.
_S1: dict[int | None, str] = {8: "DigiMesh", None: "802.15.4"}
_S2C: dict[int | None, str] = {
    2: "802.15.4", 9: "DigiMesh", 5: "Smart Energy", 6: "Smart Energy", None: "Zigbee",
}  # fmt: skip
_XBEE_3: dict[int | None, str] = {2: "802.15.4", 3: "DigiMesh", None: "Zigbee"}
_PROTOCOLS: dict[int, dict[int | None, str]] = {
    0x17: _S1, 0x18: _S1, 0x21: _S2C, 0x22: _S2C, 0x2D: _S2C, 0x2E: _S2C, 0x30: _S2C,
    0x41: _XBEE_3, 0x42: _XBEE_3, 0x19: {None: "Zigbee"}, 0x1A: {None: "Zigbee"},
    0x1E: {None: "Zigbee"},
}  # fmt: skip


def hardware_of(hv: int, vr: int) -> tuple[str, str]:
    """Series and protocol by hardware and firmware version; a protocol unknown is empty."""
    series = _SERIES.get(hv >> 8, f"hardware {hv:04X}")
    protocols = _PROTOCOLS.get(hv >> 8, {None: ""})
    return series, protocols.get(int(f"{vr:04X}"[0], 16), protocols[None])
