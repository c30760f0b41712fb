"""digi-xbee and zigpy-xbee, unmodified, judge the mocks over virtual ports."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import serial
import zigpy.types as t
from digi.xbee.devices import (
    DigiMeshDevice,
    Raw802Device,
    RemoteXBeeDevice,
    RemoteZigBeeDevice,
    XBeeDevice,
    ZigBeeDevice,
)
from digi.xbee.exception import TransmitException
from digi.xbee.models.address import XBee64BitAddress
from digi.xbee.models.mode import OperatingMode
from digi.xbee.models.protocol import Role, XBeeProtocol
from digi.xbee.models.status import TransmitStatus
from digi.xbee.models.zdo import NeighborRelationship, RouteStatus
from digi.xbee.reader import PacketListener
from zigpy import config
from zigpy.exceptions import DeliveryError as DeliveryError, NetworkNotFormed as NetworkNotFormed
from zigpy_xbee.zigbee.application import ControllerApplication

from hilgw.testing.sim import wait_until
from tests.firmware_mocks.bench import unwrap, wrap

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
        self._process = started(links, f"baudRate={RATE}", *settings)
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


@pytest.mark.process
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


@pytest.mark.process
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


@pytest.mark.process
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


@pytest.mark.process
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


@pytest.mark.process
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


if TYPE_CHECKING:
    from tests.firmware_mocks.xbee.test_libraries import Network  # importing zigpy takes a second


WELL_KNOWN_KEY = b"ZigBeeAlliance09".hex()
OWN_KEY = "000102030405060708090A0B0C0D0E0F"


@pytest.fixture
def network(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Network]:
    from tests.firmware_mocks.xbee.test_libraries import Network

    network = Network(tmp_path, *request.param)
    yield network
    network.stop()


@pytest.mark.process
@pytest.mark.parametrize(
    ("network", "channel"),
    [
        pytest.param((f"1.KY={WELL_KNOWN_KEY}",), 15, id="factory settings"),
        pytest.param((f"1.KY={WELL_KNOWN_KEY}", "0.CE=1"), None, id="coordinator, energy scan"),
    ],
    indirect=["network"],
)
async def test_forming_joining_and_messages(network: Network, channel: int | None) -> None:
    from tests.firmware_mocks.xbee import zigpy_network as zigpy

    async with network.started(channel) as application:
        events = zigpy.Events(application)
        assert application.state.node_info.nwk == 0
        assert application.state.network_info.channel == (channel or 15)
        await application.permit(60)
        router = await asyncio.wait_for(events.initialized.get(), zigpy.DEADLINE_S)
        assert events.joined == [router]
        assert router.node_desc.is_router
        assert router.node_desc.manufacturer_code == 0x101E
        assert sorted(router.endpoints) == [0, 0xE6, 0xE8]
        with serial.Serial(str(network.ports[1]), zigpy.RATE, timeout=zigpy.DEADLINE_S) as port:
            for to in (zigpy.by_long(router.ieee), zigpy.ROUTERS, zigpy.AWAKE):
                await application.send_packet(zigpy.packet(to, b"down"))
            source = bytes(reversed(application.state.node_info.ieee.serialize())) + b"\0\0"
            frames = [wrap(b"\x90" + source + options + b"down") for options in (b"\1", b"\2")]
            expected = frames[0] + 2 * frames[1]
            received = await asyncio.to_thread(port.read, len(expected))
            assert unwrap(received) == unwrap(expected)
            port.write(wrap(b"\x10\x01" + bytes(8) + b"\xff\xfe\x00\x00up"))
            message = await asyncio.wait_for(events.messages.get(), zigpy.DEADLINE_S)
            assert message[0] is router
            assert message[2:] == (zigpy.DATA_CLUSTER, *2 * [zigpy.DATA_ENDPOINT], b"up")
        nowhere = zigpy.t.EUI64.convert("00:13:a2:00:de:ad:be:ef")
        with pytest.raises(zigpy.DeliveryError, match="ADDRESS_NOT_FOUND"):
            await application.send_packet(zigpy.packet(zigpy.by_long(nowhere), b"x"))


@pytest.mark.process
@pytest.mark.parametrize("network", [()], ids=["factory settings"], indirect=True)
async def test_an_automatic_channel_on_a_module_that_was_no_coordinator(network: Network) -> None:
    """zigpy 2.4 reads MY (FFFE: not joined) before it forms a network to scan in, keeps that value,
    and takes the network for one that was not formed. The module is right; a new application
    reads it again."""
    from tests.firmware_mocks.xbee import zigpy_network as zigpy

    first = network.application(None)
    await first.connect()
    with suppress(zigpy.NetworkNotFormed):
        await first.form_network()
    required = {"EE": 1, "EO": 2, "ZS": 2, "AI": 0, "MY": 0, "CE": 1}
    for name, value in required.items():
        assert await first._api._at_command(name) == value, name
    await first.disconnect()
    async with network.started() as application:
        assert application.state.network_info.channel == 15
        assert application.state.node_info.nwk == 0


@pytest.mark.process
@pytest.mark.parametrize(
    "network", [(f"1.KY={OWN_KEY}", "1.address=0013A20011223344")], indirect=True
)
async def test_a_module_with_its_own_key_joins_after_its_registration(network: Network) -> None:
    from tests.firmware_mocks.xbee import zigpy_network as zigpy

    async with network.started(channel=20) as application:
        events = zigpy.Events(application)
        await application.permit(60)
        assert events.joined == []
        address = zigpy.t.EUI64.convert("00:13:a2:00:11:22:33:44")
        await application.permit_with_link_key(address, zigpy.t.KeyData.convert(OWN_KEY))
        router = await asyncio.wait_for(events.initialized.get(), zigpy.DEADLINE_S)
        assert router.ieee == address


DATA_ENDPOINT, DATA_CLUSTER, DIGI_PROFILE = 0xE8, 0x0011, 0xC105
ROUTERS = t.AddrModeAddress(t.AddrMode.Broadcast, t.BroadcastAddress.ALL_ROUTERS_AND_COORDINATOR)
AWAKE = t.AddrModeAddress(t.AddrMode.Broadcast, t.BroadcastAddress.RX_ON_WHEN_IDLE)


class Network:
    """Two Zigbee mocks in a process of their own; zigpy uses the first."""

    def __init__(self, folder: Path, *settings: str) -> None:
        self.ports = [folder / "coordinator", folder / "router"]
        more = ("hardware=zigbee", f"baudRate={RATE}", "1.EE=1")
        self._process = started(self.ports, *more, *settings)

    def application(self, channel: int | None) -> ControllerApplication:
        return ControllerApplication(
            {
                config.CONF_DEVICE: {
                    config.CONF_DEVICE_PATH: str(self.ports[0]),
                    config.CONF_DEVICE_BAUDRATE: RATE,
                },
                config.CONF_NWK: {config.CONF_NWK_CHANNEL: channel},
                config.CONF_OTA: {config.CONF_OTA_ENABLED: False},
                config.CONF_TOPO_SCAN_ENABLED: False,
                config.CONF_NWK_BACKUP_ENABLED: False,
            }
        )

    @asynccontextmanager
    async def started(self, channel: int | None = None) -> AsyncIterator[ControllerApplication]:
        """A network formed and started; without a channel, an energy scan chooses one."""
        forming = self.application(channel)
        await forming.connect()
        await forming.form_network()
        await forming.disconnect()
        application = self.application(channel)
        await application.startup()
        yield application
        await application.shutdown()

    def stop(self) -> None:
        self._process.terminate()
        assert self._process.wait(DEADLINE_S) == 143


class Events:
    def __init__(self, application: ControllerApplication) -> None:
        self.joined: list[Any] = []
        self.initialized: asyncio.Queue[Any] = asyncio.Queue()
        self.messages: asyncio.Queue[tuple[Any, ...]] = asyncio.Queue()
        application.add_listener(self)

    def device_joined(self, device: Any) -> None:
        self.joined.append(device)

    def device_initialized(self, device: Any) -> None:
        self.initialized.put_nowait(device)

    def handle_message(self, *message: Any) -> None:
        if message[1] == DIGI_PROFILE:
            self.messages.put_nowait(message)


def packet(to: t.AddrModeAddress, data: bytes) -> t.ZigbeePacket:
    return t.ZigbeePacket(
        src=t.AddrModeAddress(t.AddrMode.NWK, 0),
        src_ep=DATA_ENDPOINT,
        dst=to,
        dst_ep=DATA_ENDPOINT,
        profile_id=DIGI_PROFILE,
        cluster_id=DATA_CLUSTER,
        data=t.SerializableBytes(data),
    )


def by_long(address: t.EUI64) -> t.AddrModeAddress:
    return t.AddrModeAddress(t.AddrMode.IEEE, address)


def started(links: Sequence[Path], *settings: str) -> subprocess.Popen[bytes]:
    """Start a module behind each link."""
    ready = links[0].parent / "ready"
    command = [sys.executable, "-m", "hilgw", "mock", "xbee", "--ready-file", str(ready)]
    for option, values in (("--link", links), ("--set", settings)):
        for value in values:
            command += [option, str(value)]
    root = Path(__file__).parents[3]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(root)}
    )
    wait_until(ready.exists, what="the mocks")
    return process
