"""The handshake of both modes of an XBee: the answers are frames, or lines of command mode."""

from __future__ import annotations

from hilgw.adapters._common.module import ModuleSession
from hilgw.adapters.base import Event, Failed, StationSettings, Write
from hilgw.adapters.xbee import describe as words
from hilgw.adapters.xbee.api_frames import encode
from hilgw.adapters.xbee.command_modes import Answer, AskAt, AwaitNetwork, Commands, commands_for
from hilgw.adapters.xbee.frames import AtCommand, AtResponse, Frame, ModemStatus
from hilgw.adapters.xbee.handshake import handshake
from hilgw.adapters.xbee.module import XBeeModule
from hilgw.adapters.xbee.settings import XBeeSettings
from hilgw.framing.lines import LineSplitter
from hilgw.protocols.dialogue import AskLine, Dialogue, Step, match_line
from hilgw.reasons import PacketRefused

LONGEST_LINE = 64


class XBeeHandshake(Dialogue[Event, Answer, XBeeModule]):
    """Runs the handshake once.

    rest: bytes after the last line of command mode.
    """

    def __init__(self, settings: XBeeSettings, common: StationSettings, commands: Commands) -> None:
        super().__init__(handshake(settings, common, commands), self._question, Failed)
        self._commands = commands
        self._escaped = settings.api_mode == 2
        self._asked: set[int] = set()  # frame ids under which the current step was asked
        self._lines = LineSplitter([b"\r"], LONGEST_LINE, keeps_tail=True)
        self.rest = b""

    def take_frame(self, frame: Frame, now: int) -> list[Event] | None:
        """A good frame came in that may be an answer; None when the handshake must begin again."""
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
        """Bytes as they came in: in command mode they are lines."""
        self._commands.received_bytes = True
        if not isinstance(self.step, AskLine):
            return []
        *ended, rest = data.split(b"\r")
        for number, text in enumerate(ended, 1):
            for line in self._lines.feed(text + b"\r"):
                if found := match_line(self.step, line):
                    self.rest = b"\r".join([*ended[number:], rest])
                    return self.answer(found, now)
        self._lines.feed(rest)
        return []

    def _question(self, step: Step, attempt: int) -> Event | None:
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
        super().__init__(common.baudRate)
        self._settings = settings
        self._common = common
        self._commands = commands_for(settings, common)

    def open(self, now: int) -> list[Event]:
        self._commands = commands_for(self._settings, self._common)
        return super().open(now)

    def _new_handshake(self) -> XBeeHandshake:
        return XBeeHandshake(self._settings, self._common, self._commands)

    def _begin_packets(self, module: XBeeModule, now: int) -> list[Event]:
        self._restarts.clear()
        self._commands = commands_for(self._settings, self._common)
        return []

    def _take_answer(self, frame: Frame, now: int) -> list[Event]:
        """A frame in the handshake."""
        events = self._dialogue.take_frame(frame, now) if self._dialogue else []
        if events is None:
            return self._restart("", PacketRefused.RESET, now)
        return self._after_dialogue(events, now)
