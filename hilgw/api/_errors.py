"""Lines for people, where libController prints them."""

from __future__ import annotations

import sys

LARGEST_PERIOD = 2**16 - 1


def report(text: str) -> None:
    """Prints an error: Webots' functions report a wrong argument, and raise nothing."""
    print(f"Error: {text}", file=sys.stderr, flush=True)


def report_disabled(getter: str, enable: str) -> None:
    """Prints that the program reads what is off. getter, enable: functions of Webots' C API."""
    report(f"wb_{getter}() called for a disabled device! Please use: wb_{enable}().")


def is_period(period: int, function: str) -> bool:
    """Whether this is a sampling period; prints that it is not. function: of Webots' C API."""
    if period < 0:
        report(f"wb_{function}() called with negative sampling period.")
    elif period > LARGEST_PERIOD:
        report(f"wb_{function}() called with a sampling period above {LARGEST_PERIOD} ms.")
    else:
        return True
    return False


def deprecated(old: str, new: str) -> None:
    """Prints that another function replaces this one."""
    print(f"DEPRECATION: {old} is deprecated, please use {new} instead.", file=sys.stderr)
