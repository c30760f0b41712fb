"""The runner of questions and answers: retries, deadlines, events in order, errors."""

import re
from dataclasses import dataclass

from hilgw.errors import HilgwError, PeerError
from hilgw.protocols.dialogue import AskLine, Dialogue, DialogueStep, LineScript, Pause, match_line

SECOND = 1_000_000_000
OK = re.compile(rb"OK\Z")
ERROR = re.compile(rb"ERROR ([0-9])\Z")


@dataclass(frozen=True)
class Sent:
    text: bytes
    attempt: int


@dataclass(frozen=True)
class Failure:
    error: HilgwError


Out = Sent | Failure | str


def ask(step: DialogueStep, attempt: int) -> Out | None:
    return Sent(step.text, attempt) if isinstance(step, AskLine) and step.text else None


def run(script: LineScript[Out, str]) -> Dialogue[Out, re.Match[bytes], str]:
    return Dialogue(script, ask, Failure)


def greet() -> LineScript[Out, str]:
    yield "begin"
    found = yield AskLine(b"hello", OK, ERROR, timeout_s=0.5, tries=2)
    if found is None:
        raise PeerError("no answer")
    if found.re is ERROR:
        return f"error {found[1].decode()}"
    yield "between"
    yield Pause(2)
    return "done"


def answer(dialogue: Dialogue[Out, re.Match[bytes], str], line: bytes, now: int) -> list[Out]:
    found = match_line(dialogue.step, line)
    assert found is not None
    return dialogue.answer(found, now)


def test_on_a_slow_line_an_answer_has_the_time_of_its_bytes() -> None:
    """At 300 baud, after what the device was sending before."""
    for byte_ns, limit_ns in ((0, SECOND // 2), (SECOND // 30, (5 + 256) * (SECOND // 30))):
        dialogue = Dialogue(greet(), ask, Failure, byte_ns)
        dialogue.start(0)
        assert dialogue.deadline == limit_ns
        assert dialogue.expire(limit_ns - 1) == []
        assert dialogue.expire(limit_ns) == [Sent(b"hello", 2)]


def test_a_question_is_asked_again_and_given_up() -> None:
    dialogue = run(greet())
    dialogue.start(0)
    assert dialogue.expire(1) == [], "a call before the deadline is harmless"
    assert dialogue.expire(SECOND // 2) == [Sent(b"hello", 2)]
    assert dialogue.deadline == SECOND
    (failure,) = dialogue.expire(SECOND)
    assert isinstance(failure, Failure)
    assert str(failure.error) == "no answer"
    assert dialogue.over
    assert dialogue.result is None
    assert dialogue.expire(2 * SECOND) == []
