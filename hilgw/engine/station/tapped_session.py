"""A session between a station and its adapter's session, which reports the frames of the line."""

from __future__ import annotations

from collections.abc import Callable

from hilgw.adapters.base import (
    AdapterSession,
    CannotSend,
    Event,
    NetworkSession,
    Transmission,
    Write,
)
from hilgw.engine.observer import Direction
from hilgw.medium.packet import Packet

LONGEST = 512  # bytes without an event that are reported together

OnFrame = Callable[[Direction, bytes], None]


class TappedSession:
    """A session that reports the frames that it sends, and the bytes that it receives up to the
    next event. session: the one that it stands for."""

    def __init__(self, session: AdapterSession, on_frame: OnFrame) -> None:
        self.session = session
        self.channels = session.channels
        self._on_frame = on_frame
        self._received = b""

    def open(self, now: int) -> list[Event]:
        return self._reported(self.session.open(now))

    def close(self) -> list[Event]:
        self.flush()
        return self.session.close()

    def receive(self, data: bytes, now: int) -> list[Event]:
        self._received += data
        events = self.session.receive(data, now)
        if events or len(self._received) >= LONGEST:
            self.flush()
        return self._reported(events)

    def send(self, packet: Packet, now: int) -> Transmission | CannotSend | None:
        answer = self.session.send(packet, now)
        if isinstance(answer, Transmission):
            self._on_frame(Direction.SENT, answer.data)
        return answer

    def next_deadline(self) -> int | None:
        return self.session.next_deadline()

    def expire(self, now: int) -> list[Event]:
        events = self.session.expire(now)
        if events:
            self.flush()
        return self._reported(events)

    def describe(self, frame: bytes) -> str:
        return self.session.describe(frame)

    def flush(self) -> None:
        """Report the received bytes without an event."""
        if self._received:
            data, self._received = self._received, b""
            self._on_frame(Direction.RECEIVED, data)

    def _reported(self, events: list[Event]) -> list[Event]:
        for event in events:
            if isinstance(event, Write):
                self._on_frame(Direction.SENT, event.data)
        return events


class TappedNetworkSession(TappedSession):
    """A `TappedSession` of a `NetworkSession`."""

    session: NetworkSession

    def discover(self, now: int) -> list[Event]:
        return self._reported(self.session.discover(now))

    def command(self, address: str, name: str, value: bytes, token: int, now: int) -> list[Event]:
        return self._reported(self.session.command(address, name, value, token, now))


def tapped(session: AdapterSession, on_frame: OnFrame) -> TappedSession:
    """Return this session, whose frames are reported from now on."""
    is_network = isinstance(session, NetworkSession)
    return (TappedNetworkSession if is_network else TappedSession)(session, on_frame)
