"""Sessions of modules that must be found, checked and configured before packets pass.

First come small parts that it shares with other sessions: send pauses, drop counts, restart limits,
dialogues in lines.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

from hilgw.adapters._common.line_decoder import Discarded, Item, LineDecoder, ReceivedMessage
from hilgw.adapters._common.routes import Route
from hilgw.adapters.base import (
    NOT_YET,
    CannotSend,
    Delivered,
    Dropped,
    Event,
    Failed,
    Notice,
    NotReady,
    Received,
    Refused,
    Transmission,
    Write,
)
from hilgw.errors import PeerError
from hilgw.framing.guess import FirstFrame
from hilgw.medium.packet import Packet
from hilgw.protocols import dialogue
from hilgw.protocols.dialogue import Dialogue, LineScript
from hilgw.reasons import PacketDropped, PacketRefused
from hilgw.transports.base import LineSettings
from hilgw.units import earliest

ModuleT = TypeVar("ModuleT")
EARLY = Dropped(PacketDropped.NOT_READY, "received while the module was being set up")


def notice(text: str) -> list[Event]:
    """Return a notice that is shown each time; nothing for no text."""
    return [Notice(text, once=False)] if text else []


class NotBefore:
    """The earliest time of the next packet, and whether a packet waits for it."""

    def __init__(self) -> None:
        self.clear()

    def blocks(self, now: int) -> bool:
        """Return whether a packet must wait now, and set `deadline` if so."""
        self._waiting = now < self.time_ns
        return self._waiting

    @property
    def deadline(self) -> int | None:
        return self.time_ns if self._waiting else None

    def expire(self, now: int) -> None:
        if now >= self.time_ns:
            self._waiting = False

    def clear(self) -> None:
        self.time_ns = 0
        self._waiting = False


class DropCounts:
    """Reports how much counters have grown since the last report.

    reported: the totals of that report.
    """

    def __init__(self) -> None:
        self.reported: dict[str, int] = {}

    def new(self, totals: Mapping[str, int]) -> list[tuple[str, int]]:
        """Return (reason, increase) for each counter that has grown."""
        if totals == self.reported:
            return []
        grown = [(reason, total - self.reported.get(reason, 0)) for reason, total in totals.items()]
        self.reported.update(totals)
        return [(reason, count) for reason, count in grown if count]


MOST_RESTARTS = 6
"""Of a module that does not become ready in between."""
LONGEST_FRAME = 512
"""Bytes that any of these modules sends for one packet, with a margin."""


class LineDialogue(dialogue.LineDialogue[Event, ModuleT]):
    """A dialogue with a module whose commands and answers are lines of text."""

    def __init__(self, script: LineScript[Event, ModuleT], line: LineSettings) -> None:
        super().__init__(script, Write, Failed, line.duration_ns(1))


class ModuleSession(ABC, Generic[ModuleT]):
    """The part of an AdapterSession from the open port to the Ready module, and back.

    kind: of the adapter.
    """

    kind: ClassVar[str]

    def __init__(self, line: LineSettings) -> None:
        self._line = line
        self._first_frame = FirstFrame()
        self._dialogue: Dialogue[Event, Any, Any] | None = None
        # was_ready: at least once since `open`
        self._open = self._ready = self._was_ready = False
        self._restarts = 0  # without becoming ready in between

    @abstractmethod
    def _new_handshake(self) -> Dialogue[Event, Any, ModuleT]:
        """Return the handshake that finds and configures the module."""

    @abstractmethod
    def _begin_packets(self, module: ModuleT, now: int) -> list[Event]:
        """Return Ready and its consequences, after the handshake has found this module."""

    def _refuse_outstanding(self, reason: str) -> list[Event]:
        return []

    def open(self, now: int) -> list[Event]:
        events = self.close()
        self._restarts = 0
        self._open = True
        self._first_frame = FirstFrame(
            self.kind, self._line.baudRate, self._line.patience_ns(LONGEST_FRAME)
        )
        return events + self._set_up(now)

    def close(self) -> list[Event]:
        self._dialogue = None
        self._open = self._ready = self._was_ready = False
        self._first_frame.found()
        return []

    def _set_up(self, now: int) -> list[Event]:
        self._dialogue = self._new_handshake()
        return self._after_dialogue(self._dialogue.start(now), now)

    def _restart(self, reason: str, lost_by: str, now: int) -> list[Event]:
        events = self._refuse_outstanding(lost_by)
        if self._ready:
            events.append(NotReady(reason))
        self._dialogue, self._ready = None, False
        self._restarts += 1
        if self._restarts > MOST_RESTARTS:
            return [*events, Failed(self._too_many_restarts(reason))]
        return events + self._set_up(now)

    def _too_many_restarts(self, reason: str) -> PeerError:
        return PeerError("the module keeps restarting", fix="check its power supply")

    def _after_dialogue(self, events: list[Event], now: int) -> list[Event]:
        dialogue = self._dialogue
        if dialogue is None or not dialogue.over:
            return events
        self._dialogue, module = None, dialogue.result
        if module is None:
            return notice(self._first_frame.give_up()) + events
        self._ready = self._was_ready = True
        return events + self._begin_packets(module, now)


_EMPTY = Dropped(PacketDropped.EMPTY, "a received packet without data")


class LineModuleSession(ModuleSession[ModuleT]):
    """An AdapterSession with one dialogue at a time: first the handshake, then packets.

    The first command of a packet is its Transmission, and its dialogue waits for the answer. The
    session begins again when the module restarts, or when it does not answer a packet: its late
    answer would be mistaken for the next one's.

    gap_ns: longer than any pause between the bytes of a line or packet.
    no_answer: why the session begins again then. no_address: a source that identifies no module.
    """

    gap_ns: int
    no_answer: ClassVar[str] = "the module did not answer"
    no_address: ClassVar[str] = ""

    def __init__(self, line: LineSettings, route: Route, decoder: LineDecoder) -> None:
        super().__init__(line)
        self._route = route
        self._decoder = decoder
        self.channels = route.channels
        self._gap_deadline: int | None = None
        self._dialogue: LineDialogue[Any] | None = None
        self._token = 0
        self._outstanding: int | None = None  # token of the packet whose dialogue is running
        self._quiet = NotBefore()  # the pause after a packet

    @abstractmethod
    def _handshake(self) -> LineScript[Event, ModuleT]:
        """Find and configure the module."""

    @abstractmethod
    def _restarted(self, line: bytes) -> bool:
        """Return whether the module sends this line after a restart."""

    @abstractmethod
    def _other_line(self, line: bytes, now: int) -> list[Event]:
        """Handle a line that answers no question and reports no restart."""

    @abstractmethod
    def _transmit(
        self, destination: str, payload: bytes, now: int
    ) -> Transmission | CannotSend | None:
        """Begin to send a packet, or NOT_YET when `_is_busy`."""

    # --- open and close --------------------------------------------------------------------------

    def close(self) -> list[Event]:
        events = self._refuse_outstanding(PacketRefused.DOWN)
        self._decoder.reset()
        self._gap_deadline = None
        self._quiet.clear()
        return events + super().close()

    def _refuse_outstanding(self, reason: str) -> list[Event]:
        token, self._outstanding = self._outstanding, None
        return [] if token is None else [Refused(token, reason)]

    # --- dialogues -------------------------------------------------------------------------------

    def _new_handshake(self) -> LineDialogue[ModuleT]:
        return LineDialogue(self._handshake(), self._line)

    def _begin(self, script: LineScript[Event, str | None], now: int) -> list[Event]:
        self._dialogue = LineDialogue(script, self._line)
        return self._after_dialogue(self._dialogue.start(now), now)

    def _after_dialogue(self, events: list[Event], now: int) -> list[Event]:
        dialogue = self._dialogue
        if not self._ready or dialogue is None or not dialogue.over:
            return super()._after_dialogue(events, now)
        self._dialogue = None
        return events + self._end_packet(dialogue.result, now)

    def _end_packet(self, lost_by: str | None, now: int) -> list[Event]:
        if lost_by is PacketRefused.NO_STATUS:
            return self._restart(self.no_answer, lost_by, now)
        if lost_by is not None:
            return self._refuse_outstanding(lost_by)
        token, self._outstanding = self._outstanding, None
        return [] if token is None else [Delivered(token)]

    # --- from the module -------------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> list[Event]:
        if not self._open:
            return []
        items = self._decoder.feed(data)
        events = self._take(items, now)
        if not self._first_frame.over:
            if self._has_sense(items, events):
                self._first_frame.found()
            else:
                self._first_frame.take(data, now)
        self._gap_deadline = now + self.gap_ns if self._decoder.held else None
        return events

    def _has_sense(self, items: list[Item], events: list[Event]) -> bool:
        unexpected = sum(isinstance(event, Dropped) for event in events)
        return len(events) > unexpected or len(items) > unexpected

    def _take(self, items: list[Item], now: int) -> list[Event]:
        events: list[Event] = []
        for item in items:
            if isinstance(item, ReceivedMessage):
                events += self._take_packet(item, now)
            elif isinstance(item, bytes):
                events += self._take_line(item, now)
            else:
                events.append(Dropped(*item))
        return events

    def _take_packet(self, received: ReceivedMessage, now: int) -> list[Event]:
        if not self._was_ready:
            return [EARLY]
        if not received.data:
            return [_EMPTY]
        taken = self._route.inward(received.data, received.source)
        if isinstance(taken, Dropped):
            return [taken]
        channel, payload = taken
        address = None if received.source == self.no_address else received.source
        return [Received(payload, channel, received.rssi_dbm, address)]

    def _take_line(self, line: bytes, now: int) -> list[Event]:
        # Answers go first: a module may send its banner when asked for its version.
        if self._dialogue is not None:
            events = self._dialogue.take_line(line, now)
            if events is not None:
                self._first_frame.found()
                return self._after_dialogue(events, now)
        if not self._restarted(line):
            return self._other_line(line, now)
        if not self._ready and self._dialogue is None:
            return []
        return self._restart("the module restarted", PacketRefused.RESET, now)

    # --- to the module ---------------------------------------------------------------------------

    def send(self, packet: Packet, now: int) -> Transmission | CannotSend | None:
        if not self._ready:
            return NOT_YET
        taken = self._route.outward(packet)
        return taken if isinstance(taken, CannotSend) else self._transmit(*taken, now)

    def _is_busy(self, now: int) -> bool:
        return self._dialogue is not None or self._quiet.blocks(now)

    def _begin_packet(
        self, wire: bytes, script: LineScript[Event, str | None], now: int
    ) -> Transmission:
        """Begin a packet with its first command, `wire`.

        The first step of the script only waits for its answer, from the moment the command was
        sent.
        """
        self._token += 1
        self._outstanding = self._token
        self._dialogue = LineDialogue(script, self._line)
        self._dialogue.start(now + self._line.duration_ns(len(wire)))
        return Transmission(wire, self._token)

    # --- time ------------------------------------------------------------------------------------

    def next_deadline(self) -> int | None:
        due = None if self._dialogue is None else self._dialogue.deadline
        return earliest(self._gap_deadline, self._quiet.deadline, self._first_frame.deadline, due)

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

    def _described(self, decoder: LineDecoder, frame: bytes) -> str:
        return "; ".join(map(self._item_text, decoder.feed(frame) + decoder.flush())) or "nothing"

    def _item_text(self, item: Item) -> str:
        if isinstance(item, ReceivedMessage):
            source = f" from {item.source!r}" if item.source else ""
            rssi = "" if item.rssi_dbm is None else f", {item.rssi_dbm:g} dBm"
            snr = "" if item.snr_db is None else f", SNR {item.snr_db} dB"
            return f"packet of {len(item.data)} B {item.data[:64]!r}{source}{rssi}{snr}"
        if isinstance(item, Discarded):
            return f"{item.number} x {item.text}"
        return repr(item[:96])
