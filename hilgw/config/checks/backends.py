"""Checks of back ends: the parts that stay real beside mocks."""

from __future__ import annotations

from collections.abc import Iterator

from hilgw.config.context import Inspection
from hilgw.config.queries import BODY_KEYS, part_name
from hilgw.errors import quoted

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


def _parts(inspection: Inspection) -> Iterator[str]:
    for path, _ in inspection.each("adapters", None):
        yield part_name(path)
    for path, data in inspection.each("robots", None):
        for part in ("controller", *BODY_KEYS):
            if isinstance(data.get(part), dict):
                yield part_name((*path, part))
        controller = data.get("controller")
        if isinstance(controller, dict) and controller.get("kind") == "webots_proxy":
            yield part_name((*path, "webots"))
