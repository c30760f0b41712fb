"""The result of each step of the first check, and the report that a person can pass on."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum


class Verdict(StrEnum):
    """The result of a step."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    NOT_TESTED = "not tested"


@dataclass(slots=True)
class Result:
    """The result of one step.

    notes: why it failed, or what it found. answers: by question. positions: of the sensor, before,
    after each part of the motion and at the end; None: it reports nothing. measured: with the unit
    in the name.
    """

    step: str
    expected: str
    verdict: Verdict = Verdict.PASSED
    notes: list[str] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    sensor: str = ""
    positions: list[float | None] = field(default_factory=list)
    measured: dict[str, float] = field(default_factory=dict)

    def fail(self, note: str) -> None:
        """Note that it failed, for this reason too."""
        self.verdict = Verdict.FAILED
        self.notes.append(note)

    def leave_out(self, verdict: Verdict, note: str = "") -> None:
        """Note that nothing was seen; what has failed before stays failed."""
        self.verdict = Verdict.FAILED if self.verdict is Verdict.FAILED else verdict
        self.notes += [note] if note else []

    def sensed(self) -> str:
        """Return what the sensor reported; "" without one."""
        shown = ("unknown" if each is None else f"{each:.4g}" for each in self.positions)
        return f"{self.sensor}: before {', then '.join(shown)}" if self.sensor else ""

    def __str__(self) -> str:
        return "; ".join([f"{self.step}: {self.verdict}", *self.notes])


def all_passed(results: Sequence[Result]) -> bool:
    """Return whether all passed: False also where a step was skipped, or nothing was tested."""
    return bool(results) and all(each.verdict is Verdict.PASSED for each in results)


def markdown(facts: Mapping[str, str], results: Sequence[Result]) -> str:
    """Return the report: lines for people, and the same as JSON for programs."""
    lines = [f"* {name}: {text}" for name, text in facts.items()]
    for result in results:
        seen = [f"{question} {answer}" for question, answer in result.answers.items()]
        seen += [f"{name}: {value:.4g}" for name, value in result.measured.items()]
        details = [f"expected: {result.expected}", *seen, result.sensed()]
        lines += [f"* {result}", *(f"  * {each}" for each in details if each)]
    # What a device or a file wrote makes no line and no markup of its own.
    text = "\n".join("".join(c if c.isprintable() else " " for c in line) for line in lines)
    data = {"facts": dict(facts), "results": [asdict(each) for each in results]}
    block = json.dumps(data, indent=1, allow_nan=False).replace("`", "\\u0060")
    head = "all steps passed" if all_passed(results) else "not all steps passed"
    return f"# Test report on hardware: {head}\n\n{_plain(text)}\n\n```json\n{block}\n```\n"


def _plain(text: str) -> str:
    return text.replace("<", "&lt;").replace("`", "'")
