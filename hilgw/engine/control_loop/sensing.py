"""What the body of a loop shows: its devices and their values, for the controller."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hilgw.control.events import (
    Connected,
    DeviceFault,
    Disconnected,
    Event,
    PacketIn,
    Registered,
    SensorValue,
)
from hilgw.engine.control_loop.drive import BODY

if TYPE_CHECKING:
    from hilgw.devices.kinds import Device
    from hilgw.engine.control_loop.drive import Safety
    from hilgw.engine.control_loop.parts import Parts
    from hilgw.medium.packet import Copy
    from hilgw.transports.base import Handle

# A body whose devices come one by one has shown all when none came for so long.
SETTLED_NS = 100_000_000


class Sensing:
    """The way from the body to the controller, who may come before or after it.

    A controller that reads too slowly gets the newest value of each sensor when it can.
    """

    def __init__(self, parts: Parts, drive: Safety) -> None:
        self._parts = parts
        self._drive = drive
        self._held: dict[int, float] = {}
        self._settle: Handle | None = None
        self._is_here = False
        self._told: dict[int, Device] = {}  # what a controller may mean by an index
        self._stale = False  # the controller knows devices of a body that is gone
        self._handlers: dict[type[Any], Callable[[Any, int], None]] = {
            Connected: self._came,
            Disconnected: lambda event, now: self.gone(event.reason, now),
            Registered: lambda event, now: self._register(event.device, now),
            PacketIn: self._packet,
            DeviceFault: lambda event, now: parts.tell(event.index),
        }

    def take(self, events: list[Event], now: int) -> None:
        """What the body's session says."""
        values: list[tuple[int, float]] = []
        for event in events:
            if type(event) is SensorValue:
                values.append((event.index, event.value))
            elif (handle := self._handlers.get(type(event))) is not None:
                handle(event, now)
            elif self._parts.body is not None:
                self._parts.say(self._parts.body, event)
        if values:
            self._show(values, now)

    # --- coming and going ---------------------------------------------------------------------

    def start(self, now: int) -> None:
        if self._parts.body is None:
            self._settled(now)

    def close(self) -> None:
        if self._settle is not None:
            self._settle.cancel()
            self._settle = None

    def _came(self, event: Connected, now: int) -> None:
        body = self._parts.body
        assert body is not None
        self._is_here = True
        body.ready(event.identity)
        for device in body.session.devices:  # those of a line that was silent for a while
            self._register(device, now)

    def gone(self, reason: str, now: int) -> None:
        """The body is gone: nothing of it is known, and its controller has to come anew."""
        parts = self._parts
        if not self._is_here:
            return
        self._is_here = False
        self._drive.stop(BODY, now)
        self.close()
        parts.radios.forget()
        if parts.body is not None:
            parts.body.not_ready(reason)
        if parts.controller is not None and not self._drive.ending:
            self._stale = True
            parts.controller.drop("the body is gone")
            if parts.controller.transport is None:
                self.controller_gone()

    def controller_gone(self) -> None:
        """Between two controllers: the next one learns only what is there now."""
        self._held.clear()
        if self._stale and self._parts.controller is not None:
            self._stale = False
            self._parts.controller.session.forget()

    # --- devices ------------------------------------------------------------------------------

    def _register(self, device: Device, now: int) -> None:
        self._parts.radios.claims(device)
        self._tell_of(device, now)
        self.close()
        self._settle = self._parts.scheduler.call_at(
            now + SETTLED_NS, lambda: self._settled(self._parts.scheduler.now())
        )

    def _settled(self, now: int) -> None:
        """The body has shown all its devices: those of the gateway follow."""
        self.close()
        body = self._parts.body
        devices = () if body is None else body.session.devices
        self._parts.figures.keep(devices)
        first = max((device.index for device in devices), default=-1) + 1
        for device in self._parts.radios.place_rest(first):
            self._tell_of(device, now)

    def _tell_of(self, device: Device, now: int) -> None:
        self._parts.figures.add(device)
        controller = self._parts.controller
        if controller is not None:
            controller.call(lambda: controller.session.register(device), now)
            if self._told.get(device.index, device) != device:
                controller.hush(now)
            self._told[device.index] = device

    # --- values and packets -------------------------------------------------------------------

    def _show(self, values: list[tuple[int, float]], now: int) -> None:
        if self._settle is not None:
            self._settled(now)
        controller = self._parts.controller
        if controller is None or controller.transport is None:
            pass
        elif controller.congested(now):
            before = len(self._held)
            self._held.update(values)
            superseded = before + len(values) - len(self._held)
            self._parts.figures.counts["values_superseded"] += superseded
        else:
            try:
                events = controller.session.report(values, now)
            except Exception as error:  # noqa: BLE001 - as in Side.call, without its allocation
                controller.fault(error)
            else:
                controller.run(events, now)
        self._parts.figures.saw(values, now)  # counting can wait, the controller cannot

    def show_held(self, now: int) -> None:
        """The controller can read again."""
        values, self._held = list(self._held.items()), {}
        controller = self._parts.controller
        if values and controller is not None:
            controller.call(lambda: controller.session.report(values, now), now)

    def _packet(self, event: PacketIn, now: int) -> None:
        if event.index in self._parts.radios:
            self._parts.figures.refused["replaced"] += 1  # ours stands in its place
        else:
            self._deliver(event, now)

    def heard(self, receiver: str, copy: Copy) -> None:
        """A Receiver of the gateway's own has read a packet."""
        event = self._parts.radios.packet_in(receiver, copy)
        if event is not None:
            self._deliver(event, self._parts.scheduler.now())

    def _deliver(self, event: PacketIn, now: int) -> None:
        controller = self._parts.controller
        if controller is not None:
            controller.call(lambda: controller.session.deliver(event), now)
