"""Dialogues with a device: questions, answers, pauses, retries and deadlines, sans-I/O.

A script is a generator. It yields either a `Step`, at which it waits and gets the answer (None if
no answer came in time), or an event for the caller, which is passed on in order. It returns its
result, or raises a HilgwError. `now` is integer nanoseconds of a monotonic clock.
"""

import re
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Generic, TypeVar

from hilgw.errors import HilgwError
from hilgw.units import s_to_ns

EventT = TypeVar("EventT")
AnswerT = TypeVar("AnswerT")
ResultT = TypeVar("ResultT")


LONGEST_ANSWER = 256  # bytes, with what the device was sending before


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueStep:
    """A step at which the script waits up to `timeout_s` for an answer, `tries` times in all."""

    timeout_s: float = 1.0
    tries: int = 1

    @property
    def line_bytes(self) -> int:
        """Bytes of question and answer: on a slow line the time limit covers at least them."""
        return 0


@dataclass(frozen=True, slots=True)
class Pause(DialogueStep):
    """A step at which the script waits this long; received bytes are not an answer."""

    timeout_s: float


@dataclass(frozen=True, slots=True)
class AskLine(DialogueStep):
    """A question whose answer is a line of text.

    text: the bytes to send; b"": only listen. answer, refusal: patterns of the lines that answer
    it. The script gets the match; `match.re` distinguishes the two.
    """

    text: bytes
    answer: re.Pattern[bytes]
    refusal: re.Pattern[bytes] | None = None

    @property
    def line_bytes(self) -> int:
        return len(self.text) + LONGEST_ANSWER


Script = Generator[DialogueStep | EventT, AnswerT | None, ResultT]
LineScript = Script[EventT, re.Match[bytes], ResultT]


def answered(step: AskLine, no_answer: HilgwError) -> LineScript[EventT, re.Match[bytes]]:
    """Ask and return the match of the answer; raise `no_answer` if none comes in time."""
    match = yield step
    if match is None:
        raise no_answer
    return match


class Dialogue(Generic[EventT, AnswerT, ResultT]):
    """Runner of one script.

    ask: makes the event that sends a step's question; its second argument is the attempt, from 1
    on. None: nothing is sent, the step only waits. fail: makes the event of the script's error.
    byte_ns: time of one byte on the line.

    step: the step at which the script waits. deadline: when to call `expire`, None once the
    dialogue is over. result: the result of the script; None if it failed.
    """

    def __init__(
        self,
        script: Script[EventT, AnswerT, ResultT],
        ask: Callable[[DialogueStep, int], EventT | None],
        fail: Callable[[HilgwError], EventT],
        byte_ns: int = 0,
    ) -> None:
        self._script = script
        self._ask = ask
        self._fail = fail
        self._byte_ns = byte_ns
        self._attempts = 0
        self.step: DialogueStep | None = None
        self.deadline: int | None = None
        self.over = False
        self.result: ResultT | None = None

    def start(self, now: int) -> list[EventT]:
        return self.answer(None, now)

    def expire(self, now: int) -> list[EventT]:
        """Ask again at the deadline, or give up the step; earlier calls have no effect."""
        if self.deadline is None or now < self.deadline:
            return []
        if self.step is not None and self._attempts < self.step.tries:
            return self._attempt(self.step, now)
        return self.answer(None, now)

    def answer(self, answer: AnswerT | None, now: int) -> list[EventT]:
        """Hand the answer to the current step to the script, and run it up to its next step."""
        events: list[EventT] = []
        self.step = self.deadline = None
        while True:
            try:
                step = self._script.send(answer)
            except StopIteration as done:
                self.over, self.result = True, done.value
                return events
            except HilgwError as error:
                self.over = True
                return [*events, self._fail(error)]
            answer = None
            if isinstance(step, DialogueStep):
                self.step, self._attempts = step, 0
                return events + self._attempt(step, now)
            events.append(step)

    def _attempt(self, step: DialogueStep, now: int) -> list[EventT]:
        self._attempts += 1
        self.deadline = now + max(s_to_ns(step.timeout_s), step.line_bytes * self._byte_ns)
        question = self._ask(step, self._attempts)
        return [] if question is None else [question]


class LineDialogue(Dialogue[EventT, re.Match[bytes], ResultT]):
    """A dialogue with a device whose questions and answers are lines of text.

    other: the last line since the present step that does not answer it. repeated: a question was
    asked again, so bytes written before it may be lost.
    """

    def __init__(
        self,
        script: LineScript[EventT, ResultT],
        write: Callable[[bytes], EventT],
        fail: Callable[[HilgwError], EventT],
        byte_ns: int = 0,
    ) -> None:
        super().__init__(script, self._question, fail, byte_ns)
        self._write = write
        self.other = b""
        self.repeated = False

    def take_line(self, line: bytes, now: int) -> list[EventT] | None:
        """Take a line of the device; return None if it does not answer the present step."""
        match = match_line(self.step, line)
        if match is None:
            self.other = line
            return None
        return self.answer(match, now)

    def _question(self, step: DialogueStep, attempt: int) -> EventT | None:
        if attempt == 1:
            self.other = b""
        self.repeated |= attempt > 1
        return self._write(step.text) if isinstance(step, AskLine) and step.text else None


def match_line(step: DialogueStep | None, line: bytes) -> re.Match[bytes] | None:
    """Return the match of a line that answers this step, or None."""
    if not isinstance(step, AskLine):
        return None
    match = step.answer.search(line)
    if match is None and step.refusal is not None:
        match = step.refusal.search(line)
    return match
