"""Remote AT commands: 17 asks, 97 answers."""

import pytest

from firmware_mocks.xbee.module import Module
from tests.firmware_mocks.bench import XBeeAir


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


def test_by_16_bit_address_as_clients_ask_for_an_unknown_source(bench: XBeeAir) -> None:
    one, two = bench.add(), bench.add(my=0x22, address="0013A20040A1B2C3")
    bench.settle()
    for command, value in ((b"SH", "0013A200"), (b"SL", "40A1B2C3")):
        answers = ask(bench, one, 0xFFFFFFFFFFFFFFFF, command, to16=0x22, options=0)
        assert answers == [head(two, 0x22) + command + b"\x00" + bytes.fromhex(value)]


def test_the_answer_to_a_new_channel_comes_on_the_old_one(bench: XBeeAir) -> None:
    one, two = bench.pair()
    assert ask(bench, one, two.address, b"CH\x0d") == [head(two) + b"CH\x00"]
    assert ask(bench, one, two.address, b"CH")[0][-1] == 4
    bench.at(one, b"CH", b"\x0d")
    assert ask(bench, one, two.address, b"CH") == [head(two) + b"CH\x00\x0d"]


def test_frame_id_0_is_obeyed_and_not_answered(bench: XBeeAir) -> None:
    one, two = bench.pair()
    assert ask(bench, one, two.address, b"NIquiet", frame_id=0) == []
    assert bench.get(two, b"NI") == b"quiet"


@pytest.mark.parametrize("command", [b"ND", b"DN", b"CN"])
def test_what_makes_no_sense_from_afar_is_an_error(bench: XBeeAir, command: bytes) -> None:
    one, two = bench.pair()
    assert ask(bench, one, two.address, command) == [head(two) + command + b"\x01"]


def test_without_digis_header_it_cannot_be_sent(bench: XBeeAir) -> None:
    one, two = bench.pair(MM="2")
    assert ask(bench, one, two.address, b"NI")[0][-1] == 4
