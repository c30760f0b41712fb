"""Questions and answers with a module that speaks in lines, sans-I/O.

A script is a generator: it yields a step and gets the match of the line that answered, or None
when none came in time. It returns its result, or raises PeerError or MismatchError.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from typing import Generic, TypeVar

from hilgw.adapters.base import Event, Failed, Write
from hilgw.errors import HilgwError

SECOND_NS = 1_000_000_000

Answer = re.Match[bytes] | None
Pattern = re.Pattern[bytes]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ask:
    """Bytes to send (b"": only listen), and the lines that answer them: good, or a refusal.

    Tells them apart by `match.re`. They are asked again `tries` times in all.
    """

    text: bytes
    answer: Pattern
    refusal: Pattern | None = None
    timeout_s: float = 1.0
    tries: int = 1


@dataclass(frozen=True, slots=True)
class Pause:
    """Say nothing for so long; what comes in is nobody's answer."""

    seconds: float


Step = Ask | Pause | Event
Script = Generator[Step, Answer, T]


class Dialogue(Generic[T]):
    """Runs one script. `deadline`: when `expire` wants to be called, None once it is over.

    over: it has come to its end; result: what it returned, None when it failed (the events then
    end in Failed).
    """

    def __init__(self, script: Script[T]) -> None:
        self._script = script
        self._step: Ask | Pause | None = None
        self._tries = 0
        self.deadline: int | None = None
        self.over = False
        self.result: T | None = None

    def start(self, now: int) -> list[Event]:
        return self._advance(None, now)

    def take_line(self, line: bytes, now: int) -> list[Event] | None:
        """A line came in; None when it answers nothing."""
        step = self._step
        if not isinstance(step, Ask):
            return None
        for pattern in (step.answer, step.refusal):
            found = pattern.search(line) if pattern is not None else None
            if found is not None:
                return self._advance(found, now)
        return None

    def expire(self, now: int) -> list[Event]:
        if self.deadline is None or now < self.deadline:
            return []
        step = self._step
        if isinstance(step, Ask) and self._tries < step.tries:
            return self._ask(step, now)
        return self._advance(None, now)

    def _advance(self, answer: Answer, now: int) -> list[Event]:
        """Hands the answer to the script and does what it wants next."""
        events: list[Event] = []
        self.deadline = None
        while True:
            try:
                step = self._script.send(answer)
            except StopIteration as done:
                self._step, self.over, self.result = None, True, done.value
                return events
            except HilgwError as error:
                self._step, self.over = None, True
                return [*events, Failed(error)]
            answer = None
            if isinstance(step, Ask):
                self._step, self._tries = step, 0
                return events + self._ask(step, now)
            if isinstance(step, Pause):
                self._step = step
                self.deadline = now + round(step.seconds * SECOND_NS)
                return events
            events.append(step)

    def _ask(self, step: Ask, now: int) -> list[Event]:
        self._tries += 1
        self.deadline = now + round(step.timeout_s * SECOND_NS)
        return [Write(step.text)] if step.text else []
