"""Who waits for the controller's place of a robot: connections in their order, and the short time
that each has to ask.

A robot goes to the first whole request, so a peer that names a robot and asks nothing never has
it. One after the other is offered the robot. The next one is offered it as soon as the one before
it is gone, or has asked nothing for TURN_S. The time in the line is bounded: TURN_S for each
connection before it, of which an address has at most MOST_OF_ADDRESS.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Protocol

from hilgw.engine.simulated.event_loop import call_in_real_time
from hilgw.protocols.webots.handshake import Acknowledgement

if TYPE_CHECKING:
    from hilgw.engine.control_loop.servers.webots_handshake import Handshake
    from hilgw.transports.base import Handle

# libController asks within a round trip after the word.
TURN_S = 0.1
# Connections of one listener that have no robot.
MOST_WAITING = 256
MOST_OF_ADDRESS = 64


class Place(Protocol):
    """The controller's place of a robot, for which the connections wait."""

    def word(self, first: Handshake) -> Acknowledgement | None:
        """CONNECTED: the place is free. Any other word: the answer to all who wait. None: it is
        not decided yet; `WaitingLine.advance` is called when it is. first: of those who wait."""

    def take(self, handshake: Handshake) -> None:
        """Its peer is the controller now; its first request is here."""

    def refuse(self, handshake: Handshake, word: Acknowledgement) -> None:
        """Ends the connection of one that waits, or that has asked too late."""

    def all_left(self) -> None:
        """The last one that waited has left."""


class WaitingLine:
    """The connections that want one robot, in the order in which they named it."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._waiting: deque[Handshake] = deque()  # without a word
        self._offered: set[Handshake] = set()  # asked for their first request
        self._asked: deque[Handshake] = deque()  # it is here
        self._turn_of: Handshake | None = None
        self._turn: Handle | None = None

    @property
    def first(self) -> Handshake | None:
        """The next one that may ask, or has."""
        return next(iter(self._asked or self._waiting), None)

    def join(self, handshake: Handshake) -> None:
        """It has named the robot. On a local socket it has not, and it asks without a word."""
        handshake.on_request, handshake.on_end = self._has_asked, self._has_left
        if handshake.local:
            self._offered.add(handshake)
            handshake.offer()
        else:
            self._waiting.append(handshake)
            handshake.wait()
            self.advance()

    def advance(self) -> None:
        """The robot may have become free, or taken."""
        while (first := self.first) is not None:
            word = self._place.word(first)
            if word is None:
                return
            if word is not Acknowledgement.CONNECTED:
                self._refuse_all(word)
                return
            if self._asked:
                self._end_turn()
                self._place.take(self._asked.popleft())
            elif self._turn is not None:
                return
            else:
                self._offer(self._waiting.popleft())

    def close(self) -> None:
        """The robot accepts no controller any more."""
        self._end_turn()
        for handshake in (*self._waiting, *self._offered, *self._asked):
            handshake.close()

    def _offer(self, handshake: Handshake) -> None:
        loop = asyncio.get_running_loop()
        self._offered.add(handshake)
        self._turn_of = handshake
        self._turn = call_in_real_time(loop, TURN_S, self._turn_over)
        handshake.offer()

    def _turn_over(self) -> None:
        self._end_turn()
        self.advance()

    def _end_turn(self) -> None:
        if self._turn is not None:
            self._turn.cancel()
            self._turn = self._turn_of = None

    def _refuse_all(self, word: Acknowledgement) -> None:
        waiting, asked = self._waiting, self._asked
        self._waiting = deque()
        if word is not Acknowledgement.PROCESSING:
            self._asked = deque()
            waiting.extendleft(reversed(asked))
        for handshake in waiting:
            self._place.refuse(handshake, word)

    def _has_asked(self, handshake: Handshake) -> None:
        self._offered.discard(handshake)
        self._asked.append(handshake)
        self.advance()

    def _has_left(self, handshake: Handshake) -> None:
        for line in (self._waiting, self._asked):
            if handshake in line:
                line.remove(handshake)
        self._offered.discard(handshake)
        if handshake is self._turn_of:
            self._turn_over()
        if not self._waiting and not self._offered and not self._asked:
            self._place.all_left()
