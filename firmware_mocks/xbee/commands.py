"""AT commands, wherever they come from: API frames, command mode, another module."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from firmware_mocks.xbee import status
from firmware_mocks.xbee.registers import BadCommand, BadValue, Register

if TYPE_CHECKING:
    from firmware_mocks.xbee.module import Module


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer to a command; ND gives several, all but one with last=False.

    value: as frames carry it. text: as command mode prints it, None for a plain OK.
    """

    status: int = status.OK
    value: bytes = b""
    text: str | None = None
    last: bool = True


Reply = Callable[[Answer, int], None]

LOCAL_ONLY = frozenset(("ND", "DN", "CN"))


def as_text(register: Register, value: int | bytes) -> str:
    """A value as command mode prints it: text as it is, numbers in hexadecimal."""
    if register.access == "w":
        return ""
    return value.decode("latin-1") if isinstance(value, bytes) else f"{value:X}"


class Commands:
    """Executes commands on one module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._actions: dict[str, Callable[[int], None]] = {
            "AC": module.apply,
            "CN": module.apply,
            "WR": lambda now: module.registers.save(),
            "RE": lambda now: module.registers.restore(),
            "FR": module.restart_soon,
        }

    def run(
        self, name: str, value: bytes | None, reply: Reply, now: int, *, hold: bool = False
    ) -> None:
        """Run one command; `reply` gets at least one answer, now or later.

        Without a value it reads. hold: a value that is set waits for AC.
        """
        if name == "ND":
            self.module.discovery.search(value or b"", reply, now)
        elif name == "DN":
            self.module.discovery.resolve(value or b"", reply, now)
        else:
            reply(self._answer(name, value, now, hold), now)

    def _answer(self, name: str, value: bytes | None, now: int, hold: bool) -> Answer:
        action = self._actions.get(name)
        if action is not None:
            action(now)
            if name == "RE" and not hold:
                self.module.apply(now)
            return Answer()
        try:
            if value is None:
                return self._read(name)
            self._set(name, value, now, hold)
        except BadCommand:
            return Answer(status.BAD_COMMAND)
        except BadValue:
            return Answer(status.BAD_PARAMETER)
        return Answer()

    def _read(self, name: str) -> Answer:
        register = self.module.registers.register(name)
        value = self.module.reading(name)
        return Answer(value=register.encode(value), text=as_text(register, value))

    def _set(self, name: str, value: bytes, now: int, hold: bool) -> None:
        stored = self.module.registers.register(name).parse(value)
        if name == "BD" and isinstance(stored, int):
            stored = self.module.hardware.stored_rate(stored)
        self.module.registers.hold(name, stored)
        if not hold:
            self.module.apply(now)
