"""Checks of the robots whose controllers are behind a proxy, and of the addresses they use."""

from __future__ import annotations

from collections.abc import Iterator

from hilgw.config.context import Inspection
from hilgw.config.model import RobotConfig
from hilgw.config.queries import endpoint, proxy_of, world_name
from hilgw.config.source.positions import Path, spell
from hilgw.errors import quoted

Address = tuple[str, int]


def proxied(inspection: Inspection) -> Iterator[tuple[Path, RobotConfig]]:
    """Every robot behind a proxy."""
    for path, robot in inspection.made("robots", None):
        if proxy_of(robot.controller) is not None:
            yield path, robot


def check_proxies(inspection: Inspection) -> None:
    """Devices, bodies, names and addresses."""
    names: dict[tuple[Address, str], Path] = {}
    targets: dict[Address, Address] = {}
    listeners: dict[Address, Path] = {}
    connections: list[tuple[Path, Address]] = []
    for path, robot in proxied(inspection):
        assert robot.controller is not None
        _check_robot(inspection, path, robot)
        at, settings = (*path, "controller"), robot.controller.settings
        listen = address_at(inspection, (*at, "listen"), settings.listen)
        connect = address_at(inspection, (*at, "connect"), settings.connect, example=1235)
        if connect is None:
            continue
        connections.append((path, connect))
        if not connect[1]:
            what = "Webots does not listen on port 0"
            inspection.error((*at, "connect"), what, "write the port of Webots")
        if listen is None:
            continue
        listeners.setdefault(listen, path)
        at = (*path, "controller", "robot")
        at = at if at in inspection.document.values else path
        key = (connect, world_name(str(path[-1]), robot))
        if key in names:
            what = f"{spell(names[key])} is this robot in Webots too"
            inspection.error(at, what, "write the other robot's name: robot: NAME")
        names.setdefault(key, path)
        if listen[1] and targets.setdefault(listen, connect) != connect:
            what = "another robot with this address is in another Webots"
            inspection.error((*path, "controller", "listen"), what, "use another port")
    for path, connect in connections:
        if connect in listeners:
            what = "hilgw itself listens here, not Webots"
            inspection.error((*path, "controller", "connect"), what, "write the port of Webots")


def _check_robot(inspection: Inspection, path: Path, robot: RobotConfig) -> None:
    assert robot.controller is not None
    if robot.body is not None:
        what = "the robot's body is in Webots: its controller there moves it"
        inspection.error((*path, "body"), what, "delete it, or use another kind of controller")
    if not robot.radios:
        inspection.warn(path, "has no Emitter or Receiver: the proxy passes all bytes on")
    for index, name in enumerate(robot.controller.settings.only):
        if name not in robot.radios:
            known = robot.radios
            what = f"unknown Emitter or Receiver {quoted(name)}"
            fix = inspection.suggest(name, known) if known else "write it under `devices:`"
            inspection.error((*path, "controller", "only", index), what, fix)


def address_at(
    inspection: Inspection, at: Path, url: str | None, example: int = 27015
) -> Address | None:
    """Host and port of an address; None for a wrong one, and without one. example: a port."""
    if url is None:
        return None
    try:
        return endpoint(url)
    except ValueError:
        fix = f"allowed: 0 to 65535, e.g. tcp://127.0.0.1:{example}"
        inspection.error(at, "the port is out of range", fix)
        return None
