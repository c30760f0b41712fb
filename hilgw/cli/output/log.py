"""The log of a run: what the terminal shows, with deliveries and with the time of day."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from hilgw.cli.output.terminal import Terminal
from hilgw.engine.observer import ControlLoopStatus, Missed, Observer, State, missed_by_none
from hilgw.errors import HilgwError

if TYPE_CHECKING:
    from hilgw.medium.packet import Copy, Packet


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


def log_to(file: TextIO, screen: Terminal) -> Terminals:
    """The screen and the log. A log that cannot be written any more ends with one notice."""

    def lost(error: OSError) -> None:
        screen.notice("log", f"{file.name}: {error.strerror}; the log ends here")

    return Terminals(screen, Terminal(file, verbose=True, stamp=time_of_day, on_lost=lost))


def time_of_day() -> str:
    """Now in local time with its offset from UTC (ISO 8601), to the millisecond."""
    return datetime.now().astimezone().isoformat(timespec="milliseconds")


class Terminals(Observer):
    """Several terminals as one: every event and every line goes to each."""

    def __init__(self, *terminals: Terminal) -> None:
        self._terminals = terminals

    def line(self, text: str) -> None:
        """Writes a line."""
        for each in self._terminals:
            each.line(text)

    def summary(self, report: dict[str, Any]) -> None:
        """Writes the summary of a run."""
        for each in self._terminals:
            each.summary(report)

    def state(self, station: str, state: State, reason: str) -> None:
        for each in self._terminals:
            each.state(station, state, reason)

    def transmitted(
        self,
        packet: Packet,
        listeners: Sequence[str],
        unheard: str | None,
        missed: Missed = missed_by_none,
    ) -> None:
        for each in self._terminals:
            each.transmitted(packet, listeners, unheard, missed)

    def delivered(self, station: str, copy: Copy) -> None:
        for each in self._terminals:
            each.delivered(station, copy)

    def refused(self, station: str, reason: str, text: str) -> None:
        for each in self._terminals:
            each.refused(station, reason, text)

    def notice(self, source: str, text: str) -> None:
        for each in self._terminals:
            each.notice(source, text)

    def output(self, source: str, line: str) -> None:
        for each in self._terminals:
            each.output(source, line)

    def stopped(self, robot: str, reason: str, text: str) -> None:
        for each in self._terminals:
            each.stopped(robot, reason, text)

    def armed(self, robot: str, armed: bool, text: str) -> None:
        for each in self._terminals:
            each.armed(robot, armed, text)

    def control_loop(self, robot: str, status: ControlLoopStatus) -> None:
        for each in self._terminals:
            each.control_loop(robot, status)
