"""The session of a RYLR998: packets to AT+SEND, +RCV to packets, sans-I/O.

The handshake finds the module, checks it against the settings and sets what differs; it only reads
until it has verified that this is the module of the settings. Source: REYAX RYLR998/RYLR498 "LoRa
AT command guide".
"""

import math
import re
from dataclasses import dataclass

from hilgw.adapters._common.line_decoder import (
    CUT_SHORT,
    Item,
    LineDecoder,
    ReceivedMessage,
    garbage,
    message,
)
from hilgw.adapters._common.module import LONGEST_FRAME, LineModuleSession
from hilgw.adapters._common.routes import route_for
from hilgw.adapters.base import (
    NOT_YET,
    CannotSend,
    Dropped,
    Event,
    Notice,
    Ready,
    StationSettings,
    Transmission,
    line_of,
)
from hilgw.adapters.rylr998.settings import (
    LAST_ADDRESS,
    LONGEST,
    TO_ALL,
    RylrSettings,
    network_of,
    normal_address,
)
from hilgw.errors import MismatchError, PeerError
from hilgw.protocols.dialogue import AskLine, LineScript, answered
from hilgw.reasons import DroppedReason, PacketRefused, RefusedReason
from hilgw.units import ns_to_s

OLDER = "RYLR8"  # in the versions of RYLR896 and RYLR890, such as RYLR89C_V1.2.7
RESTARTS = (b"+RESET", b"+READY", b"+FACTORY")

_ANSWER = re.compile(rb"\+(?:OK|ERR=[0-9]{1,3}|[A-Z]{3,9}=[ -~]{0,64})")


LONGEST_LINE = 128  # no answer is longer
_START = re.compile(rb"\+RCV=")
_HEAD = re.compile(rb"\+RCV=([0-9]{1,5}),([0-9]{1,3}),")
_HALF_HEAD = re.compile(rb"\+RCV=[0-9]{0,5}(,[0-9]{0,3})?")
_TAIL = re.compile(rb",(-?[0-9]{1,3}),(-?[0-9]{1,3})\r\n")
_HALF_TAIL = re.compile(rb"(,(-?[0-9]{0,3}(,(-?[0-9]{0,3}\r?)?)?)?)?")


FIND_TRIES = 4
FIND_TIMEOUT_S = 0.4
ANSWER_TRIES = 3


class Rylr998Dropped(DroppedReason):
    """Errors of the module's reception (AT command guide, "Error result codes")."""

    RX_OVER_TIME = "rx_over_time", "the reception took too long"
    CRC = "crc", "CRC error"
    RX_HEADER = "rx_header", "reception failed, header error"


class Rylr998Refused(RefusedReason):
    """Errors of the module's commands (AT command guide, "Error result codes")."""

    NO_LINE_END = "no_line_end", "the command does not end in CR LF"
    NO_COMMAND = "no_command", "the command does not begin with AT"
    NO_EQUALS = "no_equals", "the command has no ="
    UNKNOWN_COMMAND = "unknown_command", "the command is unknown"
    LENGTH = "length", "the data do not have the announced length"
    TX_OVER_TIME = "tx_over_time", "the transmission took too long"
    FLASH = "flash", "writing the flash failed"
    UNKNOWN = "unknown", "unknown failure"
    TX_NOT_FINISHED = "tx_not_finished", "the last transmission is not finished"
    PREAMBLE = "preamble", "the preamble is not allowed in this network"
    SLEEP_TIME = "sleep_time", "the times of MODE 2 are not allowed"
    OTHER = "err_*", "an error that the guide does not list, by its number"


ERRORS: dict[int, RefusedReason] = {
    1: Rylr998Refused.NO_LINE_END,
    2: Rylr998Refused.NO_COMMAND,
    3: Rylr998Refused.NO_EQUALS,
    4: Rylr998Refused.UNKNOWN_COMMAND,
    5: Rylr998Refused.LENGTH,
    10: Rylr998Refused.TX_OVER_TIME,
    13: PacketRefused.TOO_LONG,
    14: Rylr998Refused.FLASH,
    15: Rylr998Refused.UNKNOWN,
    17: Rylr998Refused.TX_NOT_FINISHED,
    18: Rylr998Refused.PREAMBLE,
    20: Rylr998Refused.SLEEP_TIME,
}
# What comes from the air is reported at any time, and answers no command.
RECEPTION_ERRORS: dict[int, DroppedReason] = {
    11: Rylr998Dropped.RX_OVER_TIME,
    12: Rylr998Dropped.CRC,
    19: Rylr998Dropped.RX_HEADER,
}
_CODES = "|".join(map(str, RECEPTION_ERRORS)).encode()
OK = re.compile(rb"\+OK\Z")
ERROR = re.compile(rb"\+ERR=(?!(?:" + _CODES + rb")\Z)([0-9]{1,3})\Z")
ANY_ERROR = re.compile(rb"\+ERR=([0-9]{1,3})\Z")


def error_reason(code: int) -> str:
    """Return a word for the ledger."""
    return ERRORS.get(code, f"err_{code}")


def error_text(code: int) -> str:
    if code == 13:
        return "more than 240 bytes"
    reason = ERRORS.get(code) or RECEPTION_ERRORS.get(code)
    return f"error {code}" if reason is None else reason.doc


@dataclass(frozen=True, slots=True)
class RylrModule:
    """A module after the handshake.

    parameter: spreading factor, bandwidth code, coding rate, preamble.
    """

    version: str
    address: int
    network: int
    band_hz: int
    parameter: tuple[int, int, int, int]

    @property
    def identity(self) -> str:
        sf, bandwidth, coding, _ = self.parameter
        return (
            f"{self.version}, address {self.address}, network {self.network}, "
            f"{self.band_hz / 1e6:g} MHz, SF{sf}, {1000 / 2 ** (10 - bandwidth):g} kHz, "
            f"4/{coding + 4}"
        )

    def air_ns(self, size: int) -> int:
        """Return the time on air of a packet of `size` bytes.

        The LoRa formula (Semtech AN1200.13) with explicit header and CRC; the module adds 8 bytes
        of its own.
        """
        sf, bandwidth, coding, preamble = self.parameter
        symbol_s = 2.0**sf / (125_000 * 2.0 ** (bandwidth - 7))
        low_rate = 2 if symbol_s > 0.016 else 0
        bits = 8 * (size + 8) - 4 * sf + 28 + 16
        symbols = 8 + max(math.ceil(bits / (4 * (sf - low_rate))) * (coding + 4), 0)
        return round((preamble + 4.25 + symbols) * symbol_s * 1e9)


def handshake(settings: RylrSettings, common: StationSettings) -> LineScript[Event, RylrModule]:
    """Find the module, check it, set it and verify its settings."""
    # The first AT may complete an unfinished command, and fail with it.
    yield from answered(
        AskLine(b"AT\r\n", OK, timeout_s=FIND_TIMEOUT_S, tries=FIND_TRIES),
        PeerError(
            "the module does not answer AT",
            fix=f"check power, that TX and RX are not swapped, and that its IPR is "
            f"{common.baudRate}",
        ),
    )
    version = yield from _read("VER", rb"[^\r\n]{1,64}")
    if OLDER in version:
        raise MismatchError(
            f"this is a RYLR896 or its like ({version}), which has other parameters and no UID",
            fix="connect a RYLR998 or RYLR498, or use kind: text with the commands of its guide",
        )
    uid = yield from _read("UID", rb"[0-9A-Fa-f]{8,32}")
    if settings.module and uid.upper() != settings.module.upper():
        raise MismatchError(
            f"this is module {uid}, the configuration names {settings.module}",
            fix="connect the other module, or correct `module`",
        )
    values: dict[str, str] = {"MODE": "0"}
    wanted = {
        "ADDRESS": settings.address,
        "NETWORKID": network_of(settings, common),
        "BAND": settings.frequency_hz,
        "PARAMETER": settings.modulation.text if settings.modulation else None,
        "CRFOP": settings.power_dbm,
    }
    changed = []
    for name, value in {"MODE": 0 if settings.wake else None, **wanted}.items():
        values[name] = yield from _read(name, rb"[0-9,M]{1,32}")
        # The band is read back with ",M" where it was stored.
        held = values[name].removesuffix(",M")
        if value is not None and held != str(value):
            values[name] = yield from _change(name, str(value))
            changed.append(f"{name} = {values[name]}")
        if name == "MODE" and values[name] != "0":
            raise MismatchError(
                f"the module sleeps, MODE = {values[name]}",
                fix="set wake: true, or send it AT+MODE=0",
            )
    if changed:
        yield Notice("module set to " + ", ".join(changed))
    return RylrModule(
        version,
        _number("ADDRESS", values),
        _number("NETWORKID", values),
        _number("BAND", values),
        _parameter(values["PARAMETER"]),
    )


def _read(name: str, value: bytes) -> LineScript[Event, str]:
    answer = re.compile(rb"\+" + name.encode() + rb"=(" + value + rb")\Z")
    match = yield from answered(
        AskLine(f"AT+{name}?\r\n".encode(), answer, ERROR, tries=ANSWER_TRIES),
        PeerError(f"the module stopped answering at AT+{name}?", fix="check the wiring"),
    )
    if match.re is ERROR:
        problem = f"the module answers AT+{name}? with: {error_text(int(match[1]))}"
        raise PeerError(problem, fix="check that it is a RYLR998")
    return match[1].decode("ascii", "replace")


def _change(name: str, value: str) -> LineScript[Event, str]:
    text = f"AT+{name}={value}\r\n".encode()
    match = yield from answered(
        AskLine(text, OK, ERROR, timeout_s=2.0, tries=ANSWER_TRIES),
        PeerError(f"the module does not answer AT+{name}={value}", fix="check the wiring"),
    )
    if match.re is ERROR:
        text_ = error_text(int(match[1]))
        fix = "use a value that its data sheet allows"
        raise MismatchError(f"the module rejects {name} = {value}: {text_}", fix=fix)
    held = yield from _read(name, rb"[0-9,M]{1,32}")
    if held.removesuffix(",M") != value:
        raise MismatchError(f"the module keeps {name} = {held}, it did not accept {value}")
    return held


def _number(name: str, values: dict[str, str]) -> int:
    held = values[name].removesuffix(",M")
    if not held.isdecimal():
        raise PeerError(f"the module answers {name} = {held}", fix="check that it is a RYLR998")
    return int(held)


def _parameter(held: str) -> tuple[int, int, int, int]:
    fields = held.split(",")
    if len(fields) == 4 and all(field.isdecimal() for field in fields):
        sf, bandwidth, coding, preamble = map(int, fields)
        if 5 <= sf <= 12 and 7 <= bandwidth <= 9 and 1 <= coding <= 4 and preamble <= 64:
            return sf, bandwidth, coding, preamble
    raise PeerError(f"the module answers PARAMETER = {held}", fix="check that it is a RYLR998")


class RylrDecoder(LineDecoder):
    """Decodes the bytes of the module into lines and packets.

    A packet is `+RCV=address,length,data,rssi,snr` CR LF.

    is_hex: the data of a packet are hex digits.
    """

    def __init__(self, *, is_hex: bool = False) -> None:
        super().__init__(b"\r\n", LONGEST_LINE, _START)
        self._is_hex = is_hex

    def _packet(self, held: bytes, start: re.Match[bytes]) -> tuple[Item, int] | None:
        cut = CUT_SHORT, start.end()
        head = _HEAD.match(held, start.start())
        if head is None:
            return None if _HALF_HEAD.fullmatch(held, start.start()) else cut
        address, size = int(head[1]), int(head[2])
        if address > LAST_ADDRESS or size > LONGEST:
            return cut
        end = head.end() + size
        if len(held) < end:
            return None
        tail = _TAIL.match(held, end)
        if tail is None:
            return None if _HALF_TAIL.fullmatch(held, end) else cut
        data, rssi, snr = held[head.end() : end], float(tail[1]), int(tail[2])
        return message(data, str(address), rssi, snr, is_hex=self._is_hex), tail.end()


class RylrSession(LineModuleSession[RylrModule]):
    """The AdapterSession of a RYLR998.

    One command at a time: the module answers +OK when it has transmitted the packet. The next
    packet waits until the calculated time on air is over, too.
    """

    kind = "rylr998"
    gap_ns = 300_000_000
    no_answer = "the module did not answer AT+SEND"
    no_address = TO_ALL

    def __init__(self, settings: RylrSettings, common: StationSettings) -> None:
        self.gap_ns = common.gap_ns(self.gap_ns)
        self._settings = settings
        self._common = common
        self._is_hex = settings.encoding == "hex"
        destination = normal_address(settings.destination)
        route = route_for(settings.mapping, common.channel, destination, TO_ALL, normal_address)
        super().__init__(line_of(common)[0], route, RylrDecoder(is_hex=self._is_hex))
        self._module: RylrModule | None = None  # of the last handshake

    def _handshake(self) -> LineScript[Event, RylrModule]:
        return handshake(self._settings, self._common)

    def _begin_packets(self, module: RylrModule, now: int) -> list[Event]:
        self._module = module
        self._restarts = 0
        address = str(module.address)
        return [Ready(module.identity, () if address == TO_ALL else (address,))]

    # --- from the module -------------------------------------------------------------------------

    def _has_sense(self, items: list[Item], events: list[Event]) -> bool:
        is_packet = any(isinstance(item, ReceivedMessage) for item in items)
        return is_packet or super()._has_sense(items, events)

    def _restarted(self, line: bytes) -> bool:
        return line.endswith(RESTARTS)

    def _other_line(self, line: bytes, now: int) -> list[Event]:
        error = ANY_ERROR.search(line)
        if error is not None and (reason := RECEPTION_ERRORS.get(int(error[1]))) is not None:
            return [Dropped(reason, f"a packet from the air: {reason.doc} (+ERR={int(error[1])})")]
        if error is not None and self._dialogue is None:
            return [_error_notice(int(error[1]))]
        if self._dialogue is None and OK.search(line):
            return []
        # An answer that is not expected is the late one of a repeated command.
        return [] if _ANSWER.fullmatch(line) else [Dropped(*garbage(len(line)))]

    # --- to the module ---------------------------------------------------------------------------

    def _transmit(
        self, destination: str, payload: bytes, now: int
    ) -> Transmission | CannotSend | None:
        if self._is_hex:
            payload = payload.hex().upper().encode()
        if len(payload) > LONGEST:
            return CannotSend(
                PacketRefused.TOO_LONG, f"{len(payload)} bytes, the module's limit is {LONGEST}"
            )
        if self._module is None or self._is_busy(now):
            return NOT_YET
        wire = b"AT+SEND=%s,%d,%s\r\n" % (destination.encode(), len(payload), payload)
        air_ns = self._module.air_ns(len(payload))
        self._quiet.time_ns = now + self._line.duration_ns(len(wire)) + air_ns
        return self._begin_packet(wire, self._sent(air_ns), now)

    def _sent(self, air_ns: int) -> LineScript[Event, str | None]:
        """Wait for the answer, which a received packet may precede."""
        reply_ns = self._line.patience_ns(LONGEST_FRAME, self._settings.reply_timeout_s)
        match = yield AskLine(b"", OK, ERROR, timeout_s=ns_to_s(air_ns + reply_ns))
        if match is None:
            return PacketRefused.NO_STATUS
        if match.re is OK:
            return None
        yield _error_notice(int(match[1]))
        return error_reason(int(match[1]))

    # --- as text ---------------------------------------------------------------------------------

    def describe(self, frame: bytes) -> str:
        return self._described(RylrDecoder(), frame)

    def _item_text(self, item: Item) -> str:
        error = ANY_ERROR.search(item) if isinstance(item, bytes) else None
        return super()._item_text(item) + (f" ({error_text(int(error[1]))})" if error else "")


def _error_notice(code: int) -> Notice:
    return Notice(f"the module reports: {error_text(code)} (+ERR={code})")
