"""Motion capture: one datagram, the poses of one or more bodies.

UTF-8 JSON, an object from body to seven numbers, metres and a quaternion:

    {"rover": [x, y, z, qx, qy, qz, qw], "wall": [...]}

null instead of the numbers: the body is lost, its place unknown. A datagram counts whole or not
at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from hilgw.errors import ConfigError, FrameError
from hilgw.medium.pose import Pose

LARGEST = 65_507
"""Bytes one UDP datagram over IPv4 can carry."""


def decode(datagram: bytes) -> dict[str, Pose | None]:
    """The poses in a datagram. Raises FrameError for anything else."""
    try:
        bodies = json.loads(datagram.decode())
    except (ValueError, RecursionError) as error:
        raise FrameError("datagram is no JSON") from error
    if not isinstance(bodies, dict):
        raise FrameError("datagram is no JSON object of bodies")
    return {name: _pose(name, numbers) for name, numbers in bodies.items()}


def encode(bodies: Mapping[str, tuple[float, ...] | None]) -> bytes:
    """A datagram from position and quaternion (x, y, z, qx, qy, qz, qw) per body; None is lost."""
    return json.dumps(
        {name: None if pose is None else list(pose) for name, pose in bodies.items()},
        ensure_ascii=False,
        separators=(",", ":"),
    ).encode()


def _pose(name: str, numbers: object) -> Pose | None:
    if numbers is None:
        return None
    if (
        not isinstance(numbers, list)
        or len(numbers) != 7
        or not all(type(number) in (int, float) for number in numbers)
    ):
        raise FrameError(f"body {name[:40]!r}: not seven numbers")
    try:
        x, y, z, qx, qy, qz, qw = map(float, numbers)
        return Pose.from_quaternion((x, y, z), (qx, qy, qz, qw))
    except (ConfigError, OverflowError) as error:
        raise FrameError(f"body {name[:40]!r}: no pose") from error
