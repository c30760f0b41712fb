"""The reasons for refusals that Webots controllers and robots in Webots alone have."""

from __future__ import annotations

from hilgw.reasons import RequestReason


class WebotsRefused(RequestReason):
    """Of the sessions of Webots controllers, and of robots in Webots."""

    UNSUPPORTED = "unsupported", "a device whose kind a Webots controller cannot have here"
    INDEX_TAKEN = "index_taken", "another device has this index"
    TOO_MANY = "too_many", "the protocol carries no more devices"
    DISABLED = "disabled", "a packet for a Receiver that is not enabled"
    CAP = "cap", "a packet for a Receiver that holds as much as it may"
    NO_ROOM = "no_room", "a packet for an Emitter in Webots whose buffer is full"
