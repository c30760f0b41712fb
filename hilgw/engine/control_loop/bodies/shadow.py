"""A shadow: a second body that gets the controller's commands, and is compared with the first."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hilgw.control.divergence import Comparison, Divergence, as_dict
from hilgw.control.events import (
    BrakeDamping,
    Command,
    Disconnected,
    Event,
    FeedbackSwitch,
    LedValue,
    ProtocolFailure,
    SensorSwitch,
    SensorValue,
    StopReason,
)
from hilgw.devices.kinds import Device, Value
from hilgw.engine.control_loop.bodies.body_end import BodyEnd
from hilgw.engine.control_loop.parts import LoopContext
from hilgw.engine.observer import ValueEvent
from hilgw.engine.reporting.statistics import ControlLoopStatistics


class Shadow:
    """Commands of the controller that the first body accepted go to the second one, too.

    Its own limits and its own safety decide. Nothing that it does or fails to do reaches the
    controller. Observers get what is compared, as values of ROBOT.body and ROBOT.remote.

    align(end, now): gives the body the indices of the table; returns False while that is not
    complete. statistics: of the commands that the second body got as a shadow. newest: the values
    of both that were compared last.
    """

    def __init__(
        self,
        end: BodyEnd,
        comparison: Comparison,
        align: Callable[[BodyEnd, int], bool],
        context: LoopContext,
    ) -> None:
        self.end = end
        self.newest: dict[tuple[str, str], ValueEvent] = {}
        self._observer = context.observer
        self._first = f"{end.link.name.rpartition('.')[0]}.body"
        self.comparison = comparison
        self.statistics = end.safety.statistics = ControlLoopStatistics(context.statistics)
        self._align = align
        self._is_aligned = False

    def realign(self) -> None:
        """Begin anew: the devices of one of the bodies are void."""
        self._is_aligned = False

    def is_ready(self, now: int) -> bool:
        """Return whether both bodies have registered their devices."""
        if not self._is_aligned and self.end.is_registered(now):
            self._is_aligned = self._align(self.end, now)
        return self._is_aligned

    # --- the first body -----------------------------------------------------------------------

    def command(self, command: Command, now: int) -> None:
        """Execute a command that the first body accepted."""
        if self.is_ready(now):
            self.end.command(command, now)

    def stop_motor(self, index: int, now: int) -> None:
        """Stop this motor, as the first body refused a command to it and stopped it."""
        if self.is_ready(now):
            self.end.stop_motor(index, now)

    def tune(self, command: LedValue | BrakeDamping, now: int) -> None:
        """Set an LED or a brake."""
        if not self.is_ready(now):
            return
        link = self.end.link
        if refusal := self.end.safety.check_value(command):
            self.statistics.refused[refusal.reason] += 1
            return
        self.end.deferred.put(
            command.index,
            type(command).__name__,
            lambda now: link.call(now, link.session.tune, command, now),
        )

    def switch(self, switch: SensorSwitch | FeedbackSwitch, now: int) -> None:
        if self.is_ready(now):
            self.end.switch(switch, now)

    def first(
        self, values: Sequence[tuple[int, Value]], devices: Mapping[int, Device], now: int
    ) -> None:
        """Compare values of the first body's sensors.

        devices: the table.
        """
        if self.is_ready(now):
            for index, value in values:
                if (device := devices.get(index)) is not None:
                    self.comparison.first(device.name, value, device.reports, now)
                    self._show(ValueEvent(self._first, device.name, value, now))

    # --- the second body ----------------------------------------------------------------------

    def handle(self, events: list[Event], devices: Mapping[int, Device], now: int) -> None:
        """Handle the events of the second body's session."""
        for event in events:
            match event:
                case SensorValue(index, value):
                    if self.is_ready(now) and (device := devices.get(index)) is not None:
                        self.comparison.second(device.name, value, device.reports, now)
                        self._show(ValueEvent(self.end.link.name, device.name, value, now))
                case Disconnected() | ProtocolFailure():
                    self.stop(now)

    def stop(self, now: int) -> None:
        """Stop comparing: the second body is gone."""
        self.realign()
        self.end.safety.stop(StopReason.BODY, now)

    def _show(self, event: ValueEvent) -> None:
        self.newest[event.robot, event.device] = event
        if (report := self._observer.sensor_value) is not None:
            report(event)

    # --- the difference -----------------------------------------------------------------------

    def divergences(self) -> Mapping[str, Divergence]:
        """Return the differences so far; observers get them once a second."""
        self.comparison.estimate_one_delay()
        return self.comparison.divergences()


def divergence_report(comparison: Comparison) -> dict[str, Any]:
    """Return the differences by sensor, for `--report`."""
    comparison.estimate_delays()
    return {name: as_dict(each) for name, each in comparison.divergences().items()}
