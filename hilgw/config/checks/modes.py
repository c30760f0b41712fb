"""A robot with two bodies: the one of the key `body`, and the real one of the key `remote`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hilgw import plugins
from hilgw.config.queries import forwarding_of
from hilgw.control.modes import RobotMode, differing, of_one_only
from hilgw.errors import ConfigError

if TYPE_CHECKING:
    from hilgw.config.context import Inspection
    from hilgw.config.model import PartConfig, RobotConfig
    from hilgw.config.source.positions import Path
    from hilgw.devices.kinds import Device


def check_modes(inspection: Inspection, version: str | None) -> None:
    """A second body belongs to a first one, with the same devices; a mode needs its body. version:
    of Webots; None: it is wrong."""
    for path, data in inspection.each("robots", None):
        mode = data.get("mode")
        if data.get("remote") is None:
            if mode in (RobotMode.REMOTE, RobotMode.SHADOW):
                fix = "write the real robot under `remote:`, or delete the mode"
                inspection.error((*path, "mode"), f"mode {mode} needs a remote body", fix)
        elif data.get("body") is None:
            what = "a remote body is the second one, and there is no body beside it"
            inspection.error((*path, "remote"), what, "rename it to `body`, or write a body, too")
    for path, robot in inspection.made("robots", None):
        if robot.body is not None and robot.remote is not None:
            _check_bodies(inspection, path, robot, version)


def _check_bodies(
    inspection: Inspection, path: Path, robot: RobotConfig, version: str | None
) -> None:
    """The devices that both kinds know before they connect, and what a second body may not do."""
    remote = (*path, "remote")
    assert robot.remote is not None and robot.body is not None
    if forwarding_of(robot.remote):
        what = "packets are forwarded for the first body only"
        inspection.error(remote, what, "write to_medium and from_medium under `body:`")
    first, second = _devices(robot.body, version), _devices(robot.remote, version)
    if not first or not second:
        return
    for what in differing(first, second):
        fix = "give the devices of both bodies one kind, or other names"
        inspection.error(remote, f"the bodies differ: {what}", fix)
    for here, there, role in ((first, second, "body"), (second, first, "remote")):
        if names := of_one_only(here, there):
            inspection.warn(remote, f"only `{role}` has: {', '.join(names)}")


def _devices(part: PartConfig, version: str | None) -> list[Device]:
    """Those that its settings alone decide; none where the robot reports them."""
    if version is None:
        return []
    try:
        session = plugins.load(plugins.BODIES, part.kind).session(part.settings, version, None)
    except ConfigError:
        return []  # reported for the version
    return list(session.devices)
