"""Plan of a stop, which the session of a body makes."""

from hilgw.control.events import Command, Event
from hilgw.records import record


@record
class StopPlan:
    """A stop in step with what else the session writes.

    events: what leaves now; without a Write it leaves with the next request, and `StopSent` reports
    it then. commands: what it sets the motors to. copies: how often the control loop writes it, at
    least 30 ms apart, as a serial line may damage it and the robot acknowledges none; 0: the stream
    is reliable, or the session itself repeats the stop until the robot has acknowledged it
    (`is_idle`). is_asked: after each copy the session asks whether the robot has it, and reports
    one that it has not.
    """

    events: list[Event]
    commands: tuple[Command, ...] = ()
    copies: int = 0
    is_asked: bool = False
