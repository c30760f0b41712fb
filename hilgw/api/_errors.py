"""Lines for people, where libController prints them."""

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
