"""The devices that the configuration lists for a robot, as devices of its control loop."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from hilgw.devices.kinds import Device
from hilgw.devices.properties import DeviceFields, node_of


class ConfiguredDevices:
    """One that has the name and kind of a device of the body is that device: the file adds the
    fields of its node. The others follow after the body's devices, in the order of the file."""

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
