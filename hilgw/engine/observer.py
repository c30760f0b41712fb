"""The events that the engine reports to an observer: the terminal, the log, tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from hilgw.engine.latency import Latency
from hilgw.medium.packet import Copy, Packet
from hilgw.records import record

if TYPE_CHECKING:
    from hilgw.control.divergence import Divergence
    from hilgw.control.events import Command, Outcome
    from hilgw.devices.kinds import Quantity, Value


class State(StrEnum):
    """The states of a supervised port."""

    WAITING = "waiting"  # the port is absent; checked every 100 ms
    OPENING = "opening"
    HANDSHAKE = "handshake"
    UP = "up"
    STALLED = "stalled"  # it takes no bytes, or does not answer: about to be reopened
    BACKOFF = "back-off"  # the last try failed; the next one follows
    FAILED = "failed"  # not the configured device, or too many faults: stays down
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class ControlLoopStatus:
    """State of a control loop: last values of sensors and last commands of motors (setting ->
    value) by device name; rates since the last status; latency from sensor in to motor out of the
    whole run; the names and units of each sensor's numbers; whether the motors may move; whether a
    controller runs. mode: of a robot with two bodies, else empty; divergences: of its shadow, by
    sensor."""

    sensors: Mapping[str, Value]
    motors: Mapping[str, Mapping[str, float]]
    values_per_s: float
    commands_per_s: float
    latency: Latency
    reports: Mapping[str, Sequence[Quantity]] = field(default_factory=dict)
    armed: bool = True
    controller: bool = True
    mode: str = ""
    divergences: Mapping[str, Divergence] = field(default_factory=dict)


@record
class CommandEvent:
    """A controller gave a motor command.

    robot, body, device: names; body is "" for the only body of a robot. command: in Webots' units,
    its index is that of the controller's session. outcome: a command that waits is reported again
    when it is sent, refused or replaced. now: nanoseconds of the gateway's clock.
    """

    robot: str
    body: str
    device: str
    command: Command
    outcome: Outcome
    now: int


@record
class ValueEvent:
    """A value of a sensor was passed on to the controller. value: in the units of the device's
    `reports`. now: nanoseconds of the gateway's clock."""

    robot: str
    device: str
    value: Value
    now: int


Missed = Callable[[], Mapping[str, str]]


def missed_by_none() -> Mapping[str, str]:
    """No listener missed it."""
    return {}


class Observer:
    """Does nothing; override the events of interest. Called in the event loop: must be quick.

    The events that are None here are reported often: where no observer overrides one, nothing is
    built. Who reports such an event tests for None first.
    """

    motor_command: Callable[[CommandEvent], None] | None = None
    sensor_value: Callable[[ValueEvent], None] | None = None

    def state(self, station: str, state: State, reason: str) -> None: ...

    def transmitted(
        self,
        packet: Packet,
        listeners: Sequence[str],
        unheard: str | None,
        missed: Missed = missed_by_none,
    ) -> None:
        """A packet passed the medium: to these listeners, or to none for this reason.

        missed: may be called before this returns; the other listeners on the channel, and why
        each did not receive it.
        """

    def delivered(self, station: str, copy: Copy) -> None: ...

    def refused(self, station: str, reason: str, text: str) -> None: ...

    def notice(self, source: str, text: str) -> None: ...

    def output(self, source: str, line: str) -> None:
        """A child process printed a line. It may contain any characters."""

    def stopped(self, robot: str, reason: str, text: str) -> None:
        """The motors of a robot were sent their stop. reason: a word; text: the same for people."""

    def armed(self, robot: str, armed: bool, text: str) -> None:
        """The motors of a robot may move from now on, or not. text: for people; empty where
        `stopped` or a notice says it."""

    def control_loop(self, robot: str, status: ControlLoopStatus) -> None:
        """Once a second, for each control loop."""
