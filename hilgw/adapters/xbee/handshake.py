"""The handshake with an XBee: find it, check it against the settings, set what differs.

The handshake only reads until it has verified that this is the module of the settings. Sources:
Digi's 802.15.4, DigiMesh and Zigbee user guides, "AT commands".
"""

from dataclasses import dataclass, field

from hilgw.adapters._common.module import ModuleSession
from hilgw.adapters.base import Event, Failed, Notice, StationSettings, Write, line_of
from hilgw.adapters.xbee import describe as words
from hilgw.adapters.xbee.api_frames import encode
from hilgw.adapters.xbee.command_modes import (
    Answer,
    AskAt,
    AwaitNetwork,
    Commands,
    Script,
    commands_for,
)
from hilgw.adapters.xbee.frames import AtCommand, AtResponse, Frame, ModemStatus
from hilgw.adapters.xbee.network import FIRMWARES, RAW_802, ZIGBEE, XBeeModule, hardware_of, runs
from hilgw.adapters.xbee.settings import ModuleChannel, XBeeSettings, normal_address
from hilgw.errors import MismatchError, PeerError
from hilgw.framing.lines import LineSplitter
from hilgw.protocols.dialogue import AskLine, Dialogue, DialogueStep, match_line
from hilgw.reasons import PacketRefused

# --- registers of the module ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RegisterValue:
    """A register's value and its width in bytes; any_set: any value except 0 is accepted."""

    value: int
    width: int
    any_set: bool = False

    def fits(self, actual: int) -> bool:
        return actual == self.value or (self.any_set and actual != 0)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Registers to read, in this order.

    optional: not every module has them; wanted: their required values.
    """

    read: list[str]
    optional: set[str] = field(default_factory=set)
    wanted: dict[str, RegisterValue] = field(default_factory=dict)


def wanted_registers(settings: XBeeSettings, common: StationSettings) -> Wanted:
    registers = _of_firmware(settings, common)
    wanted = registers.wanted
    if settings.pan_id is not None:
        wanted["ID"] = RegisterValue(settings.pan_id, 2)
    if settings.extended_pan_id is not None:
        wanted["ID"] = RegisterValue(settings.extended_pan_id, 8)
    if settings.my_address is not None:
        wanted["MY"] = RegisterValue(settings.my_address, 2)
    if settings.endpoints is not None:
        wanted["AO"] = RegisterValue(1, 1, any_set=True)
    if settings.api_mode == 0:
        high, low = divmod(int(normal_address(settings.destination), 16), 1 << 32)
        wanted["DH"], wanted["DL"] = RegisterValue(high, 4), RegisterValue(low, 4)
        registers.read.extend(("DH", "DL"))
    if common.rtscts:
        wanted["D7"] = wanted["D6"] = RegisterValue(1, 1)
        registers.read.extend(("D7", "D6"))
    return registers


def _of_firmware(settings: XBeeSettings, common: StationSettings) -> Wanted:
    explicit = ["AO"] if settings.api_mode else []
    if settings.firmware == "zigbee":  # CH is the network's and read once it has been joined
        return Wanted(["ID", *explicit])
    wanted: dict[str, RegisterValue] = {}
    if isinstance(settings.mapping, ModuleChannel):
        wanted["CH"] = RegisterValue(common.channel, 1)
    if settings.firmware == "digimesh":  # 900 MHz parts hop and have no CH
        return Wanted(["CH", "ID", *explicit], {"CH", "AO"}, wanted)
    return Wanted(["MY", "CH", "ID"], wanted=wanted)


# --- the script -----------------------------------------------------------------------------------

# RF data in bytes, plain and encrypted, where the module has no NP.
_PAYLOAD = {"802.15.4": (100, 95), "DigiMesh": (73, 65), "Zigbee": (84, 66)}
ZIGBEE_BROADCAST = (92, 74)  # a broadcast is never fragmented, so NP does not apply
LOOK_S = 2.0  # period of reading AI while the module searches its network


def handshake(
    settings: XBeeSettings, common: StationSettings, commands: Commands
) -> Script[XBeeModule]:
    """Find the module, check it, set it and verify its settings."""
    yield from commands.find()
    try:
        module = yield from _Setup(settings, common, commands).examine()
    except MismatchError:
        yield from commands.leave()
        raise
    yield from commands.leave()
    return module


class _Setup:
    def __init__(self, settings: XBeeSettings, common: StationSettings, commands: Commands) -> None:
        self._settings = settings
        self._common = common
        self._commands = commands

    def examine(self) -> Script[XBeeModule]:
        hv = yield from self._read("HV")
        vr = yield from self._read("VR")
        sh = yield from self._read("SH")
        sl = yield from self._read("SL")
        serial = f"{sh:08X}{sl:08X}"
        hardware, protocol = self._check_identity(hv, vr, serial)
        values = yield from self._adjust()
        if protocol == ZIGBEE:
            yield from self._join(values)
        payload, broadcast = yield from self._payload_limits(protocol)
        return XBeeModule(
            hardware,
            serial,
            values.get("MY", 0xFFFE),
            values.get("CH", -1),
            values["ID"],
            payload,
            protocol,
            broadcast,
            explicit=bool(values.get("AO")) and protocol != RAW_802,
        )

    def _ask_for(self, name: str, value: bytes = b"", queued: bool = True) -> Script[AtResponse]:
        answer = yield from self._commands.ask(name, value, queued)
        if answer is None:
            raise PeerError(f"the module stopped answering at AT{name}", fix="check the wiring")
        return answer

    def _read(self, name: str) -> Script[int]:
        answer = yield from self._ask_for(name)
        if not answer.ok or not answer.value:
            text = words.at_status_text(answer.status)
            raise PeerError(f"the module answers AT{name} with: {text}", fix="update its firmware")
        return int.from_bytes(answer.value, "big")

    def _check_identity(self, hv: int, vr: int, serial: str) -> tuple[str, str]:
        series, protocol = hardware_of(hv, vr)
        expected = self._settings.module.upper()
        if expected and serial != expected:
            raise MismatchError(
                f"this is module {serial}, the configuration names {expected}",
                fix="connect the other module, or correct `module`",
            )
        named, fits = FIRMWARES[self._settings.firmware]
        if protocol not in fits:
            firmware = f"{protocol} firmware" if protocol else "unknown firmware"
            raise MismatchError(
                f"{series} with {firmware} (HV {hv:04X}, VR {vr:04X}); the "
                f"configuration requires {named}",
                fix=self._firmware_fix(hv, protocol, named),
            )
        return series, protocol

    def _firmware_fix(self, hv: int, protocol: str, named: str) -> str:
        matching = [key for key, (_, these) in FIRMWARES.items() if protocol in these]
        fixes = [f"set firmware: {matching[0]}"] if matching else []
        if runs(hv, named):
            fixes += [f"load the {named} firmware with XCTU", "use another module"]
        else:
            fixes.append(f"use another module: there is no known {named} firmware for this one")
        return ", or ".join(fixes)

    # --- registers ----------------------------------------------------------------------------

    def _adjust(self) -> Script[dict[str, int]]:
        registers = wanted_registers(self._settings, self._common)
        values: dict[str, int] = {}
        for name in registers.read:
            if name in registers.optional:
                answer = yield from self._ask_for(name)
                if answer.ok and answer.value:
                    values[name] = int.from_bytes(answer.value, "big")
            else:
                values[name] = yield from self._read(name)
        missing = [name for name in registers.wanted if name not in values]
        if missing:
            raise MismatchError(
                f"this module hops and has no {missing[0]}: mapping module_channel is invalid",
                fix="use mapping: {by: header} or {by: destination, ...}",
            )
        changed = [name for name, want in registers.wanted.items() if not want.fits(values[name])]
        for name in changed:
            want = registers.wanted[name]
            answer = yield from self._ask_for(name, want.value.to_bytes(want.width, "big"))
            self._require_ok(answer, f"{name} = {want.value:X}")
        if changed:
            self._require_ok((yield from self._ask_for("AC", queued=False)), "AC")
        for name in changed:
            values[name] = yield from self._read(name)
            if not registers.wanted[name].fits(values[name]):
                raise MismatchError(f"the module keeps {name} = {values[name]:X}")
        if changed:
            list_ = ", ".join(f"{name} = {values[name]:X}" for name in changed)
            yield Notice(f"module set to {list_}, until it restarts (ATWR would store it)")
        return values

    def _require_ok(self, answer: AtResponse, action: str) -> None:
        if not answer.ok:
            raise MismatchError(
                f"the module rejects {action}: {words.at_status_text(answer.status)}",
                fix="use a value that its data sheet allows",
            )

    # --- the network --------------------------------------------------------------------------

    def _join(self, values: dict[str, int]) -> Script[None]:
        reported: int | None = None
        while state := (yield from self._read("AI")):
            if state != reported:
                reported = state
                yield Notice(
                    f"not in a network yet: {words.association_text(state)} (AI = {state:02X}); "
                    "waiting for the module to join",
                    once=False,
                )
            yield AwaitNetwork(LOOK_S)
        for name, register in (("MY", "MY"), ("CH", "CH"), ("ID", "OP")):
            values[name] = yield from self._read(register)
        by_channel = isinstance(self._settings.mapping, ModuleChannel)
        if by_channel and values["CH"] != self._common.channel:
            raise MismatchError(
                f"the Zigbee network is on CH {values['CH']:02X}, channel {values['CH']}; the "
                f"configuration requires channel {self._common.channel}",
                fix=f"set channel: {values['CH']}, or mapping: {{by: header}}",
            )

    def _payload_limits(self, protocol: str) -> Script[tuple[int, int]]:
        """Return the payload limits in bytes, to one module and to all.

        NP, or the data sheet where NP is missing or does not apply. There the limit depends on
        encryption (EE).
        """
        answer = yield from self._ask_for("NP")
        limit = int.from_bytes(answer.value, "big") if answer.ok else 0
        if limit and protocol != ZIGBEE:
            return limit, limit
        encrypts = yield from self._ask_for("EE")
        encrypted = encrypts.ok and any(encrypts.value)
        limit = limit or _PAYLOAD.get(protocol, _PAYLOAD["DigiMesh"])[encrypted]
        if protocol != ZIGBEE:
            return limit, limit
        return limit, min(limit, ZIGBEE_BROADCAST[encrypted])


LONGEST_LINE = 64


class XBeeHandshake(Dialogue[Event, Answer, XBeeModule]):
    """Runs the handshake once.

    rest: bytes after the last line of command mode.
    """

    def __init__(self, settings: XBeeSettings, common: StationSettings, commands: Commands) -> None:
        byte_ns = line_of(common)[0].duration_ns(1)
        super().__init__(handshake(settings, common, commands), self._question, Failed, byte_ns)
        self._commands = commands
        self._escaped = settings.api_mode == 2
        self._asked: set[int] = set()  # frame ids under which the current step was asked
        self._lines = LineSplitter([b"\r"], LONGEST_LINE, keeps_tail=True)
        self.rest = b""

    def take_frame(self, frame: Frame, now: int) -> list[Event] | None:
        """Process a valid frame that may be an answer.

        Return None when the handshake must restart.
        """
        self._commands.received_frames = True
        step = self.step
        if isinstance(frame, ModemStatus):
            if frame.status in words.RESETS:
                return None
            joined = isinstance(step, AwaitNetwork) and frame.status in words.JOINED
            return self.answer(None, now) if joined else []
        if not isinstance(frame, AtResponse):
            return []
        if isinstance(step, AskAt):
            expected = frame.name == step.name and frame.frame_id in self._asked
            return self.answer(frame, now) if expected else []
        if step is None or isinstance(step, AwaitNetwork):
            return []
        return None  # a late answer: the module is in API mode after all

    def take_text(self, data: bytes, now: int) -> list[Event]:
        """Process bytes as they came in: in command mode they are lines."""
        self._commands.received_bytes = True
        if not isinstance(self.step, AskLine):
            return []
        *ended, rest = data.split(b"\r")
        for number, text in enumerate(ended, 1):
            for line in self._lines.feed(text + b"\r"):
                if match := match_line(self.step, line):
                    self.rest = b"\r".join([*ended[number:], rest])
                    return self.answer(match, now)
        self._lines.feed(rest)
        return []

    def _question(self, step: DialogueStep, attempt: int) -> Event | None:
        self._lines.clear()
        if isinstance(step, AskLine):
            return Write(step.text)
        if not isinstance(step, AskAt):
            return None
        if attempt == 1:
            self._asked.clear()
        # With the first ids no byte of the AP command or of its answer needs an escape: both API
        # modes understand them, so a wrong API mode is recognised.
        frame_id = self._commands.frame_id = self._commands.frame_id % 255 + 1
        self._asked.add(frame_id)
        command = AtCommand(frame_id, step.name, step.value, step.queued)
        return Write(encode(command.pack(), self._escaped))


class XBeeModuleSession(ModuleSession[XBeeModule]):
    """The part of a session that both modes share: the handshake, begun again after a restart."""

    kind = "xbee"
    _dialogue: XBeeHandshake | None

    def __init__(self, settings: XBeeSettings, common: StationSettings) -> None:
        super().__init__(line_of(common)[0])
        self._settings = settings
        self._common = common
        self._commands = commands_for(settings, common)

    def open(self, now: int) -> list[Event]:
        self._commands = commands_for(self._settings, self._common)
        return super().open(now)

    def _new_handshake(self) -> XBeeHandshake:
        return XBeeHandshake(self._settings, self._common, self._commands)

    def _begin_packets(self, module: XBeeModule, now: int) -> list[Event]:
        self._restarts = 0
        self._commands = commands_for(self._settings, self._common)
        return []

    def _take_answer(self, frame: Frame, now: int) -> list[Event]:
        events = self._dialogue.take_frame(frame, now) if self._dialogue else []
        if events is None:
            return self._restart("", PacketRefused.RESET, now)
        return self._after_dialogue(events, now)
