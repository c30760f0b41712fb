"""Webots' rules for who hears a packet, and what the copy says about the signal."""

from __future__ import annotations

import math
from random import Random

from hilgw.medium.listener import Listener
from hilgw.medium.packet import UNKNOWN_DIRECTION, Packet
from hilgw.medium.pose import Pose, Vector

NEAREST = (
    "nobody",
    "own_robot",
    "channel",
    "air",
    "disabled",
    "range",
    "cone",
    "obstacle",
)
"""Reasons a packet stays unheard, from the farthest from success to the nearest."""

_RANK = {reason: rank for rank, reason in enumerate(NEAREST)}


def nearest(reason: str, other: str) -> str:
    """The one of two reasons that was nearer to success."""
    return reason if _RANK[reason] >= _RANK[other] else other


def admitted(packet: Packet, listener: Listener) -> str:
    """ "" or why this listener, though on the channel, may not have the packet at all."""
    if packet.owner is not None and packet.owner == listener.owner:
        return "own_robot"
    between_airs = packet.air is not None and listener.air is not None
    if between_airs and (packet.air == listener.air or not listener.relay):
        return "air"
    return "" if listener.enabled else "disabled"


def within_cone(apex: Pose, axis: int, aperture: float, point: Vector) -> bool:
    """Whether a point lies in the cone at `apex`; its edge counts, -1 is all around."""
    if aperture < 0.0:
        return True
    x, y, z = point[0] - apex.position[0], point[1] - apex.position[1], point[2] - apex.position[2]
    length = math.hypot(x, y, z)
    if length == 0.0:
        return True
    ax, ay, az = apex.axis(axis)
    cosine = max(-1.0, min(1.0, (x * ax + y * ay + z * az) / length))
    return math.acos(cosine) <= aperture / 2 + 1e-12


def signal_strength(packet: Packet, distance: float, listener: Listener, noise: Random) -> float:
    """From the RSSI where there is one, else 1 / distance^2; NaN when neither is known."""
    if packet.rssi_dbm is not None:
        strength = math.pow(10.0, min((packet.rssi_dbm - packet.rssi_at_1m_dbm) / 10.0, 300.0))
    elif distance == 0.0:
        return math.inf
    else:
        strength = 1.0 / (distance * distance)
    if listener.signal_strength_noise:
        strength *= 1.0 + listener.signal_strength_noise * noise.gauss(0.0, 1.0)
    return max(strength, 0.0) if strength == strength else strength


def direction(listener: Listener, emitter: Pose | None, noise: Random) -> Vector:
    """Unit vector to the emitter in the listener's frame; NaN x 3 when unknown or undefined."""
    if emitter is None or listener.pose is None:
        return UNKNOWN_DIRECTION
    x, y, z = listener.pose.to_local(emitter.position)
    length = math.hypot(x, y, z)
    if listener.direction_noise:
        spread = length * listener.direction_noise
        x += spread * noise.gauss(0.0, 1.0)
        y += spread * noise.gauss(0.0, 1.0)
        z += spread * noise.gauss(0.0, 1.0)
        length = math.hypot(x, y, z)
    if length == 0.0:
        return UNKNOWN_DIRECTION
    return (x / length, y / length, z / length)
