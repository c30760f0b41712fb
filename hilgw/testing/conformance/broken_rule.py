"""How a broken rule is said: which one, what came, what was wanted, on which bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

__tracebackhide__ = True  # a failure is shown at the rule, not in here

LONGEST = 400  # characters of one value in a message


class BrokenRule(AssertionError):
    """An adapter does not keep a rule. `rule` names it as the documentation does."""

    def __init__(self, rule: str, came: str, wanted: str, more: Iterable[str] = ()) -> None:
        lines = [f"rule {rule}", f"  came:   {came}", f"  wanted: {wanted}"]
        super().__init__("\n".join([*lines, *(f"  {line}" for line in more)]))
        self.rule = rule
        self.came = came
        self.wanted = wanted


def broken(rule: str, came: str, wanted: str, *more: str) -> NoReturn:
    """Fails the test. more: lines that help to find the place."""
    __tracebackhide__ = True
    raise BrokenRule(rule, came, wanted, more)


def require(holds: object, rule: str, came: Any, wanted: str, *more: str) -> None:
    """Fails the test unless the rule holds."""
    __tracebackhide__ = True
    if not holds:
        broken(rule, came if isinstance(came, str) else shown(came), wanted, *more)


def shown(value: Any) -> str:
    """A value in one line that is not too long; bytes in hex."""
    if isinstance(value, bytes | bytearray):
        text = f"{len(value)} B {bytes(value[:64]).hex(' ')}{' ...' if len(value) > 64 else ''}"
    elif isinstance(value, list | tuple):
        text = ", ".join(shown(item) for item in value) or "nothing"
        text = f"({text})" if isinstance(value, tuple) else text
    else:
        text = repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 4]} ..."


def bytes_line(data: bytes) -> str:
    """The line of a message that gives the bytes themselves, to be copied."""
    text = bytes(data[:LONGEST]).hex(" ") or "(none)"
    return f"bytes:  {text}{f' ... {len(data)} B' if len(data) > LONGEST else ''}"


def location_of(error: BaseException) -> str:
    """Where it was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "at:     unknown"
    code = trace.tb_frame.f_code
    return f"at:     {code.co_filename}:{trace.tb_lineno} in {code.co_name}"
