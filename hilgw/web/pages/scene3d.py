"""The 3-D view of the page Scene, by NiceGUI's three.js."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from hilgw.medium.pose import IDENTITY, Pose, Rows, Vector
from hilgw.web.pages.drawing import SIGNALS, Drawing
from hilgw.web.pages.plan import UNLIMITED

COLOURS = {"robot": "#0d9488", "module": "#d97706", "emitter": "#0ea5e9", "receiver": "#f59e0b"}
GREY, RECEIVED, LOST, INK = "#94a3b8", "#16a34a", "#dc2626", "#17202a"
LABEL = "font:12px system-ui;background:#fffd;border-radius:4px;padding:0 4px;color:"
ORIGIN, ONES = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
Form = tuple[str, str, tuple[object, ...], str, float]
"""Its name, the method of `ui.scene` that makes it, its arguments, colour and opacity."""


def forms(drawing: Drawing, size: float) -> Iterator[tuple[Form, Vector, Rows, Vector]]:
    """All that is drawn, with position, rotation and scale, in a scene of so many metres."""
    unit, up = size / 60, drawing.up
    for name, kind, pose, given in drawing.things:
        at, turned, colour = pose.position, _turned(pose, up), COLOURS.get(kind, GREY)
        if not given:
            yield (name, "text", (name, LABEL + INK), INK, 1), at, turned, ONES
            arrow = (0, unit, 3 * unit, 16) if kind == "robot" else (unit / 2, unit / 2, unit, 16)
            yield (name, "cylinder", arrow, colour, 1), at, _turned(pose, drawing.cone), ONES
        elif kind in SIGNALS.values():  # a cone; or a disc, for all around
            reach = UNLIMITED * size if given[0] == math.inf else given[0]
            has_cone = 0 <= given[1] < math.pi
            axis, half = (drawing.cone, given[1] / 2) if has_cone else (up, math.pi / 2)
            high, wide = reach * math.cos(half), reach * math.sin(half)
            form = (name, "cylinder", (wide, 0, high, 24, 1, True), colour, 0.3)
            yield form, _along(pose, axis, high / 2), _turned(pose, axis), ONES
        elif kind == "box":
            yield (name, kind, tuple(2 * each for each in given), colour, 1), at, pose.rows, ONES
        else:
            radius, is_round = given[up - 1], kind != "cylinder"
            high = given[up] - radius * is_round
            yield (name, "cylinder", (radius, radius, 2 * high, 32), colour, 1), at, turned, ONES
            for side in (-high, high) if is_round else ():
                ball = (f"{name} {side}", "sphere", (radius,), colour, 1.0)
                yield ball, _along(pose, up, side), turned, ONES
    for (source, to, why), _, (start, end), _ in drawing.flights:
        name, colour = f"{source} {to}", LOST if why else RECEIVED
        x, y, z = (b - a for a, b in zip(start, end, strict=True))
        yield (name, "line", (ORIGIN, ONES), colour, 1), start, IDENTITY.rows, (x, y, z)
    for name, middle, why in drawing.labels:
        yield (name, "text", (why, LABEL + LOST), LOST, 1), middle, IDENTITY.rows, ONES


def _along(pose: Pose, axis: int, length: float) -> Vector:
    return pose.to_world((length * (axis == 0), length * (axis == 1), length * (axis == 2)))


def _turned(pose: Pose, axis: int) -> Rows:
    """The rotation with which y, the axis of cylinders, is this axis of the pose."""
    a, b, c = ((row[axis - 2], row[axis], -row[axis - 1]) for row in pose.rows)
    return a, b, c


class View:
    """In the element that is open. box: what the plan shows. background: its colour."""

    def __init__(self, box: list[complex], background: str) -> None:
        from nicegui import ui

        size, x, y = abs(box[1] - box[0]), sum(box).real / 2, -sum(box).imag / 2
        camera = ui.scene.perspective_camera(near=size / 50, far=20 * size)
        cells = math.ceil(2 * (size + abs(x) + abs(y)))
        self._scene = ui.scene(grid=(cells, cells), camera=camera, background_color=background)
        self._scene.move_camera(x, y - 0.5 * size, 0.5 * size, x, y, 0, duration=0)
        self._size, self._shown = size, dict[Form, Any]()
        with self._scene:
            self._all = self._scene.group()

    def update(self, drawing: Drawing) -> None:
        self._all.rotate(math.pi / 2 * (drawing.up == 1), 0, 0)
        wanted = {each[0]: each[1:] for each in forms(drawing, self._size)}
        for form in self._shown.keys() - wanted.keys():
            self._shown.pop(form).delete()
        for form, (at, rows, scale) in wanted.items():
            if form not in self._shown:
                with self._all:
                    self._shown[form] = getattr(self._scene, form[1])(*form[2])
            if form[1] != "text":
                self._shown[form].material(form[3], form[4], "both")
            self._shown[form].move(*at).rotate_R([list(row) for row in rows]).scale(*scale)
