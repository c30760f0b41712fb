"""Whether and when a program starts again after it has ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hilgw.units import NS_PER_S

Restart = Literal["never", "on-failure", "with-body"]

BACKOFF_S = (0.5, 1.0, 2.0, 5.0, 10.0)
FAILURES = 10  # in a row; then it stays down
STEADY_NS = 60 * NS_PER_S  # a run of so long ends a row

_AGAIN = "start hilgw again"


@dataclass(frozen=True, slots=True)
class Verdict:
    """pause_s: the least time until it starts again, which waits for the body, too; None: it stays
    down. why: what keeps it down, where it did not end by itself; fix: what to do then."""

    pause_s: float | None
    why: str = ""
    fix: str = ""


class Restarts:
    """The restarts of one program. A run that ends is a failure in a row with those before it,
    whatever ended it: neither a program nor a body that comes and goes restarts it for ever."""

    def __init__(self, restart: Restart, *, latches: bool = True) -> None:
        """latches: the loss of a body disarms the robot, or the body is simulated. Else a program
        that was dismissed stays down: it would move the robot again without a human."""
        self._restart = restart
        self._latches = latches
        self._failures = 0  # in a row
        self._begun_ns = 0
        self._dismissed = False

    def begin(self, now: int) -> None:
        """The program starts."""
        self._begun_ns, self._dismissed = now, False

    def dismiss(self) -> None:
        """hilgw dismisses the program, which runs, because its body is lost."""
        self._dismissed = True

    def end(self, code: int, now: int) -> Verdict:
        """The program has ended with this exit code."""
        steady = now - self._begun_ns >= STEADY_NS
        self._failures = 1 if steady else self._failures + 1
        if (verdict := self._stays_down(code)) is not None:
            return verdict
        if self._failures >= FAILURES:
            return Verdict(None, f"stays down after {FAILURES} failures in a row", _AGAIN)
        return Verdict(BACKOFF_S[min(self._failures, len(BACKOFF_S)) - 1])

    def _stays_down(self, code: int) -> Verdict | None:
        """Why such an end is none after which it starts again; else None."""
        if self._dismissed:
            if not self._latches:
                return Verdict(None, "stays down: the body is real, with `latch: false`", _AGAIN)
            if self._restart == "never":
                fix = f"{_AGAIN}; `restart: with-body` restarts it with its body"
                return Verdict(None, "stays down: `restart: never`", fix)
        elif code == 0:
            return Verdict(None, fix=_AGAIN)
        elif self._restart != "on-failure":
            fix = f"{_AGAIN}; `restart: on-failure` restarts a program that fails"
            return Verdict(None, fix=fix)
        return None
