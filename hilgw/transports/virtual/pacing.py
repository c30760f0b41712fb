"""The timing of a UART line: when each byte has arrived. Exact, in integer nanoseconds."""

from collections.abc import Callable

from hilgw.transports.base import Scheduler
from hilgw.transports.wakeup import Wakeup

SLICE_NS = 5_000_000  # bytes that arrive within this time are delivered together
# How much of a timer's delay is caught up. With more, a blocked event loop would deliver at once
# bytes that were put on the line only after the block.
CATCH_UP_NS = 20_000_000
SECOND_NS = 1_000_000_000


class PacedLine:
    """A direction of a UART line: bytes in, the same bytes out after their last bit.

    deliver gets the bytes in slices, in order, each at or after the end of its last byte and never
    faster than the line; over any busy period the rate is exact. on_empty, when set, is called
    after a delivery that empties the queue: bytes it puts follow without a gap. baud_rate None: no
    pacing, bytes are delivered at the scheduler's next turn. slice_bytes: longest slice, None: 5 ms
    of bytes. catch_up_ns: how much of a timer's delay is caught up.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        deliver: Callable[[bytes], None],
        *,
        baud_rate: int | None,
        bits_per_byte: int,
        on_empty: Callable[[], None] | None = None,
        slice_bytes: int | None = None,
        catch_up_ns: int = CATCH_UP_NS,
    ) -> None:
        self._scheduler = scheduler
        self._deliver = deliver
        self._on_empty = on_empty
        self._baud_rate = baud_rate
        self._bits_per_byte = bits_per_byte
        self._slice_bytes = slice_bytes
        self._catch_up_ns = catch_up_ns
        self._queue = bytearray()
        self._slice = 0  # bytes at the head of the queue that are on the wire
        self._origin = 0  # start of the busy period, and its bits so far
        self._bits = 0
        self._end = 0  # when the last of these bits ends
        self._alarm = Wakeup(scheduler, lambda _: self._slice_over())
        self._delivering = False
        self._held = False

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def slice_bytes(self) -> int:
        """The most bytes that are delivered together."""
        if self._slice_bytes is not None:
            return self._slice_bytes
        if self._baud_rate is None:
            return 65536
        return max(1, SLICE_NS * self._baud_rate // (self._bits_per_byte * SECOND_NS))

    def set_line(self, baud_rate: int | None, bits_per_byte: int) -> None:
        """Change the rate with the next slice; the slice on the wire keeps its rate."""
        if (baud_rate, bits_per_byte) != (self._baud_rate, self._bits_per_byte):
            self._baud_rate = baud_rate
            self._bits_per_byte = bits_per_byte
            self._origin, self._bits = self._end, 0

    def put(self, data: bytes) -> None:
        self._queue += data
        self._start_if_idle()

    def clear(self) -> int:
        """Discard the bytes that are not delivered yet; return their number."""
        lost = len(self._queue)
        self._queue.clear()
        self._slice = 0
        self._alarm.set(None)
        return lost

    def take(self) -> bytes:
        """Discard the bytes that are not delivered yet, and return them."""
        waiting = bytes(self._queue)
        self.clear()
        return waiting

    def hold(self) -> None:
        """Stop deliveries and put nothing more on the wire (flow control)."""
        self._held = True

    def release(self) -> None:
        self._held = False
        if self._slice and self._alarm.at is None:
            self._alarm.set(self._end)
        else:
            self._start_if_idle()

    def _start_if_idle(self) -> None:
        if self._queue and self._alarm.at is None and not self._held and not self._delivering:
            now = self._scheduler.now()
            if now >= self._end:  # not a rounding error of less than 1 ns before it
                self._origin, self._bits, self._end = now, 0, now
            self._send_slice(self._end)

    def _send_slice(self, start: int) -> None:
        if start != self._end:
            self._origin, self._bits = start, 0
        self._slice = min(len(self._queue), self.slice_bytes)
        if self._baud_rate is None:
            self._end = start
        else:
            self._bits += self._slice * self._bits_per_byte
            self._end = self._origin - (-self._bits * SECOND_NS // self._baud_rate)  # rounded up
        self._alarm.set(self._end)

    def _slice_over(self) -> None:
        if self._held:
            return
        data = bytes(memoryview(self._queue)[: self._slice])
        del self._queue[: self._slice]
        self._slice = 0
        self._delivering = True
        try:
            self._deliver(data)
            if not self._queue and self._on_empty is not None:
                self._on_empty()
        finally:
            self._delivering = False
        if self._queue and not self._held:
            self._send_slice(max(self._end, self._scheduler.now() - self._catch_up_ns))
