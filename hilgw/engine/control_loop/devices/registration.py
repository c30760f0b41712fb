"""The devices of a control loop: the body registers them, and the controller learns of them."""

import dataclasses
from collections.abc import Mapping

from hilgw.controllers.base import PeerSession
from hilgw.devices.fields import EmitterFields, ReceiverFields
from hilgw.devices.kinds import Device
from hilgw.devices.properties import DeviceFields, node_of
from hilgw.engine.control_loop.bodies.body_end import REGISTRATION_PAUSE_NS
from hilgw.engine.control_loop.bodies.body_ends import BodyEnds
from hilgw.engine.control_loop.controller_steps import NoSteps
from hilgw.engine.control_loop.devices.radios import Radios
from hilgw.engine.control_loop.parts import LoopContext
from hilgw.engine.control_loop.peer_link import PeerLink
from hilgw.engine.control_loop.presence import Presence
from hilgw.errors import known_here, nearest, quoted
from hilgw.transports.base import Wakeup

NAMES_SHOWN = 8


class Registration:
    """Announces the devices of the controller's body, then those that only the configuration has.

    They come in the order of the file. One that has the name and kind of a device of the body is
    that device: the file adds the fields of its node.

    is_complete: all devices are known; a controller may learn of them once only. under_way: the
    body has registered a device, and may register more.
    devices, table: the announced devices by index, and by name.
    """

    def __init__(
        self,
        context: LoopContext,
        bodies: BodyEnds,
        controller: PeerLink[PeerSession],
        fields: Mapping[str, DeviceFields],
        radios: Radios,
        presence: Presence,
        steps: NoSteps,
    ) -> None:
        self.is_complete = False
        self._statistics = context.statistics
        self._notices = context.notices
        self._bodies = bodies
        self._controller = controller
        self._fields = fields
        self._completed: set[str] = set()  # of these, the devices that have an index
        self._radios = radios
        self._presence = presence
        self._steps = steps
        self.devices: dict[int, Device] = {}
        self.table: dict[str, Device] = {}
        self._announced: dict[int, Device] = {}  # what a controller may mean by an index
        self._are_stale = False  # the controller has devices of a body that is gone
        self._wakeup = Wakeup(context.scheduler, lambda due: self.complete(context.scheduler.now()))

    @property
    def under_way(self) -> bool:
        return self._wakeup.at is not None

    # --- the body -----------------------------------------------------------------------------

    def lost(self) -> None:
        """Forget the body and its devices: it is gone."""
        self.is_complete = False
        self.cancel()
        self._radios.forget()
        self._completed.clear()
        self.devices.clear()
        self.table.clear()

    def add(self, device: Device, now: int) -> None:
        self._announce(self._complete(device), now)
        self._wakeup.set(now + REGISTRATION_PAUSE_NS)

    def complete(self, now: int) -> None:
        """Add the others of the configuration: the body has registered all its devices."""
        self.cancel()
        devices = self._bodies.link.session.devices
        self._statistics.keep(devices)
        self._name_absent([device.name for device in devices])
        first = max((device.index for device in devices), default=-1) + 1
        for device in self._missing(first):
            self._announce(device, now)
        self.is_complete = True
        self._steps.expect()
        self._presence.body_up()

    def _name_absent(self, present: list[str]) -> None:
        end = self._bodies.active
        if end.link.is_absent:
            return
        radios = (EmitterFields, ReceiverFields)  # which a gateway has itself
        measured = [name for name, each in self._fields.items() if not isinstance(each, radios)]
        named = dict.fromkeys((*measured, *sorted(end.named)))
        if text := absent_words([name for name in named if name not in present], present):
            self._notices.add(text, text)

    def _complete(self, device: Device) -> Device:
        fields = self._fields.get(device.name)
        if fields is None or node_of(fields) != device.kind:
            return device
        self._completed.add(device.name)
        return dataclasses.replace(device, fields=fields)

    def _missing(self, first: int) -> list[Device]:
        """Return the devices that the body lacks, with indices from `first` on; each once."""
        missing = [each for each in self._fields.items() if each[0] not in self._completed]
        self._completed |= self._fields.keys()
        return [
            Device(name=name, kind=node_of(fields), index=index, fields=fields)
            for index, (name, fields) in enumerate(missing, first)
        ]

    def cancel(self) -> None:
        """Wait for no further device."""
        self._wakeup.set(None)

    def _announce(self, device: Device, now: int) -> None:
        self._radios.adopt(device)
        self.devices[device.index] = device
        self.table.setdefault(device.name, device)
        self._statistics.add(device)
        controller = self._controller
        controller.call(now, controller.session.register, device)
        if self._announced.get(device.index, device) != device:
            controller.discard_stale_input(now)
        self._announced[device.index] = device

    # --- the controller -----------------------------------------------------------------------

    def dismiss_controller(self, text: str) -> None:
        """Disconnect the controller: the devices that it has are void."""
        controller = self._controller
        self._are_stale = True
        controller.dismiss(text, restarts=True)
        if controller.transport is None:
            self.controller_left()

    def controller_left(self) -> None:
        """Give the next controller the devices of the present body only."""
        if self._are_stale:
            self._are_stale = False
            self._controller.ask(None, self._controller.session.forget)


def absent_words(absent: list[str], present: list[str]) -> str:
    """Return one line with the devices that a body does not have, and those that it has.

    Empty where none is absent.
    """
    if not absent:
        return ""
    words = []
    for name in absent[:NAMES_SHOWN]:
        near = nearest(name, present)
        words.append(quoted(name) + (f" (did you mean {quoted(near)}?)" if near else ""))
    more = f" and {len(absent) - NAMES_SHOWN} more" if len(absent) > NAMES_SHOWN else ""
    return f"the body does not have {', '.join(words)}{more}; {known_here(present)}"
