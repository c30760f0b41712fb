"""A session with one XBee in transparent mode: a stream by radio, made packets by a framing.

What transparent mode keeps from us: who sent a packet, how loud it was, whether one of ours
arrived. Source: Digi's user guides, "Transparent operating mode", "Command mode".
"""

from __future__ import annotations

from hilgw.adapters.base import (
    NOT_YET,
    CannotSend,
    Dropped,
    Event,
    Failed,
    Notice,
    Ready,
    Received,
    StationSettings,
    Transmission,
    line_of,
)
from hilgw.adapters.xbee import describe as words
from hilgw.adapters.xbee import frames
from hilgw.adapters.xbee.handshake import Handshake
from hilgw.adapters.xbee.modules import Module
from hilgw.adapters.xbee.routes import route_for
from hilgw.adapters.xbee.settings import XBeeSettings
from hilgw.errors import FrameError
from hilgw.framing import create
from hilgw.framing.base import GARBAGE
from hilgw.framing.xbee_api import FROM_MODULE, Decoder
from hilgw.medium.packet import Packet

SECOND_NS = 1_000_000_000
SEQUENCE = b"+++"  # CC: alone between two silences it leads into command mode

_EMPTY = Dropped("empty", "a frame without data")
_LOSSES = Notice(
    "transparent mode: nothing says whether a packet arrived, who sent one, or how loud it was"
)


class TransparentSession:
    """The session of `hilgw.adapters.base` for modules with AP = 0.

    Frames carry no token. The module cuts the stream into radio packets by itself (RO, NP): a
    lost one costs every frame it held a part of, and what several modules send to this one at
    the same time is mixed, which the framing finds and drops.
    """

    def __init__(self, settings: XBeeSettings, common: StationSettings) -> None:
        self._settings = settings
        self._common = common
        self._framing = create(settings.framing)
        self._route = route_for(settings, common)
        self.channels = self._route.channels
        line = line_of(common)[0]
        self._byte_ns = line.byteSize * SECOND_NS // line.baudRate
        self._decoder = Decoder(types=FROM_MODULE)  # for a module that is in API mode after all
        self._handshake: Handshake | None = None
        self._module: Module | None = None
        self._counted: dict[str, int] = {}  # of the framing's drops: those reported
        self._quiet_until = 0  # the framing's pause behind the last frame
        self._waits = False  # a packet waits for it

    # --- open and close -----------------------------------------------------------------------

    def open(self, now: int) -> list[Event]:
        events = self.close()
        self._handshake = Handshake(self._settings, self._common)
        return events + self._after_handshake(self._handshake.start(now), now)

    def close(self) -> list[Event]:
        self._decoder.reset()
        self._framing.reset()
        self._handshake = self._module = None
        self._waits = False
        self._quiet_until = 0
        return self._drops()

    def _after_handshake(self, events: list[Event], now: int) -> list[Event]:
        handshake = self._handshake
        if handshake is None or handshake.module is None:
            if any(isinstance(event, Failed) for event in events):
                self._handshake = None
            return events
        self._handshake, self._module = None, handshake.module
        ready = Ready(f"{handshake.module.identity}, transparent, {self._framing.name}")
        return [*events, ready, _LOSSES, *self._listen(handshake.rest, now)]

    # --- from the module ----------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> list[Event]:
        if self._handshake is None:
            return [] if self._module is None else self._listen(data, now)
        events = self._after_handshake(self._handshake.take_text(data, now), now)
        for found in self._decoder.feed(data):
            if self._handshake is None:
                break
            try:
                record = frames.parse(found)
            except FrameError:
                continue
            events += self._after_handshake(self._handshake.take_frame(record, now), now)
        return events

    def _listen(self, data: bytes, now: int) -> list[Event]:
        return self._report(self._framing.feed(data, now)) if data else []

    def _report(self, payloads: list[bytes]) -> list[Event]:
        events: list[Event] = [self._hear(payload) for payload in payloads]
        return events + self._drops()

    def _hear(self, payload: bytes) -> Received | Dropped:
        if not payload:
            return _EMPTY
        taken = self._route.inward(payload, "", "")
        return taken if isinstance(taken, Dropped) else Received(taken[1], taken[0])

    def _drops(self) -> list[Event]:
        """What the framing dropped since the last report, one event for each reason."""
        events: list[Event] = []
        for reason, total in self._framing.dropped.items():
            new = total - self._counted.get(reason, 0)
            if new:
                self._counted[reason] = total
                what = "bytes outside any frame" if reason == GARBAGE else "bad frames"
                events.append(Dropped(reason, f"{new} {what}: {reason.replace('_', ' ')}", new))
        return events

    # --- to the module ------------------------------------------------------------------------

    def send(self, packet: Packet, now: int) -> Transmission | CannotSend | None:
        module, framing = self._module, self._framing
        if module is None:
            return NOT_YET
        if now < self._quiet_until:
            self._waits = True
            return NOT_YET
        taken = self._route.outward(packet)
        if isinstance(taken, CannotSend):
            return taken
        payload = taken[1]
        if framing.pause_ns and len(payload) > module.payload:
            # Cut in two by the module, it would arrive as two packets.
            text = f"{len(payload)} bytes for the radio, the module takes {module.payload}"
            return CannotSend("too_long", text)
        try:
            frame = framing.encode(payload)
        except FrameError as error:
            reason = "too_long" if len(payload) > framing.max_payload else "unframable"
            return CannotSend(reason, str(error))
        if frame == SEQUENCE:
            return CannotSend("unframable", "+++ by itself would lead into command mode")
        if framing.pause_ns:
            self._quiet_until = now + len(frame) * self._byte_ns + framing.pause_ns
        return Transmission(frame)

    # --- time ---------------------------------------------------------------------------------

    def next_deadline(self) -> int | None:
        if self._handshake is not None:
            return self._handshake.deadline
        if self._module is None:
            return None
        due = self._framing.next_deadline()
        if self._waits:
            due = self._quiet_until if due is None else min(due, self._quiet_until)
        return due

    def expire(self, now: int) -> list[Event]:
        if self._handshake is not None:
            return self._after_handshake(self._handshake.expire(now), now)
        if now >= self._quiet_until:
            self._waits = False
        return [] if self._module is None else self._report(self._framing.expire(now))

    # --- words --------------------------------------------------------------------------------

    def describe(self, frame: bytes) -> str:
        """Bytes of the stream, in words; never raises."""
        framing = create(self._settings.framing)
        payloads = framing.feed(frame)
        deadline = framing.next_deadline()
        if deadline is not None:
            payloads += framing.expire(deadline)
        parts = [f"packet of {len(payload)} B: {payload!r}" for payload in payloads]
        return f"{framing.name}: " + (", ".join(parts) or words.describe(frame))
