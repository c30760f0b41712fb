"""The fields of a device's node as settings, with the values that Webots accepts.

Webots' treatment of a value outside its limits: WbEmitter, WbReceiver, WbMotor and WbFieldChecker
of Webots R2023b; it warns and continues with another value.

Names and kinds of the models of R2025a: a world file does not have the nodes in a PROTO.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from hilgw.devices.fields import CHANNEL_MAX, EmitterFields, ReceiverFields, is_allowed, normalise
from hilgw.devices.properties import FIELDS, MOST_PIXELS
from hilgw.errors import ConfigError, quoted
from hilgw.worlds.nodes import Parameter, WorldNode
from hilgw.worlds.survey import SceneDevice

Settings = dict[str, Any]

_COMPUTED = {"translation", "rotation", "sampling_period_ms", "joint", "position"}
"""Settings that do not come from the field of that name."""

FROM_WORLD = ("gpsCoordinateSystem", "coordinateSystem")
"""Settings that come from WorldInfo."""


# Webots' replacement of a value that it does not allow, if this is not the default.
_TAKEN: dict[str, Callable[[float], float]] = {
    "range": abs,  # it compares squares
    "maxVelocity": abs,
}


def settings_of(device: SceneDevice, world: dict[str, str]) -> tuple[Settings, list[str]]:
    """Return the settings of a device of a kind in `FIELDS`, and notes on changed values.

    All fields of an Emitter or a Receiver are there, otherwise those that differ from the default.
    `world` has the settings that come from WorldInfo.
    """
    node, notes = device.node, list[str]()
    fields = FIELDS[node.kind]
    is_radio = fields in (EmitterFields, ReceiverFields)
    settings: Settings = {}
    for declared in dataclasses.fields(fields):
        name = declared.name
        if name in _COMPUTED:
            continue
        if name == "type" and declared.metadata["doc"] == "kind of joint":
            value: Any = device.axis.kind if device.axis else declared.default
        elif name in FROM_WORLD:
            value = _from_world(world.get(name, str(declared.default)), declared, notes)
        else:
            value = _value(node, declared, notes)
        if is_radio or value != declared.default:
            settings[name] = value
    if not is_radio:
        return settings, notes
    _allow_channel(node, settings, notes)
    return _normalised(fields, settings, notes), notes


def _from_world(text: str, declared: Any, notes: list[str]) -> str:
    if text in declared.metadata["choices"]:
        return text
    notes.append(f"{declared.name} {quoted(text)} of WorldInfo is not supported")
    return str(declared.default)


def _normalised(fields: Any, settings: Settings, notes: list[str]) -> Settings:
    try:
        made, warnings = normalise(fields(**settings))
    except ConfigError as error:
        raise AssertionError(f"unusable settings {settings}") from error
    notes.extend(warnings)
    return {name: getattr(made, name) for name in settings}


def _allow_channel(node: WorldNode, settings: Settings, notes: list[str]) -> None:
    allowed = settings["allowedChannels"]
    if allowed and settings["channel"] not in allowed:
        given = settings["channel"]
        settings["channel"] = allowed[0]
        notes.append(f"channel {given} is not in allowedChannels, Webots takes {allowed[0]}")


def _value(node: WorldNode, declared: Any, notes: list[str]) -> Any:
    name, default = declared.name, declared.default
    values = node.fields.get(name)
    if values is None:
        return default
    if any(isinstance(value, Parameter) for value in values):
        notes.append(f"{name} IS a parameter, its value is hidden")
        return default
    if isinstance(default, str):
        return _text(node, declared, notes)
    if isinstance(default, tuple):
        return _list(node, declared, notes)
    number = node.number(name)
    if number is None:
        notes.append(f"{name} is not a number, the default {default} is used")
        return default
    return _number(name, number, declared, notes)


def _text(node: WorldNode, declared: Any, notes: list[str]) -> str:
    name, default, choices = declared.name, str(declared.default), declared.metadata["choices"]
    text = node.text(name)
    if text is None:
        notes.append(f"{name} is not a string, the default is used")
        return default
    if choices and text not in choices:
        notes.append(f"{name} {quoted(text)} does not exist, Webots takes {default}")
        return default
    return text


def _list(node: WorldNode, declared: Any, notes: list[str]) -> Any:
    name, default, numbers = declared.name, declared.default, node.numbers(declared.name)
    if name in node.partial:
        notes.append(f"{name} has too many values, the first {len(numbers)} are used")
    fit = [is_allowed(number, declared.metadata) for number in numbers]
    if name == "allowedChannels":
        for number, fits in zip(numbers, fit, strict=True):
            if not (fits and number.is_integer()):
                notes.append(f"{name} has no channel {number:g}, it is left out")
        both = zip(numbers, fit, strict=True)
        return tuple(int(number) for number, fits in both if fits and number.is_integer())
    rows = len(numbers) // 3
    if not all(fit) or len(numbers) % 3 or (name == "controlPID" and rows != 1):
        notes.append(f"{name} is not valid, the default is used")
        return default
    if name == "controlPID":
        return numbers
    return tuple(numbers[3 * row : 3 * row + 3] for row in range(rows))


def _number(name: str, number: float, declared: Any, notes: list[str]) -> int | float:
    default, metadata = declared.default, declared.metadata
    if isinstance(default, int) and math.isfinite(number) and not number.is_integer():
        notes.append(f"{name} {number:g} is not a whole number, {math.trunc(number)} is used")
        number = float(math.trunc(number))
    taken = number
    if not is_allowed(number, metadata):
        taken = _TAKEN[name](number) if name in _TAKEN else float(default)
        if not is_allowed(taken, metadata):
            taken = float(default)
        who = "hilgw takes" if name == "channel" else "Webots takes"
        notes.append(f"{name} {number:g} is not allowed, {who} {taken:g}")
    return int(taken) if isinstance(default, int) else taken


BODIES = {
    "E-puck": "{kind: epuck, port: /dev/rfcomm0}",
    "Create": "{kind: create2, port: /dev/ttyUSB0}",
}
_NAMES = {
    "E-puck": {
        "DistanceSensor": [f"ps{number}" for number in range(8)],
        "LightSensor": [f"ls{number}" for number in range(8)],
        "LED": [f"led{number}" for number in range(10)],
        "Accelerometer": ["accelerometer"],
        "Gyro": ["gyro"],
    },
    "E-puckGroundSensors": {"DistanceSensor": ["gs0", "gs1", "gs2"]},
    "Create": {
        "TouchSensor": ["bumper_left", "bumper_right"],
        "DistanceSensor": [
            f"cliff_{place}" for place in ("left", "front_left", "front_right", "right")
        ],
        "LED": ["led_on", "led_play", "led_step"],
        "Receiver": ["receiver"],
    },
}
_SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "E-puck": {
        "emitter": {"node": "Emitter", "channel": 1},
        "receiver": {"node": "Receiver", "channel": 1},
        "camera": {"node": "Camera", "absent": "blank", "width": 52, "height": 39},
    }
}
_LIMITS = {"channel": (-1, CHANNEL_MAX), "width": (1, MOST_PIXELS), "height": (1, MOST_PIXELS)}


_WHEELS = {
    f"{side} wheel {name}": {"node": kind, "joint": f"{side} wheel"}
    for side in ("left", "right")
    for kind, name in (("RotationalMotor", "motor"), ("PositionSensor", "sensor"))
}
_DEVICES: dict[str, dict[str, dict[str, Any]]] = {
    proto: (_WHEELS if proto in BODIES else {})
    | {name: {"node": kind} for kind, names in kinds.items() for name in names}
    | _SETTINGS.get(proto, {})
    for proto, kinds in _NAMES.items()
}


def devices_of(node: WorldNode) -> dict[str, dict[str, Any]]:
    """Return the devices of a model as under `devices:`; none for an unknown PROTO."""
    devices = {name: dict(each) for name, each in _DEVICES.get(node.kind, {}).items()}
    for name, settings in devices.items():
        for key in settings.keys() & _LIMITS:
            (least, most), given = _LIMITS[key], node.number(f"{name}_{key}")  # emitter_channel
            if given is not None and least <= given <= most:
                settings[key] = int(given)
    return devices
