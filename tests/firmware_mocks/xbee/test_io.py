"""Pins of the mock as in the manual's example, with digi-xbee too, and active scans."""

import json
import queue
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from digi.xbee.devices import RemoteXBeeDevice, XBeeDevice
from digi.xbee.exception import ATCommandException
from digi.xbee.io import IOLine, IOMode, IOValue

from firmware_mocks.xbee.module import Module
from hilgw.testing.fixtures.gateways import Gateways
from hilgw.testing.fixtures.ports import FirmwareMocks, MockHandle
from tests.firmware_mocks.bench import XBeeAir


def samples(bench: XBeeAir, module: Module) -> list[bytes]:
    return [frame for frame in bench.frames(module) if frame[0] in (0x82, 0x83, 0x91, 0x92)]


def point(bench: XBeeAir, module: Module, to: Module) -> None:
    """DH and DL of `module`, as digi-xbee's set_dest_address."""
    assert bench.at(module, b"DH", (to.address >> 32).to_bytes(4, "big")) == b"\0"
    assert bench.at(module, b"DL", (to.address & 0xFFFFFFFF).to_bytes(4, "big")) == b"\0"


def test_is_as_in_the_zigbee_manual(bench: XBeeAir) -> None:
    """User guide XBee 3 Zigbee, On-demand sampling: DIO3, DIO10 high, DIO2, DIO11 low, AD0, AD1."""
    uses = {"D0": "2", "D1": "2", "D2": "3", "D3": "3", "P0": "5", "P1": "4"}
    circuit = {"D0": 0x3D0, "D1": 0x124, "D2": "low", "D3": "high"}
    module = bench.settled(hardware="zigbee", CE="1", pins=circuit, **uses)
    (answer,) = bench.ask(module, bytes.fromhex("08 53 49 53"))
    assert answer == bytes.fromhex("88 53 49 53 00 01 0C 0C 03 04 08 03 D0 01 24")
    bench.command_mode(module)
    assert bench.type(module, "ATIS\r") == "01\r0C0C\r03\r0408\r03D0\r0124\r\r"


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


def test_pins_as_a_fixture_sets_them(bench: XBeeAir) -> None:
    module = bench.add(hardware="zigbee", CE="1", D0="3", D1="2", pins={"D0": True, "d1": 9})
    assert module.settings.pins == {"D0": 1023, "D1": 9}
    module.set("pins", str({"D0": "low", "D1": "open"}))
    assert module.settings.pins == {"D0": 0}


def test_open_inputs_follow_their_resistors(bench: XBeeAir) -> None:
    """PR 1 is the resistor of D4, PR 10 of D0; PD gives its direction."""
    module = bench.settled(hardware="zigbee", CE="1", D0="3", D4="3")

    def levels() -> int:
        return bench.get(module, b"IS")[5]

    assert levels() == 0x11
    assert bench.at(module, b"PR", b"\0\x01") == b"\0"
    assert levels() == 0x10
    assert bench.at(module, b"PD", b"\0\0") == b"\0"
    assert levels() == 0
    module.set("pins", "D0:high")
    assert levels() == 0x01
    module.set("pins", "D0:open")
    assert levels() == 0


def test_an_output_that_changes_is_reported_too(bench: XBeeAir) -> None:
    here, there = bench.pair()
    point(bench, there, here)
    assert bench.at(there, b"IC", b"\0\x12") == b"\0"
    assert bench.at(there, b"D4", b"\x04") == b"\0"  # enabled: no change yet
    bench.run(100)
    assert samples(bench, here) == []
    assert bench.at(there, b"D4", b"\x05") == b"\0"
    bench.run(100)
    assert [frame[-5:].hex() for frame in samples(bench, here)] == ["0100100010"]


def test_without_an_enabled_line_there_is_no_sample(bench: XBeeAir) -> None:
    assert bench.at(bench.settled(hardware="zigbee", CE="1"), b"IS") == b"\1"


def test_the_supply_voltage_is_added_when_it_is_low(bench: XBeeAir) -> None:
    module = bench.settled(hardware="zigbee", CE="1", D0="3")
    assert bench.get(module, b"IS").hex() == "010001000001"
    assert bench.at(module, b"V+", b"\xff\xff") == b"\0"
    assert bench.get(module, b"IS").hex() == "0100018000010ce4"


def test_analog_lines_and_the_standard_mask(bench: XBeeAir) -> None:
    s1 = bench.settled(hardware="s1", D1="2", D5="2", pins={"D1": 0x225, "D5": "high"})
    sample = bench.ask(s1, b"\x08\x01IS")[1]
    assert sample[11:] == bytes.fromhex("01 44 00 02 25 03 FF")
    xbee3 = bench.settled(AO="0", D2="2", P2="3", pins={"P2": "high", "D2": 1})
    sample = bench.ask(xbee3, b"\x08\x01IS")[1]
    assert sample[0] == 0x92
    assert sample[12:] == bytes.fromhex("01 10 00 04 10 00 00 01")


def test_explicit_output_names_the_cluster_of_samples(bench: XBeeAir) -> None:
    here = bench.add(hardware="zigbee", CE="1", AO="1")
    there = bench.add(hardware="zigbee", position=(1, 0, 0), D0="5", IR="64")
    bench.run(1000)
    explicit = [frame for frame in samples(bench, here) if frame[13:15] == b"\0\x92"]
    assert explicit
    assert explicit[0][0] == 0x91
    assert explicit[0][1:9] == there.address.to_bytes(8, "big")
    assert explicit[0][11:17] == bytes.fromhex("E8 E8 00 92 C1 05")
    assert explicit[0][18:] == bytes.fromhex("01 00 01 00 00 01")


def test_active_scan_of_zigbee(bench: XBeeAir) -> None:
    coordinator = bench.add(hardware="zigbee", CE="1", ID="77", II="1234", ZS="2", NJ="FF")
    module = bench.add(hardware="zigbee", position=(10, 0, 0))
    assert bench.ask(module, b"\x08\x01AS", 20)[-1:] == [b"\x88\x01AS\x01"]  # it still joins
    bench.settle()
    beacon, end = bench.ask(module, b"\x08\x01AS", 5000)
    assert beacon == b"\x88\x01AS\0" + bytes.fromhex("02 0B 1234 0000000000000077 01 02 FF C4")
    assert end == b"\x88\x01AS\0"
    assert bench.at(coordinator, b"NJ", b"\0") == b"\0"
    assert bench.ask(module, b"\x08\x01AS", 5000)[0][-4] == 0


@pytest.mark.parametrize(
    ("silenced", "where"), [({"IU": "0"}, "here"), ({"AP": 0}, "here"), ({"MM": "1"}, "here there")]
)
def test_who_has_no_samples(bench: XBeeAir, silenced: dict[str, Any], where: str) -> None:
    here = bench.add(hardware="s1", my=1, **(silenced if "here" in where else {}))
    bench.add(
        hardware="s1", my=2, DL="1", D0="3", IR="64", **(silenced if "there" in where else {})
    )
    bench.run(1000)
    taken = bench.taken(here)
    assert b"\x83\x00\x02" not in taken
    here.set("IU", "1")
    assert "IU" in here.registers


def test_several_samples_in_one_packet(bench: XBeeAir) -> None:
    here, there = bench.pair(hardware="s1")
    point(bench, there, here)
    for letters, value in ((b"D3", b"\x03"), (b"IT", b"\x03"), (b"IR", b"\x64")):
        assert bench.at(there, letters, value) == b"\0"
    there.set("pins", "D3:high")
    bench.frames(here)
    bench.run(200)
    assert samples(bench, here) == []
    there.set("pins", "D3:low")
    bench.run(70)
    (frame,) = samples(bench, here)
    assert frame[11:].hex(" ") == "03 00 08 00 08 00 08 00 00"


RATE = 115200
DEADLINE_S = 20.0
KINDS = ["s1", "s2c", "xbee3", "digimesh", "zigbee", "900hp"]
INPUT, ANALOG = IOLine.DIO3_AD3, IOLine.DIO2_AD2

Opened = Callable[[MockHandle], XBeeDevice]


@pytest.fixture
def opened() -> Iterator[Opened]:
    devices: list[XBeeDevice] = []

    def open_device(mock: MockHandle) -> XBeeDevice:
        device = XBeeDevice(mock.port, RATE)
        devices.append(device)
        device.open()
        return device

    yield open_device
    for device in devices:
        device.close()


def modules(firmware_mock: FirmwareMocks, hardware: str) -> tuple[MockHandle, MockHandle]:
    role = {"CE": "1"} if hardware == "zigbee" else {}
    here = firmware_mock("xbee", hardware=hardware, baudRate=RATE, **role)
    there = firmware_mock("xbee", hardware=hardware, baudRate=RATE, ni="REMOTE")
    if hardware == "zigbee":
        there.wait_for(lambda mock: mock.registers.number("AI") == 0)
    return here, there


def remote_of(device: XBeeDevice) -> RemoteXBeeDevice:
    """As the examples find it."""
    remote = device.get_network().discover_device("REMOTE")
    assert remote is not None
    return remote


@pytest.mark.wall_clock("digi-xbee waits for times of its own")
@pytest.mark.parametrize("hardware", KINDS)
def test_a_remote_module_is_read_and_reports_by_itself(
    firmware_mock: FirmwareMocks, opened: Opened, hardware: str
) -> None:
    here, there = modules(firmware_mock, hardware)
    device = opened(here)
    remote = remote_of(device)
    with pytest.raises(ATCommandException):
        remote.read_io_sample()  # no line is enabled
    there.set("pins", "D3:high,D2:300")
    remote.set_dest_address(device.get_64bit_addr())
    remote.set_io_configuration(INPUT, IOMode.DIGITAL_IN)
    remote.set_io_configuration(ANALOG, IOMode.ADC)
    assert remote.get_dio_value(INPUT) == IOValue.HIGH
    assert remote.get_adc_value(ANALOG) == 300
    received: queue.Queue[Any] = queue.Queue()
    device.add_io_sample_received_callback(
        lambda sample, source, at: received.put((sample, source))
    )
    remote.set_io_sampling_rate(0.05)
    assert remote.get_io_sampling_rate() == 0.05
    sample, source = received.get(timeout=DEADLINE_S)
    assert source.get_64bit_addr() == remote.get_64bit_addr()
    assert sample.get_digital_value(INPUT) == IOValue.HIGH
    assert sample.get_analog_value(ANALOG) == 300
    remote.set_io_sampling_rate(0)
    remote.set_dio_change_detection({INPUT})
    while not received.empty():
        received.get()
    there.set("pins", "D3:low")
    sample, _ = received.get(timeout=DEADLINE_S)
    while sample.has_analog_values():  # a periodic sample was still on its way
        sample, _ = received.get(timeout=DEADLINE_S)
    assert sample.digital_values == {INPUT: IOValue.LOW}


@pytest.mark.wall_clock("digi-xbee waits for times of its own")
def test_pins_of_a_configured_node(gateway: Gateways, opened: Opened, tmp_path: Path) -> None:
    node = {
        "mock": "xbee",
        "link": str(tmp_path / "spare"),
        "baudRate": RATE,
        "pins": {"D3": "high", "D2": 512},
        "D3": 3,
        "D2": 2,
    }
    overrides = [f"airs.lab.nodes.spare={json.dumps(node)}"]
    running = gateway("configs/xbee.yaml", overrides=overrides)
    mock = running.mock("spare")
    device = opened(mock)
    assert device.get_dio_value(INPUT) == IOValue.HIGH
    assert device.get_adc_value(ANALOG) == 512
    mock.set("pins", {"D3": "low"})
    assert device.get_dio_value(INPUT) == IOValue.LOW
