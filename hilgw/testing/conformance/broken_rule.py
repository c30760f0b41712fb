"""Reports of broken rules: the rule, the actual and the expected result, the bytes, and the
attribute of the test that relaxes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from hilgw.testing.conformance.relaxations import relaxed_by

__tracebackhide__ = True  # a failure is shown at the rule, not in here

LONGEST = 400  # characters of one value in a message


class BrokenRule(AssertionError):
    """An adapter breaks a rule. rule: its name."""

    def __init__(self, rule: str, got: str, expected: str, more: Iterable[str] = ()) -> None:
        lines = [f"rule {rule}", f"  got:      {got}", f"  expected: {expected}"]
        lines += [f"  {line}" for line in more]
        if relaxed := relaxed_by(rule):
            lines.append(f"  relax by: {relaxed}")
        super().__init__("\n".join(lines))
        self.rule = rule
        self.got = got
        self.expected = expected


def broken(rule: str, got: str, expected: str, *more: str) -> NoReturn:
    """Fails the test. more: lines that help to locate the fault."""
    __tracebackhide__ = True
    raise BrokenRule(rule, got, expected, more)


def require(holds: object, rule: str, got: Any, expected: str, *more: str) -> None:
    """Fails the test unless the rule holds."""
    __tracebackhide__ = True
    if not holds:
        broken(rule, got if isinstance(got, str) else shown(got), expected, *more)


def shown(value: Any) -> str:
    """A value in one line of limited length; bytes in hex."""
    if isinstance(value, bytes | bytearray):
        text = f"{len(value)} B {bytes(value[:64]).hex(' ')}{' ...' if len(value) > 64 else ''}"
    elif isinstance(value, list | tuple):
        text = ", ".join(shown(item) for item in value) or "nothing"
        text = f"({text})" if isinstance(value, tuple) else text
    else:
        text = repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 4]} ..."


def bytes_line(data: bytes) -> str:
    """The line of a report with the bytes, for copying."""
    text = bytes(data[:LONGEST]).hex(" ") or "(none)"
    return f"bytes:    {text}{f' ... {len(data)} B' if len(data) > LONGEST else ''}"


def location_of(error: BaseException) -> str:
    """The line of a report with the source line of an exception."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "at:       unknown"
    code = trace.tb_frame.f_code
    return f"at:       {code.co_filename}:{trace.tb_lineno} in {code.co_name}"
