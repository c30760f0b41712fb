"""AT commands by API frame: reading, setting, what takes effect when, what survives."""

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
