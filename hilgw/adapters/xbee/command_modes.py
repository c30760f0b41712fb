"""Two ways to send AT commands to an XBee: in API frames, and as text in command mode.

Source: Digi's user guides, "AT commands", "Command mode".
"""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TypeVar

from hilgw.adapters.base import Event, StationSettings
from hilgw.adapters.xbee.frames import AtResponse
from hilgw.adapters.xbee.settings import XBeeSettings
from hilgw.errors import MismatchError, PeerError
from hilgw.protocols import dialogue
from hilgw.protocols.dialogue import LONGEST_ANSWER, AskLine, DialogueStep, Pause

FIND_TIMEOUT_S = 0.5
TRIES = 3
GUARD_S = 1.1  # GT, 1000 ms from the factory: the silence before +++
COMMAND_OK_S = 2.0  # the module answers OK only after the silence that follows +++

_MODES = {0: "transparent mode", 4: "MicroPython mode"}
# Packets may precede the OK to +++. In command mode the module holds them back, so that an answer
# is a whole line: in noise many lines end like one.
_OK = re.compile(rb"OK\Z")
_DONE_OK = re.compile(rb"\AOK\Z")
_MODE = re.compile(rb"\A[0-9A-Fa-f]{1,4}\Z")
_DONE = re.compile(rb"\A(?:OK|ERROR)\Z")
_VALUE = re.compile(rb"\A(?:ERROR|[0-9A-Fa-f]{1,16})\Z")


@dataclass(frozen=True, slots=True)
class AskAt(DialogueStep):
    """An AT command in a frame; the answer is an AtResponse."""

    name: str
    value: bytes = b""
    queued: bool = True

    @property
    def line_bytes(self) -> int:
        return LONGEST_ANSWER


@dataclass(frozen=True, slots=True)
class AwaitNetwork(DialogueStep):
    """Wait until the module reports that it has joined or formed its network."""

    timeout_s: float


Answer = AtResponse | re.Match[bytes]
T = TypeVar("T")
Script = dialogue.Script[Event, Answer, T]


def commands_for(settings: XBeeSettings, common: StationSettings) -> "Commands":
    return ApiCommands(settings, common) if settings.api_mode else TextCommands(settings, common)


class Commands(ABC):
    """A way to send commands, and the errors that both ways share.

    received_bytes, received_frames: whether any came in so far; the runner sets them, so that the
    error for a missing answer can name the cause. frame_id: of the last command in a frame.
    """

    def __init__(self, settings: XBeeSettings, common: StationSettings) -> None:
        self._wanted = settings.api_mode
        self._baud = common.baudRate
        self.received_bytes = self.received_frames = False
        self.frame_id = 0

    @abstractmethod
    def find(self) -> Script[None]:
        """Find a module in the mode of the settings.

        PeerError or MismatchError if there is none.
        """

    @abstractmethod
    def ask(self, name: str, value: bytes = b"", queued: bool = True) -> Script[AtResponse | None]:
        """Send one command and return its answer; None when no answer came."""

    def leave(self) -> Script[None]:
        """End the commands: the last one has been sent."""
        yield from ()

    def _no_answer(self) -> PeerError:
        if self.received_frames:
            return PeerError(
                "the module sends API frames but does not answer commands",
                fix="check the wire from the host's TX to the module's DIN, and CTS and RTS",
            )
        if self.received_bytes:
            return PeerError(
                "the received bytes are neither API frames nor answers",
                fix=f"check that the module's BD is {self._baud} baud (`hilgw scan` finds its "
                "rate), and that it is an XBee",
            )
        return PeerError(
            "the module does not answer, in API mode or in command mode",
            fix="check power, that TX and RX are not swapped, that its BD is "
            f"{self._baud} baud (`hilgw scan` finds its rate), and that it does not sleep (SM)",
        )

    def _wrong_mode(self, mode: int) -> MismatchError:
        name = _MODES.get(mode, f"mode {mode}")
        wanted = f"API mode {self._wanted}" if self._wanted else "transparent mode (api_mode: 0)"
        return MismatchError(
            f"the module is in {name} (AP = {mode}), the configuration requires {wanted}",
            fix=f"in a terminal at {self._baud} baud type +++ without Enter, with one second "
            f"of silence before and after it; after OK type ATAP{self._wanted}, ATWR and ATCN, "
            f"each with Enter. Or set AP = {self._wanted} in XCTU and write it",
        )


class ApiCommands(Commands):
    """Frames 08 and 09, in API mode 1 or 2."""

    def find(self) -> Script[None]:
        answer = yield AskAt("AP", timeout_s=FIND_TIMEOUT_S, tries=TRIES)
        if not isinstance(answer, AtResponse):
            yield from self._probe_command_mode()
            return
        mode, wanted = int.from_bytes(answer.value, "big"), self._wanted
        if answer.ok and answer.value and mode != wanted:
            raise MismatchError(
                f"the module is in API mode {mode} (AP = {mode}), the configuration requires "
                f"{wanted}",
                fix=f"set api_mode: {mode} here, or AP = {wanted} in the module with XCTU",
            )

    def _probe_command_mode(self) -> Script[None]:
        yield Pause(GUARD_S)
        ok = yield AskLine(b"+++", _OK, timeout_s=COMMAND_OK_S)
        if ok is None:
            raise self._no_answer()
        answer = yield AskLine(b"ATAP\r", _MODE)
        left = yield AskLine(b"ATCN\r", _DONE_OK)
        if not isinstance(answer, re.Match) or left is None:
            raise PeerError(
                "the module enters command mode but does not answer ATAP and ATCN",
                fix="check that it is an XBee, and restart it",
            )
        mode = int(answer[0], 16)
        if mode == self._wanted:
            raise PeerError(
                f"the module is in API mode {mode} but does not answer API frames",
                fix="restart it",
            )
        raise self._wrong_mode(mode)

    def ask(self, name: str, value: bytes = b"", queued: bool = True) -> Script[AtResponse | None]:
        answer = yield AskAt(name, value, queued, tries=TRIES)
        return answer if isinstance(answer, AtResponse) else None


class TextCommands(Commands):
    """Command mode: settings take effect with AC, CN ends it. Values are hexadecimal text."""

    def find(self) -> Script[None]:
        yield Pause(GUARD_S)
        ok = yield AskLine(b"+++", _OK, timeout_s=COMMAND_OK_S)
        if ok is None:
            yield from self._probe_frames()
        answer = yield from self.ask("AP")
        if answer is None or not answer.ok:
            raise PeerError(
                "the module enters command mode but does not answer ATAP",
                fix="check that it is an XBee, and restart it",
            )
        mode = int.from_bytes(answer.value, "big")
        if mode:
            yield from self.leave()
            raise _api_mode_error(mode) if mode in (1, 2) else self._wrong_mode(mode)

    def _probe_frames(self) -> Script[None]:
        answer = yield AskAt("AP", timeout_s=FIND_TIMEOUT_S, tries=TRIES)
        if not isinstance(answer, AtResponse):
            raise self._no_answer()
        raise _api_mode_error(int.from_bytes(answer.value, "big"))

    def ask(self, name: str, value: bytes = b"", queued: bool = True) -> Script[AtResponse | None]:
        shown = f"{int.from_bytes(value, 'big'):X}" if value else ""
        changes = bool(value) or not queued
        line = yield AskLine(f"AT{name}{shown}\r".encode("ascii"), _DONE if changes else _VALUE)
        if not isinstance(line, re.Match):
            return None
        if line[0] == b"ERROR":
            return AtResponse(0, name, 1)
        digits = "" if changes else line[0].decode("ascii")
        return AtResponse(0, name, 0, bytes.fromhex(digits.zfill(len(digits) + len(digits) % 2)))

    def leave(self) -> Script[None]:
        yield AskLine(b"ATCN\r", _DONE_OK)


def _api_mode_error(mode: int) -> MismatchError:
    return MismatchError(
        f"the module is in API mode {mode} (AP = {mode}), the configuration requires transparent "
        "mode (AP = 0)",
        fix=f"set api_mode: {mode} here, or AP = 0 in the module with XCTU",
    )
