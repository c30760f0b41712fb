"""Who heard whom, and how often: pairs counted in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable

MOST_PAIRS = 65_536
OTHERS = "others"


class HeardBy:
    """Copies per source and listener. Pairs beyond the limit count together, as `others`."""

    def __init__(self) -> None:
        self._pairs: dict[str, dict[str, int]] = {}
        self._count = 0
        self._others = 0

    def count(self, source: str, listeners: Iterable[str]) -> None:
        """One packet of this source was heard by these."""
        row = self._pairs.setdefault(source, {})
        for name in listeners:
            if name in row:
                row[name] += 1
            elif self._count < MOST_PAIRS:
                row[name] = 1
                self._count += 1
            else:
                self._others += 1

    def as_dict(self) -> dict[str, dict[str, int]]:
        """source -> listener -> copies; those who were heard by nobody left out."""
        found = {source: dict(row) for source, row in self._pairs.items() if row}
        if self._others:
            found[OTHERS] = {OTHERS: self._others}
        return found
