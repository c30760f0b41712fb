"""Key codes of Webots' Keyboard (reference manual, R2025a), by name."""

MOST_KEYS = 7
"""Number of keys that are read at the same time."""


class Keys:
    """The codes, under Webots' names."""

    END, HOME, LEFT, UP, RIGHT, DOWN = range(312, 318)
    PAGEUP, PAGEDOWN = 366, 367
    NUMPAD_HOME, NUMPAD_LEFT, NUMPAD_UP, NUMPAD_RIGHT, NUMPAD_DOWN = range(375, 380)
    NUMPAD_END = 382
    KEY, SHIFT, CONTROL, ALT = 0xFFFF, 0x10000, 0x20000, 0x40000


NAMES = {
    "up": Keys.UP,
    "down": Keys.DOWN,
    "left": Keys.LEFT,
    "right": Keys.RIGHT,
    "home": Keys.HOME,
    "end": Keys.END,
    "pageup": Keys.PAGEUP,
    "pagedown": Keys.PAGEDOWN,
    "numpad-home": Keys.NUMPAD_HOME,
    "numpad-left": Keys.NUMPAD_LEFT,
    "numpad-up": Keys.NUMPAD_UP,
    "numpad-right": Keys.NUMPAD_RIGHT,
    "numpad-down": Keys.NUMPAD_DOWN,
    "numpad-end": Keys.NUMPAD_END,
    "space": ord(" "),
}
MODIFIERS = {"shift": Keys.SHIFT, "control": Keys.CONTROL, "ctrl": Keys.CONTROL, "alt": Keys.ALT}

_CODES = {*NAMES.values(), *range(0x20, 0x7F)}


def code_of(text: str) -> int | None:
    """Return the code of a key such as "up", "a", "control+b"; None if there is no such key.

    A letter is its capital: the shift key is a modifier.
    """
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
    """Return whether Webots has a key of this code, with any modifiers."""
    return type(code) is int and 0 <= code <= 0x7FFFF and (code & Keys.KEY) in _CODES
