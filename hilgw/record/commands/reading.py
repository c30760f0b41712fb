"""Shared parts of commands on recordings: opening a file, and reporting a damaged end."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hilgw.cli.declaration import Option

if TYPE_CHECKING:
    from hilgw.record.recording import Recording


def recording(name: str) -> Option:
    """Return the argument of a recording."""
    return Option(name, metavar="FILE", type=Path, help="a recording, e.g. run.pcapng")


FILE = recording("file")


def opened(path: Path) -> "Recording":
    """Return the recording in this file.

    Raises:
        HilgwError: It is not a recording.
    """
    from hilgw.record.recording import Recording

    return Recording(path)


def report_end(recording: "Recording") -> int:
    """Print why the command did not reach the end of the file; return the exit code."""
    if recording.truncated:
        print(f"{recording.path}: ends within an event, as after a kill", file=sys.stderr)
    if recording.error is None:
        return 0
    print(f"hilgw: {recording.error}", file=sys.stderr)
    return recording.error.exit_code
