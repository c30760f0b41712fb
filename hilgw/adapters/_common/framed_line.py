"""The session of a UART: packets to frames and back. A bare line has nobody to shake hands with."""

from __future__ import annotations

from collections import deque

from hilgw.adapters._common.framed_line_settings import (
    SECOND_NS,
    ByHeader,
    FramingSettings,
    UartSettings,
    name_of,
)
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
from hilgw.errors import FrameError
from hilgw.framing import base as framings
from hilgw.framing import create
from hilgw.medium.packet import BROADCAST, Packet

HEADER_OF_BROADCAST = 255
# So many bad frames and not one good frame: the two ends do not fit. It is said again, more and
# more seldom, since a line among many is easily missed.
STRANGE_FRAMES, STRANGE_AGAIN = 4, 8
STRANGE_BYTES = 32  # of noise count as one frame
ECHOES = 64  # packets whose echo may still come
ECHO_NS = SECOND_NS  # and how long after their end on the line

_WORDS = {
    framings.BAD_CRC: "wrong CRC",
    framings.BAD_CODE: "no COBS encoding",
    framings.BAD_ESCAPE: "wrong escape",
    framings.TOO_LONG: "longer than max_payload",
    framings.TOO_SHORT: "too short",
    framings.TRUNCATED: "cut short",
    framings.ABORTED: "given up by its sender",
}
_EMPTY = Dropped("empty", "a frame without data")
_NO_DATA = Dropped("no_header", "a frame without data behind the channel byte")
_ECHO = Dropped("own_echo", "the line's echo of a packet just sent")


class UartSession:
    """The session of `hilgw.adapters.base` for a serial line with a framing.

    Frames carry no token: nothing on the line says what became of them.
    """

    def __init__(self, settings: UartSettings, common: StationSettings) -> None:
        self._spec: str | FramingSettings = settings.framing
        self._framing = self._new_framing()
        self._line = line_of(common)[0]
        self._channel = common.channel
        self._has_header = isinstance(settings.mapping, ByHeader)
        self.channels = None if self._has_header else frozenset({common.channel})
        self._open = False
        self._counted: dict[str, int] = {}  # of the framing's drops: those reported
        self._hint_at: int | None = STRANGE_FRAMES  # bad frames; None once a good one came
        self._quiet_until = 0  # the framing's pause behind the last frame
        self._waits = False  # a packet waits for it
        self._echoes: deque[tuple[bytes, int]] | None = None
        if settings.local_echo:
            self._echoes = deque(maxlen=ECHOES)

    def _new_framing(self) -> framings.Framing:
        return create(self._spec)

    def _name(self) -> str:
        return name_of(self._spec)

    # --- the port --------------------------------------------------------------------------------

    def open(self, now: int) -> list[Event]:
        self._open = True
        self._hint_at = STRANGE_FRAMES + self._bad_frames()
        events: list[Event] = [Ready(self._words())]
        if pause_ns := self._framing.pause_ns:
            events.append(Notice(f"packets less than {pause_ns / 1e6:g} ms apart arrive as one"))
        return events

    def _words(self) -> str:
        line = self._line
        flow = ", RTS/CTS" if line.rtscts else ""
        return f"{self._name()}, {line.baudRate} 8{line.parity}{line.stop_bits}{flow}"

    def close(self) -> list[Event]:
        self._framing.reset()
        self._open = self._waits = False
        self._quiet_until = 0
        if self._echoes is not None:
            self._echoes.clear()
        return self._drops()

    # --- from the line ---------------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> list[Event]:
        if not self._open:
            return []
        return self._report(self._framing.feed(data, now), now)

    def next_deadline(self) -> int | None:
        due = self._framing.next_deadline() if self._open else None
        if self._waits:
            due = self._quiet_until if due is None else min(due, self._quiet_until)
        return due

    def expire(self, now: int) -> list[Event]:
        if now >= self._quiet_until:
            self._waits = False
        if not self._open:
            return []
        return self._report(self._framing.expire(now), now)

    def _report(self, payloads: list[bytes], now: int) -> list[Event]:
        events: list[Event] = []
        for payload in payloads:
            self._hint_at = None
            events.append(self._heard(payload, now))
        if self._framing.dropped != self._counted:
            events += self._drops()
        return events

    def _heard(self, payload: bytes, now: int) -> Event:
        if self._echoes and self._is_echo(payload, now):
            return _ECHO
        channel = self._channel
        if self._has_header:
            if len(payload) < 2:
                return _NO_DATA
            channel = BROADCAST if payload[0] == HEADER_OF_BROADCAST else payload[0]
            payload = payload[1:]
        return Received(payload, channel) if payload else _EMPTY

    def _is_echo(self, payload: bytes, now: int) -> bool:
        """Whether this is one of the last packets sent. An echo comes in their order, so those
        sent before it have lost theirs."""
        assert self._echoes is not None
        while self._echoes and self._echoes[0][1] < now:
            self._echoes.popleft()
        for place, (sent, _) in enumerate(self._echoes):
            if sent == payload:
                for _ in range(place + 1):
                    self._echoes.popleft()
                return True
        return False

    def _drops(self) -> list[Event]:
        """What the framing dropped since the last report, one event for each reason."""
        events: list[Event] = []
        for reason, total in self._framing.dropped.items():
            new = total - self._counted.get(reason, 0)
            if not new:
                continue
            self._counted[reason] = total
            if reason == framings.GARBAGE:
                text = f"{new} bytes outside any frame" if new > 1 else "a byte outside any frame"
            else:
                text = f"{'a frame' if new == 1 else f'{new} frames'}: {_WORDS.get(reason, reason)}"
            events.append(Dropped(reason, text, new))
        if self._hint_at is not None and self._bad_frames() >= self._hint_at:
            self._hint_at = self._bad_frames() * STRANGE_AGAIN
            events.insert(0, self._hint())
        return events

    def _bad_frames(self) -> int:
        garbage = self._counted.get(framings.GARBAGE, 0)
        return sum(self._counted.values()) - garbage + garbage // STRANGE_BYTES

    def _hint(self) -> Notice:
        text = f"nothing but bad frames: are {self._words()} the device's rate, line and framing?"
        return Notice(text, once=False)

    # --- to the line -----------------------------------------------------------------------------

    def send(self, packet: Packet, now: int) -> Transmission | CannotSend | None:
        if not self._open:
            return NOT_YET
        if now < self._quiet_until:
            self._waits = True
            return NOT_YET
        payload = self._payload_of(packet)
        if isinstance(payload, CannotSend):
            return payload
        framing = self._framing
        try:
            frame = framing.encode(payload)
        except FrameError as error:
            reason = "too_long" if len(payload) > framing.max_payload else "unframable"
            return CannotSend(reason, str(error))
        if framing.pause_ns:
            self._quiet_until = now + self._duration_ns(frame) + framing.pause_ns
        if self._echoes is not None:
            self._echoes.append((payload, now + self._duration_ns(frame) + ECHO_NS))
        return Transmission(frame)

    def _payload_of(self, packet: Packet) -> bytes | CannotSend:
        if not packet.data:
            return CannotSend("empty", "a packet has at least one byte")
        channel = packet.channel
        if self._has_header:
            header = HEADER_OF_BROADCAST if channel == BROADCAST else channel
            if not 0 <= header <= HEADER_OF_BROADCAST or channel == HEADER_OF_BROADCAST:
                return CannotSend("channel", f"channel {channel} does not fit the header byte")
            return bytes((header,)) + packet.data
        if channel not in (self._channel, BROADCAST):
            return CannotSend("channel", f"the line is channel {self._channel}, not {channel}")
        return packet.data

    def _duration_ns(self, frame: bytes) -> int:
        return -(-len(frame) * self._line.byteSize * SECOND_NS // self._line.baudRate)

    # --- for people ------------------------------------------------------------------------------

    def describe(self, frame: bytes) -> str:
        framing = self._new_framing()
        payloads = framing.feed(frame)
        deadline = framing.next_deadline()
        if deadline is not None:
            payloads += framing.expire(deadline)
        framing.reset()
        parts = [f"packet of {len(payload)} B: {payload!r}" for payload in payloads]
        parts += [
            f"{count} x {_WORDS.get(reason, reason.replace('_', ' '))}"
            for reason, count in framing.dropped.items()
        ]
        return f"{self._name()}: " + (", ".join(parts) or f"{len(frame)} B, no packet")
