"""CRCs against published check values: the CRC of the nine ASCII bytes "123456789"."""

import pytest

from hilgw.errors import ConfigError
from hilgw.framing import crc

MESSAGE = b"123456789"
# Check values of the CRC RevEng catalogue, of those that docs/framing.md does not list.
CHECKS = {
    "crc-aug-ccitt": 0xE5CC,
    "crc-16-spi-fujitsu": 0xE5CC,
    "crc-16-genibus": 0xD64E,
    "crc-16-usb": 0xB4C8,
    "crc-16-dnp": 0xEA82,
    "crc-24": 0x21CF02,
    "crc-32-mpeg-2": 0x0376E6E7,
    "crc-32-bzip2": 0xFC891918,
    "posix": 0x765E7680,
    "jamcrc": 0x340BC6D9,
    "xfer": 0xBD0BE338,
    "crc-16-maxim-dow": 0x44C2,
    "crc-64-we": 0x62EC59E3F1A4F00A,
    "crc-64-jones": 0xCAA717168609F281,
}


@pytest.mark.parametrize(("name", "check"), CHECKS.items())
def test_check_value(name: str, check: int) -> None:
    assert crc.named(name).compute(MESSAGE) == check


@pytest.mark.parametrize("name", crc.catalogue())
def test_every_name_continues_and_has_its_residue(name: str) -> None:
    one = crc.named(name)
    assert one.update(MESSAGE[4:], one.update(MESSAGE[:4], one.start)) == one.compute(MESSAGE)
    natural = crc.Checksum(name, one.natural_order)
    assert natural.size == one.size
    for message in (b"", b"\0", MESSAGE, bytes(range(256))):
        sealed = natural.seal(message)
        assert one.compute(sealed) == natural.residue
        assert natural.holds(sealed)
        assert not natural.holds(sealed[:-1] + bytes([sealed[-1] ^ 0x10]))


def test_any_polynomial() -> None:
    named = crc.named("crc-16-dnp")
    given = crc.named("poly=0x13D65,init=0,rev=true,xorOut=0xFFFF")
    assert given.compute(MESSAGE) == named.compute(MESSAGE) == 0xEA82
    assert crc.named(given.name) == given
    assert crc.polynomial(0x11021, 0xFFFF, False, 0).compute(MESSAGE) == 0x29B1
    assert crc.polynomial(0x104C11DB7, 0xFFFFFFFF, True, 0xFFFFFFFF).compute(MESSAGE) == 0xCBF43926
    assert crc.polynomial(0x11021, 0, False, 0xFFFF).compute(MESSAGE) == 0x31C3 ^ 0xFFFF


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("crc-cccitt-false", "did you mean 'crc-ccitt-false'?"),
        ("", "unknown CRC ''"),
        ("poly=0x1021", "top bit"),
        ("poly=0x11021,init=0x10000", "fit 16 bits"),
        ("poly=0x11021,init=-1", "write it like"),
        ("poly=0x11021,rev=maybe", "write it like"),
        ("init=0", "write it like"),
        ("poly=0x11021,poly=0x11021", "write it like"),
    ],
)
def test_errors_name_the_fix(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as error:
        crc.named(text)
    assert words in str(error.value)
