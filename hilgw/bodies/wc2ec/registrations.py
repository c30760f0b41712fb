"""Which devices a robot has yet to register, before hilgw may write to it."""

from __future__ import annotations

from hilgw.units import NS_PER_S

PATIENCE_NS = 3 * NS_PER_S
"""A gap in the registered indices that lasts so long is taken as intended."""


class Registrations:
    """on_line: False for TCP, which loses nothing.

    A robot on a serial line stops registering when it receives a good frame, and the line may lose
    frames: the session sends nothing until the registered indices have no gap. An index that came
    with a value only counts as one to be registered.
    """

    def __init__(self, *, on_line: bool) -> None:
        self._on_line = on_line
        self._highest = -1
        self._missing: set[int] = set()
        self._until = 0

    def open(self, now: int) -> None:
        self._highest = -1
        self._missing.clear()
        self._until = now + PATIENCE_NS

    def registered(self, index: int) -> None:
        self._missing.update(range(self._highest + 1, index))
        self._missing.discard(index)
        self._highest = max(self._highest, index)

    def unknown(self, index: int) -> None:
        """A message came from a device that was not registered."""
        self._missing.add(index)

    def is_complete(self, now: int) -> bool:
        """Whether the session may send."""
        if not self._on_line:
            return True
        return self._highest >= 0 and (not self._missing or now >= self._until)

    def due(self) -> int:
        """The latest time from which the session may send."""
        return self._until if self._missing else 0
