"""Which devices a robot on a serial line has yet to register.

It registers no more once it hears a good frame from us, and a line may lose frames: so nothing is
said until the indices it has shown have no gap. What came as a value alone counts as shown.
"""

from __future__ import annotations

PATIENCE_NS = 3_000_000_000
"""A robot that leaves a gap for so long means it."""


class Roster:
    """Indices registered, and indices missing. on_line: false for TCP, which loses nothing."""

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
        """Something came from a device that was not registered."""
        self._missing.add(index)

    def is_complete(self, now: int) -> bool:
        """Whether we may speak."""
        if not self._on_line:
            return True
        return self._highest >= 0 and (not self._missing or now >= self._until)

    def due(self) -> int:
        """The latest time at which we may speak."""
        return self._until if self._missing else 0
