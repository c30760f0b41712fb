"""A Zigbee network of mocks, and zigpy-xbee that uses it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

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
from zigpy.exceptions import DeliveryError as DeliveryError, NetworkNotFormed as NetworkNotFormed
from zigpy_xbee.zigbee.application import ControllerApplication

from tests.firmware_mocks.xbee.process import started

RATE = 115200
DEADLINE_S = 20.0
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
                CONF_DEVICE: {CONF_DEVICE_PATH: str(self.ports[0]), CONF_DEVICE_BAUDRATE: RATE},
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
