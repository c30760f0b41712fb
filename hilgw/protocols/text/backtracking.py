"""A bound of the work of Python's `re` for a pattern, from its parse tree.

`re` tries every way in which a pattern can match. The bound counts ways that no line has, and
misses none.
"""

import functools
import re
from collections.abc import Iterable
from importlib import import_module
from typing import Any, NamedTuple

from hilgw.errors import ConfigError

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
