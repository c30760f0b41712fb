"""Packets between modules: a request, its packet on the air, and the outcome of sending it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

BROADCAST16 = 0xFFFF
UNKNOWN16 = 0xFFFE
INVALID16 = 0xFFFD
BROADCAST64 = 0xFFFF
UNKNOWN64 = 0xFFFFFFFFFFFFFFFF
COORDINATOR64 = 0

DATA = "data"
SAMPLE = "sample"
DATA_CLUSTER = 0x0011
SAMPLE_CLUSTER = 0x0092
LOOPBACK_CLUSTER = 0x0012


class Delivery(IntEnum):
    """Delivery status (frames 89 and 8B)."""

    SUCCESS = 0x00
    NO_ACK = 0x01
    CCA_FAILURE = 0x02
    DUTY_CYCLE = 0x04  # 868 MHz: the share of the hour is used up
    NETWORK_ACK = 0x21
    NOT_JOINED = 0x22
    SELF_ADDRESSED = 0x23
    ADDRESS_NOT_FOUND = 0x24
    ROUTE_NOT_FOUND = 0x25
    NO_BINDING = 0x2B
    APS_BROADCAST = 0x2D
    APS_UNENCRYPTED = 0x2E
    NO_SECURE_SESSION = 0x34
    TOO_LARGE = 0x74
    RELAY_INVALID = 0x7C
    RELAY_REFUSED = 0x7D


# Discovery status (frame 8B), added up.
ADDRESS_DISCOVERY = 0x01
ROUTE_DISCOVERY = 0x02


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
    """A packet to be sent.

    destination64: FFFF is broadcast, FF..FF means: by the 16-bit address. `body` is the question
    or answer in a packet of the firmware's own (kind other than data); its `data` only takes air
    time.
    """

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
    """A request as it is on the air.

    source16: FFFE when the sender uses its 64-bit address. size: bytes on the air. repeats:
    transmissions when none is acknowledged. header: with Digi's header, which marks the
    firmware's own packets and repeated ones.
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


class Addresses(NamedTuple):
    """The 64-bit and the 16-bit address of a module."""

    long: int
    short: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a transmission. receiver: the module that acknowledged it."""

    status: int
    retries: int = 0
    discovery: int = 0
    receiver: Addresses | None = None


Done = Callable[[Outcome, int], None]


def ignore(outcome: Outcome, now: int) -> None:
    """Ignore the outcome of a packet without an effect."""
