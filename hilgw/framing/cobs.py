"""COBS with a CRC: bounded overhead, all byte values, resynchronises at the next 0x00.

Wire: COBS(payload, CRC), 0x00. Cheshire and Baker, "Consistent Overhead Byte Stuffing", 1999.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from cobs import cobs

from hilgw.framing.base import (
    LONGEST_PAYLOAD,
    FrameDropped,
    FramingClass,
    refuse_argument,
    require_size,
)
from hilgw.framing.crc import NONE, Checksum, Update
from hilgw.framing.delimited import Delimited
from hilgw.settings import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class CobsSettings:
    """COBS framing; the defaults are those of the short name cobs-crc16."""

    framing: Literal["cobs"] = setting("kind of framing", "cobs", choices=("cobs",))
    crc: str = setting(
        "CRC after the payload, inside the COBS encoding, or none", "crc-ccitt-false"
    )
    crc_order: Literal["big", "little"] = setting(
        "byte order of the CRC", "big", choices=("big", "little")
    )
    max_payload: int = setting("longest packet", 4096, ge=1, le=LONGEST_PAYLOAD, unit="byte")
    leading_delimiter: bool = setting(
        "send a 0x00 before each frame too: noise on an idle line then corrupts no frame", False
    )


DEFAULTS = CobsSettings()
_decode: Callable[[bytes], bytes] = cobs.decode
_encode: Callable[[bytes], bytes] = cobs.encode


class Cobs(Delimited):
    """COBS, see the module. `Cobs()` is cobs-crc16."""

    Settings: ClassVar[type[CobsSettings]] = CobsSettings

    def __init__(self, settings: CobsSettings = DEFAULTS) -> None:
        self._checksum = checksum = Checksum(settings.crc, settings.crc_order)
        longest = cobs.max_encoded_length(settings.max_payload + checksum.size)
        super().__init__("cobs", b"\0", settings.max_payload, longest)
        self._seal = checksum.seal
        self._lead = b"\0" if settings.leading_delimiter else b""
        self.max_encoded += len(self._lead)
        # Where the CRC over a valid frame with its CRC is a constant, one comparison suffices.
        self._quick: tuple[Update, int, int, int] | None = None
        if checksum.crc and checksum.residue is not None:
            crc = checksum.crc
            self._quick = (crc.update, crc.start, checksum.residue, -checksum.size)

    @staticmethod
    def parse(variant: str, argument: str) -> CobsSettings:
        refuse_argument("cobs", argument)
        return CobsSettings(crc=variant or NONE)

    def encode(self, payload: bytes) -> bytes:
        if len(payload) > self.max_payload:
            require_size(self, payload)
        return self._lead + _encode(self._seal(payload)) + b"\0"

    def feed(self, data: bytes, now: int = 0) -> list[bytes]:
        frame, delimiter, more = data.partition(b"\0")
        quick = self._quick
        if delimiter and not more and quick and not self._rest and not self._skipping:
            update, start, residue, tail = quick
            try:
                sealed = _decode(frame)
            except cobs.DecodeError:
                sealed = b""
            if update(sealed, start) == residue:
                payload = sealed[:tail]
                if 0 < len(payload) <= self.max_payload:
                    return [payload]
        return Delimited.feed(self, data)

    def _unwrap_all(self, frames: list[bytes]) -> list[bytes]:
        """Unwrap valid frames on a fast path, else each frame by itself, with its reason."""
        if not self._quick:
            return super()._unwrap_all(frames)
        update, start, residue, tail = self._quick
        try:
            payloads = [s[:tail] for s in map(_decode, frames) if update(s, start) == residue]
        except cobs.DecodeError:
            return super()._unwrap_all(frames)
        if (
            len(payloads) == len(frames)
            and b"" not in payloads  # an empty packet, or a frame shorter than its CRC
            and max(map(len, payloads)) <= self.max_payload
        ):
            return payloads
        if b"" in frames:
            frames = [frame for frame in frames if frame]
            return self._unwrap_all(frames) if frames else []
        return super()._unwrap_all(frames)

    def _unwrap(self, frame: bytes) -> bytes | str:
        try:
            sealed = _decode(frame)
        except cobs.DecodeError:
            return FrameDropped.BAD_CODE
        return self._checksum.open(sealed, self.max_payload)


FRAMING: FramingClass = Cobs
