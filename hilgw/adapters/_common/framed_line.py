"""A framed line: packets on a byte stream, separated by a framing: its sessions.

`FramedLine` is the stream itself; `FramedLineSession` is the session of a line that needs no
handshake.
"""

from collections import deque
from collections.abc import Callable

from hilgw.adapters._common.module import DropCounts, NotBefore, notice
from hilgw.adapters._common.routes import HeaderRoute, OneChannelRoute, Route
from hilgw.adapters.base import (
    NOT_YET,
    CannotSend,
    Dropped,
    Event,
    Notice,
    Ready,
    Received,
    StationSettings,
    Transmission,
    line_of,
)
from hilgw.adapters.declaration import ByHeader
from hilgw.errors import FrameError
from hilgw.framing import base as framings
from hilgw.framing.base import FrameDropped
from hilgw.framing.guess import FirstFrame
from hilgw.medium.packet import Packet
from hilgw.reasons import PacketDropped, PacketRefused
from hilgw.transports.base import LineSettings
from hilgw.units import NS_PER_S, earliest

ECHOES = 64  # packets whose echo may still come
ECHO_NS = NS_PER_S  # and how long after their end on the line

EMPTY = Dropped(PacketDropped.EMPTY, "a frame without data")
_ECHO = Dropped(PacketDropped.OWN_ECHO, "the local echo of a packet just sent")


# --- the stream -----------------------------------------------------------------------------------


def line_route(mapping: object, channel: int) -> Route:
    """Return the route of a line without addresses: by header, else for one channel."""
    return HeaderRoute("") if isinstance(mapping, ByHeader) else OneChannelRoute(channel)


def cannot_frame(framing: framings.Framing, payload: bytes, error: FrameError) -> CannotSend:
    """Report that the framing refuses this payload."""
    too_long = len(payload) > framing.max_payload
    return CannotSend(PacketRefused.TOO_LONG if too_long else PacketRefused.UNFRAMABLE, str(error))


class FramedLine:
    """Packets to frames and back, between `start` and `close`.

    Frames have no token: the line does not acknowledge. refuse: further limits of the hardware;
    its arguments are payload and frame.
    """

    def __init__(
        self,
        new_framing: Callable[[], framings.Framing],
        name: str,
        route: Route,
        line: LineSettings,
        refuse: Callable[[bytes, bytes], CannotSend | None] = lambda payload, frame: None,
    ) -> None:
        self._new_framing = new_framing
        self._framing = new_framing()
        self._route = route
        self._line = line
        self._refuse = refuse
        self.name = name
        self.channels = route.channels
        self._started = False
        self._drop_counts = DropCounts()
        self._first_frame = FirstFrame()
        self._quiet = NotBefore()  # the framing's pause after the last frame

    def start(self) -> list[Event]:
        """Start the stream; returns notices for the user."""
        self._started = True
        # The stream may begin within a frame: the longest ones, this and the next.
        limit_ns = self._line.patience_ns(2 * self._framing.max_encoded)
        self._first_frame = FirstFrame(self.name, self._line.baudRate, limit_ns)
        return []

    def close(self) -> list[Event]:
        self._framing.reset()
        self._started = False
        self._quiet.clear()
        self._first_frame.found()
        return self._drops()

    # --- from the line ---------------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> list[Event]:
        if not self._started:
            return []
        payloads = self._framing.feed(data, now)
        first_frame = self._first_frame
        if not payloads and (first_frame.missing or not first_frame.over):
            first_frame.take(data, now)
        return self._report(payloads, now)

    def next_deadline(self) -> int | None:
        due = self._framing.next_deadline() if self._started else None
        return earliest(due, self._quiet.deadline, self._first_frame.deadline)

    def expire(self, now: int) -> list[Event]:
        self._quiet.expire(now)
        if not self._started:
            return []
        events = self._report(self._framing.expire(now), now)
        return events + notice(self._first_frame.expire(now, self._framing.held))

    def _report(self, payloads: list[bytes], now: int) -> list[Event]:
        events = [self._received_event(payload, now) for payload in payloads]
        first_frame = self._first_frame
        if events and (first_frame.missing or not first_frame.over):
            self._watch(events)
        if self._framing.dropped:
            events += self._drops()
        return events

    def _watch(self, events: list[Event]) -> None:
        if all(event is _ECHO for event in events):
            self._first_frame.forget()
        else:
            self._first_frame.found()

    def _received_event(self, payload: bytes, now: int) -> Event:
        taken = self._route.inward(payload)
        if isinstance(taken, Dropped):
            return taken
        return Received(taken[1], taken[0]) if taken[1] else EMPTY

    def _drops(self) -> list[Event]:
        return [
            Dropped(reason, _dropped_text(reason, count), count)
            for reason, count in self._drop_counts.new(self._framing.dropped)
        ]

    # --- to the line -----------------------------------------------------------------------------

    def send(self, packet: Packet, now: int) -> Transmission | CannotSend | None:
        if not self._started or self._quiet.blocks(now):
            return NOT_YET
        taken = self._route.outward(packet)
        if isinstance(taken, CannotSend):
            return taken
        payload = taken[1]
        framing = self._framing
        try:
            frame = framing.encode(payload)
        except FrameError as error:
            return cannot_frame(framing, payload, error)
        if self._line.data_bits == 7 and not frame.isascii():
            return CannotSend(PacketRefused.UNFRAMABLE, f"a byte above 7F, at {self._line}")
        refusal = self._refuse(payload, frame)
        if refusal is not None:
            return refusal
        if framing.pause_ns:
            self._quiet.time_ns = now + self._line.duration_ns(len(frame)) + framing.pause_ns
        self._sent(payload, frame, now)
        is_lost = self._first_frame.is_missing(now)
        return Transmission(frame, lost=PacketRefused.NO_FRAME if is_lost else None)

    def _sent(self, payload: bytes, frame: bytes, now: int) -> None:
        """Note that this frame is being sent now; a hook for subclasses."""

    # --- as text ---------------------------------------------------------------------------------

    def unframe(self, data: bytes) -> tuple[list[bytes], dict[str, int]]:
        """Return the payloads in these bytes alone, and the drops by reason."""
        framing = self._new_framing()
        payloads = framing.feed(data)
        deadline = framing.next_deadline()
        if deadline is not None:
            payloads += framing.expire(deadline)
        framing.reset()
        return payloads, framing.dropped

    def describe(self, frame: bytes) -> str:
        payloads, dropped = self.unframe(frame)
        parts = [payload_text(payload) for payload in payloads]
        parts += [f"{count} x {_reason_text(reason)}" for reason, count in dropped.items()]
        return f"{self.name}: " + (", ".join(parts) or f"{len(frame)} B, no packet")


def payload_text(payload: bytes) -> str:
    return f"packet of {len(payload)} B: {payload!r}"


def _reason_text(reason: str) -> str:
    return "garbage bytes" if reason == FrameDropped.GARBAGE else FrameDropped.known(reason).doc


def _dropped_text(reason: str, count: int) -> str:
    if reason == FrameDropped.GARBAGE:
        return f"{count} bytes outside a frame" if count > 1 else "a byte outside a frame"
    return f"{'a frame' if count == 1 else f'{count} frames'}: {_reason_text(reason)}"


class FramedLineSession(FramedLine):
    """The AdapterSession of a bare line with a framing."""

    def __init__(
        self,
        new_framing: Callable[[], framings.Framing],
        name: str,
        route: Route,
        common: StationSettings,
        *,
        local_echo: bool = False,
        refuse: Callable[[bytes, bytes], CannotSend | None] = lambda payload, frame: None,
    ) -> None:
        super().__init__(new_framing, name, route, line_of(common)[0], refuse)
        # payload and last time of each echo that may still come
        self._echoes: deque[tuple[bytes, int]] = deque(maxlen=ECHOES if local_echo else 0)

    def open(self, now: int) -> list[Event]:
        return [Ready(self.identity), *self.start()]

    def start(self) -> list[Event]:
        super().start()
        pause_ns = self._framing.pause_ns
        if not pause_ns:
            return []
        return [Notice(f"packets less than {pause_ns / 1e6:g} ms apart are received as one")]

    @property
    def identity(self) -> str:
        line = self._line
        flow = ", RTS/CTS" if line.rtscts else ""
        return f"{self.name}, {line}{flow}"

    def close(self) -> list[Event]:
        self._echoes.clear()
        return super().close()

    def _received_event(self, payload: bytes, now: int) -> Event:
        if self._echoes and self._is_echo(payload, now):
            return _ECHO
        return super()._received_event(payload, now)

    def _is_echo(self, payload: bytes, now: int) -> bool:
        echoes = self._echoes
        while echoes and echoes[0][1] < now:
            echoes.popleft()
        for index, (sent, _) in enumerate(echoes):
            if sent == payload:
                # Those that were expected before it have not come.
                for _ in range(index + 1):
                    echoes.popleft()
                return True
        return False

    def _sent(self, payload: bytes, frame: bytes, now: int) -> None:
        if self._echoes.maxlen:
            late_ns = self._line.duration_ns(len(frame)) + self._framing.pause_ns + ECHO_NS
            self._echoes.append((payload, now + self._line.duration_ns(len(frame)) + late_ns))
