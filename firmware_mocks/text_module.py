"""A radio module with a protocol of text lines, which its parameters define."""

import re
import zlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from firmware_mocks import parameters as values
from firmware_mocks.air import Air, Radio, Signal
from firmware_mocks.base import MS, Adjustable, SelfStarting, creator
from firmware_mocks.parameters import Parameters, parameter

SUMMARY = "a radio module with a text protocol that its parameters define"
FIELDS = ("data", "hex", "length", "source", "rssi")  # in the line of a received packet
BUFFER = 2048  # bytes of one command; more are lost
TX_BUFFER = 4096  # bytes for the client; a packet that does not fit is lost
REPLY_NS = 3 * MS
QUIET_NS = 400 * MS  # a command that pauses for this long is given up
SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet on the air."""

    sender: str
    destination: str
    data: bytes


def _pattern(name: str, value: Any) -> re.Pattern[bytes] | None:
    return _compiled(name, value) if value else None


def _compiled(name: str, text: Any) -> re.Pattern[bytes]:
    try:
        return re.compile(str(text).encode(), re.DOTALL)
    except (re.error, OverflowError) as error:
        raise ValueError(f"{name}: {text!r} is not a regular expression: {error}") from None


def _answers(name: str, value: Any) -> list[tuple[re.Pattern[bytes], str]]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{name}: not a mapping, e.g. {{AT: OK}}")
    return [(_compiled(name, key), str(answer)) for key, answer in value.items()]


@dataclass(frozen=True)
class Settings(Parameters):
    """The parameters of a module; times in nanoseconds."""

    baud_rate: int = parameter(
        "UART rate, bit/s", 115_200, values.whole, 50, 4_000_000, name="baudRate"
    )
    bits_per_byte: int = parameter(
        "bits per byte on the UART, 10 is 8N1", 10, values.whole, 9, 12, name="byteSize"
    )
    line_end: bytes = parameter("end of a line in both directions", "\\r\\n", values.line_end)
    boot_ns: int = parameter(
        "duration of a start; bytes that come meanwhile are lost",
        20,
        values.milliseconds,
        0,
        60_000,
        name="boot_ms",
    )
    banner: str = parameter("line that it sends after a start (default: none)", "", values.string)
    answers: list[tuple[re.Pattern[bytes], str]] = parameter(
        "command (regular expression) -> reply line (default: none)", {}, _answers
    )
    unknown: str = parameter("reply line to any other command", "ERROR", values.string)
    transmit: re.Pattern[bytes] | None = parameter(
        "command that sends a packet: a regular expression with (?P<data>...) or (?P<hex>...), or "
        "with (?P<length>...) when this many bytes follow it; (?P<destination>...) (default: none)",
        "",
        _pattern,
    )
    accepted: str = parameter("reply line to it at once (default: none)", "", values.string)
    sent: str = parameter(
        "line that it sends when the packet has been sent (default: none)", "", values.string
    )
    refused: str = parameter("reply line to it while a packet is on the air", "busy", values.string)
    received: str = parameter(
        "line of a received packet, with {data} {hex} {length} {source} {rssi}",
        "{data}",
        values.template,
        FIELDS,
        name="receive",
    )
    listen: re.Pattern[bytes] | None = parameter(
        "command (regular expression) to receive one packet (default: none, it receives all)",
        "",
        _pattern,
    )
    deaf: re.Pattern[bytes] | None = parameter(
        "command (regular expression) to stop receiving (default: none)", "", _pattern
    )
    address: str = parameter("address (default: a number from its name)", "", values.string)
    to_all: str = parameter("broadcast address", "0", values.string)
    band: str = parameter("modules with the same band receive each other", "text", values.string)
    bits_per_s: float = parameter("air rate, bit/s", 50_000, values.number, 10, 1e9)
    replies: dict[bytes, bytes] = parameter(
        "KEY:VALUE, e.g. ping:pong: it returns a packet that begins with KEY, with VALUE in place "
        "of KEY (default: none)",
        {},
        values.replies,
    )
    reply_ns: int = parameter(
        "time from the end of a packet to that answer",
        40,
        values.milliseconds,
        0,
        60_000,
        name="reply_ms",
    )
    rssi_at_1m_dbm: float = parameter("RSSI of its signal 1 m away", -40, values.number, -150, 50)
    sensitivity_dbm: float = parameter(
        "RSSI of the weakest signal that it receives", -120, values.number, -200, 50
    )
    position: tuple[float, float, float] = values.in_air()


class TextModule(SelfStarting, Adjustable[Settings]):
    """A radio module with commands in lines; `Air` sees it as a Radio.

    overruns: bytes of commands lost. overflows: packets for the client lost.
    """

    def __init__(self, name: str, air: Air, settings: Settings) -> None:
        super().__init__(name, air, settings, air.seed)
        self.overruns = self.overflows = 0
        self._use_line()
        self._forget()
        air.join(self)

    # --- parameters ------------------------------------------------------------------------------

    def _adopt(self, name: str) -> None:
        self._use_line()

    def _use_line(self) -> None:
        self.uart.baud_rate = self.settings.baud_rate
        self.uart.bits_per_byte = self.settings.bits_per_byte

    @property
    def address(self) -> str:
        return self.settings.address or str(zlib.crc32(self.name.encode()) % 65_000 + 1)

    @property
    def position(self) -> tuple[float, float, float]:
        return self.settings.position

    @property
    def sensitivity_dbm(self) -> float:
        return self.settings.sensitivity_dbm

    def describe(self) -> str:
        position = "at {:g}, {:g}, {:g} m".format(*self.position)
        words = [f"text module, address {self.address}", f"{self.baud_rate} baud", position]
        if self.settings.replies:
            words.append(values.replies_text(self.settings.replies))
        return ", ".join(words)

    # --- power and time --------------------------------------------------------------------------

    def reset(self, now: int) -> None:
        self._forget()
        self._power = "starting"
        self.timers.start("boot", now + self.settings.boot_ns, self._booted)

    def _booted(self, now: int) -> None:
        self._power = "on"
        self._send_line(self.settings.banner, now)

    def _forget(self) -> None:
        self._cancel()
        self._held = bytearray()
        self._armed = self._sending = False
        self._life = getattr(self, "_life", 0) + 1

    # --- commands --------------------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> None:
        self.advance(now)
        if self._power != "on":
            return
        for byte in self.uart.distort(data):
            if len(self._held) >= BUFFER:
                self.overruns += 1
            else:
                self._held.append(byte)
            if self._held.endswith(self.settings.line_end) and self._is_whole():
                command = bytes(self._held[: -len(self.settings.line_end)])
                self._held.clear()
                self._run_command(command, now)
        self.timers.start("quiet", now + QUIET_NS, lambda _: self._held.clear())

    def _is_whole(self) -> bool:
        # Data with a length may hold the end of a line.
        if self.settings.transmit is None or "length" not in self.settings.transmit.groupindex:
            return True
        head = self.settings.transmit.match(self._held)
        return head is None or len(self._held) >= head.end() + int(head["length"]) + len(
            self.settings.line_end
        )

    def _send_line(self, text: str, now: int) -> None:
        if text:
            self.uart.write(text.encode() + self.settings.line_end, now + REPLY_NS)

    def _run_command(self, command: bytes, now: int) -> None:
        if self.settings.listen is not None and self.settings.listen.fullmatch(command):
            self._armed = True
        if self.settings.deaf is not None and self.settings.deaf.fullmatch(command):
            self._armed = False
        if self.settings.transmit is not None and (match := self.settings.transmit.match(command)):
            self._send(match, command, now)
            return
        for pattern, answer in self.settings.answers:
            if pattern.fullmatch(command):
                self._send_line(answer, now)
                return
        if command:
            self._send_line(self.settings.unknown, now)

    # --- radio -----------------------------------------------------------------------------------

    @property
    def band(self) -> Hashable:
        ignores = self.settings.listen is not None and not self._armed
        return (
            None
            if self._power == "off" or self._sending or ignores
            else ("text", self.settings.band)
        )

    def _send(self, match: re.Match[bytes], command: bytes, now: int) -> None:
        if self._sending:
            self._send_line(self.settings.refused, now)
            return
        groups = match.groupdict()
        data = groups.get("data")
        if groups.get("length") is not None:
            data = command[match.end() :]
            if len(data) != int(groups["length"]):
                self._send_line(self.settings.unknown, now)
                return
        elif groups.get("hex") is not None:
            try:
                data = bytes.fromhex(groups["hex"].decode("ascii"))
            except ValueError:
                self._send_line(self.settings.unknown, now)
                return
        self._armed = False
        self._send_line(self.settings.accepted, now)
        to = (groups.get("destination") or self.settings.to_all.encode()).decode("latin-1")
        self._transmit_packet(Packet(self.address, to, data or b""), self.settings.sent, now)

    def _transmit_packet(self, packet: Packet, then: str, now: int) -> None:
        self._sending = True
        life = self._life

        def sent(_: list[Radio], when: int) -> None:
            if life == self._life:
                self._sending = False
                self._send_line(then, when)

        duration_ns = round((len(packet.data) + 16) * 8 * SECOND_NS / self.settings.bits_per_s)
        signal = Signal(
            self, ("text", self.settings.band), packet, self.settings.rssi_at_1m_dbm, duration_ns
        )
        self.air.transmit(signal, sent, now)

    def signal_received(self, signal: Signal, rssi_dbm: float, now: int) -> bool:
        packet = signal.frame
        assert isinstance(packet, Packet)
        if self._power != "on" or packet.destination not in (self.settings.to_all, self.address):
            return False
        self._armed = False
        line = self._filled(packet, round(rssi_dbm))
        if self.uart.held(now) + len(line) > TX_BUFFER:
            self.overflows += 1
        else:
            self.uart.write(line, now)
        answer = values.reply_to(self.settings.replies, packet.data)
        if answer is not None:
            back = Packet(self.address, packet.sender, answer)
            self.timers.start(
                f"reply {now} {packet!r}",
                now + self.settings.reply_ns,
                lambda at: self._transmit_packet(back, "", at),
            )
        return False

    def _filled(self, packet: Packet, rssi_dbm: int) -> bytes:
        # The line of a received packet. Values that look like a {field} stay as they are.
        fills = {
            "data": packet.data,
            "hex": packet.data.hex().upper().encode(),
            "length": b"%d" % len(packet.data),
            "source": packet.sender.encode("latin-1", "replace"),
            "rssi": b"%d" % rssi_dbm,
        }
        parts = re.split(rf"\{{({'|'.join(FIELDS)})\}}", self.settings.received)
        pieces = (fills[p] if i % 2 else p.encode() for i, p in enumerate(parts))
        return b"".join(pieces) + self.settings.line_end


PARAMETERS = Settings.texts()

create = creator(TextModule, Settings)
