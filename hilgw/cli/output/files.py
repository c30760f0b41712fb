"""Files a command writes: looked at when it starts, not after hours when they are due."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from hilgw.errors import HilgwError


def expect(path: str) -> None:
    """HilgwError when `path` could not be written now."""
    file = Path(path)
    if not path or file.is_dir():
        raise HilgwError("cannot write: it is a directory", where=path or "''", fix="name a file")
    target = file if file.exists() else file.parent
    if not target.exists():
        fix = f"make the folder {file.parent}, or name another"
        raise HilgwError("cannot write: no such folder", where=path, fix=fix)
    if not os.access(target, os.W_OK):
        raise HilgwError("cannot write: permission denied", where=path, fix="name another file")


def clear(path: str) -> None:
    """A file that an earlier run left is gone, so that its coming means this run. What is no file
    (/dev/null) stays. HilgwError as of `expect`."""
    expect(path)
    try:
        if stat.S_ISREG(Path(path).stat().st_mode):
            Path(path).unlink()
    except FileNotFoundError:
        Path(path).unlink(missing_ok=True)  # a link that leads nowhere
    except OSError as error:
        raise HilgwError(f"cannot delete it: {error.strerror}", where=path) from None


def write(path: str, text: str) -> None:
    """The whole text, or a HilgwError."""
    try:
        Path(path).write_text(text)
    except OSError as error:
        raise HilgwError(f"cannot write: {error.strerror}", where=path) from None
