"""What the commands on recordings share: opening a file, and what is missing at its end."""

from __future__ import annotations

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


def opened(path: Path) -> Recording:
    """The recording in this file. HilgwError when it is none."""
    from hilgw.record.recording import Recording

    return Recording(path)


def report_end(recording: Recording) -> int:
    """Prints what kept the command from the end of the file; returns the exit code."""
    if recording.truncated:
        print(f"{recording.path}: ends within an event, as after a kill", file=sys.stderr)
    if recording.error is None:
        return 0
    print(f"hilgw: {recording.error}", file=sys.stderr)
    return recording.error.exit_code
