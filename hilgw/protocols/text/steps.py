"""A step of a declared line protocol: a line to send, and the lines that answer it."""

from collections.abc import Iterable
from dataclasses import dataclass

from hilgw.errors import ConfigError
from hilgw.protocols.dialogue import AskLine
from hilgw.protocols.text.patterns import compiled
from hilgw.settings import Problem, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A command, and the lines that answer it."""

    send: str = setting("the command, without the line end; empty: only wait for a line", "")
    expect: str = setting("pattern of the line that means success; empty: do not wait", "")
    failed: str = setting("pattern of the line that means failure; empty: none", "")
    timeout_s: float = setting("time limit of the answer", 1.0, gt=0, le=300, unit="s")
    tries: int = setting(
        "how many times the command is sent, at most, until an answer arrives", 1, ge=1, le=20
    )
    realtime: bool = setting("true: these bytes alone, without a line end", False)
    fix: str = setting(
        "setup of a body: the fix to report when `failed` arrives and the port fails; empty: the "
        "port is tried again",
        "",
    )


def question(step: Step, text: bytes) -> AskLine:
    """Return the question of a step with `expect`.

    `text` has its bytes; b"": it only waits, once.
    """
    good = compiled(step.expect, whole=True)
    bad = compiled(step.failed, whole=True) if step.failed else None
    tries = step.tries if text else 1
    return AskLine(text, good, bad, timeout_s=step.timeout_s, tries=tries)


def pattern_problems(named: Iterable[tuple[str, str]], *, whole: bool) -> list[Problem]:
    """Return a problem (path, what, fix) for each pattern that cannot be used.

    Args:
      named: path and pattern each.
      whole: the patterns match from the start of a line.
    """
    problems = []
    for path, text in named:
        try:
            compiled(text, whole=whole)
        except ConfigError as error:
            problems.append((path, error.what, error.fix))
    return problems
