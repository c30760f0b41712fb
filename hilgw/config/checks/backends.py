"""Checks of back ends: parts that stay real next to mocks, and parts that run at another speed."""

import math
from collections.abc import Iterator
from typing import Any

from hilgw.config.context import Inspection
from hilgw.config.queries import (
    BODY_KEYS,
    REAL_TIME,
    bodies,
    has_nodes,
    inside_of,
    is_mocked,
    part_name,
    peer_of,
    program_of,
    proxy_of,
    stepped_of,
)
from hilgw.config.source.text import Path
from hilgw.control.parts import ListensLocally
from hilgw.errors import quoted
from hilgw.settings import PROGRAM

PARTS = ("controller", *BODY_KEYS)
_NO_PART = "write a station, ROBOT.controller, ROBOT.body or ROBOT.remote"


def check_real(inspection: Inspection) -> None:
    """Check that each name in `real:` is a part of the file."""
    real = inspection.get("real")
    if not isinstance(real, list) or inspection.document.is_bad(("real",)):
        return
    known = dict.fromkeys(_parts(inspection))
    for index, name in enumerate(real):
        if isinstance(name, str) and name not in known:
            fix = inspection.suggest(name, known) if known else _NO_PART
            inspection.error(("real", index), f"there is no part {quoted(name)}", fix)


def check_own_backends(inspection: Inspection) -> None:
    """Check that a part has its own back end or is listed in `real:`, and has a port."""
    real = inspection.get("real")
    for pattern in (("adapters", None), *(("robots", None, key) for key in PARTS)):
        for path, part in inspection.made(*pattern):
            listed = isinstance(real, list) and part_name(path) in real
            if part.backend is not None and listed:
                inspection.error(
                    (*path, "backend"),
                    f"`real:` lists {quoted(part_name(path))}, too",
                    "delete one of them",
                )
    for path, part in inspection.made("robots", None, "controller"):
        if part.backend is None:
            continue
        if inside_of(part) is not None:
            inspection.error(
                (*path, "backend"),
                "the controller runs in the gateway: there is no port to it",
                "delete it",
            )
        elif program_of(part) is not None:
            inspection.error(
                (*path, "backend"),
                "hilgw starts the program itself, with every back end",
                "delete it",
            )


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


# --- another speed than real time: all of it in one process ---------------------------------------


MAX = "max"
_MOCKED = "run with --backend mock, or leave speed out"


def check_speed(inspection: Inspection) -> None:
    """Report parts that run in real time, or that another program opens."""
    speed = inspection.get("speed")
    if speed in (None, REAL_TIME) or not _is_valid(speed):
        return
    parts = (*_ports(inspection), *_local_sockets(inspection), *_links(inspection))
    parts += tuple(_programs(inspection))
    for path, problem, fix in (*parts, *_proxies(inspection), *_mocap(inspection)):
        shown = speed if speed == MAX else f"{speed:g}"
        inspection.error(path, f"{problem} runs in real time, not at speed {shown}", fix)


def _is_valid(speed: Any) -> bool:
    """Return True for a valid speed; validation has reported any other one."""
    return speed == MAX or (type(speed) in (int, float) and 0 < speed < math.inf)


def _ports(inspection: Inspection) -> Iterator[tuple[Path, str, str]]:
    for path, _ in inspection.each("adapters", None):
        if not is_mocked(inspection, part_name(path)):
            yield (*path, "port"), "a real port", _MOCKED
    for path, _ in bodies(inspection):
        if not is_mocked(inspection, part_name(path)):
            yield _address_of(inspection, path), "a body outside this process", _MOCKED
    for path, config in inspection.made("robots", None, "controller"):
        if is_mocked(inspection, part_name(path)):
            continue
        # One that asks for its steps may take as long as it wants for each.
        if peer_of(config) is not None and stepped_of(config) is None:
            yield _address_of(inspection, path), "a controller outside this process", _MOCKED


def _address_of(inspection: Inspection, path: Path) -> Path:
    data = inspection.get(*path)
    key = next((key for key in ("port", "connect", "listen") if data.get(key) is not None), None)
    return path if key is None else (*path, key)


def _local_sockets(inspection: Inspection) -> Iterator[tuple[Path, str, str]]:
    """Yield the local sockets of controllers; mocks with an address run in this process."""
    for path, config in inspection.made("robots", None, "controller"):
        local = isinstance(config.settings, ListensLocally) and config.settings.ipc
        if local and is_mocked(inspection, part_name(path)):
            yield (*path, "ipc"), "a local socket", 'write listen: "tcp://127.0.0.1:1234" instead'


def _links(inspection: Inspection) -> Iterator[tuple[Path, str, str]]:
    for path, data in inspection.each("airs", None, "nodes", None):
        if data.get("link") is not None and has_nodes(inspection, str(path[1])):
            link_path = (*path, "link")
            import shlex

            setting = ".".join(map(str, link_path)) + "=null"
            yield (
                link_path,
                "a port for another program",
                f"delete it, or run with --set {shlex.quote(setting)}",
            )


def _programs(inspection: Inspection) -> Iterator[tuple[Path, str, str]]:
    parts = *inspection.each("adapters", None), *inspection.each("robots", None, None)
    for path, data in parts:
        mock = data.get("mock")
        if isinstance(mock, dict) and PROGRAM in mock and is_mocked(inspection, part_name(path)):
            yield (*path, "mock", PROGRAM), "a program", "leave speed out"


def _proxies(inspection: Inspection) -> Iterator[tuple[Path, str, str]]:
    """Yield the proxies: their connections, also those to mocks, are sockets of this machine."""
    for path, config in inspection.made("robots", None, "controller"):
        if proxy_of(config) is not None:
            yield path, "a Webots behind hilgw", "leave speed out"


def _mocap(inspection: Inspection) -> Iterator[tuple[Path, str, str]]:
    if inspection.get("medium", "mocap") is not None:
        yield ("medium", "mocap"), "motion capture", "delete it, or leave speed out"
