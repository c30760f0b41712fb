"""Regular expressions of a configuration for received lines.

The bytes of a line come from a device and may be hostile: a pattern that could take more than
MOST_STEPS on a line of LONGEST_LINE bytes is rejected.
"""

import functools
import re
import warnings
from contextlib import suppress

from hilgw.errors import ConfigError
from hilgw.protocols.text.backtracking import ANYTHING, END, LONGEST_LINE, Bound, bound, parser

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
        problem = f"{text!r} is not a regular expression: {error}"
        raise ConfigError(problem, fix="write Python's syntax, for bytes") from None
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
