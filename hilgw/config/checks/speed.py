"""What a configuration with another speed than real time may have: all of it in one process."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from hilgw.config.context import Inspection
from hilgw.config.queries import (
    REAL_TIME,
    bodies,
    has_nodes_at,
    is_mocked_at,
    peer_of,
    proxy_of,
    stepped_of,
)
from hilgw.config.source.positions import Path
from hilgw.control.parts import ListensLocally

MAX = "max"
_MOCKED = "run with --backend mock, or leave speed out"


def check_speed(inspection: Inspection) -> None:
    """Reports what is in real time, or is opened by another program."""
    speed = inspection.get("speed")
    if speed in (None, REAL_TIME) or not _is_valid(speed):
        return
    parts = (*_ports(inspection), *_local_sockets(inspection), *_links(inspection))
    for path, what, fix in (*parts, *_proxies(inspection), *_mocap(inspection)):
        shown = speed if speed == MAX else f"{speed:g}"
        inspection.error(path, f"{what} runs in real time, not at speed {shown}", fix)


def _is_valid(speed: Any) -> bool:
    """Whether the value passed validation, which has reported it otherwise."""
    return speed == MAX or (type(speed) in (int, float) and 0 < speed < math.inf)


def _ports(inspection: Inspection) -> Iterator[tuple[Path, str, str]]:
    for path, _ in inspection.each("adapters", None):
        if not is_mocked_at(inspection, path):
            yield (*path, "port"), "a real port", _MOCKED
    for path, _ in bodies(inspection):
        if not is_mocked_at(inspection, path):
            yield _address_of(inspection, path), "a body outside this process", _MOCKED
    for path, config in inspection.made("robots", None, "controller"):
        if is_mocked_at(inspection, path):
            continue
        # One that asks for its steps may take as long as it wants for each.
        if peer_of(config) is not None and stepped_of(config) is None:
            yield _address_of(inspection, path), "a controller outside this process", _MOCKED


def _address_of(inspection: Inspection, path: Path) -> Path:
    """Where a part is connected; the part itself when that is not written."""
    data = inspection.get(*path)
    keys = (key for key in ("port", "connect", "listen") if data.get(key) is not None)
    key = next(keys, None)
    return path if key is None else (*path, key)


def _local_sockets(inspection: Inspection) -> Iterator[tuple[Path, str, str]]:
    """Those of controllers; the mock of one with an address is in this process."""
    for path, config in inspection.made("robots", None, "controller"):
        local = isinstance(config.settings, ListensLocally) and config.settings.ipc
        if local and is_mocked_at(inspection, path):
            fix = 'write listen: "tcp://127.0.0.1:1234" instead'
            yield (*path, "ipc"), "a local socket", fix


def _links(inspection: Inspection) -> Iterator[tuple[Path, str, str]]:
    for path, data in inspection.each("airs", None, "nodes", None):
        if data.get("link") is not None and has_nodes_at(inspection, str(path[1])):
            at = (*path, "link")
            import shlex

            fix = f"delete it, or run with --set {shlex.quote('.'.join(map(str, at)) + '=null')}"
            yield at, "a port for another program", fix


def _proxies(inspection: Inspection) -> Iterator[tuple[Path, str, str]]:
    """Their connections are sockets of this machine, also those to mocks."""
    for path, config in inspection.made("robots", None, "controller"):
        if proxy_of(config) is not None:
            yield path, "a Webots behind hilgw", "leave speed out"


def _mocap(inspection: Inspection) -> Iterator[tuple[Path, str, str]]:
    if inspection.get("medium", "mocap") is not None:
        yield ("medium", "mocap"), "motion capture", "delete it, or leave speed out"
