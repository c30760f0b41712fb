"""The common part of framings whose frames end with a delimiter that never occurs inside."""

from abc import ABC, abstractmethod
from collections import Counter

from hilgw.framing.base import FrameDropped


class Delimited(ABC):
    """Splits a stream at a delimiter. A subclass converts one frame to its payload, and back.

    Resynchronises at the next delimiter. Buffers at most one frame: a longer run of bytes is
    dropped up to the next delimiter, and counted once.
    """

    pause_ns = 0

    def __init__(self, name: str, delimiter: bytes, max_payload: int, max_body: int) -> None:
        self.name = name
        self.max_payload = max_payload
        self.max_encoded = max_body + len(delimiter)
        self.dropped: dict[str, int] = Counter()
        self._delimiter = delimiter
        self._max_body = max_body
        # Length of an incomplete delimiter that may be at the end of the buffer.
        self._overlap = len(delimiter) - 1
        self._rest = bytearray()
        self._skipping = False

    def feed(self, data: bytes, now: int = 0) -> list[bytes]:
        if rest := self._rest:
            searched = max(len(rest) - self._overlap, 0)
            rest += data
            if rest.find(self._delimiter, searched) >= 0:
                data = bytes(rest)
                rest.clear()
            else:
                data = b""  # each byte is searched once in any chunks
        *frames, last = data.split(self._delimiter)
        rest += last
        if self._skipping and frames:
            del frames[0]  # the end of the frame that was too long
            self._skipping = False
        if len(rest) > self._max_body + self._overlap:
            self._skip()
        return self._unwrap_all(frames) if frames else []

    def next_deadline(self) -> int | None:
        return None

    def expire(self, now: int) -> list[bytes]:
        return []

    @property
    def held(self) -> int:
        return len(self._rest)

    def reset(self) -> None:
        if self._rest and not self._skipping:
            self.dropped[FrameDropped.TRUNCATED] += 1
        self._rest.clear()
        self._skipping = False

    def _skip(self) -> None:
        if not self._skipping:
            self.dropped[FrameDropped.TOO_LONG] += 1
            self._skipping = True
        del self._rest[: len(self._rest) - self._overlap]

    def _unwrap_all(self, frames: list[bytes]) -> list[bytes]:
        payloads = []
        for frame in frames:
            if not frame:
                continue  # two delimiters in a row
            payload = self._unwrap(frame) if len(frame) <= self._max_body else FrameDropped.TOO_LONG
            if isinstance(payload, bytes):
                payloads.append(payload)
            else:
                self.dropped[payload] += 1
        return payloads

    @abstractmethod
    def _unwrap(self, frame: bytes) -> bytes | str:
        """Return the payload of one frame, or the reason to drop it."""
