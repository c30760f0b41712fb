"""SLIP, RFC 1055: END (C0) between packets, escapes for C0 and DB; an optional CRC.

Wire: C0, escaped(payload, CRC), C0. RFC 1055 recommends the leading END: it ends any noise in the
receiver, so that noise does not corrupt the packet.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from hilgw.framing.base import (
    LONGEST_PAYLOAD,
    FrameDropped,
    FramingClass,
    refuse_argument,
    require_size,
)
from hilgw.framing.crc import NONE, Checksum
from hilgw.framing.delimited import Delimited
from hilgw.settings import setting

END = b"\xc0"
ESC = b"\xdb"
ESC_END = b"\xdb\xdc"
ESC_ESC = b"\xdb\xdd"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlipSettings:
    """SLIP framing; the defaults are those of the short name slip."""

    framing: Literal["slip"] = setting("kind of framing", "slip", choices=("slip",))
    crc: str = setting("CRC after the payload, before escaping, or none", NONE)
    crc_order: Literal["big", "little"] = setting(
        "byte order of the CRC", "big", choices=("big", "little")
    )
    max_payload: int = setting("longest packet", 4096, ge=1, le=LONGEST_PAYLOAD, unit="byte")
    leading_end: bool = setting("send an END before each packet too", True)


DEFAULTS = SlipSettings()


class Slip(Delimited):
    """Without a CRC it cannot carry an empty packet, and delivers corrupted packets."""

    Settings: ClassVar[type[SlipSettings]] = SlipSettings

    def __init__(self, settings: SlipSettings = DEFAULTS) -> None:
        self._checksum = Checksum(settings.crc, settings.crc_order)
        longest = settings.max_payload + self._checksum.size
        super().__init__("slip", END, settings.max_payload, 2 * longest)
        self._lead = END if settings.leading_end else b""
        self.max_encoded += len(self._lead)
        self._least = 0 if self._checksum.size else 1

    @staticmethod
    def parse(variant: str, argument: str) -> SlipSettings:
        refuse_argument("slip", argument)
        return SlipSettings(crc=variant or NONE)

    def encode(self, payload: bytes) -> bytes:
        require_size(self, payload, self._least)
        sealed = self._checksum.seal(payload)
        return self._lead + sealed.replace(ESC, ESC_ESC).replace(END, ESC_END) + END

    def _unwrap(self, frame: bytes) -> bytes | str:
        escapes = frame.count(ESC)
        if escapes:
            if frame.count(ESC_END) + frame.count(ESC_ESC) != escapes:
                return FrameDropped.BAD_ESCAPE
            frame = frame.replace(ESC_END, END).replace(ESC_ESC, ESC)
        return self._checksum.open(frame, self.max_payload)


FRAMING: FramingClass = Slip
