"""Questions to a robot and its answers: whose answer it is, when it is late, what may be asked.

Few answers name their question. A robot answers in the order of its questions; real-time ones at
any time. After a missing answer nothing is asked before a fence was answered, a question whose
answer comes after all late ones, or before the robot was silent. What has no answer is written
between questions, and a stop also in the silence.
"""

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Generic, TypeVar

from hilgw.units import NS_PER_S

LONGEST_QUIET_NS = NS_PER_S
"""A robot that never stops sending is not waited for any longer."""

AnswerT = TypeVar("AnswerT")


@dataclass(slots=True, eq=False)
class Question(ABC, Generic[AnswerT]):
    """A question, whose bytes are `request`.

    timeout_ns: the least time for all answers. is_motion: while it is on its way it may undo a
    stop. until_ns: answers are late then, once it is asked.
    """

    request: bytes
    _: KW_ONLY
    timeout_ns: int = 0
    realtime: bool = False
    is_fence: bool = False
    is_motion: bool = True
    until_ns: int = 0

    @abstractmethod
    def take(self, answer: AnswerT) -> bool:
        """Take an answer; return whether it has the form of one to this question."""

    @property
    def answer_bytes(self) -> int:
        """Number of bytes of its answers; 0: the longest answer takes `answer_ns`."""
        return 0

    @property
    def is_answered(self) -> bool:
        """True if all answers have come."""
        return True


QuestionT = TypeVar("QuestionT", bound=Question[Any])


class Exchange(Generic[QuestionT, AnswerT]):
    """Questions whose answers are awaited.

    counts: gets `late_answers`. byte_ns, answer_ns: time of a byte on the line, and of an answer
    besides its bytes. quiet_ns: silence after a missing answer, or after that of a fence. window,
    window_bytes: this many questions and bytes may wait for their answers; 0 bytes: any number.
    silent_ns: nothing is asked before. needs_fence: nothing else is asked before a fence.
    repeats_stop: the last stop is written again once nothing is awaited.
    """

    fences: ClassVar[bool] = False
    """Whether the robot can be asked for a fence."""

    def __init__(
        self,
        counts: Counter[str],
        byte_ns: int,
        answer_ns: int,
        quiet_ns: int,
        window: int = 1,
        window_bytes: int = 0,
    ) -> None:
        self._counts = counts
        self._byte_ns = byte_ns
        self._answer_ns = answer_ns
        self._quiet_ns = quiet_ns
        self._window = window
        self._window_bytes = window_bytes
        self.clear()

    def clear(self) -> None:
        """Await nothing any more."""
        self._lines: list[QuestionT] = []
        self._realtime: list[QuestionT] = []
        self.silent_ns = self._latest_ns = 0
        self.needs_fence = self.repeats_stop = False

    # --- state --------------------------------------------------------------------------------

    @property
    def waiting(self) -> list[QuestionT]:
        """The questions whose answers are awaited."""
        return [*self._lines, *self._realtime]

    def may_ask(self, question: QuestionT, now: int) -> bool:
        """Return whether a question may be asked now."""
        fenced = self.needs_fence or any(each.is_fence for each in self._lines)
        if now < self.silent_ns or (fenced and not question.is_fence):
            return False
        if question.realtime or not self._lines:
            return True
        held = sum(len(each.request) for each in self._lines)
        fits = not self._window_bytes or held + len(question.request) <= self._window_bytes
        return len(self._lines) < self._window and fits

    def next_deadline(self) -> int | None:
        """Return when answers are late; None: none are awaited."""
        return min([each.until_ns for each in (*self._lines[:1], *self._realtime)], default=None)

    # --- traffic ------------------------------------------------------------------------------

    def asked(self, question: QuestionT, now: int, before: int = 0) -> None:
        """Await the answers to this question, which leaves now. before: bytes that leave first."""
        if question.is_fence:  # what comes before its answer is late
            self.needs_fence, self.silent_ns = False, 0
        ahead = before + sum(len(each.request) for each in self._lines)
        size = ahead + len(question.request) + question.answer_bytes
        line_ns = size * self._byte_ns + self._answer_ns
        question.until_ns = now + max(question.timeout_ns, line_ns)
        (self._realtime if question.realtime else self._lines).append(question)

    def take(self, answer: AnswerT, now: int) -> tuple[QuestionT, list[QuestionT]] | None:
        """Return the question of this answer, and those before it whose answers were lost.

        None: it is late, or was not asked for.
        """
        if now < self.silent_ns:
            return None
        for lane in (self._realtime, self._lines):
            for index, question in enumerate(lane):
                if question.take(answer):
                    lost = [] if question.realtime else lane[:index]
                    del lane[index - len(lost) : index + question.is_answered]
                    return question, lost
        return None

    def late(self, count: int, now: int) -> None:
        """Count answers that belong to no question. A silence begins again."""
        self._counts["late_answers"] += count
        if now < self.silent_ns:
            self.silent_ns = min(now + self._quiet_ns, self._latest_ns)

    def end_late(self, now: int) -> list[QuestionT]:
        """Return the questions that were lost.

        All, once answers to one are late, as these would be taken for those to the next.
        """
        due = self.next_deadline()
        if due is None or now < due:
            return []
        lost = self.waiting
        self._lines, self._realtime = [], []
        self.needs_fence = self.fences and not any(each.is_fence for each in lost)
        if not self.needs_fence:
            self.quiet(now)
        return lost

    def quiet(self, now: int) -> None:
        """Ask nothing before the robot was silent."""
        self._latest_ns = now + LONGEST_QUIET_NS
        self.silent_ns = min(now + self._quiet_ns, self._latest_ns)

    def stopped(self, now: int) -> None:
        """Note that a stop leaves, which late bytes may damage, or what is on its way undo."""
        self.repeats_stop = now < self.silent_ns or any(each.is_motion for each in self.waiting)

    def repeat_stop(self, now: int) -> bool:
        """Return whether the last stop is written again now: once, when nothing is awaited."""
        due = self.repeats_stop and not self.waiting and now >= self.silent_ns
        self.repeats_stop &= not due
        return due
