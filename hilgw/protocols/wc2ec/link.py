"""A connection that carries WC2EC: a plain TCP stream, or frames on a serial line.

A serial line has no connect and no disconnect: the peer is connected from its first valid frame
with a message that is not rejected, until `silence_ns` without such a frame. On TCP the connection
itself shows both.
"""

from hilgw.framing.base import Framing
from hilgw.protocols.wc2ec.codec import Decoder, encode, encode_value
from hilgw.protocols.wc2ec.messages import Layouts, Message, Rejected, Sent, Side
from hilgw.reasons import RequestRefused

LONGEST_FRAME = 64  # bytes on a line, but of packets and of long names


class Wc2ecLink:
    """A connection to one peer.

    side: of the peer. framing: None on TCP. alive: a valid frame was received within `silence_ns`
    (framed), or the link is open (TCP).
    """

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
        self._received_ns = 0
        self._decoder: Decoder | None = None

    @property
    def can_write(self) -> bool:
        """True if it is open; the peer may still receive after a Failure of its stream."""
        return self._decoder is not None

    @property
    def is_open(self) -> bool:
        """True if it is open, without a Failure of the peer's stream."""
        return self._decoder is not None and not self._decoder.failed

    def open(self, now: int) -> None:
        self._decoder = Decoder(self._side, self.layouts, self.kinds)
        self._received_ns = now
        self.alive = not self.framed
        if self._framing is not None:
            self._framing.reset()

    def close(self) -> None:
        self._decoder = None
        self.alive = False

    def fail(self) -> None:
        """Ignore all further bytes until the link is reopened."""
        self.alive = False
        if self._decoder is not None:
            self._decoder.failed = True

    def feed(self, data: bytes, now: int) -> list[Message]:
        """Take bytes from the peer, in any chunks; return the messages in them, in order."""
        decoder = self._decoder
        if decoder is None or decoder.failed:
            return []
        if self._framing is None:
            return decoder.feed(data)
        messages: list[Message] = []
        for payload in self._framing.feed(data, now):
            decoded = decoder.feed(payload) + decoder.end_frame()
            messages += decoded
            if decoder.failed:
                break
            # A rejected message does not prove a peer: it may be our own echo. A peer that is there
            # stays there when the line lost the registration of a device whose values come.
            if not all(isinstance(message, Rejected) for message in decoded):
                self.alive = True
                self._received_ns = now
            elif self.alive and any(
                isinstance(message, Rejected) and message.reason == RequestRefused.UNKNOWN_DEVICE
                for message in decoded
            ):
                self._received_ns = now
        return messages

    def fell_silent(self, now: int) -> bool:
        """Return True once, when the silence of a framed peer has exceeded the limit."""
        due = self.next_deadline()
        if due is None or now < due:
            return False
        self.alive = False
        return True

    def next_deadline(self) -> int | None:
        """Return the time at which the silence of the peer will exceed the limit."""
        if not self.framed or not self.alive:
            return None
        return self._received_ns + self._silence_ns

    def wrap_value(self, number: int, index: int, value: float) -> bytes:
        """Return SensorData of a finite value for the wire; the fast form of `wrap`."""
        data = encode_value(number, index, value)
        return data if self._framing is None else self._framing.encode(data)

    def wrap(self, message: Sent) -> bytes:
        """Return the message for the wire; on a serial line one frame per message.

        Raises FrameError.
        """
        data = encode(message)
        return data if self._framing is None else self._framing.encode(data)
