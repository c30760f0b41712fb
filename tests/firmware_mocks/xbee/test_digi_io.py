"""digi-xbee, unmodified, on the pins of the mock: the flows of its examples of I/O lines."""

import json
import queue
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from digi.xbee.devices import RemoteXBeeDevice, XBeeDevice
from digi.xbee.exception import ATCommandException
from digi.xbee.io import IOLine, IOMode, IOValue

from hilgw.testing.fixtures.gateways import Gateways
from hilgw.testing.fixtures.mocks import FirmwareMocks, MockHandle

pytestmark = pytest.mark.wall_clock("digi-xbee waits for times of its own")

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
