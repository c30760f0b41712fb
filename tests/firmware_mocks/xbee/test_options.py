"""Each bit of the transmit options, in each family: done, refused with its status, or listed."""

import pytest

from firmware_mocks.xbee.hardware import KINDS
from firmware_mocks.xbee.network.options import OPTIONS, RESERVED
from tests.firmware_mocks.bench import XBeeAir

BITS = [1 << bit for bit in range(8)]
MODERN = {"802.15.4": "xbee3", "DigiMesh": "digimesh", "Zigbee": "zigbee"}
SUCCESS, INVALID_BINDING, NO_SECURE_SESSION, APS_UNENCRYPTED = 0x00, 0x2B, 0x34, 0x2E


def test_the_table_has_every_bit_of_every_family() -> None:
    assert {kind.family for kind in KINDS.values()} == OPTIONS.keys() == MODERN.keys()
    for family, table in OPTIONS.items():
        assert list(table) == BITS, family
        for option in table.values():
            assert option.meaning and not (option.done and option.refused)
            assert option is not RESERVED or not option.done


@pytest.mark.parametrize("family", MODERN)
@pytest.mark.parametrize("bit", BITS)
def test_a_bit_does_what_the_table_has(bench: XBeeAir, family: str, bit: int) -> None:
    more = {"CE": "1"} if family == "Zigbee" else {}
    one = bench.add(hardware=MODERN[family], **more)
    two = bench.settled(hardware=MODERN[family], position=(1, 0, 0))
    plain = bench.tx(one, two.address, b"data")
    (received,) = bench.frames(two)
    again = bench.tx(one, two.address, b"data")  # its route is known now
    assert (plain[3], again[3]) == (SUCCESS, SUCCESS) and bench.frames(two) == [received]
    option = OPTIONS[family][bit]
    status = bench.tx(one, two.address, b"data", options=bit)
    got = bench.frames(two)
    if option.refused:
        assert (status[3], got) == (option.refused, [])
        assert option.refused in (INVALID_BINDING, NO_SECURE_SESSION)
    elif not option.done:
        assert (status, got) == (again, [received])
    elif (family, bit) == ("Zigbee", 0x20):
        assert (status[3], got) == (APS_UNENCRYPTED, [])  # it needs EE=1
    elif (family, bit) == ("Zigbee", 0x08):
        assert (status[3], got) == (SUCCESS, [])
    else:
        assert status[3] == SUCCESS
        assert [frame[-4:] for frame in got] == [b"data"]
