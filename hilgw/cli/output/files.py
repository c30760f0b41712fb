"""Files a command writes: checked at the start, not when they are written after hours."""

import json
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hilgw.errors import HilgwError

# How a report of `hilgw doctor ROBOT` begins.
TEST_REPORT = b"# Test report on hardware"


def expect(path: str) -> None:
    """Raise HilgwError when `path` cannot be written now."""
    file = Path(path)
    if not path or file.is_dir():
        raise HilgwError("cannot write: it is a directory", where=path or "''", fix="name a file")
    target = file if file.exists() else file.parent
    if not target.exists():
        raise HilgwError(
            "cannot write: no such folder",
            where=path,
            fix=f"make the folder {file.parent}, or name another",
        )
    if not os.access(target, os.W_OK):
        raise HilgwError("cannot write: permission denied", where=path, fix="name another file")


def expect_report(target: str | None) -> None:
    """Raise HilgwError unless `write_report` can write there, and replaces at most a report."""
    if target in (None, "-"):
        return
    expect(target)
    _expect_own(Path(target), lambda content: "duration_s" in _mapping(content), "a report")


def expect_recording(path: str | None) -> None:
    """Raise HilgwError when no recording can begin in this file.

    None: there is none.
    """
    if path is not None:
        expect(path)
        expect_new(Path(path), "a recording replaces no file: name another")


def expect_test_report(path: str) -> None:
    """Raise HilgwError as `expect_report`, for the report of a first check."""
    expect(path)
    _expect_own(Path(path), lambda content: content.startswith(TEST_REPORT), "a test report")


def clear(path: str | None) -> None:
    """Delete the ready file of an earlier run, so that a new one can only be of this run.

    Only regular files are deleted (not /dev/null). None: there is no such file in this run.

    Raises:
        HilgwError: As from `expect`, and for a file that is not a ready file.
    """
    if path is None:
        return
    expect(path)
    file = Path(path)
    _expect_own(file, lambda content: content.strip().isdigit(), "a ready file")
    try:
        if stat.S_ISREG(file.stat().st_mode):
            file.unlink()
    except FileNotFoundError:
        file.unlink(missing_ok=True)  # a dangling link
    except OSError as error:
        raise HilgwError(f"cannot delete it: {error.strerror}", where=path) from None


def expect_new(path: Path, fix: str = "name a new file") -> None:
    """Raise HilgwError when there is something at `path`."""
    if os.path.lexists(path):
        raise HilgwError("exists already", where=str(path), fix=fix)


@contextmanager
def output(path: Path) -> Iterator[Path]:
    """Yield the file, or the folder, to write in the place of `path`.

    It gets this name when the block ends, and is removed after an error: `path` has the old content
    or all of the new one, so that who waits for a file finds it complete.

    A device, a pipe, and what is in a folder that takes no other file, are written themselves.

    Raises:
        HilgwError: In the place of an OSError.
    """
    from tempfile import TemporaryDirectory

    file = path.resolve()
    try:
        is_special = path.exists() and not (path.is_file() or path.is_dir())
        if is_special or not os.access(file.parent, os.W_OK):
            yield path
            return
        with TemporaryDirectory(prefix=".hilgw-", dir=file.parent) as folder:
            yield (fresh := Path(folder, file.name))
            if file.exists():
                fresh.chmod(stat.S_IMODE(file.stat().st_mode))
            fresh.replace(file)
    except OSError as error:
        raise HilgwError(f"cannot write: {error.strerror}", where=str(path)) from None


def write(path: str, text: str) -> None:
    """Write the whole text, or nothing, or raise HilgwError."""
    with output(Path(path)) as file:
        file.write_text(text, encoding="utf-8")


def write_ready(path: str | None) -> None:
    """Write the ready file of this run, if it has one, or raise HilgwError."""
    if path is not None:
        write(path, f"{os.getpid()}\n")


def write_schema(path: str, text: str) -> None:
    """Write a schema of configurations.

    Raises:
        HilgwError: `path` cannot be written, or has something else.
    """
    expect(path)
    _expect_own(
        Path(path),
        lambda content: str(_mapping(content).get("title", "")).startswith("hilgw"),
        "a schema",
    )
    write(path, text)


def write_report(target: str | None, report: dict[str, Any]) -> None:
    """Write a report as JSON to a file; "-": to stdout; None: nowhere.

    Raises HilgwError.
    """
    if target is None:
        return
    text = json.dumps(report, indent=2, allow_nan=False) + "\n"
    if target == "-":
        sys.stdout.write(text)
        return
    write(target, text)


def _expect_own(file: Path, is_own: Callable[[bytes], bool], noun: str) -> None:
    """Raise HilgwError for a regular file with other content; an empty file may be replaced."""
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            return
        content = file.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise HilgwError(f"cannot read: {error.strerror}", where=str(file)) from None
    if content.strip() and not is_own(content):
        raise HilgwError(
            f"this file exists and is not {noun} of hilgw",
            where=str(file),
            fix="name another file, or remove this one",
        )


def _mapping(content: bytes) -> dict[str, Any]:
    try:
        read = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}
