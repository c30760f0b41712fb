"""Command mode: getting in and out, lines, the timeout."""

import pytest

from firmware_mocks.xbee.module import Module
from tests.firmware_mocks.bench import XBeeAir


def commanded(bench: XBeeAir, **parameters: str) -> Module:
    """Return a module in command mode."""
    module: Module = bench.add(api_mode=0, **parameters)
    bench.command_mode(module)
    return module


def test_the_manuals_session(bench: XBeeAir) -> None:
    module = commanded(bench, hardware="s1")
    assert bench.type(module, "AT\r") == "OK\r"
    assert bench.type(module, "ATAP\r") == "0\r"
    assert bench.type(module, "ATDL1A0D\r") == "OK\r"
    assert bench.type(module, "ATDL\r") == "1A0D\r"
    assert bench.type(module, "ATDL 0x2\r") == "OK\r"
    assert bench.type(module, "atdl\r") == "2\r"
    assert bench.type(module, "ATWR\r") == "OK\r"
    assert bench.type(module, "ATCN\r") == "OK\r"
    assert bench.type(module, "ATAP\r") == ""  # data again


@pytest.mark.parametrize(
    "line", ["ATQQ\r", "ATCHFF\r", "ATCH0x\r", "ATCHxyz\r", "hello\r", "ATHV1\r", "ATA\r"]
)
def test_what_is_wrong_is_an_error(bench: XBeeAir, line: str) -> None:
    module = commanded(bench)
    assert bench.type(module, line) == "ERROR\r"
    assert bench.type(module, "ATCH\r") == "C\r"


def test_a_line_too_long_is_an_error_and_bounded(bench: XBeeAir) -> None:
    module = commanded(bench)
    bench.put(module, b"AT" + b"A" * 5000 + b"\r")
    bench.run(100)
    assert bench.taken(module) == b"ERROR\r"
    assert bench.type(module, "ATCH\r") == "C\r"


def test_the_timeout_applies_and_leaves_silently(bench: XBeeAir) -> None:
    module = commanded(bench, CT="14")  # 20 x 100 ms
    assert bench.type(module, "ATID1234\r") == "OK\r"
    bench.run(1800)
    assert module.registers.number("ID") == 0x3332
    bench.run(200)
    assert module.registers.number("ID") == 0x1234
    assert bench.taken(module) == b""
    assert bench.type(module, "ATID\r") == ""


@pytest.mark.parametrize(
    ("before", "gaps", "after"),
    [(900, 10, 1100), (1100, 1100, 1100), (1100, 10, 900)],
    ids=["no silence before", "too slow", "no silence after"],
)
def test_no_silence_no_command_mode(bench: XBeeAir, before: int, gaps: int, after: int) -> None:
    module = bench.settled(api_mode=0, RO="FF")
    bench.run(2000)
    bench.put(module, b"x")
    bench.run(before)
    for _ in range(3):
        bench.put(module, b"+")
        bench.run(gaps)
    bench.run(after - gaps)
    bench.put(module, b"y")
    bench.run(3000)
    assert b"OK" not in bench.taken(module)


@pytest.mark.parametrize("text", [b"+", b"++", b"++++", b"++x", b"+++x"])
def test_characters_that_do_not_lead_there_are_data(bench: XBeeAir, text: bytes) -> None:
    one = bench.add(api_mode=0, DL="FFFF")
    two = bench.settled(api_mode=0)
    bench.run(1500)
    bench.put(one, text)
    bench.run(2000)
    assert bench.taken(one) == b""
    assert bench.taken(two) == text


def test_the_key_cannot_be_read(bench: XBeeAir) -> None:
    module = commanded(bench)
    assert bench.type(module, "ATKY00112233445566778899AABBCCDDEEFF\r") == "OK\r"
    assert bench.type(module, "ATKY\r") == "\r"


def test_what_comes_by_radio_waits_until_command_mode_ends(bench: XBeeAir) -> None:
    one = bench.add()
    two = bench.settled(api_mode=0)
    bench.command_mode(two)
    assert bench.tx64(one, two.address, b"from afar") == 0
    assert bench.taken(two) == b""
    assert bench.type(two, "ATCN\r") == "OK\rfrom afar"
