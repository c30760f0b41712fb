"""What a module does with a packet that has come to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware_mocks.xbee import discovery, remote
from firmware_mocks.xbee.packets import (
    DATA,
    DATA_CLUSTER,
    LOOPBACK_CLUSTER,
    SERIAL_DATA,
    UNKNOWN16,
    UNKNOWN64,
    Endpoints,
    Outcome,
    Packet,
    Request,
)

if TYPE_CHECKING:
    from firmware_mocks.xbee.module import Module


class Reception:
    """Hands packets on: to the client, to discovery, to remote commands, or back."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def take(self, packet: Packet, rssi_dbm: int, now: int) -> None:
        """A packet for this module, decrypted, for the first time."""
        body = packet.request.body
        if packet.request.kind == DATA:
            self._data(packet, rssi_dbm, now)
        elif isinstance(body, discovery.Query):
            self.module.discovery.asked(packet, body, now)
        elif isinstance(body, discovery.Node):
            self.module.discovery.found(body, rssi_dbm, now)
        elif isinstance(body, remote.Query):
            self.module.remote.asked(packet, body, now)
        elif isinstance(body, remote.Result):
            self.module.remote.answered(packet, body, now)

    def _data(self, packet: Packet, rssi_dbm: int, now: int) -> None:
        ends = packet.request.endpoints
        if ends.cluster == LOOPBACK_CLUSTER:
            back = Endpoints(ends.destination, ends.source, DATA_CLUSTER, ends.profile)
            self._send_back(packet, packet.data, back, now)
            return
        self._reply(packet, now)
        serial = self.module.serial
        if serial.api_mode:
            self.module.api.received(packet, rssi_dbm, now)
        elif ends.cluster == DATA_CLUSTER:
            serial.report(packet.data, now)

    def _reply(self, packet: Packet, now: int) -> None:
        """The answer this node gives by itself, to the first text that fits."""
        for asked, answer in self.module.replies.items():
            if packet.data.startswith(asked):
                data = answer + packet.data[len(asked) :]
                self._send_back(packet, data, SERIAL_DATA, now)
                return

    def _send_back(self, packet: Packet, data: bytes, endpoints: Endpoints, now: int) -> None:
        short = packet.source16 != UNKNOWN16 and self.module.has_short_addresses
        destination64 = UNKNOWN64 if short else packet.source64
        request = Request(data, destination64, packet.source16, endpoints=endpoints)
        self.module.send(request, _ignore, now)


def _ignore(outcome: Outcome, now: int) -> None:
    """Nobody waits for this transmission's end."""
