"""Requests of a controller that move no motor, as messages of WC2EC."""

from __future__ import annotations

from hilgw.control.events import DeviceSettings, EmitterSettings, PacketOut, ReceiverSettings
from hilgw.control.limits import check_settings
from hilgw.devices.kinds import DISTANCE_SENSOR, EMITTER, RECEIVER, Device, Refusal
from hilgw.protocols import wc2ec
from hilgw.reasons import RequestRefused


def switch_message(device: Device, number: int, period_ms: float | None) -> wc2ec.Sent | Refusal:
    """Sets the period of a sensor; None: every step, 0: off."""
    index = device.index
    if period_ms and device.kind == DISTANCE_SENSOR:
        return check_settings(device, (period_ms,)) or wc2ec.SetPeriod(number, index, period_ms)
    return (
        wc2ec.DisableSensor(number, index) if period_ms == 0 else wc2ec.EnableSensor(number, index)
    )


def send_message(device: Device, number: int, packet: PacketOut) -> wc2ec.Sent | Refusal:
    """Sends one packet through an Emitter."""
    if device.kind != EMITTER:
        return _wrong_kind(device, EMITTER)
    if not packet.data or packet.channel < -1:
        text = f"'{device.name}': {len(packet.data)} bytes on channel {packet.channel}"
        return Refusal(RequestRefused.OUT_OF_RANGE, text)
    return wc2ec.SendPacket(number, device.index, packet.channel, packet.data)


def tune_message(device: Device, number: int, settings: DeviceSettings) -> wc2ec.Sent | Refusal:
    """Sets channel and range of an Emitter, or channel and period of a Receiver."""
    if not isinstance(settings, EmitterSettings | ReceiverSettings):
        text = f"WC2EC cannot set {device.kind} '{device.name}'"
        return Refusal(RequestRefused.NOT_SETTABLE, text)
    index, channel = device.index, settings.channel
    if isinstance(settings, EmitterSettings):
        if device.kind != EMITTER:
            return _wrong_kind(device, EMITTER)
        refusal = check_settings(device, (channel, settings.range))
        return refusal or wc2ec.SetEmitter(number, index, channel, settings.range)
    if device.kind != RECEIVER:
        return _wrong_kind(device, RECEIVER)
    refusal = check_settings(device, (channel, settings.period_ms))
    return refusal or wc2ec.SetReceiver(number, index, channel, settings.period_ms)


def _wrong_kind(device: Device, kind: str) -> Refusal:
    article = "an" if kind == EMITTER else "a"
    return Refusal(
        RequestRefused.NOT_SETTABLE, f"{device.kind} '{device.name}' is not {article} {kind}"
    )
