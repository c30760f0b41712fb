"""One exchange with an e-puck: a binary request, and the answer of known length."""

from __future__ import annotations

from dataclasses import dataclass, field

from hilgw.bodies.epuck import sercom


@dataclass(slots=True)
class Exchange:
    """A request that was written. letters: its commands that are answered, the speeds last.
    speeds: those that the robot has then. indices: the sensors whose values are wanted. echo: the
    line returns the request before the answer. until_ns: when the answer is late."""

    request: bytes
    letters: str
    speeds: tuple[int, int]
    indices: list[int]
    ground_values: int
    echo: bool
    until_ns: int = 0
    heard: bytearray = field(default_factory=bytearray)

    @property
    def size(self) -> int:
        """Bytes that come back."""
        answer = sercom.answer_size(self.letters, self.ground_values)
        return answer + (len(self.request) if self.echo else 0)

    @property
    def is_complete(self) -> bool:
        return len(self.heard) >= self.size

    def values(self) -> dict[str, tuple[int, ...]] | None:
        """The numbers of each command; None: bytes were lost or added on the way, as the speeds at
        the end are not those that were set."""
        heard = bytes(self.heard)
        if len(heard) != self.size or (self.echo and not heard.startswith(self.request)):
            return None
        data = heard[len(self.request) :] if self.echo else heard
        found = sercom.decode(self.letters, data, self.ground_values)
        return found if found[sercom.SPEEDS] == self.speeds else None
