"""The shapes of a boundingObject, as the obstacles that a medium has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hilgw.worlds.frames import Frame, Vector
from hilgw.worlds.kinds import BOUNDS, KNOWN
from hilgw.worlds.nodes import Node
from hilgw.worlds.survey import Bounds, Work, pose_of

MAX_SHAPES = 10_000
"""Nodes visited of one boundingObject."""

_LARGEST_M = 1e6
_DEFAULTS = {"size": (2.0, 2.0, 2.0), "radius": (1.0,), "height": (2.0,)}
_DIMENSIONS: dict[str, tuple[str, ...]] = {
    "Box": ("size",),
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


def shapes_of(bounds: Bounds, upright: int, work: Work) -> tuple[list[Shape], list[str]]:
    """The shapes of a boundingObject, and notes on those that cannot be obstacles.

    upright: the axis of cylinders and capsules. Raises ConfigError for more than `work` allows.
    """
    shapes, notes = list[Shape](), list[str]()
    for node, frame in _geometries(bounds, notes, work):
        shape = _shape(node, frame, upright, notes)
        if isinstance(shape, Shape):
            shapes.append(shape)
        else:
            notes.append(f"line {node.line}: {shape}")
    return shapes, notes


def _geometries(bounds: Bounds, notes: list[str], work: Work) -> Iterator[tuple[Node, Frame]]:
    waiting = [(node, bounds.frame) for node in reversed(bounds.shapes)]
    for _ in range(MAX_SHAPES):
        if not waiting:
            return
        node, frame = waiting.pop()
        work.spend(node)
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


def _shape(node: Node, frame: Frame, upright: int, notes: list[str]) -> Shape | str:
    """The obstacle, or why there is none."""
    if node.kind not in KNOWN:
        return f"PROTO {node.kind} hides its shape, it is not among the obstacles"
    if node.kind not in _DIMENSIONS:
        return f"{node.kind} cannot be an obstacle: infra-red signals pass it"
    x, y, z = (abs(each) for each in frame.scale)
    across = max(each for axis, each in enumerate((x, y, z)) if axis != upright)
    radius = max(x, y, z) if node.kind == "Sphere" else across
    factors = {"size": (x, y, z), "radius": (radius,), "height": ((x, y, z)[upright],)}
    dimensions: dict[str, float | Vector] = {}
    for name in _DIMENSIONS[node.kind]:
        given = _dimension(node, name, notes)
        made = tuple(each * factor for each, factor in zip(given, factors[name], strict=True))
        if not all(0.0 < each <= _LARGEST_M for each in made):
            return f"{node.kind} of this size cannot be an obstacle"
        dimensions[name] = made[0] if len(made) == 1 else (made[0], made[1], made[2])
    return Shape(node.kind.lower(), dimensions, frame)


def _dimension(node: Node, name: str, notes: list[str]) -> tuple[float, ...]:
    """The field, or what Webots takes instead: WbBox, WbCylinder, WbFieldChecker."""
    default = _DEFAULTS[name]
    given = node.numbers(name) if name in node.fields else default
    if len(given) != len(default):
        notes.append(f"line {node.line}: {name} of a {node.kind} is not valid, the default is used")
        return default
    if any(each <= 0.0 for each in given):
        notes.append(f"line {node.line}: {name} of a {node.kind} is not positive, Webots takes 1")
        return (1.0,) * len(default)
    return given
