"""What an XBee heard: frames 80, 81, 90 and 91 become packets, or are dropped for a reason."""

from __future__ import annotations

from hilgw.adapters.base import Dropped, Received
from hilgw.adapters.xbee import frames
from hilgw.adapters.xbee.routes import Route
from hilgw.adapters.xbee.settings import FACTORY_MY

PAYLOAD_AT = {frames.RX_64: 11, frames.RX_16: 5, frames.RX: 12, frames.RX_EXPLICIT: 18}
BAD_FRAME = Dropped("bad_frame", "a frame with a wrong checksum or length, or cut short")
_UNKNOWN_64 = b"\xff" * 8
_EMPTY = Dropped("empty", "a received frame without data")
_ENDPOINT = Dropped("endpoint", "a frame for another endpoint, cluster or profile")


class Inward:
    """ends: the endpoints our packets go from and to, so that a frame 91 has to come back between
    them; None, 802.15.4: any will do, and 0000 names nobody."""

    def __init__(self, route: Route, ends: frames.Endpoints | None) -> None:
        self._route = route
        self._nobody = FACTORY_MY if ends is None else ""
        self._ends: bytes | None = None
        if ends is not None:
            back = ends._replace(source=ends.destination, destination=ends.source)
            self._ends = frames.pack_ends(back)

    def hear(self, frame: bytes, offset: int) -> Received | Dropped:
        """A packet; offset: where its payload begins. An address that names nobody is left out."""
        payload = frame[offset:]
        if offset == 18 and self._ends is not None and frame[11:17] != self._ends:
            return _ENDPOINT
        if not payload:
            return _EMPTY if len(frame) == offset else BAD_FRAME
        network = ""
        if offset == 5:
            address = frame[1:3].hex().upper()
        elif frame[1:9] != _UNKNOWN_64:
            address = frame[1:9].hex().upper()
            if offset > 11:
                network = frame[9:11].hex().upper()
        else:
            address = frame[9:11].hex().upper()
        taken = self._route.inward(payload, address, network)
        if isinstance(taken, Dropped):
            return taken
        channel, payload = taken
        rssi_dbm = -frame[offset - 2] if offset <= 11 else None
        return Received(payload, channel, rssi_dbm, None if address == self._nobody else address)
