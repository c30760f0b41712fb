"""CRCs of any polynomial, by a table of 256 entries, as firmware computes them."""

import re
from dataclasses import dataclass
from functools import cached_property

_PART = re.compile(r"(poly|init|rev|xorOut)=(\w+)")


@dataclass(frozen=True)
class Crc:
    """A CRC of any polynomial.

    Its `width` is in bits, its `poly` without the top bit, `init` the register before the first
    byte; where it is `reflected`, each byte goes in lowest bit first, and so does the result.
    """

    width: int
    poly: int
    init: int
    reflected: bool
    xor_out: int

    @cached_property
    def _table(self) -> list[int]:
        return [self._entry(byte) for byte in range(256)]

    @property
    def size(self) -> int:
        return self.width // 8

    def _entry(self, byte: int) -> int:
        if self.reflected:
            poly = int(f"{self.poly:0{self.width}b}"[::-1], 2)
            for _ in range(8):
                byte = byte >> 1 ^ (poly if byte & 1 else 0)
            return byte
        top = 1 << self.width - 1
        register = byte << self.width - 8
        for _ in range(8):
            register = register << 1 ^ (self.poly if register & top else 0)
            register &= (1 << self.width) - 1
        return register

    def of(self, data: bytes) -> int:
        table = self._table
        register = self.init
        if self.reflected:
            for byte in data:
                register = register >> 8 ^ table[(register ^ byte) & 0xFF]
        else:
            down, mask = self.width - 8, (1 << self.width) - 1
            for byte in data:
                register = register << 8 & mask ^ table[register >> down ^ byte]
        return register ^ self.xor_out


CCITT_FALSE = Crc(16, 0x1021, 0xFFFF, False, 0)
NAMED: dict[str, Crc | None] = {
    "none": None,
    "crc16": CCITT_FALSE,
    "crc-ccitt-false": CCITT_FALSE,
    "xmodem": Crc(16, 0x1021, 0, False, 0),
    "x-25": Crc(16, 0x1021, 0xFFFF, True, 0xFFFF),
    "modbus": Crc(16, 0x8005, 0xFFFF, True, 0),
    "crc32": Crc(32, 0x04C11DB7, 0xFFFFFFFF, True, 0xFFFFFFFF),
    "crc-32": Crc(32, 0x04C11DB7, 0xFFFFFFFF, True, 0xFFFFFFFF),
}


def crc_of(text: str) -> Crc | None:
    """Return the CRC of this name, or of a text such as "poly=0x11021,init=0xFFFF".

    The text continues with "rev=false,xorOut=0"; poly has the top bit of the polynomial.
    """
    if text in NAMED:
        return NAMED[text]
    parts = [_PART.fullmatch(part.strip()) for part in text.split(",")]
    values = {part[1]: part[2] for part in parts if part}
    if len(values) != len(parts) or "poly" not in values:
        raise ValueError(
            f"{text!r} is not a CRC; one of {', '.join(NAMED)}, or poly=0x11021,init=..."
        )
    poly = int(values["poly"], 0)
    width = poly.bit_length() - 1
    if width < 8 or width % 8:
        raise ValueError(f"polynomial {poly:#x} has degree {width}, not 8, 16, 24, 32 or 64")
    return Crc(
        width,
        poly ^ 1 << width,
        int(values.get("init", "0"), 0),
        values.get("rev", "false") == "true",
        int(values.get("xorOut", "0"), 0),
    )


@dataclass(frozen=True)
class CrcField:
    """The CRC behind the bytes that it protects; crc None: no field, all bytes are good."""

    crc: Crc | None = None
    order: str = "big"

    @property
    def size(self) -> int:
        return self.crc.size if self.crc else 0

    def append(self, data: bytes) -> bytes:
        return data + self._sum(data)

    def check(self, protected: bytes) -> bytes | None:
        data = protected[: len(protected) - self.size]
        return data if data + self._sum(data) == protected else None

    def _sum(self, data: bytes) -> bytes:
        if self.crc is None:
            return b""
        sum_ = self.crc.of(data).to_bytes(self.crc.size, "big")
        return sum_ if self.order == "big" else sum_[::-1]
