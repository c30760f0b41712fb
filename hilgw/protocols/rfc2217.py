"""Telnet with the COM port option: bytes in, events out.

Both ends share this module, which has the end of the access server, too;
`hilgw.protocols.rfc2217_client` is the other end. RFC 854 and 855 (telnet commands and options),
RFC 856 (binary), RFC 1143 (negotiation without loops) and RFC 2217 (COM port control). Data always
passes as it is; binary transmission is requested, and a peer that refuses it gets the same bytes.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import ClassVar

IAC, DONT, DO, WONT, WILL, SB, BREAK, SE = 255, 254, 253, 252, 251, 250, 243, 240
BINARY, ECHO, SUPPRESS_GO_AHEAD, COM_PORT = 0, 1, 3, 44
# RFC 2217, section 2: commands of the client; the answer of the server is 100 more.
SIGNATURE, SET_BAUDRATE, SET_DATASIZE, SET_PARITY, SET_STOPSIZE, SET_CONTROL = range(6)
NOTIFY_LINESTATE, NOTIFY_MODEMSTATE, FLOWCONTROL_SUSPEND, FLOWCONTROL_RESUME = range(6, 10)
SET_LINESTATE_MASK, SET_MODEMSTATE_MASK, PURGE_DATA = range(10, 13)
ANSWER = 100
LONGEST_SUBNEGOTIATION = 128  # bytes; the longest that is defined, except for a signature, is 6

Value = int | str | bool

_PARITIES = {1: "N", 2: "O", 3: "E", 4: "M", 5: "S"}
_FLOWS = {1: "none", 2: "xonxoff", 3: "rtscts", 17: "dcd", 19: "dsr"}
_INBOUND_FLOWS = {14: "none", 15: "xonxoff", 16: "rtscts", 18: "dtr"}
_SWITCHES = {4: ("break", 5, 6), 7: ("dtr", 8, 9), 10: ("rts", 11, 12)}
# Values of SET_CONTROL. A setting without a value is a question.
_CONTROLS: dict[int, tuple[str, Value | None]] = {
    0: ("flow", None),
    **{code: ("flow", name) for code, name in _FLOWS.items()},
    13: ("inbound_flow", None),
    **{code: ("inbound_flow", name) for code, name in _INBOUND_FLOWS.items()},
    **{code: (name, None) for code, (name, _, _) in _SWITCHES.items()},
    **{on: (name, True) for name, on, _ in _SWITCHES.values()},
    **{off: (name, False) for name, _, off in _SWITCHES.values()},
}
_CONTROL_CODES = {setting: code for code, setting in _CONTROLS.items()}
_NUMBERS = {SET_DATASIZE: "data_bits", SET_STOPSIZE: "stop_bits"}
STOP_BITS_1_5 = 3  # the code of 1.5 stop bits; 1 and 2 mean themselves

# As many plain bytes and doubled IACs as there are.
_PLAIN = re.compile(rb"[^\xff]*+(?:\xff\xff[^\xff]*+)*+")
OPTIONS_OF_SERVER = frozenset({BINARY, ECHO, SUPPRESS_GO_AHEAD, COM_PORT})
OPTIONS_OF_CLIENT = frozenset({BINARY, SUPPRESS_GO_AHEAD, COM_PORT})
# DO, DONT, WILL or WONT with a known option, as telnet begins.
_ONE = rb"\xff[\xfb-\xfe][\x00-\x2c]"
_TWO = re.compile(_ONE + rb"\xff[\xfa-\xfe][\x00-\x2c]")  # or one and a subnegotiation
_NOT_TWO_YET = re.compile(rb"(?:(%b)(\xff[\xfa-\xfe]?)?|(?:\xff[\xfb-\xfe]?)?)" % _ONE)


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes for the device."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """Bytes for the client, to be sent as they are."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Agreed:
    """Both ends use the COM port option: a client expects the state of the modem lines."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of the client, or with value None a question; to be answered by `answer`.

    name and value: baud_rate, data_bits, stop_bits (int); parity ("N", "E", "O", "M", "S"); flow,
    inbound_flow ("none", "xonxoff", "rtscts", "dcd", "dsr", "dtr"); break, dtr, rts (bool).
    """

    name: str
    value: Value | None


@dataclass(frozen=True, slots=True)
class Purge:
    """The client discards bytes: received ones of the device, or those to be sent to it.

    To be answered by `purged`.
    """

    received: bool
    to_send: bool


@dataclass(frozen=True, slots=True)
class Flow:
    """The client wants no more data for now (suspended), or wants it again."""

    suspended: bool


@dataclass(frozen=True, slots=True)
class SendBreak:
    """The telnet command BREAK: a break of the usual length."""


Event = Data | Reply | Agreed | Setting | Purge | Flow | SendBreak


@dataclass(frozen=True, slots=True)
class ModemBits:
    """The inputs of a port, as NOTIFY-MODEMSTATE reports them."""

    cts: bool
    dsr: bool
    ri: bool
    cd: bool

    def changes(self, before: "ModemBits | None") -> int:
        """Return the octet: states in the upper half, changes in the lower.

        RI: its trailing edge.
        """
        code = 16 * self.cts + 32 * self.dsr + 64 * self.ri + 128 * self.cd
        if before is not None:
            code += (self.cts != before.cts) + 2 * (self.dsr != before.dsr)
            code += 4 * (before.ri and not self.ri) + 8 * (self.cd != before.cd)
        return code


class _OptionState(Enum):
    DATA = auto()
    COMMAND = auto()  # after an IAC
    OPTION = auto()  # after WILL, WONT, DO, DONT
    SUBNEGOTIATION = auto()
    SUBNEGOTIATION_COMMAND = auto()  # after an IAC in it


class Telnet(ABC):
    """An end of one connection.

    malformed: counts commands that were ignored because they make no sense. negotiated: the peer
    has sent a negotiation or a command, as every telnet peer does. ours, theirs: the options that
    may be on at this end and at the other one. asks: those that `open` requests, of us (True) or of
    the peer.
    """

    ours: ClassVar[frozenset[int]]
    theirs: ClassVar[frozenset[int]]
    asks: ClassVar[tuple[tuple[bool, int], ...]]

    def __init__(self) -> None:
        self.malformed = 0
        self.negotiated = False
        self._state = _OptionState.DATA
        self._verb = 0
        self._payload = bytearray()
        self._oversized = False
        # RFC 1143 without its queue: options that are on, and those whose answer is awaited.
        self._on: set[tuple[bool, int]] = set()  # (True: of us, option)
        self._asked: set[tuple[bool, int]] = set()

    def open(self) -> bytes:
        """Return the first bytes to send."""
        self._asked |= set(self.asks)
        return b"".join(bytes((IAC, WILL if ours else DO, option)) for ours, option in self.asks)

    @property
    def is_at_rest(self) -> bool:
        """True if no command is incomplete: the next bytes may be data."""
        return self._state is _OptionState.DATA

    # --- from the peer ----------------------------------------------------------------------------

    def feed(self, data: bytes) -> list[Event]:
        """Take any piece of the stream; commands may be split anywhere."""
        if self._state is _OptionState.DATA and IAC not in data:
            return [Data(data)] if data else []
        events: list[Event] = []
        plain = bytearray()
        position = 0
        while position < len(data):
            if self._state is _OptionState.DATA:
                position = self._take_plain(data, position, plain)
            elif self._state is _OptionState.SUBNEGOTIATION:
                position = self._take_payload(data, position)
            else:
                taken = self._take_byte(data[position], plain)
                position += 1
                if taken:
                    _flush(plain, events)
                    events += taken
        _flush(plain, events)
        return events

    def _take_plain(self, data: bytes, position: int, plain: bytearray) -> int:
        run = _PLAIN.match(data, position)
        end = position if run is None else run.end()
        if end > position:
            plain += data[position:end].replace(b"\xff\xff", b"\xff")
        if end < len(data):  # an IAC that no second one follows here
            self._state = _OptionState.COMMAND
            end += 1
        return end

    def _take_payload(self, data: bytes, position: int) -> int:
        end = data.find(IAC, position)
        self._extend(data[position:] if end < 0 else data[position:end])
        if end < 0:
            return len(data)
        self._state = _OptionState.SUBNEGOTIATION_COMMAND
        return end + 1

    def _extend(self, piece: bytes) -> None:
        room = LONGEST_SUBNEGOTIATION - len(self._payload)
        self._oversized |= len(piece) > room
        self._payload += piece[:room]

    def _take_byte(self, byte: int, plain: bytearray) -> list[Event]:
        state, self._state = self._state, _OptionState.DATA
        if state is _OptionState.OPTION:
            return self._negotiate(self._verb, byte)
        if state is _OptionState.SUBNEGOTIATION_COMMAND:
            if byte == IAC:
                self._extend(b"\xff")
                self._state = _OptionState.SUBNEGOTIATION
                return []
            if byte == SE:
                return self._end_subnegotiation()
            self.malformed += 1  # it was not ended; this is a command of its own
        if byte == IAC:
            plain.append(IAC)
        elif byte in (WILL, WONT, DO, DONT):
            self._verb, self._state = byte, _OptionState.OPTION
        elif byte == SB:
            self._payload.clear()
            self._oversized = False
            self._state = _OptionState.SUBNEGOTIATION
        elif byte == BREAK:
            return [SendBreak()]
        return []  # the other commands (NOP, AYT, ...) mean nothing to a serial port

    # --- options ----------------------------------------------------------------------------------

    def _negotiate(self, verb: int, option: int) -> list[Event]:
        self.negotiated = True
        ours = verb in (DO, DONT)
        wanted = verb in (DO, WILL)
        key = (ours, option)
        asked, on = key in self._asked, key in self._on
        self._asked.discard(key)
        if not wanted:
            self._on.discard(key)
            return [_reply(WONT if ours else DONT, option)] if on and not asked else []
        if option not in (self.ours if ours else self.theirs):
            return [_reply(WONT if ours else DONT, option)]
        if on:
            return []
        agreed_before = self.agreed
        self._on.add(key)
        events: list[Event] = [] if asked else [_reply(WILL if ours else DO, option)]
        if self.agreed and not agreed_before:
            events += self._agreement()
        return events

    def _agreement(self) -> list[Event]:
        """Return the events of an agreement: both ends use the COM port option from now on."""
        return [Agreed()]

    @property
    def agreed(self) -> bool:
        """True if both ends use the COM port option."""
        return (False, COM_PORT) in self._on or (True, COM_PORT) in self._on

    # --- the COM port option ----------------------------------------------------------------------

    def _end_subnegotiation(self) -> list[Event]:
        payload = bytes(self._payload)
        self._payload.clear()
        if self._oversized or len(payload) < 2:
            self.malformed += 1
            return []
        if payload[0] != COM_PORT:
            return []
        events = self._command(payload[1], payload[2:])
        if events is None:
            self.malformed += 1
            return []
        self.negotiated = True
        return events

    @abstractmethod
    def _command(self, command: int, value: bytes) -> list[Event] | None:
        """Handle a command of the COM port option; return None if it makes no sense."""


class Server(Telnet):
    """The end of the access server.

    look: calls `modem_state` with the present state when the client asks for it.
    """

    ours, theirs = OPTIONS_OF_SERVER, OPTIONS_OF_CLIENT
    asks = ((True, BINARY), (False, BINARY), (True, SUPPRESS_GO_AHEAD), (False, COM_PORT))

    def __init__(self, signature: str = "hilgw") -> None:
        super().__init__()
        self._signature = signature.encode()
        self._modem_mask = 255
        self._modem: ModemBits | None = None
        self.look: Callable[[], None] | None = None

    # --- from the client --------------------------------------------------------------------------

    def _command(self, command: int, value: bytes) -> list[Event] | None:
        if command == SIGNATURE:
            return [] if value else [Reply(subnegotiation(ANSWER + SIGNATURE, self._signature))]
        if command == SET_BAUDRATE:
            if len(value) != 4:
                return None
            return [Setting("baud_rate", int.from_bytes(value, "big") or None)]
        if command in (FLOWCONTROL_SUSPEND, FLOWCONTROL_RESUME):
            return [Flow(command == FLOWCONTROL_SUSPEND)]
        if command == NOTIFY_MODEMSTATE:
            if self.look is not None:
                self.look()
            return [] if self._modem is None else [Reply(self._present_state(self._modem))]
        return self._octet_command(command, value[0]) if len(value) == 1 else None

    def _octet_command(self, command: int, value: int) -> list[Event] | None:
        if (setting := setting_of(command, value)) is not None:
            return [setting]
        if command == PURGE_DATA and 1 <= value <= 3:
            return [Purge(received=bool(value & 1), to_send=bool(value & 2))]
        if command == SET_MODEMSTATE_MASK:
            self._modem_mask = value
            state = b"" if self._modem is None else self._present_state(self._modem)
            return [Reply(subnegotiation(ANSWER + SET_MODEMSTATE_MASK, bytes((value,))) + state)]
        if command == SET_LINESTATE_MASK:  # no line state is reported, whatever the mask
            return [Reply(subnegotiation(ANSWER + SET_LINESTATE_MASK, bytes((value,))))]
        return None

    def _present_state(self, bits: ModemBits) -> bytes:
        return subnegotiation(
            ANSWER + NOTIFY_MODEMSTATE, bytes((bits.changes(None) & self._modem_mask,))
        )

    # --- to the client ----------------------------------------------------------------------------

    def answer(self, name: str, value: Value) -> bytes:
        """Return the answer: the setting in effect now, also if the client wanted another one."""
        return command_of(name, value, ANSWER)

    def purged(self, purge: Purge) -> bytes:
        """Return the answer to a purge."""
        return subnegotiation(ANSWER + PURGE_DATA, bytes((purge.received + 2 * purge.to_send,)))

    def modem_state(self, bits: ModemBits) -> bytes:
        """Return a notification; b"" if no state of the client's mask has changed."""
        if not self.agreed:
            return b""
        before, self._modem = self._modem, bits
        code = bits.changes(before)
        if before is not None and not code & self._modem_mask & 15:
            return b""
        return subnegotiation(ANSWER + NOTIFY_MODEMSTATE, bytes((code & self._modem_mask,)))


def escape(data: bytes) -> bytes:
    """Double each IAC in data for the client."""
    return data.replace(b"\xff", b"\xff\xff") if IAC in data else data


def begins_with_negotiation(data: bytes, *, silence: bool = False) -> bool | None:
    """Return True if a stream that starts with `data` is telnet; None if more bytes are needed.

    Two complete negotiations are, or one that a subnegotiation or silence follows: a single one may
    be data, such as FF FD 00, the header of a Dynamixel packet without its first byte.
    """
    if _TWO.match(data):
        return True
    match = _NOT_TWO_YET.fullmatch(data)
    if match is None:
        return False
    return bool(match[1]) and not match[2] if silence else None


def _flush(plain: bytearray, events: list[Event]) -> None:
    if plain:
        events.append(Data(bytes(plain)))
        plain.clear()


def setting_of(command: int, value: int) -> Setting | None:
    """Return the setting of a command with one octet; None if it has none.

    Zero asks.
    """
    if command == SET_PARITY and (value == 0 or value in _PARITIES):
        return Setting("parity", _PARITIES.get(value))
    if command == SET_CONTROL and value in _CONTROLS:
        return Setting(*_CONTROLS[value])
    if command in _NUMBERS:
        return _number_setting(command, value)
    return None


def command_of(name: str, value: Value, answer: int = 0) -> bytes:
    """Return the command that sets this value, or with ANSWER the answer that it is in effect."""
    if name == "baud_rate":
        return subnegotiation(answer + SET_BAUDRATE, int(value).to_bytes(4, "big"))
    if name == "parity":
        codes = {letter: code for code, letter in _PARITIES.items()}
        return subnegotiation(answer + SET_PARITY, bytes((codes[str(value)],)))
    for command, number in _NUMBERS.items():
        if name == number:
            return subnegotiation(answer + command, bytes((int(value),)))
    return subnegotiation(answer + SET_CONTROL, bytes((_CONTROL_CODES[name, value],)))


def _number_setting(command: int, value: int) -> Setting | None:
    """Return a number of bits; 1.5 stop bits are not supported: the answer has the present ones."""
    lowest, highest = (5, 8) if command == SET_DATASIZE else (1, 3)
    if value and not lowest <= value <= highest:
        return None
    if command == SET_STOPSIZE and value == STOP_BITS_1_5:
        value = 0
    return Setting(_NUMBERS[command], value or None)


def _reply(verb: int, option: int) -> Reply:
    return Reply(bytes((IAC, verb, option)))


def subnegotiation(command: int, value: bytes) -> bytes:
    """Return a command of the COM port option."""
    return bytes((IAC, SB, COM_PORT, command)) + escape(value) + bytes((IAC, SE))
