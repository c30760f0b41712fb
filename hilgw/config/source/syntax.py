"""Translates PyYAML's syntax errors, and adds a fix to each."""

import re
from typing import Any

import yaml

BRACES = ("a text with braces is not in quotes", "put it in quotes")
_BRACES = re.compile(
    r"""[:\[,-]\s+[^\s"'#{}\[\],][^"'{}\[\],:]*\{"""  # ping {n}
    r"""|[:\[,-]\s*\{[^{}"':,]*\}\s*[^\s,}\]#:]"""  # {n} ping
)
NO_COLON = ("a key without ':'", "write `key: value`")
_LONGEST_LINE = 1000
_GLUED = re.compile(r"([A-Za-z_]\w*):(\S.*)")


def without_space(text: str) -> str:
    """Return the fix for `key:value`, which YAML takes for one word; "" for another text."""
    glued = _GLUED.match(text)
    return f"write a space after the colon: `{glued[1]}: {glued[2]}`" if glued else ""


def has_bare_braces(line: str) -> bool:
    """Return True if a value of this line is a text with {braces} and without quotes."""
    return len(line) <= _LONGEST_LINE and _BRACES.search(line) is not None


# (part of PyYAML's problem, part of its context, what, fix); the first match applies.
_WORDS: tuple[tuple[str, str, str, str], ...] = (
    ("character '\\t'", "", "a tab where spaces are needed", "indent with spaces"),
    ("cannot start any token", "", "a value cannot begin with this character", "put it in quotes"),
    (
        "mapping values are not allowed",
        "",
        "a ':' where a key is not allowed",
        "check the indentation, or put a text that contains ': ' in quotes",
    ),
    (
        "sequence entries are not allowed",
        "",
        "a '-' where a list item is not allowed",
        "begin the list on a line of its own",
    ),
    ("could not find expected ':'", "", *NO_COLON),
    ("expected the node content", "", "a value is missing here", "write it"),
    ("expected alphabetic", "an alias", "a value cannot begin with '*'", "put it in quotes"),
    ("expected alphabetic", "an anchor", "a value cannot begin with '&'", "put it in quotes"),
    ("expected URI", "", "a value cannot begin with '!'", "put it in quotes"),
    ("expected ' '", "a tag", "a value cannot begin with '!'", "put it in quotes"),
    ("unexpected end of stream", "quoted scalar", "a quote is not closed", "close it"),
    ("unexpected document separator", "", "a quote is not closed before '---'", "close it"),
    (
        "unknown escape character",
        "",
        "unknown escape in a double-quoted text",
        r"use single quotes, or \\ for a backslash",
    ),
    ("escape sequence of", "", "an escape with too few hexadecimal digits", "complete it"),
    ("expected ',' or ']'", "", "this cannot follow in a list", "write ',' or ']' before it"),
    ("expected ',' or '}'", "", "this cannot follow in a mapping", "write ',' or '}' before it"),
    ("expected <block end>", "", "wrong indentation", "align it with the keys above"),
    ("expected '<document start>'", "", "this cannot follow the end of the data", "delete it"),
    (
        "found another document",
        "",
        "a second document begins here",
        "keep one, or use two files",
    ),
    ("incompatible YAML document", "", "unknown YAML version", "delete the %YAML line"),
    ("undefined tag handle", "", "tags are not allowed", "delete it"),
)


def explain(error: yaml.MarkedYAMLError) -> tuple[Any, str, str]:
    """Return the mark, the problem and the fix: the error's note, if it has one."""
    if error.note:
        return error.problem_mark, str(error.problem), error.note
    problem, context = str(error.problem or ""), str(error.context or "")
    mark = error.problem_mark or error.context_mark
    for part, around, message, fix in _WORDS:
        if part in problem and around in context:
            if message.endswith("not closed") or message == NO_COLON[0]:
                mark = error.context_mark or mark
            elif "cannot follow in" in message and error.context_mark:
                message += f" that begins in line {error.context_mark.line + 1}"
            return mark, message, fix
    known = problem if problem.isascii() and problem.isprintable() else "a syntax error"
    return mark, f"not valid YAML: {known[:80]}", "check quotes, brackets and indentation"
