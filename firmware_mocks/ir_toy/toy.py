"""A USB IR Toy: its modes and commands, and the emitters next to it.

Modes and commands follow the makers' pages and the firmware, version 22. Bytes in one packet
behind a reset are lost.
"""

from enum import Enum

from firmware_mocks.air import Air
from firmware_mocks.base import Adjustable
from firmware_mocks.ir_toy.light import IrEmitter, IrReceiver, Placement
from firmware_mocks.ir_toy.player import Player
from firmware_mocks.ir_toy.receiver import Irman, Sampler
from firmware_mocks.ir_toy.remote_control import Jammer, RemoteControl
from firmware_mocks.ir_toy.settings import Settings

USB_BAUD = 4_000_000  # USB: the rate that the client sets has no effect
REPORTING_FIRMWARE = 20
CARRIER_38_KHZ = 78  # 3 MHz divided by 79
ZEROS_TO_LEAVE = 5
# Commands of sample mode with bytes behind them: prescaler, carrier, pins out, pin directions, a
# byte for the UART.
PARAMETERS_OF = {0x05: 1, 0x06: 2, 0x30: 2, 0x31: 2, 0x42: 1}


class Mode(Enum):
    IRMAN = "IRman"
    SAMPLE = "sample"
    SUMP = "logic analyser"
    OLD_RAW = "old raw"
    BRIDGE = "serial bridge"
    BOOTLOADER = "bootloader"


class Toy(Adjustable[Settings]):
    """A toy, which powers up with the first call that has a time.

    bootloads: starts of the bootloader, which only a power cycle ends.
    """

    def __init__(self, name: str, air: Air, settings: Settings) -> None:
        seed = settings.seed
        super().__init__(name, air, settings, seed)
        self.uart.baud_rate = USB_BAUD
        self.sampler = Sampler(self.timers, self.uart.write, f"{seed}:{name}:edges")
        self.irman = Irman(self.timers, self.uart.write)
        placement = Placement()
        self.led = IrEmitter(self, air, placement)
        self.receiver = IrReceiver(name, self, placement, self._edge)
        self.player = Player(
            self.timers, self.uart.write, self.led.switch, self._commands, self._mute
        )
        self.remote = RemoteControl(name, air, self.timers, placement)
        self.jammer = Jammer(air, self.timers, placement)
        air.join(self.receiver)
        air.join(self.remote.receiver)
        self.mode = Mode.IRMAN
        self.bootloads = 0
        self.carrier = CARRIER_38_KHZ
        self._powered: bool | None = None  # None: with the first call that has a time
        self._command = bytearray()  # incomplete
        self._zeros = self._skip = 0
        self._use_settings()

    @property
    def host_baud(self) -> int | None:
        return None  # USB: the client's rate has no effect

    @host_baud.setter
    def host_baud(self, rate: int | None) -> None:
        pass

    @property
    def clear_to_send(self) -> bool:
        return self.player.has_room

    def _adopt(self, name: str) -> None:
        self._use_settings()

    def _use_settings(self) -> None:
        settings = self.settings
        for emitter in (self.led, self.remote.emitter, self.jammer.emitter):
            emitter.placement = settings.placement
        self.receiver.placement = self.remote.receiver.placement = settings.placement
        self.sampler.stretch_ns, self.sampler.jitter_ns = settings.stretch_ns, settings.jitter_ns
        self.player.ahead = settings.ahead
        remote, jammer = self.remote, self.jammer
        remote.keys, remote.every_ns = settings.play, settings.every_ns
        remote.repeats, remote.replies = settings.repeats, settings.replies
        remote.delay_ns = settings.delay_ns
        jammer.on_ns, jammer.off_ns = settings.jammer

    def describe(self) -> str:
        settings = self.settings
        words = [f"USB IR Toy, hardware {settings.hardware}, firmware {settings.firmware}"]
        if settings.play:
            keys = ", ".join(key.text for key in settings.play)
            words.append(f"plays {keys} every {settings.every_ns / 1e9:g} s")
        if settings.replies:
            words.append("answers " + ", ".join(key.text for key in settings.replies))
        if settings.jammer[0]:
            words.append("jammer on")
        return ", ".join(words)

    # --- power and time --------------------------------------------------------------------------

    def advance(self, now: int) -> None:
        if self._powered is None:
            self.reset(now)
        elif not self._powered:
            self._stop_emitters(now)
        super().advance(now)

    def reset(self, now: int) -> None:
        # Power cycle of the toy and of the emitters next to it.
        self.switch_off()
        self._powered = True
        self._leave(now)
        self._stop_emitters(now)
        self.remote.start(now)
        self.jammer.start(now)

    def switch_off(self) -> None:
        self._powered = False
        self._cancel()
        self.player.restart()
        self.sampler.restart()
        self.irman.restart()

    def _stop_emitters(self, now: int) -> None:
        self.led.switch(False, now)
        self.remote.stop(now)
        self.jammer.stop(now)

    # --- receiver --------------------------------------------------------------------------------

    def _edge(self, mark: bool, now: int) -> None:
        if not self._powered:
            return
        if self.mode is Mode.IRMAN:
            self.irman.edge(mark, now)
        else:
            self.sampler.edge(mark, now)

    def _mute(self, muted: bool) -> None:
        if muted:
            self.sampler.disable()
        elif self.mode is Mode.SAMPLE:
            self.sampler.enable()

    # --- commands --------------------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> None:
        self.advance(now)
        if self._powered:
            self._commands(data, now)

    def _commands(self, data: bytes, now: int) -> None:
        if self.player.active:
            self.player.feed(data, now)
            return
        for byte in data:
            before = self.mode
            self._read(byte, now)
            if self.player.active or (before is Mode.SAMPLE and self.mode is not Mode.SAMPLE):
                return  # the rest of the packet is lost

    def _read(self, byte: int, now: int) -> None:
        match self.mode:
            case Mode.IRMAN:
                self._read_default(byte, now)
            case Mode.SAMPLE:
                self._read_sample(byte, now)
            case Mode.SUMP:
                self._read_sump(byte, now)
            case Mode.OLD_RAW:
                if byte == 0:
                    self._leave(now)
            case Mode.BRIDGE:
                self._zeros = self._zeros + 1 if byte == 0 else 0
                if self._zeros == ZEROS_TO_LEAVE:
                    self._leave(now)

    def _leave(self, now: int) -> None:
        self.mode = Mode.IRMAN
        self.player.restart()
        self.sampler.restart()
        self.irman.restart()
        self.led.switch(False, now)
        self._command.clear()
        self._zeros = self._skip = 0

    def _read_default(self, byte: int, now: int) -> None:
        settings = self.settings
        version = f"V{settings.hardware}{settings.firmware:02d}".encode()
        match chr(byte).lower():
            case "r":
                self.uart.write(b"OK", now)
            case "v" | "t":
                self.uart.write(version, now)
            case "s":
                self._enter_sample(now)
            case "u":
                self.mode = Mode.BRIDGE
                self.uart.write(b"U01", now)
            case "x":
                self.mode = Mode.OLD_RAW
                self.uart.write(b"X01", now)
            case "$":
                self.mode = Mode.BOOTLOADER
                self.bootloads += 1
            case "\x01" | "\x02":
                self.mode = Mode.SUMP
                self._read_sump(byte, now)

    def _enter_sample(self, now: int) -> None:
        self.mode = Mode.SAMPLE
        self.irman.restart()
        self.player.restart()
        self.sampler.restart()
        self.sampler.enable()
        self.carrier = CARRIER_38_KHZ
        self.uart.write(b"S01", now)
        if self.settings.start_ns:
            self.remote.stop(now)
            self.remote.start(now + self.settings.start_ns)

    def _read_sump(self, byte: int, now: int) -> None:
        # Commands from 80h on are followed by four bytes, so five zeros always end this mode.
        if self._skip:
            self._skip -= 1
        elif byte >= 0x80:
            self._skip = 4
        elif byte == 0x02:
            self.uart.write(b"1ALS", now)
        elif byte == 0x00:
            self._leave(now)

    def _read_sample(self, byte: int, now: int) -> None:
        if self._command:
            self._command.append(byte)
        elif byte in PARAMETERS_OF:
            self._command.append(byte)
            return
        else:
            self._do(byte, now)
            return
        if len(self._command) > PARAMETERS_OF[self._command[0]]:
            command = bytes(self._command)
            self._command.clear()
            if command[0] == 0x05:
                self.sampler.prescaler = self.player.prescaler = command[1] & 7
            elif command[0] == 0x06:
                self.carrier = command[1]

    def _do(self, byte: int, now: int) -> None:
        # A command of one byte. LEDs, pins and the UART (10 to 13, 40, 41, 43) have no effect.
        player = self.player
        reports = self.settings.firmware >= REPORTING_FIRMWARE
        match byte:
            case 0x00:
                self._leave(now)
            case 0x03:
                player.begin(now)
            case 0x04 if self.settings.hardware > 1:
                self.uart.write(bytes(8), now)  # the last carrier was not measured
            case 0x23 if reports:
                self.uart.write(self._descriptor(), now)
            case 0x24 if reports:
                player.counting = True
            case 0x25 if reports:
                player.completing = True
            case 0x26 if reports:
                player.handshaking = True
            case 0x32:
                self.uart.write(b"\x00", now)
            case 0x33 if reports:
                self.uart.write(b"t" + (player.count & 0xFFFF).to_bytes(2, "big"), now)

    def _descriptor(self) -> bytes:
        # Carrier, its duty, both timers' dividers, the clock: 48 MHz.
        timers = bytes((self.carrier, self.carrier // 2, 0x05, self.sampler.prescaler))
        return timers + (48_000_000).to_bytes(4, "big")
