"""AT commands, wherever they come from: API frames, command mode, another module."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from firmware_mocks.xbee import status
from firmware_mocks.xbee.registers import BadCommand, BadValue

if TYPE_CHECKING:
    from firmware_mocks.xbee.module import Module

Reply = Callable[[int, bytes, int], None]  # status, value, now


class Commands:
    """Executes commands on one module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._actions: dict[str, Callable[[int], None]] = {
            "AC": module.apply,
            "WR": lambda now: module.registers.save(),
            "RE": lambda now: module.registers.restore(),
            "FR": module.restart_soon,
            "CN": module.apply,
        }

    def run(self, name: str, value: bytes, reply: Reply, now: int, hold: bool = False) -> None:
        """Run one command. An empty value reads. `hold`: a value set waits for AC."""
        name = name.upper()
        try:
            answer = self._run(name, value, now, hold)
        except BadCommand:
            reply(status.BAD_COMMAND, b"", now)
        except BadValue:
            reply(status.BAD_PARAMETER, b"", now)
        else:
            reply(status.OK, answer, now)

    def _run(self, name: str, value: bytes, now: int, hold: bool) -> bytes:
        action = self._actions.get(name)
        if action is not None:
            action(now)
            return b""
        registers = self.module.registers
        register = registers.register(name)
        if not value:
            return register.encode(self.module.reading(name))
        registers.set(name, value)
        if not hold:
            self.module.apply(now)
        return b""
