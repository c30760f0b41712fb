"""The rules of every adapter on a UART, with each kind of framing; bytes as in docs/framing.md."""

from hilgw.adapters.uart import ADAPTER, ByHeader
from hilgw.testing import AdapterConformance, Vector
from tests.adapters.variants import Variant

NASTY = bytes.fromhex("48 00 7E C0")
DIGITS = b"123456789"  # with the check values of the CRC catalogues


class OnUart(AdapterConformance):
    adapter = ADAPTER
    common = {"baudRate": 115200, "channel": 5}
    largest = 4096
    examples = 12


class TestCobs(OnUart):
    settings = {"framing": "cobs-crc16"}
    noise_costs = 1  # the frame it runs into
    vectors = (
        Vector(data=NASTY, wire=bytes.fromhex("02 48 05 7E C0 9D 85 00")),
        Vector(data=DIGITS, wire=b"\x0c" + DIGITS + bytes.fromhex("29 B1 00")),
    )


class TestChannelHeader(Variant, OnUart):
    settings = {"framing": "length", "mapping": ByHeader()}
    largest = 1023
    channels = (0, 254)
    vectors = (
        Vector(
            data=DIGITS[1:],
            channel=DIGITS[0],
            wire=bytes.fromhex("AA 55 00 09") + DIGITS + bytes.fromhex("C0 C2"),
        ),
    )


class TestLines(Variant, OnUart):
    settings = {"framing": "lines"}
    check_bits = 0  # noise is delivered as a part of its line
    noise_costs = 1
    values = sorted(set(range(256)) - {0x0A, 0x0D})
    vectors = (Vector(data=NASTY, wire=NASTY + b"\n"), Vector(data=DIGITS, wire=DIGITS + b"\n"))


class TestGap(Variant, OnUart):
    settings = {"framing": "gap:20ms"}
    check_bits = 0
    pause_s = 0.021
    vectors = (Vector(data=NASTY, wire=NASTY), Vector(data=DIGITS, wire=DIGITS))
