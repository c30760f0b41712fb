"""Zigbee device objects (ZDO): what a module answers about itself, and its announcement.

Zigbee specification, section 2.4. Every payload begins with a sequence number; numbers are
little-endian. Profile and both endpoints are 0; an answer's cluster is the request's with bit 15.
"""

from dataclasses import dataclass

from firmware_mocks.xbee.network.packets import Endpoints

ENDPOINT, PROFILE = 0, 0
NWK_ADDR, IEEE_ADDR, NODE_DESC, SIMPLE_DESC, ACTIVE_EP, MATCH_DESC = 0, 1, 2, 4, 5, 6
DEVICE_ANNCE = 0x0013
RESPONSE = 0x8000
# AO bit 1 gives these requests to the client, which answers them itself.
PASSED_ON = frozenset((SIMPLE_DESC, ACTIVE_EP, MATCH_DESC))

SUCCESS, DEVICE_NOT_FOUND, INVALID_ENDPOINT = 0x00, 0x81, 0x82
END_DEVICE = 2
ROUTER_CAPABILITIES, END_DEVICE_CAPABILITIES = 0x8E, 0x80
FREQUENCY_2400 = 0x40
DIGI = 0x101E
BUFFER_BYTES, TRANSFER_BYTES = 82, 255
STACK_REVISION_22 = 0x2C00
DIGI_PROFILE, DIGI_DEVICE = 0xC105, 0x0001
ENDPOINTS = (0xE6, 0xE8)  # Digi's commands, and its data


@dataclass(frozen=True, slots=True)
class Identity:
    """The addresses of a module, and its role: 0 coordinator, 1 router, 2 end device."""

    short: int
    long: int
    role: int

    @property
    def capabilities(self) -> int:
        return END_DEVICE_CAPABILITIES if self.role == END_DEVICE else ROUTER_CAPABILITIES


def endpoints(cluster: int) -> Endpoints:
    return Endpoints(ENDPOINT, ENDPOINT, cluster, PROFILE)


def is_zdo(ends: Endpoints) -> bool:
    return (ends.destination, ends.profile) == (ENDPOINT, PROFILE)


def announcement(sequence: int, identity: Identity) -> bytes:
    """Return the payload of Device_annce, broadcast after joining."""
    return (
        bytes((sequence,))
        + _addresses(identity)[8:]
        + _addresses(identity)[:8]
        + bytes((identity.capabilities,))
    )


def answer(cluster: int, payload: bytes, identity: Identity) -> bytes | None:
    """Return the payload of the answer; None: this module does not answer the request."""
    if cluster == NWK_ADDR:
        return _nwk_address(payload, identity)
    if len(payload) < 3 or cluster not in (IEEE_ADDR, NODE_DESC, SIMPLE_DESC, ACTIVE_EP):
        return None
    sequence, asked = payload[:1], payload[1:3]
    is_known = _little(asked) == identity.short
    if cluster == IEEE_ADDR:
        return sequence + bytes((SUCCESS,)) + _addresses(identity) if is_known else None
    if not is_known:
        return sequence + bytes((DEVICE_NOT_FOUND,)) + asked
    if cluster == NODE_DESC:
        return sequence + bytes((SUCCESS,)) + asked + _node_descriptor(identity)
    if cluster == ACTIVE_EP:
        return sequence + bytes((SUCCESS,)) + asked + bytes((len(ENDPOINTS), *ENDPOINTS))
    return sequence + _simple_descriptor(asked, payload[3:4])


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _addresses(identity: Identity) -> bytes:
    return identity.long.to_bytes(8, "little") + identity.short.to_bytes(2, "little")


def _nwk_address(payload: bytes, identity: Identity) -> bytes | None:
    if len(payload) < 9 or _little(payload[1:9]) != identity.long:
        return None
    return payload[:1] + bytes((SUCCESS,)) + _addresses(identity)


def _node_descriptor(identity: Identity) -> bytes:
    return (
        bytes((identity.role, FREQUENCY_2400, identity.capabilities))
        + DIGI.to_bytes(2, "little")
        + bytes((BUFFER_BYTES,))
        + TRANSFER_BYTES.to_bytes(2, "little")
        + STACK_REVISION_22.to_bytes(2, "little")
        + TRANSFER_BYTES.to_bytes(2, "little")
        + b"\0"  # no extended descriptors
    )


def _simple_descriptor(asked: bytes, endpoint: bytes) -> bytes:
    if not endpoint or endpoint[0] not in ENDPOINTS:
        return bytes((INVALID_ENDPOINT,)) + asked + b"\0"
    descriptor = endpoint + DIGI_PROFILE.to_bytes(2, "little") + DIGI_DEVICE.to_bytes(2, "little")
    descriptor += bytes((0, 0, 0))  # version, input clusters, output clusters
    return bytes((SUCCESS,)) + asked + bytes((len(descriptor),)) + descriptor
