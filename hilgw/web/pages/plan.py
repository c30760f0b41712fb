"""The plan of the page Scene: an SVG with grid, reaches, obstacles and packets, and labels on it.

Labels are HTML: they have the same size on each screen.
"""

import cmath
import math

from hilgw.events.words import in_words as words
from hilgw.web.markup import Markup, element, table
from hilgw.web.pages.drawing import SIGNALS, Drawing, Thing
from hilgw.web.pages.overview import meaning

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
