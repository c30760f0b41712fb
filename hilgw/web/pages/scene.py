"""The page Scene: where everything is, and where packets arrive; objects are placed here."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hilgw.client.gateway import Gateway
from hilgw.view.gateway import GatewayView
from hilgw.web.actions import FLAT, Actions, button
from hilgw.web.content import content, scrolling
from hilgw.web.markup import Markup, element, joined, table
from hilgw.web.pages.drawing import Drawing, drawing_of
from hilgw.web.pages.overview import general, heading
from hilgw.web.pages.plan import box_of, lost, plan
from hilgw.web.pages.scene3d import View

if TYPE_CHECKING:
    from hilgw.web.page import Page

# The plan is replaced meanwhile: what follows the pointer is beside it, and has what is dragged.
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
        found = page.bench.gateways
        top.set_content(general(list(found.values()), page.bench.problem))
        views = {key: view for key, view in found.items() if view.status}
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
        """All of it is as the gateway is now."""
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
        for each in self._views:
            each.update(drawing)
        names = sorted([*drawing.objects, *drawing.nowhere])
        if self._form and self._form[0].options != names:
            self._form[0].set_options(names)

    async def _switch(self) -> None:
        """The 3-D view is there while it is shown, from when on there is what it shows."""
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
        """The form shows where the chosen object is."""
        name, *fields = self._form
        if name.value in self._drawing.objects:
            at = self._drawing.flat(self._drawing.objects[name.value].pose.position)
            for field, value in zip(
                fields, (at.real, self._drawing.down[1] * at.imag), strict=True
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
        what = f"{name} is at {', '.join(f'{each:.3g}' for each in where)} m"
        await self._actions.do(what, self._gateway.place, name, where, rotation)


def _about(drawing: Drawing) -> Markup:
    """What the plan does not show, and what to do."""
    rows = [
        (name, packets, element("code", shlex.join(["hilgw", "place", name, "0", "0", "0"])))
        for name, packets in drawing.nowhere.items()
    ]
    head = ("object", "packets/s", "for example")
    unknown = table("Pose unknown: in range of all stations", head, rows)
    more = [f"Not shown: {drawing.left_out}"] if drawing.left_out else []
    texts = [element("p", each, class_="dim") for each in more + [NO_POSE] * (not drawing.objects)]
    return joined([*texts, unknown])
