"""The session of a body in the indices of another one.

A robot may have two bodies. Their devices are the same by name; each body has indices of its own.
The controller learns one table of devices. This session turns commands into the indices of its
body, and the events of its body into those of the table.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from hilgw.control.events import (
    Command,
    Connected,
    DeviceFault,
    DeviceSettings,
    Event,
    HardwareFault,
    MotorCommand,
    MotorFeedback,
    MotorHeld,
    MotorPid,
    MotorSettings,
    Outcome,
    PacketIn,
    PacketOut,
    RefusedRequest,
    Registered,
    SensorValue,
    StopPlan,
    StopReason,
)
from hilgw.control.modes import is_same
from hilgw.devices.kinds import Device, Devices, Refusal
from hilgw.reasons import RequestRefused

if TYPE_CHECKING:
    from hilgw.bodies.base import BodySession
    from hilgw.control.safety import MotorMode

_OF_A_DEVICE = (
    *(SensorValue, MotorFeedback, PacketIn, DeviceFault, MotorHeld),
    *(MotorCommand, MotorSettings, MotorPid),
)


class RenumberedSession:
    """See `hilgw.bodies.base.BodySession`.

    Until `renumber` the indices are the body's own. devices: in the indices of the table.

    A device that the table does not have is unknown: what it reports is dropped.
    """

    def __init__(self, session: BodySession) -> None:
        self._session = session
        self.renumber(None)

    def renumber(self, table: Mapping[str, Device] | None) -> None:
        """Renumber for a table, which has the devices of the controller by name.

        One that is not of the same kind there is not the same device. None: the body's own indices
        from now on.
        """
        self._table = table
        self._to_table: dict[int, int] = {}
        self._to_body: dict[int, int] = {}
        self.devices = Devices()
        for device in self._session.devices:
            self._adopt(device)

    def _adopt(self, device: Device) -> None:
        known = device if self._table is None else self._table.get(device.name)
        if known is None or not is_same(known, device) or known.index in self._to_body:
            return
        self._to_table[device.index] = known.index
        self._to_body[known.index] = device.index
        self.devices.add(dataclasses.replace(device, index=known.index))

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

    def leave(self, now: int) -> list[Event]:
        return self._out(self._session.leave(now))

    # --- requests of the controller -----------------------------------------------------------

    def command(self, command: Command, now: int) -> tuple[Outcome, list[Event]]:
        own = self._to_body.get(command.index)
        if own is None:
            return self._unknown(command.index), []
        outcome, events = self._session.command(dataclasses.replace(command, index=own), now)
        return outcome, self._out(events)

    def switch(self, index: int, period_ms: float | None, now: int) -> list[Event]:
        own = self._to_body.get(index)
        return [] if own is None else self._out(self._session.switch(own, period_ms, now))

    def own_period(self, index: int) -> float | None:
        own = self._to_body.get(index)
        return None if own is None else self._session.own_period(own)

    def send(self, packet: PacketOut, now: int) -> list[Event]:
        return self._request(self._session.send, packet, now)

    def tune(self, settings: DeviceSettings, now: int) -> list[Event]:
        return self._request(self._session.tune, settings, now)

    def _request(
        self, method: Callable[[Any, int], list[Event]], request: Any, now: int
    ) -> list[Event]:
        own = self._to_body.get(request.index)
        if own is None:
            refusal = self._unknown(request.index)
            return [RefusedRequest(request.index, refusal.reason, refusal.text)]
        return self._out(method(dataclasses.replace(request, index=own), now))

    def _unknown(self, index: int) -> Refusal:
        reason, counts = RequestRefused.UNKNOWN_DEVICE, self._session.counts
        counts[f"refused_{reason}"] = counts.get(f"refused_{reason}", 0) + 1
        return Refusal(reason, f"this body has no device of index {index}")

    # --- stops --------------------------------------------------------------------------------

    def can_stop(self, index: int, mode: MotorMode | None) -> bool:
        own = self._to_body.get(index)
        return own is not None and self._session.can_stop(own, mode)

    def stop(self, reason: StopReason, now: int) -> StopPlan:
        return self._plan(self._session.stop(reason, now))

    def _plan(self, plan: StopPlan) -> StopPlan:
        return dataclasses.replace(
            plan, events=self._out(plan.events), commands=tuple(self._out(plan.commands))
        )

    def stop_again(self, motors: Collection[int] | None, now: int) -> list[Event]:
        if motors is not None:
            motors = [self._to_body[index] for index in motors if index in self._to_body]
        return self._out(self._session.stop_again(motors, now))

    def stop_motor(self, index: int, now: int) -> StopPlan | None:
        own = self._to_body.get(index)
        plan = None if own is None else self._session.stop_motor(own, now)
        return None if plan is None else self._plan(plan)

    # --- indices ------------------------------------------------------------------------------

    def _out(self, items: Iterable[Any]) -> list[Any]:
        """Return events or commands of the body with the indices of the table.

        Without those of a device that the table does not have. A fault or a refusal counts without
        its device, too.
        """
        renumbered: list[Any] = []
        for item in items:
            if isinstance(item, Connected):
                self.renumber(self._table)  # it may have devices that it does not register
            if isinstance(item, Registered):
                self._adopt(item.device)
                known = self._to_table.get(item.device.index)
                if known is not None:
                    renumbered.append(Registered(dataclasses.replace(item.device, index=known)))
            elif isinstance(item, RefusedRequest | HardwareFault) and item.index is not None:
                renumbered.append(dataclasses.replace(item, index=self._to_table.get(item.index)))
            elif not isinstance(item, _OF_A_DEVICE):
                renumbered.append(item)
            elif item.index in self._to_table:
                renumbered.append(dataclasses.replace(item, index=self._to_table[item.index]))
        return renumbered
