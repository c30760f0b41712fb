"""The error of this protocol, and the reasons for refusals that only its sessions have."""

from hilgw.errors import PeerError
from hilgw.reasons import RequestReason

TAIL_BYTES = 256


class ProtocolError(PeerError):
    """Bytes that are not Webots' protocol, or a message that it cannot carry.

    tail: the first bytes that could not be decoded, at most 256, for the log.
    """

    def __init__(self, what: str, *, where: str = "", fix: str = "", tail: bytes = b"") -> None:
        super().__init__(what, where=where, fix=fix)
        self.tail = bytes(tail[:TAIL_BYTES])


class WebotsRefused(RequestReason):
    """Reasons of the sessions of Webots controllers, and of robots in Webots."""

    UNSUPPORTED = "unsupported", "a device whose kind a Webots controller cannot have here"
    INDEX_TAKEN = "index_taken", "another device has this index"
    TOO_MANY = "too_many", "the protocol carries no more devices"
    DISABLED = "disabled", "a packet for a Receiver that is not enabled"
    CAP = "cap", "a packet for a Receiver that holds as much as it may"
    NO_ROOM = "no_room", "a packet for an Emitter in Webots whose buffer is full"
