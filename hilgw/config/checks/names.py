"""Checks of names: each name that a setting refers to exists, and means one thing."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from hilgw.config.context import Context, Inspection
from hilgw.config.source.positions import Path, descend
from hilgw.devices.properties import FIELDS
from hilgw.errors import quoted

_SECTIONS = {"robot": "robots", "adapter": "adapters", "air": "airs"}
_NODES = {"emitter": "Emitter", "receiver": "Receiver"}
_WITH_AN = ("Accelerometer", "Emitter", "InertialUnit", "LED")
_RADIO = {"emitter": "an Emitter", "receiver": "a Receiver"}


def check_references(inspection: Inspection) -> None:
    """Report each name that does not exist, also next to settings with other errors."""
    document = inspection.document
    for path, refers, name in _references(document.data, inspection.context, ()):
        if document.is_bad(path):
            continue
        if refers in _NODES:
            problem = _find_device(inspection, path[:2], refers, name)
        else:
            problem = _find(inspection, descend(document.data, (_SECTIONS[refers],)), refers, name)
        if problem:
            document.report(document.position_of_value(path), path, *problem)


def check_names(inspection: Inspection) -> None:
    """Report names that would be ambiguous in commands and reports."""
    robots = inspection.get("robots")
    for path, _ in inspection.each("adapters", None):
        if isinstance(robots, dict) and path[-1] in robots:
            inspection.error(path, f"{quoted(str(path[-1]))} is a robot too", "rename one of them")
    adapters = dict(inspection.each("adapters", None))
    for path, _ in inspection.each("airs", None, "nodes", None):
        adapter = adapters.get(("adapters", path[-1]))
        if adapter is not None and adapter.get("air") == path[1]:
            inspection.error(
                path, f"{quoted(str(path[-1]))} is an adapter in this air too", "rename one of them"
            )


def _references(data: Any, context: Context, path: Path) -> Iterator[tuple[Path, str, str]]:
    if not isinstance(data, dict):
        return
    declared = {
        field.name: field
        for part in context.parts(data)
        for field in dataclasses.fields(part)
        if field.metadata.get("refers")
    }
    for key, value in data.items():
        if field := declared.get(key):
            if value == "" == field.default:
                continue
            yield from _names(value, field.metadata["refers"], (*path, key))
        else:
            yield from _references(value, context, (*path, key))


def _names(value: Any, refers: str, path: Path) -> Iterator[tuple[Path, str, str]]:
    pairs: list[tuple[Path, Any]] = [(path, value)]
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        pairs = [((*path, key), item) for key, item in items]
    yield from ((at, refers, item) for at, item in pairs if isinstance(item, str))


def _find(inspection: Inspection, section: Any, kind: str, name: str) -> tuple[str, str] | None:
    names = section if isinstance(section, dict) else {}
    if name in names:
        return None
    where = _SECTIONS.get(kind, "devices")
    fix = inspection.suggest(name, names) if names else f"write it under `{where}:`"
    return f"unknown {kind} {quoted(name)}", fix


def _find_device(
    inspection: Inspection, robot: Path, refers: str, name: str
) -> tuple[str, str] | None:
    devices = descend(inspection.document.data, (*robot, "devices"))
    devices = devices if isinstance(devices, dict) else {}
    node = descend(devices, (name, "node"))
    if isinstance(node, str) and node in FIELDS and node != _NODES[refers]:
        fitting = [key for key in devices if descend(devices, (key, "node")) == _NODES[refers]]
        article = "an" if node in _WITH_AN else "a"
        return (
            f"{quoted(name)} is {article} {node}, not {_RADIO[refers]}",
            inspection.suggest(name, fitting),
        )
    return _find(inspection, devices, "device", name)
