"""What a controller knows of each device: the settings to send, and the values received.

Each state collects what the controller asks for until the next request, and takes the messages of
the answers. The classes of `hilgw.api` are views of these states, as many as the program makes.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from typing import Any

from hilgw.api._errors import report
from hilgw.protocols.webots import (
    AssociatedDevice,
    BrakeCommand,
    Command,
    EmitterConfiguration,
    GetAssociatedDevice,
    GpsValues,
    MotorConfiguration,
    Quaternion,
    Receive,
    ReceiverConfiguration,
    Send,
    SetAcceleration,
    SetAllowedChannels,
    SetAvailableForce,
    SetBufferSize,
    SetChannel,
    SetControlPid,
    SetFeedbackPeriod,
    SetForce,
    SetLed,
    SetPosition,
    SetRange,
    SetSamplingPeriod,
    SetVelocity,
    Value,
    Values,
)

UNLIMITED = -1
BROADCAST = -1
LARGEST_INT = 2**31 - 1
LARGEST_PERIOD = 2**16 - 1


class State:
    """One device. node: its number in this version of Webots; kind: its node's name."""

    def __init__(self, tag: int, kind: str, node: int, name: str, model: str) -> None:
        self.tag, self.kind, self.node, self.name, self.model = tag, kind, node, name, model
        self.configuration: Any = None  # what the simulator said of it at the start, if anything
        self.associated = 0  # the tag in the last answer to a question

    def commands(self, duration_ms: int) -> list[Command]:
        """What the next request carries, and forgets it. duration_ms: of the step; 0: none."""
        return []

    def ask(self, node: int) -> None:
        """Asks, in the next request, for the device of this node number on the same joint."""

    def apply(self, message: Any) -> None:
        """One message of the simulator."""
        if isinstance(message, AssociatedDevice):
            self.associated = message.device
        else:
            self.configuration = message


def period_refusal(period: int) -> str | None:
    """Why this is not a sampling period; None when it is one."""
    if period < 0:
        return "called with negative sampling period"
    if period > LARGEST_PERIOD:
        return f"called with a sampling period above {LARGEST_PERIOD} ms"
    return None


class SensorState(State):
    """A sensor. value: a number, or a tuple of them; NaN before the first answer."""

    size = 1

    def __init__(self, *of: Any) -> None:
        super().__init__(*of)
        self.period = 0
        self._changed = False
        self._question: int | None = None
        self.value: Any = math.nan if self.size == 1 else (math.nan,) * self.size

    def enable(self, period: int) -> None:
        self.period, self._changed = period, True

    def ask(self, node: int) -> None:
        self._question = node

    def commands(self, duration_ms: int) -> list[Command]:
        commands: list[Command] = []
        if self._changed:
            self._changed = False
            commands.append(SetSamplingPeriod(self.tag, self.period))
        if self._question is not None:
            commands.append(GetAssociatedDevice(self.tag, self._question))
            self._question = None
        return commands

    def apply(self, message: Any) -> None:
        if isinstance(message, Value):
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
    def __init__(self, *of: Any) -> None:
        super().__init__(*of)
        self.speed = math.nan
        self.speed_vector = (math.nan,) * 3

    def apply(self, message: Any) -> None:
        if isinstance(message, GpsValues):
            self.value, self.speed = message.values, message.speed
            self.speed_vector = message.speedVector
        else:
            super().apply(message)


class TouchState(SensorState):
    def __init__(self, *of: Any) -> None:
        super().__init__(*of)
        self.values = (math.nan,) * 3

    def apply(self, message: Any) -> None:
        if isinstance(message, Values):
            self.values = message.values
        else:
            super().apply(message)


class LedState(State):
    value = 0
    _changed = False

    def set(self, value: int) -> None:
        self.value, self._changed = value, True

    def commands(self, duration_ms: int) -> list[Command]:
        changed, self._changed = self._changed, False
        return [SetLed(self.tag, self.value)] if changed else []


class BrakeState(State):
    """A Brake: what it asks and sets in the next request."""

    damping: float | None = None
    question: int | None = None

    def ask(self, node: int) -> None:
        self.question = node

    def commands(self, duration_ms: int) -> list[Command]:
        if self.damping is None and self.question is None:
            return []
        command = BrakeCommand(self.tag, self.damping, self.question)
        self.damping = self.question = None
        return [command]


_IN_ORDER = {
    kind: position
    for position, kind in enumerate(
        (
            SetPosition,
            SetVelocity,
            SetAvailableForce,
            SetForce,
            SetFeedbackPeriod,
            SetAcceleration,
            SetControlPid,
            GetAssociatedDevice,
        )
    )
}


class MotorState(State):
    """A motor: targets as the controller set them, limits as the simulator gave them."""

    def __init__(self, *of: Any) -> None:
        super().__init__(*of)
        self.position = math.inf
        self.velocity = self.acceleration = self.available = 0.0
        self.feedback = math.nan
        self.feedback_period = 0
        self._pending: dict[type[Any], Command] = {}

    def put(self, command: Command) -> None:
        """Sends this with the next request; of several of one kind the last."""
        self._pending[type(command)] = command

    def ask(self, node: int) -> None:
        self.put(GetAssociatedDevice(self.tag, node))

    def commands(self, duration_ms: int) -> list[Command]:
        pending = list(self._pending.values())
        self._pending.clear()
        if len(pending) > 1:
            pending.sort(key=lambda each: _IN_ORDER[type(each)])
        return pending

    def apply(self, message: Any) -> None:
        if isinstance(message, Value):
            self.feedback = message.value
            return
        super().apply(message)
        if isinstance(message, MotorConfiguration):
            self.position, self.velocity = message.targetPosition, message.targetVelocity
            self.acceleration, self.available = message.acceleration, message.maxForce


def channel_refusal(channel: int, allowed: Iterable[int]) -> str | None:
    """Why this channel cannot be set; None when it can."""
    if not BROADCAST <= channel <= LARGEST_INT:
        return f"an invalid channel={channel}. Please use a channel inside the range [-1,inf)"
    channels = list(allowed)
    if channels and channel not in channels:
        known = "not between allowed channels. Please use an allowed channel"
        return f"channel={channel}, which is {known}"
    return None


class EmitterState(State):
    """Packets wait for the credit that each step grants: byteRate times its duration.

    The credit is lost when a packet enters an empty queue; what a packet leaves over stays as long
    as the queue is not empty. A packet's channel and range are those at `send`.
    """

    def __init__(self, *of: Any) -> None:
        super().__init__(*of)
        self.channel = 0
        self.range = -1.0
        self._queue: deque[Send] = deque()
        self._used = 0
        self._credit = 0.0
        self._buffer_size = UNLIMITED
        self._allowed: tuple[int, ...] = ()

    @property
    def buffer_size(self) -> int:
        return self._buffer_size

    def send(self, data: bytes) -> int:
        """1 when the packet was queued, 0 when the buffer has no room for it."""
        if self._buffer_size != UNLIMITED and len(data) > self._buffer_size - self._used:
            return 0
        if not self._queue:
            self._credit = 0.0
        self._queue.append(Send(self.tag, self.channel, self.range, data))
        self._used += len(data)
        return 1

    def set_channel(self, channel: int) -> None:
        refusal = channel_refusal(channel, self._allowed)
        if refusal:
            report(f"wb_emitter_set_channel() called with {refusal}.")
        else:
            self.channel = channel

    def set_range(self, range: float) -> None:
        if math.isnan(range) or (range < 0 and range != UNLIMITED):
            report(f"wb_emitter_set_range(): invalid range={range:f} argument.")
            return
        largest = UNLIMITED if self.configuration is None else self.configuration.maxRange
        is_limited = largest != UNLIMITED
        self.range = largest if is_limited and (range == -1 or range > largest) else range

    def commands(self, duration_ms: int) -> list[Command]:
        sent: list[Command] = []
        rate = UNLIMITED if self.configuration is None else self.configuration.byteRate
        if self._queue and rate != UNLIMITED:
            self._credit += rate * duration_ms
        while self._queue and (rate == UNLIMITED or len(self._queue[0].data) <= self._credit):
            packet = self._queue.popleft()
            self._used -= len(packet.data)
            self._credit -= len(packet.data)
            sent.append(packet)
        return sent

    def apply(self, message: Any) -> None:
        if isinstance(message, SetChannel):
            self.channel = message.channel
        elif isinstance(message, SetRange):
            self.range = message.range
        elif isinstance(message, SetBufferSize):
            self._buffer_size = message.bufferSize
        elif isinstance(message, SetAllowedChannels):
            self._allowed = message.allowedChannels
        else:
            super().apply(message)
            if isinstance(message, EmitterConfiguration):
                self.channel, self.range = message.channel, message.range
                self._buffer_size = message.bufferSize
                self._allowed = message.allowedChannels


class ReceiverState(SensorState):
    """Packets stay until the program takes them; one that does not fit in bufferSize is lost."""

    def __init__(self, *of: Any) -> None:
        super().__init__(*of)
        self.channel = 0
        self.queue: deque[Receive] = deque()
        self._used = 0
        self._channel_changed = False

    def set_channel(self, channel: int) -> None:
        if channel == self.channel:
            return
        allowed = () if self.configuration is None else self.configuration.allowedChannels
        refusal = channel_refusal(channel, allowed)
        if refusal:
            report(f"wb_receiver_set_channel() called with {refusal}.")
        else:
            self.channel, self._channel_changed = channel, True

    def next_packet(self) -> None:
        if self.queue:
            self._used -= len(self.queue.popleft().data)

    def commands(self, duration_ms: int) -> list[Command]:
        commands = super().commands(duration_ms)
        if self._channel_changed:
            self._channel_changed = False
            commands.append(SetChannel(self.tag, self.channel))
        return commands

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
