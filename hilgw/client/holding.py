"""Holds robots armed, as `hilgw arm --hold` does: leases that this process renews.

The gateway disarms them when this process ends in any way, or does not run for 300 ms. One thread
waits for whatever comes first: an answer, a signal, the end of a terminal, the next renewal.
"""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hilgw.client.arming import NOT_CONFIRMED, chosen_gateways, robots_of
from hilgw.client.control_socket import Gateway, accepted, connected
from hilgw.errors import PeerError, printable
from hilgw.protocols.gateway.messages import LINE_BYTES, RENEW_S, Do, encode

ANSWER_S = 2.0
MOVES = "stop its robots by hand if they move"
HUNG_UP = select.POLLHUP | select.POLLERR | select.POLLNVAL | getattr(select, "POLLRDHUP", 0)


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a lease. reason: its word, such as "lease_over". robots: disarmed by it, but for
    those of not_sent, whose body was down, with the reason."""

    reason: str
    text: str
    robots: tuple[str, ...]
    not_sent: dict[str, str]


class Holding:
    """The lease of one gateway. robots: those that it holds. notes: what keeps one from moving.
    HilgwError when the gateway refuses; PeerError from any method when it does not answer: then
    nothing is confirmed."""

    def __init__(self, gateway: Gateway, names: Sequence[str], limit_s: float | None) -> None:
        self.gateway = gateway
        self._received = bytearray()
        self._asked_s: float | None = None  # when the answer that is awaited was asked for
        self._connection: socket.socket | None = None
        try:
            self._connection = connected(gateway.path, ANSWER_S)
        except OSError as error:
            raise self._silent("the gateway does not answer") from error
        try:
            self.ask({"do": Do.HOLD, **robots_of(names), "limit_s": limit_s})
            answer = accepted(self._answer(), gateway, ", ".join(names))
        except BaseException:
            self.close()
            raise
        self.robots = [str(robot) for robot in answer["robots"]]
        self.notes = {str(robot): str(text) for robot, text in answer.get("notes", {}).items()}

    def fileno(self) -> int:
        return -1 if self._connection is None else self._connection.fileno()

    @property
    def awaits(self) -> bool:
        return self._asked_s is not None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def ask(self, request: dict[str, Any]) -> None:
        self._asked_s = time.monotonic()
        assert self._connection is not None
        try:
            self._connection.sendall(encode(request))
        except ConnectionError:
            pass  # a gateway that ends has answered before
        except OSError as error:
            raise self._silent("the gateway does not answer") from error

    def release(self) -> Ended:
        """Disarms; returns what the gateway confirms."""
        self.ask({"do": Do.RELEASE})
        while (ended := _ended(self._answer())) is None:
            pass  # the answer to the last renewal
        return ended

    def read(self) -> Ended | None:
        """There is something to read; None: the lease goes on."""
        return _ended(accepted(self._answer(), self.gateway, ", ".join(self.robots)))

    def demand_answer(self) -> None:
        """PeerError when an answer is overdue."""
        if self._asked_s is not None and time.monotonic() - self._asked_s > ANSWER_S:
            raise self._silent("the gateway does not answer")

    def _answer(self) -> dict[str, Any]:
        """The next line."""
        assert self._connection is not None
        while b"\n" not in self._received:
            try:
                data = self._connection.recv(65536)
            except OSError:
                data = b""
            if not data or len(self._received) > LINE_BYTES:
                raise self._silent("the gateway is gone, or does not answer")
            self._received += data
        line, _, rest = self._received.partition(b"\n")
        self._received, self._asked_s = bytearray(rest), None
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise self._silent("the gateway sent an invalid answer")
        return answer

    def _silent(self, why: str) -> PeerError:
        where = self.gateway.label or str(self.gateway.path)
        return PeerError(f"{NOT_CONFIRMED}: {why}", where=where, fix=MOVES)


def _ended(answer: dict[str, Any]) -> Ended | None:
    if "ended" not in answer:
        return None
    not_sent = {str(robot): str(text) for robot, text in answer.get("not_sent", {}).items()}
    robots = tuple(str(robot) for robot in answer.get("robots", ()))
    reason, text = str(answer["ended"]), printable(str(answer.get("text", "")))
    return Ended(reason, text, robots, not_sent)


def take(
    robots: Sequence[str], limit_s: float | None, control: str | None, config: str | None
) -> list[Holding]:
    """Arms these robots and holds them; none: all of one gateway. HilgwError as `arm`; then none
    is held."""
    held: list[Holding] = []
    try:
        for gateway, names in chosen_gateways(robots, control, config).items():
            held.append(Holding(gateway, names, limit_s))
    except BaseException:
        for each in held:
            each.close()
        raise
    return held


def renew_until(
    held: Sequence[Holding], wake: int, terminals: Iterable[int]
) -> tuple[Holding, Ended] | int:
    """Renews the leases. Returns the first one that ends; or the descriptor that ended the wait:
    `wake`, which became readable, or the one of `terminals` that was hung up. PeerError when a
    gateway does not answer."""
    poller = select.poll()
    for descriptor in terminals:
        poller.register(descriptor, getattr(select, "POLLRDHUP", 0))
    poller.register(wake, select.POLLIN)
    by_descriptor = {each.fileno(): each for each in held}
    for descriptor in by_descriptor:
        poller.register(descriptor, select.POLLIN)
    due_s = time.monotonic() + RENEW_S
    while True:
        for descriptor, events in poller.poll(max(due_s - time.monotonic(), 0) * 1000):
            if holding := by_descriptor.get(descriptor):
                if ended := holding.read():
                    return holding, ended
            elif descriptor == wake or events & HUNG_UP:
                return descriptor
        if time.monotonic() < due_s:
            continue
        due_s = time.monotonic() + RENEW_S
        for holding in held:
            if holding.awaits:
                holding.demand_answer()
            else:
                holding.ask({"do": Do.RENEW})
