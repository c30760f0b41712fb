"""The shapes of a boundingObject, as the obstacles that a medium has."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from hilgw.worlds.frames import Frame, Vector
from hilgw.worlds.kinds import BOUNDS
from hilgw.worlds.nodes import Node
from hilgw.worlds.scene import Bounds, pose_of

MAX_SHAPES = 10_000
"""Nodes visited of one boundingObject."""

_LARGEST_M = 1e6
_DEFAULTS = {"radius": 1.0, "height": 2.0}
_DIMENSIONS = {
    "Sphere": ("radius",),
    "Cylinder": ("radius", "height"),
    "Capsule": ("radius", "height"),
}


@dataclass(frozen=True, slots=True)
class Shape:
    """An obstacle. dimensions: radius, height or size. frame: in the world."""

    kind: str
    dimensions: dict[str, float | Vector]
    frame: Frame


def shapes_of(bounds: Bounds, upright: int) -> tuple[list[Shape], list[str]]:
    """The shapes of a boundingObject, and notes on those that cannot be obstacles.

    upright: the axis of cylinders and capsules.
    """
    shapes, notes = list[Shape](), list[str]()
    for node, frame in _geometries(bounds, notes):
        shape = _shape(node, frame, upright)
        if isinstance(shape, Shape):
            shapes.append(shape)
        else:
            notes.append(f"line {node.line}: {shape}")
    return shapes, notes


def _geometries(bounds: Bounds, notes: list[str]) -> Iterator[tuple[Node, Frame]]:
    waiting = [(node, bounds.frame) for node in reversed(bounds.shapes)]
    for _ in range(MAX_SHAPES):
        if not waiting:
            return
        node, frame = waiting.pop()
        if node.kind not in BOUNDS:
            yield node, frame
            continue
        if node.kind in ("Pose", "Transform"):
            inner = pose_of(node, frame)
            if inner is None:
                notes.append(f"line {node.line}: the pose of {node.kind} is not finite, ignored")
                continue
            frame = inner
        below = node.nodes("geometry" if node.kind == "Shape" else "children")
        waiting.extend((child, frame) for child in reversed(below))
    notes.append(f"line {bounds.solid.line}: more than {MAX_SHAPES} shapes, the rest is left out")


def _shape(node: Node, frame: Frame, upright: int) -> Shape | str:
    """The obstacle, or why there is none."""
    x, y, z = (abs(each) for each in frame.scale)
    dimensions: dict[str, float | Vector] = {}
    numbers: tuple[float, ...]
    if node.kind == "Box":
        size = node.numbers("size") if "size" in node.fields else (2.0, 2.0, 2.0)
        if len(size) != 3:
            return "a Box without a size is no obstacle"
        numbers = (size[0] * x, size[1] * y, size[2] * z)
        dimensions["size"] = (numbers[0], numbers[1], numbers[2])
    elif node.kind in _DIMENSIONS:
        along = (x, y, z)[upright]
        across = max(each for axis, each in enumerate((x, y, z)) if axis != upright)
        factors = {"radius": across, "height": along}
        if node.kind == "Sphere":
            factors["radius"] = max(x, y, z)
        for name in _DIMENSIONS[node.kind]:
            given = node.number(name) if name in node.fields else _DEFAULTS[name]
            dimensions[name] = math.nan if given is None else given * factors[name]
        numbers = tuple(each for each in dimensions.values() if isinstance(each, float))
    else:
        return f"a {node.kind} cannot be an obstacle, infra-red signals pass it"
    if not all(0.0 < each <= _LARGEST_M for each in numbers):
        return f"a {node.kind} of this size cannot be an obstacle"
    return Shape(node.kind.lower(), dimensions, frame)
