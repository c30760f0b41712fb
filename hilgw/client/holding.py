"""Leases that hold robots armed, as `hilgw arm --hold` does; this process renews them.

The gateway disarms them when this process ends in any way, or does not run for 300 ms.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from hilgw.client.arming import chosen_gateways
from hilgw.client.connection import ask_on, connected
from hilgw.client.gateway import NOT_CONFIRMED, Gateway, accepted, decoded, not_armed, not_sent
from hilgw.errors import HilgwError, PeerError, printable
from hilgw.protocols.gateway import requests
from hilgw.protocols.gateway.messages import RENEW_S
from hilgw.protocols.gateway.requests import Request

__all__ = ["RENEW_S", "Ended", "Holding", "take"]

ANSWER_S = 4.0  # a gateway waits 2 s for a body that is on its way


class Ended(NamedTuple):
    """The end of a lease.

    reason: its word, such as "lease_over". robots: those that are disarmed. errors: of each robot
    to which no stop was sent.
    """

    reason: str
    text: str
    robots: list[str]
    errors: list[HilgwError]


class Holding:
    """The lease of one gateway.

    robots: those that it holds. notes: per robot, why it cannot move yet. errors: of all robots,
    those that it does not hold, as their bodies are down. HilgwError if the gateway refuses;
    PeerError from any method if it does not answer: then nothing is confirmed.
    """

    def __init__(
        self,
        gateway: Gateway,
        names: Sequence[str],
        limit_s: float | None,
        accept_positions: Sequence[str] = (),
    ) -> None:
        self.gateway, self.robots = gateway, list(names)
        try:
            self._connection = connected(gateway.path, ANSWER_S)
        except OSError as error:
            raise self._silent("the gateway does not answer") from error
        try:
            request = requests.Hold(list(names), not names, limit_s, list(accept_positions))
            answer = decoded(requests.MayMove, self._ask(request), gateway)
        except BaseException:
            self.close()
            raise
        self.robots, self.notes = answer.robots, answer.notes
        self.errors = not_armed(answer, gateway)

    def close(self) -> None:
        """Close the connection, which ends the lease, too."""
        self._connection.close()

    def renew(self) -> Ended | None:
        """Renew the lease; return None if it continues."""
        return self._ended(requests.Renew())

    def end(self) -> Ended | None:
        """End the lease."""
        return self._ended(requests.EndHold())

    def _ended(self, request: Request[requests.LeaseState]) -> Ended | None:
        answer = self._ask(request)
        state = decoded(requests.LeaseState, answer, self.gateway)
        if not state.ended:
            return None
        robots = [each for each in state.robots if each not in state.not_sent]
        return Ended(state.ended, printable(state.text), robots, not_sent(answer, self.gateway))

    def _ask(self, request: Request[Any]) -> dict[str, Any]:
        try:
            answer = ask_on(self._connection, request, ANSWER_S)
        except PeerError as error:
            raise self._silent(error.what) from error
        return accepted(answer, self.gateway, ", ".join(self.robots))

    def _silent(self, why: str) -> PeerError:
        where = self.gateway.label or str(self.gateway.path)
        return PeerError(
            f"{NOT_CONFIRMED}: {why}", where=where, fix="stop its robots by hand if they move"
        )


def take(
    robots: Sequence[str],
    limit_s: float | None,
    control: str | None,
    config: str | None,
    accept_positions: Sequence[str] = (),
) -> list[Holding]:
    """Arm these robots and hold them; none: all of one gateway whose bodies are up.

    Raises:
      HilgwError: see `arm`; then none is held.
    """
    held: list[Holding] = []
    try:
        for gateway, names in chosen_gateways(robots, control, config).items():
            held.append(Holding(gateway, names, limit_s, accept_positions))
    except BaseException:
        for lease in held:
            lease.close()
        raise
    return held
