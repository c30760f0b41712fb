"""The devices of Webots' models of the robots that hilgw has bodies for, by their PROTO.

Names and kinds of the models of R2025a: a world file does not have the nodes in a PROTO.
"""

from __future__ import annotations

from typing import Any

SIDES = ("left", "right")
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
        "Emitter": ["emitter"],
        "Receiver": ["receiver"],
    },
    "Create": {
        "TouchSensor": ["bumper_left", "bumper_right"],
        "DistanceSensor": [
            f"cliff_{place}" for place in ("left", "front_left", "front_right", "right")
        ],
        "LED": ["led_on", "led_play", "led_step"],
        "Receiver": ["receiver"],
    },
}
_BLANK = {"E-puck": {"camera": {"node": "Camera", "absent": "blank", "width": 52, "height": 39}}}


def devices_of(proto: str) -> dict[str, dict[str, Any]]:
    """Return the devices of a model as under `devices:`; none for an unknown PROTO."""
    devices: dict[str, dict[str, Any]] = {}
    for side in SIDES if proto in _NAMES else ():
        for kind, name in (("RotationalMotor", "motor"), ("PositionSensor", "sensor")):
            devices[f"{side} wheel {name}"] = {"node": kind, "joint": f"{side} wheel"}
    for kind, names in _NAMES.get(proto, {}).items():
        devices |= {name: {"node": kind} for name in names}
    return devices | _BLANK.get(proto, {})
