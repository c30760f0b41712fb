"""Reports of broken rules.

A report has the rule, the actual and the expected result, the bytes, and the attribute of the test
that relaxes it.
"""

from collections.abc import Iterable
from typing import Any, NoReturn

__tracebackhide__ = True  # a failure is shown at the rule, not in here

LONGEST = 400  # characters of one value in a message


_PAUSE = "pause_s, where a frame ends only with a silence"
_CARRIED = "values, sizes, largest or fits(), where the hardware cannot carry this packet"
_SLOW = "live_s (real seconds), where the hardware is slower"

# By the beginning of the rule's name. A rule that is missing here holds for any hardware.
_RELAXED_BY = {
    "vectors are received": _PAUSE,
    "any chunking gives": _PAUSE,
    "garbage costs no": "noise_costs, where noise may destroy the frames behind it; check_bits, "
    "where noise may look like a packet; tolerant, where a changed byte may be valid; " + _PAUSE,
    "a truncated frame": "noise_costs, where it may destroy the frame behind it; check_bits below "
    "8, where nothing shows that it is incomplete; " + _PAUSE,
    "all byte values": _CARRIED,
    "payload sizes": _CARRIED,
    "packets that fit": _CARRIED,
    "packets keep their order": "burst, where the hardware takes fewer packets at once; "
    "arrival_s, where they take longer",
    "slow line": "arrival_s, where packets take longer; " + _CARRIED,
    "handshake": "ready_s (simulated seconds) or " + _SLOW,
    "round trip on a": _SLOW + "; check_bits below 16, where noise may look like a packet; "
    "echoes, where the mock of a serial line has a second station instead",
    "mapping of": "channels and the settings of the test; arrival_s, where packets take longer",
}


class BrokenRule(AssertionError):
    """An adapter breaks a rule. rule: its name."""

    def __init__(self, rule: str, got: str, expected: str, more: Iterable[str] = ()) -> None:
        lines = [f"rule {rule}", f"  got:      {got}", f"  expected: {expected}"]
        lines += [f"  {line}" for line in more]
        relaxed = (text for name, text in _RELAXED_BY.items() if rule.startswith(name))
        lines += [f"  relax by: {text}" for text in relaxed]
        super().__init__("\n".join(lines))
        self.rule = rule
        self.got = got
        self.expected = expected


def broken(rule: str, got: str, expected: str, *more: str) -> NoReturn:
    """Fail the test; `more` are lines that help to locate the fault."""
    __tracebackhide__ = True
    raise BrokenRule(rule, got, expected, more)


def require(holds: object, rule: str, got: Any, expected: str, *more: str) -> None:
    """Fail the test unless the rule holds."""
    __tracebackhide__ = True
    if not holds:
        broken(rule, got if isinstance(got, str) else shown(got), expected, *more)


def shown(value: Any) -> str:
    """Return a value in one line of limited length; bytes in hex."""
    if isinstance(value, bytes | bytearray):
        text = f"{len(value)} B {bytes(value[:64]).hex(' ')}{' ...' if len(value) > 64 else ''}"
    elif isinstance(value, list | tuple):
        text = ", ".join(shown(item) for item in value) or "nothing"
        text = f"({text})" if isinstance(value, tuple) else text
    else:
        text = repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 4]} ..."


def bytes_line(data: bytes) -> str:
    """Return the line of a report with the bytes, for copying."""
    text = bytes(data[:LONGEST]).hex(" ") or "(none)"
    return f"bytes:    {text}{f' ... {len(data)} B' if len(data) > LONGEST else ''}"


def location_of(error: BaseException) -> str:
    """Return the line of a report with the source line of an exception."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "at:       unknown"
    code = trace.tb_frame.f_code
    return f"at:       {code.co_filename}:{trace.tb_lineno} in {code.co_name}"
