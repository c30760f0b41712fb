"""The robot in Webots as its controller sees it: devices, what they report, what waits for them."""

import math
from collections.abc import Iterable
from typing import Any

from hilgw.bodies.webots.motors import WebotsMotor
from hilgw.bodies.webots.settings import LONGEST_STEP_MS, WebotsBodySettings
from hilgw.control.events import (
    BrakeDamping,
    Command,
    DeviceSettings,
    EmitterSettings,
    Event,
    FeedbackSwitch,
    LedValue,
    MotorFeedback,
    Notice,
    PacketIn,
    PacketOut,
    ReceiverSettings,
    SensorValue,
)
from hilgw.devices.fields import (
    CAP_BYTES,
    CAP_PACKETS,
    UNLIMITED,
    channel_refusal,
)
from hilgw.devices.kinds import (
    BRAKE,
    EMITTER,
    LED,
    LINEAR_MOTOR,
    MOTOR,
    NO_LIMITS,
    RECEIVER,
    SENSOR,
    Device,
    Devices,
    Refusal,
)
from hilgw.devices.properties import (
    COORDINATE_SYSTEMS,
    DISTANCE_SENSOR_TYPES,
    FIELDS,
    GPS_COORDINATE_SYSTEMS,
    JOINTS,
    TOUCH_SENSOR_TYPES,
    DeviceFields,
)
from hilgw.protocols.webots import codec
from hilgw.protocols.webots.codec import Codec, Message
from hilgw.protocols.webots.device_messages import (
    BrakeCommand,
    DistanceSensorConfiguration,
    EmitterConfiguration,
    EmitterSend,
    GpsConfiguration,
    GpsValues,
    InertialUnitConfiguration,
    JointConfiguration,
    MotorConfiguration,
    Quaternion,
    Receive,
    ReceiverConfiguration,
    SetChannel,
    SetFeedbackPeriod,
    SetForce,
    SetLed,
    SetPosition,
    SetSamplingPeriod,
    SetVelocity,
    TableConfiguration,
    TouchSensorConfiguration,
    ValueMessage,
    Values,
)
from hilgw.protocols.webots.forms import KINDS
from hilgw.protocols.webots.queues import EmitterQueue, WaitingCommands
from hilgw.protocols.webots.robot_messages import DeviceEntry, RobotConfiguration, Time
from hilgw.protocols.webots.wire import ProtocolError, WebotsRefused
from hilgw.reasons import RequestRefused

# Packets of all Emitters in one request: what is more leaves with the next.
REQUEST_BYTES = 128 * 1024


class WebotsRobot:
    """codec: it has the kinds of the devices.

    An index is the tag on the wire less 1. time_s: simulation time of the last answer.
    """

    def __init__(self, settings: WebotsBodySettings, version: str) -> None:
        self.devices = Devices()
        self.codec = Codec(version)
        self.motors: dict[int, WebotsMotor] = {}
        self.emitters: dict[int, EmitterQueue] = {}
        self.step_ms = 0
        self.time_s = 0.0
        self._settings = settings
        self.waiting = WaitingCommands()
        self._receivers: dict[int, ReceiverConfiguration] = {}

    @staticmethod
    def tag(index: int) -> int:
        return index + 1

    def clear(self) -> None:
        self.codec.forget()
        self.devices.clear()
        self.motors.clear()
        self.emitters.clear()
        self._receivers.clear()
        self.time_s = 0.0

    def discard(self) -> int:
        """Forget all that waits; return the packets among it."""
        discarded = sum(map(len, self.emitters.values()))
        self.emitters.clear()
        self.waiting.take()
        return discarded

    # --- from Webots --------------------------------------------------------------------------

    def configure(self, robot: RobotConfiguration, messages: list[Message]) -> list[Event]:
        """Take the robot's devices.

        Raises ProtocolError when it cannot be stepped as the settings have it. Every sensor is on,
        with the period of the step, and every motor stops: nothing else would stop one that an
        earlier controller left moving.
        """
        self.step_ms = self._step_of(robot.basicTimeStep)
        self.time_s = robot.time
        configured = {getattr(each, "tag", 0): each for each in messages}
        for index, entry in enumerate(robot.devices):
            self._add(index, self.codec.kind(entry.node), entry, configured.get(self.tag(index)))
        for device in self.devices:
            if device.role == SENSOR or device.kind == RECEIVER:
                self.waiting.put(SetSamplingPeriod(self.tag(device.index), self.step_ms))
        self.stop()
        return self._notices()

    def _step_of(self, basic_ms: float) -> int:
        if not 0 < basic_ms <= LONGEST_STEP_MS:
            raise ProtocolError(
                f"a basicTimeStep of {basic_ms:g} ms is invalid", where="configuration"
            )
        given = self._settings.step_ms
        if given is None:
            return max(1, int(basic_ms))
        if not math.isclose(given / basic_ms, max(1, round(given / basic_ms)), rel_tol=1e-9):
            text = f"step_ms {given} is not a multiple of the world's basicTimeStep, {basic_ms:g}"
            raise ProtocolError(text, where="configuration", fix="leave step_ms out, or correct it")
        return given

    def _add(self, index: int, kind: str, entry: DeviceEntry, message: Message | None) -> None:
        known = kind in KINDS
        device = Device(
            name=entry.name,
            kind=kind,
            index=index,
            limits=self._settings.limits.get(entry.name, NO_LIMITS),
            fields=fields_of(kind, entry.model, message) if known else None,
        )
        self.devices.add(device)
        match message:
            case MotorConfiguration() if device.role == MOTOR:
                self.motors[index] = WebotsMotor(device, message)
            case EmitterConfiguration():
                queue = EmitterQueue(message.tag, cap_bytes=CAP_BYTES, cap_packets=CAP_PACKETS)
                queue.follow(message)
                self.emitters[index] = queue
            case ReceiverConfiguration():
                self._receivers[index] = message

    def _notices(self) -> list[Event]:
        settings = self._settings
        wanted: list[tuple[str, Iterable[str]]] = [
            (MOTOR, settings.limits),
            (RECEIVER, settings.to_medium),
            (EMITTER, settings.from_medium),
        ]
        have = {(device.kind, device.name) for device in self.devices}
        have |= {(device.role, device.name) for device in self.devices}
        return [
            Notice(f"the robot in Webots has no {kind} '{name}'")
            for kind, names in wanted
            for name in names
            if (kind, name) not in have
        ]

    def report(self, message: Message) -> Event | None:
        """Return the event of a message about a device; None when a control loop has none."""
        match message:
            case Time(time):
                self.time_s = time
            case ValueMessage(tag, value):
                index = tag - 1
                if index in self.motors:
                    return MotorFeedback(index, value)
                return SensorValue(index, value)
            case Values(tag, values) | Quaternion(tag, values):
                return SensorValue(tag - 1, values)
            case GpsValues(tag, values, speed, vector):
                return SensorValue(tag - 1, (*values, speed, *vector))
            case Receive(tag, channel, direction, strength, data):
                return PacketIn(tag - 1, channel, strength, direction, data)
            case ReceiverConfiguration(tag):
                self._receivers[tag - 1] = message
            case _:
                emitter = self.emitters.get(getattr(message, "tag", 0) - 1)
                if emitter is not None:
                    emitter.follow(message)
        return None

    # --- to Webots ----------------------------------------------------------------------------

    def command(self, command: Command, now: int) -> bool:
        motor = self.motors.get(command.index)
        if motor is None:
            return False
        for message in motor.apply(command, now):
            if isinstance(message, SetPosition | SetVelocity):
                self.waiting.drop(SetForce, message.tag)  # it would come after them
            self.waiting.put(message)
        return True

    def move(self, now: int) -> None:
        """Continue the motion of motors with a rate limit."""
        for motor in self.motors.values():
            for command in motor.expire(now):
                self.waiting.put(command)

    def stop(self) -> list[Command]:
        return [self.stop_motor(index) for index in self.motors]

    def stop_motor(self, index: int) -> Command:
        motor = self.motors[index]
        self.waiting.drop(SetForce, self.tag(index))
        for command in motor.stopping():
            self.waiting.put(command)
        return motor.stop()

    def stopping(self) -> list[codec.Command]:
        """Return the commands on the wire that stop all motors.

        Changes nothing.
        """
        return [each for motor in self.motors.values() for each in motor.stopping()]

    def leaving(self, step_ms: int) -> list[EmitterSend]:
        """Return the packets that leave with a request of a step of this duration."""
        room, packets = REQUEST_BYTES, []
        for emitter in self.emitters.values():
            leaving = emitter.leave(step_ms, room)
            room -= sum(len(packet.data) for packet in leaving)
            packets += leaving
        return packets

    def channel_refusal(self, index: int, channel: int) -> str | None:
        """Reason why a Receiver may not listen to this channel; None when it may."""
        receiver = self._receivers.get(index)
        return channel_refusal(channel, () if receiver is None else receiver.allowedChannels)


BITS = 8  # of one byte: the wire has bytes per ms, and neither baudRate nor byteSize


# --- devices, from the messages that configure them (C_CONFIGURE) ---------------------------------


def fields_of(kind: str, model: str, message: Message | None) -> DeviceFields | None:
    """Return the fields of a device's node.

    None where it did not send its configuration, which a node without fields of its own (LED) does
    not.
    """
    if message is None and kind != LED:
        return None
    return FIELDS[kind](**_values(kind, message), model=model)


def _values(kind: str, message: Message | None) -> dict[str, Any]:
    match message:
        case EmitterConfiguration():
            return _emitter(message)
        case ReceiverConfiguration(_, size, channel, allowed):
            return {"bufferSize": size, "channel": channel, "allowedChannels": allowed}
        case MotorConfiguration():
            return _motor(kind, message)
        case DistanceSensorConfiguration(_, number, _, _, aperture, table):
            name = _choice(DISTANCE_SENSOR_TYPES, number)
            return {"type": name, "aperture": aperture, "lookupTable": table}
        case TouchSensorConfiguration(_, number, table):
            return {"type": _choice(TOUCH_SENSOR_TYPES, number), "lookupTable": table}
        case TableConfiguration(_, table):
            return {"lookupTable": table}
        case GpsConfiguration(_, number):
            return {"gpsCoordinateSystem": _choice(GPS_COORDINATE_SYSTEMS, number)}
        case InertialUnitConfiguration(_, noise, axes):
            system = axes if axes in COORDINATE_SYSTEMS else COORDINATE_SYSTEMS[0]
            return {"noise": noise, "coordinateSystem": system}
        case JointConfiguration(_, number):
            return {"type": _choice(JOINTS, number)}
    return {}


def _choice(names: tuple[str, ...], number: int) -> str:
    return names[number] if 0 <= number < len(names) else names[0]


def _emitter(message: EmitterConfiguration) -> dict[str, Any]:
    rate = message.byteRate
    baud = round(rate * 1000 * BITS) if 0 <= rate < math.inf else UNLIMITED
    return {
        "bufferSize": message.bufferSize,
        "channel": message.channel,
        "baudRate": baud,
        "byteSize": BITS,
        "range": message.range,
        "maxRange": message.maxRange,
        "allowedChannels": message.allowedChannels,
    }


def _motor(kind: str, message: MotorConfiguration) -> dict[str, Any]:
    return {
        "minPosition": message.minPosition,
        "maxPosition": message.maxPosition,
        "maxVelocity": message.maxVelocity,
        "acceleration": message.acceleration,
        "controlPID": (message.p, message.i, message.d),
        "multiplier": message.multiplier,
        "position": message.targetPosition,
        "maxForce" if kind == LINEAR_MOTOR else "maxTorque": message.maxForce,
    }


LARGEST_PERIOD_MS = 0xFFFF


# --- what a controller may set besides the motors: it leaves with the next request ----------------
# Each function returns None, or why it is refused.


def set_period(robot: WebotsRobot, device: Device, period_ms: float | None) -> Refusal | None:
    """Set the period of a sensor or Receiver; None: every step, 0: off."""
    if device.role != SENSOR and device.kind != RECEIVER:
        return Refusal(RequestRefused.NOT_SETTABLE, f"{device.kind} '{device.name}' has no period")
    period = robot.step_ms if period_ms is None else _period(period_ms)
    robot.waiting.put(SetSamplingPeriod(robot.tag(device.index), period))
    return None


def send(robot: WebotsRobot, device: Device, packet: PacketOut) -> Refusal | None:
    """Send a packet through an Emitter."""
    emitter = robot.emitters.get(packet.index)
    if emitter is None:
        text = f"{device.kind} '{device.name}' is not an Emitter that Webots configured"
        return Refusal(RequestRefused.NOT_SETTABLE, text)
    size = len(packet.data)
    if not size or size > REQUEST_BYTES:
        return Refusal(RequestRefused.UNSENDABLE, f"'{device.name}': a packet of {size} bytes")
    if why := channel_refusal(packet.channel, emitter.allowed):
        return Refusal(RequestRefused.NOT_ALLOWED, f"'{device.name}': {why}")
    if not emitter.put(packet.channel, packet.data):
        text = f"its buffer of {emitter.limit} bytes has no room for {size} bytes"
        return Refusal(WebotsRefused.NO_ROOM, f"'{device.name}': {text}")
    return None


def tune(robot: WebotsRobot, device: Device, settings: DeviceSettings) -> Refusal | None:
    """Set an LED, a brake, a radio, or the period of a motor's feedback."""
    tag = robot.tag(settings.index)
    match settings:
        case LedValue(_, value) if device.kind == LED:
            robot.waiting.put(SetLed(tag, value))
        case BrakeDamping(_, damping) if device.kind == BRAKE:
            robot.waiting.put(BrakeCommand(tag, damping))
        case FeedbackSwitch(_, period_ms) if device.role == MOTOR:
            robot.waiting.put(SetFeedbackPeriod(tag, _period(period_ms)))
        case ReceiverSettings(index, channel, period_ms) if device.kind == RECEIVER:
            if why := robot.channel_refusal(index, channel):
                return Refusal(RequestRefused.NOT_ALLOWED, f"'{device.name}': {why}")
            robot.waiting.put(SetSamplingPeriod(tag, _period(period_ms)))
            robot.waiting.put(SetChannel(tag, channel))
        case EmitterSettings(index, _, range) if index in robot.emitters:
            if not robot.emitters[index].tune(range):
                return Refusal(RequestRefused.NOT_ALLOWED, f"'{device.name}': range {range:g}")
        case _:
            text = f"{type(settings).__name__} does not set {device.kind} '{device.name}'"
            return Refusal(RequestRefused.NOT_SETTABLE, text)
    return None


def _period(period_ms: float) -> int:
    if not period_ms > 0:
        return 0
    return LARGEST_PERIOD_MS if period_ms > LARGEST_PERIOD_MS else math.ceil(period_ms)
