"""Declared line protocols: patterns for lines with bounded work, and steps that send and wait.

`re` tries every way in which a pattern can match. The bound counts ways that no line has, and
misses none.

The bytes of a line come from a device and may be hostile: a pattern that could take more than
MOST_STEPS on a line of LONGEST_LINE bytes is rejected.
"""

import functools
import re
import warnings
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

from hilgw.errors import ConfigError
from hilgw.protocols.dialogue import AskLine
from hilgw.settings import Problem, setting

parser: Any = import_module("re._parser")  # typeshed does not have them
_compiler: Any = import_module("re._compiler")
LONGEST_LINE = 1024
BYTES = bytes(range(256))
END = frozenset({b""})
ANYTHING = END.union(bytes([each]) for each in BYTES)
_HUGE = 1 << 64
_CHARACTER = (parser.LITERAL, parser.NOT_LITERAL, parser.IN, parser.ANY)


class Bound(NamedTuple):
    """The bound of a part, from one place of a line.

    begin: the bytes with which it, or its successors, can start; tries: the steps until none of
    them has matched; steps: all, without those of its successors; ways: how often its successors
    are tried.
    """

    begin: frozenset[bytes]
    tries: int = 1
    steps: int = 0
    ways: int = 1


def bound(items: Iterable[Any], follow: Bound, *, nested: bool = False) -> Bound:
    """Return the bound of a sequence, which may be `nested` in an unbounded repetition.

    Raises:
        ConfigError: A part of the pattern has none.
    """
    begin, tries, steps, ways = follow
    for kind, value in reversed(list(items)):
        after = Bound(begin, tries)
        if kind in _CHARACTER:
            part = Bound(_bytes(kind, tuple(value) if kind is parser.IN else value), steps=1)
        elif kind in (parser.MAX_REPEAT, parser.MIN_REPEAT):
            low, high, body = value
            part = _repeated(low, high, body, after, nested)
        elif kind is parser.BRANCH:
            part = _one_of([bound(each, after, nested=nested) for each in value[1]])
        elif kind is parser.SUBPATTERN and value[1] in (0, re.IGNORECASE) and not value[2]:
            part = bound(value[3], after, nested=nested)
        elif kind is parser.AT:
            part = Bound(begin if value is parser.AT_END_STRING else ANYTHING, tries + 1, 1)
        else:
            problem = "a part that is not text, a set, a group, | or a repetition"
            raise ConfigError(problem, fix="leave out lookaround, backreferences and conditions")
        begin, tries = part.begin, part.tries
        steps, ways = part.steps + part.ways * steps, min(part.ways * ways, _HUGE)
    return Bound(begin, tries, steps, ways)


def _repeated(low: int, high: int, items: Any, after: Bound, nested: bool) -> Bound:
    if (is_unbounded := high == parser.MAXREPEAT) and nested:
        problem = "an unbounded repetition inside another one"
        raise ConfigError(problem, fix=r"limit the inner one, such as \d{1,9} for \d+")
    times = LONGEST_LINE if is_unbounded else high
    part = bound(items, after, nested=nested or is_unbounded)
    if times > 1:  # another one may follow it
        again = Bound(after.begin | part.begin, after.tries + part.tries)
        part = bound(items, again, nested=nested or is_unbounded)
    optional = Bound(frozenset(), 0) if low else after
    begin, tries = part.begin | optional.begin, part.tries + optional.tries
    is_any = items.data == [(parser.ANY, None)]
    if is_any and is_unbounded and low < 2 and after.begin == END:
        return Bound(begin, tries, 1, 0)  # the first way that gets here succeeds
    ways = min(part.ways ** min(times, 64), _HUGE)
    ends = 1 if part.begin.isdisjoint(after.begin) else times - low + 1
    return Bound(begin, tries, times * ways * (part.steps + after.tries), ways * ends)


def _one_of(parts: list[Bound]) -> Bound:
    begin = frozenset[bytes]().union(*(part.begin for part in parts))
    # A byte leads into the branches that begin with it.
    ways = max(sum(part.ways for part in parts if byte in part.begin) for byte in begin)
    tries, steps = sum(part.tries for part in parts), sum(part.steps + 1 for part in parts)
    return Bound(begin, min(tries, _HUGE), steps, ways)


@functools.lru_cache(maxsize=1024)
def _bytes(kind: Any, value: Any) -> frozenset[bytes]:
    part = parser.SubPattern(parser.State(), [(kind, value)])
    forms = (_compiler.compile(part, re.DOTALL | flag) for flag in (re.NOFLAG, re.IGNORECASE))
    return frozenset(each for form in forms for each in form.findall(BYTES))


MOST_STEPS = 8 * LONGEST_LINE**2  # less than 50 ms
Pattern = re.Pattern[bytes]
Match = re.Match[bytes]

_FLAGS = re.compile(r"\(\?[is]+\)")


def compiled(text: str, *, whole: bool = False) -> Pattern:
    """Return the pattern, anchored at the end of a line (whole: at its start, too).

    Raises:
      ConfigError: it is not a regular expression, or takes too long on some line.
    """
    return _compiled(text, r"\A" if whole else "", r"\Z")


def compiled_head(text: str) -> Pattern:
    """Return the pattern, not anchored, for up to two lines."""
    return _compiled(text, "", "")


def split_at_data(text: str) -> tuple[str, str] | None:
    """Return the parts before and after `(?P<data>...)` in a pattern whose data have a length.

    Return None if there is no length before the data.
    """
    start = text.find("(?P<data>")
    if start < 0 or "(?P<length>" not in text[:start]:
        return None
    for end in range(start + 1, len(text) + 1):
        with suppress(re.error):  # the group is not complete
            re.compile(_raw(text[start:end]))
            return text[:start], text[end:]
    raise ConfigError(f"{text!r}: the group data is not closed", fix="add a )")


@functools.lru_cache(maxsize=256)
def _compiled(text: str, start: str, end: str) -> Pattern:
    flags = match[0] if (match := _FLAGS.match(text)) else ""
    try:
        with warnings.catch_warnings(action="error"):  # such as [[ in a set
            tree = parser.parse(_raw(text), re.DOTALL)
            pattern = re.compile(
                _raw(f"{flags}{start}(?:{text.removeprefix(flags)}){end}"), re.DOTALL
            )
        steps = bound(tree, Bound(END if end else ANYTHING)).steps
    except (re.error, FutureWarning, OverflowError, RecursionError) as error:
        raise ConfigError(
            f"{text!r} is not a regular expression: {error}", fix="write Python's syntax, for bytes"
        ) from None
    except ConfigError as error:
        raise ConfigError(f"{text!r} has {error.what}", fix=error.fix) from None
    is_at_begin = start or tree.data[:1] == [(parser.AT, parser.AT_BEGINNING)]
    begins = 1 if is_at_begin else LONGEST_LINE
    if begins * steps > MOST_STEPS:
        problem = f"{text!r} can match a line in too many ways"
        fix = "begin with ^, or end each repetition where the next begins, as [^,]*, for .*,"
        raise ConfigError(problem, fix=fix)
    return pattern


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


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
