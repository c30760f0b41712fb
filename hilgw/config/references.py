"""Names that settings refer to: robots, adapters, airs, and the devices of one robot."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from hilgw.config.diagnose import descend
from hilgw.config.document import Document
from hilgw.config.places import Path, quoted, suggest

_SECTIONS = {"robot": "robots", "adapter": "adapters", "air": "airs"}
_NODES = {"emitter": "Emitter", "receiver": "Receiver"}


def check_references(document: Document, settings: Any, path: Path, robot: Path = ()) -> None:
    """Report each name in `settings` (made from what stands at `path`) that does not exist.

    robot: the path of the robot these settings belong to, when they belong to one.
    """
    for below, refers, name in _references(settings):
        at = path + below
        if document.is_bad(at) or not name:
            continue
        place = document.place_of_value(at)
        if refers in _NODES:
            problem = _find_device(document, robot, refers, name)
        else:
            section = descend(document.data, (_SECTIONS[refers],))
            problem = _find(section, refers, name)
        if problem:
            document.report(place, at, *problem)


def _references(settings: Any) -> Iterator[tuple[Path, str, str]]:
    """Every name in a settings dataclass: where it stands, what it refers to, the name."""
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        refers = field.metadata.get("refers")
        if refers and isinstance(value, str):
            yield (field.name,), refers, value
        elif refers and isinstance(value, dict | tuple):
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            yield from (((field.name, key), refers, name) for key, name in pairs)
        elif dataclasses.is_dataclass(value):
            for below, inner, name in _references(value):
                yield (field.name, *below), inner, name


def _find(section: Any, what: str, name: str) -> tuple[str, str] | None:
    names = section if isinstance(section, dict) else {}
    if name in names:
        return None
    where = _SECTIONS.get(what, "devices")
    fix = suggest(name, names) if names else f"write it under `{where}:`"
    return f"there is no {what} called {quoted(name)}", fix


def _find_device(document: Document, robot: Path, refers: str, name: str) -> tuple[str, str] | None:
    devices = descend(document.data, (*robot, "devices"))
    devices = devices if isinstance(devices, dict) else {}
    node = descend(devices, (name, "node"))
    if node in _NODES.values() and node != _NODES[refers]:
        fitting = [key for key in devices if descend(devices, (key, "node")) == _NODES[refers]]
        what = (
            "is an Emitter, not a Receiver"
            if refers == "receiver"
            else "is a Receiver, not an Emitter"
        )
        return f"{quoted(name)} {what}", suggest(name, fitting)
    return _find(devices, "device of this robot", name)
