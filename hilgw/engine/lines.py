"""The one place where the lines of all parts pass: serial, TCP, in process, of a mock.

A module that opens or accepts a connection for a part passes it to `Lines.opened` and uses what
that returns. Here an observer of bytes attaches, and a wrapping that changes what passes.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

from hilgw.engine.observer import Direction, LineEvent, Observer, Observers
from hilgw.engine.timing import Expecting
from hilgw.errors import PortError
from hilgw.transports.base import BytesHandler, Transport

STALL_S = 2.0


@dataclass(frozen=True, slots=True)
class Port:
    """A port that a supervisor keeps open: a real one, a mock or a peer on TCP.

    where: the port as the user reads it. open: opens the transport, raises PortError. identity:
    the device behind the path now (None: none), so that a wrong device is tried again once it was
    replaced. boot_s: silence after opening, before the user of the port is attached. retry_s: the
    pause between two tries; None: the supervisor's. stall_s: a port that takes no byte for this
    time is opened anew; None: it is left to its flow control. release: awaited before it is closed,
    while its user is attached: another process that holds the port lets go of it. path: of the
    device that another program can open, raises PortError, may block; None: there is none.
    """

    where: str
    open: Callable[[], Awaitable[Transport]]
    identity: Callable[[], object | None] = lambda: True  # always there
    boot_s: float = 0.0
    retry_s: float | None = None
    stall_s: float | None = STALL_S
    release: Callable[[], Awaitable[None]] | None = None
    path: Callable[[], str] | None = None


class LineEnd(Protocol):
    """A `Transport`, or the `DeviceSide` of a mock; see `hilgw.transports.base.Observable`."""

    def observe(self, sent: BytesHandler, received: BytesHandler) -> None: ...

    def unobserve(self) -> None: ...

    def close(self) -> None: ...


OnBytes = Callable[[LineEvent], None]
Tap = Callable[[tuple[str, int, str, bytes, bool]], object]
"""Gets ("bytes", nanoseconds of the scheduler, part, data, whether hilgw sent them)."""
Follower = tuple[BytesHandler, BytesHandler]  # of sent and of received bytes
Wrapping = Callable[[str, Any], Any]
L = TypeVar("L", bound=LineEnd)


class Lines:
    """The open lines of one gateway, and the observer of their ports. now: the scheduler's time.

    wrappings: each gets the name of the part and the connection at its opening, and returns it or
    what stands in its place. They are for faults and are set before the gateway runs. Where one
    raises, the opening has failed.
    """

    def __init__(self, observer: Observer, now: Callable[[], int]) -> None:
        self.observer = observer
        self.wrappings: list[Wrapping] = []
        self._now = now
        self._open: WeakKeyDictionary[LineEnd, str] = WeakKeyDictionary()
        self._on_bytes: OnBytes | None = None
        self._taps: tuple[Tap, ...] = ()
        self._waiting: deque[LineEvent] = deque()  # for the next turn

    def opened(self, name: str, line: L, received: bytes = b"") -> L:
        """Return the connection that the part of this name uses from now on.

        received: what its peer sent before it was known whose connection it is. Raises PortError,
        and has closed the connection, when a wrapping raises.
        """
        wrapped = line
        try:
            for wrap in self.wrappings:
                wrapped = wrap(name, wrapped)
            self._open[wrapped] = name
        except Exception as error:
            line.close()
            if isinstance(error, PortError):
                raise
            raise PortError(
                f"the wrapping of its line failed: {error!r:.200}",
                reason=PortError.LOST,
                where=name,
            ) from error
        self._follow(name, wrapped, received)
        return wrapped

    def observe(self, on_bytes: OnBytes | None) -> None:
        """Begin to observe the bytes of all lines, including those open now; None: stop that.

        on_bytes is called after the write, by the event loop, in the order of the bytes: it delays
        no write, and none fails with it. `sent` bytes were accepted by the transport. Not among
        them: the emergency stop of a gateway whose event loop hangs.
        """
        was, self._on_bytes = self._on_bytes, on_bytes
        if (was is None) is not (on_bytes is None):
            self._follow_all()

    def tap(self, put: Tap) -> None:
        """Pass the bytes of all lines to `put` from now on, during each write or read.

        It may neither raise, nor write, nor wait, as the emergency stop of the watchdog's thread
        waits for that write. This is for a recording, which gathers them; all others observe.
        """
        self._taps = (*self._taps, put)
        self._follow_all()

    def untap(self, put: Tap) -> None:
        """Stop passing bytes to `put`."""
        self._taps = tuple(each for each in self._taps if each != put)
        self._follow_all()

    def report_to(self, observers: Observers) -> None:
        """Report the bytes as `line_bytes` to these observers from now on, while one takes it."""
        observers.switch("line_bytes", self.observe)

    def _follow_all(self) -> None:
        for line, name in list(self._open.items()):
            self._follow(name, line)

    def _follow(self, name: str, line: LineEnd, received: bytes = b"") -> None:
        followers = [_tapped(put, self._now, name) for put in self._taps]
        if self._on_bytes is not None:
            followers.append(self._observed(name))
        if not followers:
            line.unobserve()
            return
        sent, on_received = map(_to_each, zip(*followers, strict=True))
        line.observe(sent, on_received)
        if received:
            on_received(received)

    def _observed(self, name: str) -> Follower:
        now, waiting, report = self._now, self._waiting, self._report
        loop = asyncio.get_running_loop()
        call_soon = loop.call_after_round if isinstance(loop, Expecting) else loop.call_soon

        def handler(direction: Direction) -> BytesHandler:
            def handle(data: bytes) -> None:
                if not waiting:
                    call_soon(report)
                waiting.append(LineEvent(name, direction, data, now()))

            return handle

        return handler(Direction.SENT), handler(Direction.RECEIVED)

    def _report(self) -> None:
        """Report what has waited since the last turn.

        What an observer causes waits for another one.
        """
        waiting = self._waiting
        try:
            for _ in range(len(waiting)):
                event = waiting.popleft()
                if self._on_bytes is not None:
                    self._on_bytes(event)
        finally:
            if waiting:
                asyncio.get_running_loop().call_soon(self._report)


def _tapped(put: Tap, now: Callable[[], int], part: str) -> Follower:
    def sent(data: bytes) -> None:
        put(("bytes", now(), part, data, True))

    def received(data: bytes) -> None:
        put(("bytes", now(), part, data, False))

    return sent, received


def _to_each(handlers: tuple[BytesHandler, ...]) -> BytesHandler:
    def to_each(data: bytes) -> None:
        for handler in handlers:
            handler(data)

    return handlers[0] if len(handlers) == 1 else to_each
