"""Files a command writes: checked at the start, not when they are written after hours."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

from hilgw.errors import HilgwError


def expect(path: str) -> None:
    """Raises HilgwError when `path` cannot be written now."""
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
    """Deletes a file that an earlier run left, so that a new one can only be of this run.

    Only regular files are deleted (not /dev/null). Raises HilgwError as `expect` does.
    """
    expect(path)
    try:
        if stat.S_ISREG(Path(path).stat().st_mode):
            Path(path).unlink()
    except FileNotFoundError:
        Path(path).unlink(missing_ok=True)  # a dangling link
    except OSError as error:
        raise HilgwError(f"cannot delete it: {error.strerror}", where=path) from None


def write(path: str, text: str) -> None:
    """Writes the whole text. Raises HilgwError."""
    try:
        Path(path).write_text(text)
    except OSError as error:
        raise HilgwError(f"cannot write: {error.strerror}", where=path) from None


def write_report(target: str | None, report: dict[str, Any]) -> None:
    """Writes a report as JSON to a file; "-": to stdout; None: nowhere. Raises HilgwError."""
    if target is None:
        return
    text = json.dumps(report, indent=2, allow_nan=False) + "\n"
    if target == "-":
        sys.stdout.write(text)
    else:
        write(target, text)
