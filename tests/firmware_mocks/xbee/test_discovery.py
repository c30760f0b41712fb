"""ND and DN: records, times, options, both as frames and as text."""

import pytest

from firmware_mocks.xbee.module import Module
from tests.firmware_mocks.bench import XBeeAir

ND = b"\x08\x01ND"


def long(module: Module) -> bytes:
    return module.address.to_bytes(8, "big")


def test_in_command_mode_on_s1(bench: XBeeAir) -> None:
    one = bench.add(hardware="s1", api_mode=0, NT="5")
    two = bench.settled("two", hardware="s1", my=0x22, position=(1, 0, 0))
    bench.command_mode(one)
    fields = f"22\r{two.address >> 32:X}\r{two.address & 0xFFFFFFFF:X}\r28\rtwo\r"
    assert bench.type(one, "ATND\r", 600) == fields + "\r" + "\r"
    assert bench.type(one, "ATNDtwo\r", 600) == fields + "\r" + "\r"
    assert bench.type(one, "ATNDthree\r", 600) == "ERROR\r"
    two.switch_off()
    assert bench.type(one, "ATND,AP\r", 600) == "\r0\r"


def test_dn_finds_the_destination(bench: XBeeAir) -> None:
    one = bench.add(NT="5")
    two = bench.settled("two", my=0x22)
    assert bench.ask(one, b"\x08\x01DNtwo", 600) == [b"\x88\x01DN\x00\x00\x22" + long(two)]
    assert bench.get(one, b"DH") + bench.get(one, b"DL") == long(two)
    assert bench.ask(one, b"\x08\x01DNnobody", 600) == [b"\x88\x01DN\x01"]
    assert bench.ask(one, b"\x08\x01DN", 600) == [b"\x88\x01DN\x01"]


# --- remote AT commands: 17 asks, 97 answers ------------------------------------------------------


def ask(
    bench: XBeeAir,
    module: Module,
    to: int,
    command: bytes,
    to16: int = 0xFFFE,
    options: int = 2,
    frame_id: int = 5,
) -> list[bytes]:
    head = bytes((0x17, frame_id)) + to.to_bytes(8, "big") + to16.to_bytes(2, "big")
    return bench.ask(module, head + bytes((options,)) + command, 2000)


def head(module: Module, my: int = 0xFFFE) -> bytes:
    return b"\x97\x05" + module.address.to_bytes(8, "big") + my.to_bytes(2, "big")


def test_frame_id_0_is_obeyed_and_not_answered(bench: XBeeAir) -> None:
    one, two = bench.pair()
    assert ask(bench, one, two.address, b"NIquiet", frame_id=0) == []
    assert bench.get(two, b"NI") == b"quiet"


@pytest.mark.parametrize("command", [b"ND", b"DN", b"CN"])
def test_what_makes_no_sense_from_afar_is_an_error(bench: XBeeAir, command: bytes) -> None:
    one, two = bench.pair()
    assert ask(bench, one, two.address, command) == [head(two) + command + b"\x01"]
