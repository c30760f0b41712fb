"""The settings of a controller for each device, and the values that it received.

Each state puts the controller's commands into the next request, and takes the messages of the
answers. The classes of `hilgw.api` are views of these states, as many as the program makes.
"""

import math
from collections import deque
from pathlib import Path
from typing import Any

from hilgw.api.arguments import report
from hilgw.devices.fields import UNLIMITED, channel_refusal
from hilgw.protocols.webots.codec import Command
from hilgw.protocols.webots.device_messages import (
    AssociatedDevice,
    BrakeCommand,
    EmitterConfiguration,
    GetAssociatedDevice,
    GpsValues,
    ImageFile,
    MotorConfiguration,
    Quaternion,
    Receive,
    ReceiverConfiguration,
    SetChannel,
    SetLed,
    SetSamplingPeriod,
    ValueMessage,
    Values,
)
from hilgw.protocols.webots.queues import EmitterQueue, WaitingCommands


class State:
    """The state of one device.

    tag: its number; 0: the robot does not have it, and it answers as libController does then. node:
    its number in this version of Webots; kind: its node's name. waiting: the commands of the next
    request.
    """

    def __init__(
        self, waiting: WaitingCommands, tag: int, kind: str, node: int, name: str, model: str
    ) -> None:
        self.tag, self.kind, self.node, self.name, self.model = tag, kind, node, name, model
        self.configuration: Any = None  # as received at the start, if the device has one
        self.associated = 0  # the tag in the last answer to a question
        self.waiting = waiting

    def put(self, command: Command) -> None:
        """Send this with the next request; a later command of its kind replaces it."""
        self.waiting.put(command)

    def ask(self, node: int) -> None:
        """Ask for the device of this node number on the same joint, in the next request."""
        self.put(GetAssociatedDevice(self.tag, node))

    def apply(self, message: Any) -> None:
        """Apply one message of the simulator."""
        if isinstance(message, AssociatedDevice):
            self.associated = message.device
        else:
            self.configuration = message


class SensorState(State):
    """A sensor. value: a number, or a tuple of them; NaN before the first answer."""

    size = 1

    def __init__(self, *of: Any) -> None:
        super().__init__(*of)
        self.period = 0
        self.value: Any = math.nan if self.size == 1 else (math.nan,) * self.size

    def enable(self, period: int) -> None:
        if self.tag:
            self.period = period
            self.put(SetSamplingPeriod(self.tag, period))

    def apply(self, message: Any) -> None:
        if isinstance(message, ValueMessage):
            self.value = message.value
        elif isinstance(message, Values | Quaternion):
            self.value = message.values
        else:
            super().apply(message)


class VectorState(SensorState):
    size = 3


class QuaternionState(SensorState):
    size = 4


class GpsState(VectorState):
    speed = math.nan
    speed_vector = (math.nan,) * 3

    def apply(self, message: Any) -> None:
        if isinstance(message, GpsValues):
            self.value, self.speed = message.values, message.speed
            self.speed_vector = message.speedVector
        else:
            super().apply(message)


class TouchState(SensorState):
    values = (math.nan,) * 3

    def apply(self, message: Any) -> None:
        if isinstance(message, Values):
            self.values = message.values
        else:
            super().apply(message)


class CameraState(SensorState):
    """A Camera. pixels: its image, BGRA; over TCP the last one that came."""

    pixels: bytes | None = None
    _file = ""

    def apply(self, message: Any) -> None:
        if isinstance(message, ImageFile):
            self._file = message.path
        else:
            super().apply(message)

    @property
    def image(self) -> bytes | None:
        """The image; None before the first one.

        Raises:
            OSError: The simulator's file is gone.
        """
        return Path(self._file).read_bytes() if self._file else self.pixels


class LedState(State):
    """An LED. value: as set by the controller."""

    value = 0

    def set(self, value: int) -> None:
        self.value = value
        self.put(SetLed(self.tag, value))


class BrakeState(State):
    """A Brake. One command of the next request sets the damping, asks for a device, or both."""

    def set(self, damping: float) -> None:
        self.put(BrakeCommand(self.tag, damping, self._last().node))

    def ask(self, node: int) -> None:
        self.put(BrakeCommand(self.tag, self._last().dampingConstant, node))

    def _last(self) -> BrakeCommand:
        last = self.waiting.find(BrakeCommand, self.tag)
        return last if isinstance(last, BrakeCommand) else BrakeCommand(self.tag)


class MotorState(State):
    """A motor: targets as set by the controller, limits as sent by the simulator."""

    position = math.inf
    velocity = acceleration = available = 0.0
    feedback = math.nan
    feedback_period = 0

    def __init__(self, *of: Any) -> None:
        super().__init__(*of)
        if not self.tag:
            self.position = self.velocity = self.acceleration = self.available = math.nan

    def apply(self, message: Any) -> None:
        if isinstance(message, ValueMessage):
            self.feedback = message.value
            return
        super().apply(message)
        if isinstance(message, MotorConfiguration):
            self.position, self.velocity = message.targetPosition, message.targetVelocity
            self.acceleration, self.available = message.acceleration, message.maxForce


class EmitterState(State):
    """An Emitter.

    queue: its packets. steps: those of the session at the first packet since then, which was at
    since_s.
    """

    steps, since_s = -1, 0.0

    def __init__(self, *of: Any) -> None:
        super().__init__(*of)
        self.queue = EmitterQueue(self.tag)
        if not self.tag:
            self.queue.channel, self.queue.range = -1, math.nan

    @property
    def channel(self) -> int:
        return self.queue.channel

    def set_channel(self, channel: int) -> None:
        refusal = channel_refusal(channel, self.queue.allowed)
        if refusal:
            report(f"wb_emitter_set_channel() called with {refusal}")
        elif self.tag:
            self.queue.channel = channel

    def set_range(self, range: float) -> None:
        if self.tag and not self.queue.tune(range):
            report(f"wb_emitter_set_range(): invalid range={range:f} argument.")

    def apply(self, message: Any) -> None:
        self.queue.follow(message)
        if isinstance(message, EmitterConfiguration):
            super().apply(message)


class ReceiverState(SensorState):
    """A Receiver. Packets stay until the program takes them.

    A packet that does not fit in bufferSize is lost.
    """

    def __init__(self, *of: Any) -> None:
        super().__init__(*of)
        self.channel = 0 if self.tag else -1
        self.queue: deque[Receive] = deque()
        self._used = 0

    def set_channel(self, channel: int) -> None:
        if channel == self.channel:
            return
        allowed = () if self.configuration is None else self.configuration.allowedChannels
        refusal = channel_refusal(channel, allowed)
        if refusal:
            report(f"wb_receiver_set_channel() called with {refusal}")
        elif self.tag:
            self.channel = channel
            self.put(SetChannel(self.tag, channel))

    def next_packet(self) -> None:
        if self.queue:
            self._used -= len(self.queue.popleft().data)

    def apply(self, message: Any) -> None:
        if isinstance(message, Receive):
            self.channel = message.channel
            limit = UNLIMITED if self.configuration is None else self.configuration.bufferSize
            if limit == UNLIMITED or len(message.data) <= limit - self._used:
                self.queue.append(message)
                self._used += len(message.data)
            return
        super().apply(message)
        if isinstance(message, ReceiverConfiguration):
            self.channel = message.channel


STATES: dict[str, type[State]] = {
    "Accelerometer": VectorState,
    "Brake": BrakeState,
    "Camera": CameraState,
    "Compass": VectorState,
    "DistanceSensor": SensorState,
    "Emitter": EmitterState,
    "GPS": GpsState,
    "Gyro": VectorState,
    "InertialUnit": QuaternionState,
    "LED": LedState,
    "LightSensor": SensorState,
    "LinearMotor": MotorState,
    "PositionSensor": SensorState,
    "Receiver": ReceiverState,
    "RotationalMotor": MotorState,
    "TouchSensor": TouchState,
}
"""By kind of node."""
