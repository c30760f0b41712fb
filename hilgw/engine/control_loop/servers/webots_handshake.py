"""The handshake of a Webots controller.

The line that names its robot, Webots' word, and the first request. On a local socket it is the
first request alone.

The line may carry a token behind the name, as in rover?token=...; libController encodes both.

Connections wait for the controller's place of a robot in their order, and each has a short time to
ask. A robot goes to the first whole request, so a peer that names a robot and asks nothing never
has it. One after the other is offered the robot. The next one is offered it as soon as the one
before it is gone, or has asked nothing for TURN_S. The time in the line is bounded: TURN_S for each
connection before it, of which an address has at most MOST_OF_ADDRESS.
"""

import asyncio
import re
from collections import deque
from collections.abc import Callable, Collection
from typing import Protocol
from urllib.parse import unquote

from hilgw.engine.simulated.event_loop import call_in_real_time, real_time
from hilgw.errors import PortError
from hilgw.protocols.webots.handshake import Acknowledgement, Forbidden, decode_hello, encode_reason
from hilgw.protocols.webots.requests import Leave, RequestReader
from hilgw.protocols.webots.wire import ProtocolError
from hilgw.reasons import RequestRefused
from hilgw.transports.base import Handle, Transport


class TokenCheck(Protocol):
    """Check of the token of a connection: may it command robots?"""

    def __call__(self, token: str | None, peer: str) -> RequestRefused | None: ...

    def why(self, token: str | None, reason: RequestRefused) -> Forbidden: ...


Refused = Callable[["Handshake", RequestRefused, str], None]

# Of the peer's own time: TLS, the line and the first request together.
HANDSHAKE_S = 2.0
# A line has no end: it is complete when it names a robot, or when nothing follows for this time.
SILENCE_S = 0.05
# Between the word and the reason, which hilgw's API reads: libController takes all for the word.
REASON_S = 0.05
MOST_REQUEST_BYTES = 64 * 1024
TOKEN = re.compile("%3[Ff]token%3[Dd]")  # ?token=, as libController encodes it


class Handshake:
    """A connection until it has its robot, or is closed.

    open_ones: the handshake is one of them until then. on_refused: called with the reason when the
    peer was too slow or is not a controller. on_request: called once, when the first request is
    whole and was asked for; `request` has it. on_end: called when the connection is closed.
    """

    def __init__(
        self, stream: Transport, peer: str, open_ones: "set[Handshake]", on_refused: Refused
    ) -> None:
        self.stream = stream
        self.peer = peer
        self.local = False
        self.line = b""
        self.name = ""
        self.request = b""
        self._early = b""  # of the first request, until it is whole
        self.on_request: Callable[[Handshake], None] = _ignore
        self.on_end: Callable[[Handshake], None] = _ignore
        self._open_ones = open_ones
        self._on_refused = on_refused
        self._on_line: Callable[[Handshake], None] = _ignore
        self._names: Collection[str] = ()
        self._reader = RequestReader(MOST_REQUEST_BYTES)
        self._offered = False
        self._loop = asyncio.get_running_loop()
        self._own_time = _OwnTime(HANDSHAKE_S - stream.handshake_s, self._too_slow)
        self._silence: Handle | None = None
        open_ones.add(self)

    @property
    def robot(self) -> str:
        """The encoded name without a token; "" when the line has none."""
        return TOKEN.split(self.name, 1)[0]

    @property
    def token(self) -> str | None:
        """The text behind ?token= in the name."""
        tokens = TOKEN.split(self.name, 1)[1:]
        return unquote(tokens[0]) if tokens else None

    @property
    def has_asked(self) -> bool:
        """True if its first request is here: the peer waits for the answer, not for a word."""
        return bool(self.request)

    # --- what the peer is to do next --------------------------------------------------------------

    def read_line(self, names: Collection[str], on_line: "Callable[[Handshake], None]") -> None:
        """Read the line that names the robot."""
        self._names, self._on_line = names, on_line
        self._own_time.run()
        self.stream.start(self._line_received, lambda error: self.close())

    def wait(self) -> None:
        """Wait for the robot: the line is complete, and the robot is not free yet."""
        self._own_time.halt()
        self.stream.start(self._request_received, lambda error: self.close())

    def offer(self) -> None:
        """Let the peer send its first request; on TCP the word CONNECTED allows it."""
        self._offered = True
        self._own_time.run()
        if self.local:
            self.stream.start(self._request_received, lambda error: self.close())
            return
        self.answer(Acknowledgement.CONNECTED)
        self._request_received(b"")  # it may be here already

    # --- the end ----------------------------------------------------------------------------------

    def take(self) -> bytes:
        """Give up its connection; return what the peer has sent after the line."""
        self._leave()
        return self.request

    def write(self, data: bytes) -> None:
        try:
            self.stream.write(data)
        except PortError:
            pass  # it is gone, which on_lost reports

    def answer(self, word: Acknowledgement) -> None:
        """Write the answer at once: libController reads the word by one read."""
        self.write(word.encode())

    def dismiss(self, word: Acknowledgement, why: str | None = None) -> None:
        """End the connection with this word.

        why: a reason or names of robots, for hilgw's API, a little later.
        """
        self.answer(word)
        if why is None:
            self.close()
            return
        self._silently()
        self._own_time.halt()
        self.stream.start(lambda data: None, lambda error: self.close())
        self._silence = call_in_real_time(self._loop, REASON_S, lambda: self._explain(why))

    def close(self) -> None:
        if self in self._open_ones:
            self._leave()
            self.stream.close()
            self.on_end(self)

    def _explain(self, why: str) -> None:
        self.write(encode_reason(why))
        self.close()

    def _leave(self) -> None:
        self._open_ones.discard(self)
        self._own_time.halt()
        self._silently()

    def _silently(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None

    def _reject(self, reason: RequestRefused, text: str) -> None:
        self._on_refused(self, reason, text)
        self.close()

    def _too_slow(self) -> None:
        if not self.line and not self.local:  # of a program that looks for open ports
            self.close()
            return
        missing = "sent no first request" if self._offered else "named no robot"
        self._reject(RequestRefused.NO_REQUEST, f"it {missing} within {HANDSHAKE_S:g} s")

    # --- bytes ------------------------------------------------------------------------------------

    def _line_received(self, data: bytes) -> None:
        self.line += data
        self._silently()
        try:
            name = decode_hello(self.line)
        except ProtocolError as error:
            self._reject(RequestRefused.NOT_A_CONTROLLER, error.what)
            return
        if name is None:
            return
        self.name = name
        if self._is_complete():
            self._on_line(self)
        else:
            self._silence = call_in_real_time(self._loop, SILENCE_S, lambda: self._on_line(self))

    def _is_complete(self) -> bool:
        """Return whether a robot has this name, and no robot a longer one that begins with it."""
        name = self.name
        longer = (each for each in self._names if each != name and each.startswith(name))
        return name in self._names and not any(longer)

    def _request_received(self, data: bytes) -> None:
        if self.has_asked:
            self._reject(
                RequestRefused.NOT_A_CONTROLLER, "a second request before the answer to the first"
            )
            return
        self._reader.feed(data)
        self._early += data
        if not self._offered:
            if len(self._early) > MOST_REQUEST_BYTES:
                self._reject(RequestRefused.NOT_A_CONTROLLER, "more than a first request")
            return
        try:
            request = self._reader.next()
        except ProtocolError as error:
            self._reject(RequestRefused.NOT_A_CONTROLLER, error.what)
            return
        if isinstance(request, Leave):
            self.close()
        elif request is not None:
            self.request, self._early = self._early, b""
            self._own_time.halt()
            self.on_request(self)


class _OwnTime:
    """The time that a peer has, without that in which it waits: calls `over` when it has passed."""

    def __init__(self, seconds: float, over: Callable[[], None]) -> None:
        self._left_s = seconds
        self._over = over
        self._loop = asyncio.get_running_loop()
        self._since = 0.0
        self._timer: Handle | None = None

    def run(self) -> None:
        if self._timer is None:
            self._since = real_time(self._loop)
            self._timer = call_in_real_time(self._loop, max(0.0, self._left_s), self._over)

    def halt(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._left_s -= real_time(self._loop) - self._since


def _ignore(handshake: Handshake) -> None:
    return


# libController asks within a round trip after the word.
TURN_S = 0.1
# Connections of one listener that have no robot.
MOST_WAITING = 256
MOST_OF_ADDRESS = 64


class Place(Protocol):
    """The controller's place of a robot, for which the connections wait in its line.

    robot: the name that they send.
    """

    robot: str
    line: "WaitingLine"

    def word(self, first: Handshake) -> Acknowledgement | None:
        """Return CONNECTED: the place is free. Any other word: the answer to all who wait.

        Any other word: the answer to all who wait. None: it is not decided yet;
        `WaitingLine.advance` is called when it is. first: of those who wait.
        """

    def take(self, handshake: Handshake) -> None:
        """Make its peer the controller; its first request is here."""

    def refuse(self, handshake: Handshake, word: Acknowledgement) -> None:
        """End the connection of one that waits, or that has asked too late."""

    def all_left(self) -> None:
        """Follow the end of the last one that waited."""

    def turned_away(self, peer: str, reason: RequestRefused, text: str) -> None:
        """Follow the refusal of a peer that named this robot, or no robot where there is one."""


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
        """Add one that has named the robot.

        On a local socket it has not, and it asks without a word.
        """
        handshake.on_request, handshake.on_end = self._has_asked, self._has_left
        if handshake.local:
            self._offered.add(handshake)
            handshake.offer()
        else:
            self._waiting.append(handshake)
            handshake.wait()
            self.advance()

    def advance(self) -> None:
        """Follow a change: the robot may have become free, or taken."""
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
        """Accept no controller of the robot any more."""
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
