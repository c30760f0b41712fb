"""The session of a RYLR998: packets to AT+SEND, +RCV to packets, sans-I/O."""

from __future__ import annotations

import binascii
import re

from hilgw.adapters._common.routes import route_for
from hilgw.adapters._common.session_parts import LineDialogue, NotBefore, RestartLimit, notice
from hilgw.adapters.base import (
    NOT_YET,
    CannotSend,
    Delivered,
    Dropped,
    Event,
    Failed,
    Notice,
    NotReady,
    Ready,
    Received,
    Refused,
    StationSettings,
    Transmission,
    line_of,
)
from hilgw.adapters.rylr998.decoder import CutShort, Decoder, Garbage, Item, ReceivedMessage
from hilgw.adapters.rylr998.handshake import ERROR, OK, Module, error_reason, error_text, handshake
from hilgw.adapters.rylr998.settings import LONGEST, TO_ALL, RylrSettings, normal_address
from hilgw.errors import PeerError
from hilgw.framing.base import FrameDropped
from hilgw.framing.guess import FirstFrame
from hilgw.medium.packet import Packet
from hilgw.reasons import PacketDropped, PacketRefused
from hilgw.units import NS_PER_S, s_to_ns

GAP_NS = 300_000_000  # longer than any pause between bytes of a line or packet, even at 300 baud
MOST_RESTARTS = 6
RESTARTS = (b"+RESET", b"+READY", b"+FACTORY")

_ANSWER = re.compile(rb"\+(?:OK|ERR=[0-9]{1,3}|[A-Z]{3,9}=[ -~]{0,64})")
_EARLY = Dropped(PacketDropped.NOT_READY, "received while the module was being set up")
_EMPTY = Dropped(PacketDropped.EMPTY, "a received packet without data")
_CUT = Dropped(PacketDropped.BAD_FRAME, "the start of a packet that is not completed")
_NO_HEX = Dropped(PacketDropped.NO_HEX, "a received packet that is not in hex digits")


class RylrSession:
    """The AdapterSession of a RYLR998.

    One command at a time: the module answers +OK when it has transmitted the packet. The next
    packet waits until the calculated time on air is over, too.
    """

    def __init__(self, settings: RylrSettings, common: StationSettings) -> None:
        self._settings = settings
        self._common = common
        destination = normal_address(settings.destination)
        self._route = route_for(
            settings.mapping, common.channel, destination, TO_ALL, normal_address
        )
        self.channels = self._route.channels
        self._timeout_ns = s_to_ns(settings.reply_timeout_s)
        self._byte_ns = line_of(common)[0].byteSize * NS_PER_S // common.baudRate
        self._hex = settings.encoding == "hex"
        self._decoder = Decoder()
        self._gap_deadline: int | None = None
        self._first_frame = FirstFrame()
        self._dialogue: LineDialogue[Module] | None = None
        self._module: Module | None = None
        self._open = self._was_ready = False  # was_ready: at least once since `open`
        self._restarts = RestartLimit(MOST_RESTARTS)
        self._token = 0
        self._outstanding: tuple[int, int] | None = None  # token, deadline of its answer
        self._air = NotBefore()  # the end of the last packet on the air

    # --- open and close --------------------------------------------------------------------------

    def open(self, now: int) -> list[Event]:
        events = self.close()
        self._restarts.clear()
        self._open = True
        self._first_frame = FirstFrame("rylr998", self._common.baudRate)
        return events + self._start_handshake(now)

    def close(self) -> list[Event]:
        events = self._refuse_outstanding(PacketRefused.DOWN)
        self._decoder.reset()
        self._gap_deadline = None
        self._first_frame.found()
        self._dialogue = self._module = None
        self._open = self._was_ready = False
        self._air.clear()
        return events

    def _start_handshake(self, now: int) -> list[Event]:
        self._module = None
        self._dialogue = LineDialogue(handshake(self._settings, self._common))
        return self._after_dialogue(self._dialogue.start(now))

    def _after_dialogue(self, events: list[Event]) -> list[Event]:
        dialogue = self._dialogue
        if dialogue is None or not dialogue.over:
            return events
        self._dialogue, self._module = None, dialogue.result
        if dialogue.result is None:
            return notice(self._first_frame.give_up()) + events
        self._restarts.clear()
        self._was_ready = True
        address = str(dialogue.result.address)
        own = () if address == TO_ALL else (address,)
        return [*events, Ready(dialogue.result.identity, own)]

    def _refuse_outstanding(self, reason: str) -> list[Event]:
        lost, self._outstanding = self._outstanding, None
        return [Refused(lost[0], reason)] if lost else []

    def _restart(self, reason: str, lost_by: str, now: int) -> list[Event]:
        """The module restarted, or its answers are out of step: start again."""
        events = self._refuse_outstanding(lost_by)
        if self._module is not None:
            events.append(NotReady(reason))
        if self._restarts.exceeded():
            self._module = self._dialogue = None
            error = PeerError("the module keeps restarting", fix="check its power supply")
            return [*events, Failed(error)]
        return events + self._start_handshake(now)

    # --- from the module -------------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> list[Event]:
        if not self._open:
            return []
        items = self._decoder.feed(data)
        if not self._first_frame.over:
            if any(map(_is_from_a_module, items)):
                self._first_frame.found()
            else:
                self._first_frame.take(data, now)
        events = self._take(items, now)
        self._gap_deadline = now + GAP_NS if self._decoder.held else None
        return events

    def _take(self, items: list[Item], now: int) -> list[Event]:
        events: list[Event] = []
        for item in items:
            match item:
                case ReceivedMessage():
                    events.append(self._take_packet(item))
                case Garbage(size):
                    events.append(_garbage(size))
                case CutShort():
                    events.append(_CUT)
                case bytes():
                    events += self._take_line(item, now)
        return events

    def _take_packet(self, received: ReceivedMessage) -> Event:
        if not self._was_ready:
            return _EARLY
        data = received.data
        if self._hex:
            try:
                data = binascii.unhexlify(data)
            except ValueError:
                return _NO_HEX
        if not data:
            return _EMPTY
        address = str(received.address)
        taken = self._route.inward(data, address)
        if isinstance(taken, Dropped):
            return taken
        channel, payload = taken
        known = None if address == TO_ALL else address
        return Received(payload, channel, float(received.rssi_dbm), known)

    def _take_line(self, line: bytes, now: int) -> list[Event]:
        if line.endswith(RESTARTS):
            if self._dialogue is None and self._module is None:
                return []
            return self._restart("the module restarted", PacketRefused.RESET, now)
        if self._dialogue is not None:
            events = self._dialogue.take_line(line, now)
            return _unasked(line) if events is None else self._after_dialogue(events)
        if OK.search(line):
            token = self._settled()
            return [] if token is None else [Delivered(token)]
        error = ERROR.search(line)
        if error is None:
            return _unasked(line)
        code, token = int(error[1]), self._settled()
        shown = Notice(f"the module reports: {error_text(code)} (+ERR={code})")
        return [shown] if token is None else [shown, Refused(token, error_reason(code))]

    def _settled(self) -> int | None:
        """Token of the frame that waited for its answer."""
        settled, self._outstanding = self._outstanding, None
        return settled[0] if settled else None

    # --- to the module ---------------------------------------------------------------------------

    def send(self, packet: Packet, now: int) -> Transmission | CannotSend | None:
        module = self._module
        if module is None:
            return NOT_YET
        taken = self._route.outward(packet)
        if isinstance(taken, CannotSend):
            return taken
        destination, payload = taken
        if self._hex:
            payload = payload.hex().upper().encode()
        if len(payload) > LONGEST:
            return CannotSend(
                PacketRefused.TOO_LONG, f"{len(payload)} bytes, the module's limit is {LONGEST}"
            )
        if self._outstanding is not None:
            return NOT_YET
        if self._air.blocks(now):
            return NOT_YET
        wire = b"AT+SEND=%s,%d,%s\r\n" % (destination.encode(), len(payload), payload)
        self._token += 1
        on_line_ns, air_ns = len(wire) * self._byte_ns, module.air_ns(len(payload))
        self._air.time_ns = now + on_line_ns + air_ns
        self._outstanding = (self._token, self._air.time_ns + self._timeout_ns)
        return Transmission(wire, self._token)

    # --- time ------------------------------------------------------------------------------------

    def next_deadline(self) -> int | None:
        waits = [self._gap_deadline, self._air.deadline, self._first_frame.deadline]
        if self._outstanding is not None:
            waits.append(self._outstanding[1])
        if self._dialogue is not None:
            waits.append(self._dialogue.deadline)
        return min((due for due in waits if due is not None), default=None)

    def expire(self, now: int) -> list[Event]:
        events: list[Event] = []
        if self._gap_deadline is not None and now >= self._gap_deadline:
            self._gap_deadline = None
            events += self._take(self._decoder.flush(), now)
        self._air.expire(now)
        if self._outstanding is not None and now >= self._outstanding[1]:
            # A late answer would be mistaken for the next command's: start again.
            events += self._restart(
                "the module did not answer AT+SEND", PacketRefused.NO_STATUS, now
            )
        if self._dialogue is not None:
            events += self._after_dialogue(self._dialogue.expire(now))
        return events + notice(self._first_frame.expire(now, self._decoder.held))

    # --- as text ---------------------------------------------------------------------------------

    def describe(self, frame: bytes) -> str:
        """Bytes of either direction as text; never raises."""
        decoder = Decoder()
        items = decoder.feed(frame) + decoder.flush()
        return "; ".join(map(_item_text, items)) or "nothing"


def _is_from_a_module(item: Item) -> bool:
    if isinstance(item, bytes):
        return item.endswith(RESTARTS) or _ANSWER.fullmatch(item) is not None
    return isinstance(item, ReceivedMessage)


def _unasked(line: bytes) -> list[Event]:
    """An unexpected line: the late answer to a repeated command, or noise."""
    return [] if _ANSWER.fullmatch(line) else [_garbage(len(line))]


def _garbage(size: int) -> Dropped:
    return Dropped(FrameDropped.GARBAGE, "bytes outside a line or packet", size)


def _item_text(item: Item) -> str:
    match item:
        case ReceivedMessage(address, data, rssi, snr):
            return f"{len(data)} B {data[:64]!r} from {address}, {rssi} dBm, SNR {snr} dB"
        case Garbage(size):
            return f"{size} B outside a line"
        case CutShort():
            return "a truncated packet"
        case bytes():
            error = ERROR.search(item)
            return f"{item[:96]!r}" + (f" ({error_text(int(error[1]))})" if error else "")
