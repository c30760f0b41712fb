"""What is said to an XBee to find it, check it against the settings and set what they ask.

The script is a generator: it yields a step (an AT command in an API frame, text for command
mode, a silence) and gets the answer, or None when none came in time. Nothing but reads is asked
before the module is known to be the one the settings name. Source: Digi's user guides, "AT
commands", "Command mode".
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeVar

from hilgw.adapters import _xbee_words as words
from hilgw.adapters._xbee_frames import AtResponse
from hilgw.adapters._xbee_modules import Module, hardware_of
from hilgw.adapters._xbee_settings import ModuleChannel, XBeeSettings
from hilgw.adapters.base import Notice, StationSettings
from hilgw.errors import MismatchError, PeerError

FIND_TIMEOUT_S = 0.5
ANSWER_TIMEOUT_S = 1.0
GUARD_S = 1.1  # GT, 1000 ms from the factory: the silence before +++
COMMAND_OK_S = 2.0  # the module's OK comes only after the silence behind +++

PAYLOAD_S1 = 100  # S1 has no NP
PAYLOAD_S1_ENCRYPTED = 95


@dataclass(frozen=True, slots=True)
class Ask:
    """One AT command; the answer is an AtResponse."""

    name: str
    value: bytes = b""
    queued: bool = True
    timeout_s: float = ANSWER_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class Type:
    """Text for command mode; the answer is the first line that ends in this pattern."""

    text: bytes
    answer: bytes
    timeout_s: float = ANSWER_TIMEOUT_S


@dataclass(frozen=True, slots=True)
class Silence:
    """Send nothing for so long."""

    seconds: float


Step = Ask | Type | Silence | Notice
Answer = AtResponse | bytes | None
T = TypeVar("T")
Script = Generator[Step, Answer, T]


class Conversation:
    """The script for these settings. `heard_bytes`, `heard_frames`: what came in so far, told by
    whoever runs it, so that silence can be explained."""

    def __init__(self, settings: XBeeSettings, common: StationSettings) -> None:
        self._settings = settings
        self._common = common
        self.heard_bytes = self.heard_frames = False

    def converse(self) -> Script[Module]:
        """Find, check, set, verify."""
        yield from self._find()
        hv = yield from self._read("HV")
        vr = yield from self._read("VR")
        sh = yield from self._read("SH")
        sl = yield from self._read("SL")
        serial = f"{sh:08X}{sl:08X}"
        hardware = self._check_identity(hv, vr, serial)
        values = yield from self._adjust()
        payload = yield from self._payload_limit()
        return Module(hardware, serial, values["MY"], values["CH"], values["ID"], payload)

    def _find(self) -> Script[None]:
        """A module that answers API frames, in the mode the settings name."""
        answer = yield Ask("AP", timeout_s=FIND_TIMEOUT_S)
        if not isinstance(answer, AtResponse):
            yield from self._probe_command_mode()
            return
        mode, wanted = int.from_bytes(answer.value, "big"), self._settings.api_mode
        if answer.ok and answer.value and mode != wanted:
            raise MismatchError(
                f"the module works in API mode {mode}, the settings say {wanted}",
                fix=f"set api_mode: {mode} here, or AP = {wanted} in the module with XCTU",
            )

    def _probe_command_mode(self) -> Script[None]:
        """No answer to API frames: is it a module in transparent mode?"""
        yield Silence(GUARD_S)
        ok = yield Type(b"+++", rb"OK", COMMAND_OK_S)
        if ok is None:
            raise self._no_answer()
        answer = yield Type(b"ATAP\r", rb"[0-9A-Fa-f]{1,4}")
        yield Type(b"ATCN\r", rb"OK")
        wanted = self._settings.api_mode
        if not isinstance(answer, bytes):
            raise PeerError(
                "the module enters command mode but does not answer ATAP",
                fix="check that it is an XBee, and restart it",
            )
        mode = int(answer, 16)
        if mode == wanted:
            raise PeerError(
                f"the module is in API mode {mode} but does not answer API frames",
                fix="restart it",
            )
        what = {0: "transparent mode", 4: "MicroPython mode"}.get(mode, f"mode {mode}")
        raise MismatchError(
            f"the module is in {what} (AP = {mode}), the settings say API mode {wanted}",
            fix=f"in a terminal at {self._common.baudRate} baud type +++ without Enter, one second "
            f"of silence before and after it; at OK type ATAP{wanted}, ATWR and ATCN, each with "
            f"Enter. Or set AP = {wanted} in XCTU and write it",
        )

    def _no_answer(self) -> PeerError:
        baud = self._common.baudRate
        if self.heard_frames:
            return PeerError(
                "the module sends API frames but answers no command",
                fix="check the wire from the host's TX to the module's DIN, and CTS and RTS",
            )
        if self.heard_bytes:
            return PeerError(
                "bytes come in, but none of them is an API frame or an answer",
                fix=f"baudRate {baud} is probably not the module's BD; or it is not an XBee",
            )
        return PeerError(
            "the module does not answer, in API mode or in command mode",
            fix=f"check its power, that TX and RX are not swapped, that its BD is {baud} baud, "
            "and that it does not sleep (SM)",
        )

    def _ask_for(self, name: str, value: bytes = b"", queued: bool = True) -> Script[AtResponse]:
        """One command, answered; PeerError when the answer never comes."""
        answer = yield Ask(name, value, queued)
        if not isinstance(answer, AtResponse):
            raise PeerError(f"the module stopped answering at AT{name}", fix="check the wiring")
        return answer

    def _read(self, name: str) -> Script[int]:
        answer = yield from self._ask_for(name)
        if not answer.ok or not answer.value:
            text = words.at_status_text(answer.status)
            raise PeerError(f"the module answers AT{name} with: {text}", fix="update its firmware")
        return int.from_bytes(answer.value, "big")

    def _check_identity(self, hv: int, vr: int, serial: str) -> str:
        """The series' name; MismatchError when it is not the module the settings name."""
        series, protocol = hardware_of(hv, vr)
        expected = self._settings.module.upper()
        if expected and serial != expected:
            raise MismatchError(
                f"this is module {serial}, the settings name {expected}",
                fix="plug in the other one, or correct `module`",
            )
        if protocol != "802.15.4":
            found = f"{protocol} firmware" if protocol else "firmware that is not known"
            raise MismatchError(
                f"{series} with {found} (HV {hv:04X}, VR {vr:04X}); 802.15.4 is needed",
                fix="load the 802.15.4 firmware with XCTU, or use another module",
            )
        return series

    def _adjust(self) -> Script[dict[str, int]]:
        """Set what the settings ask and the module has otherwise; the values it has then."""
        settings, wanted = self._settings, {}
        if isinstance(settings.mapping, ModuleChannel):
            wanted["CH"] = (self._common.channel, 1)
        if settings.pan_id is not None:
            wanted["ID"] = (settings.pan_id, 2)
        if settings.my_address is not None:
            wanted["MY"] = (settings.my_address, 2)
        values: dict[str, int] = {}
        for name in ("MY", "CH", "ID"):
            values[name] = yield from self._read(name)
        changed = [name for name in wanted if values[name] != wanted[name][0]]
        for name in changed:
            value, width = wanted[name]
            answer = yield from self._ask_for(name, value.to_bytes(width, "big"))
            self._must(answer, f"{name} = {value:X}")
        if changed:
            self._must((yield from self._ask_for("AC", queued=False)), "AC")
        for name in changed:
            values[name] = yield from self._read(name)
            if values[name] != wanted[name][0]:
                raise MismatchError(f"the module keeps {name} = {values[name]:X}")
        if changed:
            list_ = ", ".join(f"{name} = {values[name]:X}" for name in changed)
            yield Notice(f"module set to {list_}, until it restarts (ATWR would keep it)")
        return values

    def _must(self, answer: AtResponse, what: str) -> None:
        if not answer.ok:
            raise MismatchError(
                f"the module refuses {what}: {words.at_status_text(answer.status)}",
                fix="use a value its data sheet allows",
            )

    def _payload_limit(self) -> Script[int]:
        """NP; a module that does not know NP is a S1, whose limit depends on encryption (EE)."""
        answer = yield from self._ask_for("NP")
        limit = int.from_bytes(answer.value, "big") if answer.ok else 0
        if limit:
            return limit
        encrypts = yield from self._ask_for("EE")
        encrypted = encrypts.ok and any(encrypts.value)
        return PAYLOAD_S1_ENCRYPTED if encrypted else PAYLOAD_S1
