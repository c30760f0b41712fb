"""Byte-stuffed HDLC, RFC 1662 section 4: flag 7E, escape 7D, a frame check sequence.

Wire: 7E, escaped(payload, FCS low byte first), 7E. Frames may share a flag; 7D 7E aborts one.
"""

import re
from dataclasses import dataclass
from typing import ClassVar, Literal

from hilgw.framing.base import (
    LONGEST_PAYLOAD,
    FrameDropped,
    FramingClass,
    refuse_argument,
    require_size,
)
from hilgw.framing.crc import Checksum
from hilgw.framing.delimited import Delimited
from hilgw.settings import setting

FLAG = b"\x7e"
ESCAPE = b"\x7d"
_FCS = {"": "x-25", "crc16": "x-25"}


@dataclass(frozen=True, slots=True, kw_only=True)
class HdlcSettings:
    """HDLC framing; the defaults are those of the short name hdlc."""

    framing: Literal["hdlc"] = setting("kind of framing", "hdlc", choices=("hdlc",))
    crc: str = setting("frame check sequence: x-25 (FCS-16), crc-32 (FCS-32)", "x-25")
    control_map: int = setting(
        "RFC 1662's ACCM: bit n escapes control character n, and drops it when it is received "
        "unescaped (0xA0000: XON and XOFF)",
        0,
        ge=0,
        le=0xFFFFFFFF,
        example=0xA0000,
    )
    max_payload: int = setting("longest packet", 4096, ge=1, le=LONGEST_PAYLOAD, unit="byte")


DEFAULTS = HdlcSettings()


class Hdlc(Delimited):
    """Cannot carry an empty packet: RFC 1662 discards frames that hold only the FCS."""

    Settings: ClassVar[type[HdlcSettings]] = HdlcSettings

    def __init__(self, settings: HdlcSettings = DEFAULTS) -> None:
        self._checksum = Checksum(settings.crc, "little")
        longest = settings.max_payload + self._checksum.size
        super().__init__("hdlc", FLAG, settings.max_payload, 2 * longest)
        self.max_encoded += len(FLAG)
        self._controls = bytes(n for n in range(32) if settings.control_map >> n & 1)
        # The escape byte comes first: the other escape sequences contain it.
        self._escaped = [
            (bytes([b]), bytes([0x7D, b ^ 0x20])) for b in (0x7D, 0x7E, *self._controls)
        ]

    @staticmethod
    def parse(variant: str, argument: str) -> HdlcSettings:
        refuse_argument("hdlc", argument)
        return HdlcSettings(crc=_FCS.get(variant, variant))

    def encode(self, payload: bytes) -> bytes:
        require_size(self, payload, least=1)
        sealed = self._checksum.seal(payload)
        for plain, escaped in self._escaped:
            sealed = sealed.replace(plain, escaped)
        return FLAG + sealed + FLAG

    def _unwrap(self, frame: bytes) -> bytes | str:
        if self._controls:
            frame = frame.translate(None, self._controls)  # inserted by a modem on the way
        if (len(frame) - len(frame.rstrip(ESCAPE))) % 2:  # the flag follows an escape byte
            return FrameDropped.ABORTED
        if ESCAPE in frame:
            frame = _ESCAPED_BYTE.sub(lambda pair: bytes([pair[1][0] ^ 0x20]), frame)
        return self._checksum.open(frame, self.max_payload, least=1)


_ESCAPED_BYTE = re.compile(rb"\x7d(.)", re.DOTALL)


FRAMING: FramingClass = Hdlc
