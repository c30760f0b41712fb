"""Stream of events, which the engine reports to observers, such as the terminal, the log, tests.

An `Observer` overrides the events of interest. `Observers` is the fan-out that the whole engine
reports to; observers are added to it and removed from it at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MethodType
from typing import TYPE_CHECKING, Any

from hilgw.engine.reporting.latency import Latency
from hilgw.records import record

if TYPE_CHECKING:
    from hilgw.control.divergence import Divergence
    from hilgw.control.events import Command, Outcome
    from hilgw.control.modes import RobotMode
    from hilgw.devices.kinds import Device, Value
    from hilgw.medium.medium import Missed
    from hilgw.medium.packet import Copy, Packet
    from hilgw.medium.pose import Pose
    from hilgw.reasons import NotReceivedReason


class State(StrEnum):
    """The states of a supervised port."""

    WAITING = "waiting"  # the port is absent; checked every 100 ms
    OPENING = "opening"
    HANDSHAKE = "handshake"
    UP = "up"
    STALLED = "stalled"  # it takes no bytes, or does not answer: about to be reopened
    BACKOFF = "back-off"  # the last try failed; the next one follows
    FAILED = "failed"  # not the configured device, or too many faults: stays down
    RELEASED = "released"  # another program has it; its reason is "to PROGRAM (process N)"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class ControlLoopStatus:
    """The state of a control loop.

    Last values of sensors and last commands of motors (setting -> value) by device name; rates
    since the last status; latency from sensor in to motor out of the whole run; the devices, by
    name; whether the motors may move; whether a controller runs. mode: of a robot with two bodies,
    else empty; divergences: of its shadow, by sensor. past_sensors, past_motors: of before the body
    was lost, while there is nothing newer; body_down_s: for how long it has been lost, None while
    it is not.
    """

    sensors: Mapping[str, Value]
    motors: Mapping[str, Mapping[str, float]]
    values_per_s: float
    commands_per_s: float
    latency: Latency
    devices: Mapping[str, Device] = field(default_factory=dict)
    armed: bool = True
    controller: bool = True
    mode: str = ""
    divergences: Mapping[str, Divergence] = field(default_factory=dict)
    past_sensors: Mapping[str, Value] = field(default_factory=dict)
    past_motors: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    body_down_s: float | None = None


@record
class CommandEvent:
    """A motor command that a controller gave.

    robot, body, device: names; body is "" for the only body of a robot. command: in Webots' units,
    its index is that of the controller's session. outcome: a command that waits is reported again
    when it is sent, refused or replaced. applied: the settings that the body was sent last, also by
    a stop. now: nanoseconds of the gateway's clock.
    """

    robot: str
    body: str
    device: str
    command: Command
    outcome: Outcome
    applied: Mapping[str, float]
    now: int


@record
class ValueEvent:
    """A value of a sensor that was passed on to the controller.

    robot ROBOT.body, ROBOT.remote: it was compared with that of the other body. value: in the units
    of the device's `reports`. now: nanoseconds of the gateway's clock.
    """

    robot: str
    device: str
    value: Value
    now: int


class Direction(StrEnum):
    """The direction of bytes on a line, as hilgw sees it."""

    RECEIVED = "received"
    SENT = "sent"


@record
class LineEvent:
    """Bytes that were read from or written to the line of a part, exactly as in that one call.

    part: the name of the station, the control loop's end or the mock. now: nanoseconds of the
    gateway's clock, when they were read, or handed to the operating system.
    """

    part: str
    direction: Direction
    data: bytes
    now: int


@record
class FrameEvent:
    """A frame of a station's line.

    Bytes that its adapter sent together, or that it received up to the event that they caused.
    describe: the frame in words; never raises.
    """

    station: str
    direction: Direction
    data: bytes
    describe: Callable[[bytes], str]


@record
class PoseEvent:
    """Another pose of an object of the scene.

    Of its motion, when a packet is sent or a mock follows it; or set by a request or by motion
    capture.

    pose: metres and a unit quaternion; None: unknown. now: nanoseconds of the gateway's clock, from
    which on it is there.
    """

    name: str
    pose: Pose | None
    now: int


class Observer:
    """An observer that does nothing: override the events of interest.

    The event loop calls it: it must be quick.

    The events that are None here are reported often, or cost something to build: where no observer
    overrides one, nothing is built. Who reports such an event tests for None first:

        if (report := observer.pose_change) is not None:
            report(PoseEvent(name, pose, now))

    observed: the kinds of which it gets those that it overrides, where it is added without others.
    """

    observed: Sequence[str]

    transmitted: (
        Callable[[Packet, Sequence[str], NotReceivedReason | None, Missed], None] | None
    ) = None
    """A packet passed the medium: (packet, listeners, not_received, missed). It went to these
    listeners, or to none for the reason not_received.

    missed: may be called before this returns; the other listeners on the channel, and why each did
    not receive it.
    """

    motor_command: Callable[[CommandEvent], None] | None = None
    sensor_value: Callable[[ValueEvent], None] | None = None
    line_bytes: Callable[[LineEvent], None] | None = None
    frame: Callable[[FrameEvent], None] | None = None
    pose_change: Callable[[PoseEvent], None] | None = None
    link: Callable[[str, Mapping[str, Any]], None] | None = None
    """About once a second, for each other gateway of the federation: the name of its port, and what
    `Federated.status` has of it."""

    def state(self, station: str, state: State, reason: str) -> None: ...

    def delivered(self, station: str, copy: Copy) -> None: ...

    def refused(self, station: str, reason: str, text: str) -> None: ...

    def notice(self, source: str, text: str) -> None: ...

    def output(self, source: str, line: str) -> None:
        """Take a line that a child process printed. It may contain any characters."""

    def stopped(self, robot: str, reason: str, text: str) -> None:
        """Take the stop that the motors of a robot were sent.

        reason: a word; text: the same for people.
        """

    def armed(self, robot: str, armed: bool, text: str) -> None:
        """Take whether the motors of a robot may move from now on.

        text: for people; empty where `stopped` or a notice contains it.
        """

    def mode(self, robot: str, mode: RobotMode) -> None:
        """Take the mode that the controller of a robot with two bodies has from now on."""

    def control_loop(self, robot: str, status: ControlLoopStatus) -> None:
        """Take the status of each control loop, once a second."""


KINDS = tuple(name for name in vars(Observer) if not name.startswith("_"))
"""What can be observed: the names of the methods."""
Observer.observed = KINDS


class Observers(Observer):
    """The fan-out of events: each goes to all observers that take its kind.

    They get it in the order in which they were added.

    Observers may be added and removed at any time, also by an observer during an event, which still
    goes to those that took it before. An exception in an observer reaches neither the others nor
    the engine: `on_fault` gets the first one of each observer, which receives further events.
    """

    def __init__(
        self,
        *observers: Observer,
        on_fault: Callable[[Observer, Exception], None] = lambda observer, error: None,
    ) -> None:
        self._on_fault = on_fault
        self._kinds: dict[int, tuple[Observer, frozenset[str]]] = {}  # by id: equal ones are two
        self._faulty: set[int] = set()
        self._switches: dict[str, Callable[[Callable[..., None] | None], None]] = {}
        for observer in observers:
            self.add(observer)

    def add(self, observer: Observer, kinds: Iterable[str] | None = None) -> None:
        """Give the observer, from now on, the events of these kinds that it overrides.

        kinds: None: those that it names as `observed`, or all. They replace those that it got
        before.
        """
        kinds = observer.observed if kinds is None else kinds
        self._kinds[id(observer)] = observer, frozenset(k for k in kinds if _takes(observer, k))
        self._bind()

    def remove(self, observer: Observer) -> None:
        """Remove the observer, which gets no further events.

        Nothing happens to one that was not added.
        """
        self._kinds.pop(id(observer), None)
        self._faulty.discard(id(observer))
        self._bind()

    def switch(self, kind: str, on: Callable[[Callable[..., None] | None], None]) -> None:
        """Call `on` with what reports this kind to those that take it, None where none does.

        Now, and after each change. For a kind whose events cost something before they are reported.
        """
        self._switches[kind] = on
        on(vars(self).get(kind))

    def _bind(self) -> None:
        """Set the method of each kind to what reaches those that take it, and no others."""
        for kind in KINDS:
            sinks = [
                self._contained(each, kind) for each, kinds in self._kinds.values() if kind in kinds
            ]
            vars(self).pop(kind, None)  # the class's is idle
            if sinks:
                setattr(self, kind, sinks[0] if len(sinks) == 1 else _to_all(sinks))
            if kind in self._switches:
                self._switches[kind](vars(self).get(kind))

    def _contained(self, observer: Observer, kind: str) -> Callable[..., None]:
        sink = getattr(observer, kind)

        def report(*event: object) -> None:
            try:
                sink(*event)
            except Exception as error:  # noqa: BLE001 - neither the others nor the engine fail
                if id(observer) not in self._faulty:
                    self._faulty.add(id(observer))
                    self._on_fault(observer, error)

        return report


def _takes(observer: Observer, kind: str) -> bool:
    usual = getattr(Observer, kind)
    return bool(getattr(observer, kind) != (usual and MethodType(usual, observer)))


def _to_all(sinks: Sequence[Callable[..., None]]) -> Callable[..., None]:
    def report(*event: object) -> None:
        for sink in sinks:
            sink(*event)

    return report
