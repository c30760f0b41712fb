"""The circuit around a module, as a parameter: what it puts on which pin."""

from collections.abc import Mapping
from typing import Any

# By number of the line, DIO0 to DIO14.
LINES = tuple(f"D{number}" for number in range(10)) + tuple(f"P{number}" for number in range(5))
FULL_SCALE = 0x3FF  # 10 bits


def pins_of(value: Any) -> dict[str, int | None]:
    """Return what a circuit puts on pins: high, low, open, or 0 to 1023 as the converter reads.

    It is given as a mapping, or text as D3:high,D2:512. Raises ValueError.
    """
    if isinstance(value, str):
        pairs = [pair.partition(":") for pair in value.strip("{} ").split(",") if pair.strip()]
        if not all(colon for _, colon, _ in pairs):
            raise ValueError(f"{value!r} is not PIN:LEVEL, e.g. D3:high,D2:512")
        value = {key.strip(" \"'"): level.strip(" \"'") for key, _, level in pairs}
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is not PIN:LEVEL, e.g. D3:high,D2:512")
    return {_line(key): _driven(level) for key, level in value.items()}


def _line(key: Any) -> str:
    name = str(key).upper()
    if name not in LINES:
        raise ValueError(f"{key!r} is not a pin; {LINES[0]} to {LINES[9]}, {LINES[10]} to P4")
    return name


def _driven(level: Any) -> int | None:
    # YAML reads on and off as true and false.
    word = str(level).lower()
    words = {"high": FULL_SCALE, "true": FULL_SCALE, "low": 0, "false": 0, "open": None}
    if word in words:
        return words[word]
    if not (word.isascii() and word.isdigit() and int(word) <= FULL_SCALE):
        raise ValueError(f"{level!r} is not high, low, open or a number from 0 to {FULL_SCALE}")
    return int(word)
