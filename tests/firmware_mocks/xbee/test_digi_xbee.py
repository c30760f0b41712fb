"""digi-xbee, the maker's own library, judges the mock over virtual ports."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from digi.xbee.devices import (
    DigiMeshDevice,
    Raw802Device,
    RemoteRaw802Device,
    RemoteXBeeDevice,
    RemoteZigBeeDevice,
    XBeeDevice,
    ZigBeeDevice,
)
from digi.xbee.exception import InvalidOperatingModeException, TimeoutException, TransmitException
from digi.xbee.models.address import XBee16BitAddress, XBee64BitAddress
from digi.xbee.models.mode import OperatingMode
from digi.xbee.models.options import DiscoveryOptions, RemoteATCmdOptions
from digi.xbee.models.protocol import Role, XBeeProtocol
from digi.xbee.models.status import TransmitStatus
from digi.xbee.models.zdo import NeighborRelationship, RouteStatus
from digi.xbee.reader import PacketListener

from hilgw.testing.sim import wait_until

pytestmark = pytest.mark.process

RATE = 115200
DEADLINE_S = 20.0

Pair = tuple[XBeeDevice, XBeeDevice]


class Bed:
    """Mocks in a process of their own, and digi-xbee devices opened on them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._devices: list[XBeeDevice] = []
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *settings: str, modules: int = 2) -> list[Path]:
        links = [self._folder / f"xbee{index}" for index in range(modules)]
        ready = self._folder / "ready"
        command = [sys.executable, "-m", "hilgw", "mock", "xbee", "--ready-file", str(ready)]
        for link in links:
            command += ["--link", str(link)]
        for setting in (f"baudRate={RATE}", *settings):
            command += ["--set", setting]
        root = Path(__file__).parents[3]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(root)}
        )
        wait_until(ready.exists)
        return links

    def open(self, port: Path, kind: type[XBeeDevice] = Raw802Device) -> XBeeDevice:
        device = kind(str(port), RATE)
        self._devices.append(device)
        device.open()
        device.set_sync_ops_timeout(DEADLINE_S)
        return device

    def pair(self, *settings: str, kind: type[XBeeDevice] = Raw802Device) -> Pair:
        one, two = (self.open(port, kind) for port in self.start(*settings))
        return one, two

    def close(self) -> None:
        for device in self._devices:
            if device.is_open():
                device.close()
        if self._process is not None:
            self._process.terminate()
            assert self._process.wait(DEADLINE_S) == 143


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Bed]:
    bed = Bed(tmp_path)
    yield bed
    bed.close()
    # The library keeps one pool of threads for callbacks; its readers have to be gone.
    assert not [thread for thread in threading.enumerate() if isinstance(thread, PacketListener)]


class Listener:
    """What a device received: messages, and the packets that carried them."""

    def __init__(self, device: XBeeDevice) -> None:
        self.messages: list[Any] = []
        self.packets: list[Any] = []
        device.add_data_received_callback(self.messages.append)
        device.add_packet_received_callback(self.packets.append)

    def wait(self, count: int) -> list[bytes]:
        wait_until(lambda: len(self.messages) >= count)
        return [bytes(message.data) for message in self.messages]


def address_of(device: XBeeDevice) -> XBee64BitAddress:
    return device.get_64bit_addr()


KINDS = [
    pytest.param(("hardware=s1",), Raw802Device, XBeeProtocol.RAW_802_15_4, id="s1"),
    pytest.param(("hardware=s2c",), Raw802Device, XBeeProtocol.RAW_802_15_4, id="s2c"),
    pytest.param(("hardware=xbee3",), Raw802Device, XBeeProtocol.RAW_802_15_4, id="xbee3"),
    pytest.param(("hardware=digimesh",), DigiMeshDevice, XBeeProtocol.DIGI_MESH, id="digimesh"),
    pytest.param(("hardware=900hp",), DigiMeshDevice, XBeeProtocol.DIGI_MESH, id="900hp"),
    pytest.param(("hardware=zigbee", "0.CE=1"), ZigBeeDevice, XBeeProtocol.ZIGBEE, id="zigbee"),
]


@pytest.mark.parametrize(("settings", "kind", "protocol"), KINDS)
def test_every_kind_opens_sets_sends_and_answers_from_afar(
    bed: Bed, settings: tuple[str, ...], kind: type[XBeeDevice], protocol: XBeeProtocol
) -> None:
    one, two = bed.pair(*settings, kind=kind)
    assert one.get_protocol() == protocol
    assert one.get_node_id() == "xbee0"
    assert bytes(address_of(one).address)[:4] == bytes.fromhex("0013A200")
    one.set_node_id("rover")
    one.read_device_info()
    assert one.get_node_id() == "rover"
    listener = Listener(two)
    data = bytes(range(60))
    remote = RemoteXBeeDevice(one, address_of(two))
    status = one.send_data(remote, data)
    assert status.transmit_status == TransmitStatus.SUCCESS
    one.send_data_broadcast(b"to all")
    assert listener.wait(2) == [data, b"to all"]
    first, second = listener.messages
    assert (first.is_broadcast, second.is_broadcast) == (False, True)
    assert first.remote_device.get_64bit_addr() == address_of(one)
    assert remote.get_parameter("NI") == b"xbee1"
    remote.set_node_id("far")
    assert two.get_parameter("NI") == b"far"
    assert remote.get_parameter("DB") == b"\x28"


@pytest.mark.parametrize("hardware", ["s1", "xbee3"])
def test_parameters_are_read_set_and_survive_only_when_written(bed: Bed, hardware: str) -> None:
    (port,) = bed.start(f"hardware={hardware}", "channel=20", "pan_id=0x1234", modules=1)
    one = bed.open(port)
    assert one.get_parameter("CH") == bytes((20,))
    assert one.get_pan_id() == b"\x12\x34"
    assert one.operating_mode == OperatingMode.API_MODE
    one.set_pan_id(b"\x43\x21")
    one.set_parameter("CH", b"\x0f")
    one.set_dest_address(XBee64BitAddress.from_hex_string("0013A20012345678"))
    assert one.get_pan_id() == b"\x43\x21"
    assert str(one.get_dest_address()) == "0013A20012345678"
    one.reset()
    assert one.get_pan_id() == b"\x12\x34"
    one.set_pan_id(b"\x43\x21")
    one.write_changes()
    one.reset()
    assert one.get_pan_id() == b"\x43\x21"
    assert one.get_parameter("CH") == bytes((20,))


@pytest.mark.parametrize("mode", [OperatingMode.API_MODE, OperatingMode.ESCAPED_API_MODE])
def test_both_api_modes_carry_every_value(bed: Bed, mode: OperatingMode) -> None:
    one, two = bed.pair(f"api_mode={mode.code}")
    assert one.operating_mode == mode
    listener = Listener(two)
    payloads = [bytes(range(start, start + 64)) for start in range(0, 256, 64)]
    payloads.append(b"\x7e\x7d\x11\x13" * 20)
    for payload in payloads:
        one.send_data_64(address_of(two), payload)
    assert listener.wait(len(payloads)) == payloads


def test_by_16_bit_address_with_rssi(bed: Bed) -> None:
    one, two = bed.pair("hardware=xbee3", "1.my=0x22", "1.position=0,10,0", kind=Raw802Device)
    listener = Listener(two)
    status = one.send_data_16(XBee16BitAddress.from_hex_string("0022"), b"short")
    assert status.transmit_status == TransmitStatus.SUCCESS
    assert listener.wait(1) == [b"short"]
    (packet,) = [packet for packet in listener.packets if hasattr(packet, "rssi")]
    assert packet.rssi == 60  # 10 m away
    assert packet.x64bit_source_addr == address_of(one)


def test_a_sender_with_a_short_address_is_received_by_it(bed: Bed) -> None:
    """A known source: an unknown one makes the library ask from its own reader thread, which
    then cannot read the answer and stalls for its whole timeout."""
    one, two = bed.pair("hardware=s1", "0.my=0x11", "1.my=0x22", kind=Raw802Device)
    known = RemoteRaw802Device(
        two, address_of(one), XBee16BitAddress.from_hex_string("0011"), "xbee0"
    )
    two.get_network().add_remote(known)
    listener = Listener(two)
    one.send_data_16(XBee16BitAddress.from_hex_string("0022"), b"short")
    assert listener.wait(1) == [b"short"]
    (packet,) = [packet for packet in listener.packets if hasattr(packet, "rssi")]
    assert (str(packet.x16bit_source_addr), packet.rssi) == ("0011", 40)


def test_an_absent_node_and_too_much(bed: Bed) -> None:
    (port,) = bed.start(modules=1)
    one = bed.open(port)
    no_one = XBee64BitAddress.from_hex_string("0013A200FFFFFFF0")
    with pytest.raises(TransmitException) as failed:
        one.send_data_64(no_one, b"hello")
    assert failed.value.status == TransmitStatus.NO_ACK
    with pytest.raises(TransmitException) as failed:
        one.send_data_64(no_one, bytes(103))
    assert failed.value.status == TransmitStatus.PAYLOAD_TOO_LARGE


DISCOVERIES = [
    pytest.param("s1", ("NT=8",), Raw802Device, None),
    pytest.param("digimesh", ("NT=20",), DigiMeshDevice, Role.ROUTER),
    pytest.param("zigbee", ("NT=20", "0.CE=1"), ZigBeeDevice, Role.ROUTER),
]


@pytest.mark.parametrize(("hardware", "settings", "kind", "role"), DISCOVERIES)
def test_discovery(
    bed: Bed, hardware: str, settings: tuple[str, ...], kind: type[XBeeDevice], role: Role | None
) -> None:
    ports = bed.start(f"hardware={hardware}", *settings, modules=4)
    one = bed.open(ports[0], kind)
    network = one.get_network()

    def search() -> dict[str, Any]:
        network.start_discovery_process()
        wait_until(lambda: not network.is_discovery_running())
        return {device.get_node_id(): device for device in network.get_devices()}

    # On a busy machine the library stops listening before the answers come: another search has
    # the others.
    wait_until(lambda: len(search()) >= 3, what="three modules")
    found = {device.get_node_id(): device for device in network.get_devices()}
    assert found.keys() == {"xbee1", "xbee2", "xbee3"}
    if role is not None:
        assert {device.get_role() for device in found.values()} == {role}
    # The library may take the end of the first search, still in its pool, for that of the second.
    wait_until(lambda: network.discover_device("xbee2") == found["xbee2"])


def test_discovery_of_itself_and_of_an_absent_node(bed: Bed) -> None:
    (port,) = bed.start("hardware=s1", "NT=5", modules=1)
    one = bed.open(port)
    network = one.get_network()
    assert network.discover_device("nobody") is None
    assert network.discover_device("xbee0") is None
    network.set_discovery_options({DiscoveryOptions.DISCOVER_MYSELF})
    records: list[Any] = []
    one.add_packet_received_callback(records.append)
    network.start_discovery_process()
    wait_until(lambda: any(b"xbee0" in record.output() for record in records))
    wait_until(lambda: not network.is_discovery_running())


def test_remote_parameters_wait_for_apply(bed: Bed) -> None:
    one, two = bed.pair()
    remote = RemoteRaw802Device(one, address_of(two))
    remote.set_parameter("PL", b"\x02", apply=False)
    assert two.get_parameter("PL", apply=False) == b"\x02"
    remote.apply_changes()
    assert remote.get_parameter("PP") == b"\x02"
    assert RemoteATCmdOptions.APPLY_CHANGES.value == 0x02
    remote.reset()


def test_a_reset_is_reported(bed: Bed) -> None:
    (port,) = bed.start(modules=1)
    one = bed.open(port)
    statuses: list[int] = []
    one.add_modem_status_received_callback(lambda status: statuses.append(status.code))
    for count in (1, 2, 3):
        one.reset()
        wait_until(lambda count=count: len(statuses) >= count)
    assert statuses == [0, 0, 0]
    assert one.get_parameter("AP") == b"\x01"


def test_a_change_of_rate(bed: Bed) -> None:
    (port,) = bed.start(modules=1)
    one = bed.open(port)
    one.set_parameter("BD", b"\x05")
    one.serial_port.baudrate = 38400
    assert one.get_parameter("BD") == b"\x00\x00\x00\x05"


def test_a_wrong_rate_is_noise(bed: Bed) -> None:
    (port,) = bed.start(modules=1)
    one = bed.open(port)
    one.serial_port.baudrate = 9600
    one.set_sync_ops_timeout(0.5)
    with pytest.raises(TimeoutException):
        one.get_parameter("AP")


def test_a_factory_fresh_module_is_recognised_as_such(bed: Bed) -> None:
    (port,) = bed.start("api_mode=0", modules=1)
    with pytest.raises(InvalidOperatingModeException, match=r"mode"):
        bed.open(port)


@pytest.mark.wall_clock("the library hides a stall; only its time shows")
def test_500_round_trips_without_a_stall(bed: Bed) -> None:
    """The library itself misses an answer that comes before it waits, and uses it after its time
    limit: what counts is when the answer came."""
    one, two = bed.pair()
    listener = Listener(two)
    remote = RemoteRaw802Device(one, address_of(two))
    answered: list[float] = []
    one.add_packet_received_callback(lambda _: answered.append(time.monotonic()))
    slowest = 0.0
    for number in range(500):
        begin, count = time.monotonic(), len(answered)
        one.send_data(remote, b"round trip %d" % number)
        slowest = max(slowest, answered[count] - begin)
    assert listener.wait(500) == [b"round trip %d" % number for number in range(500)]
    assert slowest < DEADLINE_S / 2  # a stall lasts as long as the library waits


def test_it_finds_neighbours_and_routes_of_zigbee(bed: Bed) -> None:
    one, two = bed.pair("hardware=zigbee", "0.CE=1", kind=ZigBeeDevice)
    for asked, other in ((one, two), (two, one)):
        (neighbour,) = asked.get_neighbors(timeout=DEADLINE_S)
        assert neighbour.node.get_64bit_addr() == address_of(other)
        assert neighbour.node.get_16bit_addr() == other.get_16bit_addr() and neighbour.lq > 0
    remote = RemoteZigBeeDevice(one, x64bit_addr=address_of(two), x16bit_addr=two.get_16bit_addr())
    (neighbour,) = remote.get_neighbors(timeout=DEADLINE_S)
    assert neighbour.relationship == NeighborRelationship.PARENT and neighbour.depth == 0
    (route,) = one.get_routes(timeout=DEADLINE_S)
    assert route.destination == route.next_hop == two.get_16bit_addr()
    assert route.status == RouteStatus.ACTIVE


def test_it_finds_neighbours_of_digimesh(bed: Bed) -> None:
    one, two = bed.pair("hardware=digimesh", "NT=20", kind=DigiMeshDevice)
    (neighbour,) = one.get_neighbors(timeout=4)  # it always waits so long
    assert neighbour.node.get_64bit_addr() == address_of(two)
