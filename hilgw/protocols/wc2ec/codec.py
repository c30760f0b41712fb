"""The WC2EC codec: messages to bytes, and bytes to messages.

The wire carries neither a length nor a checksum: the decoder never guesses.
"""

import math
import struct
import sys

from hilgw.devices.kinds import KINDS, Quantity, Refusal
from hilgw.errors import FrameError, PeerError
from hilgw.protocols.wc2ec.messages import (
    BODILESS,
    FORMS,
    HEADER_BYTES,
    LONGEST_NAME,
    LONGEST_PACKET,
    CommandByte,
    Failure,
    Layout,
    Layouts,
    Message,
    PacketData,
    RegisterSensor,
    Rejected,
    SendPacket,
    SensorData,
    Sent,
    SetEmitter,
    SetMotor,
    SetPeriod,
    SetReceiver,
    SetValue,
    Side,
    Wc2ecRefused,
)
from hilgw.reasons import RequestRefused

TAIL_BYTES = 256

_COMMANDS = frozenset(map(int, CommandByte))
_INCOMPLETE = 0
_VALUE_BYTES = HEADER_BYTES + 8


_READING = Quantity("value")
_POSITION = Quantity("value", also=(math.inf,))
_OF_PACKET = (Quantity("channel", low=-1.0), Quantity("signal strength", low=0.0)) + (
    Quantity("direction"),
) * 3

Direction = tuple[float, float, float]
_UNKNOWN: Direction = (math.nan, math.nan, math.nan)
_NO_DIRECTION: Direction = (0.0, 0.0, 0.0)

_HEADER = struct.Struct("<BBB")
_VALUE = struct.Struct("<BBBd")


def encode(message: Sent) -> bytes:
    """Return the message as on the wire.

    Raises:
      FrameError: a number does not fit its field, is NaN or an infinity other than a position
          of +infinity, a name has over 255 bytes or a NUL, or a packet over 65,536 bytes.
    """
    try:
        return _encode(message)
    except (struct.error, OverflowError) as error:
        raise FrameError(f"{message!r:.120} cannot be encoded: {error}") from None


def encode_value(number: int, index: int, value: float) -> bytes:
    """Return SensorData of a finite value, without a message object: the fast form of `encode`."""
    return _VALUE.pack(CommandByte.SENSOR_DATA, number, index, value)


def _encode(message: Sent) -> bytes:
    command, body = FORMS[type(message)]
    head = _HEADER.pack(command, message.type, message.index)
    match message:
        case RegisterSensor(_, _, name):
            return head + _encode_name(name)
        case SensorData(_, _, value) | SetPeriod(_, _, value):
            return head + body.pack(_finite(value))
        case SetValue(_, _, value):
            return head + body.pack(_position(value))
        case SetMotor(_, _, position, velocity, acceleration, available):
            rest = map(_finite, (velocity, acceleration, available))
            return head + body.pack(_position(position), *rest)
        case SendPacket(_, _, channel, data):
            return head + body.pack(channel, _size(data)) + data
        case PacketData(_, _, channel, strength, direction, data):
            numbers = map(_finite, (strength, *direction))
            return head + body.pack(channel, *numbers, _size(data)) + data
        case SetEmitter(_, _, channel, range_m):
            return head + body.pack(channel, _finite(range_m))
        case SetReceiver(_, _, channel, period):
            return head + body.pack(channel, period)
    return head  # of a message without a body


def _encode_name(name: bytes) -> bytes:
    if len(name) > LONGEST_NAME or b"\0" in name:
        raise FrameError(f"name {name[:40]!r} is over {LONGEST_NAME} bytes or contains a NUL")
    return bytes((len(name),)) + name


def _size(data: bytes) -> int:
    if len(data) > LONGEST_PACKET:
        raise FrameError(f"packet of {len(data)} bytes is longer than {LONGEST_PACKET} bytes")
    return len(data)


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise FrameError(f"{value} cannot be sent: only a position may be infinite")
    return value


def _position(value: float) -> float:
    return value if value == math.inf else _finite(value)


def encode_signal(strength: float, direction: Direction) -> tuple[float, Direction]:
    """Return signal strength and direction for the wire, which carries neither NaN nor infinity.

    Unknown values become 0 and (0, 0, 0), which are never measured; the infinite strength at
    distance 0 becomes the largest float.
    """
    sent = 0.0 if math.isnan(strength) else min(strength, sys.float_info.max)
    return sent, direction if all(map(math.isfinite, direction)) else _NO_DIRECTION


def decode_signal(strength: float, direction: Direction) -> tuple[float, Direction]:
    """Return signal strength and direction from the wire: NaN if unknown."""
    return strength or math.nan, _UNKNOWN if direction == _NO_DIRECTION else direction


class Decoder:
    """Decoder for one direction of one connection. side: of the sender.

    kinds: device index -> Webots node name. With it, an index that is not in it is rejected, the
    device sets the meaning of a body, and registrations add to it. Without it the type byte sets
    the meaning, and the single value of a motor may be +infinity (it may be a position).
    """

    def __init__(self, side: Side, layouts: Layouts, kinds: dict[int, str] | None = None) -> None:
        self.failed = False
        self.kinds = kinds
        self._side = side
        self._layouts = layouts
        self._rest = b""
        self._values = {
            (command, number): layout
            for (command, number), layout in layouts.of_type.items()
            if layout.message in (SensorData, SetValue)
            and (command < Side.EXTERNAL) == (side == Side.WEBOTS)
        }

    @property
    def pending(self) -> int:
        """Bytes of an incomplete message; never more than the longest message."""
        return len(self._rest)

    def feed(self, data: bytes) -> list[Message]:
        """Take received bytes, in any chunks; return the messages they complete, in order.

        Never raises. After a Failure the decoder ignores all bytes.
        """
        if self.failed:
            return []
        buffer = self._rest + data if self._rest else data
        messages: list[Message] = []
        position, end = 0, len(buffer)
        try:
            while position < end:
                message = self._read_value(buffer, position, end)
                if message is not None:
                    messages.append(message)
                    position += _VALUE_BYTES
                    continue
                size = self._measure(buffer, position, end)
                if size == _INCOMPLETE or position + size > end:
                    break
                messages.append(self._read(buffer, position, size))
                position += size
        except PeerError as lost:
            return [*messages, self._fail(lost, buffer[position:])]
        self._rest = bytes(buffer[position:])
        return messages

    def end_frame(self) -> list[Message]:
        """End a frame: no message continues in the next frame."""
        if not self._rest or self.failed:
            return []
        return [self._fail(PeerError("a frame ends inside a message"), self._rest)]

    def _fail(self, error: PeerError, undecoded: bytes) -> Failure:
        self.failed = True
        self._rest = b""
        return Failure(error, error.what, bytes(undecoded[:TAIL_BYTES]))

    # --- the length of a message --------------------------------------------------------------

    def _measure(self, buffer: bytes, start: int, end: int) -> int:
        """Return the size of the message at `start`, or _INCOMPLETE.

        PeerError: it is not known, and the stream is lost.
        """
        command = buffer[start]
        if command not in _COMMANDS:
            raise PeerError(f"command {command} is reserved")
        if command in BODILESS:
            return HEADER_BYTES
        body = start + HEADER_BYTES
        if command == CommandByte.REGISTER_SENSOR:
            return HEADER_BYTES + 1 + buffer[body] if end > body else _INCOMPLETE
        if end < start + 2:
            return _INCOMPLETE
        layout = self._layouts.of_type.get((command, buffer[start + 1]))
        if layout is None:
            raise self._layouts.unknown(command, buffer[start + 1])
        size = HEADER_BYTES + layout.body.size
        if not layout.counted:
            return size
        if end < start + size:
            return _INCOMPLETE
        count = int.from_bytes(buffer[start + size - 4 : start + size], "little")
        if count > LONGEST_PACKET:
            raise PeerError(f"packet of {count} bytes is longer than {LONGEST_PACKET} bytes")
        return size + count

    def _read_value(self, buffer: bytes, start: int, end: int) -> Message | None:
        """Return a message of one finite number, whose device and type byte agree: the fast path.

        Nearly all messages are of this form. None: take the general path.
        """
        if end < start + _VALUE_BYTES:
            return None
        number, index = buffer[start + 1], buffer[start + 2]
        layout = self._values.get((buffer[start], number))
        if layout is None:
            return None
        if self.kinds is not None:
            kind = self.kinds.get(index)
            if kind is None or self._layouts.of_kind.get((buffer[start], kind)) is not layout:
                return None
        value: float = layout.body.unpack_from(buffer, start + HEADER_BYTES)[0]
        return layout.message(number, index, value) if math.isfinite(value) else None

    # --- the meaning of a message -------------------------------------------------------------

    def _read(self, buffer: bytes, start: int, size: int) -> Message:
        command, number, index = buffer[start], buffer[start + 1], buffer[start + 2]
        if (command >= Side.EXTERNAL) != (self._side == Side.EXTERNAL):
            text = f"command {command} is not valid in this direction"
            return Rejected(command, number, index, Wc2ecRefused.WRONG_HALF, text)
        body = start + HEADER_BYTES
        if command == CommandByte.REGISTER_SENSOR:
            return self._read_name(number, index, bytes(buffer[body + 1 : start + size]))
        kind = self._kind(number, index)
        if kind is None:
            text = f"device {index} is not registered"
            return Rejected(command, number, index, RequestRefused.UNKNOWN_DEVICE, text)
        if command in BODILESS:
            return BODILESS[command](number, index)
        layout = self._agree(command, number, index, kind)
        if layout is None:
            text = f"device {index} ({kind}) does not accept command {command}"
            return Rejected(command, number, index, RequestRefused.NOT_SETTABLE, text)
        values = layout.body.unpack_from(buffer, body)
        refusal = self._check(layout, kind, values)
        if refusal is not None:
            return Rejected(
                command, number, index, refusal.reason, f"device {index}: {refusal.text}"
            )
        return _build(layout, number, index, values, buffer[body + layout.body.size : start + size])

    def _read_name(self, number: int, index: int, name: bytes) -> Message:
        if b"\0" in name:
            text = f"the name of device {index} contains a NUL: {name[:40]!r}"
            return Rejected(CommandByte.REGISTER_SENSOR, number, index, Wc2ecRefused.BAD_NAME, text)
        if self.kinds is not None:
            self.kinds[index] = self._layouts.numbers.kind(number)
        return RegisterSensor(number, index, name)

    def _kind(self, number: int, index: int) -> str | None:
        if self.kinds is None:
            return self._layouts.numbers.kind(number)
        return self.kinds.get(index)

    def _agree(self, command: int, number: int, index: int, kind: str) -> Layout | None:
        """Return the layout for the device; its length must agree with the type byte."""
        by_type = self._layouts.of_type[command, number]
        meant = self._layouts.of_kind.get((command, kind))
        if meant is None or meant is by_type:
            return meant
        if meant.counted or by_type.counted or meant.body.size != by_type.body.size:
            raise PeerError(
                f"the length of command {command} of type {number} does not match device {index} "
                f"({kind})"
            )
        return meant

    def _check(self, layout: Layout, kind: str, values: tuple[float, ...]) -> Refusal | None:
        if layout.message is SensorData:
            quantities: tuple[Quantity, ...] = (_READING,)
        elif layout.message is SetValue:
            known = KINDS[kind].value
            # Without the device the value may be a position, which may be +infinity.
            quantities = (known,) if self.kinds is not None and known else (_POSITION,)
        elif layout.counted:
            if not values[-1]:
                return Refusal(Wc2ecRefused.EMPTY_PACKET, "the packet is empty")
            quantities = _OF_PACKET[: len(values) - 1]
        else:
            quantities = KINDS[kind].settings
        for quantity, value in zip(quantities, values, strict=False):
            refusal = quantity.check(value)
            if refusal is not None:
                return refusal
        return None


def _build(
    layout: Layout, number: int, index: int, values: tuple[float, ...], packet: bytes
) -> Message:
    if not layout.counted:
        return layout.message(number, index, *values)
    channel, *rest = values[:-1]
    if not rest:
        return layout.message(number, index, channel, bytes(packet))
    return layout.message(number, index, channel, rest[0], tuple(rest[1:]), bytes(packet))
