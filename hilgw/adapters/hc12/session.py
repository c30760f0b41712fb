"""The session of an HC-12: the handshake in command mode, then a framed line, sans-I/O."""

from __future__ import annotations

from functools import partial

from hilgw.adapters._common.framed_line import FramedLineSession, line_route
from hilgw.adapters._common.framing_settings import name_of
from hilgw.adapters._common.session_parts import LineDialogue, NotBefore, notice
from hilgw.adapters.base import (
    NOT_YET,
    CannotSend,
    Event,
    Ready,
    StationSettings,
    Transmission,
    line_of,
)
from hilgw.adapters.hc12.handshake import Module, handshake
from hilgw.adapters.hc12.settings import (
    FU4_FRAME,
    LONGEST,
    PAUSE_S,
    Hc12Settings,
    mode_of,
)
from hilgw.framing import create
from hilgw.framing.guess import FirstFrame
from hilgw.medium.packet import Packet
from hilgw.reasons import PacketRefused
from hilgw.units import NS_PER_S, s_to_ns

LONGEST_REPLY = 64


class Hc12Session:
    """The AdapterSession of an HC-12. Frames have no token: the module does not acknowledge."""

    def __init__(self, settings: Hc12Settings, common: StationSettings) -> None:
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
        self._dialogue: LineDialogue[Module] | None = None
        self._line = b""
        self._first_answer = FirstFrame()
        self._ready = False
        self._quiet = NotBefore()  # the mode's pause after the last packet

    def open(self, now: int) -> list[Event]:
        events = self.close()
        self._first_answer = FirstFrame("hc12", self._common.baudRate)
        self._dialogue = LineDialogue(handshake(self._settings, self._common))
        return events + self._after_dialogue(self._dialogue.start(now))

    def close(self) -> list[Event]:
        self._dialogue = None
        self._line = b""
        self._first_answer.found()
        self._ready = False
        self._quiet.clear()
        return self._stream.close()

    def _after_dialogue(self, events: list[Event]) -> list[Event]:
        dialogue = self._dialogue
        if dialogue is None or not dialogue.over:
            return events
        self._dialogue, module = None, dialogue.result
        if module is None:
            return notice(self._first_answer.give_up()) + events
        self._first_answer.found()
        self._ready = True
        if module.values is not None:
            self._mode = f"FU{module.values['FU']}"
        ready = Ready(f"{module.identity}; {self._stream.identity}")
        return [*events, *self._stream.start(), ready]

    # --- from the module -------------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> list[Event]:
        if self._ready:
            return self._stream.receive(data, now)
        events: list[Event] = []
        *lines, rest = (self._line + data).split(b"\r\n")
        self._line = rest[-LONGEST_REPLY:]
        for line in lines:
            if self._dialogue is not None:
                taken = self._dialogue.take_line(line[-LONGEST_REPLY:], now)
                if taken is not None:
                    self._first_answer.found()
                events += self._after_dialogue(taken or [])
        if self._ready:
            self._line = b""
        elif not self._first_answer.over:
            self._first_answer.take(data, now)
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
            waits = [self._dialogue.deadline, self._first_answer.deadline]
            return min((due for due in waits if due is not None), default=None)
        waits = [self._stream.next_deadline(), self._quiet.deadline]
        return min((due for due in waits if due is not None), default=None)

    def expire(self, now: int) -> list[Event]:
        if self._dialogue is not None:
            events = notice(self._first_answer.expire(now))
            return events + self._after_dialogue(self._dialogue.expire(now))
        self._quiet.expire(now)
        return self._stream.expire(now)

    def describe(self, frame: bytes) -> str:
        """Commands as they are, frames as text; never raises."""
        if frame.startswith((b"AT", b"OK")) and frame.strip().isascii():
            return f"command mode: {frame[:96]!r}"
        return self._stream.describe(frame)
