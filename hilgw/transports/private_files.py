"""Files that other users of this machine can read: a token, or the private key of TLS."""

import os
import stat
from pathlib import Path

TOKEN_READABLE = "other users can read the token file"
KEY_READABLE = "every user can read the private key"


def is_token_exposed(mode: int) -> bool:
    """Return whether a token file of this mode is readable by more than its owner."""
    return os.name == "posix" and bool(stat.S_IMODE(mode) & 0o077)


def is_key_exposed(mode: int) -> bool:
    """Return whether others may read the key; a group may, as that of a service does."""
    return os.name == "posix" and bool(mode & stat.S_IROTH)


def mode_of(path: Path) -> int | None:
    """Return the mode of a file; None if there is none, or it cannot be reached."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return None


def make_private(path: Path) -> str:
    """Return the command that makes the file private."""
    return f"chmod 600 {path}"
