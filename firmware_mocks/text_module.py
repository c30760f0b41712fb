"""A radio module with a protocol of text lines, which its parameters define."""

from __future__ import annotations

import re
import zlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from firmware_mocks import _parameters as values
from firmware_mocks.air import Air, Radio, Signal
from firmware_mocks.base import MS, Mock

SUMMARY = "a radio module with a text protocol that its parameters define"
PARAMETERS: dict[str, str] = {
    "baudRate": "UART rate, bit/s (default 115200)",
    "byteSize": "bits per byte on the UART, 10 is 8N1 (default 10)",
    "line_end": "end of a line in both directions (default \\r\\n)",
    "boot_ms": "duration of a start; bytes that come meanwhile are lost (default 20)",
    "banner": "line that it sends after a start (default: none)",
    "answers": "command (regular expression) -> reply line (default: none)",
    "unknown": "reply line to any other command (default ERROR)",
    "transmit": "command that sends a packet: a regular expression with (?P<data>...) or "
    "(?P<hex>...), or with (?P<length>...) when so many bytes follow it; (?P<destination>...) "
    "(default: none)",
    "accepted": "reply line to it at once (default: none)",
    "sent": "line that it sends when the packet has been sent (default: none)",
    "refused": "reply line to it while a packet is on the air (default busy)",
    "receive": "line of a received packet, with {data} {hex} {length} {source} {rssi} "
    "(default {data})",
    "listen": "command (regular expression) to receive one packet (default: none, it receives all)",
    "deaf": "command (regular expression) to stop receiving (default: none)",
    "address": "address (default: a number from its name)",
    "to_all": "broadcast address (default 0)",
    "band": "modules with the same band receive each other (default text)",
    "bits_per_s": "air rate, bit/s (default 50000)",
    "replies": "KEY:VALUE, e.g. ping:pong: it returns a packet that begins with KEY, with VALUE in "
    "place of KEY (default: none)",
    "reply_ms": "time from the end of a packet to that answer (default 40)",
    "rssi_at_1m_dbm": "RSSI of its signal 1 m away (default -40)",
    "sensitivity_dbm": "RSSI of the weakest signal that it receives (default -120)",
    "position": "x, y, z in metres (default 0, 0, 0; `hilgw mock`: in a row, 1 m apart)",
}
DEFAULTS: dict[str, Any] = {
    "baudRate": 115_200, "byteSize": 10, "line_end": "\\r\\n", "boot_ms": 20, "banner": "",
    "answers": {}, "unknown": "ERROR", "transmit": "", "accepted": "", "sent": "",
    "refused": "busy", "receive": "{data}", "listen": "", "deaf": "", "address": "",
    "to_all": "0", "band": "text", "bits_per_s": 50_000, "replies": {}, "reply_ms": 40,
    "rssi_at_1m_dbm": -40, "sensitivity_dbm": -120,
}  # fmt: skip
LINES = ("banner", "unknown", "accepted", "sent", "refused")
FIELDS = ("data", "hex", "length", "source", "rssi")  # in the line of a received packet
BUFFER = 2048  # bytes of one command; more are lost
TX_BUFFER = 4096  # bytes for the client; a packet that does not fit is lost
REPLY_NS = 3 * MS
QUIET_NS = 400 * MS  # a command that pauses for so long is given up
SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet on the air."""

    sender: str
    destination: str
    data: bytes


def create(
    name: str,
    air: Air,
    parameters: Mapping[str, Any],
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> TextModule:
    """A module in `air`. ValueError names the parameter with a wrong value."""
    return TextModule(name, air, parameters, position)


def _pattern(name: str, text: Any) -> re.Pattern[bytes]:
    try:
        return re.compile(str(text).encode(), re.DOTALL)
    except (re.error, OverflowError) as error:
        raise ValueError(f"{name}: {text!r} is not a regular expression: {error}") from None


class TextModule(Mock):
    """It powers up with the first call that has a time; `Air` sees it as a Radio.

    overruns: bytes of commands lost. overflows: packets for the client lost.
    """

    def __init__(
        self, name: str, air: Air, given: Mapping[str, Any], position: tuple[float, float, float]
    ) -> None:
        super().__init__(name, air.seed)
        self.air = air
        self.position = position
        self.overruns = self.overflows = 0
        self._given = dict(given)
        self._read_parameters()
        self._power = "new"
        self._forget()
        air.join(self)

    # --- parameters ------------------------------------------------------------------------------

    def set(self, name: str, value: Any) -> None:
        before = dict(self._given)
        self._given[name] = value
        try:
            self._read_parameters()
        except ValueError:
            self._given = before
            raise

    def _read_parameters(self) -> None:
        given = dict(self._given)
        if "position" in given:
            self.position = values.position("position", given.pop("position"))
        values.check_names(given, PARAMETERS)
        all_ = DEFAULTS | given
        self.uart.baud_rate = values.whole("baudRate", all_["baudRate"], 50, 4_000_000)
        self.uart.bits_per_byte = values.whole("byteSize", all_["byteSize"], 9, 12)
        self._end = values.line_end("line_end", all_["line_end"])
        self._boot_ns = values.milliseconds("boot_ms", all_["boot_ms"], 0, 60_000)
        if not isinstance(all_["answers"], Mapping):
            raise ValueError("answers: not a mapping, e.g. {AT: OK}")
        self._answers = [(_pattern("answers", k), str(v)) for k, v in all_["answers"].items()]
        self._transmit = _pattern("transmit", all_["transmit"]) if all_["transmit"] else None
        self._listen = _pattern("listen", all_["listen"]) if all_["listen"] else None
        self._unlisten = _pattern("deaf", all_["deaf"]) if all_["deaf"] else None
        self._lines = {name: str(all_[name]) for name in LINES}
        self._receive = values.template("receive", all_["receive"], FIELDS)
        self.address = str(all_["address"]) or str(zlib.crc32(self.name.encode()) % 65_000 + 1)
        self._to_all, self._band = str(all_["to_all"]), str(all_["band"])
        self._bits_per_s = values.number("bits_per_s", all_["bits_per_s"], 10, 1e9)
        self.replies = values.replies("replies", all_["replies"])
        self._reply_ns = values.milliseconds("reply_ms", all_["reply_ms"], 0, 60_000)
        self._loudness = values.number("rssi_at_1m_dbm", all_["rssi_at_1m_dbm"], -150, 50)
        self.sensitivity_dbm = values.number("sensitivity_dbm", all_["sensitivity_dbm"], -200, 50)

    def describe(self) -> str:
        position = "at {:g}, {:g}, {:g} m".format(*self.position)
        words = [f"text module, address {self.address}", f"{self.baud_rate} baud", position]
        if self.replies:
            words.append(values.replies_text(self.replies))
        return ", ".join(words)

    # --- power and time --------------------------------------------------------------------------

    def advance(self, now: int) -> None:
        if self._power == "new":
            self.reset(now)
        super().advance(now)

    def switch_off(self) -> None:
        self._forget()
        self._power = "off"

    def reset(self, now: int) -> None:
        self._forget()
        self._power = "starting"
        self.timers.start("boot", now + self._boot_ns, self._booted)

    def _booted(self, now: int) -> None:
        self._power = "on"
        if self._lines["banner"]:
            self._send_line("banner", now)

    def _forget(self) -> None:
        self.timers.clear()
        self.uart.clear()
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
            if self._held.endswith(self._end) and self._is_whole():
                command = bytes(self._held[: -len(self._end)])
                self._held.clear()
                self._run_command(command, now)
        self.timers.start("quiet", now + QUIET_NS, lambda _: self._held.clear())

    def _is_whole(self) -> bool:
        """Data with a length may hold the end of a line."""
        if self._transmit is None or "length" not in self._transmit.groupindex:
            return True
        head = self._transmit.match(self._held)
        return head is None or len(self._held) >= head.end() + int(head["length"]) + len(self._end)

    def _send_line(self, name: str, now: int) -> None:
        text = self._lines.get(name, name)
        if text:
            self.uart.write(text.encode() + self._end, now + REPLY_NS)

    def _run_command(self, command: bytes, now: int) -> None:
        if self._listen is not None and self._listen.fullmatch(command):
            self._armed = True
        if self._unlisten is not None and self._unlisten.fullmatch(command):
            self._armed = False
        if self._transmit is not None and (found := self._transmit.match(command)):
            self._send(found, command, now)
            return
        for pattern, answer in self._answers:
            if pattern.fullmatch(command):
                self._send_line(answer, now)
                return
        if command:
            self._send_line("unknown", now)

    # --- radio -----------------------------------------------------------------------------------

    @property
    def band(self) -> Hashable:
        ignores = self._listen is not None and not self._armed
        return None if self._power == "off" or self._sending or ignores else ("text", self._band)

    def _send(self, found: re.Match[bytes], command: bytes, now: int) -> None:
        if self._sending:
            self._send_line("refused", now)
            return
        groups = found.groupdict()
        data = groups.get("data")
        if groups.get("length") is not None:
            data = command[found.end() :]
            if len(data) != int(groups["length"]):
                self._send_line("unknown", now)
                return
        elif groups.get("hex") is not None:
            try:
                data = bytes.fromhex(groups["hex"].decode("ascii"))
            except ValueError:
                self._send_line("unknown", now)
                return
        self._armed = False
        self._send_line("accepted", now)
        to = (groups.get("destination") or self._to_all.encode()).decode("latin-1")
        self._transmit_packet(Packet(self.address, to, data or b""), "sent", now)

    def _transmit_packet(self, packet: Packet, then: str, now: int) -> None:
        self._sending = True
        life = self._life

        def sent(_: list[Radio], when: int) -> None:
            if life == self._life:
                self._sending = False
                if then:
                    self._send_line(then, when)

        duration_ns = round((len(packet.data) + 16) * 8 * SECOND_NS / self._bits_per_s)
        signal = Signal(self, ("text", self._band), packet, self._loudness, duration_ns)
        self.air.transmit(signal, sent, now)

    def signal_received(self, signal: Signal, rssi_dbm: float, now: int) -> bool:
        packet = signal.frame
        assert isinstance(packet, Packet)
        if self._power != "on" or packet.destination not in (self._to_all, self.address):
            return False
        self._armed = False
        line = self._filled(packet, round(rssi_dbm))
        if self.uart.held(now) + len(line) > TX_BUFFER:
            self.overflows += 1
        else:
            self.uart.write(line, now)
        answer = values.reply_to(self.replies, packet.data)
        if answer is not None:
            back = Packet(self.address, packet.sender, answer)
            self.timers.start(
                f"reply {now} {packet!r}",
                now + self._reply_ns,
                lambda at: self._transmit_packet(back, "", at),
            )
        return False

    def _filled(self, packet: Packet, rssi_dbm: int) -> bytes:
        """The line of a received packet. Values that look like a {field} stay as they are."""
        fills = {
            "data": packet.data,
            "hex": packet.data.hex().upper().encode(),
            "length": b"%d" % len(packet.data),
            "source": packet.sender.encode("latin-1", "replace"),
            "rssi": b"%d" % rssi_dbm,
        }
        parts = re.split(rf"\{{({'|'.join(FIELDS)})\}}", self._receive)
        pieces = (fills[p] if i % 2 else p.encode() for i, p in enumerate(parts))
        return b"".join(pieces) + self._end
