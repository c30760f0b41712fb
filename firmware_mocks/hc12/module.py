"""A module: its SET pin, its UART and its radio."""

from collections.abc import Hashable, Mapping
from typing import Any

from firmware_mocks import parameters as values
from firmware_mocks._framing.specs import framing_of
from firmware_mocks.air import Air, Radio, Signal
from firmware_mocks.base import MS, SelfStarting
from firmware_mocks.hc12.commands import LONGEST, SPELLINGS, Commands, Style, set_line
from firmware_mocks.hc12.settings import PARAMETERS, RATES, SENSITIVITY_DBM, Settings

REPLY_NS = 3 * MS
SET_LOW_NS, SET_HIGH_NS, RESET_NS = 40 * MS, 80 * MS, 200 * MS
COMMAND_GAP_NS = 12 * MS  # silence that ends a command; a host hands bytes over in lumps of 5 ms
CHUNK_GAP_NS = 8 * MS  # silence that ends a radio packet
CHUNK = 64  # bytes of a radio packet; FU4: 60
FU4_CHUNK, FU4_PAUSE_NS = 60, 2_000 * MS
BUFFER = 1024  # bytes waiting for the radio; more are lost
TX_BUFFER = 2048  # bytes waiting for the client; more are lost
OVERHEAD = 8  # bytes of a radio packet around its data
FACTORY_RATE = 9600


class Module(SelfStarting):
    """An HC-12; `Air` sees it as a Radio.

    overruns: bytes from the client lost. overflows: bytes for the client lost.

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
        self.air = air
        self.position = position
        self.overruns = self.overflows = 0
        self.settings = Settings()
        self.style = Style()
        self.replies: dict[bytes, bytes] = {}
        self.rssi_at_1m_dbm = -40.0
        self.sensitivity_dbm = 0.0
        self._choices = {"command_rate": "current", "set_by": "none", "set_low": "on"}
        self._framing = framing_of("cobs-crc16")
        self._pin_is_low = False
        self._set_is_low = False  # as the firmware has seen it
        self._mode = "stream"  # or command, changing, asleep, update
        self._fixed_rate = False  # 9600, as SET was low at power-up or went low during the reset
        self._commands = Commands(self.settings, self.style)
        self._high_since: int | None = None
        self._life = 0
        self._forget()
        for key in sorted(parameters, key=lambda key: key == "FU"):
            self.set(key, parameters[key])
        air.join(self)

    # --- parameters ------------------------------------------------------------------------------

    def set(self, name: str, value: Any) -> None:
        held, style = self.settings, self.style
        match name:
            case "position":
                self.position = values.position(name, value)
            case "replies":
                self.replies = values.replies(name, value)
            case "rssi_at_1m_dbm":
                self.rssi_at_1m_dbm = values.number(name, value, -150, 50)
            case "framing":
                self._framing = values.named(name, value, framing_of)
            case "B":
                held.baud_rate = int(values.choice(name, value, tuple(map(str, RATES))))
            case "C":
                held.channel = values.whole(name, value, 1, 127)
            case "FU":
                held.enter_mode(values.whole(name, value, 1, 4))
            case "P":
                held.power = values.whole(name, value, 1, 8)
            case "U":
                if not set_line(held, str(value)):
                    raise ValueError(f"U: {value!r} is not a serial mode such as 8N1 or 8E1")
            case "byteSize":
                held.bits_per_byte = values.whole(name, value, 9, 12)
            case "spelling":
                word = values.choice(name, value, tuple(SPELLINGS))
                style.spelling, style.long_version = SPELLINGS[word], word == "long"
            case "unknown":
                style.has_error = values.choice(name, value, ("silence", "ERROR")) == "ERROR"
            case "version":
                style.version = str(value)
            case "set":
                self._pull(values.choice(name, value, ("high", "low")) == "low")
            case _:
                self._choose(name, value)
        if self._power == "new":
            self._use_line(0)

    def _choose(self, name: str, value: Any) -> None:
        choices = {
            "command_rate": ("current", "9600"),
            "set_by": ("none", "dtr", "rts"),
            "set_low": ("on", "off"),
        }
        if name not in choices:
            raise values.unknown(name, PARAMETERS)
        self._choices[name] = values.choice(name, value, choices[name])

    def describe(self) -> str:
        held = self.settings
        words = [
            f"HC-12, channel {held.channel:03}, FU{held.mode}, {held.air_bps} bit/s on the air",
            f"{held.power_dbm:+} dBm, {self.baud_rate} baud",
            "at {:g}, {:g}, {:g} m".format(*self.position),
        ]
        if self.replies:
            words.append(values.replies_text(self.replies))
        return ", ".join(words)

    # --- power, time, the SET pin ----------------------------------------------------------------

    def reset(self, now: int) -> None:
        self._forget()
        self._power = "on"
        self._set_is_low = self._pin_is_low
        self._commands.sleeps = self._commands.updates = False
        self._fixed_rate = self._set_is_low
        self._enter("command" if self._set_is_low else "stream", now)

    def _forget(self) -> None:
        self._cancel()
        self._typed = bytearray()
        self._unsent = bytearray()
        self._sending = False
        self._fu4_free_at = 0
        self._framing.clear()
        self._life += 1

    def set_modem_line(self, name: str, on: bool, now: int) -> None:
        """Switch the client's DTR or RTS."""
        self.advance(now)
        if name != self._choices["set_by"]:
            return
        self._pin_is_low = on == (self._choices["set_low"] == "on")
        self._follow_pin(now)

    def _pull(self, low: bool) -> None:
        # The pin has this level from now on; the firmware sees it with the next call.
        self._pin_is_low = low
        if self._power == "on":
            self.timers.start("pin", 0, self._follow_pin)

    def _follow_pin(self, now: int) -> None:
        low = self._pin_is_low
        if low == self._set_is_low:
            return
        self._set_is_low = low
        if self._power != "on" or self._mode == "update":
            return
        if low:
            early = self._high_since is not None and now - self._high_since < RESET_NS
            self._fixed_rate = early
            self.timers.start("set", now + SET_LOW_NS, lambda at: self._enter("command", at))
        elif self._mode in ("command", "changing"):
            self._high_since = now
            self._enter("changing", now)
            self.timers.start("set", now + SET_HIGH_NS, self._leave)
        else:
            self.timers.stop("set")  # too short to take effect

    def _leave(self, now: int) -> None:
        self._fixed_rate = False
        commands = self._commands
        mode = "update" if commands.updates else "asleep" if commands.sleeps else "stream"
        commands.sleeps = False
        self._enter(mode, now)

    def _enter(self, mode: str, now: int) -> None:
        self._mode = mode
        self._typed.clear()
        self._use_line(now)

    def _use_line(self, now: int) -> None:
        held = self.settings
        at_9600 = self._fixed_rate or self._choices["command_rate"] == "9600"
        fixed = self._mode == "command" and at_9600
        if self._mode != "command" or fixed or self._power == "new":
            self.uart.baud_rate = FACTORY_RATE if fixed else held.baud_rate
            self.uart.bits_per_byte = 10 if fixed and self._fixed_rate else held.bits_per_byte
        self.sensitivity_dbm = SENSITIVITY_DBM[held.air_bps]

    # --- from the client -------------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> None:
        self.advance(now)
        if self._power != "on":
            return
        read = self.uart.distort(data)
        if self._mode == "command":
            self._typed += read[: LONGEST - len(self._typed)]
            gap = max(COMMAND_GAP_NS, 3 * self.uart.byte_ns)
            self.timers.start("command", now + gap, self._run_command)
        elif self._mode == "stream":
            room = BUFFER - len(self._unsent)
            self.overruns += max(0, len(read) - room)
            self._unsent += read[:room]
            gap = max(CHUNK_GAP_NS, 3 * self.uart.byte_ns)
            if len(self._unsent) >= CHUNK:
                self._send_chunk(now)
            self.timers.start("chunk", now + gap, self._send_chunk)
        else:
            self.overruns += len(read)

    def _run_command(self, now: int) -> None:
        text = bytes(self._typed).decode("latin-1").strip()
        self._typed.clear()
        if self._mode != "command" or not text:
            return
        for line in self._commands.answer(text):
            self.uart.write(line.encode("latin-1") + b"\r\n", now + REPLY_NS)

    # --- radio -----------------------------------------------------------------------------------

    @property
    def band(self) -> Hashable:
        return (
            None if self._sending or self._mode != "stream" or self._power == "off" else self._tuned
        )

    @property
    def _tuned(self) -> Hashable:
        held = self.settings
        return ("hc12", held.channel, held.mode, held.air_bps)

    def _send_chunk(self, now: int) -> None:
        if self._sending or not self._unsent or self._mode != "stream":
            return
        held = self.settings
        size = CHUNK
        if held.mode == 4:
            if now < self._fu4_free_at:
                self.overruns += len(self._unsent)
                self._unsent.clear()
                return
            self.overruns += max(0, len(self._unsent) - FU4_CHUNK)
            del self._unsent[FU4_CHUNK:]
            size, self._fu4_free_at = FU4_CHUNK, now + FU4_PAUSE_NS
        chunk = bytes(self._unsent[:size])
        del self._unsent[:size]
        self._sending = True
        life = self._life

        def sent(_: list[Radio], when: int) -> None:
            if life == self._life:
                self._sending = False
                self._send_chunk(when)

        power = self.rssi_at_1m_dbm + held.power_dbm - 20
        duration_ns = (len(chunk) + OVERHEAD) * 8 * 1_000_000_000 // held.air_bps
        self.air.transmit(Signal(self, self._tuned, chunk, power, duration_ns), sent, now)

    def signal_received(self, signal: Signal, rssi_dbm: float, now: int) -> bool:
        # A chunk from the air. The module has no acknowledgements.
        chunk = signal.frame
        assert isinstance(chunk, bytes)
        room = TX_BUFFER - self.uart.held(now)
        self.overflows += max(0, len(chunk) - room)
        self.uart.write(chunk[: max(0, room)], now + self.settings.delay_ns)
        if self.replies:
            begin = now - len(chunk) * self.uart.byte_ns
            for packet in self._framing.feed(chunk, begin, now):
                self._reply(packet, now)
        return False

    def _reply(self, packet: bytes, now: int) -> None:
        answer = values.reply_to(self.replies, packet)
        if answer is not None:
            frame = self._framing.encode(answer)
            due = now + 2 * self.settings.delay_ns
            self.timers.start(f"reply {now} {packet!r}", due, lambda at: self.receive(frame, at))
