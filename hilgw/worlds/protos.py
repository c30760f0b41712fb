"""The devices of Webots' models of the robots that hilgw has bodies for, by their PROTO.

Names and kinds of the models of R2025a: a world file does not have the nodes in a PROTO.
"""

from typing import Any

from hilgw.devices.fields import CHANNEL_MAX
from hilgw.devices.properties import MOST_PIXELS
from hilgw.worlds.nodes import WorldNode

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
