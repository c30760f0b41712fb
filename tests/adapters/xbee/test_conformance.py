"""The rules of every adapter on an XBee; the "Hello" frames are those of Digi's user guide."""

from hilgw.adapters.xbee import ADAPTER
from hilgw.adapters.xbee.settings import ByHeader
from hilgw.testing import AdapterConformance, Vector
from tests.adapters.variants import Variant

SENT = bytes.fromhex("7E 00 0A 01 01 50 01 00 48 65 6C 6C 6F B8")
RECEIVED = bytes.fromhex("7E 00 0A 81 50 01 28 00 48 65 6C 6C 6F 11")


class OnXBee(AdapterConformance):
    adapter = ADAPTER
    common = {"baudRate": 115200, "channel": 12}
    settings = {"destination": "5001", "status_timeout_s": 0.5}
    far = {"my_address": 0x5001, "status_timeout_s": 0.5}
    largest = 102  # NP of an XBee 3, with short addresses
    check_bits = 8
    burst = 6  # what the module's buffers hold
    examples = 12
    vectors: tuple[Vector, ...] = (
        Vector(data=b"Hello", sends=SENT, receives=RECEIVED, rssi_dbm=-40, address="5001"),
        Vector(
            data=b"Hi",
            receives=bytes.fromhex("7E 00 0D 80 00 13 A2 00 40 0A 01 27 3A 00 48 69 6D"),
            rssi_dbm=-58,
            address="0013A200400A0127",
        ),
    )


class TestApi1(OnXBee):
    """API mode 1."""


class TestApi2(Variant, OnXBee):
    """API mode 2: 11, 13, 7D and 7E are escaped."""

    settings = {**OnXBee.settings, "api_mode": 2}
    far = {**OnXBee.far, "api_mode": 2}
    vectors = (
        Vector(
            data=b"Hello",
            sends=SENT,
            receives=RECEIVED[:-1] + b"\x7d\x31",  # the checksum 11
            address="5001",
        ),
        Vector(
            data=b"Hi",
            receives=bytes.fromhex("7E 00 0D 80 00 7D 33 A2 00 40 0A 01 27 3A 00 48 69 6D"),
            address="0013A200400A0127",
        ),
    )


class TestChannelHeader(Variant, OnXBee):
    """The channel is the first byte of the RF data."""

    settings = {**OnXBee.settings, "mapping": ByHeader()}
    far = {**OnXBee.far, "mapping": ByHeader()}
    largest = 101
    channels = (0, 254)
    vectors = (
        Vector(data=b"ello", channel=ord("H"), sends=SENT, receives=RECEIVED, address="5001"),
    )
