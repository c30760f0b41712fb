"""The session of a body in the indices of another one.

A robot may have two bodies. Their devices are the same by name; each body has indices of its own.
The controller learns one table of devices. This session turns commands into the indices of its
body, and the events of its body into those of the table.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from hilgw.control.events import (
    DeviceFault,
    HardwareFault,
    MotorFeedback,
    MotorHeld,
    PacketIn,
    Refused,
    Registered,
    SensorValue,
)
from hilgw.control.modes import is_same
from hilgw.control.stop import StopPlan
from hilgw.devices.kinds import Devices, Refusal
from hilgw.reasons import RequestRefused

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from hilgw.bodies.base import BodySession
    from hilgw.control.events import (
        Command,
        DeviceSettings,
        Event,
        Outcome,
        PacketOut,
        StopReason,
    )
    from hilgw.control.safety import Mode
    from hilgw.devices.kinds import Device

_OF_A_DEVICE = (SensorValue, MotorFeedback, PacketIn, DeviceFault, MotorHeld)


class RenumberedSession:
    """See `hilgw.bodies.base.BodySession`. Until `renumber` the indices are the body's own.

    A device that the table does not have is unknown: what it reports is dropped.
    """

    def __init__(self, session: BodySession) -> None:
        self._session = session
        self._table: Mapping[str, Device] = {}
        self._to_table: dict[int, int] | None = None  # None: the body's own indices
        self._to_body: dict[int, int] = {}
        self._known = Devices()

    def renumber(self, table: Mapping[str, Device] | None) -> None:
        """table: the devices that the controller has, by name. One that is not of the same kind
        there is not the same device. None: the body's own indices from now on."""
        self._table, self._to_table = table or {}, None if table is None else {}
        self._to_body.clear()
        self._known.clear()
        for device in self._session.devices:
            self._adopt(device)

    def _adopt(self, device: Device) -> None:
        """The body has this device."""
        known, indices = self._table.get(device.name), self._to_table
        if indices is None or known is None or not is_same(known, device):
            return
        if known.index not in self._to_body:
            indices[device.index] = known.index
            self._to_body[known.index] = device.index
            self._known.add(self._renumbered(device, indices))

    @property
    def own_devices(self) -> Devices:
        """The devices in the body's own indices."""
        return self._session.devices

    @property
    def devices(self) -> Devices:
        """The devices in the indices of the table."""
        return self._session.devices if self._to_table is None else self._known

    def __getattr__(self, name: str) -> Any:
        """Return what has no index, as the session has it."""
        return getattr(self._session, name)

    # --- bytes --------------------------------------------------------------------------------

    def open(self, now: int) -> list[Event]:
        return self._out(self._session.open(now))

    def close(self) -> list[Event]:
        return self._out(self._session.close())

    def receive(self, data: bytes, now: int) -> list[Event]:
        return self._out(self._session.receive(data, now))

    def expire(self, now: int) -> list[Event]:
        return self._out(self._session.expire(now))

    # --- requests of the controller -----------------------------------------------------------

    def command(self, command: Command, now: int) -> tuple[Outcome, list[Event]]:
        if self._to_table is None:
            return self._session.command(command, now)
        own = self._to_body.get(command.index)
        if own is None:
            return _unknown(command.index), []
        outcome, events = self._session.command(dataclasses.replace(command, index=own), now)
        return outcome, self._out(events)

    def switch(self, index: int, period_ms: float | None, now: int) -> list[Event]:
        own = self._own(index)
        return [] if own is None else self._out(self._session.switch(own, period_ms, now))

    def own_period(self, index: int) -> float | None:
        own = self._own(index)
        return None if own is None else self._session.own_period(own)

    def send(self, packet: PacketOut, now: int) -> list[Event]:
        own = self._own(packet.index)
        if own is None:
            return [_refused(packet.index)]
        return self._out(self._session.send(dataclasses.replace(packet, index=own), now))

    def tune(self, settings: DeviceSettings, now: int) -> list[Event]:
        own = self._own(settings.index)
        if own is None:
            return [_refused(settings.index)]
        return self._out(self._session.tune(dataclasses.replace(settings, index=own), now))

    # --- stops --------------------------------------------------------------------------------

    def can_stop(self, index: int, mode: Mode | None) -> bool:
        own = self._own(index)
        return own is not None and self._session.can_stop(own, mode)

    def stop(self, reason: StopReason, now: int) -> StopPlan:
        return self._plan(self._session.stop(reason, now))

    def _plan(self, plan: StopPlan) -> StopPlan:
        commands = tuple(self._in_table(plan.commands))
        return StopPlan(self._out(plan.events), commands, plan.copies)

    def stop_again(self, motors: Collection[int] | None, now: int) -> list[Event]:
        if motors is not None:
            motors = [own for own in map(self._own, motors) if own is not None]
        return self._out(self._session.stop_again(motors, now))

    def stop_motor(self, index: int, now: int) -> StopPlan | None:
        own = self._own(index)
        plan = None if own is None else self._session.stop_motor(own, now)
        return None if plan is None else self._plan(plan)

    def leave(self, now: int) -> list[Event]:
        return self._out(self._session.leave(now))

    # --- indices ------------------------------------------------------------------------------

    def _own(self, index: int) -> int | None:
        return index if self._to_table is None else self._to_body.get(index)

    def _in_table(self, commands: list[Command] | tuple[Command, ...]) -> list[Command]:
        table = self._to_table
        if table is None:
            return list(commands)
        return [self._renumbered(each, table) for each in commands if each.index in table]

    def _out(self, events: list[Event]) -> list[Event]:
        table = self._to_table
        if table is None:
            return events
        found: list[Event] = []
        for event in events:
            if isinstance(event, _OF_A_DEVICE):
                if event.index in table:
                    found.append(self._renumbered(event, table))
            elif isinstance(event, Registered):
                self._adopt(event.device)
                if event.device.index in table:
                    found.append(Registered(self._renumbered(event.device, table)))
            elif isinstance(event, Refused | HardwareFault) and event.index is not None:
                found.append(dataclasses.replace(event, index=table.get(event.index)))
            else:
                found.append(event)
        return found

    def _renumbered(self, item: Any, table: Mapping[int, int]) -> Any:
        """A device, an event or a command of the body, with its index in the table."""
        return dataclasses.replace(item, index=table[item.index])


def _unknown(index: int) -> Refusal:
    return Refusal(RequestRefused.UNKNOWN_DEVICE, f"this body has no device of index {index}")


def _refused(index: int) -> Refused:
    refusal = _unknown(index)
    return Refused(index, refusal.reason, refusal.text)
