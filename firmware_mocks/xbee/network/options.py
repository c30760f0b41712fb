"""Bits of the transmit options (frames 00, 01, 10 and 11), and what the firmware does with each.

Source: Digi's user guides, the frame descriptions; and "Transmit options" of digi-xbee.
"""

from typing import NamedTuple

from firmware_mocks.xbee.hardware import MAC_FAMILY, MESH_FAMILY, ZIGBEE_FAMILY
from firmware_mocks.xbee.network.packets import Delivery

NO_ACK = 0x01
EVERY_PAN_IN_10 = 0x02  # frames 00 and 01 use 04 for it
EVERY_PAN = 0x04
MULTICAST = 0x08
APS_ENCRYPTION = 0x20
MODE_BITS = 0xC0


class Option(NamedTuple):
    """The meaning of one bit.

    `refused` is the delivery status of each packet that has it. What is not `done` (this mock does
    it) nor refused changes nothing here.
    """

    meaning: str
    refused: int = Delivery.SUCCESS
    done: bool = False


RESERVED = Option("reserved")
OPTIONS: dict[str, dict[int, Option]] = {
    MAC_FAMILY: {
        0x01: Option("no acknowledgement", done=True),
        0x02: Option("XBee 3, frame 10: every PAN", done=True),
        0x04: Option("every PAN", done=True),
        0x08: RESERVED,
        0x10: Option("XBee 3: secure session", Delivery.NO_SECURE_SESSION),
        0x20: RESERVED,
        0x40: RESERVED,
        0x80: RESERVED,
    },
    MESH_FAMILY: {
        0x01: Option("no acknowledgement", done=True),
        0x02: Option("no route discovery: not modelled, it is discovered"),
        0x04: Option("unicast NACK (8D frames): no module relays here"),
        0x08: Option("trace route (8D frames): no module relays here"),
        0x10: Option("secure session", Delivery.NO_SECURE_SESSION),
        0x20: RESERVED,
        0x40: Option("point-multipoint; with 80 DigiMesh", done=True),
        0x80: Option("repeater; with 40 DigiMesh", done=True),
    },
    ZIGBEE_FAMILY: {
        0x01: Option("no retries", done=True),
        0x02: RESERVED,
        0x04: Option("indirect, by a binding: no module has bindings", Delivery.NO_BINDING),
        0x08: Option("multicast: no module here is a member of a group", done=True),
        0x10: Option("secure session", Delivery.NO_SECURE_SESSION),
        0x20: Option("APS encryption", done=True),
        0x40: Option("extended timeout: every module here answers at once"),
        0x80: RESERVED,
    },
}


def refused(family: str, options: int) -> int:
    """Return the delivery status of a packet with these options; 0: none of them is refused."""
    refusals = (each.refused for bit, each in OPTIONS[family].items() if options & bit)
    return next(filter(None, refusals), Delivery.SUCCESS)
