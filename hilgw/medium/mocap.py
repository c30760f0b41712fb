"""Motion capture: one datagram holds the poses of one or more objects.

UTF-8 JSON, a mapping from object to seven numbers, metres and a quaternion:

    {"rover": [x, y, z, qx, qy, qz, qw], "wall": [...]}

null instead of the numbers: the object is lost, its pose is unknown. A datagram is valid as a
whole or rejected as a whole.
"""

import json
from collections.abc import Mapping

from hilgw.errors import ConfigError, FrameError
from hilgw.medium.pose import Pose

MAX_DATAGRAM_BYTES = 65_507
"""Largest payload of one UDP datagram over IPv4."""


def decode(datagram: bytes) -> dict[str, Pose | None]:
    """Return the poses in a datagram.

    Raises:
        FrameError: it is not such a datagram.
    """
    try:
        objects = json.loads(datagram.decode())
    except (ValueError, RecursionError) as error:
        raise FrameError("the datagram is not JSON") from error
    if not isinstance(objects, dict):
        raise FrameError("the datagram is not a JSON object")
    return {name: _pose(name, numbers) for name, numbers in objects.items()}


def encode(objects: Mapping[str, tuple[float, ...] | None]) -> bytes:
    """Return a datagram with position and quaternion (x, y, z, qx, qy, qz, qw) of each object.

    None: lost.
    """
    return json.dumps(
        {name: None if pose is None else list(pose) for name, pose in objects.items()},
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
        raise FrameError(f"object {name[:40]!r}: not seven numbers")
    try:
        x, y, z, qx, qy, qz, qw = map(float, numbers)
        return Pose.from_quaternion((x, y, z), (qx, qy, qz, qw))
    except (ConfigError, OverflowError) as error:
        raise FrameError(f"object {name[:40]!r}: not a valid pose") from error
