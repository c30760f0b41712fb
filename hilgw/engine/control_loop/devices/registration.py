"""The devices of a control loop: the body registers them, and the controller learns of them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from hilgw.devices.kinds import Device
from hilgw.devices.properties import node_of
from hilgw.engine.control_loop.bodies.body_end import REGISTRATION_PAUSE_NS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hilgw.bodies.base import BodySession
    from hilgw.controllers.base import PeerSession
    from hilgw.devices.properties import DeviceFields
    from hilgw.engine.control_loop.devices.radios import Radios
    from hilgw.engine.control_loop.peer_link import PeerLink
    from hilgw.engine.statistics import ControlLoopStatistics
    from hilgw.transports.base import Handle, Scheduler


class Registration:
    """Announces the devices of the body, then those that only the configuration has.

    is_complete: all devices are known; a controller may learn of them once only. under_way: the
    body has registered a device, and may register more. on_complete: called when all are known.
    on_dismissed: called before a controller that is connected loses its connection.
    devices, table: the announced devices by index, and by name.
    """

    def __init__(
        self,
        controller: PeerLink[PeerSession] | None,
        configured: ConfiguredDevices,
        radios: Radios,
        statistics: ControlLoopStatistics,
        scheduler: Scheduler,
    ) -> None:
        self.is_complete = False
        self.on_complete: Callable[[], None] | None = None
        self.on_dismissed: Callable[[], None] | None = None
        self._controller = controller
        self._configured = configured
        self._radios = radios
        self._statistics = statistics
        self._scheduler = scheduler
        self._body: BodySession | None = None
        self.devices: dict[int, Device] = {}
        self.table: dict[str, Device] = {}
        self._announced: dict[int, Device] = {}  # what a controller may mean by an index
        self._are_stale = False  # the controller knows devices of a body that is gone
        self._timer: Handle | None = None

    @property
    def under_way(self) -> bool:
        return self._timer is not None

    # --- the body -----------------------------------------------------------------------------

    def attach(self, body: BodySession) -> None:
        """The body from now on. Where the controller has devices of an earlier one, they stay."""
        self._body = body

    def lost(self) -> None:
        """The body is gone, and its devices with it."""
        self.is_complete = False
        self.cancel()
        self._radios.forget()
        self._configured.forget()
        self.devices.clear()
        self.table.clear()

    def add(self, device: Device, now: int) -> None:
        """The body has this device."""
        self._announce(self._configured.complete(device), now)
        self.cancel()
        self._timer = self._scheduler.call_at(
            now + REGISTRATION_PAUSE_NS, lambda: self.complete(self._scheduler.now())
        )

    def complete(self, now: int) -> None:
        """The body has registered all its devices: the others of the configuration follow."""
        self.cancel()
        devices = () if self._body is None else self._body.devices
        self._statistics.keep(devices)
        first = max((device.index for device in devices), default=-1) + 1
        for device in self._configured.missing(first):
            self._announce(device, now)
        self.is_complete = True
        if self.on_complete is not None:
            self.on_complete()

    def cancel(self) -> None:
        """Waits for no further device."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _announce(self, device: Device, now: int) -> None:
        """Registers a device with the controller."""
        self._radios.adopt(device)
        self.devices[device.index] = device
        self.table.setdefault(device.name, device)
        self._statistics.add(device)
        controller = self._controller
        if controller is not None:
            controller.call(lambda: controller.session.register(device), now)
            if self._announced.get(device.index, device) != device:
                controller.discard_stale_input(now)
            self._announced[device.index] = device

    # --- the controller -----------------------------------------------------------------------

    def dismiss_controller(self, text: str) -> None:
        """The devices that the controller knows are void: it has to connect anew."""
        controller = self._controller
        if controller is not None:
            self._are_stale = True
            if controller.transport is not None and self.on_dismissed is not None:
                self.on_dismissed()
            controller.dismiss(text)
            if controller.transport is None:
                self.controller_left()

    def controller_left(self) -> None:
        """The next controller gets the devices of the present body only."""
        if self._are_stale and self._controller is not None:
            self._are_stale = False
            self._controller.session.forget()


class ConfiguredDevices:
    """The devices that the configuration lists for a robot. One that has the name and kind of a
    device of the body is that device: the file adds the fields of its node. The others follow after
    the body's devices, in the order of the file."""

    def __init__(self, fields: Mapping[str, DeviceFields]) -> None:
        """fields: of each node, by the name of the device."""
        self._fields = fields
        self._found: set[str] = set()

    def complete(self, device: Device) -> Device:
        """The body's device, with the fields that the file has for it."""
        fields = self._fields.get(device.name)
        if fields is None or node_of(fields) != device.kind:
            return device
        self._found.add(device.name)
        return dataclasses.replace(device, fields=fields)

    def missing(self, first: int) -> list[Device]:
        """The devices that the body does not have, with indices from `first` on; each once."""
        devices = [
            Device(name=name, kind=node_of(fields), index=first + place, fields=fields)
            for place, (name, fields) in enumerate(
                (name, fields) for name, fields in self._fields.items() if name not in self._found
            )
        ]
        self._found |= self._fields.keys()
        return devices

    def forget(self) -> None:
        """The body is gone: the indices are void."""
        self._found.clear()
