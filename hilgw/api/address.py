"""The address of the simulator: the environment variables of Webots.

Source: Webots user guide, "Running Extern Robot Controllers"; the search of libController R2025a.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from hilgw.errors import PeerError
from hilgw.protocols.webots.handshake import DEFAULT_PORT, EXTERN, URL, instances_of, socket_path

_FIX = "write tcp://HOST:PORT/ROBOT, tls://HOST:PORT/ROBOT or ipc://INSTANCE/ROBOT"


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """The address of a robot.

    robot: None for the only one with an <extern> controller. tls and token: of a gateway of hilgw.
    """

    host: str
    port: int
    robot: str | None
    tls: bool = False
    token: str | None = None


@dataclass(frozen=True, slots=True)
class LocalAddress:
    """A local socket of a simulator on this machine."""

    path: Path


class NotReady(Exception):
    """There is no simulator yet, or its world is loading, as the text reports."""


def find(environment: Mapping[str, str]) -> TcpAddress | LocalAddress:
    """Return the simulator that these variables name; without any, the one that started last.

    Raises:
      NotReady: there is no simulator yet.
      PeerError: a variable can never work.
    """
    instance, robot = (
        environment.get("WEBOTS_INSTANCE_PATH"),
        environment.get("WEBOTS_ROBOT_NAME"),
    )
    if instance and robot:  # started by the simulator itself
        return LocalAddress(socket_path(Path(instance), robot, "intern"))
    url = environment.get(URL, "")
    if "://" not in url:
        return _newest(url or None, environment)
    try:
        parts = urlsplit(url)
        port = parts.port or DEFAULT_PORT
        (parts.hostname or "").encode("idna")  # as `connect` will
    except ValueError as error:
        raise PeerError(f"is not an address: {error}", where=url, fix=_FIX) from None
    name = unquote(parts.path.strip("/")) or None
    if parts.scheme in ("tcp", "tls"):
        if not parts.hostname:
            raise PeerError("host is missing", where=url, fix=_FIX)
        (token,) = parse_qs(parts.query).get("token", [None])[:1]
        return TcpAddress(parts.hostname, port, name, parts.scheme == "tls", token)
    if parts.scheme == "ipc":
        instances = instances_of(environment)
        return _in_instance(instances / unquote(parts.netloc), name)
    raise PeerError(f"cannot use '{parts.scheme}://'", where=url, fix=_FIX)


def _newest(robot: str | None, environment: Mapping[str, str]) -> LocalAddress:
    folder = instances_of(environment)
    try:
        folders = [path for path in folder.iterdir() if path.is_dir() and path.name.isdecimal()]
        newest = max(folders, key=lambda path: path.stat().st_mtime)
    except (OSError, ValueError):
        raise NotReady("no simulator is running on this machine") from None
    return _in_instance(newest, robot)


def _in_instance(instance: Path, robot: str | None) -> LocalAddress:
    if (instance / "loading").exists():
        raise NotReady("the simulator is loading its world")
    if robot is not None:
        path = socket_path(instance, robot, EXTERN)
        if not path.exists():
            raise NotReady(f"robot '{robot}' has no <extern> controller")
        return LocalAddress(path)
    sockets = sorted((instance / "ipc").glob(f"*/{EXTERN}"))
    if not sockets:
        raise NotReady("no robot has an <extern> controller")
    if len(sockets) > 1:
        names = ", ".join(unquote(path.parent.name) for path in sockets)
        raise PeerError(
            f"several robots have an <extern> controller: {names}",
            where=str(instance),
            fix="name one in WEBOTS_CONTROLLER_URL",
        )
    return LocalAddress(sockets[0])
