"""The frames of one station's line, for observers and for the report of a failed test."""

from collections.abc import Callable, Iterable

from hilgw.adapters.base import Event, Write
from hilgw.engine.observer import Direction

LONGEST = 512  # bytes without an event that are reported together

OnFrame = Callable[[Direction, bytes], None]


class FrameTap:
    """The frames that a session sends, and the bytes that it receives up to the next event.

    They are reported by on_frame.
    """

    def __init__(self, on_frame: OnFrame) -> None:
        self.on_frame = on_frame
        self._received = b""

    def received(self, data: bytes) -> None:
        """Take bytes that the session gets now."""
        self._received += data

    def answered(self, events: Iterable[Event]) -> None:
        """Take what the session answers."""
        if events or len(self._received) >= LONGEST:
            self.flush()
        for event in events:
            if isinstance(event, Write):
                self.on_frame(Direction.SENT, event.data)

    def flush(self) -> None:
        """Report the received bytes without an event."""
        if self._received:
            data, self._received = self._received, b""
            self.on_frame(Direction.RECEIVED, data)
