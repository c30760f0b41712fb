"""Packets of an XBee: frames to send them, frames received, and the window of outstanding ones.

Frames 00, 01, 80 and 81 with 802.15.4, 10, 11, 90 and 91 with the others.
"""

from hilgw.adapters._common.routes import Route, route_for
from hilgw.adapters.base import Dropped, Received, StationSettings
from hilgw.adapters.xbee import frames
from hilgw.adapters.xbee.network import RAW_802, XBeeModule
from hilgw.adapters.xbee.settings import FACTORY_MY, XBeeSettings, normal_address
from hilgw.reasons import DroppedReason, PacketDropped

PAYLOAD_AT = {frames.RX_64: 11, frames.RX_16: 5, frames.RX: 12, frames.RX_EXPLICIT: 18}


class XBeeDropped(DroppedReason):
    """Reasons of the adapter `xbee`."""

    ENDPOINT = "endpoint", "a frame for another endpoint, cluster or profile"


BAD_FRAME = Dropped(
    PacketDropped.BAD_FRAME, "a frame with a wrong checksum or length, or without its end"
)
DATA_ENDPOINTS = frames.Endpoints()
_EMPTY = Dropped(PacketDropped.EMPTY, "a received frame without data")
_ENDPOINT = Dropped(XBeeDropped.ENDPOINT, "a frame for another endpoint, cluster or profile")


def route_of(settings: XBeeSettings, common: StationSettings) -> Route:
    """Return the mapping of Webots channels to this radio."""
    return route_for(
        settings.mapping,
        common.channel,
        normal_address(settings.destination),
        frames.BROADCAST_16,
        normal_address,
    )


# --- to the radio ---------------------------------------------------------------------------------


def endpoints_of(settings: XBeeSettings) -> frames.Endpoints:
    """Return the endpoints our packets are sent from and to."""
    chosen = settings.endpoints
    if chosen is None:
        return DATA_ENDPOINTS
    return frames.Endpoints(chosen.source, chosen.destination, chosen.cluster, chosen.profile)


def transmit_frames_for(settings: XBeeSettings, module: XBeeModule) -> "TransmitFrames":
    if module.protocol == RAW_802:
        return ShortFrames()
    return MeshFrames(endpoints_of(settings) if module.explicit else None)


class ShortFrames:
    """The frames 00, or 01 to a 16-bit address.

    overhead: bytes on the wire besides the payload, without escapes.
    """

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


TransmitFrames = ShortFrames | MeshFrames


class Window:
    """Frames that wait for their transmit status, at most `frames`.

    room: bytes the module's UART buffer accepts; None: the line has flow control. timeout_ns: time
    limit of a status.
    """

    def __init__(self, frames: int, room: int | None, timeout_ns: int) -> None:
        self._frames = frames
        self._room = room
        self._timeout_ns = timeout_ns
        self._token = 0
        # frame id -> token, deadline, bytes on the wire; the oldest comes first
        self._entries: dict[int, tuple[int, int, int]] = {}
        self._bytes = 0

    def __contains__(self, frame_id: int) -> bool:
        return frame_id in self._entries

    @property
    def deadline(self) -> int | None:
        return next(iter(self._entries.values()))[1] if self._entries else None

    def admits(self, size: int) -> bool:
        """Return whether a frame of this size may be sent now.

        A single frame always may.
        """
        entries = self._entries
        if not entries:
            return True
        return len(entries) < self._frames and (
            self._room is None or self._bytes + size <= self._room
        )

    def put(self, frame_id: int, size: int, now: int) -> int:
        """Add a frame that is being sent, and return its token."""
        self._token += 1
        self._entries[frame_id] = (self._token, now + self._timeout_ns, size)
        self._bytes += size
        return self._token

    def settle(self, frame_id: int) -> int | None:
        """Remove a frame whose status came; return its token, None when it is not outstanding."""
        entry = self._entries.pop(frame_id, None)
        if entry is None:
            return None
        self._bytes -= entry[2]
        return entry[0]

    def expire(self, now: int) -> list[int]:
        """Return the tokens of the frames whose status did not come in time."""
        late = []
        while self._entries:
            frame_id, (token, deadline, size) = next(iter(self._entries.items()))
            if now < deadline:
                break
            del self._entries[frame_id]
            self._bytes -= size
            late.append(token)
        return late

    def clear(self) -> list[int]:
        """Return all tokens, and forget the frames."""
        tokens = [entry[0] for entry in self._entries.values()]
        self._entries.clear()
        self._bytes = 0
        return tokens


# --- from the radio -------------------------------------------------------------------------------


class PacketDecoder:
    """Decodes frames 80, 81, 90 and 91.

    ends: the endpoints our packets are sent from and to; frames 91 must use the same ones, in the
    other direction. None, 802.15.4: no endpoints, and 0000 identifies no module.
    """

    def __init__(self, route: Route, ends: frames.Endpoints | None) -> None:
        self._route = route
        self._no_address = FACTORY_MY if ends is None else ""
        self._ends: bytes | None = None
        if ends is not None:
            self._ends = frames.pack_ends(
                ends._replace(source=ends.destination, destination=ends.source)
            )

    def decode(self, frame: bytes, offset: int) -> Received | Dropped:
        """Return the packet whose payload starts at `offset`, without an address of no module."""
        payload = frame[offset:]
        if offset == 18 and self._ends is not None and frame[11:17] != self._ends:
            return _ENDPOINT
        if not payload:
            return _EMPTY if len(frame) == offset else BAD_FRAME
        network = ""
        if offset == 5:
            address = frame[1:3].hex().upper()
        elif (address := frame[1:9].hex().upper()) == frames.UNKNOWN_64:
            address = frame[9:11].hex().upper()
        elif offset > 11:
            network = frame[9:11].hex().upper()
        taken = self._route.inward(payload, address, network)
        if isinstance(taken, Dropped):
            return taken
        channel, payload = taken
        rssi_dbm = -frame[offset - 2] if offset <= 11 else None
        return Received(
            payload, channel, rssi_dbm, None if address == self._no_address else address
        )
