"""AT commands by API frame, local and remote: reading, setting, discovery."""

import pytest

from firmware_mocks.xbee.hardware import KINDS
from tests.firmware_mocks.bench import XBeeAir

OK, BAD_PARAMETER = b"\0", b"\3"


@pytest.mark.parametrize("kind", KINDS)
def test_every_register_reads_and_takes_its_own_value(bench: XBeeAir, kind: str) -> None:
    module = bench.settled(hardware=kind)
    for name, register in KINDS[kind].registers.items():
        answer = bench.at(module, name.encode(), kind=9)
        assert answer[:1] == OK, name
        if register.access == "rw" and register.kind == "number":
            assert len(answer) == 1 + register.size, name
            assert bench.at(module, name.encode(), answer[1:], kind=9) == OK, name
        elif register.access == "r":
            assert bench.at(module, name.encode(), b"\1", kind=9) == BAD_PARAMETER, name


@pytest.mark.parametrize(
    ("kind", "command", "allowed", "refused"),
    [
        ("s1", b"CH", [0x0B, 0x1A], [0x0A, 0x1B]),
        ("s1", b"BD", [0, 7, 0x80, 0x3D090], [8, 0x7F, 0x3D091]),
        ("xbee3", b"CA", [0, 0x28, 0x64], [1, 0x27, 0x65]),
        ("xbee3", b"CT", [2, 0x1770], [1, 0x1771]),
        ("xbee3", b"PL", [4], [5]),
    ],
)
def test_ranges(
    bench: XBeeAir, kind: str, command: bytes, allowed: list[int], refused: list[int]
) -> None:
    module = bench.settled(hardware=kind)
    for value in refused:
        assert bench.at(module, command, value.to_bytes(4, "big"), kind=9) == BAD_PARAMETER
    for value in allowed:
        assert bench.at(module, command, value.to_bytes(4, "big"), kind=9) == OK


def test_nd_in_command_mode_on_s1(bench: XBeeAir) -> None:
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
    long = two.address.to_bytes(8, "big")
    assert bench.ask(one, b"\x08\x01DNtwo", 600) == [b"\x88\x01DN\x00\x00\x22" + long]
    assert bench.get(one, b"DH") + bench.get(one, b"DL") == long
    assert bench.ask(one, b"\x08\x01DNnobody", 600) == [b"\x88\x01DN\x01"]
    assert bench.ask(one, b"\x08\x01DN", 600) == [b"\x88\x01DN\x01"]


@pytest.mark.parametrize(
    ("frame_id", "command", "answered"),
    [(0, b"NIquiet", False), (5, b"ND", True), (5, b"DN", True), (5, b"CN", True)],
)
def test_what_makes_no_sense_from_afar_is_an_error_and_frame_id_0_is_not_answered(
    bench: XBeeAir, frame_id: int, command: bytes, answered: bool
) -> None:
    one, two = bench.pair()
    to = two.address.to_bytes(8, "big") + b"\xff\xfe"
    answers = bench.ask(one, bytes((0x17, frame_id)) + to + b"\x02" + command, 2000)
    assert answers == ([b"\x97\x05" + to + command + b"\x01"] if answered else [])
    assert bench.get(two, b"NI") == (b"m1" if answered else b"quiet")


def test_re_restores_the_factory_values(bench: XBeeAir) -> None:
    module = bench.settled(channel=13)
    assert bench.at(module, b"RE") == OK
    assert module.registers.number("CH") == 12


def test_user_data_relay(bench: XBeeAir) -> None:
    module = bench.settled()
    assert bench.ask(module, b"\x2d\x01\x00hello") == [b"\xad\x00hello"]
    assert bench.ask(module, b"\x2d\x05\x02hello") == [b"\x89\x05\x7d"]
    assert bench.ask(module, b"\x2d\x05\x09hello") == [b"\x89\x05\x7c"]
