"""Layouts of XBee frame data: one record per frame type, packed and parsed only here.

Source: Digi's 802.15.4, DigiMesh and Zigbee user guides, "API frames". A record is the data
between length and checksum. Addresses are 16 or 4 upper-case hex digits; empty where a frame has
"unknown". Frame id 0 requests no answer.
"""

from collections.abc import Callable
from struct import Struct, error as StructError
from typing import NamedTuple

from hilgw.errors import FrameError

BROADCAST_16, BROADCAST_64 = "FFFF", "000000000000FFFF"
UNKNOWN_16, UNKNOWN_64 = "FFFE", "FFFFFFFFFFFFFFFF"

TX_64, TX_16, AT, AT_QUEUED, TX, TX_EXPLICIT, REMOTE_AT = 0x00, 0x01, 0x08, 0x09, 0x10, 0x11, 0x17
RX_64, RX_16, AT_RESPONSE, TX_STATUS, MODEM_STATUS = 0x80, 0x81, 0x88, 0x89, 0x8A
EXTENDED_STATUS, RX, RX_EXPLICIT, NODE_ID, REMOTE_RESPONSE = 0x8B, 0x90, 0x91, 0x95, 0x97

_EXPLICIT = Struct(">BBHH")  # source and destination endpoint, cluster, profile


class Endpoints(NamedTuple):
    """Source and destination of an explicit frame inside a module."""

    source: int = 0xE8
    destination: int = 0xE8
    cluster: int = 0x0011
    profile: int = 0xC105


def pack_ends(endpoints: Endpoints | None) -> bytes:
    return b"" if endpoints is None else _EXPLICIT.pack(*endpoints)


class AtCommand(NamedTuple):
    """08, or 09 when queued: a write waits for AC or for any 08; a read is answered at once."""

    frame_id: int
    name: str
    value: bytes = b""
    queued: bool = False

    def pack(self) -> bytes:
        kind = AT_QUEUED if self.queued else AT
        return bytes((kind, self.frame_id)) + self.name.encode("ascii") + self.value


class AtResponse(NamedTuple):
    """88. A successful write has no value. Only the low nibble of the status is the result."""

    frame_id: int
    name: str
    status: int
    value: bytes = b""

    @property
    def ok(self) -> bool:
        return self.status & 0x0F == 0


class Transmit(NamedTuple):
    """00 or 01, by the length of the address: data for one module, or for all."""

    frame_id: int
    destination: str
    data: bytes
    options: int = 0

    def pack(self) -> bytes:
        kind = TX_16 if len(self.destination) == 4 else TX_64
        head = bytes((kind, self.frame_id)) + bytes.fromhex(self.destination)
        return head + bytes((self.options,)) + self.data


class TransmitRequest(NamedTuple):
    """10, or 11 with endpoints. radius 0: the network's maximum."""

    frame_id: int
    destination: str
    data: bytes
    network: str = UNKNOWN_16
    radius: int = 0
    options: int = 0
    endpoints: Endpoints | None = None

    def pack(self) -> bytes:
        kind = TX if self.endpoints is None else TX_EXPLICIT
        head = bytes((kind, self.frame_id)) + bytes.fromhex(self.destination + self.network)
        return head + pack_ends(self.endpoints) + bytes((self.radius, self.options)) + self.data


class TransmitStatus(NamedTuple):
    """89: how the frame with this id ended."""

    frame_id: int
    status: int


class ExtendedStatus(NamedTuple):
    """8B: the same for 10 and 11, with retries and route discovery."""

    frame_id: int
    status: int
    network: str = UNKNOWN_16
    retries: int = 0
    discovery: int = 0


class Received(NamedTuple):
    """80 or 81: data with the RSSI of the last hop, dBm as the module measured it."""

    source: str
    rssi_dbm: int
    options: int
    data: bytes


class ReceivedPacket(NamedTuple):
    """90, or 91 with endpoints: data without an RSSI."""

    source: str
    network: str
    options: int
    data: bytes
    endpoints: Endpoints | None = None


class ModemStatus(NamedTuple):
    """8A: an event of the module or its network."""

    status: int


class NodeIdentification(NamedTuple):
    """95: a node identified itself. tail: parent, role, event and the rest after the name."""

    sender: str
    sender_network: str
    options: int
    network: str
    source: str
    name: bytes
    tail: bytes = b""


class RemoteAtCommand(NamedTuple):
    """17: an AT command for another module. Option 02 applies the change at once."""

    frame_id: int
    destination: str
    network: str
    options: int
    name: str
    value: bytes = b""

    def pack(self) -> bytes:
        head = bytes((REMOTE_AT, self.frame_id)) + bytes.fromhex(self.destination + self.network)
        return head + bytes((self.options,)) + self.name.encode("ascii") + self.value


class RemoteAtResponse(NamedTuple):
    """97: the other module's answer."""

    frame_id: int
    source: str
    network: str
    name: str
    status: int
    value: bytes = b""


Frame = (
    AtCommand | AtResponse | Transmit | TransmitRequest | TransmitStatus | ExtendedStatus
    | Received | ReceivedPacket | ModemStatus | NodeIdentification
    | RemoteAtCommand | RemoteAtResponse
)  # fmt: skip


def parse(data: bytes) -> Frame:
    """Return the record this frame data holds.

    Raises:
        FrameError: unknown type, or too short for its type.
    """
    if not data:
        raise FrameError("the frame is empty")
    layout = _LAYOUTS.get(data[0])
    if layout is None:
        raise FrameError(f"frame type {data[0]:02X} is unknown")
    try:
        return layout(data)
    except (StructError, IndexError, ValueError):
        raise FrameError(f"the frame of type {data[0]:02X} is too short") from None


def _hex(data: bytes, start: int, end: int) -> str:
    if len(data) < end:
        raise IndexError(end)
    return data[start:end].hex().upper()


def _name(data: bytes, start: int) -> str:
    letters = data[start : start + 2]
    if len(letters) != 2:
        raise ValueError(letters)
    return letters.decode("ascii")


def _transmit(d: bytes) -> Frame:
    end = 4 if d[0] == TX_16 else 10
    return Transmit(d[1], _hex(d, 2, end), d[end + 1 :], d[end])


def _transmit_request(d: bytes) -> Frame:
    explicit = d[0] == TX_EXPLICIT
    start = 18 if explicit else 12
    ends = Endpoints(*_EXPLICIT.unpack_from(d, 12)) if explicit else None
    return TransmitRequest(
        d[1], _hex(d, 2, 10), d[start + 2 :], _hex(d, 10, 12), d[start], d[start + 1], ends
    )


def _received(d: bytes) -> Frame:
    end = 3 if d[0] == RX_16 else 9
    return Received(_hex(d, 1, end), -d[end], d[end + 1], d[end + 2 :])


def _received_packet(d: bytes) -> Frame:
    explicit = d[0] == RX_EXPLICIT
    start = 17 if explicit else 11
    ends = Endpoints(*_EXPLICIT.unpack_from(d, 11)) if explicit else None
    return ReceivedPacket(_hex(d, 1, 9), _hex(d, 9, 11), d[start], d[start + 1 :], ends)


def _node_identification(d: bytes) -> Frame:
    end = d.index(0, 22)
    return NodeIdentification(
        _hex(d, 1, 9), _hex(d, 9, 11), d[11], _hex(d, 12, 14), _hex(d, 14, 22), d[22:end],
        d[end + 1 :],
    )  # fmt: skip


_LAYOUTS: dict[int, Callable[[bytes], Frame]] = {
    TX_64: _transmit,
    TX_16: _transmit,
    AT: lambda d: AtCommand(d[1], _name(d, 2), d[4:]),
    AT_QUEUED: lambda d: AtCommand(d[1], _name(d, 2), d[4:], queued=True),
    TX: _transmit_request,
    TX_EXPLICIT: _transmit_request,
    REMOTE_AT: lambda d: RemoteAtCommand(
        d[1], _hex(d, 2, 10), _hex(d, 10, 12), d[12], _name(d, 13), d[15:]
    ),
    RX_64: _received,
    RX_16: _received,
    AT_RESPONSE: lambda d: AtResponse(d[1], _name(d, 2), d[4], d[5:]),
    TX_STATUS: lambda d: TransmitStatus(d[1], d[2]),
    MODEM_STATUS: lambda d: ModemStatus(d[1]),
    EXTENDED_STATUS: lambda d: ExtendedStatus(d[1], d[5], _hex(d, 2, 4), d[4], d[6]),
    RX: _received_packet,
    RX_EXPLICIT: _received_packet,
    NODE_ID: _node_identification,
    REMOTE_RESPONSE: lambda d: RemoteAtResponse(
        d[1], _hex(d, 2, 10), _hex(d, 10, 12), _name(d, 12), d[14], d[15:]
    ),
}
