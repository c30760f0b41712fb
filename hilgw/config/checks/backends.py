"""Checks of back ends: the parts that stay real beside mocks, and those with one of their own."""

from __future__ import annotations

from collections.abc import Iterator

from hilgw.config.context import Inspection
from hilgw.config.queries import BODY_KEYS, inside_of, part_name, program_of
from hilgw.errors import quoted

PARTS = ("controller", *BODY_KEYS)
_NO_PART = "write a station, ROBOT.controller, ROBOT.body or ROBOT.remote"


def check_real(inspection: Inspection) -> None:
    """Each name in `real:` is a part of the file."""
    real = inspection.get("real")
    if not isinstance(real, list) or inspection.document.is_bad(("real",)):
        return
    known = dict.fromkeys(_parts(inspection))
    for index, name in enumerate(real):
        if isinstance(name, str) and name not in known:
            fix = inspection.suggest(name, known) if known else _NO_PART
            inspection.error(("real", index), f"there is no part {quoted(name)}", fix)


def check_own_backends(inspection: Inspection) -> None:
    """A part has its own back end or is listed in `real:`, and it has a port."""
    real = inspection.get("real")
    for pattern in (("adapters", None), *(("robots", None, key) for key in PARTS)):
        for path, part in inspection.made(*pattern):
            listed = isinstance(real, list) and part_name(path) in real
            if part.backend is not None and listed:
                what = f"`real:` lists {quoted(part_name(path))}, too"
                inspection.error((*path, "backend"), what, "delete one of them")
    for path, part in inspection.made("robots", None, "controller"):
        if part.backend is None:
            continue
        if inside_of(part) is not None:
            what = "the controller runs in the gateway: there is no port to it"
            inspection.error((*path, "backend"), what, "delete it")
        elif program_of(part) is not None:
            what = "hilgw starts the program itself, with every back end"
            inspection.error((*path, "backend"), what, "delete it")


def _parts(inspection: Inspection) -> Iterator[str]:
    for path, _ in inspection.each("adapters", None):
        yield part_name(path)
    for path, data in inspection.each("robots", None):
        for part in PARTS:
            if isinstance(data.get(part), dict):
                yield part_name((*path, part))
        controller = data.get("controller")
        if isinstance(controller, dict) and controller.get("kind") == "webots_proxy":
            yield part_name((*path, "webots"))
