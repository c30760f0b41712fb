"""The motors of a robot, and the commands of its Webots controller to all devices.

Webots' setVelocity sets the speed of position control, too: it moves nothing by itself. So a
motor's position, velocity, acceleration and available force reach the body together, from the
first position on; before that they are kept.
"""

import math
from collections.abc import Iterable

from hilgw.control.events import (
    BrakeDamping,
    EmitterSettings,
    Event,
    FeedbackSwitch,
    LedValue,
    MotorCommand,
    MotorField,
    MotorPid,
    MotorSettings,
    Notice,
    PacketOut,
    ReceiverSettings,
    RefusedRequest,
    SensorSwitch,
)
from hilgw.controllers.webots.configuration import TagTable, fields_of, motor_of
from hilgw.controllers.webots.sensors import Sensors
from hilgw.devices.fields import EmitterFields
from hilgw.devices.kinds import CAMERA, LINEAR_MOTOR, MOTOR, RECEIVER, Device, couplings
from hilgw.protocols.webots.codec import Command, Message
from hilgw.protocols.webots.device_messages import (
    AssociatedDevice,
    BrakeCommand,
    EmitterSend,
    GetAssociatedDevice,
    SetAcceleration,
    SetAvailableForce,
    SetChannel,
    SetControlPid,
    SetFeedbackPeriod,
    SetForce,
    SetLed,
    SetPosition,
    SetSamplingPeriod,
    SetVelocity,
)
from hilgw.reasons import RequestRefused

_FIELDS: dict[type, MotorField] = {
    SetPosition: MotorField.POSITION,
    SetVelocity: MotorField.VELOCITY,
    SetAcceleration: MotorField.ACCELERATION,
    SetAvailableForce: MotorField.AVAILABLE_FORCE,
}
_ROTATIONAL_FIELDS = _FIELDS | {SetAvailableForce: MotorField.AVAILABLE_TORQUE}


class MotorState:
    """State that the controller has set on one motor.

    A value that is not a number, or infinite where Webots allows it not, is never kept: it is
    passed on alone, to be refused and counted. Where it is a position or a velocity, all settings
    `is_stale` until a request sets what the motor follows.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._own = motor_of(device)
        self.multiplier = self._own.multiplier
        is_linear = device.kind == LINEAR_MOTOR
        self._force = MotorField.FORCE if is_linear else MotorField.TORQUE
        self._fields = _FIELDS if is_linear else _ROTATIONAL_FIELDS
        self.reset()

    def reset(self) -> None:
        """Start a new controller with the values of the configuration."""
        self._position: float | None = None
        self._velocity = self._own.targetVelocity
        self._velocity_set = False
        self._acceleration = self._own.acceleration
        self._available = self._own.maxForce
        self._in_force_control = False
        self._is_stale = False

    def apply(self, commands: Iterable[Command]) -> list[Event]:
        """Return the commands of one request, in their order, as events."""
        events: list[Event] = []
        moved: set[type] = set()  # position and velocity, where the request sets them
        changed = refused = False
        for command in commands:
            match command:
                case SetPosition(_, value) if value == math.inf or math.isfinite(value):
                    self._position = self._clip_position(value, events)
                    moved.add(SetPosition)
                case SetVelocity(_, value) if math.isfinite(value):
                    self._velocity = self._clip("velocity", value, self._own.maxVelocity, events)
                    self._velocity_set = True
                    moved.add(SetVelocity)
                case SetAcceleration(_, value) if math.isfinite(value):
                    self._acceleration = value
                    changed = True
                case SetAvailableForce(_, value) if math.isfinite(value):
                    self._available = self._clip(
                        f"available {self._force}", value, self._own.maxForce, events
                    )
                    changed = True
                case SetForce(_, value):
                    if moved or changed:
                        events += self._settings(moved=bool(moved))
                    moved, changed = set(), False
                    self._in_force_control = True
                    events.append(MotorCommand(self.device.index, self._force, value))
                case SetControlPid(_, p, i, d):
                    events.append(MotorPid(self.device.index, p, i, d))
                case (
                    SetPosition(_, value)
                    | SetVelocity(_, value)
                    | SetAcceleration(_, value)
                    | SetAvailableForce(_, value)
                ):  # not usable
                    field = self._fields[type(command)]
                    events.append(MotorCommand(self.device.index, field, value))
                    refused |= field in (MotorField.POSITION, MotorField.VELOCITY)
        follows = SetVelocity if self._position == math.inf else SetPosition
        self._is_stale = refused or (self._is_stale and follows not in moved)
        if moved or changed:
            events += self._settings(moved=bool(moved))
        return events

    def follow(self, commands: Iterable[Command], tag: int) -> list[Event]:
        """Return the events of the same commands given to a coupled motor.

        Position, velocity and force are times this motor's multiplier (Webots reference manual,
        Motor, multiplier).
        """
        mine: list[Command] = []
        for command in commands:
            match command:
                case SetPosition(_, value):
                    mine.append(
                        SetPosition(tag, value if math.isinf(value) else self._times(value))
                    )
                case SetVelocity(_, value):
                    mine.append(SetVelocity(tag, self._times(value)))
                case SetForce(_, value):
                    mine.append(SetForce(tag, self._times(value)))
        return self.apply(mine)

    def _times(self, value: float) -> float:
        return value * self.multiplier

    def _settings(self, *, moved: bool) -> list[Event]:
        """Return the events of the settings that changed.

        moved: a position or a velocity was set, which ends the control of force.
        """
        index = self.device.index
        if self._position is None or (self._in_force_control and not moved):
            if not self._in_force_control or not moved:
                return []  # goes with the first position, or the next
            # Velocity control of a position that was never set: only letting go is safe.
            self._in_force_control = False
            return [MotorCommand(index, self._force, 0.0)]
        self._in_force_control = False
        return [
            MotorSettings(
                index,
                self._position,
                self._velocity,
                self._acceleration,
                self._available,
                self._velocity_set,
                self._is_stale,
            )
        ]

    def _clip_position(self, value: float, events: list[Event]) -> float:
        low, high = self._own.minPosition, self._own.maxPosition
        if low == high or value == math.inf or low <= value <= high:
            return value
        events.append(self._clipped("position", f"minPosition {low:g}, maxPosition {high:g}"))
        return min(max(value, low), high)

    def _clip(self, name: str, value: float, largest: float, events: list[Event]) -> float:
        if abs(value) <= largest:
            return value
        events.append(self._clipped(name, f"{largest:g}"))
        return math.copysign(largest, value)

    def _clipped(self, name: str, limit: str) -> Notice:
        return Notice(f"'{self.device.name}': {name} beyond {limit} is clipped")


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
