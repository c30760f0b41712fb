"""What a run shows on the terminal: states, packets as they pass, a summary."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

from hilgw.cli.output import control_loops as loop_lines
from hilgw.cli.output.outlet import Outlet
from hilgw.cli.output.text import Style, escape, use_colour
from hilgw.engine.observer import ControlLoopStatus, Missed, Observer, State, missed_by_none
from hilgw.medium.matching import stage
from hilgw.medium.packet import BROADCAST, Copy, Packet

PACKETS_PER_S = 40
TROUBLES_PER_S = 5
NOTICES_PER_S = 20
NAMES_SHOWN = 8
MISSED_SHOWN = 3  # for each reason
MANY = 64  # when verbose

_GOOD = {State.UP}
_BAD = {State.FAILED, State.STALLED, State.BACKOFF}


class RateLimit:
    """At most `per_second` lines a second; the rest is counted and said in one line."""

    def __init__(self, per_second: int) -> None:
        self._per_second = per_second
        self._since = -math.inf
        self._used = 0
        self.held_back = 0

    def admit(self, now_s: float) -> bool:
        # A second begins with a line, not with the clock's: two bursts are then a second apart.
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


class Terminal(Observer):
    """Writes one line an event. quiet: only troubles and the summary; verbose: deliveries too."""

    def __init__(
        self,
        out: TextIO | Outlet,
        *,
        quiet: bool = False,
        verbose: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._out = out
        self._quiet = quiet
        self._verbose = verbose
        self._clock = clock
        self._start = clock()
        self._style = Style(use_colour(out))
        self._packets = RateLimit(PACKETS_PER_S)
        self._troubles = RateLimit(TROUBLES_PER_S)
        # Of their own: refusals come in numbers, notices once; and nothing hides a stop.
        self._notices = RateLimit(NOTICES_PER_S)
        self._stops = RateLimit(TROUBLES_PER_S)

    def line(self, text: str) -> None:
        """A line as it is."""
        try:
            self._out.write(text + "\n")
            self._out.flush()
        except OSError:
            self._quiet = True  # the reader is gone; the gateway goes on

    def state(self, station: str, state: State, reason: str) -> None:
        if self._quiet and state not in _BAD:
            return
        word = state.value
        if state in _GOOD:
            word = self._style.good(word)
        elif state in _BAD:
            word = self._style.bad(word)
        self._say(station, f"{word}: {reason}" if reason else word)

    def transmitted(
        self,
        packet: Packet,
        listeners: Sequence[str],
        unheard: str | None,
        missed: Missed = missed_by_none,
    ) -> None:
        if self._quiet or not self._admit(self._packets, "packets"):
            return
        channel = "all" if packet.channel == BROADCAST else str(packet.channel)
        text = f"ch {channel:<3} {escape(packet.data)} {len(packet.data)} B"
        if packet.rssi_dbm is not None:
            about = "~" if packet.rssi_uncertain else ""
            text += f"  {about}{packet.rssi_dbm:.0f} dBm"
        if packet.address is not None:
            text += f"  from {packet.address}"
        if unheard is None:
            text += self._style.dim("  -> ") + _some(
                listeners, MANY if self._verbose else NAMES_SHOWN
            )
        else:
            text += self._style.bad(f"  unheard: {unheard.replace('_', ' ')}")
        if reasons := _by_reason(missed(), MANY if self._verbose else MISSED_SHOWN):
            text += self._style.dim(f"; not {reasons}")
        self._say(packet.source, text)

    def delivered(self, station: str, copy: Copy) -> None:
        if self._verbose and self._admit(self._packets, "packets"):
            data = copy.packet.data
            self._say(station, f"delivered {escape(data)} {len(data)} B from {copy.packet.source}")

    def refused(self, station: str, reason: str, text: str) -> None:
        if not self._quiet and self._admit(self._troubles, "refusals"):
            self._say(
                station, self._style.bad(f"refused ({reason.replace('_', ' ')})") + f" {text}"
            )

    def notice(self, source: str, text: str) -> None:
        if self._admit(self._notices, "notices"):
            self._say(source, text)

    def stopped(self, robot: str, reason: str, text: str) -> None:
        if self._admit(self._stops, "stops"):
            self._say(robot, self._style.bad("motors stopped") + f": {text}")

    def control_loop(self, robot: str, status: ControlLoopStatus) -> None:
        if not self._quiet:
            self._say(robot, loop_lines.status_line(status))

    def summary(self, report: dict[str, Any]) -> None:
        """The end of a run: who sent, who got, what was lost and why."""
        for line in summary_lines(report):
            self.line(line)

    def _admit(self, limit: RateLimit, what: str) -> bool:
        now = self._clock()
        if not limit.admit(now):
            return False
        held_back = limit.take_held_back()
        if held_back:
            self._say("", self._style.dim(f"... {held_back} more {what} not shown"))
        return True

    def _say(self, source: str, text: str) -> None:
        stamp = self._style.dim(f"{self._clock() - self._start:9.3f}")
        self.line(f"{stamp}  {self._style.strong(f'{source:<12}')} {text}")


def summary_lines(report: dict[str, Any]) -> list[str]:
    """The report in a few lines of text."""
    lines = [f"summary after {report['duration_s']:.1f} s"]
    for name, count in report["emitters"].items():
        unheard = _reasons(count["unheard"])
        lines.append(
            f"  {name:<14} sent {count['departed']} of {count['offered']}"
            + (f", rejected {_reasons(count['rejected'])}" if count["rejected"] else "")
            + (f", unheard {unheard}" if unheard else "")
            + (f", queued {count['queued']}" if count["queued"] else "")
            + (f", expired {count['expired']}" if count["expired"] else "")
            + _heard_by(report, name)
        )
    for name, count in report["stations"].items():
        latency = report["latency"].get(name, {})
        lines.append(
            f"  {name:<14} got {count['accepted']}, delivered {count['delivered']}"
            + (f", refused {_reasons(count['refused'])}" if count["refused"] else "")
            + (f", queued {count['queued']}" if count["queued"] else "")
            + (f", expired {count['expired']}" if count["expired"] else "")
            + (f"; {_latency(latency)}" if latency.get("count") else "")
            + _heard_by(report, name)
        )
    if mocap := report.get("mocap"):
        counts = {word: mocap[word] for word in ("malformed", "unknown") if mocap[word]}
        lines.append(
            f"  {'mocap':<14} {mocap['datagrams']} datagrams, {mocap['poses']} poses taken"
            + (f", {_reasons(counts)}" if counts else "")
        )
    for name, text in report["robots"].items():
        if text:
            lines.append(f"  {name:<14} {text}")
    lines.extend(loop_lines.summary_lines(report["control_loops"]))
    ledger = report["ledger"]
    lines.append("  the ledger adds up" if ledger["adds_up"] else "  THE LEDGER DOES NOT ADD UP:")
    lines.extend(f"    {violation}" for violation in ledger["violations"])
    return lines


def _heard_by(report: dict[str, Any], source: str) -> str:
    """Who heard this emitter or station, and how often."""
    counts = report["heard_by"].get(source, {})
    return f"; heard by {_some([f'{name} {n}' for name, n in counts.items()])}" if counts else ""


def _by_reason(missed: Mapping[str, str], shown: int) -> str:
    """Such as "a.rx (obstacle); b.rx, c.rx (range)": who nearly got it comes first."""
    reasons: dict[str, list[str]] = {}
    for name, reason in missed.items():
        reasons.setdefault(reason, []).append(name)
    return "; ".join(
        f"{_some(reasons[reason], shown)} ({reason.replace('_', ' ')})"
        for reason in sorted(reasons, key=stage, reverse=True)
    )


def _some(names: Sequence[str], shown: int = NAMES_SHOWN) -> str:
    """Names up to a number that can be read."""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more


def _reasons(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in counts.items())


def _latency(latency: dict[str, Any]) -> str:
    return (
        f"{latency['hop']} in p50 {latency['p50_ms']:.1f} ms, p99 {latency['p99_ms']:.1f} ms, "
        f"max {latency['max_ms']:.1f} ms"
    )
