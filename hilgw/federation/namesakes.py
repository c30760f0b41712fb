"""Other gateways that have the name of this one: of two, the one that runs for less long ends."""

from __future__ import annotations

from hilgw.federation import wire
from hilgw.units import NS_PER_MS

MOST = 64
MOST_TIES = 5
SLACK_MS = 20  # a third gateway may report how long the other one is there


class Namesakes:
    """The other gateways of this name.

    id: of this gateway. began_ns: when it joined. ids: the tokens of the others that are there. The
    time at which the other one joined is known to within the time of its answer. If that repeatedly
    does not show which one was first, the one with the smaller ID stays.
    """

    def __init__(self, id: int, began_ns: int) -> None:
        self.ids: set[int] = set()
        self._id = id
        self._began_ns = began_ns
        self._ties = 0

    def token(self, id: int, is_there: bool) -> bool:
        """Note that a gateway of this name joins or leaves; return True if it is one to ask."""
        if not is_there:
            self.ids.discard(id)
            return False
        is_new = id != self._id and id not in self.ids and len(self.ids) < MOST
        if is_new:
            self.ids.add(id)
        return is_new

    def answered(self, answer: bytes, asked: int, got: int) -> bool:
        """Return True if the gateway that answered the question for its state was first.

        Raises:
          Malformed, ValueError: the answer is invalid.
        """
        other = wire.decode_json(wire.State, answer)
        id = int(other.id, 16)
        return id in self.ids and self.is_first(id, other.uptime_ms, asked, got)

    def is_first(self, id: int, uptime_ms: int, asked: int, got: int) -> bool:
        """Return True if a gateway that joined this long before the answer was first."""
        # How much earlier it joined, at least and at most; in ms, as the answer is.
        least = uptime_ms - (got - self._began_ns) // NS_PER_MS - SLACK_MS
        most = uptime_ms - (asked - self._began_ns) // NS_PER_MS + SLACK_MS
        if least <= 0 <= most:
            self._ties += 1
            return id < self._id and self._ties >= MOST_TIES
        return least > 0
