"""One connection that carries WC2EC: a TCP stream as it is, or frames on a serial line.

A serial line has no connect and no disconnect: a good frame with a message that is not rejected
is the one, no such frame for `silence_ns` the other. On TCP the connection itself says both.
"""

from __future__ import annotations

from hilgw.framing.base import Framing
from hilgw.protocols.wc2ec.codec import Decoder, encode, encode_value
from hilgw.protocols.wc2ec.layout import Layouts
from hilgw.protocols.wc2ec.messages import Message, Rejected, Sent, Side


class Link:
    """`side` is the peer's. framing: None on TCP. `alive`: the peer has spoken and not fallen
    silent (framed), or the link is open (TCP)."""

    def __init__(
        self, side: Side, layouts: Layouts, framing: Framing | None, silence_ns: int
    ) -> None:
        self.layouts = layouts
        self.framed = framing is not None
        self.alive = False
        self.kinds: dict[int, str] = {}
        self._side = side
        self._framing = framing
        self._silence_ns = silence_ns
        self._heard_ns = 0
        self._decoder: Decoder | None = None

    @property
    def can_write(self) -> bool:
        """Open: also where the peer's stream is lost, it may still hear."""
        return self._decoder is not None

    @property
    def is_open(self) -> bool:
        """Open, and the peer's stream not lost."""
        return self._decoder is not None and not self._decoder.failed

    def open(self, now: int) -> None:
        self._decoder = Decoder(self._side, self.layouts, self.kinds)
        self._heard_ns = now
        self.alive = not self.framed
        if self._framing is not None:
            self._framing.reset()

    def close(self) -> None:
        self._decoder = None
        self.alive = False

    def fail(self) -> None:
        """The peer contradicts itself: take no more from it until reopened."""
        self.alive = False
        if self._decoder is not None:
            self._decoder.failed = True

    def feed(self, data: bytes, now: int) -> list[Message]:
        """Bytes from the peer, in any chunks; what they say, in order."""
        decoder = self._decoder
        if decoder is None or decoder.failed:
            return []
        if self._framing is None:
            return decoder.feed(data)
        messages: list[Message] = []
        for payload in self._framing.feed(data, now):
            said = decoder.feed(payload) + decoder.end_frame()
            messages += said
            if decoder.failed:
                break
            # What is rejected proves no peer that knows us: it may be our own echo.
            if not all(isinstance(message, Rejected) for message in said):
                self.alive = True
                self._heard_ns = now
        return messages

    def fell_silent(self, now: int) -> bool:
        """Whether a framed peer has just been silent too long; true once."""
        due = self.next_deadline()
        if due is None or now < due:
            return False
        self.alive = False
        return True

    def next_deadline(self) -> int | None:
        """When the peer will have been silent too long."""
        if not self.framed or not self.alive:
            return None
        return self._heard_ns + self._silence_ns

    def wrap_value(self, number: int, index: int, value: float) -> bytes:
        """SensorData of a finite value, as `wrap` makes it."""
        data = encode_value(number, index, value)
        return data if self._framing is None else self._framing.encode(data)

    def wrap(self, message: Sent) -> bytes:
        """The message for the wire; on a line each is a frame of its own. Raises FrameError."""
        data = encode(message)
        return data if self._framing is None else self._framing.encode(data)
