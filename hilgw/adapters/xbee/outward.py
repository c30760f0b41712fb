"""How a packet goes out by radio: frames 00 and 01 with 802.15.4, 10 and 11 with the others."""

from __future__ import annotations

from typing import Protocol

from hilgw.adapters.xbee import frames
from hilgw.adapters.xbee.modules import RAW_802, Module
from hilgw.adapters.xbee.settings import XBeeSettings

DATA_ENDPOINTS = frames.Endpoints()


class Outward(Protocol):
    """overhead: bytes on the wire beside the payload, escapes not counted."""

    overhead: int

    def pack(self, frame_id: int, destination: str, payload: bytes) -> bytes:
        """Frame data."""


def endpoints_of(settings: XBeeSettings) -> frames.Endpoints:
    """Those our packets go from and to."""
    chosen = settings.endpoints
    if chosen is None:
        return DATA_ENDPOINTS
    return frames.Endpoints(chosen.source, chosen.destination, chosen.cluster, chosen.profile)


def outward_for(settings: XBeeSettings, module: Module) -> Outward:
    if module.protocol == RAW_802:
        return ShortFrames()
    return MeshFrames(endpoints_of(settings) if module.explicit else None)


class ShortFrames:
    """00, or 01 to a 16-bit address."""

    overhead = 15

    def pack(self, frame_id: int, destination: str, payload: bytes) -> bytes:
        return frames.Transmit(frame_id, destination, payload).pack()


class MeshFrames:
    """10, or 11 with endpoints. Hops, routes and ACKs are left to the module's settings."""

    def __init__(self, endpoints: frames.Endpoints | None) -> None:
        self._endpoints = endpoints
        self.overhead = 18 if endpoints is None else 24

    def pack(self, frame_id: int, destination: str, payload: bytes) -> bytes:
        address, network = destination, frames.UNKNOWN_16
        if destination == frames.BROADCAST_16:
            address = frames.BROADCAST_64
        elif len(destination) == 4:
            address, network = frames.UNKNOWN_64, destination
        request = frames.TransmitRequest(
            frame_id, address, payload, network, endpoints=self._endpoints
        )
        return request.pack()
