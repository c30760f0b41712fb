"""A packet on the medium, and the copy of it that one listener receives."""

import math

from hilgw.medium.pose import Pose
from hilgw.records import unique_record

BROADCAST = -1
UNKNOWN_DIRECTION = (math.nan, math.nan, math.nan)


@unique_record
class Packet:
    """A packet as it enters the medium. Times are integer nanoseconds, monotonic.

    source: the station that sent it, "robot.device" or the adapter's name. owner: the robot that
    counts as its sender, None for a sender outside. air: the air it came from, None for a
    simulated emitter. address: source address as reported by the hardware. rssi_at_1m_dbm: the
    RSSI this hardware measures at 1 m. rssi_uncertain: rssi_dbm may belong to another frame.
    is_own: a module of this gateway sent it, so it is for Receivers, and no module sends it again.
    gateway: the neighbour that it came from; empty: this gateway. served: the airs in which a
    module of another gateway sends it.
    """

    data: bytes
    channel: int
    type: str
    source: str
    owner: str | None = None
    air: str | None = None
    range: float = -1.0
    aperture: float = -1.0
    rssi_dbm: float | None = None
    address: str | None = None
    sent_ns: int = 0
    rssi_at_1m_dbm: float = -40.0
    rssi_uncertain: bool = False
    is_own: bool = False
    gateway: str = ""
    served: frozenset[str] = frozenset()


@unique_record
class Copy:
    """A packet as one listener receives it.

    signal_strength: 1 / distance^2, or from the RSSI, or NaN when unknown. direction: unit vector
    to the emitter in the listener's frame, NaN x 3 when unknown. origin, mounted_on: for a
    neighbour, which judges the signal itself, the pose of the sender (None: unknown) and the object
    that carries it.
    """

    packet: Packet
    arrived_ns: int
    signal_strength: float = math.nan
    direction: tuple[float, float, float] = UNKNOWN_DIRECTION
    origin: Pose | None = None
    mounted_on: str | None = None
