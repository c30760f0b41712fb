"""The subscribers of a gateway's control socket: each reads the events that it asked for.

An event is encoded once, for all subscribers that take it. Nothing is built where no subscriber
takes its kind. A subscriber that reads slowly loses events, which are counted; the gateway never
waits for it. Of each kind, RATE events a second pass; what exceeds that is left out and counted.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from hilgw.control.events import Accepted, MotorCommand
from hilgw.devices.kinds import KINDS
from hilgw.engine.observer import Kind, Observer
from hilgw.protocols.gateway import events
from hilgw.records import record
from hilgw.units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    import asyncio
    import socket
    from collections.abc import Callable, Iterable, Sequence

    from hilgw.control.events import Command
    from hilgw.control.modes import RobotMode
    from hilgw.devices.kinds import Device, Refusal
    from hilgw.engine.observer import (
        CommandEvent,
        FrameEvent,
        LineEvent,
        Observers,
        PoseEvent,
        State,
        ValueEvent,
    )
    from hilgw.medium.medium import Missed
    from hilgw.medium.packet import Copy, Packet
    from hilgw.reasons import NotReceivedReason
    from hilgw.transports.base import Handle, Scheduler

RATE = 2000
"""Events of each kind and second that pass: full rate is 2,000 packets a second."""
WINDOW_NS = 100 * NS_PER_MS
IN_WINDOW = RATE * 5 // 4 * WINDOW_NS // NS_PER_S  # those of one second do not come evenly
BUFFER_BYTES = 256 * 1024
"""What waits for a subscriber at most."""

_KINDS = {
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
    events.Output: Kind.OUTPUT,
    events.Notice: Kind.NOTICE,
}
"""The events of the engine that make an event of the socket."""


@record
class Filter:
    """Which events a subscriber takes. kinds: their names. names: of robots, stations, other parts,
    and devices as ROBOT.DEVICE; none: all. lost: only packets and requests that were lost."""

    kinds: frozenset[str] = frozenset(events.KINDS)
    names: frozenset[str] = frozenset()
    lost: bool = False

    def takes(self, kind: str, names: Sequence[str], *, lost: bool) -> bool:
        """Whether an event of this kind about these names passes. lost: it reports a loss."""
        if kind not in self.kinds or (self.lost and not lost):
            return False
        return not self.names or any(
            name in self.names or name.partition(".")[0] in self.names for name in names
        )


class Subscriber:
    """One connection. slow: how many events it lost so far, as it reads too slowly."""

    def __init__(
        self, connection: socket.socket, chosen: Filter, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.chosen = chosen
        self.slow = 0
        self._connection, self._loop = connection, loop
        self._waiting = bytearray()
        self._will_send = self._is_blocked = False

    def put(self, line: bytes) -> bool:
        """Sends the line soon. False: it is lost, as too much waits."""
        if len(self._waiting) + len(line) > BUFFER_BYTES:
            self.slow += 1
            return False
        self._waiting += line
        if not (self._will_send or self._is_blocked):
            self._will_send = True
            self._loop.call_soon(self._send)
        return True

    def close(self) -> None:
        """It sends nothing any more; its connection stays open."""
        if self._is_blocked:
            self._loop.remove_writer(self._connection)
        self._waiting.clear()
        self._is_blocked = True  # nothing is sent any more

    def _send(self) -> None:
        self._will_send = False
        try:
            sent = self._connection.send(self._waiting) if self._waiting else 0
        except BlockingIOError:
            sent = 0
        except OSError:
            self._waiting.clear()  # it left: who reads its requests notices that
            return
        del self._waiting[:sent]
        if bool(self._waiting) is not self._is_blocked:
            self._is_blocked = bool(self._waiting)
            if self._is_blocked:
                self._loop.add_writer(self._connection, self._send)
            else:
                self._loop.remove_writer(self._connection)


class Subscriptions(Observer):
    """All subscribers of one gateway. scheduler: of the gateway's time, simulated or not; clock: of
    real time. device: that of a robot, by both names; None where it is not known."""

    def __init__(
        self,
        observers: Observers,
        scheduler: Scheduler,
        clock: Scheduler,
        device: Callable[[str, str], Device | None],
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._observers = observers
        self._scheduler, self._clock, self._wall = scheduler, clock, wall
        self._device = device
        self._subscribers: list[Subscriber] = []
        self._passed: Counter[type[Any]] = Counter()  # in this window
        self._sampled: Counter[str] = Counter()
        self._timer: Handle | None = None

    def add(self, subscriber: Subscriber) -> None:
        """From now on it gets its events."""
        self._subscribers.append(subscriber)
        self._observe()
        if self._timer is None:
            self._next_window()

    def show(
        self, subscriber: Subscriber, states: Iterable[events.Port | events.Armed | events.Mode]
    ) -> None:
        """It gets those of these events that it takes."""
        for state in states:
            name = state.name if isinstance(state, events.Port) else state.robot
            if subscriber.chosen.takes(events.NAMES[type(state)], [name], lost=False):
                subscriber.put(self._encode(state))

    def remove(self, subscriber: Subscriber) -> None:
        """It gets no more. Nothing happens to one that was not added."""
        if subscriber in self._subscribers:
            self._subscribers.remove(subscriber)
            subscriber.close()
            self._observe()

    def _observe(self) -> None:
        """Takes the kinds of events that some subscriber takes, and no others."""
        taken = {name for each in self._subscribers for name in each.chosen.kinds}
        kinds = [kind for event, kind in _KINDS.items() if events.NAMES[event] in taken]
        if kinds:
            self._observers.add(self, kinds)
        else:
            self._observers.remove(self)

    def _next_window(self) -> None:
        """Reports what was left out, and begins to count anew."""
        self._passed.clear()
        if not self._subscribers:
            self._timer = None
            return
        sampled, self._sampled = dict(self._sampled), Counter()
        for each in self._subscribers:
            if sampled or each.slow:
                slow, each.slow = each.slow, 0
                if not each.put(self._encode(events.LeftOut(sampled, slow))):
                    each.slow += slow
        self._timer = self._clock.call_at(self._clock.now() + WINDOW_NS, self._next_window)

    def _encode(self, event: Any) -> bytes:
        return events.encode_event(
            event, self._clock.now(), round(self._wall(), 6), self._scheduler.now()
        )

    def _takers(self, kind: type[Any], *names: str, lost: bool = False) -> list[Subscriber]:
        """Who takes an event of this kind about these names; none where it is left out."""
        name = events.NAMES[kind]
        takers = [each for each in self._subscribers if each.chosen.takes(name, names, lost=lost)]
        if takers:
            self._passed[kind] += 1
            if self._passed[kind] > IN_WINDOW:
                self._sampled[name] += 1
                return []
        return takers

    def _emit(self, takers: Sequence[Subscriber], event: Any) -> None:
        line = self._encode(event)
        for each in takers:
            each.put(line)

    # --- the events of the engine -----------------------------------------------------------------

    def transmitted(
        self,
        packet: Packet,
        listeners: Sequence[str],
        not_received: NotReceivedReason | None,
        missed: Missed,
    ) -> None:
        lost = not_received is not None
        if takers := self._takers(events.Packet, packet.source, *listeners, lost=lost):
            event = events.Packet(
                packet.source,
                packet.channel,
                packet.type,
                packet.data.hex(),
                list(listeners),
                not_received or "",
                {name: str(reason) for name, reason in missed().items()},
                packet.rssi_dbm,
            )
            self._emit(takers, event)

    def delivered(self, station: str, copy: Copy) -> None:
        packet = copy.packet
        if takers := self._takers(events.Delivered, station, packet.source):
            self._emit(takers, events.Delivered(station, packet.source, packet.data.hex()))

    def refused(self, station: str, reason: str, text: str) -> None:
        if takers := self._takers(events.Refused, station, lost=True):
            self._emit(takers, events.Refused(station, reason, text))

    def sensor_value(self, event: ValueEvent) -> None:
        robot, device = event.robot, event.device
        if takers := self._takers(events.Value, f"{robot}.{device}"):
            known = self._device(robot, device)
            reports = () if known is None else known.reports
            fields, units = [each.name for each in reports], [each.unit for each in reports]
            value = events.numbers(event.value)
            self._emit(takers, events.Value(robot, device, value, fields, units))

    def motor_command(self, event: CommandEvent) -> None:
        refused = not isinstance(event.outcome, Accepted)
        if takers := self._takers(events.Command, f"{event.robot}.{event.device}", lost=refused):
            robot, device = event.robot, event.device
            given, outcome = given_by(event.command), outcome_of(event.outcome)
            applied: dict[str, Any] = {
                name: events.number(value) for name, value in event.applied.items()
            }
            units, limits = units_and_limits(self._device(robot, device), [*given, *applied])
            self._emit(
                takers,
                events.Command(robot, event.body, device, given, *outcome, applied, units, limits),
            )

    def line_bytes(self, event: LineEvent) -> None:
        if takers := self._takers(events.Bytes, event.part):
            self._emit(takers, events.Bytes(event.part, event.direction, event.data.hex()))

    def frame(self, event: FrameEvent) -> None:
        if takers := self._takers(events.Frame, event.station):
            data, text = event.data, event.describe(event.data)
            self._emit(takers, events.Frame(event.station, event.direction, data.hex(), text))

    def pose_change(self, event: PoseEvent) -> None:
        if takers := self._takers(events.Placed, event.name):
            pose = event.pose
            position = None if pose is None else list(pose.position)
            rotation = None if pose is None else [list(row) for row in pose.rows]
            self._emit(takers, events.Placed(event.name, position, rotation))

    def state(self, station: str, state: State, reason: str) -> None:
        if takers := self._takers(events.Port, station):
            self._emit(takers, events.Port(station, state, reason))

    def notice(self, source: str, text: str) -> None:
        if takers := self._takers(events.Notice, source):
            self._emit(takers, events.Notice(source, text))

    def output(self, source: str, line: str) -> None:
        if takers := self._takers(events.Output, source):
            self._emit(takers, events.Output(source, line))

    def stopped(self, robot: str, reason: str, text: str) -> None:
        if takers := self._takers(events.Stopped, robot):
            self._emit(takers, events.Stopped(robot, reason, text))

    def armed(self, robot: str, armed: bool, text: str) -> None:
        if takers := self._takers(events.Armed, robot):
            self._emit(takers, events.Armed(robot, armed, text))

    def mode(self, robot: str, mode: RobotMode) -> None:
        if takers := self._takers(events.Mode, robot):
            self._emit(takers, events.Mode(robot, mode))


def given_by(command: Command) -> dict[str, Any]:
    """The settings of a command by name, as Webots spells them."""
    if isinstance(command, MotorCommand):
        return {command.field: events.number(command.value)}
    values = {each.name: getattr(command, each.name) for each in fields(command)}
    return {
        name: events.number(value)
        for name, value in values.items()
        if name not in ("index", "velocity_set")
    }


def outcome_of(outcome: Accepted | Refusal) -> tuple[str, str]:
    """The word of an outcome, and the reason of a refusal."""
    if isinstance(outcome, Accepted):
        return outcome, ""
    return "refused", outcome.reason


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
