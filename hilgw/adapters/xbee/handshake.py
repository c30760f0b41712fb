"""Runs the conversation with an XBee over bytes, frames and deadlines, sans-I/O."""

from __future__ import annotations

import re

from hilgw.adapters.base import Event, Failed, Notice, StationSettings, Write
from hilgw.adapters.xbee import describe as words
from hilgw.adapters.xbee.dialects import dialect_for
from hilgw.adapters.xbee.frames import AtCommand, AtResponse, Frame, ModemStatus
from hilgw.adapters.xbee.modules import Module
from hilgw.adapters.xbee.script import Conversation
from hilgw.adapters.xbee.settings import XBeeSettings
from hilgw.adapters.xbee.steps import Answer, Ask, AwaitNetwork, Silence, Step, Type
from hilgw.errors import HilgwError, PeerError
from hilgw.framing.xbee_api import encode

SECOND_NS = 1_000_000_000
TRIES = 3
MAX_STARTS = 6
MAX_LINE = 64


class Handshake:
    """One run from the open port to a `module`, or to Failed.

    `deadline`: when `expire` wants to be called. `rest`: bytes behind the last line of command
    mode. A module that restarts in the middle begins anew, a few times.
    """

    def __init__(self, settings: XBeeSettings, common: StationSettings) -> None:
        self._dialect = dialect_for(settings, common)
        self._conversation = Conversation(settings, common, self._dialect)
        self._escaped = settings.api_mode == 2
        self._starts = self._frame_id = 0
        self.module: Module | None = None
        self.deadline: int | None = None
        self.rest = b""
        self._begin()

    def _begin(self) -> None:
        self._script = self._conversation.converse()
        self._step: Step | None = None
        self._asked: set[int] = set()
        self._tries = 0
        self._line = b""

    # --- the runner ---------------------------------------------------------------------------

    def start(self, now: int) -> list[Event]:
        self._begin()
        self._starts += 1
        if self._starts > MAX_STARTS:
            self.deadline = None
            return [Failed(PeerError("the module keeps restarting", fix="check its power supply"))]
        return self._advance(None, now)

    def take_packet(self) -> None:
        """A good frame came in that is no answer."""
        self._dialect.heard_frames = True

    def take_frame(self, frame: Frame, now: int) -> list[Event]:
        """A good frame came in that may be one."""
        self._dialect.heard_frames = True
        step = self._step
        if isinstance(frame, ModemStatus):
            if frame.status in words.RESETS:
                return self.start(now)
            joined = isinstance(step, AwaitNetwork) and frame.status in words.JOINED
            return self._advance(None, now) if joined else []
        if isinstance(frame, AtResponse):
            if isinstance(step, Ask):
                if frame.name == step.name and frame.frame_id in self._asked:
                    return self._advance(frame, now)
            elif isinstance(step, Type | Silence):
                return self.start(now)  # a slow answer: it does speak API
        return []

    def take_text(self, data: bytes, now: int) -> list[Event]:
        """Bytes as they came in: in command mode they are lines."""
        self._dialect.heard_bytes = True
        if not isinstance(self._step, Type):
            return []
        *lines, rest = (self._line + data).split(b"\r")
        for number, line in enumerate(lines, 1):
            found = re.search(self._step.answer + rb"\Z", line[-MAX_LINE:])
            if found:
                events = self._advance(found.group(), now)
                self.rest = b"\r".join([*lines[number:], rest])
                return events
        self._line = rest[-MAX_LINE:]
        return []

    def expire(self, now: int) -> list[Event]:
        if self.deadline is None or now < self.deadline:
            return []
        if isinstance(self._step, Ask) and self._tries < TRIES:
            return [self._ask(self._step, now)]
        return self._advance(None, now)

    def _advance(self, answer: Answer, now: int) -> list[Event]:
        """Hand the answer to the script and do what it wants next."""
        events: list[Event] = []
        self.deadline = None
        while True:
            try:
                step = self._script.send(answer)
            except StopIteration as done:
                self._step, self.module = None, done.value
                return events
            except HilgwError as error:
                self._step = None
                return [*events, Failed(error)]
            if not isinstance(step, Notice):
                break
            events.append(step)
            answer = None
        self._step, self._line = step, b""
        if isinstance(step, Ask):
            self._asked.clear()
            self._tries = 0
            return [*events, self._ask(step, now)]
        if isinstance(step, Type):
            self.deadline = now + int(step.timeout_s * SECOND_NS)
            return [*events, Write(step.text)]
        self.deadline = now + int(step.seconds * SECOND_NS)
        return events

    def _ask(self, step: Ask, now: int) -> Write:
        # With the first ids no byte of the request for AP or of its answer needs an escape, so
        # both API modes understand them and the wrong one is recognised.
        self._frame_id = self._frame_id % 255 + 1
        self._asked.add(self._frame_id)
        self._tries += 1
        self.deadline = now + int(step.timeout_s * SECOND_NS)
        command = AtCommand(self._frame_id, step.name, step.value, step.queued)
        return Write(encode(command.pack(), self._escaped))
