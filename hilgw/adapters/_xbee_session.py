"""A session with one XBee: packets to frames and back, sans-I/O."""

from __future__ import annotations

from hilgw.adapters import _xbee_frames as frames
from hilgw.adapters import _xbee_words as words
from hilgw.adapters._xbee_handshake import SECOND_NS, Handshake
from hilgw.adapters._xbee_modules import Module
from hilgw.adapters._xbee_routes import route_for
from hilgw.adapters._xbee_settings import FACTORY_MY, XBeeSettings
from hilgw.adapters.base import (
    NOT_YET,
    CannotSend,
    Delivered,
    Dropped,
    Event,
    Failed,
    Heard,
    Notice,
    NotReady,
    Ready,
    Refused,
    StationSettings,
    Transmission,
)
from hilgw.errors import FrameError
from hilgw.framing.xbee_api import FROM_MODULE, Decoder, encode
from hilgw.medium.packet import Packet

# What the smallest UART buffer (174 bytes, S2C) takes before CTS falls, 17 bytes from full:
# several frames go ahead only while they fit, so nothing overruns without flow control.
UART_ROOM = 157
FRAME_OVERHEAD = 15  # start, length, checksum, and the 11 bytes before the data of a 64-bit one
GAP_NS = 300_000_000  # a frame that pauses for longer is cut short

_PAYLOAD_AT = {frames.RX_64: 11, frames.RX_16: 5, frames.RX: 12, frames.RX_EXPLICIT: 18}
_UNKNOWN_64 = b"\xff" * 8
_BAD_FRAME = Dropped("bad_frame", "a frame with a wrong checksum or length, or cut short")
_EMPTY = Dropped("empty", "a received frame without data")
_EARLY = Dropped("not_ready", "received while the module was being set up")


class XBeeSession:
    """The session of `hilgw.adapters.base` for 802.15.4 modules in API mode 1 or 2.

    unknown_statuses: transmit statuses that answer no outstanding frame.
    """

    def __init__(self, settings: XBeeSettings, common: StationSettings) -> None:
        self._settings = settings
        self._common = common
        self._escaped = settings.api_mode == 2
        self._timeout_ns = int(settings.status_timeout_s * SECOND_NS)
        self._route = route_for(settings, common)
        self.channels = self._route.channels
        self.unknown_statuses = 0
        self._decoder = Decoder(self._escaped, types=FROM_MODULE)
        self._bad_frames = 0
        self._gap_deadline: int | None = None
        self._handshake: Handshake | None = None
        self._module: Module | None = None
        self._frame_id = 0
        self._token = 0
        # frame id -> token, deadline, bytes on the wire; the oldest comes first
        self._outstanding: dict[int, tuple[int, int, int]] = {}
        self._bytes_ahead = 0

    # --- open and close -----------------------------------------------------------------------

    def open(self, now: int) -> list[Event]:
        events = self.close()
        return events + self._shake_hands(now)

    def close(self) -> list[Event]:
        events = self._lose_outstanding("down")
        self._decoder.reset()
        self._gap_deadline = None
        self._handshake = self._module = None
        return events

    def _shake_hands(self, now: int) -> list[Event]:
        self._module = None
        self._handshake = Handshake(self._settings, self._common)
        return self._after_handshake(self._handshake.start(now))

    def _after_handshake(self, events: list[Event]) -> list[Event]:
        """Become ready when the handshake has found its module, closed when it has failed."""
        module = self._handshake.module if self._handshake else None
        if module is None:
            if any(isinstance(event, Failed) for event in events):
                self._handshake = None
            return events
        self._handshake, self._module = None, module
        addresses = [module.serial]
        unique = module.my < 0xFFFE and f"{module.my:04X}" != FACTORY_MY
        if unique:
            addresses.append(f"{module.my:04X}")
        return [*events, Ready(module.identity, tuple(addresses))]

    def _lose_outstanding(self, reason: str) -> list[Event]:
        lost: list[Event] = [Refused(entry[0], reason) for entry in self._outstanding.values()]
        self._outstanding.clear()
        self._bytes_ahead = 0
        return lost

    # --- from the module ----------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> list[Event]:
        if self._module is None and self._handshake is None:
            return []
        events: list[Event] = []
        found = self._decoder.feed(data)
        if self._handshake is not None:
            events += self._after_handshake(self._handshake.take_text(data, now))
        self._gap_deadline = now + GAP_NS if self._decoder.pending else None
        return self._take(found, events, now)

    def _take(self, found: list[bytes], events: list[Event], now: int) -> list[Event]:
        for frame in found:
            offset = _PAYLOAD_AT.get(frame[0])
            if offset is None:
                events += self._control(frame, now)
            elif self._module is not None:
                events.append(self._hear(frame, offset))
            elif self._handshake is not None:
                self._handshake.take_packet()
                events.append(_EARLY)
        if self._decoder.bad_frames != self._bad_frames:
            events += [_BAD_FRAME] * (self._decoder.bad_frames - self._bad_frames)
            self._bad_frames = self._decoder.bad_frames
        return events

    def _hear(self, frame: bytes, offset: int) -> Heard | Dropped:
        """A packet. The address that names nobody, 0000, is left out."""
        payload = frame[offset:]
        if not payload:
            return _EMPTY if len(frame) == offset else _BAD_FRAME
        network = ""
        if offset == 5:
            address = frame[1:3].hex().upper()
        elif frame[1:9] != _UNKNOWN_64:
            address = frame[1:9].hex().upper()
            if offset > 11:
                network = frame[9:11].hex().upper()
        else:
            address = frame[9:11].hex().upper()
        taken = self._route.inward(payload, address, network)
        if isinstance(taken, Dropped):
            return taken
        channel, payload = taken
        rssi_dbm = -frame[offset - 2] if offset <= 11 else None
        return Heard(payload, channel, rssi_dbm, None if address == FACTORY_MY else address)

    def _control(self, frame: bytes, now: int) -> list[Event]:
        """Any frame that is no packet."""
        try:
            record = frames.parse(frame)
        except FrameError as error:
            return [Notice(f"frame ignored: {error.what}")]
        if self._handshake is not None:
            return self._after_handshake(self._handshake.take_frame(record, now))
        if self._module is None:
            return []
        if isinstance(record, frames.TransmitStatus | frames.ExtendedStatus):
            return self._settle(record.frame_id, record.status)
        if isinstance(record, frames.ModemStatus):
            text = words.modem_text(record.status)
            if record.status not in words.RESETS:
                return [Notice(f"module: {text}")]
            lost = self._lose_outstanding("reset")
            return [*lost, NotReady(f"the module restarted: {text}"), *self._shake_hands(now)]
        if isinstance(record, frames.NodeIdentification):
            return [Notice(words.describe(frame))]
        return []

    def _settle(self, frame_id: int, status: int) -> list[Event]:
        """The module says how a frame ended."""
        entry = self._outstanding.pop(frame_id, None)
        if entry is None:
            self.unknown_statuses += 1
            return [Notice("a transmit status answers no frame that is outstanding; ignored")]
        token, _, size = entry
        self._bytes_ahead -= size
        if status == 0:
            return [Delivered(token)]
        return [Refused(token, words.delivery_reason(status))]

    # --- to the module ------------------------------------------------------------------------

    def send(self, packet: Packet, now: int) -> Transmission | CannotSend | None:
        module = self._module
        if module is None:
            return NOT_YET
        taken = self._route.outward(packet)
        if isinstance(taken, CannotSend):
            return taken
        destination, payload = taken
        if len(payload) > module.payload:
            text = f"{len(payload)} bytes for the radio, the module takes {module.payload}"
            return CannotSend("too_long", text)
        outstanding = self._outstanding
        if len(outstanding) >= self._settings.window:
            return NOT_YET
        if outstanding and self._bytes_ahead + len(payload) + FRAME_OVERHEAD > UART_ROOM:
            return NOT_YET
        frame_id = self._frame_id % 255 + 1
        while frame_id in outstanding:
            frame_id = frame_id % 255 + 1
        self._frame_id = frame_id
        wire = encode(frames.Transmit(frame_id, destination, payload).pack(), self._escaped)
        self._token += 1
        outstanding[frame_id] = (self._token, now + self._timeout_ns, len(wire))
        self._bytes_ahead += len(wire)
        return Transmission(wire, self._token)

    # --- time ---------------------------------------------------------------------------------

    def next_deadline(self) -> int | None:
        due = self._gap_deadline
        if self._outstanding:
            oldest = next(iter(self._outstanding.values()))[1]
            due = oldest if due is None else min(due, oldest)
        if self._handshake is not None and self._handshake.deadline is not None:
            due = self._handshake.deadline if due is None else min(due, self._handshake.deadline)
        return due

    def expire(self, now: int) -> list[Event]:
        events: list[Event] = []
        if self._gap_deadline is not None and now >= self._gap_deadline:
            self._gap_deadline = None
            self._take(self._decoder.flush(), events, now)
        while self._outstanding:
            frame_id, (token, deadline, size) = next(iter(self._outstanding.items()))
            if now < deadline:
                break
            del self._outstanding[frame_id]
            self._bytes_ahead -= size
            events.append(Refused(token, "no_status"))
        if self._handshake is not None:
            events += self._after_handshake(self._handshake.expire(now))
        return events

    # --- words --------------------------------------------------------------------------------

    def describe(self, frame: bytes) -> str:
        """Wire bytes (one or more frames, from 7E on) or frame data, in words; never raises."""
        if frame[:1] != b"\x7e":
            return words.describe(frame)
        decoder = Decoder(self._escaped)
        found = decoder.feed(frame)
        found += decoder.flush()
        if not found:
            return f"no whole XBee frame: {len(frame)} B"
        return "; ".join(words.describe(data) for data in found)
