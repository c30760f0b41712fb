"""The events of the engine as those of the control socket, for its subscribers and for recordings.

Nothing is built for an event that is not taken.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from hilgw.control.events import Accepted, MotorCommand
from hilgw.devices.kinds import KINDS
from hilgw.engine.observer import Kind, Observer, ValueEvent
from hilgw.protocols.gateway import events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hilgw.control.events import Command
    from hilgw.control.modes import RobotMode
    from hilgw.devices.kinds import Device, Refusal
    from hilgw.engine.observer import (
        CommandEvent,
        FrameEvent,
        LineEvent,
        PoseEvent,
        State,
    )
    from hilgw.medium.medium import Missed
    from hilgw.medium.packet import Copy, Packet
    from hilgw.reasons import NotReceivedReason

EVENT_KINDS = {
    events.Value: Kind.SENSOR_VALUE,
    events.Command: Kind.MOTOR_COMMAND,
    events.Packet: Kind.TRANSMITTED,
    events.Delivered: Kind.DELIVERED,
    events.Refused: Kind.REFUSED,
    events.Bytes: Kind.LINE_BYTES,
    events.Frame: Kind.FRAME,
    events.Port: Kind.STATE,
    events.Armed: Kind.ARMED,
    events.Mode: Kind.MODE,
    events.Stopped: Kind.STOPPED,
    events.Placed: Kind.POSE_CHANGE,
    events.Link: Kind.LINK,
    events.Output: Kind.OUTPUT,
    events.Notice: Kind.NOTICE,
}
"""The events of the engine that make an event of the socket."""


class EventStream(Observer, ABC):
    """Makes an event of the socket of each event of the engine. device: that of a robot, by both
    names; None where it is not known."""

    def __init__(self, device: Callable[[str, str], Device | None]) -> None:
        self._device = device

    @abstractmethod
    def takers(self, kind: type[Any], *names: str, lost: bool = False) -> Any:
        """Who takes an event of this kind about these names, for `emit`; false: it is not taken."""

    @abstractmethod
    def emit(self, takers: Any, event: Any) -> None:
        """The event, one of `hilgw.protocols.gateway.events`; its values are plain ones."""

    def transmitted(
        self,
        packet: Packet,
        listeners: Sequence[str],
        not_received: NotReceivedReason | None,
        missed: Missed,
    ) -> None:
        lost = not_received is not None
        if takers := self.takers(events.Packet, packet.source, *listeners, lost=lost):
            made = events.Packet(*packet_values(packet, listeners, not_received, missed))
            data, why = packet.data.hex(), dict(made.missed)
            event = replace(made, data=data, received_by=list(listeners), missed=why)
            self.emit(takers, event)

    def delivered(self, station: str, copy: Copy) -> None:
        packet = copy.packet
        if takers := self.takers(events.Delivered, station, packet.source):
            self.emit(takers, events.Delivered(station, packet.source, packet.data.hex()))

    def refused(self, station: str, reason: str, text: str) -> None:
        if takers := self.takers(events.Refused, station, lost=True):
            self.emit(takers, events.Refused(station, str(reason), text))

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
            pose = event.pose
            position = None if pose is None else list(pose.position)
            rotation = None if pose is None else [list(row) for row in pose.rows]
            self.emit(takers, events.Placed(event.name, position, rotation))

    def link(self, name: str, status: Mapping[str, Any]) -> None:
        if takers := self.takers(events.Link, name):
            self.emit(takers, events.link(name, status))

    def state(self, station: str, state: State, reason: str) -> None:
        if takers := self.takers(events.Port, station):
            self.emit(takers, events.Port(station, str(state), str(reason)))

    def notice(self, source: str, text: str) -> None:
        if takers := self.takers(events.Notice, source):
            self.emit(takers, events.Notice(source, text))

    def output(self, source: str, line: str) -> None:
        if takers := self.takers(events.Output, source):
            self.emit(takers, events.Output(source, line))

    def stopped(self, robot: str, reason: str, text: str) -> None:
        if takers := self.takers(events.Stopped, robot):
            self.emit(takers, events.Stopped(robot, str(reason), text))

    def armed(self, robot: str, armed: bool, text: str) -> None:
        if takers := self.takers(events.Armed, robot):
            self.emit(takers, events.Armed(robot, armed, text))

    def mode(self, robot: str, mode: RobotMode) -> None:
        if takers := self.takers(events.Mode, robot):
            self.emit(takers, events.Mode(robot, str(mode)))


class Newest(EventStream):
    """The newest of the states that change rarely, by `events.cell_of`. now: of the gateway."""

    KINDS = (Kind.STATE, Kind.ARMED, Kind.MODE, Kind.STOPPED)

    def __init__(self, now: Callable[[], int]) -> None:
        super().__init__(lambda robot, device: None)
        self._now, self._began_ns = now, now()
        self.known: dict[tuple[Any, ...], events.State] = {}

    def takers(self, kind: type[Any], *names: str, lost: bool = False) -> bool:
        return True

    def emit(self, takers: Any, event: Any) -> None:
        self.known[events.cell_of(event)] = replace(event, since_ns=self._now())

    def since(self, state: events.State) -> events.State:
        """The state with the time at which it became so."""
        known = self.known.get(events.cell_of(state))
        return replace(state, since_ns=known.since_ns if known else self._began_ns)


def state_of(event: ValueEvent | CommandEvent, device: Device | None) -> events.State:
    """The value of or the command to this device."""
    robot, name = event.robot, event.device
    if isinstance(event, ValueEvent):
        reports = () if device is None else device.reports
        names = [each.name for each in reports], [each.unit for each in reports]
        return events.Value(robot, name, events.numbers(event.value), *names)
    given, outcome = given_by(event.command), outcome_of(event.outcome)
    applied: dict[str, Any] = {str(n): events.number(value) for n, value in event.applied.items()}
    units, limits = units_and_limits(device, [*given, *applied])
    return events.Command(robot, event.body, name, given, *outcome, applied, units, limits)


def packet_values(
    packet: Packet,
    listeners: Sequence[str],
    not_received: NotReceivedReason | None,
    missed: Missed,
) -> tuple[Any, ...]:
    """Those of `events.Packet`, but `data` as bytes and `missed` as its items: what comes with each
    packet is kept as it is, and its event is made later, elsewhere."""
    reason = "" if not_received is None else str(not_received)
    why = tuple((name, str(each)) for name, each in found.items()) if (found := missed()) else ()
    source, to = packet.source, (*listeners,)
    return source, packet.channel, packet.type, packet.data, to, reason, why, packet.rssi_dbm


def delivered_values(station: str, copy: Copy) -> tuple[Any, ...]:
    """Those of `events.Delivered`, as of `packet_values`."""
    return station, copy.packet.source, copy.packet.data


def given_by(command: Command) -> dict[str, Any]:
    """The settings of a command by name, as Webots spells them."""
    if isinstance(command, MotorCommand):
        return {str(command.field): events.number(command.value)}
    values = {each.name: getattr(command, each.name) for each in fields(command)}
    return {
        name: events.number(value)
        for name, value in values.items()
        if name not in ("index", "velocity_set", "is_stale")
    }


def outcome_of(outcome: Accepted | Refusal) -> tuple[str, str]:
    """The word of an outcome, and the reason of a refusal."""
    if isinstance(outcome, Accepted):
        return str(outcome), ""
    return "refused", str(outcome.reason)


def units_and_limits(
    device: Device | None, settings: Iterable[str]
) -> tuple[dict[str, str], dict[str, list[float]]]:
    """The units of these settings of a motor, and the limits of those that have both."""
    if device is None or device.kind not in KINDS:
        return {}, {}
    units, limits, known = {}, {}, KINDS[device.kind].quantity
    force = next((each for each in known if each.startswith("available_")), "")
    for name in settings:
        if (quantity := known.get(force if name == "available" else name)) is not None:
            units[name] = quantity.unit
        if all(map(math.isfinite, bounds := device.limits.bounds(name))):
            limits[name] = list(bounds)
    return units, limits
