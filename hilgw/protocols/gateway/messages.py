"""The messages of a control socket, one JSON object per line, and the folders of the sockets.

A request and its answer are dataclasses (`hilgw.protocols.gateway.requests`): their fields are the
keys, and the types of their fields define the values. A field at its default may be left out. Both
have the key `version`. An answer has `ok` if the gateway did what was asked, `refused` with the
reason if it did not, or `error` with a text, and with `config` the gateway's file.

A gateway and its clients choose the same folder: $XDG_RUNTIME_DIR/hilgw; /tmp/hilgw-UID if that
variable is not set, is relative, or names a folder of another user; /tmp/hilgw-UID-* if that
belongs to another user, too. Each has mode 0700, or 0710 if a group may pass it. Those of services
are in /run/hilgw/NAME, which only root can make: a folder of another user elsewhere is never
trusted. The variable differs between the shells of one user (cron, su, ssh, a service): a client
that stops robots searches all of these, and /run/user/UID/hilgw.
"""

import json
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Protocol

from hilgw.errors import HilgwError, PeerError

VERSION = 2
"""The version of the requests, the answers and the events. 1 had no number."""

LINE_BYTES = 256 * 1024
"""The longest line of a request."""
ANSWER_BYTES = 16 * 1024 * 1024
"""The longest answer that a client accepts: the status of a hundred robots is longer than a line of
a request."""

RENEW_S = 0.1
"""Time after which a holder renews its lease."""
LEASE_S = 0.3
"""A lease that was not renewed for this long has expired."""


class VersionError(PeerError):
    """The two ends use different versions. client, gateway: None if there is no number."""

    def __init__(self, client: int | None, gateway: int | None) -> None:
        def words(version: int | None) -> str:
            return "no version" if version is None else f"version {version}"

        super().__init__(
            f"the gateway speaks {words(gateway)} of the control socket, the client "
            f"{words(client)}",
            fix="use the hilgw that the gateway runs with",
        )
        self.client = client


def version_of(message: Mapping[str, Any]) -> int | None:
    """Return the version of a message; None if it has none."""
    version = message.get("version")
    return version if type(version) is int else None


def encode(message: Mapping[str, Any]) -> bytes:
    """Return the line of a message."""
    return json.dumps(message).encode() + b"\n"


def keys_of(message: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as in JSON, without those at their defaults."""
    given = {}
    for declared in fields(message):
        value = getattr(message, declared.name)
        default = (
            declared.default if declared.default_factory is MISSING else declared.default_factory()
        )
        if value != default:
            given[declared.name] = value.hex() if isinstance(value, bytes) else value
    return given


SHARED = Path("/tmp")
SESSIONS = Path("/run/user")
SERVICES = Path("/run/hilgw")
PASS = 0o010  # a group passes the folder, and neither lists nor changes it
GATEWAY, LOOK = ".sock", ".look"
"""The suffixes of sockets: those of gateways, and of programs that are only watched."""
CONTROL = "HILGW_CONTROL"  # where a program that a gateway starts finds its control socket


def is_live(path: Path, connect: Callable[[str], None]) -> bool:
    """Return True if a program listens on this socket.

    Only the errors of a killed program mean that it is not live: after any other one its queue is
    full, or it belongs to another user. `connect` connects a local socket without blocking.
    """
    try:
        connect(str(path))
    except (ConnectionRefusedError, FileNotFoundError):
        return False
    except OSError:
        return True
    return True


class FileStatus(Protocol):
    """The part of `os.stat_result` that is used."""

    @property
    def st_uid(self) -> int: ...
    @property
    def st_mode(self) -> int: ...


StatusOf = Callable[[Path], FileStatus]
"""Asks the file system, as `Path.stat`. Raises OSError."""


def shared_folder(user: int) -> Path:
    """Return the folder of this user if XDG_RUNTIME_DIR names none."""
    return SHARED / f"hilgw-{user}"


def folders(
    user: int,
    environment: Mapping[str, str],
    status_of: StatusOf,
    glob: Callable[[Path, str], Iterable[Path]],
    *,
    everywhere: bool = False,
) -> Iterator[Path]:
    """Yield the folders to try, in this order.

    `status_of` and `glob` are `Path.stat` and `Path.glob`; `everywhere` adds the folders that
    another shell of this user chooses.
    """
    runtime = Path(environment.get("XDG_RUNTIME_DIR", ""))
    if runtime.is_absolute() and _owner(runtime, status_of) in (None, user):
        yield runtime / "hilgw"
    if everywhere:
        yield SESSIONS / str(user) / "hilgw"
    yield shared_folder(user)
    yield from sorted(glob(SHARED, f"{shared_folder(user).name}-*"))


def is_private(folder: Path, user: int, status_of: StatusOf) -> bool:
    """Return False if the folder does not exist or belongs to another user.

    `status_of` is `Path.lstat`.

    Raises:
        HilgwError: the folder belongs to this user and is open to others.
    """
    if _owner(folder, status_of) != user:
        return False
    mode = status_of(folder).st_mode
    if not stat.S_ISDIR(mode) or mode & 0o077 & ~PASS:
        raise HilgwError(
            "not a private folder of this user",
            where=str(folder),
            fix="remove it, or set XDG_RUNTIME_DIR",
        )
    return True


def service_folders(
    status_of: StatusOf, glob: Callable[[Path, str], Iterable[Path]]
) -> Iterator[Path]:
    """Yield the folders of services, whose sockets any user may use who has permission.

    `status_of` and `glob` are `Path.lstat` and `Path.glob`.
    """
    if _owner(SERVICES, status_of) == 0 and _is_closed(status_of(SERVICES).st_mode):
        for folder in sorted(glob(SERVICES, "*")):
            if _owner(folder, status_of) is not None and _is_closed(status_of(folder).st_mode):
                yield folder


def _is_closed(mode: int) -> bool:
    return stat.S_ISDIR(mode) and not mode & 0o022


def _owner(path: Path, status_of: StatusOf) -> int | None:
    try:
        return status_of(path).st_uid
    except OSError:
        return None
