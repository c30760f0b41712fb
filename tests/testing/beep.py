"""An invented radio module, small and complete, to test the conformance rules.

Wire: A5, type, length, body, CRC-16 (CCITT, from 0) over type, length and body. From the host:
Q asks who it is and switches it on; T id channel data transmits. From the module: I serial; S id
status; R rssi channel data was received; B it has booted (and is off).
"""

from __future__ import annotations

import binascii
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from firmware_mocks.air import Air, Signal
from firmware_mocks.base import MS, Mock
from hilgw.adapters import base
from hilgw.errors import PeerError
from hilgw.medium.packet import Packet
from hilgw.settings import setting

SYNC = 0xA5
PAYLOAD, WINDOW = 200, 3
TYPES = b"QTISRB"
SILENCE_NS, ASK_NS, ANSWER_NS = 100 * MS, 300 * MS, 2_000 * MS
RATES = (9600, 38400, 115200)


def frame(kind: bytes, body: bytes = b"") -> bytes:
    inner = kind + bytes((len(body),)) + body
    return bytes((SYNC,)) + inner + struct.pack(">H", binascii.crc_hqx(inner, 0))


class Decoder:
    """Frames in a stream; a false start is dropped at its wrong CRC, or after a silence."""

    def __init__(self) -> None:
        self.rest = b""
        self.bad = 0

    def feed(self, data: bytes) -> list[tuple[bytes, bytes]]:
        self.rest += data
        return self.scan(over=False)

    def scan(self, over: bool) -> list[tuple[bytes, bytes]]:
        frames: list[tuple[bytes, bytes]] = []
        data, begin = self.rest, 0
        while (begin := data.find(SYNC, begin)) >= 0:
            end = begin + 5 + data[begin + 2] if len(data) > begin + 2 else len(data) + 1
            if end > len(data) and not over:
                break
            inner = data[begin + 1 : end - 2]
            if end <= len(data) and self.holds(inner, data[end - 2 : end]):
                frames.append((inner[:1], inner[2:]))
                begin = end
            else:
                self.bad += 1
                begin = self.after_false_start(begin, end)
        self.rest = data[begin:] if begin >= 0 else b""
        return frames

    def holds(self, inner: bytes, crc: bytes) -> bool:
        return struct.pack(">H", binascii.crc_hqx(inner, 0)) == crc and inner[:1] in TYPES

    def after_false_start(self, begin: int, end: int) -> int:
        return begin + 1


class BeepSession:
    """See `hilgw.adapters.base.Session`. Small methods, so that a defect is one of them."""

    Decoder = Decoder

    def __init__(self, settings: Any, common: base.StationSettings) -> None:
        self.settings = settings
        self.common = common
        self.channels: frozenset[int] | None = self.listens_to()
        self.decoder = self.Decoder()
        self.is_open = self.is_ready = False
        self.ask_at: int | None = None
        self.silent_at: int | None = None
        self.tries = 0
        self.frame_id = 0
        self.counted = 0
        self.outstanding: dict[int, int] = {}  # frame id -> its deadline

    def listens_to(self) -> frozenset[int] | None:
        return frozenset((self.common.channel, self.common.channel + 1))

    def open(self, now: int) -> list[base.Event]:
        self.is_open = True
        return self.ask(now)

    def ask(self, now: int) -> list[base.Event]:
        self.tries += 1
        self.ask_at = now + ASK_NS
        return [base.Write(frame(b"Q"))]

    def close(self) -> list[base.Event]:
        self.is_open = self.is_ready = False
        self.ask_at = self.silent_at = None
        self.tries = 0
        dropped = self.count_bad(1 if self.decoder.rest else 0)
        self.decoder.rest = b""
        return [*self.lose("down"), *dropped]

    def lose(self, reason: str) -> list[base.Event]:
        lost: list[base.Event] = [base.Refused(token, reason) for token in self.outstanding]
        self.outstanding.clear()
        return lost

    def receive(self, data: bytes, now: int) -> list[base.Event]:
        if not self.is_open:
            return []
        return self.take(self.decoder.feed(data), now)

    def take(self, frames: list[tuple[bytes, bytes]], now: int) -> list[base.Event]:
        events: list[base.Event] = []
        for kind, body in frames:
            events += self.handle(kind, body, now)
        self.silent_at = self.silence_after(now) if self.decoder.rest else None
        return events + self.count_bad()

    def silence_after(self, now: int) -> int | None:
        return now + SILENCE_NS

    def count_bad(self, more: int = 0) -> list[base.Event]:
        new = self.decoder.bad - self.counted + more
        self.counted = self.decoder.bad
        return [base.Dropped("bad_frame", "bytes that are no frame", new)] if new else []

    def handle(self, kind: bytes, body: bytes, now: int) -> list[base.Event]:
        if kind == b"I" and not self.is_ready:
            self.is_ready, self.ask_at = True, None
            return [base.Ready(f"beep {body.hex()}")]
        if kind == b"R" and self.is_ready:
            return self.packet_received(body)
        if kind == b"S" and len(body) == 2:
            return self.settle(body[0], body[1])
        if kind == b"B" and self.is_ready:
            return self.booted(now)
        return []

    def packet_received(self, body: bytes) -> list[base.Event]:
        if len(body) < 3 or body[1] not in (self.channels or range(256)):
            return [base.Dropped("no_packet", "nothing in it for us")]
        return [base.Received(body[2:], body[1], -body[0])]

    def settle(self, frame_id: int, status: int) -> list[base.Event]:
        if self.outstanding.pop(frame_id, None) is None:
            return []
        return [base.Refused(frame_id, "no_ack") if status else base.Delivered(frame_id)]

    def booted(self, now: int) -> list[base.Event]:
        self.is_ready = False
        return [*self.lose("reset"), base.NotReady("it restarted"), *self.ask(now)]

    def send(self, packet: Packet, now: int) -> base.Transmission | base.CannotSend | None:
        if refusal := self.refusal(packet):
            return refusal
        if not self.is_ready or len(self.outstanding) >= WINDOW:
            return self.busy()
        self.frame_id = self.frame_id % 255 + 1
        self.outstanding[self.frame_id] = now + ANSWER_NS
        head = bytes((self.frame_id, self.channel_byte(packet)))
        return base.Transmission(frame(b"T", head + self.payload(packet)), self.frame_id)

    def busy(self) -> base.CannotSend | None:
        return base.NOT_YET

    def channel_byte(self, packet: Packet) -> int:
        return self.common.channel if packet.channel == -1 else packet.channel

    def payload(self, packet: Packet) -> bytes:
        return packet.data

    def refusal(self, packet: Packet) -> base.CannotSend | None:
        if not 1 <= len(packet.data) <= PAYLOAD:
            return base.CannotSend("too_long" if packet.data else "empty", f"1 to {PAYLOAD} bytes")
        if packet.channel not in (-1, *(self.channels or ())):
            return base.CannotSend("channel", "not one of its two channels")
        return None

    def next_deadline(self) -> int | None:
        waits = [self.ask_at, self.silent_at, *self.outstanding.values()]
        return min((when for when in waits if when is not None), default=None)

    def expire(self, now: int) -> list[base.Event]:
        events: list[base.Event] = []
        if self.silent_at is not None and now >= self.silent_at:
            self.silent_at = None
            events += self.take(self.decoder.scan(over=True), now)
        for token in [token for token, when in self.outstanding.items() if when <= now]:
            del self.outstanding[token]
            events.append(base.Refused(token, "no_status"))
        if self.ask_at is not None and now >= self.ask_at:
            self.ask_at = None
            events += self.ask(now) if self.tries < 5 else [base.Failed(PeerError("no answer"))]
        return events

    def describe(self, data: bytes) -> str:
        words = [f"{kind.decode()} {body.hex(' ')}" for kind, body in Decoder().feed(data)]
        return "; ".join(words) or f"{len(data)} B, no frame"


@dataclass(frozen=True, slots=True, kw_only=True)
class BeepSettings:
    """What a beep needs."""

    power_dbm: int = setting("transmit power", 10, ge=0, le=20, unit="dBm")


MAPPING = (
    base.Mapped("channel", "exact", "a byte in each packet"),
    base.Mapped("range, maxRange", "cannot", "the power is what it is"),
    base.Mapped("baudRate", "exact", "of the UART"),
    base.Mapped("byteSize", "exact", "parity and stop bits of the UART"),
    base.Mapped("bufferSize", "exact", "the gateway's queue"),
)


class BeepAdapter:
    """See `hilgw.adapters.base.Adapter`."""

    kind: ClassVar[str] = "beep"
    type: ClassVar[str] = "radio"
    summary: ClassVar[str] = "an invented radio module"
    Settings: ClassVar[type[Any]] = BeepSettings
    limits: ClassVar[base.Limits] = base.Limits(PAYLOAD, WINDOW, "0 to 254", RATES, MAPPING)
    Session: ClassVar[type[BeepSession]] = BeepSession

    def check(self, settings: Any, common: base.StationSettings) -> list[tuple[str, str, str]]:
        return []

    def session(self, settings: Any, common: base.StationSettings) -> BeepSession:
        return self.Session(settings, common)

    def mock(self, settings: Any, common: base.StationSettings) -> base.MockSpec:
        line = base.line_of(common)[0]
        return base.MockSpec("beep", {"baudRate": common.baudRate, "bits": line.byteSize})


class BeepMock(Mock):
    """The module, by the same page and from other hands."""

    sensitivity_dbm = -90.0

    def __init__(self, name: str, air: Air, values: Mapping[str, Any], position: Any) -> None:
        super().__init__(name, air.seed)
        self.position = position
        self.air = air
        self.on = self.powered = False
        self.serial = sum(name.encode())
        self.uart.baud_rate = values.get("baudRate", 9600)
        self.uart.bits_per_byte = values.get("bits", 10)
        self.boot_ms = values.get("boot_ms", 1)
        self.input = bytearray()
        air.join(self)

    @property
    def band(self) -> str | None:
        return "beep" if self.on else None

    def advance(self, now: int) -> None:
        if not self.powered:
            self.reset(now)
        super().advance(now)

    def reset(self, now: int) -> None:
        self.powered, self.on = True, False
        self.input.clear()
        self.uart.clear()
        self.timers.clear()
        self.timers.start("boot", now + self.boot_ms * MS, lambda at: self.emit(b"B", b"", at))

    def switch_off(self) -> None:
        self.on = False
        self.uart.clear()
        self.timers.clear()

    def emit(self, kind: bytes, body: bytes, now: int) -> None:
        inner = kind + bytes([len(body)]) + body
        self.uart.write(b"\xa5" + inner + binascii.crc_hqx(inner, 0).to_bytes(2, "big"), now)

    def receive(self, data: bytes, now: int) -> None:
        self.advance(now)
        self.input += self.uart.distort(data)
        if "boot" in self.timers:
            self.input.clear()
        self.timers.start("silence", now + 50 * MS, lambda _: self.input.clear())
        while (begin := self.input.find(0xA5)) >= 0 and len(self.input) > begin + 2:
            end = begin + 5 + self.input[begin + 2]
            if end > len(self.input):
                return
            inner, crc = bytes(self.input[begin + 1 : end - 2]), bytes(self.input[end - 2 : end])
            good = binascii.crc_hqx(inner, 0).to_bytes(2, "big") == crc
            del self.input[: end if good else begin + 1]
            if good:
                self.obey(inner[:1], inner[2:], now)

    def obey(self, kind: bytes, body: bytes, now: int) -> None:
        if kind == b"Q":
            self.on = True
            self.emit(b"I", bytes((self.serial & 0xFF,)), now)
        elif kind == b"T" and self.on and len(body) > 2:
            signal = Signal(self, "beep", (body[1], body[2:]), -40.0, len(body) * 40_000)
            self.air.transmit(signal, lambda _, at: self.emit(b"S", body[:1] + b"\0", at), now)

    def signal_received(self, signal: Signal, rssi_dbm: float, now: int) -> bool:
        channel, data = signal.frame  # type: ignore[misc]
        self.emit(b"R", bytes((round(-rssi_dbm), channel)) + data, now)
        return True
