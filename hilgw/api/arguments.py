"""Checks of arguments, which reject what Webots' ctypes binding rejects; and lines for people."""

import math
import operator
import sys


def report(text: str) -> None:
    """Print an error: Webots' functions report a wrong argument, and raise nothing."""
    print(f"Error: {text}", file=sys.stderr, flush=True)


def report_disabled(getter: str, enable: str) -> None:
    """Report that the program reads a disabled device.

    `getter` and `enable` are functions of Webots' C API.
    """
    report(f"wb_{getter}() called for a disabled device! Please use: wb_{enable}().")


def deprecated(old: str, new: str) -> None:
    """Print that another function replaces this one."""
    print(f"DEPRECATION: {old} is deprecated, please use {new} instead.", file=sys.stderr)


LARGEST_PERIOD = 2**16 - 1


def integer(value: object, function: str) -> int:
    """Return an int of the C function; None is 0.

    Raises:
      ctypes.ArgumentError: another number, or text, with which no program works there.
    """
    if value is None:
        return 0
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        from ctypes import ArgumentError  # slow to import, and rarely needed

        problem = f"wb_{function}() takes an integer, not {value!r:.50}"
        hint = f"; write int({value!r:.50})" if isinstance(value, float) else ""
        raise ArgumentError(problem + hint) from None


def real(value: float) -> float:
    """Return a double of the C function.

    Raises:
        TypeError: It is text, which float() would accept.
    """
    return math.ldexp(value, 0)


def text(value: str) -> str:
    """Return a string of the C function.

    Raises:
        TypeError: It is anything else.
    """
    str.encode(value)
    return value


def period(value: object, function: str) -> int | None:
    """Return a sampling period in ms; report an invalid one and return None.

    `function` is its name in Webots' C API.

    Raises:
        ctypes.ArgumentError: see `integer`.
    """
    ms = integer(value, function)
    if ms < 0:
        report(f"wb_{function}() called with negative sampling period.")
    elif ms > LARGEST_PERIOD:
        report(f"wb_{function}() called with a sampling period above {LARGEST_PERIOD} ms.")
    else:
        return ms
    return None
