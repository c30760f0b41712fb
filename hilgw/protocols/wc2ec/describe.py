"""WC2EC bytes and messages as text."""

from hilgw.protocols.wc2ec.codec import Decoder
from hilgw.protocols.wc2ec.messages import (
    FORMS,
    CommandByte,
    Failure,
    Layouts,
    Message,
    Numbers,
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

_VERBS: dict[int, str] = {
    CommandByte.REGISTER_SENSOR: "registerSensor",
    CommandByte.SENSOR_DATA: "sensorData",
    CommandByte.ERROR: "Error",
    CommandByte.ENABLE_SENSOR: "enableSensor",
    CommandByte.DISABLE_SENSOR: "disableSensor",
    CommandByte.SET_VALUE: "setValue",
    CommandByte.SET_SENSOR: "setSensor",
}
"""The terms of the WC2EC document."""


def describe(data: bytes, side: Side, layouts: Layouts) -> str:
    """Return complete messages from `side` as text; never raise."""
    decoder = Decoder(side, layouts)
    parts = [in_words(message, layouts.numbers) for message in decoder.feed(data)]
    if decoder.pending:
        parts.append(f"{decoder.pending} bytes of an incomplete message")
    return "; ".join(parts)


def in_words(message: Message, numbers: Numbers) -> str:
    """Return one message as text."""
    if isinstance(message, Failure):
        return f"stream lost: {message.text}"
    if isinstance(message, Rejected):
        return f"rejected ({message.reason}): {message.text}"
    verb = _VERBS[FORMS[type(message)][0]]
    return f"{verb} {numbers.kind(message.type)} {message.index}{_values(message)}"


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
    """Return a device name as text: UTF-8, unprintable characters escaped."""
    text = name.decode(errors="backslashreplace")
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
