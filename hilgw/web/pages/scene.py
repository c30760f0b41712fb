"""The page Scene: where everything is, and where packets arrive; objects are placed here.

Labels are HTML: they have the same size on each screen.
"""

import cmath
import math
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hilgw.client.gateway import Gateway
from hilgw.events.words import in_words as words
from hilgw.medium.pose import IDENTITY, Pose, Rows, Vector
from hilgw.view.gateway import GatewayView
from hilgw.web.markup import Markup, content, element, joined, scrolling, table
from hilgw.web.page import FLAT, Actions, Page, button
from hilgw.web.pages.drawing import SIGNALS, Drawing, Thing, drawing_of
from hilgw.web.pages.overview import general, heading, meaning

LINES = 12  # of the grid, at most, along the longer side
MARGIN, LEAST_M, WIDEST = 0.15, 0.5, 2.0
UNLIMITED = 0.15  # of the plan: how long a cone of unlimited range is drawn


def box_of(drawing: Drawing, before: list[complex]) -> list[complex]:
    """Return two corners of what the plan shows.

    It shows objects and obstacles, and what it showed before, so that it rests while they move.
    """
    points = [drawing.flat(each.pose.position) for each in drawing.objects.values()]
    for thing in drawing.things:
        if thing.size and thing.kind not in SIGNALS.values():
            points += drawing.outline(thing)
    pad = max(LEAST_M, MARGIN * max(abs(each - points[0]) for each in points)) * (1 + 1j)
    points = [*before, *(each + pad for each in points), *(each - pad for each in points)]
    xs, ys = [each.real for each in points], [each.imag for each in points]
    return [complex(min(xs), min(ys)), complex(max(xs), max(ys))]


def plan(drawing: Drawing, box: list[complex]) -> Markup:
    """Draw the plan as HTML, whose data are for the script that drags."""
    size, middle = box[1] - box[0], sum(box) / 2
    width = max(size.real, size.imag / WIDEST)
    height = max(size.imag, width / WIDEST)
    left, top = middle.real - width / 2, middle.imag - height / 2
    unit = 10.0 ** math.floor(math.log10(max(width, height) / LINES))
    step = next(unit * n for n in (1, 2, 5, 10) if unit * n * LINES >= max(width, height))
    across, down = (
        [step * n for n in range(math.ceil(low / step), math.floor((low + length) / step) + 1)]
        for low, length in ((left, width), (top, height))
    )
    grid = [f"M{x:g} {top:g}v{height:g}" for x in across]
    grid += [f"M{left:g} {y:g}h{width:g}" for y in down]

    def label(point: complex, kind: str, *content: object, **more: object) -> Markup:
        x, y = (point.real - left) / width, (point.imag - top) / height
        return element("span", *content, class_=kind, style=f"left:{x:.2%};top:{y:.2%}", **more)

    labels = [label(complex(x, top + height), "tick x", f"{x:g}") for x in across[1:]]
    labels += [
        label(complex(left, y), "tick y", f"{drawing.down[1] * y + 0.0:g} m") for y in down[:-1]
    ]
    shapes = [_drawn(drawing, each, UNLIMITED * width) for each in drawing.things if each.size]
    for (_, _, why), _, ends, _ in drawing.flights:
        way = "L".join(_text(drawing.flat(end)) for end in ends)
        shapes.append(element("path", d=f"M{way}", class_="missed" if why else "flies"))
    labels += [label(drawing.flat(middle), "why", why) for _, middle, why in drawing.labels]
    for name, thing in drawing.objects.items():
        turn = cmath.phase(drawing.flat(thing.pose.axis(drawing.cone)))
        shown = element("i", style=f"transform:rotate({turn:.3f}rad)"), element("b", name)
        spot, kind = drawing.flat(thing.pose.position), f"object {thing.kind}"
        labels.append(label(spot, kind, *shown, data_object=name))
    view, about = (
        f"{left:g} {top:g} {width:g} {height:g}",
        f"Plan of {len(drawing.objects)} objects",
    )
    lines = element("path", d="".join(grid), class_="grid")
    svg = element("svg", lines, *shapes, viewBox=view, role="img", aria_label=about)
    style = f"aspect-ratio:{width:g}/{height:g};max-width:calc(75vh*{width / height:g})"
    return element("div", svg, *labels, class_="plan", style=style, data_box=view)


def _drawn(drawing: Drawing, thing: Thing, unlimited: float) -> Markup:
    if thing.kind not in SIGNALS.values():
        corners = " ".join(map(_text, drawing.outline(thing)))
        return element("polygon", points=corners, class_="solid")
    centre, ahead = (drawing.flat(p) for p in (thing.pose.position, thing.pose.axis(drawing.cone)))
    reach, half = (unlimited if thing.size[0] == math.inf else thing.size[0]), thing.size[1] / 2
    if half < 0 or abs(ahead) < 0.1:  # it looks up or down
        return element("circle", cx=centre.real, cy=centre.imag, r=reach, class_=thing.kind)
    a, b = (centre + cmath.rect(reach, cmath.phase(ahead) + turn) for turn in (-half, half))
    arc = f"A{reach:g} {reach:g} 0 {int(half > math.pi / 2)} 1 {_text(b)}"
    return element("path", d=f"M{_text(centre)}L{_text(a)}{arc}Z", class_=f"cone {thing.kind}")


def _text(point: complex) -> str:
    return f"{point.real:g} {point.imag:g}"


def lost(drawing: Drawing) -> Markup:
    """Return the packets of the last second that did not arrive, and why."""
    rows = [
        (source, to or "-", packets, words(why), meaning("not_received", why))
        for (source, to, why), packets, *_ in drawing.flights
        if why
    ]
    return table("Not received", ("from", "to", "packets/s", "why", "meaning"), rows)


COLOURS = {"robot": "#0d9488", "module": "#d97706", "emitter": "#0ea5e9", "receiver": "#f59e0b"}
GREY, RECEIVED, LOST, INK = "#94a3b8", "#16a34a", "#dc2626", "#17202a"
LABEL = "font:12px system-ui;background:#fffd;border-radius:4px;padding:0 4px;color:"
ORIGIN, ONES = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
Form = tuple[str, str, tuple[object, ...], str, float]
"""Its name, the method of `ui.scene` that makes it, its arguments, colour and opacity."""
# The plan is replaced meanwhile: what follows the pointer is next to it, and has what is dragged.
DRAG = """(e) => { const all = e.target.closest('.drags'), g = all.querySelector('.ghost'),
o = e.target.closest('[data-object]'), p = all.querySelector('.plan'), name = g.dataset.name;
if (e.type == 'pointerdown' && o && !e.button) {
  e.preventDefault(); all.setPointerCapture(e.pointerId);
  g.dataset.name = o.dataset.object; g.textContent = o.textContent; }
if (!name || !p) return;
const r = p.getBoundingClientRect(), left = e.clientX - r.left, top = e.clientY - r.top;
if (e.type == 'pointermove') {
  const a = all.getBoundingClientRect(); g.dataset.moved = 1;
  g.style.cssText = `display:block;left:${e.clientX - a.left}px;top:${e.clientY - a.top}px`;
  return; }
const [x, y, w, h] = p.dataset.box.split(' ').map(Number), moved = g.dataset.moved;
g.style.cssText = g.dataset.name = g.dataset.moved = '';
if (e.type == 'pointerup' && moved) emit(name, x + w * left / r.width, y + h * top / r.height); }"""
LOOK = """[!!document.createElement('canvas').getContext('webgl2'),
getComputedStyle(document.body).backgroundColor]"""
NO_WEBGL = "This browser has no WebGL, which the 3-D view needs. The plan shows the same."
NO_POSE = """No object has a pose. Give one with hilgw place, by motion capture, or in the file:
position of a robot or of an adapter."""


def build(page: Page) -> None:
    top, shown = content(), dict[str, Section]()

    def update() -> None:
        gateways = page.bench.gateways
        top.set_content(general(list(gateways.values()), page.bench.problem))
        views = {key: view for key, view in gateways.items() if view.status}
        page.sections(shown, views, Section)

    page.refresh(update)


class Section:
    """A gateway on the page. Only for a visitor who may, there are controls that place objects."""

    def __init__(self, page: Page, view: GatewayView) -> None:
        from nicegui import ui

        self._page, self._gateway = page, Gateway(Path(view.key))
        self._box, self._views = list[complex](), list[View]()
        self._background = ""  # of the 3-D view that is to be there
        self._drawing = drawing_of(view, page.bench.now())
        with ui.element("section").classes("gateway") as self.card:
            self._head = content()
            with ui.element("div").classes("tools"):
                self._kind = ui.toggle(["Plan", "3-D"], value="Plan", on_change=self._switch)
                self._name = ui.input("Name").props("dense outlined clearable")
            self._kind.props(
                f"{FLAT} toggle-color=ink toggle-text-color=card role=group aria-label=View"
            )
            with ui.element("div").classes("drags") as self._flat:
                self._plan = content()
                ui.element("span").classes("ghost")
            self._deep, self._actions = ui.element("div"), Actions(page)
            self._form = self._controls() if page.may("drive") else []
            self._about, self._lost = scrolling("Pose unknown"), scrolling("Not received")

    def _controls(self) -> list[Any]:
        from nicegui import ui

        axes = ("x", "xyz"[self._drawing.down[0]])
        with ui.element("div").classes("tools"):
            name = ui.select([], label="Object", on_change=self._fill).props("dense outlined")
            where = [
                ui.number(f"{axis} in m", value=0, step=0.1).props("dense outlined")
                for axis in axes
            ]
            button("Place", self._submit)
        self._flat.classes("may")
        for event in ("down", "move", "cancel", "up"):
            self._flat.on(f"pointer{event}", lambda e: self._place(*e.args), js_handler=DRAG)
        return [name, *where]

    def update(self, view: GatewayView) -> None:
        """Show all of it as the gateway is now."""
        now, is_plan = self._page.bench.now(), self._kind.value == "Plan"
        drawing = self._drawing = drawing_of(view, now, self._name.value or "")
        self._head.set_content(heading(view, now))
        self._about.set_content(about := _about(drawing))
        self._about.set_visibility(bool(about))
        self._lost.set_content(lost(drawing))
        self._flat.set_visibility(is_plan)
        if drawing.objects:
            self._box = box_of(drawing, self._box)
            self._plan.set_content(plan(drawing, self._box) if is_plan else "")
        if self._background and self._box and not self._views:
            with self._deep:
                self._views.append(View(self._box, self._background))
        for scene in self._views:
            scene.update(drawing)
        names = sorted([*drawing.objects, *drawing.nowhere])
        if self._form and self._form[0].options != names:
            self._form[0].set_options(names)

    async def _switch(self) -> None:
        """Make the 3-D view, which is there only while it is shown."""
        from nicegui import ui

        has_webgl, background = await ui.run_javascript(LOOK, timeout=10)
        self._deep.clear()
        self._views.clear()
        is_plan = self._kind.value == "Plan"
        self._background = "" if is_plan or not has_webgl else background
        if not is_plan and not has_webgl:
            with self._deep:
                ui.html(element("p", NO_WEBGL))

    def _fill(self) -> None:
        name, *fields = self._form
        if name.value in self._drawing.objects:
            spot = self._drawing.flat(self._drawing.objects[name.value].pose.position)
            for field, value in zip(
                fields, (spot.real, self._drawing.down[1] * spot.imag), strict=True
            ):
                field.set_value(round(value, 3) + 0.0)

    async def _submit(self) -> None:
        name, *fields = (each.value for each in self._form)
        if name is None:
            self._actions.lacks("choose an object, or drag one")
        else:
            right, second = (float(each or 0) for each in fields)
            await self._place(name, right, self._drawing.down[1] * second)

    async def _place(self, name: str, right: float, down: float) -> None:
        where, rotation = self._drawing.moved(name, complex(right, down))
        self._box = []
        done = f"{name} is at {', '.join(f'{each:.3g}' for each in where)} m"
        await self._actions.do(done, self._gateway.place, name, where, rotation)


def _about(drawing: Drawing) -> Markup:
    rows = [
        (name, packets, element("code", shlex.join(["hilgw", "place", name, "0", "0", "0"])))
        for name, packets in drawing.nowhere.items()
    ]
    head = ("object", "packets/s", "for example")
    unknown = table("Pose unknown: in range of all stations", head, rows)
    more = [f"Not shown: {drawing.left_out}"] if drawing.left_out else []
    texts = [element("p", each, class_="dim") for each in more + [NO_POSE] * (not drawing.objects)]
    return joined([*texts, unknown])


def forms(drawing: Drawing, size: float) -> Iterator[tuple[Form, Vector, Rows, Vector]]:
    """Yield all that is drawn, with position, rotation and scale, in a scene of this size (m)."""
    unit, up = size / 60, drawing.up
    for name, kind, pose, given in drawing.things:
        place, turned, colour = pose.position, _turned(pose, up), COLOURS.get(kind, GREY)
        if not given:
            yield (name, "text", (name, LABEL + INK), INK, 1), place, turned, ONES
            arrow = (0, unit, 3 * unit, 16) if kind == "robot" else (unit / 2, unit / 2, unit, 16)
            yield (name, "cylinder", arrow, colour, 1), place, _turned(pose, drawing.cone), ONES
        elif kind in SIGNALS.values():  # a cone; or a disc, for all around
            reach = UNLIMITED * size if given[0] == math.inf else given[0]
            has_cone = 0 <= given[1] < math.pi
            axis, half = (drawing.cone, given[1] / 2) if has_cone else (up, math.pi / 2)
            high, wide = reach * math.cos(half), reach * math.sin(half)
            form = (name, "cylinder", (wide, 0, high, 24, 1, True), colour, 0.3)
            yield form, _along(pose, axis, high / 2), _turned(pose, axis), ONES
        elif kind == "box":
            yield (name, kind, tuple(2 * each for each in given), colour, 1), place, pose.rows, ONES
        else:
            radius, is_round = given[up - 1], kind != "cylinder"
            high = given[up] - radius * is_round
            yield (name, "cylinder", (radius, radius, 2 * high, 32), colour, 1), place, turned, ONES
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
    """Return the rotation with which y, the axis of cylinders, is this axis of the pose."""
    a, b, c = ((row[axis - 2], row[axis], -row[axis - 1]) for row in pose.rows)
    return a, b, c


class View:
    """View in the element that is open. box: what the plan shows. background: its colour."""

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
        for form, (place, rows, scale) in wanted.items():
            if form not in self._shown:
                with self._all:
                    self._shown[form] = getattr(self._scene, form[1])(*form[2])
            if form[1] != "text":
                self._shown[form].material(form[3], form[4], "both")
            self._shown[form].move(*place).rotate_R([list(row) for row in rows]).scale(*scale)
