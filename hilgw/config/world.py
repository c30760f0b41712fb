"""Where things are: checks of poses, motions, obstacles and motion capture."""

from __future__ import annotations

import dataclasses
import ipaddress
import stat
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from hilgw.config.diagnose import descend
from hilgw.config.model import GatewayConfig, MocapConfig, MotionFile
from hilgw.config.source.positions import Path
from hilgw.config.source.text import MAX_BYTES
from hilgw.errors import ConfigError, printable, quoted, suggest
from hilgw.medium.motion import Circle, TimedPoses, Waypoints, read_timed_poses
from hilgw.medium.obstacles import obstacle
from hilgw.medium.pose import Pose

if TYPE_CHECKING:
    from hilgw.config.checks import Checks

LARGEST_FILE = 16 * MAX_BYTES
AS_WRITTEN = (0.0, 0.0, 1.0, 0.0)

Vector = tuple[float, float, float]
Rotation = tuple[float, float, float, float]


def check_world(checks: Checks) -> None:
    """Adds what is wrong with places to the document's problems."""
    for path, robot in checks.made("robots", None):
        _standing(checks, path, robot.position, robot.rotation, needed="position")
        if robot.motion is not None and robot.position is not None:
            what = "a robot that moves by itself has no position"
            checks.error((*path, "position"), what, "delete position, or motion")
        if isinstance(robot.motion, MotionFile):
            _motion_file(checks, path, robot.motion)
    for path, fields in checks.made("robots", None, "devices", None):
        _standing(checks, path, fields.translation, fields.rotation)
    for path, adapter in checks.made("adapters", None):
        common = adapter.common
        needed = "position" if common.attached_to is None else ""
        _standing(checks, path, common.position, common.rotation, needed=needed)
    for path, node in checks.made("airs", None, "nodes", None):
        _standing(checks, path, node.position, None)
    for path, settings in checks.made("obstacles", None):
        try:
            obstacle(settings, 2)
        except ConfigError as error:
            checks.say(path, [(error.where, error.what, error.fix)])
    _names(checks)
    for path, mocap in checks.made("medium", "mocap"):
        _mocap(checks, path, mocap)


def pose_of(position: Vector | None, rotation: Rotation | None) -> Pose | None:
    """The pose two settings describe; None without a position."""
    return None if position is None else Pose.from_axis_angle(position, rotation or AS_WRITTEN)


def mount_of(position: Vector | None, rotation: Rotation | None) -> Pose:
    """The same for something on a robot, which is at the robot's own place by default."""
    return Pose.from_axis_angle(position or (0.0, 0.0, 0.0), rotation or AS_WRITTEN)


def read_motion(motion: Circle | Waypoints | MotionFile, robot: str) -> Any:
    """The motion these settings describe. Raises ConfigError when its file holds none."""
    return _read_file(motion, robot) if isinstance(motion, MotionFile) else motion


def in_folder(config: GatewayConfig, folder: FilePath) -> GatewayConfig:
    """The same configuration with the paths of its motions seen from where the program runs."""
    robots = dict(config.robots)
    for name, robot in robots.items():
        if isinstance(robot.motion, MotionFile):
            motion = dataclasses.replace(robot.motion, path=str(folder / robot.motion.path))
            robots[name] = dataclasses.replace(robot, motion=motion)
    return dataclasses.replace(config, robots=robots)


def address_of(listen: str) -> tuple[str, int]:
    """Host and port of HOST:PORT or [HOST]:PORT. ConfigError for what is no address."""
    host, _, port = listen.rpartition(":")
    host = "127.0.0.1" if host == "localhost" else host.strip("[]")
    try:
        ipaddress.ip_address(host)
    except ValueError:
        fix = "write an IP address, e.g. 127.0.0.1:9763"
        raise ConfigError(f"{quoted(host)} is no address", where="listen", fix=fix) from None
    if int(port) > 65535:
        raise ConfigError(f"there is no port {port}", where="listen", fix="0 to 65535")
    return host, int(port)


# --- inside -----------------------------------------------------------------------------------


def _standing(
    checks: Checks,
    path: Path,
    position: Vector | None,
    rotation: Rotation | None,
    *,
    needed: str = "",
) -> None:
    """A position and a rotation. needed: the key without which a rotation means nothing."""
    try:
        mount_of(position, rotation)
    except ConfigError as error:
        # A device's place is called translation, as in Webots.
        where = error.where
        if where not in descend(checks.document.data, path):
            where = "translation"
        checks.say(path, [(where, error.what, error.fix)])
        return
    if needed and rotation is not None and position is None:
        checks.warn((*path, "rotation"), f"means nothing without a {needed}")


def _motion_file(checks: Checks, path: Path, motion: MotionFile) -> None:
    folder = FilePath(checks.document.file).parent
    at = (*path, "motion", "path")
    try:
        _read_file(dataclasses.replace(motion, path=str(folder / motion.path)), str(path[-1]))
    except ConfigError as error:
        if error.where == "name":
            at = (*path, "motion", "name" if motion.name is not None else "path")
            checks.error(at, error.what, error.fix)
        else:
            checks.error(at, f"{printable(error.where)}: {error.what}", error.fix)


def _read_file(motion: MotionFile, robot: str) -> TimedPoses:
    """Raises ConfigError: `where` is the file with its line, or "name"."""
    name = robot if motion.name is None else motion.name
    motions = read_timed_poses(_text(motion.path), motion.path)
    if name not in motions:
        what = f"{printable(motion.path)} has no body {quoted(name)}"
        raise ConfigError(what, where="name", fix=suggest(name, motions))
    return motions[name]


def _text(path: str) -> str:
    """A plain file's text; what is none (a device, a pipe) could keep us waiting."""
    try:
        file = FilePath(path)
        if not stat.S_ISREG(file.stat().st_mode):
            raise ConfigError("is no plain file", where=path, fix="name a file of timed poses")
        with file.open("rb") as stream:
            data = stream.read(LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            raise ConfigError("is larger than 16 MiB", where=path, fix="use fewer poses")
        return data.decode()
    except UnicodeDecodeError:
        raise ConfigError("is not UTF-8 text", where=path, fix="save it as UTF-8") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"cannot be read: {reason}", where=path, fix="check the path") from None


def _names(checks: Checks) -> None:
    """Robots, adapters and obstacles are placed by name, so no two share one."""
    data = checks.document.data
    for path, _ in checks.each("obstacles", None):
        for section, what in (("robots", "a robot"), ("adapters", "an adapter")):
            if path[-1] in (descend(data, (section,)) or ()):
                checks.error(path, f"{quoted(str(path[-1]))} is {what} too", "rename one of them")


def _mocap(checks: Checks, path: Path, mocap: MocapConfig) -> None:
    for what, fix in _mocap_problems(mocap):
        checks.error((*path, "listen"), what, fix)


def _mocap_problems(mocap: MocapConfig) -> Iterator[tuple[str, str]]:
    try:
        host, _ = address_of(mocap.listen)
    except ConfigError as error:
        yield error.what, error.fix
        return
    if not ipaddress.ip_address(host).is_loopback and not mocap.allow_remote:
        yield (
            "whoever reaches this address can place every body",
            "listen on 127.0.0.1, or write allow_remote: true",
        )
