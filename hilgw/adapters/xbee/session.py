"""The session of an XBee in API mode: packets to frames and back, sans-I/O."""

from collections.abc import Callable
from dataclasses import replace

from hilgw.adapters._common.module import EARLY, LONGEST_FRAME, notice
from hilgw.adapters.base import (
    NOT_YET,
    CannotSend,
    Delivered,
    Event,
    Notice,
    Ready,
    Received,
    Refused,
    StationSettings,
    Transmission,
    Write,
)
from hilgw.adapters.xbee import describe as words, frames
from hilgw.adapters.xbee.api_frames import FROM_MODULE, FrameDecoder, encode
from hilgw.adapters.xbee.frames import AtResponse
from hilgw.adapters.xbee.handshake import XBeeModuleSession
from hilgw.adapters.xbee.network import RAW_802, ZIGBEE, Network, XBeeModule
from hilgw.adapters.xbee.packets import (
    BAD_FRAME,
    PAYLOAD_AT,
    PacketDecoder,
    TransmitFrames,
    Window,
    endpoints_of,
    route_of,
    transmit_frames_for,
)
from hilgw.adapters.xbee.settings import FACTORY_MY, XBeeSettings
from hilgw.errors import FrameError
from hilgw.medium.packet import Packet
from hilgw.reasons import PacketRefused, RefusedReason
from hilgw.units import NS_PER_MS, earliest

# Bytes that the smallest UART buffer (174 bytes, S2C) accepts before CTS falls, 17 bytes from full:
# several frames are sent ahead only while they fit, so nothing overruns without flow control.
UART_ROOM = 157
GAP_NS = 300_000_000  # a frame with a longer pause is truncated

_TO_ALL = (frames.BROADCAST_16, frames.BROADCAST_64)


ASK_EVERY_NS = 20 * NS_PER_MS
PATIENCE_NS = 100 * NS_PER_MS  # besides the time on the line
QUESTION_BYTES = 32  # command and answer with escapes, and a margin
RETRY_NS = 1000 * NS_PER_MS  # pause after a command without an answer
HELD = 16  # packets that wait, at most

Ask = Callable[[str], tuple[int, Write]]


class LastHop:
    """Holds packets until DB is known: one command at a time, its answer is for all that wait.

    Packets keep their order. Where no answer comes, or the next command is not due yet, they pass
    without an RSSI, or with the last one if they are from the same module.
    """

    def __init__(self, byte_ns: int) -> None:
        self._patience_ns = PATIENCE_NS + QUESTION_BYTES * byte_ns
        self._held: list[Received] = []
        self._asked: int | None = None
        self._next_ns = 0
        self._unknown = False
        self._last: tuple[str | None, int] | None = None  # address, RSSI
        self.deadline: int | None = None

    def receive(self, packet: Received, now: int, ask: Ask) -> list[Event]:
        if self._held:
            self._held.append(packet)
            return self.release() if len(self._held) >= HELD else []
        if packet.rssi_dbm is not None or self._unknown:
            return [packet]
        if now < self._next_ns:
            last = self._last
            return [_with(packet, last[1] if last and last[0] == packet.address else None)]
        self._asked, question = ask("DB")
        self._held.append(packet)
        self._next_ns = now + ASK_EVERY_NS
        self.deadline = now + self._patience_ns
        return [question]

    def take(self, answer: AtResponse) -> list[Event]:
        """Process an answer to any command, and return the packets it releases."""
        if answer.frame_id != self._asked or answer.name != "DB":
            return []
        self._unknown = not answer.ok
        value = int.from_bytes(answer.value, "big") if answer.ok else 0
        return self.release(-value if 0 < value < 256 else None)

    def expire(self, now: int) -> list[Event]:
        if self.deadline is None or now < self.deadline:
            return []
        self._next_ns = now + RETRY_NS
        return self.release()

    def release(self, rssi_dbm: int | None = None) -> list[Event]:
        """Release all waiting packets, with this RSSI."""
        held, self._held = self._held, []
        self._asked = self.deadline = self._last = None
        if held and rssi_dbm is not None:
            self._last = held[-1].address, rssi_dbm
        return [_with(packet, rssi_dbm) for packet in held]


def _with(packet: Received, rssi_dbm: int | None) -> Received:
    if packet.rssi_dbm is not None or rssi_dbm is None:
        return packet
    return replace(packet, rssi_dbm=rssi_dbm, rssi_uncertain=True)


class XBeeSession(XBeeModuleSession):
    """The AdapterSession of a module in API mode 1 or 2.

    acknowledges: a packet is delivered when the other module has it, not when it left.
    unknown_statuses: number of transmit statuses without an outstanding frame.
    """

    def __init__(self, settings: XBeeSettings, common: StationSettings) -> None:
        super().__init__(settings, common)
        self._gap_ns = common.gap_ns(GAP_NS)
        self._escaped = settings.api_mode == 2
        self._route = route_of(settings, common)
        self.channels = self._route.channels
        self.acknowledges = self._route.destinations.isdisjoint(_TO_ALL)
        self.unknown_statuses = 0
        self._decoder = FrameDecoder(self._escaped, types=FROM_MODULE)
        self._bad_frames = 0
        self._gap_deadline: int | None = None
        self._module: XBeeModule | None = None
        self._transmit_frames: TransmitFrames | None = None
        self._frame_id = 0
        room = None if common.rtscts else UART_ROOM
        # The time of our frame, and of those received before its status.
        limit_ns = self._line.patience_ns(2 * LONGEST_FRAME, settings.status_timeout_s)
        self._window = Window(settings.window, room, limit_ns)
        raw = settings.firmware == RAW_802
        self._network = Network(raw)
        self._rssi: LastHop | None = None
        if settings.rssi_from_db or (settings.rssi_from_db is None and not raw):
            self._rssi = LastHop(self._line.duration_ns(1))
        self._packet_decoder = PacketDecoder(self._route, None if raw else endpoints_of(settings))

    # --- open and close -----------------------------------------------------------------------

    def close(self) -> list[Event]:
        self._decoder.reset()
        self._gap_deadline = self._module = None
        return self._refuse_outstanding(PacketRefused.DOWN) + super().close()

    def _set_up(self, now: int) -> list[Event]:
        self._module = None
        return super()._set_up(now)

    def _begin_packets(self, module: XBeeModule, now: int) -> list[Event]:
        self._module = module
        self._transmit_frames = transmit_frames_for(self._settings, module)
        addresses = [module.serial]
        if module.my < 0xFFFE and f"{module.my:04X}" != FACTORY_MY:  # it is unique
            addresses.append(f"{module.my:04X}")
        return [*super()._begin_packets(module, now), Ready(module.identity, tuple(addresses))]

    def _refuse_outstanding(self, reason: str) -> list[Event]:
        events = self._rssi.release() if self._rssi is not None else []
        events += [Refused(token, reason) for token in self._window.clear()]
        return events + self._network.give_up(reason)

    # --- from the module ----------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> list[Event]:
        handshake = self._dialogue
        if handshake is None and self._module is None:
            return []
        events: list[Event] = []
        received = self._decoder.feed(data)
        if handshake is not None:
            events += self._after_dialogue(handshake.take_text(data, now), now)
        if not self._first_frame.over:
            if received or events:  # a frame, or an answer in command mode
                self._first_frame.found()
            else:
                self._first_frame.take(data, now)
        self._gap_deadline = now + self._gap_ns if self._decoder.pending else None
        return self._take(received, events, now)

    def _take(self, frame_data: list[bytes], events: list[Event], now: int) -> list[Event]:
        for frame in frame_data:
            offset = PAYLOAD_AT.get(frame[0])
            if offset is None:
                events += self._control(frame, now)
            elif self._module is not None:
                received = self._packet_decoder.decode(frame, offset)
                if self._rssi is not None and isinstance(received, Received):
                    events += self._rssi.receive(received, now, self._ask)
                else:
                    events.append(received)
            elif self._dialogue is not None:
                self._commands.received_frames = True
                events.append(EARLY)
        if self._decoder.bad_frames != self._bad_frames:
            events += [BAD_FRAME] * (self._decoder.bad_frames - self._bad_frames)
            self._bad_frames = self._decoder.bad_frames
        return events

    def _control(self, frame: bytes, now: int) -> list[Event]:
        try:
            record = frames.parse(frame)
        except FrameError as error:
            return [Notice(f"received frame ignored: {error.what}")]
        if self._dialogue is not None:
            return self._take_answer(record, now)
        if self._module is None:
            return []
        if isinstance(record, frames.TransmitStatus | frames.ExtendedStatus):
            return self._settle(record.frame_id, record.status)
        if isinstance(record, frames.ModemStatus):
            return self._take_modem_status(record.status, now)
        if isinstance(record, frames.NodeIdentification):
            return [Notice(words.describe(frame))]
        if isinstance(record, frames.AtResponse | frames.RemoteAtResponse):
            freed: list[Event] = []
            if self._rssi is not None and isinstance(record, frames.AtResponse):
                freed = self._rssi.take(record)
            return freed + self._network.take(record)
        return []

    def _take_modem_status(self, status: int, now: int) -> list[Event]:
        text = words.modem_text(status)
        lost_by: RefusedReason
        if status in words.RESETS:
            lost_by, why = PacketRefused.RESET, f"the module restarted: {text}"
        elif status == words.LEFT and self._module and self._module.protocol == ZIGBEE:
            lost_by, why = words.XBeeRefused.NOT_JOINED, f"the module {text}"
        else:
            return [Notice(f"module: {text}")]
        return self._restart(why, lost_by, now)

    def _settle(self, frame_id: int, status: int) -> list[Event]:
        token = self._window.settle(frame_id)
        if token is None:
            self.unknown_statuses += 1
            return [Notice("transmit status without an outstanding frame ignored")]
        if status == 0:
            return [Delivered(token)]
        return [Refused(token, words.delivery_reason(status))]

    # --- to the module ------------------------------------------------------------------------

    def send(self, packet: Packet, now: int) -> Transmission | CannotSend | None:
        module, transmit = self._module, self._transmit_frames
        if module is None or transmit is None:
            return NOT_YET
        taken = self._route.outward(packet)
        if isinstance(taken, CannotSend):
            return taken
        destination, payload = taken
        limit = module.broadcast if destination in _TO_ALL else module.payload
        if len(payload) > limit:
            text = f"{len(payload)} bytes for the radio, the module's limit is {limit}"
            return CannotSend(PacketRefused.TOO_LONG, text)
        if not self._window.admits(len(payload) + transmit.overhead):
            return NOT_YET
        frame_id = self._next_id()
        wire = encode(transmit.pack(frame_id, destination, payload), self._escaped)
        return Transmission(wire, self._window.put(frame_id, len(wire), now))

    def _next_id(self) -> int:
        frame_id = self._frame_id % 255 + 1
        while frame_id in self._window or frame_id in self._network:
            frame_id = frame_id % 255 + 1
        self._frame_id = frame_id
        return frame_id

    def _ask(self, name: str) -> tuple[int, Write]:
        return self._put(lambda number: frames.AtCommand(number, name).pack())

    def _put(self, data: Callable[[int], bytes]) -> tuple[int, Write]:
        frame_id = self._next_id()
        return frame_id, Write(encode(data(frame_id), self._escaped))

    # --- the network --------------------------------------------------------------------------

    def discover(self, now: int) -> list[Event]:
        return [] if self._module is None else self._network.discover(now, self._put)

    def command(self, address: str, name: str, value: bytes, token: int, now: int) -> list[Event]:
        if self._module is None:
            return []
        return self._network.command(address.upper(), name, value, token, now, self._put)

    # --- time ---------------------------------------------------------------------------------

    def next_deadline(self) -> int | None:
        return earliest(
            self._gap_deadline,
            self._window.deadline,
            self._network.deadline,
            None if self._rssi is None else self._rssi.deadline,
            None if self._dialogue is None else self._dialogue.deadline,
            self._first_frame.deadline,
        )

    def expire(self, now: int) -> list[Event]:
        events: list[Event] = []
        if self._gap_deadline is not None and now >= self._gap_deadline:
            self._gap_deadline = None
            self._take(self._decoder.flush(), events, now)
        events += [Refused(token, PacketRefused.NO_STATUS) for token in self._window.expire(now)]
        if self._rssi is not None:
            events += self._rssi.expire(now)
        events += self._network.expire(now)
        if self._dialogue is not None:
            events += self._after_dialogue(self._dialogue.expire(now), now)
        return events + notice(self._first_frame.expire(now, self._decoder.pending))

    # --- as text ------------------------------------------------------------------------------

    def describe(self, frame: bytes) -> str:
        """Return wire bytes or frame data as text; never raises.

        Wire bytes are one or more frames; the start of the first, 7E or 7E 00, may have come
        before them.
        """
        begins = frame[:1] == b"\x7e"
        for head in (b"",) if begins else (b"\x7e", b"\x7e\x00"):
            decoder = FrameDecoder(self._escaped)
            decoded = decoder.feed(head + frame)
            decoded += decoder.flush()
            if decoded:
                break
        if not decoded:
            return f"no complete XBee frame: {len(frame)} B" if begins else words.describe(frame)
        return "; ".join(words.describe(data) for data in decoded)
