"""Names the frames of codes that a receiver is not set to take."""

from __future__ import annotations

from hilgw.protocols.ir import CODECS, Code, Codec
from hilgw.protocols.ir.receiver import ReceivedFrame, Splitter

_GAP_US = max(codec.traits.gap_us for codec in CODECS.values())


class OtherCodes:
    """Takes the same durations as the receiver of `codec`, and splits them for any code.

    Each method returns a line for the user when a frame of another code has ended, else "".
    """

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._splitter = Splitter(_GAP_US)

    @property
    def pending(self) -> bool:
        """Whether a frame has begun and not ended."""
        return self._splitter.pending

    def feed(self, us: int) -> str:
        """The next duration."""
        return self._name(self._splitter.feed(us))

    def end(self, silence_us: int) -> str:
        """End of the burst, after this much silence."""
        return self._name(self._splitter.end(silence_us))

    def quiet(self) -> str:
        """Silence."""
        return self._name(self._splitter.quiet())

    def interrupt(self) -> None:
        """The receiver was stopped."""
        self._splitter.interrupt()

    def _name(self, frame: ReceivedFrame | None) -> str:
        if frame is None or self._codec.decode(frame.durations) is not None:
            return ""
        for codec in CODECS.values():
            code = codec.decode(frame.durations)
            if isinstance(code, Code):
                return (
                    f"{codec.traits.title} 0x{code.address:02X}:0x{code.command:02X}; "
                    f"this adapter takes {self._codec.traits.name}"
                )
        return ""
