"""CRCs by name or by polynomial, and the checksum at the end of a frame.

crcmod computes them, except the two polynomials that the standard library has in C
(`binascii.crc_hqx`, `zlib.crc32`), which are faster and need no compiler.
"""

import binascii
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from hilgw.errors import ConfigError
from hilgw.framing.base import FrameDropped

ByteOrder = Literal["big", "little"]
Update = Callable[[bytes | bytearray, int], int]

NONE = "none"
# Names of the CRC RevEng catalogue and common names that crcmod spells differently.
ALIASES = {
    "crc16": "crc-ccitt-false",
    "crc-16-ibm-3740": "crc-ccitt-false",
    "crc-16-autosar": "crc-ccitt-false",
    "ccitt-false": "crc-ccitt-false",
    "crc-16-spi-fujitsu": "crc-aug-ccitt",
    "crc-16-aug-ccitt": "crc-aug-ccitt",
    "crc-16-xmodem": "xmodem",
    "crc-16-kermit": "kermit",
    "crc-ccitt": "kermit",
    "crc-16-modbus": "modbus",
    "crc-16-ibm-sdlc": "x-25",
    "crc-16-x-25": "x-25",
    "x25": "x-25",
    "crc-16-arc": "crc-16",
    "arc": "crc-16",
    "crc-16-umts": "crc-16-buypass",
    "buypass": "crc-16-buypass",
    "crc-16-maxim-dow": "crc-16-maxim",
    "mcrf4xx": "crc-16-mcrf4xx",
    "crc-8-smbus": "crc-8",
    "crc-8-maxim-dow": "crc-8-maxim",
    "crc32": "crc-32",
    "crc-32-iso-hdlc": "crc-32",
    "crc-32-iscsi": "crc-32c",
    "crc-32-jamcrc": "jamcrc",
    "crc-32-cksum": "posix",
    "crc-32-mpeg-2": "crc-32-mpeg",
    "crc-32-xfer": "xfer",
}
# name: poly, start, reversed, xor_out. The standard library computes these, so that the common
# framings need not import crcmod.
_STANDARD = {
    "crc-ccitt-false": (0x11021, 0xFFFF, False, 0),
    "crc-aug-ccitt": (0x11021, 0x1D0F, False, 0),
    "xmodem": (0x11021, 0, False, 0),
    "crc-32": (0x104C11DB7, 0, True, 0xFFFFFFFF),
}
_CUSTOM = re.compile(r"(poly|init|rev|xorout)=(\w+)")


@dataclass(frozen=True, slots=True)
class Crc:
    """A CRC of `size` bytes.

    poly has its top bit set (0x11021). start is the CRC of no bytes; update(data, crc) continues
    from the CRC of the preceding bytes. reversed: bits are processed lowest first.
    """

    name: str
    poly: int
    start: int
    reversed: bool
    xor_out: int
    update: Update = field(compare=False, repr=False)

    @property
    def size(self) -> int:
        return (self.poly.bit_length() - 1) // 8

    @property
    def natural_order(self) -> ByteOrder:
        """The byte order in which the CRC of a message and its CRC is a constant."""
        return "little" if self.reversed else "big"

    def compute(self, data: bytes) -> int:
        return self.update(data, self.start)


def catalogue() -> list[str]:
    """Return the names that `named` accepts, aliases included."""
    return sorted([*_definitions(), *ALIASES])


@lru_cache(maxsize=64)
def named(name: str) -> Crc:
    """Return a CRC by its name, or by "poly=0x11021,init=0xFFFF,rev=false,xorOut=0".

    In the second form init is the register before the first byte, in the bit order of the
    polynomial. (crcmod and the catalogues differ only for asymmetric values of reversed CRCs.)

    Raises:
        ConfigError: there is no such CRC.
    """
    if "=" in name:
        return _custom(name)
    key = re.sub(r"[ _/]+", "-", name.strip().lower())
    key = ALIASES.get(key, key)
    parameters = _STANDARD.get(key) or _definitions().get(key)
    if parameters:
        return Crc(key, *parameters, _update(*parameters))
    import difflib  # slow to import, and needed for errors only

    close = difflib.get_close_matches(key, catalogue(), n=1)
    fix = f"did you mean '{close[0]}'?" if close else "see docs/framing.md for the names"
    raise ConfigError(f"unknown CRC '{name}'", fix=fix)


def polynomial(poly: int, init: int, rev: bool, xor_out: int) -> Crc:
    """Return a CRC by its parameters; raises ConfigError when crcmod cannot compute it."""
    width = poly.bit_length() - 1
    if width not in (8, 16, 24, 32, 64):
        raise ConfigError(
            f"CRC polynomial {poly:#x} has degree {width}",
            fix="write it with its top bit, of degree 8, 16, 24, 32 or 64 (0x11021)",
        )
    if not (0 <= init < 1 << width and 0 <= xor_out < 1 << width):
        raise ConfigError(f"init and xorOut of CRC polynomial {poly:#x} must fit {width} bits")
    start = init ^ xor_out
    name = f"poly={poly:#x},init={init:#x},rev={str(rev).lower()},xorOut={xor_out:#x}"
    return Crc(name, poly, start, rev, xor_out, _update(poly, start, rev, xor_out))


def _definitions() -> dict[str, tuple[int, int, bool, int]]:
    from crcmod.predefined import _crc_definitions_table

    return {row[0]: (row[2], row[4], row[3], row[5]) for row in _crc_definitions_table}


def _update(poly: int, start: int, rev: bool, xor_out: int) -> Update:
    if (poly, rev, xor_out) == (0x11021, False, 0):
        return binascii.crc_hqx
    if (poly, rev, xor_out) == (0x104C11DB7, True, 0xFFFFFFFF):
        return zlib.crc32
    from crcmod.crcmod import mkCrcFun

    function: Update = mkCrcFun(poly, initCrc=start, rev=rev, xorOut=xor_out)
    return function


def _custom(text: str) -> Crc:
    # Short names of framings are in lower case.
    parts = [part.strip().lower() for part in text.split(",")]
    matches = [_CUSTOM.fullmatch(part) for part in parts]
    values = {match[1]: match[2] for match in matches if match}
    try:
        if len(values) != len(parts) or "poly" not in values:
            raise ValueError(text)
        rev = {"true": True, "false": False}[values.get("rev", "false")]
        numbers = [int(values.get(key, "0"), 0) for key in ("poly", "init", "xorout")]
    except (ValueError, KeyError):
        raise ConfigError(
            f"CRC '{text}' is not valid",
            fix="write it like poly=0x11021,init=0xFFFF,rev=false,xorOut=0x0",
        ) from None
    return polynomial(numbers[0], numbers[1], rev, numbers[2])


class Checksum:
    """A CRC after a message, in a byte order; the name "none" means no CRC."""

    def __init__(self, name: str, order: ByteOrder) -> None:
        self.crc = None if name == NONE else named(name)
        self.order: ByteOrder = order
        self.size = self.crc.size if self.crc else 0
        if self.crc:
            self._update, self._start = self.crc.update, self.crc.start

    @property
    def residue(self) -> int | None:
        """The CRC of any valid message with its CRC; None where that is not constant."""
        if not self.crc or self.order != self.crc.natural_order:
            return None
        return self.crc.compute(self.seal(b""))

    def seal(self, message: bytes) -> bytes:
        """Return the message followed by its CRC."""
        if not self.size:
            return message
        return message + self._update(message, self._start).to_bytes(self.size, self.order)

    def holds(self, sealed: bytes) -> bool:
        """Return whether the last bytes are the CRC of the preceding ones; needs `size` bytes."""
        if not self.size:
            return True
        return self._update(sealed[: -self.size], self._start) == int.from_bytes(
            sealed[-self.size :], self.order
        )

    def open(self, sealed: bytes, longest: int, least: int = 0) -> bytes | FrameDropped:
        """Return the message in front of its CRC, or the reason to drop it.

        Args:
            longest: most bytes of a message.
            least: fewest bytes of a message.
        """
        size = len(sealed) - self.size
        if not least <= size <= longest:
            return FrameDropped.TOO_LONG if size > longest else FrameDropped.TOO_SHORT
        return sealed[:size] if self.holds(sealed) else FrameDropped.BAD_CRC
