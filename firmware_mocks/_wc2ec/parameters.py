"""Parameters of the WC2EC mocks: names, numbers and choices, checked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def settings_of(parameters: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """A copy; ValueError for a name that is none."""
    for name in parameters:
        if name not in known:
            raise ValueError(f"{name}: no such parameter; one of {', '.join(known)}")
    return dict(parameters)


def number(values: Mapping[str, Any], name: str, low: float, high: float) -> float:
    """A number between low and high; ValueError else."""
    try:
        value = float(values[name])
    except (TypeError, ValueError):
        value = math.nan
    if not low <= value <= high:
        raise ValueError(f"{name}: {values[name]!r} is no number from {low:g} to {high:g}")
    return value


def choice(values: Mapping[str, Any], name: str, allowed: Sequence[str]) -> str:
    """One of the words allowed; a YAML yes or no counts as the word."""
    value = values[name]
    word = {True: "yes", False: "no"}.get(value, value) if isinstance(value, bool) else value
    if word not in allowed:
        raise ValueError(f"{name}: {value!r} is not one of {', '.join(allowed)}")
    return str(word)
