"""Commands and messages to bytes, and bytes to commands and messages.

Neither has a length: the kind of the device with the tag, and the command number, give it. A
`Codec` learns the kinds from the robot's configuration, whichever way it passes.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from typing import Any, NamedTuple

from hilgw.devices import nodes
from hilgw.errors import ConfigError
from hilgw.protocols.webots.answers import Answer, AnswerReader
from hilgw.protocols.webots.configuration import (
    MOST_DEVICES,
    decode_configuration,
    decode_joystick,
    decode_new_devices,
    encode_configuration,
    encode_joystick,
    encode_new_devices,
)
from hilgw.protocols.webots.device_messages import BrakeCommand, DeviceCommand, DeviceMessage
from hilgw.protocols.webots.forms import (
    COMMANDS,
    CONFIGURE,
    KINDS,
    MESSAGES,
    ROBOT,
    ROBOT_TAG,
    Form,
)
from hilgw.protocols.webots.requests import (
    MOST_REPEATED,
    REPEATED_BYTES,
    Block,
    Leave,
    Request,
    RequestReader,
)
from hilgw.protocols.webots.robot_messages import (
    DeviceEntry,
    JoystickConfiguration,
    NewDevices,
    RobotCommand,
    RobotConfiguration,
    RobotMessage,
)
from hilgw.protocols.webots.wire import F64, U8, U16, Cursor, Field, Number, ProtocolError, Vector

Message = RobotMessage | DeviceMessage
Command = RobotCommand | DeviceCommand

JOYSTICK_CONFIGURATION = 3
NEW_DEVICES = 15
OLDEST, NEWEST = "R2023a", "R2025a"  # libraries that are known to speak the protocol
LIBRARY_FIX = (
    f"write the version of your library, {OLDEST} to {NEWEST}, or delete the key; the version of "
    "the world file does not matter"
)
_OF_ROBOT = (CONFIGURE, JOYSTICK_CONFIGURATION, NEW_DEVICES)
MOST_MESSAGES = 1 << 17
"""In one answer or block: more would need far more memory than their bytes."""
MESSAGE_HEAD = struct.Struct("<HB")

_TIME = struct.Struct("<HBd")
_TIME_COMMAND = 4
QUIT = MESSAGE_HEAD.pack(ROBOT_TAG, 2)
"""The message Quit."""
_BRAKE_DAMPING = 2
_BRAKE_ASSOCIATED = 4
_NAMED_FIRST = "R2023b"
_LONGEST_TEXT = 400
_MOTORS = ("RotationalMotor", "LinearMotor")


def encode_time(seconds: float) -> bytes:
    """Return the message Time, without an object: every step has one."""
    return _TIME.pack(ROBOT_TAG, _TIME_COMMAND, seconds)


class _Compiled(NamedTuple):
    """A form for use.

    names: the attributes of the fields. numbers: all fields at once, when all are numbers; whole:
    the same behind the head, of a device. tagged: the message begins with the tag.
    """

    command: int
    form: Form
    names: tuple[str, ...]
    numbers: struct.Struct | None
    whole: struct.Struct | None
    tagged: bool


def _compile(kind: str, command: int, form: Form, head: struct.Struct) -> _Compiled:
    names = tuple(each.name for each in fields(form.message))
    tagged = kind != ROBOT
    numbers = "".join(each.form.format[1:] for each in form.fields if isinstance(each, Number))
    plain = len(numbers) == len(form.fields)
    return _Compiled(
        command,
        form,
        names[1:] if tagged else names,
        struct.Struct("<" + numbers) if plain else None,
        struct.Struct(f"<{head.size}x{numbers}") if plain and tagged else None,
        tagged,
    )


_Table = dict[str, dict[int, _Compiled]]
_NO_FORMS: dict[int, _Compiled] = {}
_READ_MESSAGES: _Table = {
    kind: {number: _compile(kind, number, form, MESSAGE_HEAD) for number, form in forms.items()}
    for kind, forms in MESSAGES.items()
}
_READ_COMMANDS: _Table = {
    kind: {
        number: _compile(kind, number, form, U16 if kind in _MOTORS else U8)
        for number, form in forms.items()
    }
    for kind, forms in COMMANDS.items()
}
_Writers = dict[str, dict[Any, _Compiled]]
_WRITE_MESSAGES: _Writers = {
    kind: {each.form.message: each for each in table.values()}
    for kind, table in _READ_MESSAGES.items()
}
_WRITE_COMMANDS: _Writers = {
    kind: {each.form.message: each for each in table.values()}
    for kind, table in _READ_COMMANDS.items()
}


class NumbersMessage(NamedTuple):
    """A message of this many floating-point numbers.

    pack: called with the tag, the command and the numbers.
    """

    pack: Callable[..., bytes]
    command: int
    numbers: int


def numbers_message(kind: str, numbers: int) -> NumbersMessage:
    """Return the message by which a device of this kind reports a value of this many numbers."""
    for command, form in MESSAGES[kind].items():
        parts = [each.form.format[1:] for each in form.fields if isinstance(each, Number | Vector)]
        packed = struct.Struct(MESSAGE_HEAD.format + "".join(parts))
        whole = len(parts) == len(form.fields) and packed.format.endswith("d")
        if whole and packed.size == MESSAGE_HEAD.size + numbers * F64.size:
            return NumbersMessage(packed.pack, command, numbers)
    raise ValueError(f"{kind} has no message of {numbers} numbers")


def library_speaks(version: str, oldest: str = OLDEST) -> bool:
    """Return whether the library of this version of Webots may speak the protocol.

    Every one from the oldest on does.

    Raises:
        ConfigError: This is not a version.
    """
    nodes.number(version, "ROBOT")
    return version.strip() >= oldest


class Codec:
    """The messages and commands of one robot, under one version of Webots.

    kinds: tag -> kind of node ("DistanceSensor", "Camera", "node 99"), learnt from the
    configuration; the messages of a kind outside `KINDS` are never decoded.
    """

    def __init__(self, version: str = NEWEST) -> None:
        if not library_speaks(version):
            problem = (
                f"no library of Webots {version} has the protocol of controllers outside Webots"
            )
            raise ConfigError(problem, where="webots", fix=LIBRARY_FIX)
        self.version = version
        self.kinds: dict[int, str] = {ROBOT_TAG: ROBOT}
        self._repeated: dict[Block, list[Command]] = {}
        self._robot_node = nodes.number(version, "ROBOT")
        self._named_first = version.strip() >= _NAMED_FIRST

    def number(self, kind: str) -> int:
        """Return the node number of a kind of device.

        Raises:
            ConfigError: The version has none.
        """
        return nodes.number(self.version, nodes.of_kind(kind))

    def kind(self, number: int) -> str:
        """Return the kind of device of a node number; "node N" when there is none."""
        node = nodes.name(self.version, number)
        return f"node {number}" if node is None else nodes.kind_of(node)

    def forget(self) -> None:
        """Begin a new connection: the kinds are not known before its configuration."""
        self.kinds = {ROBOT_TAG: ROBOT}
        self._repeated.clear()

    # --- from the simulator -------------------------------------------------------------------

    def decode_messages(self, data: bytes) -> list[Message]:
        """Return the messages of one answer, all of them.

        Raises:
            ProtocolError: A message is wrong; nothing after it can be decoded.
        """
        messages: list[Message] = []
        self._decode_into(messages, Cursor(data, "answer"))
        return messages

    def decode_known(self, data: bytes) -> tuple[list[Message], int]:
        """Return the messages before the first one that cannot be decoded, and where that begins.

        Such a message is one of a Camera. Never raises.
        """
        cursor = Cursor(data, "answer")
        messages: list[Message] = []
        try:
            self._decode_into(messages, cursor)
        except ProtocolError:
            return messages, cursor.begin
        return messages, cursor.at

    def _decode_into(self, messages: list[Message], cursor: Cursor) -> None:
        while cursor.at < cursor.end:
            start = cursor.begin = cursor.at
            if len(messages) == MOST_MESSAGES:
                raise cursor.error(f"more than {MOST_MESSAGES} messages in one answer")
            tag, command = cursor.unpack(MESSAGE_HEAD, "a message")
            compiled = _READ_MESSAGES.get(self.kinds.get(tag, ""), _NO_FORMS).get(command)
            whole = None if compiled is None else compiled.whole
            if compiled is None or whole is None or start + whole.size > cursor.end:
                messages.append(self._decode_message(cursor, tag, command))
            else:
                cursor.at = start + whole.size
                messages.append(compiled.form.message(tag, *whole.unpack_from(cursor.data, start)))

    def encode_messages(self, messages: Iterable[Message]) -> bytes:
        """Return the messages as in an answer, behind the delay, or raise ProtocolError."""
        return b"".join([self._encode_message(message) for message in messages])

    def _decode_message(self, cursor: Cursor, tag: int, command: int) -> Message:
        if tag == ROBOT_TAG and command in _OF_ROBOT:
            return self._decode_robot(cursor, command)
        kind = self._kind_of(tag, cursor)
        compiled = _READ_MESSAGES[kind].get(command)
        if compiled is None:
            raise cursor.error(f"message {command} of {kind} {tag} is not known")
        message: Message = _decode(compiled, tag, cursor)
        return message

    def _decode_robot(self, cursor: Cursor, command: int) -> Message:
        if command == JOYSTICK_CONFIGURATION:
            return decode_joystick(cursor)
        if command == NEW_DEVICES:
            new = decode_new_devices(cursor)
            self._learn(new.devices, max(self.kinds) + 1)
            return new
        configuration = decode_configuration(
            cursor, self._robot_node, named_first=self._named_first
        )
        self._learn(configuration.devices, 1)
        return configuration

    def _encode_message(self, message: Message) -> bytes:
        try:
            if isinstance(message, RobotConfiguration):
                payload = encode_configuration(
                    message, self._robot_node, named_first=self._named_first
                )
                self._learn(message.devices, 1)
                return MESSAGE_HEAD.pack(ROBOT_TAG, CONFIGURE) + payload
            if isinstance(message, JoystickConfiguration):
                head = MESSAGE_HEAD.pack(ROBOT_TAG, JOYSTICK_CONFIGURATION)
                return head + encode_joystick(message)
            if isinstance(message, NewDevices):
                self._learn(message.devices, max(self.kinds) + 1)
                return MESSAGE_HEAD.pack(ROBOT_TAG, NEW_DEVICES) + encode_new_devices(message)
            tag, compiled = self._find(_WRITE_MESSAGES, message)
            return MESSAGE_HEAD.pack(tag, compiled.command) + _encode(compiled, message)
        except (struct.error, OverflowError, TypeError) as error:
            raise _unsendable(message, error) from None

    def _learn(self, entries: tuple[DeviceEntry, ...], first: int) -> None:
        if first + len(entries) > MOST_DEVICES + 1:
            raise ProtocolError(f"a robot with {first + len(entries) - 1} devices is not valid")
        self._repeated.clear()
        if first == 1:
            self.kinds = {ROBOT_TAG: ROBOT}
        for tag, entry in enumerate(entries, first):
            self.kinds[tag] = self.kind(entry.node)

    # --- from the controller ------------------------------------------------------------------

    def decode_commands(self, block: Block) -> list[Command]:
        """Return the commands of one block; callers do not change the list.

        Raises:
            ProtocolError: A command is wrong.
        """
        commands = self._repeated.get(block)
        if commands is None:
            commands = self._decode_commands(block)
            if len(block.data) <= REPEATED_BYTES:
                if len(self._repeated) == MOST_REPEATED:
                    self._repeated.clear()
                self._repeated[block] = commands
        return commands

    def _decode_commands(self, block: Block) -> list[Command]:
        tag, data = block
        kind = self.kinds.get(tag, "")
        forms = _READ_COMMANDS.get(kind, _NO_FORMS)
        head = U16 if kind in _MOTORS else U8
        if len(data) >= head.size:
            first = forms.get(head.unpack_from(data)[0])
            if first is not None and (whole := first.whole) is not None and whole.size == len(data):
                return [first.form.message(tag, *whole.unpack(data))]
        cursor = Cursor(data, "request")
        self._kind_of(tag, cursor)
        commands: list[Command] = []
        while cursor.at < cursor.end:
            cursor.begin = cursor.at
            number = cursor.number(head, "a command")
            compiled = forms.get(number)
            if compiled is not None:
                commands.append(_decode(compiled, block.tag, cursor))
            elif kind == "Brake" and not number & ~(_BRAKE_DAMPING | _BRAKE_ASSOCIATED) and number:
                commands.append(_decode_brake(block.tag, number, cursor))
            else:
                raise cursor.error(f"command {number} of {kind} {block.tag} is not known")
            if len(commands) > MOST_MESSAGES:
                raise cursor.error(f"more than {MOST_MESSAGES} commands in one block")
        return commands

    def encode_commands(self, commands: Iterable[Command]) -> list[Block]:
        """Encode one block per device, in the order of their tags, or raise ProtocolError."""
        blocks: dict[int, bytes] = {}
        for command in commands:
            try:
                tag, data = self._encode_command(command)
            except (struct.error, OverflowError, TypeError) as error:
                raise _unsendable(command, error) from None
            blocks[tag] = blocks.get(tag, b"") + data
        return [Block(tag, blocks[tag]) for tag in sorted(blocks)]

    def _encode_command(self, command: Command) -> tuple[int, bytes]:
        if isinstance(command, BrakeCommand):
            return command.tag, _encode_brake(command)
        tag, compiled = self._find(_WRITE_COMMANDS, command)
        head = U16 if self.kinds[tag] in _MOTORS else U8
        return tag, head.pack(compiled.command) + _encode(compiled, command)

    # --- both ---------------------------------------------------------------------------------

    def _kind_of(self, tag: int, cursor: Cursor) -> str:
        kind = self.kinds.get(tag)
        if kind is None:
            raise cursor.error(f"device {tag} is not in the configuration")
        if kind not in KINDS:
            fix = "remove the device, or leave the bytes to the proxy"
            raise cursor.error(f"messages of device {tag} ({kind}) are not supported", fix)
        return kind

    def _find(self, writers: _Writers, message: Message | Command) -> tuple[int, _Compiled]:
        tag: int = getattr(message, "tag", ROBOT_TAG)
        kind = self.kinds.get(tag, f"no device {tag}")
        compiled = writers.get(kind, {}).get(type(message))
        if compiled is None:
            raise ProtocolError(f"{type(message).__name__} cannot be sent for {kind} {tag}")
        return tag, compiled


def _decode(compiled: _Compiled, tag: int, cursor: Cursor) -> Any:
    form = compiled.form
    if compiled.numbers is not None:
        values = cursor.unpack(compiled.numbers, form.message.__name__)
    else:
        values = tuple([each.decode(cursor) for each in form.fields])
    return form.message(tag, *values) if compiled.tagged else form.message(*values)


def _encode(compiled: _Compiled, message: Any) -> bytes:
    values = [getattr(message, name) for name in compiled.names]
    if compiled.numbers is not None:
        return compiled.numbers.pack(*values)
    pairs: Iterable[tuple[Field, Any]] = zip(compiled.form.fields, values, strict=True)
    return b"".join([each.encode(value) for each, value in pairs])


def _decode_brake(tag: int, bits: int, cursor: Cursor) -> BrakeCommand:
    damping = node = None
    if bits & _BRAKE_DAMPING:
        damping = cursor.number(F64, "the damping constant")
    if bits & _BRAKE_ASSOCIATED:
        node = cursor.number(U16, "a node number")
    return BrakeCommand(tag, damping, node)


def _encode_brake(command: BrakeCommand) -> bytes:
    bits, data = 0, b""
    if command.dampingConstant is not None:
        bits, data = _BRAKE_DAMPING, F64.pack(command.dampingConstant)
    if command.node is not None:
        bits, data = bits | _BRAKE_ASSOCIATED, data + U16.pack(command.node)
    if not bits:
        raise ProtocolError(f"the command for Brake {command.tag} sets and asks nothing")
    return U8.pack(bits) + data


def _unsendable(message: object, error: Exception) -> ProtocolError:
    return ProtocolError(f"{message!r:.120} cannot be encoded: {error}")


def describe(data: bytes, codec: Codec, *, received: bool, local: bool) -> str:
    """Complete requests (received) or answers as text; never raises."""
    reader: RequestReader | AnswerReader = (
        RequestReader() if received else AnswerReader(local=local)
    )
    copy = Codec(codec.version)
    copy.kinds = codec.kinds.copy()
    reader.feed(data)
    parts: list[str] = []
    try:
        while (request := reader.next()) is not None:
            parts += _texts(request, copy)
    except ProtocolError as error:
        parts = [f"not decodable: {error.what}"]
    if reader.pending:
        parts.append(f"{reader.pending} bytes of an incomplete message")
    return "; ".join(parts)


def _texts(received: Request | Leave | Answer, codec: Codec) -> Iterator[str]:
    if isinstance(received, Leave):
        yield "leaves"
    elif isinstance(received, Request):
        yield f"step {received.duration_ms} ms" if received.duration_ms else "immediate"
        for block in received.blocks:
            for command in codec.decode_commands(block):
                yield f"{command!r:.{_LONGEST_TEXT}}"
    else:
        yield f"delay {received.delay} ms"
        for message in codec.decode_messages(received.messages):
            yield f"{message!r:.{_LONGEST_TEXT}}"
