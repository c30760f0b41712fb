"""What a controller may set of the robot in Webots beside its motors: it leaves with the next
request. Each function returns None, or why it is refused."""

from __future__ import annotations

import math

from hilgw.bodies.webots.robot import REQUEST_BYTES, WebotsRobot
from hilgw.control.events import (
    BrakeDamping,
    DeviceSettings,
    EmitterSettings,
    FeedbackSwitch,
    LedValue,
    PacketOut,
    ReceiverSettings,
)
from hilgw.devices.fields import channel_refusal
from hilgw.devices.kinds import BRAKE, LED, MOTOR, RECEIVER, SENSOR, Device, Refusal
from hilgw.protocols.webots.device_messages import (
    BrakeCommand,
    SetChannel,
    SetFeedbackPeriod,
    SetLed,
    SetSamplingPeriod,
)
from hilgw.protocols.webots.errors import WebotsRefused
from hilgw.reasons import RequestRefused

LARGEST_PERIOD_MS = 0xFFFF


def set_period(robot: WebotsRobot, device: Device, period_ms: float | None) -> Refusal | None:
    """Sets the period of a sensor or Receiver; None: every step, 0: off."""
    if device.role != SENSOR and device.kind != RECEIVER:
        text = f"{device.kind} '{device.name}' has no period"
        return Refusal(RequestRefused.NOT_SETTABLE, text)
    period = robot.step_ms if period_ms is None else _period(period_ms)
    robot.waiting.put(SetSamplingPeriod(robot.tag(device.index), period))
    return None


def send(robot: WebotsRobot, device: Device, packet: PacketOut) -> Refusal | None:
    """A packet through an Emitter."""
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
    """An LED, a brake, a radio, or the period of a motor's feedback."""
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
    """Webots takes whole ms."""
    if not period_ms > 0:
        return 0
    return LARGEST_PERIOD_MS if period_ms > LARGEST_PERIOD_MS else math.ceil(period_ms)
