"""Baud rates that a module does not support."""

from __future__ import annotations

from collections.abc import Sequence

from hilgw.settings import Problem

NEAR = 0.02  # of a rate: closer than any two rates in use


def near_rate(baudRate: int, rates: Sequence[int]) -> int | None:
    """The rate of the table that a mistyped rate may stand for; None when none is near."""
    nearest = min(rates, key=lambda rate: abs(rate - baudRate))
    return nearest if 0 < abs(nearest - baudRate) <= NEAR * nearest else None


def unsupported(baudRate: int, rates: Sequence[int], more: str = "") -> Problem:
    """The problem of a rate outside the module's table: key, message, fix. more: what else the
    module takes."""
    near = near_rate(baudRate, rates)
    use = f"use {', '.join(map(str, rates))}{more}"
    fix = f"did you mean {near}?" if near is not None else use
    return "baudRate", f"the module does not support {baudRate} baud", fix
