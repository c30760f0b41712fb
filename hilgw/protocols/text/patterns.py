"""Regular expressions of a configuration for received lines.

RE2 matches in linear time. The bytes of a line come from a device and may be hostile: with the
limits below, no line of a module takes longer than 20 ms.
"""

from __future__ import annotations

import functools
import re
from typing import Any, cast

import re2

from hilgw.errors import ConfigError

LONGEST_PATTERN = 1000
LARGEST_PROGRAM = 2000  # of RE2's instructions; a counted repetition has one or more per count
Pattern = re.Pattern[bytes]  # re2 has the interface of re, but its group names are bytes
Match = re.Match[bytes]

_PYTHON_ONLY = re.compile(r"\{,\d+\}")  # text for RE2, a repetition for Python


def compiled(text: str, *, whole: bool = False) -> Pattern:
    """The pattern, anchored at the end of a line (whole: at its beginning, too).

    ConfigError: not a regular expression, or one that is too large.
    """
    checked(text)
    return _compiled((rb"\A" if whole else b"") + b"(?:" + _raw(text) + rb")\z")


def compiled_head(text: str) -> Pattern:
    """The pattern, not anchored."""
    checked(text)
    return _compiled(_raw(text))


def checked(text: str) -> None:
    """ConfigError for text that is not a regular expression, or one that is too large."""
    if len(text) > LONGEST_PATTERN:
        what = f"the pattern has {len(text)} characters"
        raise ConfigError(what, fix=f"use at most {LONGEST_PATTERN}")
    if wrong := _PYTHON_ONLY.search(text):
        fix = f"write {wrong[0].replace(',', '0,')}"
        raise ConfigError(f"{text!r} is not a regular expression: {wrong[0]}", fix=fix)
    try:
        size = cast("Any", _compiled(_raw(text))).programsize  # RE2's own
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace")
        fix = "write RE2's syntax: without lookaround, backreferences, (?x) and counts over 1000"
        raise ConfigError(f"{text!r} is not a regular expression: {reason}", fix=fix) from None
    if size > LARGEST_PROGRAM:
        fix = "use * or + instead of large counts in braces"
        raise ConfigError(f"{text!r} is too large", fix=fix)


def groups_of(match: Match) -> dict[str, bytes | None]:
    """The named groups of a match."""
    named = cast("dict[bytes, bytes | None]", match.groupdict())
    return {name.decode(): value for name, value in named.items()}


def names_of_groups(pattern: Pattern) -> set[str]:
    return {name.decode() for name in cast("dict[bytes, int]", pattern.groupindex)}


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


@functools.lru_cache(maxsize=256)
def _compiled(raw: bytes) -> Pattern:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # one character is one byte
    options.dot_nl = True
    options.log_errors = False
    return cast("Pattern", re2.compile(raw, options))


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
