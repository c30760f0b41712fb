"""The events of the engine as those of the control socket, for its subscribers and for recordings.

Nothing is built for an event that is not taken.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

from hilgw.control.events import Accepted, Command, MotorCommand
from hilgw.devices.kinds import KINDS, Device, Refusal, unit_of
from hilgw.engine.observer import (
    KINDS as OBSERVABLE,
    CommandEvent,
    FrameEvent,
    LineEvent,
    Observer,
    PoseEvent,
    ValueEvent,
)
from hilgw.events import kinds as events, wire
from hilgw.medium.medium import Missed
from hilgw.medium.packet import Copy, Packet
from hilgw.medium.pose import Pose
from hilgw.reasons import NotReceivedReason

METHODS = {
    "value": "sensor_value",
    "command": "motor_command",
    "packet": "transmitted",
    "bytes": "line_bytes",
    "port": "state",
    "placed": "pose_change",
}
"""Observers have these names for some kinds of events, and their own names for the others."""
OBSERVED = {
    name: method for name in events.LIVE if (method := METHODS.get(name, name)) in OBSERVABLE
}


class EventStream(Observer, ABC):
    """An observer that makes an event of the socket of each event of the engine.

    device: that of a robot, by both names; None where it is not known. kinds: names of those that
    it takes where it is added to `Observers`.
    """

    def __init__(
        self,
        kinds: Sequence[str] = events.LIVE,
        device: Callable[[str, str], Device | None] = lambda robot, name: None,
    ) -> None:
        self._device = device
        observed = {OBSERVED[name]: name for name in kinds if name in OBSERVED}
        self.observed = [*observed]
        for method, name in observed.items():
            if getattr(type(self), method) is getattr(Observer, method):
                setattr(self, method, partial(self._report, events.KINDS[name]))

    def _report(self, kind: events.Kind, *values: Any) -> None:
        name = ".".join(values[place] for place in kind.places)
        if takers := self.takers(kind.form, name, lost=kind.form is events.Refused):
            plain = (str(each) if isinstance(each, str) else each for each in values)
            self.emit(takers, kind.form(*plain))

    def takers(self, kind: type[Any], *names: str, lost: bool = False) -> Any:
        """Return who takes an event of this kind about these names, for `emit`.

        False: it is not taken.
        """
        return True

    @abstractmethod
    def emit(self, takers: Any, event: Any) -> None:
        """Emit the event, one of `hilgw.events.kinds`; its values are plain ones."""

    def transmitted(
        self,
        packet: Packet,
        listeners: Sequence[str],
        not_received: NotReceivedReason | None,
        missed: Missed,
    ) -> None:
        losses = missed()
        why = tuple([(name, str(each)) for name, each in losses.items()]) if losses else ()
        lost = "" if not_received is None else str(not_received)
        to, strength = (*listeners,), packet.rssi_dbm
        about = packet.source, packet.channel, packet.type, packet.data, to, lost, why, strength
        self.pass_on(events.Packet, about)

    def delivered(self, station: str, copy: Copy) -> None:
        self.pass_on(events.Delivered, (station, copy.packet.source, copy.packet.data))

    def pass_on(self, kind: type[Any], values: tuple[Any, ...]) -> None:
        """Emit what comes with each packet.

        Its event has these values, but `data` is bytes and `missed` its items. It may be kept so,
        and the event made later, elsewhere.
        """
        if takers := self.takers_of(kind, values):
            event = kind(*values)
            event = replace(event, data=event.data.hex())
            if kind is events.Packet:
                to, missed = list(event.received_by), dict(event.missed)
                event = replace(event, received_by=to, missed=missed)
            self.emit(takers, event)

    def takers_of(self, kind: type[Any], values: tuple[Any, ...]) -> Any:
        """Return who takes an event of `pass_on`."""
        if kind is events.Delivered:
            return self.takers(kind, *values[:2])
        source, _, _, _, listeners, not_received, *_ = values
        return self.takers(kind, source, *listeners, lost=bool(not_received))

    def sensor_value(self, event: ValueEvent) -> None:
        robot, device = event.robot, event.device
        if takers := self.takers(events.Value, f"{robot}.{device}"):
            self.emit(takers, state_of(event, self._device(robot, device)))

    def motor_command(self, event: CommandEvent) -> None:
        refused = not isinstance(event.outcome, Accepted)
        if takers := self.takers(events.Command, f"{event.robot}.{event.device}", lost=refused):
            self.emit(takers, state_of(event, self._device(event.robot, event.device)))

    def line_bytes(self, event: LineEvent) -> None:
        if takers := self.takers(events.Bytes, event.part):
            self.emit(takers, events.Bytes(event.part, str(event.direction), event.data.hex()))

    def frame(self, event: FrameEvent) -> None:
        if takers := self.takers(events.Frame, event.station):
            data, text = event.data, event.describe(event.data)
            self.emit(takers, events.Frame(event.station, str(event.direction), data.hex(), text))

    def pose_change(self, event: PoseEvent) -> None:
        if takers := self.takers(events.Placed, event.name):
            self.emit(takers, placed(event.name, event.pose))

    def link(self, name: str, status: Mapping[str, Any]) -> None:
        if takers := self.takers(events.Link, name):
            self.emit(takers, wire.link(name, status))


class Newest(EventStream):
    """The newest of the states that change rarely, by `events.cell_of`. now: of the gateway."""

    def __init__(self, now: Callable[[], int]) -> None:
        super().__init__(("port", "armed", "mode", "stopped"))
        self._now, self._began_ns = now, now()
        self.known: dict[tuple[Any, ...], events.Cell] = {}

    def emit(self, takers: Any, event: Any) -> None:
        self.known[events.cell_of(event)] = replace(event, since_ns=self._now())

    def since(self, state: events.Cell) -> events.Cell:
        """Return the state with the time at which it became so."""
        known = self.known.get(events.cell_of(state))
        return replace(state, since_ns=known.since_ns if known else self._began_ns)


def placed(name: str, pose: Pose | None) -> events.Placed:
    """Return the event of an object of the scene at this pose; None: it is unknown."""
    if pose is None:
        return events.Placed(name, None, None)
    return events.Placed(name, list(pose.position), [list(row) for row in pose.rows])


def state_of(event: ValueEvent | CommandEvent, device: Device | None) -> events.Cell:
    """Return the value of or the command to this device."""
    robot, name = event.robot, event.device
    if isinstance(event, ValueEvent):
        reports = () if device is None else device.reports
        names = [each.name for each in reports], [each.unit for each in reports]
        return events.Value(robot, name, wire.numbers(event.value), *names)
    given, outcome = given_by(event.command), outcome_of(event.outcome)
    applied: dict[str, Any] = {str(n): wire.number(value) for n, value in event.applied.items()}
    units, limits = units_and_limits(device, [*given, *applied])
    return events.Command(robot, event.body, name, given, *outcome, applied, units, limits)


def given_by(command: Command) -> dict[str, Any]:
    """Return the settings of a command by name, as Webots spells them."""
    if isinstance(command, MotorCommand):
        return {str(command.field): wire.number(command.value)}
    return {
        each.name: wire.number(getattr(command, each.name))
        for each in fields(command)
        if each.name not in ("index", "velocity_set", "is_stale")
    }


def outcome_of(outcome: Accepted | Refusal) -> tuple[str, str]:
    """Return the word of an outcome, and the reason of a refusal."""
    if isinstance(outcome, Accepted):
        return str(outcome), ""
    return "refused", str(outcome.reason)


def units_and_limits(
    device: Device | None, settings: Iterable[str]
) -> tuple[dict[str, str], dict[str, list[float]]]:
    """Return the units of these settings of a motor, and the limits of those that have both."""
    if device is None or device.kind not in KINDS:
        return {}, {}
    units = {name: unit for name in settings if (unit := unit_of(device, name))}
    bounds = {name: device.limits.bounds(name) for name in settings}
    return units, {name: list(b) for name, b in bounds.items() if all(map(math.isfinite, b))}
