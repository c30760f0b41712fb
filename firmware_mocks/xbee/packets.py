"""What travels between modules: a packet, its addresses, how sending it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from firmware_mocks.xbee.module import Module

BROADCAST16 = 0xFFFF
UNKNOWN16 = 0xFFFE
INVALID16 = 0xFFFD
BROADCAST64 = 0xFFFF
UNKNOWN64 = 0xFFFFFFFFFFFFFFFF
COORDINATOR64 = 0

DATA = "data"
DATA_CLUSTER = 0x0011
LOOPBACK_CLUSTER = 0x0012


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Application layer addressing; the defaults are Digi's data service."""

    source: int = 0xE8
    destination: int = 0xE8
    cluster: int = DATA_CLUSTER
    profile: int = 0xC105


SERIAL_DATA = Endpoints()


@dataclass(frozen=True, slots=True)
class Request:
    """What a packet is to be. destination64: FFFF is broadcast, FF..FF means: by the 16-bit
    address. `body` is what a packet of the firmware's own (kind other than data) asks or
    answers; `data` then only takes air time."""

    data: bytes
    destination64: int
    destination16: int = UNKNOWN16
    options: int = 0
    endpoints: Endpoints = SERIAL_DATA
    kind: str = DATA
    body: object = None

    @property
    def broadcast(self) -> bool:
        by_short = self.destination64 == UNKNOWN64 and self.destination16 == BROADCAST16
        return by_short or self.destination64 == BROADCAST64


@dataclass(frozen=True, slots=True)
class Packet:
    """A request made into a packet on the air.

    source16: FFFE when the sender goes by its 64-bit address. size: bytes on the air. repeats:
    transmissions when none is acknowledged. header: with Digi's header, by which the firmware's
    own packets and repeated ones are told.
    """

    request: Request
    family: str
    source64: int
    source16: int
    network: int
    acknowledged: bool
    size: int
    repeats: int
    sequence: int
    header: bool = True
    key: bytes = b""

    @property
    def data(self) -> bytes:
        return self.request.data


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a transmission ended: delivery status, retries, discovery status, who acknowledged."""

    status: int
    retries: int = 0
    discovery: int = 0
    receiver: Module | None = None


Done = Callable[[Outcome, int], None]
