"""The folder of this user's control sockets (`hilgw.protocols.gateway.paths`), made if needed."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path

from hilgw.errors import HilgwError
from hilgw.protocols.gateway.paths import DEAD, folders, is_private, shared_folder


def control_folder() -> Path:
    """The folder for a new control socket, made if needed.

    HilgwError when the folder of this user is open to others, or when none can be made.
    """
    user = os.getuid()
    for folder in folders(user, os.environ, Path.stat, Path.glob):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            pass  # another user's, perhaps: its status decides
        if is_private(folder, user, Path.lstat):
            return folder
    shared = shared_folder(user)
    try:
        return Path(tempfile.mkdtemp(prefix=f"{shared.name}-", dir=shared.parent))
    except OSError as error:
        raise HilgwError(
            f"cannot make a private folder for the control socket: {error.strerror}",
            where=str(shared.parent),
            fix="set XDG_RUNTIME_DIR, or name a path with --control",
        ) from None


def is_live(path: Path) -> bool:
    """Whether a program listens on this socket; found out by a connection, closed at once."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except DEAD:
            return False
        except OSError:
            return True
    return True
