"""The devices of a robot under their tags, and the messages that configure them."""

from __future__ import annotations

import dataclasses

from hilgw.controllers.webots.configuration import configuration_of, fields_of
from hilgw.devices.kinds import Device, Devices, on_joint
from hilgw.protocols.webots.codec import Codec, Message
from hilgw.protocols.webots.configuration import MOST_DEVICES
from hilgw.protocols.webots.errors import WebotsRefused
from hilgw.protocols.webots.forms import KINDS
from hilgw.protocols.webots.robot_messages import DeviceEntry, RobotConfiguration
from hilgw.reasons import RequestRefused
from hilgw.units import ns_to_s


class TagTable:
    """Tags are 1, 2, ... in the order of the devices' indices, from the configuration on."""

    def __init__(self, version: str) -> None:
        self.codec = Codec(version)
        self.devices: dict[int, Device] = {}  # by tag
        self.tags: dict[int, int] = {}  # by device index

    def refusal(self, device: Device, known: Devices) -> tuple[str, str] | None:
        """Why the robot cannot have this device: the reason, and text; None when it can."""
        if device.kind not in KINDS:
            return (
                WebotsRefused.UNSUPPORTED,
                f"{device.kind} '{device.name}' is not supported, and left out",
            )
        if len(known) >= MOST_DEVICES:
            return WebotsRefused.TOO_MANY, f"a robot has at most {MOST_DEVICES} devices"
        if "\0" in device.name:
            return RequestRefused.UNSENDABLE, f"the name {device.name!r} has a NUL"
        return None

    def assign(self, devices: Devices) -> None:
        """Gives all devices their tags."""
        self.devices = dict(enumerate(devices, 1))
        self.tags = {device.index: tag for tag, device in self.devices.items()}
        self.codec.forget()

    def configuration(self, robot: RobotConfiguration, time_ns: int) -> list[Message]:
        """The configuration of the robot, then that of each device."""
        entries = tuple(
            DeviceEntry(self.codec.number(device.kind), device.name, fields_of(device).model)
            for device in self.devices.values()
        )
        messages: list[Message] = [
            dataclasses.replace(robot, devices=entries, time=ns_to_s(time_ns))
        ]
        devices = list(self.devices.values())
        for device in devices:
            configuration = configuration_of(device, self.tags, devices)
            if configuration is not None:
                messages.append(configuration)
        return messages

    def on_joint(self, tag: int, node: int) -> int:
        """The tag of the device of this node number on the joint of a device; 0 without one."""
        found = on_joint(self.devices.values(), self.devices[tag], self.codec.kind(node))
        return 0 if found is None else self.tags[found.index]
