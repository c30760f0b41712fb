"""IrDA SIR wrapping, as IrLAP's asynchronous framing: XBOF, BOF, escaped bytes, FCS, EOF.

Wire: XBOF (FF) several times, BOF (C0), escaped(payload, FCS low byte first), EOF (C1). The
escape is 7D with the next byte xor 20, for C0, C1 and 7D. The FCS is CRC-16/X-25 over the
unescaped bytes. IrLAP 1.0 used C0 as XBOF too, and a C0 inside a frame restarts it: a frame
begins after the last C0 before its C1.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from hilgw.framing.base import FrameDropped, require_size
from hilgw.framing.crc import Checksum
from hilgw.framing.delimited import Delimited
from hilgw.settings import setting

XBOF, BOF, EOF, ESCAPE = b"\xff", b"\xc0", b"\xc1", b"\x7d"
_SPECIAL = (0x7D, 0xC0, 0xC1)  # the escape first: the others' escapes contain it


@dataclass(frozen=True, slots=True, kw_only=True)
class SirSettings:
    """SIR wrapping."""

    framing: Literal["sir"] = setting("kind of framing", "sir", choices=("sir",))
    extra_bofs: int = setting("XBOF bytes before each frame", 10, ge=0, le=48)
    max_payload: int = setting("longest packet", 2050, ge=1, le=4096, unit="byte")


DEFAULTS = SirSettings()


class Sir(Delimited):
    """Cut at EOF. Bytes before the BOF are XBOFs, or garbage that is counted."""

    Settings: ClassVar[type[SirSettings]] = SirSettings

    def __init__(self, settings: SirSettings = DEFAULTS) -> None:
        self._checksum = Checksum("x-25", "little")
        longest = settings.max_payload + self._checksum.size
        self._lead = XBOF * settings.extra_bofs + BOF
        body = 2 * longest + max(len(self._lead), 49)
        super().__init__("sir", EOF, settings.max_payload, body)

    def encode(self, payload: bytes) -> bytes:
        require_size(self, payload, least=1)
        sealed = self._checksum.seal(payload)
        for byte in _SPECIAL:
            sealed = sealed.replace(bytes((byte,)), bytes((0x7D, byte ^ 0x20)))
        return self._lead + sealed + EOF

    def _unwrap(self, frame: bytes) -> bytes | str:
        head, bof, body = frame.rpartition(BOF)
        if not bof:
            self.dropped[FrameDropped.GARBAGE] += len(frame) - 1  # the caller counts the last
            return FrameDropped.GARBAGE
        if head.strip(XBOF + BOF):
            self.dropped[FrameDropped.ABORTED] += 1  # a frame was started and restarted
        if body.endswith(ESCAPE):
            return FrameDropped.ABORTED
        if ESCAPE in body:
            unescaped = _unescape(body)
            if unescaped is None:
                return FrameDropped.BAD_ESCAPE
            body = unescaped
        return self._checksum.open(body, self.max_payload, least=1)


def _unescape(body: bytes) -> bytes | None:
    """Return the bytes without escapes; None where an escape is escaped, which no sender does."""
    first, *parts = body.split(ESCAPE)
    if not all(parts):
        return None
    return first + b"".join(bytes((part[0] ^ 0x20,)) + part[1:] for part in parts)
