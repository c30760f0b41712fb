"""The session of an HC-12: the handshake in command mode, then a framed line, sans-I/O."""

from __future__ import annotations

from functools import partial

from hilgw.adapters._common.framed_line import FramedLineSession, line_route
from hilgw.adapters._common.framing_settings import name_of
from hilgw.adapters._common.module import LineDialogue, ModuleSession, NotBefore, notice
from hilgw.adapters.base import (
    NOT_YET,
    CannotSend,
    Event,
    Ready,
    StationSettings,
    Transmission,
    line_of,
)
from hilgw.adapters.hc12.handshake import Hc12Module, handshake
from hilgw.adapters.hc12.settings import (
    FU4_FRAME,
    LONGEST,
    PAUSE_S,
    Hc12Settings,
    mode_of,
)
from hilgw.framing import create
from hilgw.framing.lines import LineSplitter
from hilgw.medium.packet import Packet
from hilgw.reasons import PacketRefused
from hilgw.units import NS_PER_S, earliest, s_to_ns

LONGEST_REPLY = 64


class Hc12Session(ModuleSession[Hc12Module]):
    """The AdapterSession of an HC-12. Frames have no token: the module does not acknowledge."""

    kind = "hc12"

    def __init__(self, settings: Hc12Settings, common: StationSettings) -> None:
        super().__init__(common.baudRate)
        self._settings = settings
        self._common = common
        self._stream = FramedLineSession(
            partial(create, settings.framing),
            name_of(settings.framing),
            line_route(settings.mapping, common.channel),
            common,
            refuse=self._refuse,
        )
        self.channels = self._stream.channels
        self._mode = mode_of(settings)
        line = line_of(common)[0]
        self._byte_ns = line.byteSize * NS_PER_S // line.baudRate
        self._dialogue: LineDialogue[Hc12Module] | None = None
        self._lines = LineSplitter([b"\r\n"], LONGEST_REPLY, keeps_tail=True)
        self._quiet = NotBefore()  # the mode's pause after the last packet

    def close(self) -> list[Event]:
        self._lines.clear()
        self._quiet.clear()
        return super().close() + self._stream.close()

    def _new_handshake(self) -> LineDialogue[Hc12Module]:
        return LineDialogue(handshake(self._settings, self._common))

    def _begin_packets(self, module: Hc12Module, now: int) -> list[Event]:
        self._lines.clear()
        self._first_frame.found()
        if module.values is not None:
            self._mode = f"FU{module.values['FU']}"
        return [*self._stream.start(), Ready(f"{module.identity}; {self._stream.identity}")]

    # --- from the module -------------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> list[Event]:
        if self._ready:
            return self._stream.receive(data, now)
        events: list[Event] = []
        for line in self._lines.feed(data):
            if self._dialogue is not None:
                taken = self._dialogue.take_line(line, now)
                if taken is not None:
                    self._first_frame.found()
                events += self._after_dialogue(taken or [], now)
        if not self._first_frame.over:
            self._first_frame.take(data, now)
        return events

    # --- to the module ---------------------------------------------------------------------------

    def send(self, packet: Packet, now: int) -> Transmission | CannotSend | None:
        if not self._ready:
            return NOT_YET
        longest = LONGEST[self._mode]
        if len(packet.data) > longest:
            text = f"{len(packet.data)} bytes, the limit in {self._mode} is {longest}"
            return CannotSend(PacketRefused.TOO_LONG, text)
        if self._quiet.blocks(now):
            return NOT_YET
        answer = self._stream.send(packet, now)
        if isinstance(answer, Transmission) and PAUSE_S[self._mode]:
            pause_ns = s_to_ns(PAUSE_S[self._mode])
            self._quiet.time_ns = now + len(answer.data) * self._byte_ns + pause_ns
        return answer

    def _refuse(self, payload: bytes, frame: bytes) -> CannotSend | None:
        if self._mode != "FU4" or len(frame) <= FU4_FRAME:
            return None
        text = f"{len(frame)} bytes with its framing, the limit in FU4 is {FU4_FRAME}"
        return CannotSend(PacketRefused.TOO_LONG, text)

    # --- time ------------------------------------------------------------------------------------

    def next_deadline(self) -> int | None:
        if self._dialogue is not None:
            return earliest(self._dialogue.deadline, self._first_frame.deadline)
        return earliest(self._stream.next_deadline(), self._quiet.deadline)

    def expire(self, now: int) -> list[Event]:
        if self._dialogue is not None:
            events = notice(self._first_frame.expire(now))
            return events + self._after_dialogue(self._dialogue.expire(now), now)
        self._quiet.expire(now)
        return self._stream.expire(now)

    def describe(self, frame: bytes) -> str:
        """Commands as they are, frames as text; never raises."""
        if frame.startswith((b"AT", b"OK")) and frame.strip().isascii():
            return f"command mode: {frame[:96]!r}"
        return self._stream.describe(frame)
