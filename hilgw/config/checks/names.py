"""Checks of names and files that settings refer to, and of devices that reach nothing.

A device reaches nothing where no other end has its type or channel.
"""

import dataclasses
import grp
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

from hilgw import plugins
from hilgw.config.context import Context, Inspection
from hilgw.config.model import AdapterConfig
from hilgw.config.paths import ZENOH_FILES
from hilgw.config.queries import Radio, meet
from hilgw.config.source.text import Path, descend
from hilgw.devices.fields import BROADCAST, EmitterFields, ReceiverFields
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


FILES = {"folder", "file", "recording", "path", "certificate", "key", "clients"}


def check_named_files(inspection: Inspection) -> None:
    """Report names that no file can have, and what is there but is not a file, or not a folder."""
    folder = FilePath(inspection.document.file).parent
    waiting: list[tuple[Path, Any]] = [((), inspection.document.data)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict | list):
            named = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [((*path, key), each) for key, each in named]
        elif (
            isinstance(value, str)
            and path
            and (path[-1] in FILES or str(path[-1]).endswith(ZENOH_FILES))
        ):
            kind = "folder" if path[-1] == "folder" else "file"
            if problem := _problem(folder / value, kind):
                inspection.error(path, problem, f"name a {kind}")


def _problem(place: FilePath, kind: str) -> str:
    if "\0" in str(place):
        return "a name of a file has no NUL"
    try:
        is_one = place.is_dir() if kind == "folder" else place.is_file()
        return f"this is not a {kind}" if place.exists() and not is_one else ""
    except OSError as error:
        return f"this is not a name of a file: {error.strerror}"


def check_group(inspection: Inspection) -> None:
    """Warn about a group that this machine does not have: the file may be for another one."""
    group = inspection.get("control", "group")
    if isinstance(group, str):
        try:
            grp.getgrnam(group)
        except (KeyError, ValueError):
            inspection.warn(
                ("control", "group"),
                f"there is no group {quoted(group)} here",
                "name a group of this machine, as `getent group` lists them",
            )


def check_reach(inspection: Inspection) -> None:
    """Warn about each device that reaches no hardware and no device of another robot."""
    adapters = {str(path[-1]): config for path, config in inspection.made("adapters", None)}
    radios = [
        (path, fields)
        for path, fields in inspection.made("robots", None, "devices", None)
        if isinstance(fields, EmitterFields | ReceiverFields)
    ]
    devices = _Devices(radios)
    hardware: dict[tuple[str, int], bool] = {}
    for path, fields in radios:
        key = (fields.type, fields.channel)
        if key not in hardware:
            hardware[key] = any(meet(fields, adapter) for adapter in adapters.values())
        if not hardware[key] and not devices.meet(fields, str(path[1])):
            inspection.warn(path, *_warning(fields, adapters))


class _Devices:
    def __init__(self, radios: list[tuple[Path, Radio]]) -> None:
        self._robots: dict[tuple[bool, str, int | None], set[str]] = {}  # channel None: all
        for path, fields in radios:
            is_emitter = isinstance(fields, EmitterFields)
            for channel in (fields.channel, None):
                self._robots.setdefault((is_emitter, fields.type, channel), set()).add(str(path[1]))

    def meet(self, fields: Radio, robot: str) -> bool:
        wanted = not isinstance(fields, EmitterFields)
        channels = (None,) if fields.channel == BROADCAST else (fields.channel, BROADCAST)
        groups = (self._robots.get((wanted, fields.type, channel), set()) for channel in channels)
        return any(robots - {robot} for robots in groups)


def _warning(fields: Radio, adapters: dict[str, AdapterConfig]) -> tuple[str, str]:
    problem = f"{fields.type}, channel {fields.channel}: reaches no hardware and no other robot"
    kinds = {name: plugins.load(plugins.ADAPTERS, each.kind) for name, each in adapters.items()}
    hardware: dict[str, str] = {name: kind.type for name, kind in kinds.items()}
    same = [name for name, type_ in hardware.items() if type_ == fields.type]
    if same:
        return problem, f"{_listed(same)} of this type: other channels"
    others = sorted({*hardware.values()} - {fields.type})
    if hardware:
        problem += (
            f"; {', '.join(f'{name} is {type_}' for name, type_ in sorted(hardware.items())[:4])}"
        )
        return problem, f"write type: {others[0]}" if len(others) == 1 else "write another type"
    return problem, "add an adapter, or a robot with a device of this type and channel"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(map(quoted, names[:4])) + more
