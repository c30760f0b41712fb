"""Short names of framings: their settings, and errors with suggestions."""

import subprocess
import sys

import pytest

from hilgw.errors import ConfigError
from hilgw.framing import create


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cob-crc16", "did you mean 'cobs-crc16'?"),
        ("line", "did you mean 'lines'?"),
        ("qqq", "use one of cobs-crc16"),
        ("", "use one of cobs-crc16"),
        ("cobs-crc17", "unknown CRC 'crc17'; did you mean 'crc16'?"),
        ("slip:5ms", "takes no ':5ms'"),
        ("xbee_api", "unknown framing"),
    ],
)
def test_unknown_names(name: str, words: str) -> None:
    with pytest.raises(ConfigError) as error:
        create(name)
    assert words in str(error.value)


@pytest.mark.parametrize("spec", [None, 5, b"slip", object()])
def test_neither_a_name_nor_settings(spec: object) -> None:
    with pytest.raises(ConfigError, match="neither"):
        create(spec)


@pytest.mark.process
def test_only_the_framing_asked_for_is_loaded() -> None:
    script = (
        "import sys, hilgw.framing as f; assert 'dataclasses' not in sys.modules;"
        "f.create('gap'); print('crcmod' in sys.modules, 'cobs' in sys.modules);"
        "[f.create(each) for each in ('cobs-crc16', 'cobs-crc32', 'slip-xmodem')];"
        "print('crcmod' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False"] * 3


def test_a_polynomial_of_ones_own_may_follow_the_dash() -> None:
    """Names are read without regard to case, and so are the polynomial's parts."""
    own = create("cobs-poly=0x11021,init=0xFFFF,rev=false,xorOut=0x0")
    assert own.encode(b"123456789") == create("cobs-crc16").encode(b"123456789")
