"""Reasons in reports: each is a machine word with its meaning; docs/reasons.md lists all of them.

A kind of reasons is a class. The kinds that adapters and protocols extend (`RefusedReason`,
`DroppedReason`, `RequestReason`) have no members: each declares its own words in a subclass. Words
that several use are in `PacketRefused`, `PacketDropped` and `RequestRefused`.
"""

from collections.abc import Iterator
from enum import StrEnum


class Reason(StrEnum):
    """NAME = "machine_word", "what it means". A word that ends in * is a family, as status_*."""

    doc: str

    def __new__(cls, word: str, doc: str) -> "Reason":
        reason = str.__new__(cls, word)
        reason._value_ = word
        reason.doc = doc
        return reason

    @classmethod
    def declared(cls) -> "Iterator[Reason]":
        """Yield the reasons of this kind, and those that its subclasses add."""
        yield from cls
        for more in cls.__subclasses__():
            yield from more.declared()

    @classmethod
    def known(cls, word: str) -> "Reason":
        """Return the reason of this kind for `word`.

        Raises:
            ValueError: It is not declared.
        """
        if isinstance(word, cls):
            return word
        for reason in cls.declared():
            family = reason.endswith("*") and word.startswith(reason[:-1])
            if family or word == reason:
                return reason
        raise ValueError(f"{word!r} is not declared as a {cls.__name__}")

    @classmethod
    def check(cls, word: str) -> str:
        """Return `word`.

        Raises:
            ValueError: This kind of reasons does not declare it.
        """
        cls.known(word)
        return word


class RejectedReason(Reason):
    """An Emitter did not accept a packet."""

    FULL = "full", "the Emitter's buffer has no room for it"
    INVALID = "invalid", "it is empty"
    CAP = "cap", "an unlimited buffer has reached its cap"
    CHANNEL = "channel", "the Emitter does not allow this channel"


class NotReceivedReason(Reason):
    """No listener received a packet, or one listener did not.

    The order is that of the checks, the later ones nearer to success.
    """

    NO_LISTENER = "no_listener", "there is no listener of this type but on the sender's own robot"
    CHANNEL = "channel", "no listener is on this channel"
    AIR = "air", "it came from the air that the listener sends to"
    DISABLED = "disabled", "the Receiver is not enabled"
    RANGE = "range", "out of range"
    CONE = "cone", "outside the cone of the Emitter or the Receiver"
    OBSTACLE = "obstacle", "an obstacle is in the way"
    OTHER_MODULE = "other_module", "another module of this air sends it"


class ExpiredReason(Reason):
    """A packet was still in a queue, or on its way out of it."""

    STOPPED = "stopped", "the gateway ended"
    IN_FLIGHT = "in_flight", "the gateway ended while it was on its way out"
    BODY_GONE = "body_gone", "the body that brought it was disconnected before it left"


class RefusedReason(Reason):
    """A station accepted a packet to send or to deliver, and lost it."""


class PacketRefused(RefusedReason):
    """Reasons of the gateway, and those that several adapters use."""

    DOWN = "down", "the port is not up, or went down"
    OVERFLOW = "overflow", "the buffer or the queue has no room for it"
    CAP = "cap", "an unlimited buffer has reached its cap"
    DISABLED = "disabled", "the Receiver was disabled meanwhile"
    DETACHED = "detached", "the station left the medium meanwhile"
    OWN_ECHO = "own_echo", "a module received the packet of another module of this gateway"
    FAULT = "fault", "the adapter or the controller failed on it"
    EMPTY = "empty", "it has no data"
    CHANNEL = "channel", "the mapping has no destination for its channel"
    TOO_LONG = "too_long", "longer than the hardware or the framing allows"
    TOO_SHORT = "too_short", "shorter than the hardware or the framing allows"
    UNFRAMABLE = "unframable", "the framing or the hardware cannot carry these bytes"
    RESET = "reset", "the module restarted before it acknowledged the packet"
    NO_STATUS = "no_status", "the module did not answer in time"
    NO_FRAME = "no_frame", "sent, but what the other end sends are no frames of this framing"
    NO_ACK = "no_ack", "the module at the other end did not acknowledge it"
    LINK = "link", "it did not reach the neighbour, by the report of that gateway"
    UNCONFIRMED = "unconfirmed", "the neighbour was lost before it confirmed the packet"


class DroppedReason(Reason):
    """The hardware received something that did not become a packet."""


class PacketDropped(DroppedReason):
    """Reasons of the gateway, and those that several adapters use."""

    DUPLICATE = "duplicate", "another module of this gateway received the packet first"
    OWN_ECHO = "own_echo", "the local echo of a packet just sent"
    NOT_READY = "not_ready", "received while the module was being set up"
    EMPTY = "empty", "a packet or frame without data"
    BAD_FRAME = "bad_frame", "a frame with a wrong checksum or length, or without its end"
    NO_PACKET = "no_packet", "a frame of another type"
    NO_HEADER = "no_header", "a frame without data after the channel byte"
    NO_HEX = "no_hex", "a packet whose data are not hex digits"


class RequestReason(Reason):
    """A control loop refused a request, a value or a connection."""


class RequestRefused(RequestReason):
    """Reasons of the gateway, and those that several protocols use."""

    NAN = "nan", "a number is NaN"
    INFINITE = "infinite", "a number is infinite where Webots allows only finite ones"
    OUT_OF_RANGE = "out_of_range", "a number that Webots does not allow"
    NO_SUCH_FIELD = "no_such_field", "the device does not have this setting"
    BEYOND_LIMIT = "beyond_limit", "beyond the limits of the motor in the configuration"
    LATCHED = "latched", "a safety stop is latched"
    DISARMED = "disarmed", "the robot is not armed"
    BEHIND = "behind", "the commands come faster than the line carries them"
    NO_STOP = "no_stop", "the motor could not be stopped any more"
    NO_GUARDIAN = "no_guardian", "nothing would stop the motor if hilgw were killed"
    ENDED = "gateway_ended", "the gateway ends"
    NO_BODY = "no_body", "the robot has no body"
    NO_CONTROLLER = "no_controller", "a packet was received, and the robot has no controller"
    NOT_ALLOWED = "not_allowed", "the fields of the Emitter or the Receiver do not allow it"
    DOWN = "down", "the peer is not connected, or has not registered all its devices"
    UNKNOWN_DEVICE = "unknown_device", "the robot has no device of this index"
    NOT_SETTABLE = "not_settable", "the device cannot be set in this way"
    UNSENDABLE = "unsendable", "the protocol of the peer cannot carry it"
    NOT_FINITE = "not_finite", "a sensor shows NaN or infinity"
    SECOND_CONTROLLER = "second_controller", "a connection while another controller is there"
    UNKNOWN_ROBOT = "unknown_robot", "a connection for a robot that is not here"
    NOT_PERMITTED = "not_permitted", "a connection without a token that allows it"
    TOO_MANY_TRIES = (
        "too_many_tries",
        "three wrong tokens came from its address within 1 s",
    )
    NOT_A_CONTROLLER = "not_a_controller", "a connection that did not begin like a controller's"
    NO_REQUEST = "no_request", "a connection that did not end the handshake of a controller in time"
    NOT_SECURED = "not_secured", "a connection with which TLS failed: its certificate, or no TLS"
    TOO_MANY_CONNECTIONS = "too_many_connections", "more connections than are kept waiting"
