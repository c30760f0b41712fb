"""zigpy-xbee, unmodified, runs a Zigbee network on the mocks over virtual ports."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import serial
import zigpy.types as t
from zigpy.config import (
    CONF_DEVICE,
    CONF_DEVICE_BAUDRATE,
    CONF_DEVICE_PATH,
    CONF_NWK,
    CONF_NWK_BACKUP_ENABLED,
    CONF_NWK_CHANNEL,
    CONF_OTA,
    CONF_OTA_ENABLED,
    CONF_TOPO_SCAN_ENABLED,
)
from zigpy.exceptions import DeliveryError, NetworkNotFormed
from zigpy_xbee.zigbee.application import ControllerApplication

from hilgw.testing.sim import wait_until
from tests.firmware_mocks.bench import unwrap, wrap

pytestmark = pytest.mark.process

RATE = 115200
DEADLINE_S = 20.0
WELL_KNOWN_KEY = b"ZigBeeAlliance09".hex()
OWN_KEY = "000102030405060708090A0B0C0D0E0F"
DATA_ENDPOINT, DATA_CLUSTER, DIGI_PROFILE = 0xE8, 0x0011, 0xC105
ROUTERS = t.AddrModeAddress(t.AddrMode.Broadcast, t.BroadcastAddress.ALL_ROUTERS_AND_COORDINATOR)
AWAKE = t.AddrModeAddress(t.AddrMode.Broadcast, t.BroadcastAddress.RX_ON_WHEN_IDLE)


class Network:
    """Two Zigbee mocks in a process of their own; zigpy uses the first."""

    def __init__(self, folder: Path, *settings: str) -> None:
        self.ports = [folder / "coordinator", folder / "router"]
        ready = folder / "ready"
        command = [sys.executable, "-m", "hilgw", "mock", "xbee", "--ready-file", str(ready)]
        for port in self.ports:
            command += ["--link", str(port)]
        for setting in ("hardware=zigbee", f"baudRate={RATE}", "1.EE=1", *settings):
            command += ["--set", setting]
        root = Path(__file__).parents[3]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(root)}
        )
        wait_until(ready.exists, what="the mocks")

    def application(self, channel: int | None) -> ControllerApplication:
        return ControllerApplication(
            {
                CONF_DEVICE: {
                    CONF_DEVICE_PATH: str(self.ports[0]),
                    CONF_DEVICE_BAUDRATE: RATE,
                },
                CONF_NWK: {CONF_NWK_CHANNEL: channel},
                CONF_OTA: {CONF_OTA_ENABLED: False},
                CONF_TOPO_SCAN_ENABLED: False,
                CONF_NWK_BACKUP_ENABLED: False,
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


@pytest.fixture
def network(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Network]:
    network = Network(tmp_path, *request.param)
    yield network
    network.stop()


class Events:
    """What zigpy reports."""

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


@pytest.mark.parametrize(
    ("network", "channel"),
    [
        pytest.param((f"1.KY={WELL_KNOWN_KEY}",), 15, id="factory settings"),
        pytest.param((f"1.KY={WELL_KNOWN_KEY}", "0.CE=1"), None, id="coordinator, energy scan"),
    ],
    indirect=["network"],
)
def test_forming_joining_and_messages_both_ways(network: Network, channel: int | None) -> None:
    async def run() -> None:
        async with network.started(channel) as application:
            events = Events(application)
            assert application.state.node_info.nwk == 0
            assert application.state.network_info.channel == (channel or 15)
            await application.permit(60)
            router = await asyncio.wait_for(events.initialized.get(), DEADLINE_S)
            assert events.joined == [router]
            assert router.node_desc.is_router
            assert router.node_desc.manufacturer_code == 0x101E
            assert sorted(router.endpoints) == [0, 0xE6, 0xE8]
            with serial.Serial(str(network.ports[1]), RATE, timeout=DEADLINE_S) as port:
                for to in (by_long(router.ieee), ROUTERS, AWAKE):
                    await application.send_packet(packet(to, b"down"))
                source = bytes(reversed(application.state.node_info.ieee.serialize())) + b"\0\0"
                frames = [wrap(b"\x90" + source + options + b"down") for options in (b"\1", b"\2")]
                expected = frames[0] + 2 * frames[1]
                received = await asyncio.to_thread(port.read, len(expected))
                assert unwrap(received) == unwrap(expected)
                port.write(wrap(b"\x10\x01" + bytes(8) + b"\xff\xfe\x00\x00up"))
                message = await asyncio.wait_for(events.messages.get(), DEADLINE_S)
                assert message[0] is router
                assert message[2:] == (DATA_CLUSTER, DATA_ENDPOINT, DATA_ENDPOINT, b"up")
            nowhere = t.EUI64.convert("00:13:a2:00:de:ad:be:ef")
            with pytest.raises(DeliveryError, match="ADDRESS_NOT_FOUND"):
                await application.send_packet(packet(by_long(nowhere), b"x"))

    asyncio.run(run())


@pytest.mark.parametrize("network", [()], ids=["factory settings"], indirect=True)
def test_an_automatic_channel_on_a_module_that_was_no_coordinator(network: Network) -> None:
    """zigpy 2.4 reads MY (FFFE: not joined) before it forms a network to scan in, keeps that value,
    and takes the network for one that was not formed. The module is right; a new application
    reads it again."""

    async def run() -> None:
        first = network.application(None)
        await first.connect()
        with suppress(NetworkNotFormed):
            await first.form_network()
        required = {"EE": 1, "EO": 2, "ZS": 2, "AI": 0, "MY": 0, "CE": 1}
        for name, value in required.items():
            assert await first._api._at_command(name) == value, name
        await first.disconnect()
        async with network.started() as application:
            assert application.state.network_info.channel == 15
            assert application.state.node_info.nwk == 0

    asyncio.run(run())


@pytest.mark.parametrize(
    "network",
    [
        pytest.param(
            (f"1.KY={OWN_KEY}", "1.address=0013A20011223344"),
        )
    ],
    indirect=True,
)
def test_a_module_with_a_key_of_its_own_joins_after_its_registration(network: Network) -> None:
    async def run() -> None:
        async with network.started(channel=20) as application:
            events = Events(application)
            await application.permit(60)
            assert events.joined == []
            address = t.EUI64.convert("00:13:a2:00:11:22:33:44")
            await application.permit_with_link_key(address, t.KeyData.convert(OWN_KEY))
            router = await asyncio.wait_for(events.initialized.get(), DEADLINE_S)
            assert router.ieee == address

    asyncio.run(run())
