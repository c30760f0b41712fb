"""WC2EC bytes and messages as text."""

from __future__ import annotations

from hilgw.protocols.wc2ec.codec import Decoder
from hilgw.protocols.wc2ec.layout import Layouts, Numbers
from hilgw.protocols.wc2ec.messages import (
    DisableSensor,
    EnableSensor,
    Error,
    Failure,
    Message,
    PacketData,
    RegisterSensor,
    Rejected,
    SendPacket,
    SensorData,
    SetEmitter,
    SetMotor,
    SetPeriod,
    SetReceiver,
    SetValue,
    Side,
)


def describe(data: bytes, side: Side, layouts: Layouts) -> str:
    """Complete messages from `side` as text; never raises."""
    decoder = Decoder(side, layouts)
    parts = [in_words(message, layouts.numbers) for message in decoder.feed(data)]
    if decoder.pending:
        parts.append(f"{decoder.pending} bytes of an incomplete message")
    return "; ".join(parts)


def in_words(message: Message, numbers: Numbers) -> str:
    """One message as text."""
    if isinstance(message, Failure):
        return f"stream lost: {message.text}"
    if isinstance(message, Rejected):
        return f"rejected ({message.reason}): {message.text}"
    return f"{_verb(message)} {numbers.kind(message.type)} {message.index}{_values(message)}"


def _verb(message: object) -> str:
    match message:
        case RegisterSensor():
            return "registerSensor"
        case SensorData() | PacketData():
            return "sensorData"
        case Error():
            return "Error"
        case EnableSensor():
            return "enableSensor"
        case DisableSensor():
            return "disableSensor"
        case SetValue() | SendPacket():
            return "setValue"
    return "setSensor"


def _values(message: object) -> str:
    match message:
        case RegisterSensor(_, _, name):
            return f" = '{readable(name)}'"
        case SensorData(_, _, value) | SetValue(_, _, value):
            return f" = {value:g}"
        case SetPeriod(_, _, period):
            return f": every {period:g} ms"
        case SendPacket(_, _, channel, data) | PacketData(_, _, channel, _, _, data):
            return f": channel {channel}, {len(data)} bytes"
        case SetEmitter(_, _, channel, range_m):
            return f": channel {channel}, range {range_m:g} m"
        case SetReceiver(_, _, channel, period):
            return f": channel {channel}, every {period} ms"
        case SetMotor(_, _, position, velocity, acceleration, available):
            return (
                f": position {position:g}, velocity {velocity:g}, "
                f"acceleration {acceleration:g}, available {available:g}"
            )
    return ""


def readable(name: bytes) -> str:
    """A device name as text: UTF-8, unprintable characters escaped."""
    text = name.decode(errors="backslashreplace")
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
