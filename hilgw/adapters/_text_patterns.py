"""Regular expressions from a file, for what comes in from a device: only those that end in time.

Python's matcher goes back on its choices, and some patterns make it try exponentially many of
them. A pattern is taken only when, on a line of bounded length, it cannot: nothing that repeats or
is optional stands inside of something that repeats, alternatives do not repeat, at most one
repetition has an end that what follows does not decide, and there are few choices beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from math import prod
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from hilgw.errors import ConfigError

LONGEST_PATTERN = 1000
MOST_REPEATS = 1000  # of one byte or group, when counted
MOST_CHOICES = 16  # beside one repetition: optional parts, alternatives
ENDLESS = 1_000_003  # choices of a repetition: a prime, to be told from products of others
Pattern = re.Pattern[bytes]
Bytes = frozenset[int]

_EVERY: Bytes = frozenset(range(256))
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_CATEGORIES = {
    op.CATEGORY_DIGIT: rb"\d", op.CATEGORY_NOT_DIGIT: rb"\D", op.CATEGORY_SPACE: rb"\s",
    op.CATEGORY_NOT_SPACE: rb"\S", op.CATEGORY_WORD: rb"\w", op.CATEGORY_NOT_WORD: rb"\W",
}  # fmt: skip


def compiled(text: str, *, whole: bool = False) -> Pattern:
    """The pattern, to be searched up to the end of a line (whole: from its beginning, too).

    ConfigError: it is none, or could take too long.
    """
    checked(text)
    begin = rb"\A" if whole else b""
    return re.compile(begin + b"(?:" + _raw(text) + rb")\Z", re.DOTALL)


def compiled_head(text: str) -> Pattern:
    """The pattern, to be found anywhere."""
    checked(text)
    return re.compile(_raw(text), re.DOTALL)


def checked(text: str) -> None:
    """ConfigError when it is no pattern, or could take too long on what a device sends."""
    if len(text) > LONGEST_PATTERN:
        raise ConfigError(f"a pattern of {len(text)} characters", fix=f"at most {LONGEST_PATTERN}")
    try:
        tree = parser.parse(_raw(text), re.DOTALL)
        re.compile(_raw(text), re.DOTALL)
    except (re.error, OverflowError, RecursionError) as error:
        fix = "see 'Regular Expression Syntax' in Python's documentation"
        raise ConfigError(f"{text!r} is no regular expression: {error}", fix=fix) from None
    parts = list(_parts(tree, text, inside=False))
    choices = 1
    for index, (reach, ways, _) in enumerate(parts):
        if ways > 1 and not _decided(reach, parts[index + 1 :]):
            choices *= ways
    endless = choices % ENDLESS == 0
    if choices > MOST_CHOICES * (ENDLESS if endless else 1):
        fix = "say what each part may not contain, as [^,]* instead of .*"
        raise ConfigError(f"{text!r} can be matched in too many ways", fix=fix)


def split_at_data(text: str) -> tuple[str, str] | None:
    """A pattern that takes its data by a length: what stands before `(?P<data>...)` and behind
    it; None when there is no length before the data."""
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
    raise ConfigError(f"{text!r}: the group data does not end", fix="add a )")


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


# --- what a pattern is made of -------------------------------------------------------------------

# The bytes a part may take, in how many lengths or ways, and whether it may be empty.
Part = tuple[Bytes, int, bool]


def _parts(tree: Any, text: str, *, inside: bool) -> Iterator[Part]:
    for kind, value in tree:
        if kind in _REPEATS:
            yield _repeat(value, text, inside=inside)
        elif kind is op.SUBPATTERN:
            yield from _parts(value[-1], text, inside=inside)
        elif kind is op.ATOMIC_GROUP:
            yield from _parts(value, text, inside=inside)
        elif kind is op.BRANCH:
            yield from _branch(value[1], text, inside=inside)
        elif kind is not op.AT:
            yield _one(kind, value, text), 1, False


def _branch(choices: Any, text: str, *, inside: bool) -> Iterator[Part]:
    if inside:
        raise ConfigError(f"{text!r} repeats alternatives", fix="use a set, as [ab]*")
    reach: set[int] = set()
    most = 1
    for choice in choices:
        parts = list(_parts(choice, text, inside=inside))
        reach.update(*(part[0] for part in parts))
        most = max(most, prod(part[1] for part in parts))
    ways = most * len(choices)
    # Its end is decided by nothing: one choice may be the beginning of another.
    yield _EVERY, ways, True
    yield frozenset(reach), 1, True


def _repeat(value: Any, text: str, *, inside: bool) -> Part:
    least, most, tree = value
    if most != op.MAXREPEAT and most > MOST_REPEATS:
        raise ConfigError(f"{text!r} counts to {most}", fix=f"at most {MOST_REPEATS}")
    if inside and (most > 1 or least != most):
        raise ConfigError(
            f"{text!r} repeats what repeats", fix="take the inner * + ? or {} out of the group"
        )
    inner = list(_parts(tree, text, inside=inside or most > 1))
    reach: Bytes = frozenset().union(*(part[0] for part in inner))
    ways = ENDLESS if most == op.MAXREPEAT or most - least > 8 else most - least + 1
    return reach, ways * prod(part[1] for part in inner), least == 0


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
    raise ConfigError(f"{text!r}: {name} is not taken here", fix="write it without")


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


def _decided(reach: Bytes, rest: list[Part]) -> bool:
    """Whether what follows a repetition begins with none of its bytes: then it has one end."""
    for following, _, may_be_empty in rest:
        if reach & following:
            return False
        if not may_be_empty:
            return True
    return True
