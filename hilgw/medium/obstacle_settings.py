"""The settings of an obstacle, without the geometry: most configurations have none."""

from dataclasses import dataclass

from hilgw.settings import setting

SHAPES = ("sphere", "box", "cylinder", "capsule")


@dataclass(frozen=True, slots=True, kw_only=True)
class ObstacleSettings:
    """An obstacle to infra-red signals. Its owner's signals pass, coming or going."""

    shape: str = setting("shape", choices=SHAPES)
    radius: float | None = setting(
        "radius of a sphere, cylinder or capsule", None, gt=0, unit="m", le=1_000_000
    )
    height: float | None = setting(
        "height of a cylinder, or of a capsule without its caps", None, gt=0, unit="m", le=1_000_000
    )
    size: tuple[float, float, float] | None = setting(
        "size of a box: x, y, z", None, gt=0, unit="m", le=1_000_000
    )
    position: tuple[float, float, float] = setting(
        "x, y, z", (0.0, 0.0, 0.0), unit="m", ge=-1_000_000_000, le=1_000_000_000
    )
    rotation: tuple[float, float, float, float] = setting(
        "axis x, y, z and angle",
        (0.0, 0.0, 1.0, 0.0),
        unit="rad",
        ge=-1_000_000_000,
        le=1_000_000_000,
    )
    owner: str | None = setting(
        "robot it belongs to, whose signals it never blocks; default: that of attached_to",
        None,
        refers="robot",
    )
    attached_to: str | None = setting(
        "robot it moves with; position and rotation are relative to that robot",
        None,
        refers="robot",
    )
