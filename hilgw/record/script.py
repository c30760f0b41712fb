"""What passed on each line of a recording, in the order in which a replay gives it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum, auto
from functools import lru_cache
from pathlib import Path

from hilgw.record.recording import Recording
from hilgw.records import record
from hilgw.units import NS_PER_S

MOST_STEPS = 1_000_000
MOST_BYTES = 256 * 1024 * 1024
"""Of all lines of a recording; what is longer is replayed up to there."""
CONNECTED = ("handshake", "up", "stalled")


class Kind(Enum):
    """SENT: by hilgw. RECEIVED: from the device. OPENED: a connection begins. LOST: the device ends
    it; CLOSED: hilgw does."""

    SENT = auto()
    RECEIVED = auto()
    OPENED = auto()
    LOST = auto()
    CLOSED = auto()


@record
class Step:
    """One thing that passed, at this time of the gateway's clock."""

    kind: Kind
    time_ns: int
    data: bytes = b""


@record
class Script:
    """A line. begin_ns, end_ns: of the recording. opened: how many steps lead to its first `up`."""

    steps: tuple[Step, ...]
    begin_ns: int
    end_ns: int
    opened: int = 0

    def at(self, from_s: float) -> Script:
        """From this time of the recording on; before it what leads to `up`, as a module is set up
        when its port opens."""
        head, first_ns = self.steps[: self.opened], self.begin_ns + int(from_s * NS_PER_S)
        gap_ns = max(0, first_ns - (head[-1].time_ns if head else self.begin_ns)) if from_s else 0
        rest = [
            replace(step, time_ns=step.time_ns - gap_ns)
            for step in self.steps[self.opened :]
            if not from_s or step.time_ns >= first_ns
        ]
        return replace(self, steps=(*head, *rest), end_ns=self.end_ns - gap_ns)


class _Line:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.opened = 0
        self._is_open = self._is_connected = False

    def open(self, now: int) -> None:
        if not self._is_open:
            self._is_open = True
            self.steps.append(Step(Kind.OPENED, now))

    def enter(self, now: int, state: str, reason: str) -> None:
        """The port of this line entered a state."""
        if state == "opening" or state in CONNECTED:
            self.open(now)
            self._is_connected = state in CONNECTED
        elif self._is_open and state != "closed":
            self._is_open = False
            if not self._is_connected and self.steps[-1].kind is Kind.OPENED:
                self.steps.pop()  # it did not open, or listens
                return
            self.steps.append(Step(Kind.LOST if reason == "lost" else Kind.CLOSED, now))
        if state == "up" and not self.opened:
            self.opened = len(self.steps)


def scripts_of(path: Path) -> Mapping[str, Script]:
    """The lines of a recording, by the names of their parts. RecordingError when it is none; what
    is readable of a damaged one is read."""
    status = path.stat() if path.exists() else None
    return _scripts(path, status.st_mtime_ns if status else 0, status.st_size if status else 0)


@lru_cache(maxsize=2)
def _scripts(path: Path, _changed_ns: int, _size: int) -> Mapping[str, Script]:
    lines: dict[str, _Line] = {}
    begin = end = None
    steps = size = 0
    for event in Recording(path).events():
        kind, end = event["event"], event["time_ns"]
        begin = end if begin is None else begin
        name = event.get("part" if kind == "bytes" else "name")
        if kind not in ("bytes", "port") or type(name) is not str:
            continue
        line = lines.setdefault(name, _Line())
        if kind == "port":
            line.enter(end, str(event.get("state")), str(event.get("reason")))
            continue
        data = bytes.fromhex(event["data"])
        steps, size = steps + 1, size + len(data)
        if steps > MOST_STEPS or size > MOST_BYTES:
            break
        line.open(end)
        if data and event["direction"]:
            is_sent = event["direction"] == "sent"
            line.steps.append(Step(Kind.SENT if is_sent else Kind.RECEIVED, end, data))
    return {
        name: Script(tuple(line.steps), begin or 0, end or 0, line.opened)
        for name, line in lines.items()
    }
