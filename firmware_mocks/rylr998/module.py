"""A module: its commands, its sleep, and the packets of its radio."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from firmware_mocks import parameters as values
from firmware_mocks.air import Air
from firmware_mocks.base import MS, Mock
from firmware_mocks.rylr998.commands import LONGEST, NO_COMMAND, Reader, parse_send
from firmware_mocks.rylr998.radio import Packet, Transceiver
from firmware_mocks.rylr998.settings import (
    FACTORY,
    OTHER_ERROR,
    PARAMETERS,
    Refusal,
    check,
)

REPLY_NS = 3 * MS
BOOT_NS = 60 * MS
QUIET_NS = 250 * MS  # a command that pauses for this long is given up
TX_BUFFER = 1024  # bytes for the client; a packet that does not fit is lost
UNKNOWN_COMMAND, BUSY = 4, 17
RECEPTION_ERRORS = 12, 19, 11  # CRC, header, over time


class Module(Mock):
    """A module, which powers up with the first call that has a time.

    overruns: bytes of commands lost. overflows: packets for the client lost. received: packets.
    damaged: those that it reported as damaged.

    parameters: those that are not the factory settings. ValueError names one with a wrong value.
    """

    def __init__(
        self,
        name: str,
        air: Air,
        parameters: Mapping[str, Any],
        position: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ) -> None:
        super().__init__(name, air.seed)
        self.replies: dict[bytes, bytes] = {}
        self.version = "RYLR998_REYAX_V1.2.2"
        self.uid = hashlib.sha256(name.encode()).hexdigest()[:24].upper()
        self.overflows = self.received = self.damaged = 0
        self._damaged_ms = 0.0
        self.settings = dict(FACTORY)
        self._reader = Reader()
        self._power = "new"
        self._awake = True
        self.radio = Transceiver(name, air, self.settings, position, self._packet_received)
        self._use_line(0)
        for key in sorted(parameters, key=lambda key: key.upper() != "NETWORKID"):
            self.set(key, parameters[key])
        self._stored_band = self.settings["BAND"]
        air.join(self.radio)

    # --- parameters ------------------------------------------------------------------------------

    def set(self, name: str, value: Any) -> None:
        if name == "position":
            self.radio.position = values.position(name, value)
        elif name == "replies":
            self.replies = values.replies(name, value)
        elif name == "damaged_ms":
            self._damaged_ms = values.number(name, value, 0, 60_000)
        elif name == "rssi_at_1m_dbm":
            self.radio.rssi_at_1m_dbm = values.number(name, value, -150, 50)
        elif name.upper() == "UID":
            if re.fullmatch("[0-9A-Fa-f]{24}", str(value)) is None:
                raise ValueError(f"{name}: {value!r} is not 24 hex digits")
            self.uid = str(value).upper()
        elif name.upper() == "VER":
            self.version = str(value)
        elif name.upper() in self.settings:
            key, text = name.upper(), str(value).strip("[] ").replace(" ", "")
            try:
                self.settings[key] = check(key, text, self.settings["NETWORKID"])
            except Refusal:
                raise ValueError(f"{name}: {value!r} is not valid; {PARAMETERS[key]}") from None
        else:
            raise values.unknown(name, PARAMETERS)
        self._use_line(0)
        self.radio.retune()

    def _use_line(self, now: int) -> None:
        self.uart.baud_rate = int(self.settings["IPR"])

    def describe(self) -> str:
        get = self.settings.__getitem__
        words = [
            f"RYLR998, address {get('ADDRESS')}, network {get('NETWORKID')}",
            f"{int(get('BAND').removesuffix(',M')) / 1e6:g} MHz, parameter {get('PARAMETER')}",
            f"{self.baud_rate} baud",
            "at {:g}, {:g}, {:g} m".format(*self.radio.position),
        ]
        if self.replies:
            words.append(values.replies_text(self.replies))
        return ", ".join(words)

    # --- power and time --------------------------------------------------------------------------

    def advance(self, now: int) -> None:
        if self._power == "new":
            self._boot(now, b"")
        if self._damaged_ms and self._power == "on" and "damaged" not in self.timers:
            self._await_damaged(now)
        super().advance(now)

    def reset(self, now: int) -> None:
        self._restart(now, b"")

    def _restart(self, now: int, line: bytes) -> None:
        # Settings in RAM are lost.
        self.settings |= {"MODE": "0", "CPIN": "", "BAND": self._stored_band}
        self.radio.retune()
        self._boot(now, line)

    def switch_off(self) -> None:
        self._forget()
        self._power = "off"
        self.radio.listening = False

    def _boot(self, now: int, line: bytes) -> None:
        self._forget()
        self._power = "starting"
        self.radio.listening = self._awake
        if line:
            self.uart.write(line, now + REPLY_NS)
        self.timers.start("boot", now + BOOT_NS, self._booted)

    def _booted(self, now: int) -> None:
        self._power = "on"
        self._use_line(now)
        self.uart.write(b"+READY\r\n", now)
        self._use_mode(now)

    def _forget(self) -> None:
        self._cancel()
        self._reader.clear()
        self.radio.restart()

    # --- commands --------------------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> None:
        self.advance(now)
        if self._power != "on":
            return
        for byte in self.uart.distort(data):
            taken = self._reader.push(byte)
            if isinstance(taken, int):
                self._send_line(f"+ERR={taken}", now)
            elif taken is not None:
                self._run_command(taken, now)
        if self._reader.busy:
            quiet = QUIET_NS + 4 * self.uart.byte_ns
            self.timers.start("quiet", now + quiet, self._give_up)
        else:
            self.timers.stop("quiet")

    @property
    def overruns(self) -> int:
        return self._reader.overruns

    def _give_up(self, now: int) -> None:
        self._send_line(f"+ERR={self._reader.give_up()}", now)

    def _send_line(self, line: str, now: int) -> None:
        self.uart.write(line.encode("latin-1") + b"\r\n", now + REPLY_NS)

    def _run_command(self, command: bytes, now: int) -> None:
        try:
            answer = self._answer(command, now)
        except Refusal as refusal:
            answer = f"+ERR={refusal.code}"
        if answer and self._power == "on":
            self._send_line(answer, now)

    def _answer(self, command: bytes, now: int) -> str:
        # The line that answers at once; empty: the answer comes later.
        text = command.decode("latin-1")
        if not text.startswith("AT"):
            raise Refusal(NO_COMMAND)
        if text == "AT":
            return "+OK"
        if text.startswith("AT+SEND="):
            return self._send(command, now)
        if text == "AT+RESET":
            self._restart(now, b"+RESET\r\n")
            return ""
        if text == "AT+FACTORY":
            self.settings |= FACTORY
            self._stored_band = FACTORY["BAND"]
            self.radio.retune()
            self.uart.change(self._use_line, now + REPLY_NS)
            return "+FACTORY"
        question = re.fullmatch(r"AT\+([A-Z]+)\?", text)
        if question is not None:
            return self._read(question[1])
        change = re.fullmatch(r"AT\+([A-Z]+)=(.*)", text, re.DOTALL)
        if change is None or change[1] not in self.settings:
            raise Refusal(UNKNOWN_COMMAND)
        return self._change(change[1], change[2], now)

    def _read(self, name: str) -> str:
        if name == "VER":
            return f"+VER={self.version}"
        if name == "UID":
            return f"+UID={self.uid}"
        if name not in self.settings:
            raise Refusal(UNKNOWN_COMMAND)
        return f"+{name}={self.settings[name] or 'No Password!'}"

    def _change(self, name: str, value: str, now: int) -> str:
        held = check(name, value, self.settings["NETWORKID"])
        if name == "BAND" and held.endswith(",M"):
            held = self._stored_band = held.removesuffix(",M")
        self.settings[name] = held
        self.radio.retune()
        if name == "IPR":
            self.uart.write(f"+IPR={held}\r\n".encode(), now + REPLY_NS)
            self.uart.change(self._use_line, now + REPLY_NS)
            return ""
        if name == "MODE":
            self._use_mode(now)
        return "+OK"

    def _use_mode(self, now: int) -> None:
        self._set_awake(self.settings["MODE"] != "1")
        self.timers.stop("turn")
        if self.settings["MODE"].startswith("2"):
            self._set_awake(False)
            self._turn(now)

    def _turn(self, now: int) -> None:
        self._set_awake(not self._awake)
        _, awake_ms, asleep_ms = self.settings["MODE"].split(",")
        stays_ms = int(awake_ms if self._awake else asleep_ms)
        self.timers.start("turn", now + stays_ms * MS, self._turn)

    def _set_awake(self, awake: bool) -> None:
        self._awake = self.radio.listening = awake

    # --- radio -----------------------------------------------------------------------------------

    def _send(self, command: bytes, now: int) -> str:
        if self.radio.sending:
            raise Refusal(BUSY)
        if self.settings["MODE"] == "1":
            raise Refusal(OTHER_ERROR)
        request = parse_send(command)
        if isinstance(request, int):
            raise Refusal(request)
        self.radio.send(*request, lambda when: self._send_line("+OK", when), now)
        return ""

    def _packet_received(self, packet: Packet, rssi_dbm: float, now: int) -> None:
        if self._power != "on":
            return
        self.received += 1
        self._report(packet, rssi_dbm, now)
        answer = values.reply_to(self.replies, packet.data)
        if answer is not None:
            self.timers.start(
                f"reply {now} {packet!r}", now + 5 * MS, lambda at: self._reply(packet, answer, at)
            )

    def _await_damaged(self, now: int) -> None:
        self.timers.start("damaged", now + round(self._damaged_ms * MS), self._damaged_received)

    def _damaged_received(self, now: int) -> None:
        # Report the next one, whatever command is being carried out.
        if self._damaged_ms and self.radio.listening:
            self._send_line(f"+ERR={RECEPTION_ERRORS[self.damaged % 3]}", now)
            self.damaged += 1
            self._await_damaged(now)

    def _report(self, packet: Packet, rssi_dbm: float, now: int) -> None:
        snr = round(max(-20.0, min(12.0, rssi_dbm - self.radio.noise_dbm)))
        head = b"+RCV=%d,%d," % (packet.sender, len(packet.data))
        line = head + packet.data + b",%d,%d\r\n" % (round(rssi_dbm), snr)
        if self.settings["MODE"].startswith("2"):
            self.settings["MODE"] = "0"
            self._use_mode(now)
            line = b"+MODE=0\r\n" + line
        if self.uart.held(now) + len(line) > TX_BUFFER:
            self.overflows += 1
        else:
            self.uart.write(line, now)

    def _reply(self, packet: Packet, answer: bytes, now: int) -> None:
        if not self.radio.sending:
            self.radio.send(packet.sender, answer[:LONGEST], None, now)
