"""The steps on each line of a recording, in the order in which a replay plays them."""

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum, auto
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from hilgw.control.events import StopReason
from hilgw.record.recording import Recording
from hilgw.records import record
from hilgw.units import NS_PER_S

MOST_STEPS = 1_000_000
MOST_BYTES = 256 * 1024 * 1024
"""Bytes of all lines of a recording; a longer one is replayed up to there."""
NEVER_NS = 1 << 64
CONNECTED = ("handshake", "up", "stalled")


class StepKind(Enum):
    """The kind of a step.

    SENT: by hilgw. RECEIVED: from the device. OPENED: a connection starts. LOST: the device ends
    it; CLOSED: hilgw does.
    """

    SENT = auto()
    RECEIVED = auto()
    OPENED = auto()
    LOST = auto()
    CLOSED = auto()


BYTES = {"sent": StepKind.SENT, "received": StepKind.RECEIVED}


@record
class ScriptStep:
    """A step, at this time of the gateway's clock."""

    kind: StepKind
    time_ns: int
    data: bytes = b""


@record
class Script:
    """The steps of a line.

    begin_ns, end_ns: of the recording. opened: the number of steps up to its first `up`. ended_ns:
    the run ended; hilgw need not send later frames again, such as a stop.
    """

    steps: tuple[ScriptStep, ...]
    opened: int
    begin_ns: int
    end_ns: int
    ended_ns: int = NEVER_NS

    def at(self, from_s: float) -> "Script":
        """Return the script from this time on, after the steps up to the first `up`.

        A module is set up when its port opens.
        """
        head, first_ns = self.steps[: self.opened], self.begin_ns + int(from_s * NS_PER_S)
        gap_ns = max(0, first_ns - (head[-1].time_ns if head else self.begin_ns)) if from_s else 0
        rest = [
            replace(step, time_ns=step.time_ns - gap_ns)
            for step in self.steps[self.opened :]
            if not from_s or step.time_ns >= first_ns
        ]
        end_ns, ended_ns = self.end_ns - gap_ns, self.ended_ns - gap_ns
        return replace(self, steps=(*head, *rest), end_ns=end_ns, ended_ns=ended_ns)


Passed = tuple[int, bool, str, Any]
"""Time, whether it is a state of the port, the state and its reason; or direction and bytes."""


def scripts_of(path: Path) -> Mapping[str, Script]:
    """Return the lines of a recording, by the names of their parts.

    The readable part of a damaged one is read.

    Raises:
      RecordingError: it is not a recording.
    """
    status = path.stat() if path.exists() else None
    return _scripts(path, status.st_mtime_ns if status else 0, status.st_size if status else 0)


@lru_cache(maxsize=2)
def _scripts(path: Path, _changed_ns: int, _size: int) -> Mapping[str, Script]:
    lines: dict[str, list[Passed]] = {}
    begin = end = None
    ended_ns = NEVER_NS
    steps = size = 0
    for event in Recording(path).events():
        kind, end = event["event"], event["time_ns"]
        begin = end if begin is None else begin
        # The stop is reported once its bytes have left, and they perhaps behind it.
        is_end = kind == "stopped" and event["reason"] == StopReason.ENDED
        if ended_ns < NEVER_NS or is_end:
            ended_ns = min(ended_ns, end)
        if is_end:
            sent = (
                each
                for name, line in lines.items()
                if name in (event["robot"], f"{event['robot']}.body")
                for each in line
            )
            ended_ns = max((at for at, _, word, _ in sent if word == "sent"), default=ended_ns)
        name = event.get("part" if kind == "bytes" else "name")
        if kind not in ("bytes", "port") or type(name) is not str:
            continue
        line = lines.setdefault(name, [])
        if kind == "port":
            line.append((end, True, str(event.get("state")), event.get("reason")))
        else:
            line.append((end, False, event["direction"], bytes.fromhex(event["data"])))
            size += len(event["data"]) // 2
        steps += 1
        if steps > MOST_STEPS or size > MOST_BYTES:
            break
    times = begin or 0, end or 0, ended_ns
    return {name: Script(*_steps(passed), *times) for name, passed in lines.items()}


def _steps(passed: list[Passed]) -> tuple[tuple[ScriptStep, ...], int]:
    """Return the steps of a line, and how many lead to its first `up`.

    Bytes are reported a little later than a state of the port of the same time, which they may have
    caused.
    """
    steps: list[ScriptStep] = []
    is_open, is_connected, up_ns = False, False, -1
    for now, is_state, word, more in sorted(passed, key=itemgetter(0)):
        opens = not is_state or word == "opening" or word in CONNECTED
        is_last = bool(steps) and not is_open and not is_state and steps[-1].time_ns == now
        if opens and not is_open and not is_last:
            steps.append(ScriptStep(StepKind.OPENED, now))
            is_open, is_connected = True, False
        if not is_state and more and word in BYTES:
            steps.insert(len(steps) - is_last, ScriptStep(BYTES[word], now, more))
        elif is_state and opens:
            is_connected = word in CONNECTED
        elif is_state and is_open and word != "closed":
            is_open = False
            if not is_connected and steps[-1].kind is StepKind.OPENED:
                steps.pop()  # it did not open, or listens
            else:
                steps.append(ScriptStep(StepKind.LOST if more == "lost" else StepKind.CLOSED, now))
        up_ns = now if word == "up" and up_ns < 0 else up_ns
    return tuple(steps), sum(step.time_ns <= up_ns for step in steps)
