"""zigpy-xbee, unmodified, runs a Zigbee network on the mocks over virtual ports."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import serial

from tests.firmware_mocks.bench import unwrap, wrap

if TYPE_CHECKING:
    from tests.firmware_mocks.xbee.zigpy_network import Network  # importing zigpy takes a second

pytestmark = pytest.mark.process

WELL_KNOWN_KEY = b"ZigBeeAlliance09".hex()
OWN_KEY = "000102030405060708090A0B0C0D0E0F"


@pytest.fixture
def network(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Network]:
    from tests.firmware_mocks.xbee.zigpy_network import Network

    network = Network(tmp_path, *request.param)
    yield network
    network.stop()


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
