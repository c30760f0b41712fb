"""The error of this protocol."""

from __future__ import annotations

from hilgw.errors import PeerError

TAIL_BYTES = 256


class ProtocolError(PeerError):
    """Bytes that are not Webots' protocol, or a message that it cannot carry.

    tail: the first bytes that could not be decoded, at most 256, for the log.
    """

    def __init__(self, what: str, *, where: str = "", fix: str = "", tail: bytes = b"") -> None:
        super().__init__(what, where=where, fix=fix)
        self.tail = bytes(tail[:TAIL_BYTES])
