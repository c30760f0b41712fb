"""A body's session and its mock in simulated time: what one writes, the other receives."""

from typing import Any

import pytest

from hilgw.control import events as control
from hilgw.devices.kinds import Refusal
from hilgw.testing.co_simulation import BodyLine

MS = 1_000_000


def commanded(session: Any, command: control.Command, now: int) -> list[control.Event]:
    """The events of a command, and those that the control loop makes of its outcome."""
    outcome, events = session.command(command, now)
    if not isinstance(outcome, Refusal):
        return list(events)
    return [*events, control.RefusedRequest(command.index, outcome.reason, outcome.text)]


class BodyBench(BodyLine):
    """With motors and sensors by their names."""

    session: Any

    def open(self, milliseconds: int = 200) -> None:
        self.connect()
        self.run(milliseconds)

    def index(self, name: str) -> int:
        device = self.session.devices.by_name(name)
        assert device is not None, name
        return int(device.index)

    def command(self, name: str, field: str, value: float) -> list[Any]:
        return self.give(control.MotorCommand(self.index(name), field, value))

    def settings(self, name: str, *values: float) -> list[Any]:
        """Position, velocity, acceleration and available torque at once."""
        return self.give(control.MotorSettings(self.index(name), *values))

    def give(self, command: control.Command) -> list[Any]:
        """Returns the events of a command but Write."""
        return self.handle(commanded(self.session, command, self.now))

    def enable(self, name: str, period_ms: float | None = None) -> None:
        self.handle(self.session.switch(self.index(name), period_ms, self.now))

    def found(self, kind: type[Any]) -> list[Any]:
        """The events of this kind; forgets them."""
        found = self.of(kind)
        self.events = [event for event in self.events if not isinstance(event, kind)]
        return found

    def values(self) -> dict[str, Any]:
        """The last value of each sensor by name; forgets them."""
        return {
            self.session.devices.by_index(event.index).name: event.value
            for event in self.found(control.SensorValue)
        }


class LateLine:
    """Delays what the robot sends, as a USB adapter does, in order: `delay_ms` may change."""

    def __init__(self, line: BodyBench, monkeypatch: pytest.MonkeyPatch) -> None:
        self.delay_ms = 0
        self._line = line
        self._under_way: list[tuple[int, bytes]] = []
        monkeypatch.setattr(line, "collected", self._collect)

    def _collect(self, data: bytes) -> None:
        due = self._line.now + self.delay_ms * MS
        self._under_way.append((max([due, *(at for at, _ in self._under_way)]), data))
        self._deliver()

    def run(self, milliseconds: int) -> None:
        for _ in range(milliseconds):
            self._line.run(1)
            self._deliver()

    def _deliver(self) -> None:
        line = self._line
        while self._under_way and self._under_way[0][0] <= line.now:
            line.handle(line.session.receive(self._under_way.pop(0)[1], line.now))
