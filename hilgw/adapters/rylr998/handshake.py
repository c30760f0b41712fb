"""The handshake with a RYLR998: find it, check it against the settings, set what differs.

Source: REYAX RYLR998/RYLR498 "LoRa AT command guide". The handshake only reads until it has
verified that this is the module of the settings.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from hilgw.adapters.base import Event, Notice, StationSettings
from hilgw.adapters.rylr998.settings import RylrSettings, network_of
from hilgw.errors import MismatchError, PeerError
from hilgw.protocols.dialogue import AskLine, LineScript
from hilgw.reasons import PacketRefused, RefusedReason

FIND_TRIES = 4
FIND_TIMEOUT_S = 0.4
ANSWER_TRIES = 3


class Rylr998Refused(RefusedReason):
    """Errors of the module (AT command guide, "Error result codes")."""

    NO_LINE_END = "no_line_end", "the command does not end in CR LF"
    NO_COMMAND = "no_command", "the command does not begin with AT"
    NO_EQUALS = "no_equals", "the command has no ="
    UNKNOWN_COMMAND = "unknown_command", "the command is unknown"
    LENGTH = "length", "the data do not have the announced length"
    TX_OVER_TIME = "tx_over_time", "the transmission took too long"
    RX_OVER_TIME = "rx_over_time", "the reception took too long"
    CRC = "crc", "CRC error"
    FLASH = "flash", "writing the flash failed"
    UNKNOWN = "unknown", "unknown failure"
    TX_NOT_FINISHED = "tx_not_finished", "the last transmission is not finished"
    PREAMBLE = "preamble", "the preamble is not allowed in this network"
    RX_HEADER = "rx_header", "reception failed, header error"
    SLEEP_TIME = "sleep_time", "the times of MODE 2 are not allowed"
    OTHER = "err_*", "an error that the guide does not list, by its number"


ERRORS: dict[int, RefusedReason] = {
    1: Rylr998Refused.NO_LINE_END,
    2: Rylr998Refused.NO_COMMAND,
    3: Rylr998Refused.NO_EQUALS,
    4: Rylr998Refused.UNKNOWN_COMMAND,
    5: Rylr998Refused.LENGTH,
    10: Rylr998Refused.TX_OVER_TIME,
    11: Rylr998Refused.RX_OVER_TIME,
    12: Rylr998Refused.CRC,
    13: PacketRefused.TOO_LONG,
    14: Rylr998Refused.FLASH,
    15: Rylr998Refused.UNKNOWN,
    17: Rylr998Refused.TX_NOT_FINISHED,
    18: Rylr998Refused.PREAMBLE,
    19: Rylr998Refused.RX_HEADER,
    20: Rylr998Refused.SLEEP_TIME,
}
OK = re.compile(rb"\+OK\Z")
ERROR = re.compile(rb"\+ERR=([0-9]{1,3})\Z")


def error_reason(code: int) -> str:
    """A word for the ledger."""
    return ERRORS.get(code, f"err_{code}")


def error_text(code: int) -> str:
    if code == 13:
        return "more than 240 bytes"
    return ERRORS[code].doc if code in ERRORS else f"error {code}"


@dataclass(frozen=True, slots=True)
class RylrModule:
    """A module after the handshake. parameter: spreading factor, bandwidth code, coding rate,
    preamble."""

    version: str
    uid: str
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
        """Time on air of a packet of `size` bytes: the LoRa formula (Semtech AN1200.13) with
        explicit header and CRC; the module adds 8 bytes of its own."""
        sf, bandwidth, coding, preamble = self.parameter
        symbol_s = 2.0**sf / (125_000 * 2.0 ** (bandwidth - 7))
        low_rate = 2 if symbol_s > 0.016 else 0
        bits = 8 * (size + 8) - 4 * sf + 28 + 16
        symbols = 8 + max(math.ceil(bits / (4 * (sf - low_rate))) * (coding + 4), 0)
        return round((preamble + 4.25 + symbols) * symbol_s * 1e9)


def handshake(settings: RylrSettings, common: StationSettings) -> LineScript[Event, RylrModule]:
    """Find, check, set, verify."""
    yield from _find(common)
    version = yield from _read("VER", rb"[^\r\n]{1,64}")
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
        uid.upper(),
        _number("ADDRESS", values),
        _number("NETWORKID", values),
        _number("BAND", values),
        _parameter(values["PARAMETER"]),
    )


def _find(common: StationSettings) -> LineScript[Event, None]:
    # The first AT may complete an unfinished command, and fail with it.
    found = yield AskLine(b"AT\r\n", OK, timeout_s=FIND_TIMEOUT_S, tries=FIND_TRIES)
    if found is None:
        raise PeerError(
            "the module does not answer AT",
            fix=f"check power, that TX and RX are not swapped, and that its IPR is "
            f"{common.baudRate}",
        )


def _read(name: str, value: bytes) -> LineScript[Event, str]:
    """The value of a register, as the module writes it."""
    answer = re.compile(rb"\+" + name.encode() + rb"=(" + value + rb")\Z")
    found = yield AskLine(f"AT+{name}?\r\n".encode(), answer, ERROR, tries=ANSWER_TRIES)
    if found is None:
        raise PeerError(f"the module stopped answering at AT+{name}?", fix="check the wiring")
    if found.re is ERROR:
        what = f"the module answers AT+{name}? with: {error_text(int(found[1]))}"
        raise PeerError(what, fix="check that it is a RYLR998")
    return found[1].decode("ascii", "replace")


def _change(name: str, value: str) -> LineScript[Event, str]:
    """Set, and read back."""
    done = re.compile(rb"\+OK\Z")
    text = f"AT+{name}={value}\r\n".encode()
    found = yield AskLine(text, done, ERROR, timeout_s=2.0, tries=ANSWER_TRIES)
    if found is None:
        raise PeerError(f"the module does not answer AT+{name}={value}", fix="check the wiring")
    if found.re is ERROR:
        text_ = error_text(int(found[1]))
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
