"""The setup of a robot that is declared in lines: its steps, one after the other."""

from __future__ import annotations

import re

from hilgw.bodies.text.lines import shown, to_bytes
from hilgw.bodies.text.settings import TextBodySettings
from hilgw.control.events import Event, Notice, ProtocolFailure, Write
from hilgw.errors import MismatchError
from hilgw.protocols.dialogue import AskLine, Dialogue, LineScript, match_line
from hilgw.protocols.dialogue import Step as Asked
from hilgw.protocols.text.patterns import groups_of, names_of_groups
from hilgw.protocols.text.steps import Step, question

IDENTITY = "identity"


class Handshake:
    """over: the steps have ended. identity: of the robot, None when a step has failed.
    repeated: a question had to be asked again, so what was written before it may be lost."""

    def __init__(self, settings: TextBodySettings, end: bytes) -> None:
        self._settings = settings
        self._end = end
        self._dialogue: Dialogue[Event, re.Match[bytes], str | None] | None = None
        self._other = b""  # the last line that was no answer to the present step
        self.repeated = False

    def start(self, now: int) -> list[Event]:
        self.repeated = False
        self._dialogue = Dialogue(self._script(), self._write, ProtocolFailure)
        return self._dialogue.start(now)

    @property
    def over(self) -> bool:
        return self._dialogue is not None and self._dialogue.over

    @property
    def identity(self) -> str | None:
        return None if self._dialogue is None else self._dialogue.result

    @property
    def deadline(self) -> int | None:
        return None if self._dialogue is None else self._dialogue.deadline

    def take(self, line: bytes, now: int) -> list[Event]:
        """A line of the robot; one that does not answer the present step is ignored."""
        dialogue = self._dialogue
        found = None if dialogue is None else match_line(dialogue.step, line)
        if dialogue is None or found is None:
            self._other = line
            return []
        return dialogue.answer(found, now)

    def expire(self, now: int) -> list[Event]:
        return [] if self._dialogue is None else self._dialogue.expire(now)

    def _script(self) -> LineScript[Event, str | None]:
        """Returns the identity; None when the robot does not answer, or rejects a step. Raises
        MismatchError when another robot answers."""
        identity = self._settings.name
        for step in self._settings.setup:
            text = to_bytes(step.send) + self._end if step.send else b""
            if not step.expect:
                yield Write(text)
                continue
            asked = question(step, text)
            self._other = b""
            found = yield asked
            if found is None:
                yield self._silence(step, asked)
                return None
            if found.re is asked.refusal:
                yield Notice(f"the {self._settings.name} rejects {step.send!r}: {shown(found[0])}")
                return None
            named = groups_of(found).get(IDENTITY)
            if named:
                words = named.decode("latin-1").strip()
                identity = f"{self._settings.name} {words}".encode("unicode_escape").decode()
        return identity

    def _write(self, step: Asked, attempt: int) -> Event | None:
        self.repeated |= attempt > 1
        return Write(step.text) if isinstance(step, AskLine) and step.text else None

    def _silence(self, step: Step, asked: AskLine) -> Event:
        """Why a step has no answer. Raises MismatchError when another robot answered."""
        name = self._settings.name
        if not self._other:
            return Notice(
                f"no answer to {step.send!r}: is the {name} switched on, and baudRate its own?"
            )
        if IDENTITY in names_of_groups(asked.answer):
            what = f"this is not the {name}: it answered {shown(self._other)} to {step.send!r}"
            raise MismatchError(what, fix="check port, baudRate and the pattern in setup")
        return Notice(f"the {name} answered {shown(self._other)} to {step.send!r}")
