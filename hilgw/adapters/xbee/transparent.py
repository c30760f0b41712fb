"""The session of an XBee in transparent mode: a byte stream by radio, with a framing.

Transparent mode reports no source address, no RSSI and no acknowledgement. Source: Digi's user
guides, "Transparent operating mode", "Command mode".
"""

from hilgw.adapters._common.framed_line import FramedLine, payload_text
from hilgw.adapters._common.framing_settings import new_framing
from hilgw.adapters.base import (
    NOT_YET,
    CannotSend,
    Event,
    Notice,
    Ready,
    StationSettings,
    Transmission,
    line_of,
)
from hilgw.adapters.xbee import describe as words, frames
from hilgw.adapters.xbee.api_frames import FROM_MODULE, FrameDecoder
from hilgw.adapters.xbee.handshake import XBeeModuleSession
from hilgw.adapters.xbee.network import XBeeModule
from hilgw.adapters.xbee.packets import route_of
from hilgw.adapters.xbee.settings import DEFAULT_FRAMING, XBeeSettings
from hilgw.errors import FrameError
from hilgw.medium.packet import Packet
from hilgw.reasons import PacketRefused

SEQUENCE = b"+++"  # CC: alone between two silences it enters command mode

_LOSSES = Notice(
    "transparent mode reports no acknowledgement, no source address and no RSSI of packets"
)


class TransparentSession(XBeeModuleSession):
    """The AdapterSession of a module with AP = 0.

    Frames have no token. The module splits the stream into radio packets by itself (RO, NP): a
    lost one costs each frame it contains a part of. The bytes of several modules that send to this
    one at the same time are mixed; the framing detects and drops them.
    """

    def __init__(self, settings: XBeeSettings, common: StationSettings) -> None:
        super().__init__(settings, common)
        framing_of = new_framing(settings.framing or DEFAULT_FRAMING, common)
        framing = framing_of()
        self._is_timed = framing.pause_ns > 0
        self._stream = FramedLine(
            framing_of,
            framing.name,
            route_of(settings, common),
            line_of(common)[0],
            self._refuse,
        )
        self.channels = self._stream.channels
        # for a module that is in API mode after all
        self._decoder = FrameDecoder(types=FROM_MODULE)
        self._limit = 0  # of the module's radio packets, in bytes

    # --- open and close -----------------------------------------------------------------------

    def close(self) -> list[Event]:
        self._decoder.reset()
        return super().close() + self._stream.close()

    def _after_dialogue(self, events: list[Event], now: int) -> list[Event]:
        handshake = self._dialogue
        events = super()._after_dialogue(events, now)
        if not self._ready or handshake is None or not handshake.rest:
            return events
        return events + self._stream.receive(handshake.rest, now)

    def _begin_packets(self, module: XBeeModule, now: int) -> list[Event]:
        self._first_frame.found()
        self._limit = module.payload
        ready = Ready(f"{module.identity}, transparent, {self._stream.name}")
        return [*super()._begin_packets(module, now), ready, _LOSSES, *self._stream.start()]

    # --- from the module ----------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> list[Event]:
        if self._dialogue is None:
            return self._stream.receive(data, now)
        events = self._after_dialogue(self._dialogue.take_text(data, now), now)
        for packet in self._decoder.feed(data):
            if self._dialogue is None:
                break
            try:
                record = frames.parse(packet)
            except FrameError:
                continue
            events += self._take_answer(record, now)
        if not self._first_frame.over:
            if events:
                self._first_frame.found()
            else:
                self._first_frame.take(data, now)
        return events

    # --- to the module ------------------------------------------------------------------------

    def send(self, packet: Packet, now: int) -> Transmission | CannotSend | None:
        return self._stream.send(packet, now) if self._ready else NOT_YET

    def _refuse(self, payload: bytes, frame: bytes) -> CannotSend | None:
        if self._is_timed and len(payload) > self._limit:
            # Split by the module, it would be received as two packets.
            text = f"{len(payload)} bytes for the radio, the module's limit is {self._limit}"
            return CannotSend(PacketRefused.TOO_LONG, text)
        if frame == SEQUENCE:
            return CannotSend(PacketRefused.UNFRAMABLE, "+++ alone would enter command mode")
        return None

    # --- time ---------------------------------------------------------------------------------

    def next_deadline(self) -> int | None:
        if self._dialogue is not None:
            return self._dialogue.deadline
        return self._stream.next_deadline()

    def expire(self, now: int) -> list[Event]:
        if self._dialogue is not None:
            # Its guard times alone take 2 s: bytes without a frame are shown when it fails.
            return self._after_dialogue(self._dialogue.expire(now), now)
        return self._stream.expire(now)

    # --- as text ------------------------------------------------------------------------------

    def describe(self, frame: bytes) -> str:
        payloads, _ = self._stream.unframe(frame)
        text = ", ".join(map(payload_text, payloads)) or words.describe(frame)
        return f"{self._stream.name}: {text}"
