"""State of a controller's library, and its bytes on the wire (sections 2 and 3.1, 3.2).

One request is built from everything that its program has asked for since the last one.
"""

import math
import struct
from collections import Counter, deque
from typing import Any

from firmware_mocks._webots import wire
from firmware_mocks._webots.wire import Reader

MOTOR = ("RotationalMotor", "LinearMotor")
LIMIT = 4096  # packets and other records kept

# Layout of each message after its tag and command (section 2.5).
VALUES = {
    ("DistanceSensor", 50): "d",
    ("PositionSensor", 1): "d",
    ("LightSensor", 55): "d",
    ("Accelerometer", 51): "3d",
    ("Gyro", 53): "3d",
    ("Compass", 52): "3d",
    ("GPS", 2): "7d",
    ("InertialUnit", 54): "4d",
    ("TouchSensor", 40): "d",
    ("TouchSensor", 41): "3d",
    ("RotationalMotor", 5): "d",
    ("LinearMotor", 5): "d",
}
ASSOCIATED = {("RotationalMotor", 8), ("LinearMotor", 8), ("PositionSensor", 2), ("Brake", 4)}
TABLES = ("LightSensor", "Accelerometer", "Gyro", "Compass")
CONFIGURATIONS = {
    "RotationalMotor": "i11d",
    "LinearMotor": "i11d",
    "DistanceSensor": "i3d",
    "PositionSensor": "i",
    "Brake": "i",
    "GPS": "i",
    "InertialUnit": "d",
    "TouchSensor": "i",
    "Emitter": "ii3d",
    "Receiver": "ii",
    "Camera": "IHH2dB2dBB5d",
}


class Packet:
    """A packet in a Receiver's queue. direction: to the emitter, in the Receiver's frame."""

    def __init__(self, direction: tuple[float, ...], strength: float, data: bytes) -> None:
        self.direction = direction
        self.strength = strength
        self.data = data


class Device:
    """A device: its configuration, last values, queue, and the commands not sent yet.

    fields: the numbers of its configuration, in order. image: pixels of a camera.
    """

    def __init__(self, tag: int, kind: str, name: str) -> None:
        self.tag = tag
        self.kind = kind
        self.name = name
        self.fields: tuple[Any, ...] = ()
        self.allowed: tuple[int, ...] = ()
        self.values: tuple[float, ...] = ()
        self.associated = 0
        self.image = b""
        self.packets: deque[Packet] = deque()
        self.dropped = 0
        self.channel = 0
        self.range = -1.0
        self._commands: dict[int, bytes] = {}
        self._sending: deque[bytes] = deque()
        self._used = 0
        self._credit = 0.0

    # --- the program --------------------------------------------------------------------------

    def enable(self, period_ms: int) -> None:
        self.set(1, struct.pack("<H", period_ms))

    def set(self, command: int, payload: bytes) -> None:
        """Set a command for the next request; of several with one number the last is sent."""
        self._commands[command] = payload

    def send(self, data: bytes) -> bool:
        size, most = len(data), self.fields[0]
        if not size or (most != -1 and size > most - self._used):
            return False
        if not self._sending:
            self._credit = 0.0
        self._used += size
        head = struct.pack("<Bidi", 0, self.channel, self.range, size)
        self._sending.append(head + data)
        return True

    def set_channel(self, channel: int) -> bool:
        """Set the channel; return whether it is allowed."""
        if channel < -1 or (self.allowed and channel not in self.allowed):
            return False
        if self.kind == "Receiver" and channel != self.channel:
            self.set(2, struct.pack("<i", channel))
        self.channel = channel
        return True

    def set_range(self, range_m: float) -> bool:
        most = self.fields[4]
        if range_m < 0 and range_m != -1:
            return False
        beyond = range_m == -1 or range_m > most
        self.range = most if most != -1 and beyond else range_m
        return True

    # --- the wire -----------------------------------------------------------------------------

    def commands(self, step_ms: int) -> bytes:
        """Return the block of the next request.

        step_ms is that of the step, or of the one before an immediate request.
        """
        if self.kind == "Emitter":
            return self._packets(step_ms)
        taken, self._commands = self._commands, {}
        if self.kind == "Brake":
            payload = b"".join(taken[bit] for bit in sorted(taken))
            return bytes((sum(taken),)) + payload if taken else b""
        code = "<H" if self.kind in MOTOR else "<B"
        return b"".join(struct.pack(code, number) + taken[number] for number in sorted(taken))

    def _packets(self, step_ms: int) -> bytes:
        made, rate = b"", self.fields[2]
        if self._sending and rate != -1:
            self._credit += rate * step_ms
        while self._sending:
            size = len(self._sending[0]) - 17
            if rate != -1 and size > self._credit:
                break
            self._credit -= size
            self._used -= size
            made += self._sending.popleft()
        return made

    def configure(self, reader: Reader) -> None:
        self.fields = reader.read(CONFIGURATIONS.get(self.kind, ""))
        if self.kind in ("Emitter", "Receiver"):
            self.allowed = tuple(reader.whole("i") for _ in range(reader.whole("i")))
            self.channel = int(self.fields[1])
            self.range = self.fields[3] if self.kind == "Emitter" else -1.0
        elif self.kind in MOTOR:
            reader.take(2 * reader.whole("i"))
        elif self.kind == "InertialUnit":
            reader.text()
        if self.kind in (*TABLES, "DistanceSensor", "TouchSensor"):
            reader.take(24 * reader.whole("i"))

    def receive(self, reader: Reader) -> None:
        """Read a RECEIVE message; drop a packet that does not fit in the buffer."""
        self.channel = reader.whole("i")
        *direction, strength = reader.read("4d")
        data = reader.take(reader.whole("i"))
        most = self.fields[0]
        held = sum(len(packet.data) for packet in self.packets)
        if (most != -1 and held + len(data) > most) or len(self.packets) >= LIMIT:
            self.dropped += 1
        else:
            self.packets.append(Packet(tuple(direction), strength, data))


class Library:
    """The robot as its controller sees it. robot: commands of tag 0 not sent yet.

    time_s: of the last TIME message. quit: the simulator wants the controller to end.
    """

    def __init__(self, version: str) -> None:
        self.version = version
        self.name = ""
        self.simulator = ""
        self.devices: list[Device] = []
        self.step_ms = 0.0
        self.synchronization = True
        self.custom_data = ""
        self.urdf = ""
        self.time_s = 0.0
        self.battery = math.nan
        self.quit = False
        self.robot: dict[int, bytes] = {}
        self.counts: Counter[str] = Counter()
        self._last_step_ms = 0

    def find(self, name: str) -> Device | None:
        return next((device for device in self.devices if device.name == name), None)

    def request(self, step_ms: int) -> bytes:
        """Return everything that waits, in tag order; step_ms 0 makes the request immediate."""
        self._last_step_ms = step_ms or self._last_step_ms
        robot, self.robot = self.robot, {}
        blocks = [(0, b"".join(bytes((number,)) + robot[number] for number in _ordered(robot)))]
        blocks += [(each.tag, each.commands(self._last_step_ms)) for each in self.devices]
        return wire.request(step_ms, blocks)

    def take(self, answer: wire.Answer) -> None:
        """Apply the messages of an answer. ValueError: one is unknown, or cut short."""
        reader = Reader(answer.messages)
        while reader:
            tag, command = reader.whole("H"), reader.whole("B")
            if tag == 0:
                self._robot_message(command, reader)
            elif tag <= len(self.devices):
                self._device_message(self.devices[tag - 1], command, reader)
            else:
                raise ValueError(f"a message for device {tag} of {len(self.devices)}")
            self.counts["messages"] += 1
        for tag, pixels in answer.images.items():
            device = self.devices[tag - 1] if 0 < tag <= len(self.devices) else None
            if device is None or len(pixels) != 4 * device.fields[1] * device.fields[2]:
                raise ValueError(f"an image of {len(pixels)} bytes for device {tag}")
            device.image = pixels

    def _robot_message(self, command: int, reader: Reader) -> None:
        if command == 0:
            self._configure(reader)
        elif command == 2:
            self.quit = True
        elif command == 4:
            self.time_s = reader.real()
        elif command == 5:
            self.battery = reader.real()
        elif command in (10, 80):
            reader.whole("i")
        elif command == 11:
            self.custom_data = reader.text()
        elif command == 12:
            reader.whole("B")
        elif command == 13:
            reader.text()
        elif command == 46:
            self.urdf = reader.text()
        elif command == 81:
            reader.take(reader.whole("i"))
        else:
            raise ValueError(f"robot message {command}")

    def _configure(self, reader: Reader) -> None:
        # C_CONFIGURE of the robot (section 2.4).
        kinds = {number: kind for kind, number in wire.nodes(self.version).items()}
        if self.version != wire.OLD:
            self.name, self.simulator = reader.text(), reader.text()
        reader.whole("B")
        self.synchronization = bool(reader.whole("B"))
        count = reader.whole("H")
        if kinds.get(reader.whole("H")) != "Robot":
            raise ValueError("the first node is not a Robot")
        self.time_s = reader.real()
        if self.version == wire.OLD:
            self.name = reader.text()
        self.devices = []
        for tag in range(1, count):
            number, name, _ = reader.whole("H"), reader.text(), reader.text()
            if number not in kinds:
                raise ValueError(f"node {number} of {name!r} is unknown")
            self.devices.append(Device(tag, kinds[number], name))
        self.step_ms = reader.real()
        *_, self.custom_data = (reader.text() for _ in range(7))
        reader.read("BBi")

    def _device_message(self, device: Device, command: int, reader: Reader) -> None:
        if command == 0 and device.kind != "LED":
            device.configure(reader)
        elif device.kind == "Receiver" and command == 1:
            device.receive(reader)
        elif (device.kind, command) in VALUES:
            device.values = reader.read(VALUES[device.kind, command])
        elif (device.kind, command) in ASSOCIATED:
            device.associated = reader.whole("H")
        else:
            raise ValueError(f"message {command} for {device.kind} {device.name}")


def _ordered(robot: dict[int, bytes]) -> list[int]:
    # The library writes the robot's commands in this order.
    order = (34, 35, 36, 31, 37, 38, 33, 40, 81, 80, 46)
    return sorted(robot, key=lambda number: order.index(number))
