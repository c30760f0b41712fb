"""Pins of the mock, as in the example of the manual, and active scans."""

from tests.firmware_mocks.bench import XBeeAir


def test_is_as_in_the_zigbee_manual(bench: XBeeAir) -> None:
    """User guide XBee 3 Zigbee, On-demand sampling: DIO3, DIO10 high, DIO2, DIO11 low, AD0, AD1."""
    uses = {"D0": "2", "D1": "2", "D2": "3", "D3": "3", "P0": "5", "P1": "4"}
    circuit = {"D0": 0x3D0, "D1": 0x124, "D2": "low", "D3": "high"}
    module = bench.settled(hardware="zigbee", CE="1", pins=circuit, **uses)
    (answer,) = bench.ask(module, bytes.fromhex("08 53 49 53"))
    assert answer == bytes.fromhex("88 53 49 53 00 01 0C 0C 03 04 08 03 D0 01 24")
    bench.command_mode(module)
    assert bench.type(module, "ATIS\r") == "01\r0C0C\r03\r0408\r03D0\r0124\r\r"


# --- AS -------------------------------------------------------------------------------------------


def test_active_scan_of_802_15_4(bench: XBeeAir) -> None:
    """A PanDescriptor for each coordinator in reach, on every channel of SC."""
    module = bench.add()
    bench.add(CE="1", my=0x1234, pan_id=0x5678, channel=20, A2="4", position=(10, 0, 0))
    far = bench.add(CE="1", channel=15, position=(0, 10, 0))
    bench.add(position=(0, 1, 0))  # no coordinator
    bench.settled(CE="1", channel=13, position=(1e6, 0, 0))
    first, second, end = bench.ask(module, b"\x08\x01AS", 3000)
    assert first == b"\x88\x01AS\0" + bytes.fromhex("1234 5678 02 14 00 00 00 CFFF 00 3C 000000")
    long = far.address.to_bytes(8, "big")
    assert second == b"\x88\x01AS\0" + long + bytes.fromhex("3332 03 0F 00 00 00 4FFF 00 3C 000000")
    assert end == b"\x88\x01AS\0"
    assert bench.at(module, b"SC", b"\x02\x00") == b"\0"
    assert bench.ask(module, b"\x08\x01AS\x01", 100) == [first, end]
    assert bench.at(module, b"AS", b"\x07") == b"\x03"
    bench.command_mode(module)
    assert bench.type(module, "ATSC10\r") == "OK\r"
    assert bench.type(module, "ATAC\r") == "OK\r"
    text = bench.type(module, "ATAS0\r", 500)
    assert text == f"{far.address:X}\r3332\r3\rF\r0\r0\r0\r4FFF\r0\r3C\r0\r\r\r"


# --- the parameter --------------------------------------------------------------------------------


def test_pins_as_a_fixture_sets_them(bench: XBeeAir) -> None:
    module = bench.add(hardware="zigbee", CE="1", D0="3", D1="2", pins={"D0": True, "d1": 9})
    assert module.settings.pins == {"D0": 1023, "D1": 9}
    module.set("pins", str({"D0": "low", "D1": "open"}))
    assert module.settings.pins == {"D0": 0}
