"""Listeners of one type and channel, found by place when there are many of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING

from hilgw.medium.pose import Pose, Vector

if TYPE_CHECKING:
    from hilgw.medium.listener import Listener

FEW = 32  # looked at one by one
_LEVELS = range(-4, 11)  # edges of cells: 2^-4 m .. 2^10 m

Cell = tuple[int, int, int]
_ORDER = attrgetter("order")


class Bucket:
    """Listeners, with one grid of cells for each order of magnitude of range asked for."""

    def __init__(self) -> None:
        self._members: dict[str, Listener] = {}
        self._in_order: list[Listener] | None = None
        self._grids: dict[int, dict[Cell, dict[str, Listener]]] = {}

    def __len__(self) -> int:
        return len(self._members)

    def add(self, listener: Listener) -> None:
        """Adds one whose name is new here."""
        self._members[listener.name] = listener
        self._in_order = None
        for level, grid in self._grids.items():
            _put_in(grid, level, listener, listener.pose)

    def remove(self, listener: Listener) -> None:
        """Removes one that is here."""
        del self._members[listener.name]
        self._in_order = None
        for level, grid in self._grids.items():
            _take_out(grid, level, listener, listener.pose)

    def moved(self, listener: Listener, before: Pose | None) -> None:
        """One that is here was at `before` and now is at its pose."""
        for level, grid in self._grids.items():
            if _cell(level, before) != _cell(level, listener.pose):
                _take_out(grid, level, listener, before)
                _put_in(grid, level, listener, listener.pose)

    def all(self) -> list[Listener]:
        """Everyone, in order of attachment."""
        if self._in_order is None:
            self._in_order = sorted(self._members.values(), key=_ORDER)
        return self._in_order

    def near(self, place: Vector, range: float) -> Iterator[Listener] | None:
        """Everyone who may be within range, or whose place is unknown, in any order; None when
        looking at all is no worse."""
        level = _level(range)
        if level is None or len(self._members) <= FEW:
            return None
        if level not in self._grids:
            self._build(level)
        grid, edge = self._grids[level], 2.0**level
        spans = (
            _span(math.floor((centre - range) / edge), math.floor((centre + range) / edge))
            for centre in place
        )
        cells = itertools.product(*spans)
        inside = (grid[cell].values() for cell in cells if cell in grid)
        unknown: Iterable[Listener] = grid.get(_UNKNOWN, {}).values()
        return itertools.chain(itertools.chain.from_iterable(inside), unknown)

    def _build(self, level: int) -> None:
        grid = self._grids[level] = {}
        for listener in self._members.values():
            _put_in(grid, level, listener, listener.pose)


_UNKNOWN = (0, 0, 1 << 70)  # the cell of those whose place is unknown: no real cell is so far out


def _span(first: int, last: int) -> Iterable[int]:
    return range(first, last + 1)


def _level(range: float) -> int | None:
    """The smallest edge not below the range."""
    if not 0.0 < range <= 2.0 ** _LEVELS[-1]:
        return _LEVELS[0] if range == 0.0 else None
    return max(_LEVELS[0], math.ceil(math.log2(range)))


def _cell(level: int, pose: Pose | None) -> Cell:
    if pose is None:
        return _UNKNOWN
    edge = 2.0**level
    x, y, z = pose.position
    return (math.floor(x / edge), math.floor(y / edge), math.floor(z / edge))


def _put_in(
    grid: dict[Cell, dict[str, Listener]], level: int, listener: Listener, pose: Pose | None
) -> None:
    grid.setdefault(_cell(level, pose), {})[listener.name] = listener


def _take_out(
    grid: dict[Cell, dict[str, Listener]], level: int, listener: Listener, pose: Pose | None
) -> None:
    cell = _cell(level, pose)
    there = grid[cell]
    del there[listener.name]
    if not there:
        del grid[cell]
