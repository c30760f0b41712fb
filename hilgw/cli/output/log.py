"""The log of a run: what the terminal shows, with deliveries and with the time of day."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import TextIO

from hilgw.cli.output.terminal import Terminal
from hilgw.errors import HilgwError


def open_log(path: str | None) -> AbstractContextManager[TextIO | None]:
    """The file, to append lines; None without one. HilgwError when it cannot be written."""
    if path is None:
        return nullcontext()
    try:
        return Path(path).open("a", encoding="utf-8", errors="backslashreplace", buffering=1)
    except OSError as error:
        raise HilgwError(
            f"cannot write: {error.strerror}", where=path, fix="name another file with --log"
        ) from None


def log_terminal(file: TextIO, screen: Terminal) -> Terminal:
    """The log. When it cannot be written any more it ends, with one notice on the screen."""

    def lost(error: OSError) -> None:
        screen.notice("log", f"{file.name}: {error.strerror}; the log ends here")

    return Terminal(file, verbose=True, stamp=time_of_day, on_lost=lost)


def time_of_day() -> str:
    """Now in local time with its offset from UTC (ISO 8601), to the millisecond."""
    return datetime.now().astimezone().isoformat(timespec="milliseconds")
