"""Command mode: lines of AT commands, answers as text."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING

from firmware_mocks.base import MS
from firmware_mocks.xbee import status
from firmware_mocks.xbee.commands import Answer

if TYPE_CHECKING:
    from firmware_mocks.xbee.module import Module

CR = 0x0D
LONGEST_LINE = 256
NAMES = frozenset(("NI", "ND", "DN"))  # commands that take text
_HEX = re.compile(r"(0[xX])?([0-9A-Fa-f]*)")


def parse_value(name: str, text: str) -> bytes | None:
    """A value as typed: hexadecimal, with or without 0x; None when there is none to parse."""
    if name in NAMES:
        return text.encode("latin-1")
    match = _HEX.fullmatch(text)
    if match is None or not match[2]:
        return None
    digits = match[2]
    return bytes.fromhex(digits.rjust(len(digits) + len(digits) % 2, "0"))


class CommandMode:
    """Between the command characters and CN (or the timeout CT)."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.active = False
        self.busy = False  # a slow command (ND, DN) has not answered yet
        self._line = bytearray()
        self._waiting: deque[str] = deque()

    def enter(self, now: int) -> None:
        self.active = True
        self._line.clear()
        self._say("OK", now)
        self._expect(now)

    def leave(self, now: int) -> None:
        """Back to work with the values that were set."""
        self.abandon()
        self.module.apply(now)
        self.module.serial.left_command_mode(now)

    def abandon(self) -> None:
        """A restart: forget all."""
        self.active = self.busy = False
        self._waiting.clear()
        self._line.clear()
        self.module.timers.stop("command mode")

    def push(self, byte: int, now: int) -> None:
        """One character from the client. A line too long is an error when it ends."""
        if byte != CR:
            if len(self._line) <= LONGEST_LINE:
                self._line.append(byte)
            return
        line, self._line = self._line.decode("latin-1"), bytearray()
        line = line.replace("\n", "")
        if line[:2].upper() != "AT" or len(line) > LONGEST_LINE:
            if line:
                self._say("ERROR", now)
            return
        self._waiting.extend(part.strip(" ") for part in line[2:].split(","))
        self._next(now)

    def _next(self, now: int) -> None:
        """Run the commands that wait, until one takes time."""
        while self._waiting and self.active and not self.busy:
            command = self._waiting.popleft()
            if command:
                self._run(command[:2].upper(), command[2:].strip(" "), now)
            else:
                self._say("OK", now)  # a bare AT

    def _run(self, name: str, text: str, now: int) -> None:
        value = parse_value(name, text) if text else None
        if text and value is None:
            self._say("ERROR", now)
            return
        self.busy = True

        def reply(answer: Answer, when: int) -> None:
            self._print(name, answer, when)

        self.module.commands.run(name, value, reply, now, hold=True)

    def _print(self, name: str, answer: Answer, now: int) -> None:
        if not self.active:
            return
        good = answer.status == status.OK
        self._say("ERROR" if not good else "OK" if answer.text is None else answer.text, now)
        if good:
            self._expect(now)
        if not answer.last:
            return
        self.busy = False
        if good and name in ("CN", "DN"):
            self.leave(now)
        else:
            self._next(now)
            self.module.serial.work(now)

    def _say(self, text: str, now: int) -> None:
        self.module.serial.say(text.encode("latin-1") + b"\r", now)

    def _expect(self, now: int) -> None:
        """A valid command: the timeout begins anew."""
        timeout = self.module.registers.number("CT") * 100 * MS
        self.module.timers.start("command mode", now + timeout, self._expire)

    def _expire(self, now: int) -> None:
        if self.busy:
            self._expect(now)  # a search may take longer than CT
        else:
            self.leave(now)
