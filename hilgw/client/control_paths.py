"""The control sockets of this user's gateways (`hilgw.protocols.gateway.paths`), and which of them
are live."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

from hilgw.errors import printable
from hilgw.protocols.gateway import paths
from hilgw.protocols.gateway.paths import (
    GATEWAY,
    LOOK,
    folders,
    is_private,
    service_folders,
    shared_folder,
)


def live_sockets(suffix: str = GATEWAY) -> list[Path]:
    """The control sockets of this user's running gateways; with LOOK of the programs that are only
    watched, `hilgw bridge` and `mock`. HilgwError: their folder is open to other users."""
    return [path for path in control_sockets(suffix) if is_live(path)]


def control_sockets(suffix: str = GATEWAY) -> list[Path]:
    """The paths of live_sockets(), and those that killed gateways left behind; asks no program."""
    user = os.getuid()
    found: list[Path] = []
    for folder in folders(user, os.environ, Path.stat, Path.glob):
        if not is_private(folder, user, Path.lstat):
            continue
        found += [path for path in sorted(folder.glob(f"*{suffix}")) if path.is_socket()]
        if folder.parent != shared_folder(user).parent:
            break  # XDG_RUNTIME_DIR keeps gateways apart
    if suffix == LOOK:
        return found
    return found + [each for each in _sockets_of_services() if each not in found]


def _sockets_of_services() -> list[Path]:
    """Those that this user may use. `glob` finds nothing in a folder that the user cannot list."""
    services = service_folders(Path.lstat, Path.glob)
    found = [path for folder in services for path in sorted(folder.glob("*.sock"))]
    return [path for path in found if path.is_socket() and os.access(path, os.R_OK | os.W_OK)]


def is_live(path: Path) -> bool:
    """Whether a program listens on this socket; found out by a connection, closed at once."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        return paths.is_live(path, probe.connect)


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
