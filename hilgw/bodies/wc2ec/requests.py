"""What a WC2EC robot can be asked beside moving: sensors on and off, packets, radio settings."""

from __future__ import annotations

from hilgw.control.events import EmitterSettings, PacketOut, ReceiverSettings
from hilgw.devices.kinds import (
    DISTANCE_SENSOR,
    EMITTER,
    OUT_OF_RANGE,
    RECEIVER,
    Device,
    Refusal,
    check_settings,
)
from hilgw.protocols.wc2ec import (
    DisableSensor,
    EnableSensor,
    SendPacket,
    Sent,
    SetEmitter,
    SetPeriod,
    SetReceiver,
)

NOT_SETTABLE = "not_settable"


def switch(device: Device, number: int, period_ms: float | None) -> Sent | Refusal:
    """A sensor at this period; None: at every step, 0: off."""
    index = device.index
    if period_ms and device.kind == DISTANCE_SENSOR:
        return check_settings(device, (period_ms,)) or SetPeriod(number, index, period_ms)
    return DisableSensor(number, index) if period_ms == 0 else EnableSensor(number, index)


def send(device: Device, number: int, packet: PacketOut) -> Sent | Refusal:
    """One packet through an Emitter."""
    if device.kind != EMITTER:
        return _is_no(device, EMITTER)
    if not packet.data or packet.channel < -1:
        text = f"'{device.name}': {len(packet.data)} bytes on channel {packet.channel}"
        return Refusal(OUT_OF_RANGE, text)
    return SendPacket(number, device.index, packet.channel, packet.data)


def tune(
    device: Device, number: int, settings: EmitterSettings | ReceiverSettings
) -> Sent | Refusal:
    """Channel and range of an Emitter, or channel and period of a Receiver."""
    index, channel = device.index, settings.channel
    if isinstance(settings, EmitterSettings):
        if device.kind != EMITTER:
            return _is_no(device, EMITTER)
        refusal = check_settings(device, (channel, settings.range))
        return refusal or SetEmitter(number, index, channel, settings.range)
    if device.kind != RECEIVER:
        return _is_no(device, RECEIVER)
    refusal = check_settings(device, (channel, settings.period_ms))
    return refusal or SetReceiver(number, index, channel, settings.period_ms)


def _is_no(device: Device, kind: str) -> Refusal:
    return Refusal(NOT_SETTABLE, f"{device.kind} '{device.name}' is no {kind}")
