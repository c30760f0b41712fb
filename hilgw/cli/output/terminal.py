"""The terminal during a run, and its log: states, packets, control loops, and the summary."""

import math
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from hilgw.cli.output.console import ConsoleWriter
from hilgw.cli.output.status import full_status, is_idle, short_status
from hilgw.cli.output.summary import summary_lines
from hilgw.cli.output.text import (
    COLUMNS,
    Style,
    hanging,
    one_line,
    second_column,
    use_colour,
)
from hilgw.engine.observer import ControlLoopStatus, State
from hilgw.engine.recording.event_stream import EventStream
from hilgw.errors import HilgwError
from hilgw.events.kinds import BAD, KINDS, NAMES, PORTS, Port, name_of, plain, severity, words
from hilgw.events.words import (
    MISSED_SHOWN,
    NAMES_SHOWN,
    by_reason,
    in_words,
    listing,
    sent_on,
)
from hilgw.medium.listeners import OutOfRange, stage
from hilgw.medium.medium import Missed
from hilgw.medium.packet import Packet
from hilgw.reasons import NotReceivedReason

PACKETS_PER_S, TROUBLES_PER_S = 40, 5
# Separate limits: many refusals must not hide a notice, and nothing may hide a stop.
PER_S = {
    "packets": PACKETS_PER_S,
    "refusals": TROUBLES_PER_S,
    "notices": 20,
    "lines of output": 100,  # that child processes print
    "stops": TROUBLES_PER_S,
}
# The limit of each kind of events but ports.
LIMITED = {
    "packet": "packets",
    "delivered": "packets",
    "refused": "refusals",
    "notice": "notices",
    "output": "lines of output",
    "stopped": "stops",
    "armed": "stops",
}
# The kinds that are shown to the quiet, too; of ports, what is wrong.
LOUD = ("port", "notice", "output", "stopped", "armed")
STATES_PER_S = 200  # of all stations: enough for the start of a large configuration
STATES_PER_STATION = 20  # three times down and up again
MANY = 64  # when verbose


class RateLimit:
    """At most `per_second` lines a second; the others are counted."""

    def __init__(self, per_second: int) -> None:
        self._per_second = per_second
        self._since = -math.inf
        self._used = 0
        self.held_back = 0

    def admit(self, now_s: float) -> bool:
        # A second begins with a line, so that two bursts are a second apart.
        if now_s >= self._since + 1:
            self._since, self._used = now_s, 0
        self._used += 1
        if self._used > self._per_second:
            self.held_back += 1
            return False
        return True

    def take_held_back(self) -> int:
        count, self.held_back = self.held_back, 0
        return count


class StateLimit:
    """The rate limit of states: for each station, so that one hides no other, and for all."""

    def __init__(self) -> None:
        self._all = RateLimit(STATES_PER_S)
        self._stations: dict[str, RateLimit] = {}
        self._held_back_since = -math.inf
        self._held_back = 0

    def admit(self, station: str, now_s: float) -> bool:
        if station not in self._stations:
            self._stations[station] = RateLimit(STATES_PER_STATION)
        if self._stations[station].admit(now_s) and self._all.admit(now_s):
            return True
        if not self._held_back:
            self._held_back_since = now_s
        self._held_back += 1
        return False

    def take_held_back(self, now_s: float = math.inf) -> int:
        """Return how many were held back, a second after the first of them or later; else 0."""
        if now_s < self._held_back_since + 1:
            return 0
        count, self._held_back = self._held_back, 0
        return count


class Terminal(EventStream):
    """Writes one line per event.

    quiet: only errors and the summary; verbose: deliveries too. status: off, short or full. is_log:
    no line is held back or wrapped.

    stamp: what a line begins with; None: the seconds since the start. on_lost: called when the
    output cannot be written, such as to a pipe whose reader has gone; then only errors go there.
    """

    def __init__(
        self,
        out: TextIO | ConsoleWriter,
        *,
        quiet: bool = False,
        verbose: bool = False,
        status: str = "short",
        is_log: bool = False,
        clock: Callable[[], float] = time.monotonic,
        stamp: Callable[[], str] | None = None,
        on_lost: Callable[[OSError], None] = lambda error: None,
    ) -> None:
        others = () if quiet else ("packet", "refused", *["delivered"] * verbose)
        super().__init__((*LOUD, *others))
        self.observed = [*self.observed, "control_loop"]
        self._out = out
        self._stamp = stamp
        self._on_lost = on_lost
        self._quiet = quiet
        self._ports: dict[str, State] = {}
        self._status = status
        self._is_log = is_log
        self._idle: dict[str, bool] = {}  # of robots whose last status had nothing: a controller
        self._verbose = verbose
        self._clock = clock
        self._start = clock()
        self._style = Style(use_colour(out))
        self._limits = {what: RateLimit(per_s) for what, per_s in PER_S.items()}
        self._states = StateLimit()

    def line(self, text: str) -> None:
        """Write a line."""
        text = one_line(text)
        if self._stamp:
            self._put(f"{self._stamp()}  {text}")
        elif self._out.isatty():
            self._put_hanging(text, second_column(text))
        else:
            self._put(text)

    def describe(self, lines: Iterable[str]) -> None:
        """Write the lines of the description of a configuration."""
        for line in lines:
            if self._is_log:
                self.line(line)
            else:
                self._put_hanging(one_line(line), second_column(line))

    def _put_hanging(self, line: str, indent: int) -> None:
        self._put("\n".join(hanging(line, self._width(), indent)))

    def _width(self) -> int:
        return shutil.get_terminal_size().columns if self._out.isatty() else COLUMNS

    def _put(self, line: str) -> None:
        try:
            self._out.write(line + "\n")
            self._out.flush()
        except OSError as error:
            was_quiet, self._quiet = self._quiet, True
            if not was_quiet:
                self._on_lost(error)

    def expect(self, stations: Iterable[str]) -> None:
        """Note the hardware stations, whose ports are not up yet."""
        for name in stations:
            self._ports.setdefault(name, State.CLOSED)

    def state(self, station: str, state: State, reason: str) -> None:
        if station in self._ports:
            self._ports[station] = state
        is_shown = not self._quiet or PORTS.get(state, BAD) == BAD
        if is_shown and (self._is_log or self._states.admit(station, self._clock())):
            self.emit(True, Port(station, str(state), str(reason)))

    def armed(self, robot: str, armed: bool, text: str) -> None:
        if text:  # else `stopped` or a notice contains it
            self._report(KINDS["armed"], robot, armed, text)

    def takers(self, kind: type[Any], *names: str, lost: bool = False) -> bool:
        return self._admit(LIMITED[NAMES[kind]])

    def emit(self, takers: Any, event: Any) -> None:
        shown = plain(event)
        self._write(name_of(shown), self._style.of(severity(shown), one_line(words(shown))))

    def transmitted(
        self,
        packet: Packet,
        listeners: Sequence[str],
        not_received: NotReceivedReason | None,
        missed: Missed,
    ) -> None:
        if not self._admit("packets"):
            return
        about = "~" if packet.rssi_uncertain else ""
        text = sent_on(packet.channel, packet.data, packet.rssi_dbm, about)
        if packet.address is not None:
            text += f"  from {packet.address}"
        if not_received is None:
            text += self._reached(listeners)
        else:
            text += self._style.bad(f"  not received: {in_words(not_received)}")
        if misses := missed():  # the nearest miss comes first
            nearest = dict(sorted(misses.items(), key=lambda each: stage(each[1]), reverse=True))
            shown = MANY if self._verbose else MISSED_SHOWN
            text += self._style.dim(f"; not {by_reason(nearest, shown, _how)}")
        self._write(packet.source, text)

    def _reached(self, listeners: Sequence[str]) -> str:
        shown = MANY if self._verbose else NAMES_SHOWN
        states = {each: self._ports.get(each, State.UP) for each in listeners}
        there = [name for name, state in states.items() if state is State.UP]
        text = self._style.dim("  -> ") + listing(there, shown) if there else ""
        waiting = {
            name: "handshake" if state is State.HANDSHAKE else "port down"
            for name, state in states.items()
            if state is not State.UP
        }
        return text + (
            self._style.bad(f"  waits for {by_reason(waiting, shown)}") if waiting else ""
        )

    def control_loop(self, robot: str, status: ControlLoopStatus) -> None:
        """Show the status of a control loop.

        One without sensors and motors, such as a gateway robot, is shown when its controller comes
        or goes.
        """
        if self._quiet or self._status == "off":
            return
        if not is_idle(status):
            self._idle.pop(robot, None)
        elif self._idle.get(robot) is status.controller:
            return
        else:
            self._idle[robot] = status.controller
        if self._is_log:
            self._write(robot, full_status(status))
            return
        stamp = f"{self._clock() - self._start:9.3f}  {robot:<12} "
        width = self._width()
        short = self._status == "short"
        text = short_status(status, width - len(stamp)) if short else full_status(status)
        line = self._style.dim(stamp[:11]) + self._style.strong(stamp[11:]) + text
        self._put_hanging(line, len(stamp))

    def summary(self, report: dict[str, Any]) -> None:
        """Write the summary of a run."""
        self._show_held_back(self._states.take_held_back(), "states")
        for kind, limit in self._limits.items():
            self._show_held_back(limit.take_held_back(), kind)
        for line in summary_lines(report):
            self.line(line)

    def _admit(self, kind: str) -> bool:
        if self._is_log:
            return True
        limit = self._limits[kind]
        if is_shown := limit.admit(self._clock()):
            self._show_held_back(limit.take_held_back(), kind)
        return is_shown

    def _show_held_back(self, count: int, kind: str) -> None:
        if count:
            self._write("", self._style.dim(f"... {count} more {kind} not shown"))

    def _write(self, source: str, text: str) -> None:
        # With any line, or the last states of a station that is quiet now are never mentioned.
        self._show_held_back(self._states.take_held_back(self._clock()), "states")
        stamp = self._stamp() if self._stamp else f"{self._clock() - self._start:9.3f}"
        line = f"{self._style.dim(stamp)}  {self._style.strong(f'{source:<12}')} {text}"
        if self._is_log or not self._out.isatty():
            self._put(line)
        else:
            self._put_hanging(line, len(stamp) + 3 + max(12, len(source)))


def _how(reasons: Sequence[str]) -> str:
    """Return one reason in words; of several that are out of range, the distance of the nearest."""
    far = [each for each in reasons if isinstance(each, OutOfRange)]
    if not far:
        return in_words(reasons[0])
    nearest = min(far, key=lambda each: each.distance)
    more = " and more" if len(far) > 1 else ""
    return f"range {nearest.limit:g} m, distance {nearest.distance:.3g} m{more}"


# --- the log: what the terminal shows, with deliveries and with the time of day -------------------


def open_log(path: str | None) -> AbstractContextManager[TextIO | None]:
    """Return the file, to append lines; None without one.

    Raises:
        HilgwError: It cannot be written.
    """
    if path is None:
        return nullcontext()
    try:
        return Path(path).open("a", encoding="utf-8", errors="backslashreplace", buffering=1)
    except OSError as error:
        raise HilgwError(
            f"cannot write: {error.strerror}", where=path, fix="name another file with --log"
        ) from None


def log_terminal(file: TextIO, screen: Terminal) -> Terminal:
    """Return the log.

    When it cannot be written any more it ends, with one notice on the screen.
    """

    def lost(error: OSError) -> None:
        screen.notice("log", f"{file.name}: {error.strerror}; the log ends here")

    return Terminal(
        file,
        verbose=True,
        is_log=True,
        stamp=lambda: datetime.now().astimezone().isoformat(timespec="milliseconds"),
        on_lost=lost,
    )
