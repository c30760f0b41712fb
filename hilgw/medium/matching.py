"""Webots' rules for the listeners that receive a packet, and for the signal of each copy."""

import math

from hilgw.medium.listeners import Listener
from hilgw.medium.packet import UNKNOWN_DIRECTION, Packet
from hilgw.medium.pose import Pose, Vector
from hilgw.reasons import NotReceivedReason

_STAGE: dict[str, int] = {reason: index for index, reason in enumerate(NotReceivedReason)}
_EDGE_RAD = 1e-9  # rounding tolerance: the edge of the cone counts as inside


class OutOfRange(str):
    """The reason `range` of one listener, with its numbers in metres. limit: of the packet."""

    __slots__ = ("distance", "limit")
    distance: float
    limit: float

    @classmethod
    def of(cls, limit: float, distance: float) -> "OutOfRange":
        reason = cls(NotReceivedReason.RANGE.value)
        reason.limit, reason.distance = limit, distance
        return reason


def stage(reason: str) -> int:
    """Return the index of the check that failed; any other reason comes last."""
    return _STAGE.get(reason, len(_STAGE))


def later(reason: NotReceivedReason, other: NotReceivedReason) -> NotReceivedReason:
    """Return the reason of the later check."""
    return reason if _STAGE[reason] >= _STAGE[other] else other


def exclusion(packet: Packet, listener: Listener) -> NotReceivedReason | None:
    """Return why this listener on the channel must not receive the packet; None when it may.

    A listener never receives its own robot's packets.
    """
    if packet.owner is not None and packet.owner == listener.owner:
        return NotReceivedReason.NO_LISTENER
    if packet.source == listener.name:
        return NotReceivedReason.NO_LISTENER if packet.air is None else NotReceivedReason.AIR
    if packet.gateway:
        if listener.is_neighbour:  # the gateway that it came from has given it to all others
            return NotReceivedReason.NO_LISTENER
        if listener.air is not None and listener.air in packet.served:
            return NotReceivedReason.OTHER_MODULE
    between_airs = packet.air is not None and listener.air is not None
    if between_airs and (packet.is_own or packet.air == listener.air or not listener.relay):
        return NotReceivedReason.AIR
    return None if listener.enabled else NotReceivedReason.DISABLED


def within_cone(apex: Pose, axis: int, aperture: float, point: Vector) -> bool:
    """Return whether a point lies in the cone at `apex`, edge included.

    Aperture -1: any direction.
    """
    if aperture < 0.0:
        return True
    x, y, z = point[0] - apex.position[0], point[1] - apex.position[1], point[2] - apex.position[2]
    ax, ay, az = apex.axis(axis)
    across = math.hypot(y * az - z * ay, z * ax - x * az, x * ay - y * ax)
    return math.atan2(across, x * ax + y * ay + z * az) <= aperture / 2 + _EDGE_RAD


def signal_strength(packet: Packet, distance: float, listener: Listener) -> float:
    """Return the signal strength from the RSSI, else 1 / distance^2; NaN when neither is known."""
    if packet.rssi_dbm is not None:
        strength = math.pow(10.0, min((packet.rssi_dbm - packet.rssi_at_1m_dbm) / 10.0, 300.0))
    else:
        square = distance * distance
        if square == 0.0:
            return math.inf
        strength = 1.0 / square
    if listener.signal_strength_noise:
        strength *= 1.0 + listener.signal_strength_noise * listener.noise.gauss(0.0, 1.0)
        return 0.0 if strength < 0.0 else strength
    return strength


def direction(listener: Listener, emitter: Pose | None, distance: float) -> Vector:
    """Return the unit vector to the emitter in the listener's frame; NaN x 3 if undefined.

    The noise is added to the vector before it is normalised, in proportion to the distance.
    """
    if emitter is None or listener.pose is None:
        return UNKNOWN_DIRECTION
    x, y, z = listener.pose.to_local(emitter.position)
    if listener.direction_noise:
        spread, gauss = distance * listener.direction_noise, listener.noise.gauss
        x += spread * gauss(0.0, 1.0)
        y += spread * gauss(0.0, 1.0)
        z += spread * gauss(0.0, 1.0)
        distance = math.hypot(x, y, z)
    if distance == 0.0:
        return UNKNOWN_DIRECTION
    return (x / distance, y / distance, z / distance)
