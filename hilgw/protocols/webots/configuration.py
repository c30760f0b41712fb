"""Messages of the robot that no table of fields can give: configurations and new devices.

The layout of the robot's C_CONFIGURE changed with R2023b.
From R2023b on: name, version, supervisor, ... Before: supervisor, ..., time, name, and no version.
"""

import struct
from collections.abc import Iterable

from hilgw.protocols.webots.robot_messages import (
    DeviceEntry,
    JoystickConfiguration,
    NewDevices,
    RobotConfiguration,
)
from hilgw.protocols.webots.wire import F64, U16, Cursor, encode_text

MOST_DEVICES = 0xFFFE
"""Tags are 1 to 65,534: the count includes the robot."""

_ROBOT = struct.Struct("<BBHHd")
_TEXTS = (
    "projectPath",
    "worldPath",
    "model",
    "window",
    "remoteControl",
    "controller",
    "customData",
)
_JOYSTICK = struct.Struct("<iii")
_END = struct.Struct("<BBi")
_SHORTEST_ENTRY = U16.size + 2


def encode_configuration(message: RobotConfiguration, node: int, *, named_first: bool) -> bytes:
    """Return the payload of a configuration.

    `node` is the number of Robot; `named_first` is the layout from R2023b on.
    """
    name = encode_text(message.name)
    robot = _ROBOT.pack(
        message.supervisor,
        message.synchronization,
        len(message.devices) + 1,
        node,
        message.time,
    )
    head = name + encode_text(message.version) + robot if named_first else robot + name
    texts = b"".join(encode_text(getattr(message, each)) for each in _TEXTS)
    end = _END.pack(message.showWindow, message.hasHtmlWindow, message.mode)
    return head + _encode_entries(message.devices) + F64.pack(message.basicTimeStep) + texts + end


def decode_configuration(cursor: Cursor, node: int, *, named_first: bool) -> RobotConfiguration:
    """Decode the configuration of a robot.

    Raises:
        ProtocolError: It is cut off, or of a version with another number of Robot.
    """
    name = version = ""
    if named_first:
        name, version = cursor.text("the robot's name"), cursor.text("the version")
    supervisor, synchronization, count, number, time = cursor.unpack(_ROBOT, "the robot")
    if number != node:
        raise cursor.error(
            f"node number {number} is not a Robot"
            + (f"; the peer is {version}" if version else ""),
            fix="set webots: to the version of the simulator",
        )
    if not named_first:
        name = cursor.text("the robot's name")
    devices = _decode_entries(cursor, count - 1)
    (step,) = cursor.unpack(F64, "basicTimeStep")
    texts = {each: cursor.text(each) for each in _TEXTS}
    show, html, mode = cursor.unpack(_END, "the end of the configuration")
    return RobotConfiguration(
        name=name,
        version=version,
        supervisor=supervisor != 0,
        synchronization=synchronization != 0,
        time=time,
        devices=devices,
        basicTimeStep=step,
        **texts,
        showWindow=show != 0,
        hasHtmlWindow=html != 0,
        mode=mode,
    )


def encode_new_devices(message: NewDevices) -> bytes:
    """Return the payload."""
    return U16.pack(len(message.devices)) + _encode_entries(message.devices)


def decode_new_devices(cursor: Cursor) -> NewDevices:
    """Decode new devices, or raise ProtocolError."""
    return NewDevices(_decode_entries(cursor, cursor.number(U16, "the number of devices")))


def encode_joystick(message: JoystickConfiguration) -> bytes:
    """Return the payload: three numbers, and the model unless all of them are negative."""
    numbers = (message.axes, message.buttons, message.povs)
    return _JOYSTICK.pack(*numbers) + (b"" if max(numbers) < 0 else encode_text(message.model))


def decode_joystick(cursor: Cursor) -> JoystickConfiguration:
    """Decode a joystick, or raise ProtocolError."""
    axes, buttons, povs = cursor.unpack(_JOYSTICK, "the joystick")
    model = "" if max(axes, buttons, povs) < 0 else cursor.text("the model")
    return JoystickConfiguration(axes, buttons, povs, model)


def _encode_entries(entries: Iterable[DeviceEntry]) -> bytes:
    return b"".join(
        U16.pack(node) + encode_text(name) + encode_text(model) for node, name, model in entries
    )


def _decode_entries(cursor: Cursor, count: int) -> tuple[DeviceEntry, ...]:
    if count < 0 or count * _SHORTEST_ENTRY > cursor.left:
        raise cursor.error(f"a list of {count} devices is not valid")
    return tuple(
        DeviceEntry(
            cursor.number(U16, "a node number"),
            cursor.text("a device's name"),
            cursor.text("a device's model"),
        )
        for _ in range(count)
    )
