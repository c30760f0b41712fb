"""Where the control sockets of this user's gateways are, and which of them are live.

A gateway and its clients choose the same folder: $XDG_RUNTIME_DIR/hilgw; /tmp/hilgw-UID where that
variable is not set or names a folder of another user; /tmp/hilgw-UID-* where that belongs to
another user, too. Each has mode 0700.
"""

from __future__ import annotations

import os
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hilgw.errors import HilgwError, printable

SHARED = Path("/tmp")


def control_folder() -> Path:
    """The folder for a new control socket, made if needed.

    HilgwError when the folder of this user is open to others, or when none can be made.
    """
    for folder in _folders():
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            pass  # not ours to make; what is there decides
        if _is_private(folder):
            return folder
    try:
        return Path(tempfile.mkdtemp(prefix=f"{_shared_folder().name}-", dir=SHARED))
    except OSError as error:
        raise HilgwError(
            f"cannot make a private folder for the control socket: {error.strerror}",
            where=str(SHARED),
            fix="set XDG_RUNTIME_DIR, or name a path with --control",
        ) from None


def live_sockets() -> list[Path]:
    """The control sockets of this user's running gateways. HilgwError: see control_folder()."""
    return [path for path in control_sockets() if is_live(path)]


def control_sockets() -> list[Path]:
    """As live_sockets(), with those that killed gateways left behind; no program is asked."""
    found: list[Path] = []
    for folder in _folders():
        if not _is_private(folder):
            continue
        found += [path for path in sorted(folder.glob("*.sock")) if path.is_socket()]
        if folder.parent != SHARED:
            break  # XDG_RUNTIME_DIR keeps gateways apart
    return found


def is_live(path: Path) -> bool:
    """Whether a program listens on this socket; found out by a connection, closed at once."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True  # its queue is full, or it is not ours to judge
    return True


def program_at(path: Path) -> str:
    """The program that listens on this socket, where the system shows it: its number and its
    command line. It need not answer, so that a user can find one that hangs."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.setblocking(False)
            probe.connect(str(path))
            credentials = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        pid = int.from_bytes(credentials[:4], sys.byteorder)
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except (OSError, AttributeError):  # SO_PEERCRED: Linux alone
        return ""
    return f"process {pid}: {printable(' '.join(words).strip()[:200])}"


def _folders() -> Iterator[Path]:
    """The folders to try, in this order."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and _owner(Path(runtime)) in (None, os.getuid()):
        yield Path(runtime) / "hilgw"
    yield _shared_folder()
    yield from sorted(SHARED.glob(f"{_shared_folder().name}-*"))


def _shared_folder() -> Path:
    return SHARED / f"hilgw-{os.getuid()}"


def _owner(path: Path) -> int | None:
    try:
        return path.stat().st_uid
    except OSError:
        return None


def _is_private(folder: Path) -> bool:
    """False when it does not exist or belongs to another user. HilgwError when it belongs to this
    user and is open to others."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    if status.st_uid != os.getuid():
        return False
    if not stat.S_ISDIR(status.st_mode) or status.st_mode & 0o077:
        raise HilgwError(
            "not a private folder of this user",
            where=str(folder),
            fix="remove it, or set XDG_RUNTIME_DIR",
        )
    return True
