"""A body's session and its mock in simulated time: what one writes, the other receives."""

from typing import Any

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
    """With motors and sensors by their names. delay_ms: of what the robot sends, which arrives in
    order, as behind a USB adapter."""

    session: Any
    delay_ms = 0
    _arrives = 0  # what was last delayed

    def collected(self, data: bytes) -> None:
        arrive, due = super().collected, self.now + self.delay_ms * MS
        if due == self.now > self._arrives:
            arrive(data)
        else:
            self._arrives = max(due, self._arrives)
            self.world.clock.call_at(self._arrives, lambda: arrive(data))

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
