"""A robot of the Webots simulator mock: its devices, configuration and messages."""

import struct
from collections.abc import Mapping
from typing import Any

from firmware_mocks._room import CartRoom
from firmware_mocks._webots import devices as parts, sensors
from firmware_mocks._webots.radio import Emitter, Receiver
from firmware_mocks._webots.settings import Settings
from firmware_mocks._webots.wire import EXIT_NOTIFY, OLD, Reader, message, nodes, text

KINDS: dict[str, type[parts.Device]] = {
    "Emitter": Emitter,
    "Receiver": Receiver,
    "RotationalMotor": parts.Motor,
    "LinearMotor": parts.Motor,
    "PositionSensor": sensors.PositionSensor,
    "Brake": parts.Brake,
    "DistanceSensor": sensors.DistanceSensor,
    "LED": parts.Led,
    "LightSensor": sensors.LightSensor,
    "Accelerometer": sensors.Accelerometer,
    "Gyro": sensors.Gyro,
    "Compass": sensors.Compass,
    "GPS": sensors.Gps,
    "InertialUnit": sensors.InertialUnit,
    "TouchSensor": sensors.TouchSensor,
    "Camera": sensors.Camera,
}
ALL = (
    "emitter:Emitter, receiver:Receiver, left_wheel:RotationalMotor, left_sensor:PositionSensor, "
    "left_brake:Brake, right_wheel:RotationalMotor, right_sensor:PositionSensor, "
    "lift:LinearMotor minPosition=0 maxPosition=0.2, lift_sensor:PositionSensor, "
    "ds_left:DistanceSensor angle=0.7, ds_front:DistanceSensor, "
    "ds_right:DistanceSensor angle=-0.7, led:LED, light:LightSensor, "
    "accelerometer:Accelerometer, gyro:Gyro, compass:Compass, gps:GPS, imu:InertialUnit, "
    "bumper:TouchSensor, force:TouchSensor type=force, force3d:TouchSensor type=force-3d, "
    "camera:Camera"
)
# Robot commands (section 2.6): what follows each, for struct.
_PERIODS = {31: "battery", 34: "keyboard", 35: "joystick", 36: "mouse"}
# Position of the mouse in the world; force, duration, gains and axis of the joystick: this machine
# has neither.
_NO_EFFECT = {39: "B", 41: "h", 42: "d", 43: "d", 44: "d", 45: "I"}
CONSOLE, REMOTE_ON, REMOTE_OFF, SET_DATA, PIN, URDF = 30, 32, 33, 37, 40, 46
USER_INPUT, WWI = 80, 81
QUIT, TIME, BATTERY = 2, 4, 5
BATTERY_MS = 600_000  # a full battery is empty after this time

Parts = list[tuple[str, str, Mapping[str, Any]]]


def device_list(given: Any) -> Parts:
    """Return name, type and fields of each device.

    They are given as text as in ALL, or as a mapping of name to type or to fields with
    `type_name`. Raises ValueError.
    """
    if isinstance(given, str):
        given = ALL if given.strip() == "all" else given
        made = [_of_text(part) for part in given.split(",")]
    elif isinstance(given, Mapping):
        made = [_of_mapping(str(name), value) for name, value in given.items()]
    else:
        raise ValueError(f"devices: {given!r} is not NAME:TYPE, ...")
    for name, kind, _ in made:
        if not name or kind not in KINDS:
            raise ValueError(f"devices: {name!r}:{kind!r} is not NAME:TYPE of {', '.join(KINDS)}")
    return made


def _of_text(part: str) -> tuple[str, str, Mapping[str, Any]]:
    name, _, rest = part.rpartition(":")  # coupled motors have "::" in their names
    kind, *fields = rest.split() or [""]
    pairs = [field.partition("=") for field in fields]
    return name.strip(), kind, {key: value.replace("+", " ") for key, _, value in pairs}


def _of_mapping(name: str, value: Any) -> tuple[str, str, Mapping[str, Any]]:
    if not isinstance(value, Mapping):
        return name, str(value), {}
    fields = {str(key): each for key, each in value.items() if key != "type_name"}
    return name, str(value.get("type_name")), fields


class Robot:
    """The state of one robot.

    `custom_data`, `console` and `wwi` are as its controller sent them last; it is `leaving` when
    the controller announced its end.
    """

    def __init__(self, name: str, room: CartRoom, given: Parts, settings: Settings) -> None:
        self.name = name
        self.version = settings.webots
        self.step_ms = settings.step_ms
        self.synchronization = settings.synchronization == "yes"
        self.plugin = settings.plugin
        self.body = parts.Body(room)
        self.numbers = nodes(self.version)
        self.devices = self._make(given)
        self.by_tag = {device.tag: device for device in self.devices}
        self.custom_data = self.console = ""
        self.wwi = b""
        self._battery_ms = 0
        self.connect()

    def _make(self, given: Parts) -> list[parts.Device]:
        made: list[parts.Device] = []
        for tag, (name, kind, fields) in enumerate(given, 1):
            try:
                device = KINDS[kind](kind, tag, name, fields, self.body)
                device.configuration()  # checks its fields
            except ValueError as error:
                raise ValueError(f"devices: {name}: {error}") from None
            self._join(device)
            made.append(device)
        return made

    def _join(self, device: parts.Device) -> None:
        # A position sensor or brake belongs to the motor listed before it.
        motors = self.body.motors
        if device.kind in ("PositionSensor", "Brake") and motors:
            device.joint = motors[-1]
        if device.joint is not None:
            device.joint.associated.setdefault(self.numbers[device.kind], device.tag)

    def connect(self) -> None:
        """Accept a controller: no sensor is enabled; motors keep moving as before."""
        for device in self.devices:
            device.forget()
        self.remote = self.leaving = False
        self._pending = b""
        self._battery_ms = 0
        self._time_ms = -1.0

    # --- simulator to controller --------------------------------------------------------------

    def configuration(self, now_ms: float) -> bytes:
        """Return C_CONFIGURE of the robot and of each device (section 2.4)."""
        count = struct.pack("<H", len(self.devices) + 1)
        node = struct.pack("<H", self.numbers["Robot"])
        time = struct.pack("<d", now_ms / 1000)
        flags = struct.pack("<BB", 0, self.synchronization)
        if self.version == OLD:
            made = flags + count + node + time + text(self.name)
        else:
            made = text(self.name) + text(self.version) + flags + count + node + time
        for device in self.devices:
            made += struct.pack("<H", self.numbers[device.kind]) + text(device.name) + text("")
        made += struct.pack("<d", self.step_ms)
        made += text("") * 4 + text(self.plugin) + text("<extern>") + text(self.custom_data)
        made = message(0, 0, made + struct.pack("<BBi", 0, 0, 1))
        for device in self.devices:
            if not isinstance(device, parts.Led):  # the library has no reader for an LED
                made += message(device.tag, 0, device.configuration())
        self._time_ms = now_ms
        return made

    def messages(self, now_ms: float) -> bytes:
        """Return everything due; TIME only when it has changed."""
        made, self._pending = self._pending, b""
        if now_ms != self._time_ms:
            self._time_ms = now_ms
            made += message(0, TIME, struct.pack("<d", now_ms / 1000))
            if self._battery_ms:
                left = max(0.0, 1 - now_ms / BATTERY_MS)
                made += message(0, BATTERY, struct.pack("<d", left))
        return made + b"".join(self._device_messages())

    def _device_messages(self) -> list[bytes]:
        # The messages of the devices; in remote mode only those with packets.
        return [
            sent
            for device in self.devices
            if (sent := device.messages()) and not (self.remote and device.kind != "Receiver")
        ]

    def images(self) -> list[tuple[int, bytes]]:
        return [(device.tag, image) for device in self.devices if (image := device.image())]

    def sample(self, now_ms: float) -> None:
        for device in self.devices:
            device.sample(now_ms)

    # --- controller to simulator --------------------------------------------------------------

    def execute(self, blocks: list[tuple[int, bytes]], now_ms: float) -> None:
        """Execute the blocks of a request; ValueError for an unknown or cut command or tag."""
        for tag, data in blocks:
            reader = Reader(data)
            if tag == 0:
                while reader:
                    self._command(reader.whole("B"), reader)
            elif tag in self.by_tag:
                self.by_tag[tag].execute(reader, now_ms)
            else:
                raise ValueError(f"device {tag} of {len(self.devices)}")

    def _command(self, command: int, reader: Reader) -> None:
        if command in _PERIODS:
            period_ms = reader.whole("H")
            if _PERIODS[command] == "battery":
                self._battery_ms = period_ms
        elif command in _NO_EFFECT:
            reader.read(_NO_EFFECT[command])
        elif command in (REMOTE_ON, REMOTE_OFF):
            self.remote = command == REMOTE_ON
        elif command == SET_DATA:
            self.custom_data = _sized_text(reader, "H")
        elif command == CONSOLE:
            reader.whole("B")
            self.console = _sized_text(reader, "I")
        elif command == EXIT_NOTIFY:
            self.leaving = True
        elif command == PIN:
            reader.whole("B")
        elif command == URDF:
            self._pending += message(0, URDF, text(self._urdf(_sized_text(reader, "H"))))
        elif command == USER_INPUT:
            reader.read("ii")
            self._pending += message(0, USER_INPUT, struct.pack("<i", 0))  # no event
        elif command == WWI:
            self.wwi = reader.take(reader.whole("i"))
        else:
            raise ValueError(f"robot command {command}")

    def _urdf(self, prefix: str) -> str:
        link = f'<link name="{prefix}base_link"/>'
        return f'<?xml version="1.0"?><robot name="{self.name}">{link}</robot>'


def _sized_text(reader: Reader, code: str) -> str:
    return reader.take(reader.whole(code)).rstrip(b"\0").decode(errors="replace")
