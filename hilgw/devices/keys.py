"""Key codes of Webots' Keyboard (reference manual, R2025a), by name."""

from __future__ import annotations

SHIFT, CONTROL, ALT = 0x10000, 0x20000, 0x40000
KEY = 0xFFFF
MOST_KEYS = 7
"""So many keys are read at the same time."""

END, HOME, LEFT, UP, RIGHT, DOWN = range(312, 318)
PAGEUP, PAGEDOWN = 366, 367
NUMPAD_HOME, NUMPAD_LEFT, NUMPAD_UP, NUMPAD_RIGHT, NUMPAD_DOWN = range(375, 380)
NUMPAD_END = 382

NAMES = {
    "up": UP,
    "down": DOWN,
    "left": LEFT,
    "right": RIGHT,
    "home": HOME,
    "end": END,
    "pageup": PAGEUP,
    "pagedown": PAGEDOWN,
    "numpad-home": NUMPAD_HOME,
    "numpad-left": NUMPAD_LEFT,
    "numpad-up": NUMPAD_UP,
    "numpad-right": NUMPAD_RIGHT,
    "numpad-down": NUMPAD_DOWN,
    "numpad-end": NUMPAD_END,
    "space": ord(" "),
}
MODIFIERS = {"shift": SHIFT, "control": CONTROL, "ctrl": CONTROL, "alt": ALT}

_CODES = {*NAMES.values(), *range(0x20, 0x7F)}


def code_of(text: str) -> int | None:
    """The code of a key such as "up", "a", "control+b"; None when there is no such key. A letter
    is its capital: the shift key is a modifier."""
    head, _, last = text.rpartition("+")
    if (not last and head.endswith("+")) or text == "+":  # the key + itself
        head, last = head.removesuffix("+"), "+"
    code = NAMES.get(last.lower())
    if code is None and len(last) == 1 and " " < last <= "~":
        code = ord(last.upper())
    for word in head.split("+") if head else []:
        bit = MODIFIERS.get(word.lower())
        if bit is None or code is None:
            return None
        code |= bit
    return code


def is_code(code: object) -> bool:
    """Whether Webots has a key of this code, with any modifiers."""
    return type(code) is int and 0 <= code <= 0x7FFFF and (code & KEY) in _CODES
