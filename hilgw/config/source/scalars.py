"""The value of an unquoted YAML word, as far as all YAML versions agree.

YAML 1.1 (PyYAML) and 1.2 (most editors) read words such as 014, 1:30, yes or 1e3 differently.
Each such word is an error with a fix.
"""

import math
import re
from dataclasses import dataclass
from typing import Any


class Surprise(Exception):
    """YAML versions read the word differently."""

    def __init__(self, problem: str, fix: str) -> None:
        super().__init__(problem)
        self.what = problem
        self.fix = fix


@dataclass(frozen=True, slots=True)
class _Bad:
    """Replaces a value that has an error already."""


BAD = _Bad()

_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_TRUE = frozenset(("true", "True", "TRUE"))
_FALSE = frozenset(("false", "False", "FALSE"))
_SPECIAL = re.compile(r"([-+]?)\.(inf|Inf|INF)|\.(nan|NaN|NAN)")

_YES_NO = frozenset(("yes", "no", "on", "off"))
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(0|[1-9][0-9]*)\.[0-9]+([eE][-+][0-9]+)?")

_NUMERIC = re.compile(r"[-+]?\.?[0-9]")
# Forms of numbers and dates that YAML versions read differently, and why; the first match applies.
# re compiles a form when it is needed: a file has few such words.
_FORMS = (
    (_OCTAL := r"[-+]?0[oO][0-7]+", "octal numbers are read differently by YAML versions"),
    (
        _LEADING_ZERO := r"[-+]?0[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?",
        "a number with leading zeros is octal in YAML 1.1, decimal in 1.2",
    ),
    (_BINARY := r"[-+]?0[bB][01_]+", "binary numbers are text in YAML 1.2"),
    (r"[-+]?0[xX][0-9a-fA-F_]+", "this form of a hexadecimal number is text in YAML 1.2"),
    (
        r"[-+]?[0-9][0-9_]*(:[0-9]+)+(\.[0-9_]*)?",
        "digits with colons are a base-60 number in YAML 1.1",
    ),
    (
        _UNDERSCORES := r"[-+]?(?=[0-9._]*_)[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?",
        "a number with underscores is text in YAML 1.2",
    ),
    (
        _EXPONENT := r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+",
        "a number with this exponent is text in YAML 1.1",
    ),
    (
        _BARE_POINT := r"[-+]?([0-9]+\.|\.[0-9]+)",
        "a number needs a digit on both sides of the point",
    ),
    (r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?", "a date is not text in YAML 1.1"),
)
_AFTER = {_LEADING_ZERO: " (an address, a serial number)"}

_INT_LIMIT = 2**64


def resolve(word: str) -> Any:
    """Return the value of an unquoted word: None, bool, int, float or str.

    Raises:
        Surprise: Other programs read the word as something else.
    """
    if word in _NULL:
        return None
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    if _INT.fullmatch(word):
        return _integer(word, 10)
    if _HEX.fullmatch(word):
        return _integer(word, 16)
    if _FLOAT.fullmatch(word):
        return _finite(word)
    if special := _SPECIAL.fullmatch(word):
        return math.nan if special[3] else math.copysign(math.inf, -1 if special[1] == "-" else 1)
    _refuse(word)
    return word


def _integer(word: str, base: int) -> int:
    if len(word) > 21 or abs(int(word, base)) >= _INT_LIMIT:
        raise Surprise("the number has more than 64 bits", "put it in quotes if it is text")
    return int(word, base)


def _finite(word: str) -> float:
    number = float(word)
    if math.isinf(number):
        raise Surprise("the number is too large", "put it in quotes if it is text")
    return number


def _plain(word: str) -> str:
    number = float(word.replace("_", ""))
    if math.isinf(number):
        return "a smaller number"
    if number == int(number) and abs(number) < 1e15:
        return str(int(number)) if "." not in word else f"{int(number)}.0"
    text = repr(number)
    mantissa, _, exponent = text.partition("e")
    if not exponent:
        return text
    point = "" if "." in mantissa else ".0"
    sign = "" if exponent[0] in "+-" else "+"
    return f"{mantissa}{point}e{sign}{exponent}"


def _refuse(word: str) -> None:
    quote = f'"{word}" if it is text' if len(word) <= 40 else "it in quotes if it is text"
    if word.lower() in _YES_NO:
        truth = "true" if word.lower() in ("yes", "on") else "false"
        raise Surprise(f"{word} is {truth} in YAML 1.1, text in 1.2", f"write {truth}, or {quote}")
    if not _NUMERIC.match(word):
        return
    for form, problem in _FORMS:
        if re.fullmatch(form, word):
            raise Surprise(problem, f"write {_instead(form, word)}{quote}{_AFTER.get(form, '')}")


def _instead(form: str, word: str) -> str:
    if form in (_OCTAL, _BINARY):
        digits = re.sub("[oObB_]", "", word)
        base = 8 if form == _OCTAL else 2
        return f"{int(digits, base)}, or " if len(digits) <= 64 else ""
    if form == _LEADING_ZERO:
        return f"{_plain(word)} without zeros, or "
    if form in (_UNDERSCORES, _EXPONENT, _BARE_POINT):
        return f"{_plain(word)}, or "
    return ""
