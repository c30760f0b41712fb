"""The scene of a configuration: poses, motions, obstacles and motion capture."""

import dataclasses
import ipaddress
import stat
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

from hilgw import plugins
from hilgw.config.context import Inspection
from hilgw.config.model import (
    AdapterConfig,
    MocapConfig,
    MotionFile,
    Rotation,
    Vector,
)
from hilgw.config.source.text import MAX_BYTES, Path, descend
from hilgw.devices.properties import NodeFields
from hilgw.errors import ConfigError, printable, quoted, suggest
from hilgw.medium.motion import Circle, TimedPoses, Waypoints, read_timed_poses
from hilgw.medium.pose import Pose

LARGEST_FILE = 16 * MAX_BYTES
AS_WRITTEN = (0.0, 0.0, 1.0, 0.0)


def check_scene(inspection: Inspection) -> None:
    """Check all poses, motion files, obstacles and the motion capture address."""
    for path, robot in inspection.made("robots", None):
        _check_pose(inspection, path, robot.position, robot.rotation, needed="position")
        if robot.motion is not None and robot.position is not None:
            inspection.error(
                (*path, "position"), "position and motion exclude each other", "delete one of them"
            )
        if isinstance(robot.motion, MotionFile):
            _check_motion_file(inspection, path, robot.motion)
    for path, fields in inspection.made("robots", None, "devices", None):
        if not isinstance(fields, NodeFields):
            _check_pose(inspection, path, fields.translation, fields.rotation)
    for path, adapter in inspection.made("adapters", None):
        common = adapter.common
        needed = "position" if common.attached_to is None else ""
        _check_pose(inspection, path, common.position, common.rotation, needed=needed)
    for path, node in inspection.made("airs", None, "nodes", None):
        _check_pose(inspection, path, node.position, None)
    for path, settings in inspection.made("obstacles", None):
        from hilgw.medium.obstacles import obstacle

        try:
            obstacle(settings, 2)
        except ConfigError as error:
            inspection.config_error(path, error)
    _check_obstacle_names(inspection)
    for path, mocap in inspection.made("medium", "mocap"):
        for problem, fix in _mocap_problems(mocap):
            inspection.error((*path, "listen"), problem, fix)


def air_of(config: AdapterConfig, name: str) -> str:
    """Return the air of a station: the configured one, else one per kind and type, or per UART."""
    if config.common.air:
        return config.common.air
    type_ = plugins.load(plugins.ADAPTERS, config.kind).type
    return name if type_ == "serial" else f"{config.kind}/{type_}"


def pose_of(position: Vector | None, rotation: Rotation | None) -> Pose | None:
    """Return the pose of an object; None without a position."""
    return None if position is None else Pose.from_axis_angle(position, rotation or AS_WRITTEN)


def mount_of(position: Vector | None, rotation: Rotation | None) -> Pose:
    """Return the pose of a device relative to its robot; by default the robot's own."""
    return Pose.from_axis_angle(position or (0.0, 0.0, 0.0), rotation or AS_WRITTEN)


def read_motion(motion: Circle | Waypoints | MotionFile, robot: str) -> Any:
    """Return the motion of a robot, read from its file if need be, or raise ConfigError."""
    return _read_file(motion, robot) if isinstance(motion, MotionFile) else motion


def address_of(listen: str) -> tuple[str, int]:
    """Return host and port of HOST:PORT or [HOST]:PORT.

    Raises:
      ConfigError: the address is invalid.
    """
    host, _, port = listen.rpartition(":")
    host = "127.0.0.1" if host == "localhost" else host.strip("[]")
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise ConfigError(
            f"{quoted(host)} is not an IP address",
            where="listen",
            fix="write an IP address, e.g. 127.0.0.1:9763",
        ) from None
    if int(port) > 65535:
        raise ConfigError(f"port {port} is out of range", where="listen", fix="allowed: 0 to 65535")
    return host, int(port)


def _check_pose(
    inspection: Inspection,
    path: Path,
    position: Vector | None,
    rotation: Rotation | None,
    *,
    needed: str = "",
) -> None:
    try:
        mount_of(position, rotation)
    except ConfigError as error:
        # A device's position is called translation, as in Webots.
        where = error.where
        if where not in descend(inspection.document.data, path):
            where = "translation"
        inspection.errors(path, [(where, error.what, error.fix)])
        return
    if needed and rotation is not None and position is None:
        inspection.warn((*path, "rotation"), f"has no effect without a {needed}")


def _check_motion_file(inspection: Inspection, path: Path, motion: MotionFile) -> None:
    folder = FilePath(inspection.document.file).parent
    setting_path = (*path, "motion", "path")
    try:
        _read_file(dataclasses.replace(motion, path=str(folder / motion.path)), str(path[-1]))
    except ConfigError as error:
        if error.where == "name":
            setting_path = (*path, "motion", "name" if motion.name is not None else "path")
            inspection.error(setting_path, error.what, error.fix)
        else:
            inspection.error(setting_path, f"{printable(error.where)}: {error.what}", error.fix)


def _read_file(motion: MotionFile, robot: str) -> TimedPoses:
    """Read the motion of a robot.

    Raises:
        ConfigError: its `where` is the file with its line, or "name".
    """
    name = robot if motion.name is None else motion.name
    motions = read_timed_poses(_text(motion.path), motion.path)
    if name not in motions:
        raise ConfigError(
            f"{printable(motion.path)} has no object {quoted(name)}",
            where="name",
            fix=suggest(name, motions),
        )
    return motions[name]


def _text(path: str) -> str:
    """Return the text of a regular file; reading a device or a pipe could block."""
    try:
        file = FilePath(path)
        if not stat.S_ISREG(file.stat().st_mode):
            raise ConfigError("is not a regular file", where=path, fix="name a file of timed poses")
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


def _check_obstacle_names(inspection: Inspection) -> None:
    data = inspection.document.data
    for path, _ in inspection.each("obstacles", None):
        for section, noun in (("robots", "a robot"), ("adapters", "an adapter")):
            named = descend(data, (section,))
            if isinstance(named, dict) and path[-1] in named:
                inspection.error(
                    path, f"{quoted(str(path[-1]))} is {noun} too", "rename one of them"
                )


def _mocap_problems(mocap: MocapConfig) -> Iterator[tuple[str, str]]:
    try:
        host, _ = address_of(mocap.listen)
    except ConfigError as error:
        yield error.what, error.fix
        return
    if not ipaddress.ip_address(host).is_loopback and not mocap.allow_remote:
        yield (
            "any host that reaches this address can move every object",
            "listen on 127.0.0.1, or write allow_remote: true",
        )
