"""Which port is meant, and what stands behind it now."""

from __future__ import annotations

import os
from pathlib import Path

from hilgw.adapters.base import UsbId
from hilgw.errors import PortError

URL_SCHEMES = ("loop://", "socket://", "rfc2217://")


def port_identity(path: str) -> object | None:
    """What stands behind a path now: changes when it is replaced, None when it is absent."""
    if path.startswith(URL_SCHEMES):
        return path
    try:
        status = os.stat(path)  # noqa: PTH116 - one call, no object, ten times a second
    except OSError:
        return None
    return (os.path.realpath(path), status.st_rdev, status.st_ino)


def resolve_port(port: str | UsbId) -> str:
    """The path of a configured port. PortError "absent" when no such USB device is there."""
    if isinstance(port, str):
        return port
    from hilgw.transports.serial.port import list_ports

    found = [
        info
        for info in list_ports()
        if (info.vid, info.pid) == (port.vid, port.pid)
        and (not port.serial or info.serial == port.serial)
    ]
    if not found:
        raise PortError("no such USB device", reason=PortError.ABSENT, where=describe_port(port))
    if len(found) > 1:
        paths = ", ".join(info.path for info in found)
        raise PortError(
            f"several devices match: {paths}",
            reason=PortError.UNSUPPORTED,
            where=describe_port(port),
            fix="name the serial number too",
        )
    return found[0].path


def describe_port(port: str | UsbId) -> str:
    """A configured port in words."""
    if isinstance(port, str):
        return port
    text = f"USB {port.vid:04x}:{port.pid:04x}"
    return f"{text} {port.serial}" if port.serial else text


def exists(port: str | UsbId) -> object | None:
    """As `port_identity`, for any configured port."""
    try:
        return port_identity(resolve_port(port))
    except PortError:
        return None


def by_id_name(path: str) -> str:
    """The stable /dev/serial/by-id name of a port, or "" where it has none."""
    folder = Path("/dev/serial/by-id")
    real = os.path.realpath(path)
    try:
        links = sorted(folder.iterdir())
    except OSError:
        return ""
    return next((str(link) for link in links if os.path.realpath(link) == real), "")
