"""The session of an HC-12: the handshake in command mode, then a framed line, sans-I/O.

The handshake enters command mode, checks and sets the module, and leaves it. Source: HC-12 user
manuals V2.3 and V2.4. Commands have no line end, replies end in CR LF. SET low for 40 ms enters
command mode. Settings take effect 80 ms after SET is high, and SET must not go low again for
200 ms. The spellings of both manuals are accepted, and those of public drivers.
"""

import re
from dataclasses import dataclass

from hilgw.adapters._common.framed_line import FramedLineSession, line_route
from hilgw.adapters._common.framing_settings import name_of, new_framing
from hilgw.adapters._common.module import LineDialogue, ModuleSession, NotBefore, notice
from hilgw.adapters.base import (
    NOT_YET,
    CannotSend,
    Event,
    Notice,
    Ready,
    SetLine,
    StationSettings,
    Transmission,
    line_of,
)
from hilgw.adapters.hc12.settings import (
    FU4_FRAME,
    LONGEST,
    PAUSE_S,
    POWERS_DBM,
    Hc12Settings,
    ModuleChannel,
    mode_of,
    power_of,
    reach_m,
)
from hilgw.errors import MismatchError, PeerError
from hilgw.framing.lines import LineSplitter
from hilgw.medium.packet import Packet
from hilgw.protocols.dialogue import AskLine, LineScript, Pause, answered
from hilgw.reasons import PacketRefused
from hilgw.units import earliest, s_to_ns

LONGEST_REPLY = 64


BEFORE_LOW_S = 0.25  # the module may be in its reset
AFTER_LOW_S = 0.06
AFTER_HIGH_S = 0.12
ANSWER_S = 0.5
TRIES = 3
HELD_S = 1.0  # between checks whether SET was released
MOST_CHECKS = 600

_OK = re.compile(rb"OK\Z")
_VERSION = re.compile(rb"(?:OK\+)?(HC-12[ _]?[vV][0-9.A-Za-z]{1,16})\Z")
_READS = {
    "B": (b"AT+RB", re.compile(rb"OK\+(?:RB|B):?([0-9]{4,6})\Z")),
    "C": (b"AT+RC", re.compile(rb"OK\+(?:RC|C):?([0-9]{1,3})\Z")),
    "FU": (b"AT+RF", re.compile(rb"OK\+(?:RF|RFU|FU):?(?:FU)?([1-4])\Z")),
    "P": (b"AT+RP", re.compile(rb"OK\+(?:RP|P):?\+?(-?[0-9]{1,2}) ?dBm\Z")),
}


@dataclass(frozen=True, slots=True)
class Hc12Module:
    """A module as read in command mode; values None: it could not be read."""

    version: str = "HC-12"
    values: dict[str, int] | None = None

    @property
    def identity(self) -> str:
        if self.values is None:
            return f"{self.version}, settings not verified"
        v = self.values
        frequency = 433.4 + 0.4 * (v["C"] - 1)
        return (
            f"{self.version}, channel {v['C']:03} ({frequency:.1f} MHz), FU{v['FU']}, "
            f"{v['B']} baud, {v['P']:+} dBm"
        )


def wanted_of(settings: Hc12Settings, common: StationSettings) -> dict[str, int]:
    """Return the values the settings require of the module, by the letters of its commands."""
    wanted = {"B": common.baudRate}
    if settings.mode is not None:
        wanted["FU"] = int(settings.mode[-1])
    if isinstance(settings.mapping, ModuleChannel):
        wanted["C"] = common.channel
    power = power_of(settings, common)
    if power is not None:
        wanted["P"] = power
    return wanted


def command_for(name: str, value: int) -> str:
    if name == "C":
        return f"AT+C{value:03}"
    return f"AT+P{POWERS_DBM.index(value) + 1}" if name == "P" else f"AT+{name}{value}"


def handshake(settings: Hc12Settings, common: StationSettings) -> LineScript[Event, Hc12Module]:
    """Enter command mode, check, set, verify, leave."""
    low = settings.set_low == "on"
    if settings.set_line == "manual":
        yield Notice(_unverified(settings, common))
        return Hc12Module()
    if settings.set_line == "held":
        return (yield from _verify_held(settings, common))
    yield SetLine(settings.set_line, not low)
    yield Pause(BEFORE_LOW_S)
    yield SetLine(settings.set_line, low)
    yield Pause(AFTER_LOW_S)
    yield from answered(
        AskLine(b"AT", _OK, timeout_s=ANSWER_S, tries=TRIES),
        PeerError(
            "the module does not answer AT in command mode",
            fix=f"check power, TX and RX, that {settings.set_line.upper()} pulls SET low when it "
            f"is {settings.set_low} (set_low), that the module's rate is {common.baudRate} "
            "(command_rate), and that its serial mode (AT+U) is that of parity and stop_bits",
        ),
    )
    version = yield from _version()
    values = yield from _adjust(settings, common)
    yield SetLine(settings.set_line, not low)
    yield Pause(AFTER_HIGH_S)
    return Hc12Module(version, values)


def _unverified(settings: Hc12Settings, common: StationSettings) -> str:
    listed = [command_for(name, value) for name, value in wanted_of(settings, common).items()]
    listed += [
        *([] if settings.mode else [f"AT+{mode_of(settings)}"]),
        f"AT+U8{common.parity[0].upper()}{common.stop_bits}",  # no command reads it
    ]
    return (
        f"settings cannot be verified without command mode (set_line is {settings.set_line}); set "
        f"the module to {', '.join(listed)}"
    )


def _version() -> LineScript[Event, str]:
    """Read the version; some firmware has no AT+V."""
    match = yield AskLine(b"AT+V", _VERSION, timeout_s=ANSWER_S)
    return "HC-12" if match is None else match[1].decode("ascii")


def _read_all() -> LineScript[Event, dict[str, int]]:
    values: dict[str, int] = {}
    for name, (text, answer) in _READS.items():
        match = yield from answered(
            AskLine(text, answer, timeout_s=ANSWER_S, tries=TRIES),
            PeerError(
                f"the module does not answer {text.decode()}",
                fix="check the wiring, and that it is an HC-12",
            ),
        )
        values[name] = int(match[1])
    return values


def _adjust(settings: Hc12Settings, common: StationSettings) -> LineScript[Event, dict[str, int]]:
    wanted = wanted_of(settings, common)
    values = yield from _read_all()
    changed = [
        name for name in ("FU", "B", "C", "P") if values[name] != wanted.get(name, values[name])
    ]
    for name in changed:
        text = command_for(name, wanted[name])
        done = re.compile(rb"OK\+" + re.escape(text[3:].encode()) + rb"\b|OK\+R?" + name.encode())
        yield from answered(
            AskLine(text.encode(), done, timeout_s=ANSWER_S, tries=TRIES),
            PeerError(f"the module does not answer {text}", fix="check the wiring"),
        )
    if changed:
        values = yield from _read_all()
        listed = ", ".join(command_for(name, wanted[name]) for name in changed)
        yield Notice(f"module set by {listed}")
    _require_values(wanted, values)
    if settings.range_m is not None:
        reach = reach_m(values["P"], f"FU{values['FU']}", common)
        yield Notice(f"{values['P']:+} dBm: range about {reach:.0f} m in free space")
    return values


def _require_values(wanted: dict[str, int], values: dict[str, int]) -> None:
    for name, value in wanted.items():
        if values[name] != value:
            raise MismatchError(
                f"the module has {name} = {values[name]}, the configuration requires {value}",
                fix=f"set it with {command_for(name, value)}, or correct the configuration",
            )


def _verify_held(settings: Hc12Settings, common: StationSettings) -> LineScript[Event, Hc12Module]:
    match = yield AskLine(b"AT", _OK, timeout_s=ANSWER_S, tries=TRIES)
    if match is None:
        yield Notice("no answer in command mode (is SET low?): " + _unverified(settings, common))
        return Hc12Module()
    version = yield from _version()
    values = yield from _read_all()
    _require_values(wanted_of(settings, common), values)
    yield Notice("the module's settings are correct: release SET now")
    for _ in range(MOST_CHECKS):
        yield Pause(HELD_S)
        match = yield AskLine(b"AT", _OK, timeout_s=ANSWER_S)
        if match is None:
            return Hc12Module(version, values)
    raise PeerError("the module stays in command mode", fix="release SET")


class Hc12Session(ModuleSession[Hc12Module]):
    """The AdapterSession of an HC-12. Frames have no token: the module does not acknowledge."""

    kind = "hc12"

    def __init__(self, settings: Hc12Settings, common: StationSettings) -> None:
        super().__init__(line_of(common)[0])
        self._settings = settings
        self._common = common
        self._stream = FramedLineSession(
            new_framing(settings.framing, common),
            name_of(settings.framing),
            line_route(settings.mapping, common.channel),
            common,
            refuse=self._refuse,
        )
        self.channels = self._stream.channels
        self._mode = mode_of(settings)
        self._dialogue: LineDialogue[Hc12Module] | None = None
        self._lines = LineSplitter([b"\r\n"], LONGEST_REPLY, keeps_tail=True)
        self._quiet = NotBefore()  # the mode's pause after the last packet

    def close(self) -> list[Event]:
        self._lines.clear()
        self._quiet.clear()
        return super().close() + self._stream.close()

    def _new_handshake(self) -> LineDialogue[Hc12Module]:
        return LineDialogue(handshake(self._settings, self._common), self._line)

    def _begin_packets(self, module: Hc12Module, now: int) -> list[Event]:
        self._lines.clear()
        self._first_frame.found()
        if module.values is not None:
            self._mode = f"FU{module.values['FU']}"
        return [*self._stream.start(), Ready(f"{module.identity}; {self._stream.identity}")]

    # --- from the module -------------------------------------------------------------------------

    def receive(self, data: bytes, now: int) -> list[Event]:
        if self._ready:
            return self._stream.receive(data, now)
        events: list[Event] = []
        for line in self._lines.feed(data):
            if self._dialogue is not None:
                taken = self._dialogue.take_line(line, now)
                if taken is not None:
                    self._first_frame.found()
                events += self._after_dialogue(taken or [], now)
        if not self._first_frame.over:
            self._first_frame.take(data, now)
        return events

    # --- to the module ---------------------------------------------------------------------------

    def send(self, packet: Packet, now: int) -> Transmission | CannotSend | None:
        if not self._ready:
            return NOT_YET
        longest = LONGEST[self._mode]
        if len(packet.data) > longest:
            text = f"{len(packet.data)} bytes, the limit in {self._mode} is {longest}"
            return CannotSend(PacketRefused.TOO_LONG, text)
        if self._quiet.blocks(now):
            return NOT_YET
        answer = self._stream.send(packet, now)
        if isinstance(answer, Transmission) and PAUSE_S[self._mode]:
            pause_ns = s_to_ns(PAUSE_S[self._mode])
            self._quiet.time_ns = now + self._line.duration_ns(len(answer.data)) + pause_ns
        return answer

    def _refuse(self, payload: bytes, frame: bytes) -> CannotSend | None:
        if self._mode != "FU4" or len(frame) <= FU4_FRAME:
            return None
        text = f"{len(frame)} bytes with its framing, the limit in FU4 is {FU4_FRAME}"
        return CannotSend(PacketRefused.TOO_LONG, text)

    # --- time ------------------------------------------------------------------------------------

    def next_deadline(self) -> int | None:
        if self._dialogue is not None:
            return earliest(self._dialogue.deadline, self._first_frame.deadline)
        return earliest(self._stream.next_deadline(), self._quiet.deadline)

    def expire(self, now: int) -> list[Event]:
        if self._dialogue is not None:
            events = notice(self._first_frame.expire(now))
            return events + self._after_dialogue(self._dialogue.expire(now), now)
        self._quiet.expire(now)
        return self._stream.expire(now)

    def describe(self, frame: bytes) -> str:
        if frame.startswith((b"AT", b"OK")) and frame.strip().isascii():
            return f"command mode: {frame[:96]!r}"
        return self._stream.describe(frame)
