"""Distance from a counter that wraps around, such as the encoder of a wheel."""


class Odometer:
    """Between two readings the counter moves by less than half its span.

    span: after this many steps the counter shows the same number again. start: the total at the
    first reading; None: the reading itself.
    """

    def __init__(self, span: float, start: float | None = None) -> None:
        self._span = span
        self._total = start
        self._raw: float | None = None
        self._offset = 0.0

    def rebase(self) -> None:
        """Take the next reading for the present total: the counter may have started again."""
        self._raw = None

    def read(self, raw: float) -> float:
        """Return the total after this reading of the counter."""
        if self._raw is None:
            self._offset = 0.0 if self._total is None else self._total - raw
        else:
            moved, half = raw - self._raw, self._span / 2
            self._offset += ((moved < -half) - (moved >= half)) * self._span
        self._raw = raw
        self._total = raw + self._offset
        return self._total
