"""ND and DN: records, times, options, both as frames and as text."""

import pytest

from firmware_mocks.xbee.module import Module
from tests.firmware_mocks.bench import XBeeAir

ND, HEAD = b"\x08\x01ND", b"\x88\x01ND\x00"


def long(module: Module) -> bytes:
    return module.address.to_bytes(8, "big")


def test_without_digis_header_there_is_no_discovery_and_no_remote_command(bench: XBeeAir) -> None:
    one, two = bench.pair(MM="2")
    assert bench.ask(one, ND, 100) == [b"\x88\x01ND\x01"]
    (answer,) = bench.ask(one, b"\x17\x05" + long(two) + b"\xff\xfe\x02NI", 2000)
    assert answer[-1] == 4


def test_a_long_search_outlives_the_command_mode_timeout(bench: XBeeAir) -> None:
    one = bench.add(api_mode=0, NT="1E", CT="A")
    bench.command_mode(one)
    assert bench.type(one, "ATND\r", 3500) == "\r"
    assert bench.type(one, "ATAP\r") == "0\r"


@pytest.mark.parametrize(("kind", "option"), [("s1", b"\x01"), ("xbee3", b"\x02")])
def test_the_asking_node_can_list_itself(bench: XBeeAir, kind: str, option: bytes) -> None:
    one = bench.settled("one", hardware=kind, NT="5", my=1)
    assert bench.ask(one, ND, 600) == [HEAD]
    bench.at(one, b"NO", option)
    assert bench.ask(one, ND, 600) == [HEAD + b"\x00\x01" + long(one) + b"\x00one\x00", HEAD]


def test_other_firmwares_records(bench: XBeeAir) -> None:
    one = bench.add(hardware="digimesh", NT="20")
    two = bench.settled("two", hardware="digimesh", position=(1, 0, 0))
    plain = b"\xff\xfe" + long(two) + b"two\x00\xff\xfe\x01\x00\xc1\x05\x10\x1e"
    assert bench.ask(one, ND, 3300) == [HEAD + plain, HEAD]
    bench.at(one, b"NO", b"\x05")
    assert bench.ask(one, ND, 3300) == [HEAD + plain + b"\x00\x12\x00\x00\x28", HEAD]


def test_in_command_mode_on_digimesh_and_zigbee(bench: XBeeAir) -> None:
    one = bench.add(hardware="digimesh", api_mode=0, NT="20")
    two = bench.settled("two", hardware="digimesh", position=(1, 0, 0))
    bench.command_mode(one)
    address = f"{two.address >> 32:X}\r{two.address & 0xFFFFFFFF:X}\r"
    assert bench.type(one, "ATND\r", 3300) == f"{address}28\rtwo\r1\r0\rC105\r101E\r\r\r"
    coordinator = bench.add(hardware="zigbee", api_mode=0, CE="1", NT="20")
    router = bench.settled("router", hardware="zigbee")
    bench.command_mode(coordinator)
    address = f"{router.address >> 32:X}\r{router.address & 0xFFFFFFFF:X}\r"
    expected = f"{router.addressing.source16:X}\r{address}router\rFFFE\r1\r0\rC105\r101E\r\r\r"
    assert bench.type(coordinator, "ATND\r", 3300) == expected
