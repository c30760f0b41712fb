"""Checks of serial ports: what they name, and that each has one user."""

from __future__ import annotations

import itertools
import os
from typing import Any

from hilgw.adapters.declaration import UsbId
from hilgw.config.context import Inspection
from hilgw.config.queries import BODY_KEYS
from hilgw.config.source.positions import Path, spell
from hilgw.errors import PortError, quoted
from hilgw.transports.open_errors import doubt
from hilgw.transports.serial.urls import kind_of

NO_PATH = ("has unprintable characters", "write the path only")


def check_ports(inspection: Inspection) -> None:
    """Invalid ports, and two users of one port."""
    seen: dict[Any, Path] = {}
    parts = (("robots", None, key) for key in ("controller", *BODY_KEYS))
    users = (("adapters", None), *parts)
    for path, data in itertools.chain(*(inspection.each(*pattern) for pattern in users)):
        at = (*path, "port")
        key = _port_key(inspection, data.get("port"))
        if isinstance(key, str) and "://" in key:
            _check_port_url(inspection, at, key)
        if key == "loop://":
            continue  # each opens its own
        if key == "":
            inspection.error(at, "the port is empty", "write a device path, or loop://")
        elif isinstance(key, str) and not data["port"].isprintable():
            inspection.error(at, *NO_PATH)
        elif key in seen:
            inspection.error(at, f"{spell(seen[key])} has this port too", "use another port")
        elif key is not None:
            seen[key] = path
            if isinstance(key, str) and (doubted := doubt(data["port"])):
                inspection.warn(at, f"{quoted(data['port'])} {doubted[0]}", doubted[1])


def _check_port_url(inspection: Inspection, at: Path, url: str) -> None:
    try:
        kind_of(url, allow_urls=True)
    except PortError as error:
        inspection.error(at, f"{quoted(url)}: {error.what}", error.fix)
        return
    if url != "loop://" and inspection.get("network_ports") is not True:
        fix = "write network_ports: true at the top of the file to allow it"
        inspection.error(at, f"{quoted(url)} is a port on the network", fix)


def _port_key(inspection: Inspection, port: Any) -> str | UsbId | None:
    """A key that is equal for two settings of the same port; None when the setting is invalid."""
    if isinstance(port, str):
        if "://" in port or not port.strip():
            return port.strip()
        return port.upper() if port[:3].upper() == "COM" else real_path(port)
    usb = port.get("usb") if isinstance(port, dict) else None
    made: UsbId | None = inspection.context.made(usb)
    return made


def real_path(path: str) -> str:
    """The path without links; the path itself when the system cannot resolve it."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path
