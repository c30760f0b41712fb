"""The session of a module with text commands, as its settings declare them, sans-I/O."""

from __future__ import annotations

from collections.abc import Sequence

from hilgw.adapters._common.routes import route_for
from hilgw.adapters._common.session_parts import LineDialogue, NotBefore, RestartLimit, notice
from hilgw.adapters.base import (
    NOT_YET,
    CannotSend,
    Delivered,
    Dropped,
    Event,
    Failed,
    NotReady,
    Ready,
    Received,
    Refused,
    StationSettings,
    Transmission,
    Write,
)
from hilgw.adapters.text.decoder import Decoder, Discarded, Item, ReceivedMessage, item_text
from hilgw.adapters.text.settings import TextSettings, filled, placeholders_in
from hilgw.errors import PeerError
from hilgw.framing.base import FrameDropped
from hilgw.framing.guess import FirstFrame
from hilgw.medium.packet import Packet
from hilgw.protocols.dialogue import LineScript, Pause
from hilgw.protocols.text.patterns import compiled
from hilgw.protocols.text.steps import Step, question
from hilgw.reasons import PacketDropped, PacketRefused, RefusedReason
from hilgw.units import s_to_ns

GAP_NS = 500_000_000  # longer than any pause between bytes of one line
MOST_RESTARTS = 6

_EARLY = Dropped(PacketDropped.NOT_READY, "received while the module was being set up")
_EMPTY = Dropped(PacketDropped.EMPTY, "a received packet without data")


class TextRefused(RefusedReason):
    """Reasons of the adapter `text`."""

    FAILED = "failed", "the module answered with the line that `failed` describes"


class TextSession:
    """The AdapterSession of a text module: one dialogue at a time.

    A packet is a dialogue, too: its first command is the Transmission, the others follow as the
    module answers.
    """

    def __init__(self, settings: TextSettings, common: StationSettings) -> None:
        self._settings = settings
        self._route = route_for(
            settings.mapping, common.channel, settings.destination, settings.to_all
        )
        self.channels = self._route.channels
        self._end = settings.line_end.encode("utf-8", "surrogateescape")
        self._decoder = Decoder(settings.receive, self._end, settings.longest_line)
        self._listen_on, self._restarted, self._ignored = (
            compiled(text) if text else None
            for text in (settings.listen_on, settings.restarted, settings.ignore)
        )
        used = {name for step in settings.send for name in placeholders_in(step.send)}
        # Without a length a packet ends at its line end.
        self._forbidden = b"" if "data" not in used or "length" in used else self._end
        self._gap_deadline: int | None = None
        self._baud_rate = common.baudRate
        self._first_frame = FirstFrame()
        self._open = self._was_ready = False  # was_ready: at least once since `open`
        self._ready = False
        self._dialogue: LineDialogue[str] | None = None
        self._token = 0
        self._sending: int | None = None  # token of the packet whose dialogue is running
        self._must_listen = False
        self._restarts = RestartLimit(MOST_RESTARTS)
        self._quiet = NotBefore()  # the pause after a packet that has no answer

    # --- open and close --------------------------------------------------------------------------

    def open(self, now: int) -> list[Event]:
        events = self.close()
        self._restarts.clear()
        self._open = True
        self._first_frame = FirstFrame("text", self._baud_rate)
        return events + self._set_up(now)

    def close(self) -> list[Event]:
        events = self._refuse_outstanding(PacketRefused.DOWN)
        self._decoder.reset()
        self._gap_deadline = self._dialogue = None
        self._ready = self._must_listen = False
        self._open = self._was_ready = False
        self._first_frame.found()
        self._quiet.clear()
        return events

    def _set_up(self, now: int) -> list[Event]:
        steps = (*self._settings.setup, *self._settings.listen)
        self._ready = self._must_listen = False
        return self._begin(self._script(steps, {}), now)

    def _refuse_outstanding(self, reason: str) -> list[Event]:
        token, self._sending = self._sending, None
        return [] if token is None else [Refused(token, reason)]

    def _restart(self, reason: str, lost_by: str, now: int) -> list[Event]:
        events = self._refuse_outstanding(lost_by)
        if self._ready:
            events.append(NotReady(reason))
        self._dialogue = None
        self._ready = False
        if self._restarts.exceeded():
            error = PeerError(f"{reason}, repeatedly", fix="check power, wiring and `setup`")
            return [*events, Failed(error)]
        return events + self._set_up(now)

    # --- dialogues -------------------------------------------------------------------------------

    def _script(
        self, steps: Sequence[Step], values: dict[str, bytes], *, sent: bool = False
    ) -> LineScript[Event, str]:
        """All steps; returns "" for success, else a reason. sent: the first command already is."""
        for index, step in enumerate(steps):
            text = filled(step.send, values) + self._end if step.send else b""
            if sent and index == 0:
                text = b""
            if not step.expect:
                if text:
                    yield Write(text)
                continue
            asked = question(step, text)
            found = yield asked
            if found is None:
                return PacketRefused.NO_STATUS
            if found.re is asked.refusal:
                return TextRefused.FAILED
        if values and self._settings.pause_s:
            yield Pause(self._settings.pause_s)
        return ""

    def _begin(self, script: LineScript[Event, str], now: int) -> list[Event]:
        self._dialogue = LineDialogue(script)
        return self._after_dialogue(self._dialogue.start(now), now)

    def _after_dialogue(self, events: list[Event], now: int) -> list[Event]:
        """Handle the end of the dialogue, if it has ended."""
        dialogue = self._dialogue
        if dialogue is None or not dialogue.over:
            return events
        self._dialogue = None
        outcome = dialogue.result
        if not self._ready:
            return events + self._finish_setup(outcome or "", now)
        if outcome == PacketRefused.NO_STATUS:
            # A late answer would be mistaken for the next command's: start again.
            return events + self._restart("the module did not answer", PacketRefused.NO_STATUS, now)
        token, self._sending = self._sending, None
        if token is not None:
            events.append(Refused(token, outcome) if outcome else Delivered(token))
            self._must_listen = True
        elif outcome:
            return events + self._restart("a step of listen failed", TextRefused.FAILED, now)
        self._restarts.clear()
        return events + self._listen(now)

    def _finish_setup(self, outcome: str, now: int) -> list[Event]:
        name = self._settings.name
        if outcome:
            how = "does not answer" if outcome == PacketRefused.NO_STATUS else "rejects"
            what = f"the {name} {how} a step of setup or listen"
            failed = Failed(PeerError(what, fix="check power, wiring, baudRate and the steps"))
            return [*notice(self._first_frame.give_up()), failed]
        self._ready = self._was_ready = True
        return [Ready(name)]

    def _listen(self, now: int) -> list[Event]:
        """Start the steps that make the module receive, when due and no dialogue is running."""
        steps = self._settings.listen
        if self._dialogue is not None or not self._must_listen or not self._ready:
            return []
        self._must_listen = False
        return self._begin(self._script(steps, {}), now) if steps else []

    # --- from the module -------------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> list[Event]:
        if not self._open:
            return []
        items = self._decoder.feed(data)
        events = self._take(items, now)
        if not self._first_frame.over:
            if _has_sense(items, events):
                self._first_frame.found()
            else:
                self._first_frame.take(data, now)
        self._gap_deadline = now + GAP_NS if self._decoder.held else None
        return events

    def _take(self, items: list[Item], now: int) -> list[Event]:
        events: list[Event] = []
        for item in items:
            if isinstance(item, ReceivedMessage):
                events += self._take_packet(item, now)
            elif isinstance(item, Discarded):
                events.append(Dropped(*item))
            else:
                events += self._take_line(item, now)
        return events

    def _take_packet(self, received: ReceivedMessage, now: int) -> list[Event]:
        if not self._was_ready:
            return [_EARLY]
        self._must_listen = True
        if not received.data:
            return [_EMPTY, *self._listen(now)]
        taken = self._route.inward(received.data, received.source)
        if isinstance(taken, Dropped):
            return [taken, *self._listen(now)]
        channel, payload = taken
        packet = Received(payload, channel, received.rssi_dbm, received.source or None)
        return [packet, *self._listen(now)]

    def _take_line(self, line: bytes, now: int) -> list[Event]:
        # Answers go first: a module may send its banner when asked for its version.
        if self._dialogue is not None:
            events = self._dialogue.take_line(line, now)
            if events is not None:
                return self._after_dialogue(events, now)
        if self._restarted is not None and self._restarted.search(line):
            if not self._ready and self._dialogue is None:
                return []
            return self._restart("the module restarted", PacketRefused.RESET, now)
        if self._listen_on is not None and self._listen_on.search(line):
            self._must_listen = True
            return self._listen(now)
        if self._ignored is not None and self._ignored.search(line):
            return []
        return [Dropped(FrameDropped.GARBAGE, "bytes of an unexpected line", len(line))]

    # --- to the module ---------------------------------------------------------------------------

    def send(self, packet: Packet, now: int) -> Transmission | CannotSend | None:
        if not self._ready:
            return NOT_YET
        taken = self._route.outward(packet)
        if isinstance(taken, CannotSend):
            return taken
        destination, payload = taken
        longest = self._settings.longest_packet
        if len(payload) > longest:
            return CannotSend(
                PacketRefused.TOO_LONG, f"{len(payload)} bytes, longest_packet is {longest}"
            )
        if any(byte in payload for byte in self._forbidden):
            return CannotSend(
                PacketRefused.UNFRAMABLE, "the packet contains the line end; {data} cannot send it"
            )
        if self._dialogue is not None:
            return NOT_YET
        values = {
            "data": payload,
            "hex": payload.hex().upper().encode(),
            "length": str(len(payload)).encode(),
            "destination": destination.encode("utf-8", "surrogateescape"),
        }
        first = filled(self._settings.send[0].send, values) + self._end
        self._token += 1
        if len(self._settings.send) == 1 and not self._settings.send[0].expect:
            return self._send_unanswered(first, now)
        self._sending = self._token
        self._dialogue = LineDialogue(self._script(self._settings.send, values, sent=True))
        # Its first step only waits, since its command is the Transmission.
        self._dialogue.start(now)
        return Transmission(first, self._token)

    def _send_unanswered(self, wire: bytes, now: int) -> Transmission | None:
        """No answer is expected: delivered when the line has sent it."""
        if self._quiet.blocks(now):
            return NOT_YET
        self._quiet.time_ns = now + s_to_ns(self._settings.pause_s)
        return Transmission(wire)

    # --- time ------------------------------------------------------------------------------------

    def next_deadline(self) -> int | None:
        waits = [self._gap_deadline, self._quiet.deadline, self._first_frame.deadline]
        if self._dialogue is not None:
            waits.append(self._dialogue.deadline)
        return min((due for due in waits if due is not None), default=None)

    def expire(self, now: int) -> list[Event]:
        events: list[Event] = []
        if self._gap_deadline is not None and now >= self._gap_deadline:
            self._gap_deadline = None
            events += self._take(self._decoder.flush(), now)
        self._quiet.expire(now)
        if self._dialogue is not None:
            events += self._after_dialogue(self._dialogue.expire(now), now)
        return events + notice(self._first_frame.expire(now, self._decoder.held))

    # --- as text ---------------------------------------------------------------------------------

    def describe(self, frame: bytes) -> str:
        """Bytes of either direction as text; never raises."""
        decoder = Decoder(self._settings.receive, self._end, self._settings.longest_line)
        return "; ".join(map(item_text, decoder.feed(frame) + decoder.flush())) or "nothing"


def _has_sense(items: list[Item], events: list[Event]) -> bool:
    """Whether any of these items was a packet, an answer, or a line that the settings name."""
    unexpected = sum(isinstance(event, Dropped) for event in events)
    return len(events) > unexpected or len(items) > unexpected
