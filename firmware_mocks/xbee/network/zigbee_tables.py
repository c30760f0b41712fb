"""The tables that Mgmt_Lqi and Mgmt_Rtg answer with: a module's neighbours and routes.

Source: Zigbee specification, sections 2.4.4.3.2 and 2.4.4.3.3. Numbers are little-endian.
"""

from dataclasses import dataclass

MGMT_LQI, MGMT_RTG = 0x0031, 0x0032
PARENT, CHILD, SIBLING = 0, 1, 2
END_DEVICE = 2
ACTIVE = 0
LQI_FROM_DBM, LQI_TO_DBM = -100, -40  # the link quality is 0 and 255 there
ENTRIES = {MGMT_LQI: 3, MGMT_RTG: 10}  # this many fit into one packet


@dataclass(frozen=True, slots=True)
class Neighbour:
    """role: 0 coordinator, 1 router, 2 end device. depth: steps from the coordinator."""

    network: int
    long: int
    short: int
    role: int
    relationship: int
    joining: bool
    depth: int
    rssi_dbm: float

    def entry(self) -> bytes:
        listens = 0 if self.role == END_DEVICE else 1
        share = (self.rssi_dbm - LQI_FROM_DBM) / (LQI_TO_DBM - LQI_FROM_DBM)
        return (
            self.network.to_bytes(8, "little")
            + self.long.to_bytes(8, "little")
            + self.short.to_bytes(2, "little")
            + bytes((self.role | listens << 2 | self.relationship << 4, int(self.joining)))
            + bytes((min(self.depth, 15), round(255 * min(max(share, 0.0), 1.0))))
        )


def route(destination: int, next_hop: int) -> bytes:
    """Return an active route to a 16-bit address."""
    return destination.to_bytes(2, "little") + bytes((ACTIVE,)) + next_hop.to_bytes(2, "little")


def answer(cluster: int, payload: bytes, entries: list[bytes]) -> bytes | None:
    """Return the payload of the answer: the part of the table from the index asked for."""
    if len(payload) < 2:
        return None
    sequence, start = payload[:1], payload[1]
    part = entries[start : start + ENTRIES[cluster]]
    return sequence + bytes((0, len(entries), start, len(part))) + b"".join(part)
