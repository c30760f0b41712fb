"""The line pacer: when written bytes have left the serial line, in exact arithmetic."""

from hilgw.units import NS_PER_S


class LinePacer:
    """A serial line as a server: `bits_per_byte` bits a byte at `baudRate` bit/s.

    Keeps the instant it falls free as a whole number of nanoseconds and a remainder in
    1/baudRate ns, so that rounding never adds up over a long run.
    """

    __slots__ = ("_bits", "_free", "_rest", "baudRate")

    def __init__(self, baudRate: int, bits_per_byte: int) -> None:
        self.baudRate = baudRate
        self._bits = bits_per_byte
        self._free = 0
        self._rest = 0

    @property
    def free_ns(self) -> int:
        """The first whole nanosecond at which all written bytes have left."""
        return self._free + (self._rest > 0)

    def is_free(self, now: int) -> bool:
        return now >= self.free_ns

    def duration_ns(self, size: int) -> int:
        """Return how long the line takes for `size` bytes, rounded down."""
        return size * self._bits * NS_PER_S // self.baudRate

    def occupy(self, size: int, now: int, *, backlog: bool = False) -> int:
        """Take `size` bytes as written; return when the last one has left, in nanoseconds.

        They start when the line is free. With `backlog` they were waiting for that moment, so a
        late timer does not delay the schedule.
        """
        if now > self.free_ns and not backlog:
            self._free, self._rest = now, 0
        whole, self._rest = divmod(size * self._bits * NS_PER_S + self._rest, self.baudRate)
        self._free += whole
        return self.free_ns

    def reset(self) -> None:
        """Forget the bytes under way, which are gone: the port was closed."""
        self._free = self._rest = 0
