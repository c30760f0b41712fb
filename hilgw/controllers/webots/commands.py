"""The commands of a Webots controller to its devices, as events of the control loop."""

import math

from hilgw.control.events import (
    BrakeDamping,
    EmitterSettings,
    Event,
    FeedbackSwitch,
    LedValue,
    Notice,
    PacketOut,
    ReceiverSettings,
    RefusedRequest,
    SensorSwitch,
)
from hilgw.controllers.webots.configuration import TagTable, fields_of
from hilgw.controllers.webots.motors import MotorState
from hilgw.controllers.webots.sensors import Sensors
from hilgw.devices.fields import EmitterFields
from hilgw.devices.kinds import CAMERA, MOTOR, RECEIVER, Device, couplings
from hilgw.protocols.webots.codec import Command, Message
from hilgw.protocols.webots.device_messages import (
    AssociatedDevice,
    BrakeCommand,
    EmitterSend,
    GetAssociatedDevice,
    SetChannel,
    SetFeedbackPeriod,
    SetLed,
    SetSamplingPeriod,
)
from hilgw.reasons import RequestRefused


class DeviceCommands:
    """Keeps what single commands leave out: the other settings of a motor, a Receiver, an Emitter.

    It also answers which devices share a joint.
    """

    def __init__(self, table: TagTable, sensors: Sensors) -> None:
        self._table = table
        self._sensors = sensors
        self._motors: dict[int, MotorState] = {}
        self._coupled: dict[int, list[int]] = {}
        self._ranges: dict[int, tuple[int, float]] = {}  # channel and range of the Emitters
        self.answers: list[Message] = []  # for the next answer

    def reset(self) -> None:
        """Start again: the table has new devices, or there is a new controller."""
        devices = self._table.devices
        motors = {tag: each for tag, each in devices.items() if each.role == MOTOR}
        self._motors = {tag: MotorState(each) for tag, each in motors.items()}
        self._coupled = {
            tag: [self._table.tags[other.index] for other in couplings(motors.values(), each)]
            for tag, each in motors.items()
        }
        self._ranges = {
            tag: (fields.channel, fields.range)
            for tag, each in devices.items()
            if isinstance(fields := fields_of(each), EmitterFields)
        }
        self.answers = []

    def apply(self, tag: int, commands: list[Command], time_ns: int) -> list[Event]:
        """Apply the commands of one block at this simulation time."""
        motor = self._motors.get(tag)
        events: list[Event] = []
        if motor is not None:
            moving, commands = _split(commands)
            events = motor.apply(moving)
            for other in self._coupled[tag]:
                events += self._motors[other].follow(moving, other)
        if commands:
            device = self._table.devices[tag]
            for command in commands:
                events += self._apply(tag, device, command, time_ns)
        return events

    def _apply(self, tag: int, device: Device, command: Command, time_ns: int) -> list[Event]:
        index = device.index
        match command:
            case SetSamplingPeriod(_, period) if device.kind == RECEIVER:
                self._sensors.receivers.enable(tag, period, time_ns)
                return [SensorSwitch(index, float(period))]
            case SetSamplingPeriod(_, period) if device.kind == CAMERA:
                if not period:
                    return []
                self._sensors.cameras.enable(tag)
                return [Notice(f"'{device.name}' is blank: its images are black")]
            case SetSamplingPeriod(_, period):
                self._sensors.grid.switch(tag, period, time_ns)
                return [SensorSwitch(index, float(period))]
            case SetFeedbackPeriod(_, period):
                self._sensors.feedback_grid.switch(tag, period, time_ns)
                return [FeedbackSwitch(index, float(period))]
            case EmitterSend(_, channel, range_m, data):
                return self._send(tag, device, channel, range_m, data)
            case SetChannel(_, channel) if device.kind == RECEIVER:
                receiver = self._sensors.receivers.by_tag[tag]
                receiver.channel = channel
                return [ReceiverSettings(index, channel, receiver.period_ms)]
            case SetLed(_, value):
                return [LedValue(index, value)]
            case GetAssociatedDevice(_, node):
                self.answers.append(AssociatedDevice(tag, self._table.on_joint(tag, node)))
            case BrakeCommand(_, damping, node):
                if node is not None:
                    self.answers.append(AssociatedDevice(tag, self._table.on_joint(tag, node)))
                return [] if damping is None else [BrakeDamping(index, damping)]
        return []  # an Emitter's SetChannel and SetRange: each packet carries both

    def _send(
        self, tag: int, device: Device, channel: int, range_m: float, data: bytes
    ) -> list[Event]:
        index = device.index
        if math.isnan(range_m):  # libController lets it pass; no distance is within it
            return [
                RefusedRequest(
                    index, RequestRefused.NAN, f"range of Emitter '{device.name}' is NaN"
                )
            ]
        own, known = self._ranges[tag]
        if range_m == known:
            return [PacketOut(index, channel, data)]
        self._ranges[tag] = own, range_m
        return [EmitterSettings(index, own, range_m), PacketOut(index, channel, data)]


_MOVES_NOTHING = frozenset((SetFeedbackPeriod, GetAssociatedDevice))


def _split(commands: list[Command]) -> tuple[list[Command], list[Command]]:
    for command in commands:
        if type(command) in _MOVES_NOTHING:
            break
    else:
        return commands, []
    moving = [each for each in commands if type(each) not in _MOVES_NOTHING]
    return moving, [each for each in commands if type(each) in _MOVES_NOTHING]
