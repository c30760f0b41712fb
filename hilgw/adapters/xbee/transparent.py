"""The session of an XBee in transparent mode: a byte stream by radio, with a framing.

Transparent mode reports no source address, no RSSI and no acknowledgement. Source: Digi's user
guides, "Transparent operating mode", "Command mode".
"""

from __future__ import annotations

from functools import partial

from hilgw.adapters._common.framed_line import FramedLine, payload_text
from hilgw.adapters._common.session_parts import notice
from hilgw.adapters.base import (
    NOT_YET,
    CannotSend,
    Event,
    Failed,
    Notice,
    Ready,
    StationSettings,
    Transmission,
    line_of,
)
from hilgw.adapters.xbee import describe as words
from hilgw.adapters.xbee import frames
from hilgw.adapters.xbee.api_frames import FROM_MODULE, Decoder
from hilgw.adapters.xbee.handshake import Handshake, Module
from hilgw.adapters.xbee.packets import route_of
from hilgw.adapters.xbee.settings import XBeeSettings
from hilgw.errors import FrameError
from hilgw.framing import create
from hilgw.framing.guess import FirstFrame
from hilgw.medium.packet import Packet
from hilgw.reasons import PacketRefused

SEQUENCE = b"+++"  # CC: alone between two silences it enters command mode

_LOSSES = Notice(
    "transparent mode reports no acknowledgement, no source address and no RSSI of packets"
)


class TransparentSession:
    """The AdapterSession of a module with AP = 0.

    Frames have no token. The module splits the stream into radio packets by itself (RO, NP): a
    lost one costs each frame it contains a part of. The bytes of several modules that send to this
    one at the same time are mixed; the framing detects and drops them.
    """

    def __init__(self, settings: XBeeSettings, common: StationSettings) -> None:
        self._settings = settings
        self._common = common
        framing = create(settings.framing)
        self._is_timed = framing.pause_ns > 0
        self._stream = FramedLine(
            partial(create, settings.framing),
            framing.name,
            route_of(settings, common),
            line_of(common)[0],
            self._refuse,
        )
        self.channels = self._stream.channels
        self._decoder = Decoder(types=FROM_MODULE)  # for a module that is in API mode after all
        self._handshake: Handshake | None = None
        self._first_answer = FirstFrame()
        self._module: Module | None = None

    # --- open and close -----------------------------------------------------------------------

    def open(self, now: int) -> list[Event]:
        events = self.close()
        self._handshake = Handshake(self._settings, self._common)
        self._first_answer = FirstFrame("xbee", self._common.baudRate)
        return events + self._after_handshake(self._handshake.start(now), now)

    def close(self) -> list[Event]:
        self._decoder.reset()
        self._first_answer.found()
        self._handshake = self._module = None
        return self._stream.close()

    def _after_handshake(self, events: list[Event], now: int) -> list[Event]:
        handshake = self._handshake
        if handshake is None or handshake.module is None:
            if any(isinstance(event, Failed) for event in events):
                self._handshake = None
                return notice(self._first_answer.give_up()) + events
            return events
        self._first_answer.found()
        self._handshake, self._module = None, handshake.module
        ready = Ready(f"{handshake.module.identity}, transparent, {self._stream.name}")
        events = [*events, ready, _LOSSES, *self._stream.start()]
        return events + (self._stream.receive(handshake.rest, now) if handshake.rest else [])

    # --- from the module ----------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> list[Event]:
        if self._handshake is None:
            return self._stream.receive(data, now)
        events = self._after_handshake(self._handshake.take_text(data, now), now)
        for found in self._decoder.feed(data):
            if self._handshake is None:
                break
            try:
                record = frames.parse(found)
            except FrameError:
                continue
            events += self._after_handshake(self._handshake.take_frame(record, now), now)
        if not self._first_answer.over:
            if events:
                self._first_answer.found()
            else:
                self._first_answer.take(data, now)
        return events

    # --- to the module ------------------------------------------------------------------------

    def send(self, packet: Packet, now: int) -> Transmission | CannotSend | None:
        return NOT_YET if self._module is None else self._stream.send(packet, now)

    def _refuse(self, payload: bytes, frame: bytes) -> CannotSend | None:
        if self._module and self._is_timed and len(payload) > self._module.payload:
            # Split by the module, it would be received as two packets.
            limit = self._module.payload
            text = f"{len(payload)} bytes for the radio, the module's limit is {limit}"
            return CannotSend(PacketRefused.TOO_LONG, text)
        if frame == SEQUENCE:
            return CannotSend(PacketRefused.UNFRAMABLE, "+++ alone would enter command mode")
        return None

    # --- time ---------------------------------------------------------------------------------

    def next_deadline(self) -> int | None:
        if self._handshake is not None:
            return self._handshake.deadline
        return self._stream.next_deadline()

    def expire(self, now: int) -> list[Event]:
        if self._handshake is not None:
            # Its guard times alone take 2 s: bytes without a frame are shown when it fails.
            return self._after_handshake(self._handshake.expire(now), now)
        return self._stream.expire(now)

    # --- as text ------------------------------------------------------------------------------

    def describe(self, frame: bytes) -> str:
        """Bytes of the stream as text; never raises."""
        payloads, _ = self._stream.unframe(frame)
        text = ", ".join(map(payload_text, payloads)) or words.describe(frame)
        return f"{self._stream.name}: {text}"
