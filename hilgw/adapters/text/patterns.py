"""Regular expressions of a configuration for received lines, limited to those that match fast.

Python's matcher backtracks, and some patterns take exponential time. A pattern is accepted only if
it cannot, on a line of bounded length: no repeated or optional part is inside a repeated part,
alternatives do not repeat, at most one repetition has an end that the following part does not
determine, and there are few choices besides it.
"""

from __future__ import annotations

import re
from functools import cache
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from hilgw.errors import ConfigError

LONGEST_PATTERN = 1000
MOST_REPEATS = 1000  # of one byte or group, when counted
MOST_CHOICES = 16  # besides one repetition: optional parts, alternatives
ENDLESS = 1_000_003  # choices of a repetition: a prime, so that it shows in a product
Pattern = re.Pattern[bytes]
Bytes = frozenset[int]

_FIX_WAYS = "exclude characters from repeated parts, as [^,]* instead of .*"
_EVERY: Bytes = frozenset(range(256))
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_CATEGORIES = {
    op.CATEGORY_DIGIT: rb"\d", op.CATEGORY_NOT_DIGIT: rb"\D", op.CATEGORY_SPACE: rb"\s",
    op.CATEGORY_NOT_SPACE: rb"\S", op.CATEGORY_WORD: rb"\w", op.CATEGORY_NOT_WORD: rb"\W",
}  # fmt: skip


def compiled(text: str, *, whole: bool = False) -> Pattern:
    """The pattern, anchored at the end of a line (whole: at its beginning, too).

    ConfigError: not a regular expression, or it could take too long.
    """
    checked(text)
    return _compiled(text, rb"\A" if whole else b"")


def compiled_head(text: str) -> Pattern:
    """The pattern, not anchored."""
    checked(text)
    return re.compile(_raw(text), re.DOTALL)


def checked(text: str) -> None:
    """ConfigError for text that is not a regular expression, or could take too long to match."""
    if len(text) > LONGEST_PATTERN:
        what = f"the pattern has {len(text)} characters"
        raise ConfigError(what, fix=f"use at most {LONGEST_PATTERN}")
    try:
        tree = parser.parse(_raw(text), re.DOTALL)
        _compiled(text, b"")
    except (ValueError, re.error, OverflowError, RecursionError) as error:
        fix = "see 'Regular Expression Syntax' in Python's documentation"
        raise ConfigError(f"{text!r} is not a regular expression: {error}", fix=fix) from None
    folds = re.search(r"\(\?[a-zA-Z]*i", text) is not None
    ways = sum(_ways(parts, folds) for parts in _ways_through(tree, text, inside=False))
    if ways > MOST_CHOICES * (ENDLESS if ways >= ENDLESS else 1):
        raise ConfigError(f"{text!r} can be matched in too many ways", fix=_FIX_WAYS)


def split_at_data(text: str) -> tuple[str, str] | None:
    """The parts before and after `(?P<data>...)` in a pattern whose data have a length; None when
    there is no length before the data."""
    start = text.find("(?P<data>")
    if start < 0 or "(?P<length>" not in text[:start]:
        return None
    depth, at, in_set = 0, start, False
    while at < len(text):
        character = text[at]
        if character == "\\":
            at += 1
        elif in_set:
            in_set = character != "]" or text[at - 1] == "["
        elif character == "[":
            in_set = True
        else:
            depth += (character == "(") - (character == ")")
            if depth == 0:
                return text[:start], text[at + 1 :]
        at += 1
    raise ConfigError(f"{text!r}: the group data is not closed", fix="add a )")


def _compiled(text: str, begin: bytes) -> Pattern:
    """Anchored at the end of a line. Global flags, as (?i), must stay in front."""
    raw = _raw(text)
    flags = re.match(rb"(?:\(\?[a-zA-Z]+\))*", raw)
    head = flags[0] if flags else b""
    return re.compile(head + begin + b"(?:" + raw[len(head) :] + rb")\Z", re.DOTALL)


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


# --- the parts of a pattern ----------------------------------------------------------------------

# The bytes a part may match, in how many lengths or ways, and whether it may be empty.
Part = tuple[Bytes, int, bool]


def _ways_through(tree: Any, text: str, *, inside: bool) -> list[list[Part]]:
    """The sequence of parts, for each way through alternatives and optional groups.

    ConfigError: too many ways, or a part with choices repeats."""
    ways: list[list[Part]] = [[]]
    for kind, value in tree:
        if kind is op.AT:
            continue
        following = _choices(kind, value, text, inside=inside)
        ways = [before + more for before in ways for more in following]
        if len(ways) > MOST_CHOICES:
            raise ConfigError(f"{text!r} can be matched in too many ways", fix=_FIX_WAYS)
    return ways


def _choices(kind: Any, value: Any, text: str, *, inside: bool) -> list[list[Part]]:
    """The ways through one element."""
    if kind is op.SUBPATTERN:
        return _ways_through(value[-1], text, inside=inside)
    if kind is op.ATOMIC_GROUP:
        return _ways_through(value, text, inside=inside)
    if kind is op.BRANCH:
        if inside:
            raise ConfigError(f"{text!r} repeats alternatives", fix="use a set, such as [ab]*")
        return [way for each in value[1] for way in _ways_through(each, text, inside=False)]
    if kind in _REPEATS:
        return _repeat(value, text, inside=inside)
    return [[(_one(kind, value, text), 1, False)]]


def _repeat(value: Any, text: str, *, inside: bool) -> list[list[Part]]:
    least, most, tree = value
    if most != op.MAXREPEAT and most > MOST_REPEATS:
        what = f"{text!r} repeats a part {most} times"
        raise ConfigError(what, fix=f"use at most {MOST_REPEATS}")
    if inside and (most > 1 or least != most):
        raise ConfigError(
            f"{text!r} repeats a part that repeats",
            fix="move the inner * + ? or {} out of the group",
        )
    inner = _ways_through(tree, text, inside=inside or most > 1)
    if most == 1 and any(ways > 1 for way in inner for _, ways, _ in way):
        return inner if least else [[], *inner]
    reach: Bytes = frozenset().union(*(part[0] for way in inner for part in way))
    ways = ENDLESS if most == op.MAXREPEAT or most - least > 8 else most - least + 1
    return [[(reach, ways * len(inner), least == 0)]]


def _one(kind: Any, value: Any, text: str) -> Bytes:
    if kind is op.LITERAL:
        return frozenset((value,))
    if kind is op.NOT_LITERAL:
        return _EVERY - {value}
    if kind is op.ANY:
        return _EVERY
    if kind is op.IN:
        return _set(value)
    name = str(kind).lower().replace("_", " ")
    raise ConfigError(f"{text!r}: {name} is not supported here", fix="write the pattern without it")


def _set(items: Any) -> Bytes:
    found: set[int] = set()
    negated = False
    for kind, value in items:
        if kind is op.NEGATE:
            negated = True
        elif kind is op.LITERAL:
            found.add(value)
        elif kind is op.RANGE:
            found.update(range(value[0], value[1] + 1))
        else:
            found |= _category(value)
    return _EVERY - found if negated else frozenset(found)


@cache
def _category(name: Any) -> Bytes:
    pattern = re.compile(_CATEGORIES[name])
    return frozenset(value for value in range(256) if pattern.match(bytes((value,))))


def _both_cases(reach: Bytes) -> Bytes:
    letters = bytes(reach)
    return frozenset(letters.lower() + letters.upper())


def _runs_on(rest: list[Part]) -> bool:
    """Whether a repetition without a certain end is followed by another, and no part between them
    separates the two: then each end of the one is tried with each end of the other."""
    between: list[Bytes] = []
    for reach, ways, may_be_empty in rest:
        if ways % ENDLESS == 0 and all(reach & one for one in between):
            return True
        if not may_be_empty:
            between.append(reach)
    return False


def _ways(parts: list[Part], folds: bool) -> int:
    """In how many ways these parts can share one line. folds: upper and lower case are equal."""
    if folds:
        parts = [(_both_cases(reach), ways, empty) for reach, ways, empty in parts]
    choices = 1
    for index, (reach, ways, _) in enumerate(parts):
        rest = parts[index + 1 :]
        if ways > 1 and not _decided(reach, rest):
            choices *= ways * (ENDLESS if ways % ENDLESS == 0 and _runs_on(rest) else 1)
    return choices


def _decided(reach: Bytes, rest: list[Part]) -> bool:
    """Whether the rest begins with none of the repetition's bytes: then it has only one end."""
    for following, _, may_be_empty in rest:
        if reach & following:
            return False
        if not may_be_empty:
            return True
    return True
