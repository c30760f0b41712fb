"""XBee frames and status codes as text: for the terminal, the ledger and error messages.

Source: Digi's user guides, "Transmit status", "Modem status", "AT command response".
"""

from hilgw.adapters.xbee import frames
from hilgw.errors import FrameError
from hilgw.reasons import PacketRefused, RefusedReason

SHOWN = 64  # bytes of payload a description shows at most


class XBeeRefused(RefusedReason):
    """Delivery statuses of the module (transmit status, frames 0x89 and 0x8B)."""

    CCA = "cca", "the air was never free (CCA); at 868 MHz also: duty cycle exceeded"
    PURGED = "purged", "purged: never fetched from the module"
    DUTY_CYCLE = "duty_cycle", "duty cycle exceeded, or the transmitter failed"
    BAD_ENDPOINT = "bad_endpoint", "bad destination endpoint"
    NO_NETWORK_ACK = "no_network_ack", "no network acknowledgement"
    NOT_JOINED = "not_joined", "the module has not joined a network"
    SELF_ADDRESSED = "self_addressed", "addressed to the module itself"
    ADDRESS_UNKNOWN = "address_unknown", "address not found"
    NO_ROUTE = "no_route", "route not found"
    NOT_RELAYED = "not_relayed", "no neighbour relayed the broadcast"
    BAD_BINDING = "bad_binding", "bad binding table index"
    NO_RESOURCES = "no_resources", "out of resources"
    APS_BROADCAST = "aps_broadcast", "encrypted broadcast without encryption enabled"
    APS_UNICAST = "aps_unicast", "encrypted unicast without encryption enabled"
    INTERNAL = "internal", "internal error of the module"
    NO_SESSION = "no_session", "no secure session"
    ENCRYPTION = "encryption", "encryption failed"
    UNREQUESTED = "unrequested", "indirect message never requested"
    NOT_AUTHORISED = "not_authorised", "the key is not authorised"
    OTHER = "status_*", "a status that the guides do not list, in hexadecimal"


DELIVERY: dict[int, RefusedReason] = {
    0x01: PacketRefused.NO_ACK,
    0x02: XBeeRefused.CCA,
    0x03: XBeeRefused.PURGED,
    0x04: XBeeRefused.DUTY_CYCLE,
    0x15: XBeeRefused.BAD_ENDPOINT,
    0x21: XBeeRefused.NO_NETWORK_ACK,
    0x22: XBeeRefused.NOT_JOINED,
    0x23: XBeeRefused.SELF_ADDRESSED,
    0x24: XBeeRefused.ADDRESS_UNKNOWN,
    0x25: XBeeRefused.NO_ROUTE,
    0x26: XBeeRefused.NOT_RELAYED,
    0x2B: XBeeRefused.BAD_BINDING,
    0x2C: XBeeRefused.NO_RESOURCES,
    0x2D: XBeeRefused.APS_BROADCAST,
    0x2E: XBeeRefused.APS_UNICAST,
    0x31: XBeeRefused.INTERNAL,
    0x32: XBeeRefused.NO_RESOURCES,
    0x34: XBeeRefused.NO_SESSION,
    0x35: XBeeRefused.ENCRYPTION,
    0x74: PacketRefused.TOO_LONG,
    0x75: XBeeRefused.UNREQUESTED,
    0xBB: XBeeRefused.NOT_AUTHORISED,
}
_DELIVERY_TEXT = {
    0x00: "delivered",
    0x01: "not acknowledged",
    0x2C: "out of resources, or invalid values in the frame",
    0x74: "payload too large for the module",
}

MODEM: dict[int, str] = {
    0x00: "hardware reset or power-up",
    0x01: "watchdog reset",
    0x02: "joined the network",
    0x03: "left the network",
    0x04: "synchronisation lost",
    0x05: "coordinator realignment",
    0x06: "coordinator started",
    0x07: "network key updated",
    0x0B: "network woke up",
    0x0C: "network went to sleep",
    0x0D: "supply voltage too high",
    0x11: "configuration changed while joining",
    0x32: "Bluetooth connected",
    0x33: "Bluetooth disconnected",
    0x3B: "secure session established",
    0x3C: "secure session ended",
    0x3D: "secure session authentication failed",
    0x3E: "PAN conflict found, no action",
    0x3F: "PAN conflict found, changing the PAN id",
    0x40: "PAN conflict found, handling failed",
    0x42: "network watchdog",
    0x43: "join window open",
    0x44: "join window closed",
    0x45: "network security key changed",
}
RESETS = frozenset((0x00, 0x01))
JOINED = frozenset((0x02, 0x06))
LEFT = 0x03

AT_STATUS: dict[int, str] = {
    0: "OK",
    1: "error",
    2: "bad command",
    3: "bad parameter",
    4: "transmission failed",
    0xB: "no secure session",
    0xC: "encryption error",
    0xD: "sent insecurely",
}


# AI: progress of the module in joining a network.
ASSOCIATION: dict[int, str] = {
    0x00: "joined",
    0x01: "the scan timed out",
    0x02: "no network found",
    0x03: "the network does not allow joining",
    0x21: "no network found",
    0x22: "no network with this ID on the channels of SC",
    0x23: "the network does not allow joining",
    0x24: "no network in range allows joining",
    0x27: "joining failed; check that the security settings (EE, KY) match",
    0x2A: "the coordinator could not start its network",
    0x2B: "looking for a coordinator",
    0x2C: "could not leave the old network",
    0xAB: "the network's device did not respond",
    0xAC: "received the network key unsecured",
    0xAD: "no network key received",
    0xAF: "wrong link key",
    0xFF: "scanning",
}


def association_text(status: int) -> str:
    return ASSOCIATION.get(status, f"status {status:02X}")


def delivery_reason(status: int) -> str:
    """Return a word for the ledger; "ok" for success."""
    if status == 0:
        return "ok"
    return DELIVERY.get(status, f"status_{status:02x}")


def delivery_text(status: int) -> str:
    known = DELIVERY[status].doc if status in DELIVERY else f"delivery status {status:02X}"
    return _DELIVERY_TEXT.get(status, known)


def modem_text(status: int) -> str:
    if status >= 0x80:
        return f"stack error {status:02X}"
    return MODEM.get(status, f"modem status {status:02X}")


def at_status_text(status: int) -> str:
    return AT_STATUS.get(status & 0x0F, f"status {status:02X}")


def describe(data: bytes) -> str:
    """Return frame data as one line of text; never raises."""
    try:
        frame = frames.parse(data)
    except FrameError as error:
        if data and all(0x20 <= byte < 0x7F or byte in b"\r\n" for byte in data):
            return f"text {_quote(data)}"  # command mode
        return f"{error.what}: {_hex(data)}"
    return _describe(frame)


def _describe(frame: frames.Frame) -> str:
    match frame:
        case frames.AtCommand(frame_id, name, value, queued):
            verb = f"set {name} to {_hex(value)}" if value else f"{name}?"
            return f"AT {_letters(verb)}{', queued' if queued else ''}{_tag(frame_id)}"
        case frames.AtResponse(frame_id, name, status, value):
            return f"AT {_answer(name, status, value)}{_tag(frame_id)}"
        case frames.Transmit(frame_id, destination, data, options):
            return f"send {_payload(data)} to {_to(destination)}{_bits(options)}{_tag(frame_id)}"
        case frames.TransmitRequest(frame_id, destination, data, network, _, options, ends):
            to = _to(destination, network) + _ends(ends)
            return f"send {_payload(data)} to {to}{_bits(options)}{_tag(frame_id)}"
        case frames.TransmitStatus(frame_id, status):
            return f"transmit status: {delivery_text(status)}{_tag(frame_id)}"
        case frames.ExtendedStatus(frame_id, status, network, retries):
            tries = f", {retries} retries" if retries else ""
            text = delivery_text(status)
            return f"transmit status: {text} (network address {network}{tries}){_tag(frame_id)}"
        case frames.Received(source, rssi_dbm, options, data):
            return f"received {_payload(data)} from {source} at {rssi_dbm} dBm{_bits(options)}"
        case frames.ReceivedPacket(source, network, options, data, ends):
            sender = _to(source, network) + _ends(ends)
            return f"received {_payload(data)} from {sender}{_bits(options)}"
        case frames.ModemStatus(status):
            return f"modem status: {modem_text(status)}"
        case frames.NodeIdentification(_, _, _, network, source, name):
            return f"node {_quote(name)} is at {source}, network address {network}"
        case frames.RemoteAtCommand(frame_id, destination, network, _, name, value):
            verb = f"set {name} to {_hex(value)}" if value else f"{name}?"
            return f"remote AT {_letters(verb)} to {_to(destination, network)}{_tag(frame_id)}"
        case frames.RemoteAtResponse(frame_id, source, network, name, status, value):
            sender = _to(source, network)
            return f"remote AT {_answer(name, status, value)} from {sender}{_tag(frame_id)}"


def _letters(text: str) -> str:
    """Return text with device bytes in it, made safe for a terminal."""
    return text if text.isprintable() else ascii(text)[1:-1]


def _answer(name: str, status: int, value: bytes) -> str:
    shown = f" = {_hex(value)}" if value else ""
    return f"{_letters(name)}{shown}: {at_status_text(status)}"


def _tag(frame_id: int) -> str:
    return f" [id {frame_id}]" if frame_id else " [no answer wanted]"


def _bits(options: int) -> str:
    return f", options {options:02X}" if options else ""


def _to(address: str, network: str = "") -> str:
    if address in (frames.BROADCAST_16, frames.BROADCAST_64):
        return "all"
    if address == frames.UNKNOWN_64 and network:
        return network
    return address


def _ends(ends: frames.Endpoints | None) -> str:
    if ends is None:
        return ""
    return (
        f" (endpoints {ends.source:02X} to {ends.destination:02X}, "
        f"cluster {ends.cluster:04X}, profile {ends.profile:04X})"
    )


def _payload(data: bytes) -> str:
    return f"{len(data)} B {_quote(data)}"


def _quote(data: bytes) -> str:
    return repr(bytes(data[:SHOWN]))[1:] + ("..." if len(data) > SHOWN else "")


def _hex(data: bytes) -> str:
    return data[:SHOWN].hex().upper() + ("..." if len(data) > SHOWN else "")
