"""The periods that a controller has set: of sensors, and of the feedback of motors.

The controller's session leaves out unwanted values anyway; a body that can switch its devices also
saves the bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hilgw.control.events import FeedbackSwitch, SensorSwitch, Write

if TYPE_CHECKING:
    from hilgw.bodies.base import BodySession
    from hilgw.control.events import Event
    from hilgw.engine.control_loop.bodies.body_end import BodyEnd

Switch = SensorSwitch | FeedbackSwitch


class Periods:
    """Keeps the periods, for a body that takes another's place and for the end of a controller."""

    def __init__(self) -> None:
        self._sensors: dict[int, SensorSwitch] = {}
        self._feedback: dict[int, FeedbackSwitch] = {}

    def switch(self, end: BodyEnd, switch: Switch, now: int) -> None:
        """The controller sets a period."""
        if isinstance(switch, FeedbackSwitch):
            self._feedback[switch.index] = switch
        elif switch.period_ms is None:
            self._sensors.pop(switch.index, None)
        else:
            self._sensors[switch.index] = switch
        self.give(end, switch, now)

    def apply(self, end: BodyEnd, now: int) -> None:
        """Gives this body the periods."""
        for switch in self._sensors.values():
            self.give(end, switch, now)
        for feedback in self._feedback.values():
            self.give(end, feedback, now)

    def restore(self, end: BodyEnd, now: int) -> None:
        """Gives this body its own periods again."""
        for index in self._sensors:
            self.give(end, index, now)
        for index in self._feedback:
            self.give(end, FeedbackSwitch(index, 0), now)

    def forget(self) -> None:
        """The controller is gone."""
        self._sensors.clear()
        self._feedback.clear()

    @staticmethod
    def give(end: BodyEnd, switch: Switch | int, now: int) -> None:
        """Gives this body one period. switch: an index means the own period of this sensor. A
        refusal of the body makes no difference to the controller."""
        if end.link.transport is None:
            return
        index = switch if isinstance(switch, int) else switch.index
        kind = type(switch).__name__ if isinstance(switch, FeedbackSwitch) else "period"

        def write(now: int) -> None:
            end.link.call(now, _bytes_of, end.link.session, switch, now)

        end.when_free(index, kind, write, now)


def _bytes_of(session: BodySession, switch: Switch | int, now: int) -> list[Event]:
    if isinstance(switch, int):
        switch = SensorSwitch(switch, session.own_period(switch))
    if isinstance(switch, FeedbackSwitch):
        events = session.tune(switch, now)
    else:
        events = session.switch(switch.index, switch.period_ms, now)
    return [event for event in events if type(event) is Write]
