"""The keys that a terminal sends, as codes of Webots' keyboard."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator

from hilgw.devices import keys

END_OF_TEXT = b"\x04"  # Ctrl-D
READ_BYTES = 1024
_FINAL = {
    "A": keys.UP,
    "B": keys.DOWN,
    "C": keys.RIGHT,
    "D": keys.LEFT,
    "F": keys.END,
    "H": keys.HOME,
}
_TILDE = {
    "1": keys.HOME,
    "4": keys.END,
    "5": keys.PAGEUP,
    "6": keys.PAGEDOWN,
    "7": keys.HOME,
    "8": keys.END,
}
_KEY = re.compile(
    r"\x1b[\[O](?P<number>[0-9]*)(;(?P<modifier>[0-9]+))?(?P<final>[A-Za-z~])"
    r"|(?P<alt>\x1b?)(?P<one>[^\x1b])"
)


def keys_of(data: bytes) -> list[int]:
    """The keys in what a terminal sent (xterm, VT220); what Webots has no key for is left out."""
    found = (_code(match) for match in _KEY.finditer(data.decode("ascii", "ignore")))
    return [code for code in found if code is not None]


def _code(match: re.Match[str]) -> int | None:
    if (one := match["one"]) is not None:
        code = _character(one)
        return code if code is None or not match["alt"] else code | keys.ALT
    final, number = match["final"], match["number"]
    code = _TILDE.get(number) if final == "~" else _FINAL.get(final)
    bits = int(match["modifier"] or 1) - 1  # xterm: 1 and a bit for each
    for bit, modifier in ((1, keys.SHIFT), (2, keys.ALT), (4, keys.CONTROL)):
        if code is not None and bits & bit:
            code |= modifier
    return code


def _character(one: str) -> int | None:
    """A letter is its capital, with shift where it is one."""
    if "\x01" <= one <= "\x1a" and one not in "\t\n\r\b":
        return ord(one) + 0x40 | keys.CONTROL
    if not " " <= one <= "~":
        return None
    return ord(one.upper()) | (keys.SHIFT if one.isupper() else 0)


def read_keys(descriptor: int, press: Callable[[list[int]], None]) -> None:
    """Calls press(codes) for what is typed, until Ctrl-D or the end of the input."""
    with _single_keys(descriptor):
        while data := os.read(descriptor, READ_BYTES):
            typed, end, _ = data.partition(END_OF_TEXT)
            if codes := list(dict.fromkeys(keys_of(typed))):
                press(codes[: keys.MOST_KEYS])
            if end:
                return


@contextlib.contextmanager
def _single_keys(descriptor: int) -> Iterator[None]:
    """Each key is read at once and not shown; Ctrl-C still ends. No terminal: nothing changes."""
    if not os.isatty(descriptor):
        yield
        return
    import termios  # not on Windows

    before = termios.tcgetattr(descriptor)
    changed = termios.tcgetattr(descriptor)
    changed[3] &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(descriptor, termios.TCSADRAIN, changed)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
