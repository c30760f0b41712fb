"""One XBee module: its registers, its serial side, its radio, and how they meet."""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from firmware_mocks.air import Air
from firmware_mocks.base import MS, Mock
from firmware_mocks.xbee import parameters as human
from firmware_mocks.xbee import status
from firmware_mocks.xbee.addressing import Mac
from firmware_mocks.xbee.api import Api
from firmware_mocks.xbee.commands import Commands
from firmware_mocks.xbee.frames import FrameReader, encode
from firmware_mocks.xbee.hardware import RATES, Hardware
from firmware_mocks.xbee.radio import DATA, Done, Outcome, Packet, Transceiver
from firmware_mocks.xbee.registers import Registers

REPLY_NS = 4 * MS  # a client that asks first and waits second needs 3
RESTART_NS = 100 * MS
SILENCE_NS = 500 * MS  # a frame that stops for so long is given up
LONGEST_FRAME = 512


class Module(Mock):
    """A module with a serial line. Powered up by the first call that names a time."""

    def __init__(
        self,
        name: str,
        air: Air,
        hardware: Hardware,
        values: Mapping[str, Any],
        position: tuple[float, float, float],
    ) -> None:
        super().__init__(name, air.seed)
        self.air = air
        self.hardware = hardware
        serial = 0x40000000 | zlib.crc32(name.encode()) & 0x0FFFFFFF
        self.registers = Registers(hardware.registers, {"SL": serial})
        self.registers.install("NI", name.encode("ascii", "replace")[:20])
        self.rssi_at_1m_dbm = -40.0
        self.noise_dbm = -110.0
        self.replies: dict[bytes, bytes] = {}
        self.overruns = 0
        self.overflows = 0
        self._input = bytearray()
        self._sequence = 0
        self._on = False
        self.addressing = Mac(self)
        self.radio = Transceiver(self, position)
        self.api = Api(self)
        self.commands = Commands(self)
        for key, value in values.items():
            human.assign(self, key, value)
        self._reader = FrameReader(False, LONGEST_FRAME)
        self._use_line(0)
        air.join(self.radio)

    # --- what others ask of it ------------------------------------------------------------------

    @property
    def address(self) -> int:
        return self.registers.number("SH") << 32 | self.registers.number("SL")

    @property
    def band(self) -> Hashable:
        return (self.hardware.band, self.registers.number("CH"))

    @property
    def air_bps(self) -> int:
        return 250_000

    @property
    def power_dbm(self) -> int:
        return self.hardware.powers_dbm[self.registers.number("PL")]

    @property
    def power_at_1m_dbm(self) -> float:
        """rssi_at_1m_dbm is measured at full power."""
        return self.rssi_at_1m_dbm + self.power_dbm - self.hardware.powers_dbm[-1]

    def next_sequence(self) -> int:
        self._sequence = (self._sequence + 1) & 0xFF
        return self._sequence

    def channel_is_noisy(self) -> bool:
        threshold = self.registers.number("CA")
        return threshold > 0 and self.noise_dbm > -threshold

    def count(self, name: str) -> None:
        """Add one to a counter that stops at FFFF."""
        if name in self.registers.table:
            self.registers.put(name, min(self.registers.number(name) + 1, 0xFFFF))

    def attempts(self, packet: Packet) -> int:
        return self.addressing.attempts(packet)

    def failure(self, packet: Packet) -> int:
        return self.addressing.failure(packet)

    def accepts(self, packet: Packet) -> bool:
        return packet.family == self.addressing.family and self.addressing.accepts(packet)

    # --- registers ------------------------------------------------------------------------------

    def reading(self, name: str) -> int | bytes:
        """The value a read gives."""
        if name == "NP":
            return self.addressing.longest()
        if name == "PP":
            return self.power_dbm & 0xFF
        if name == "N?":
            return self.registers.number("NT") * 100
        return self.registers.held(name)

    def apply(self, now: int) -> None:
        """Use the values set so far."""
        changed = self.registers.apply()
        if changed & {"BD", "NB", "SB", "AP"}:
            self.uart.change(self._use_line, now)

    def _use_line(self, now: int) -> None:
        code = self.registers.number("BD")
        self.uart.baud_rate = RATES[code] if code < len(RATES) else code
        parity = 1 if self.registers.number("NB") else 0
        self.uart.bits_per_byte = 10 + parity + self.registers.number("SB")
        if (self.registers.number("AP") == 2) != self._reader.escaped:
            self._reader = FrameReader(not self._reader.escaped, LONGEST_FRAME)

    def set(self, name: str, value: str) -> None:
        human.assign(self, name, value)

    # --- power ----------------------------------------------------------------------------------

    def restart_soon(self, now: int) -> None:
        self.timers.start("restart", now + REPLY_NS + RESTART_NS, self.reset)

    def reset(self, now: int) -> None:
        self._on = True
        self.timers.clear()
        self.uart.clear()
        self._input.clear()
        self.registers.restart()
        self.radio.restart()
        self._reader.abort()
        self._use_line(now)
        if self.registers.number("AP"):
            self.api.modem_status(status.POWER_UP, now)

    # --- serial side ----------------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> None:
        self.advance(now)
        for byte in self.uart.distort(data):
            if len(self._input) < self.hardware.uart_buffer:
                self._input.append(byte)
            else:
                self.overruns += 1
            self._work(now)
        if self._reader.inside:
            self.timers.start("silence", now + SILENCE_NS, lambda when: self._reader.abort())

    def advance(self, now: int) -> None:
        if not self._on:
            self.reset(now)
        super().advance(now)
        self._work(now)

    def _work(self, now: int) -> None:
        while self._input and not self.radio.busy:
            frame = self._reader.push(self._input.pop(0))
            if frame is not None:
                self.api.handle(frame, now)

    def answer(self, frame: bytes, now: int, asked: int | None = None) -> None:
        """Send a frame to the client, not sooner than the firmware can."""
        at = max(now, (now if asked is None else asked) + REPLY_NS)
        self.uart.write(encode(frame, self._reader.escaped), at)

    def report(self, frame: bytes, now: int) -> None:
        """Send what came from the air, if the transmit buffer has room for all of it."""
        wire = encode(frame, self._reader.escaped)
        if self.uart.held(now) + len(wire) > self.hardware.uart_buffer:
            self.overflows += 1
            return
        self.uart.write(wire, now)

    # --- radio side -----------------------------------------------------------------------------

    def send(self, packet: Packet, done: Done, now: int) -> None:
        """Transmit, or refuse at once."""
        refusal = self.addressing.refusal(packet)
        if refusal:
            done(Outcome(refusal), now)
            return

        def finished(outcome: Outcome, when: int) -> None:
            done(outcome, when)
            self._work(when)

        self.radio.send(packet, finished, now)

    def heard(self, packet: Packet, rssi_dbm: float, now: int) -> None:
        """A packet for this module, for the first time."""
        if not self._on:
            self.reset(now)
        low, high = self.hardware.rssi_dbm
        rssi = round(min(max(rssi_dbm, low), high))
        self.registers.put("DB", -rssi)
        key = self.registers.text("KY") if self.registers.number("EE") else b""
        if packet.key != key or packet.kind != DATA:
            return
        self._reply(packet, now)
        if self.registers.number("AP"):
            self.api.received(packet, rssi, now)

    def _reply(self, packet: Packet, now: int) -> None:
        for asked, answer in self.replies.items():
            if packet.data.startswith(asked):
                data = answer + packet.data[len(asked) :]
                back = self.addressing.packet(b"", packet.source64, packet.source16)
                if packet.source16 != 0xFFFE:
                    back = self.addressing.packet(b"", None, packet.source16)
                self.send(replace(back, data=data), lambda outcome, when: None, now)
                return

    def describe(self) -> str:
        number = self.registers.number
        return (
            f"{self.hardware.title}, {self.address:016X}, channel {number('CH'):02X}, "
            f"PAN {number('ID'):04X}, API mode {number('AP')}, {self.baud_rate} baud"
        )
