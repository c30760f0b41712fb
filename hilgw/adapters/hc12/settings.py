"""Settings of an HC-12, and the checks that take more than one field.

Source: HC-12 user manuals V2.3 and V2.4. Where they contradict each other there is a setting, or
both readings are accepted.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from hilgw.adapters._common.framing_settings import FramingSettings, check_framing
from hilgw.adapters.declaration import (
    ByHeader,
    Framed,
    HasMapping,
    Problem,
    StationSettings,
    unsupported,
)
from hilgw.settings import setting

RATES = (1200, 2400, 4800, 9600, 19200, 38400, 57600, 115200)
FIRST_CHANNEL, LAST_CHANNEL = 1, 127
POWERS_DBM = (-1, 2, 5, 8, 11, 14, 17, 20)  # AT+P1 to AT+P8
MODES = ("FU1", "FU2", "FU3", "FU4")
FACTORY_MODE = "FU3"
LONGEST = {"FU1": 256, "FU2": 64, "FU3": 256, "FU4": 50}  # bytes of one packet
FU4_FRAME = 60  # bytes of a frame in FU4, with its framing; the module loses the rest
PAUSE_S = {"FU1": 0.0, "FU2": 0.5, "FU3": 0.0, "FU4": 2.0}  # between packets
FASTEST = {"FU1": 115200, "FU2": 4800, "FU3": 115200, "FU4": 1200}
SENSITIVITY_DBM = {500: -124, 5_000: -116, 15_000: -111, 58_000: -106, 236_000: -100}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleChannel:
    """The module's radio channel (AT+C) is the Webots channel: 1 to 127.

    The manufacturer does not guarantee those above 100.
    """

    by: Literal["module_channel"] = "module_channel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hc12Settings(Framed, HasMapping):
    """Settings of an HC-12, besides those of every adapter."""

    framing: str | FramingSettings = setting(
        "how packets are separated: the module transmits a stream of bytes (docs/framing.md)",
        "cobs-crc16",
        example="cobs-crc16",
    )
    mapping: ModuleChannel | ByHeader = setting(
        "how a Webots channel maps to the radio", ModuleChannel()
    )
    set_line: str = setting(
        "how the module's SET pin is pulled low for commands: dtr or rts, by that line of the "
        "port; held, by hand while hilgw starts: settings are read and compared, not changed; "
        "manual, not at all: settings are neither set nor checked",
        "manual",
        choices=("manual", "held", "dtr", "rts"),
    )
    set_low: str = setting(
        "state of that modem line that pulls SET low: on (the inverted lines of USB adapters), "
        "or off",
        "on",
        choices=("on", "off"),
    )
    command_rate: str = setting(
        "rate of the module's commands: current, baudRate; or 9600, as in one manual (then "
        "baudRate must be 9600, unless set_line is manual)",
        "current",
        choices=("current", "9600"),
    )
    mode: str | None = setting(
        "transmission mode, the same at both ends; not set: unchanged", None, choices=MODES
    )
    power_dbm: int | None = setting(
        "transmit power (AT+P); not set: unchanged", None, choices=POWERS_DBM, unit="dBm"
    )
    range_m: float | None = setting(
        "instead of power_dbm: the lowest power with this range in free space, calculated from "
        "rssi_at_1m_dbm (at 20 dBm) and the sensitivity at the air rate",
        None,
        gt=0,
        unit="m",
        le=1_000_000,
    )
    mock: dict[str, Any] = setting(
        "parameters of the mock module (`hilgw mock hc12 --list`)",
        default_factory=dict,
    )


def mode_of(settings: Hc12Settings) -> str:
    return settings.mode or FACTORY_MODE


def air_rate(mode: str, baudRate: int) -> int:
    """Return the air rate in bit/s; in FU3 it depends on the UART's rate."""
    if mode == "FU4":
        return 500
    if mode != "FU3":
        return 236_000  # 250000, with the same sensitivity
    return {0: 5_000, 1: 15_000, 2: 58_000, 3: 236_000}[RATES.index(baudRate) // 2]


def reach_m(power_dbm: int, mode: str, common: StationSettings) -> float:
    """Return the range of this power in free space."""
    sensitivity = SENSITIVITY_DBM[air_rate(mode, common.baudRate)]
    return math.pow(10.0, (common.rssi_at_1m_dbm + power_dbm - POWERS_DBM[-1] - sensitivity) / 20)


def power_of(settings: Hc12Settings, common: StationSettings) -> int | None:
    """Return the power the settings require, in dBm; None: any."""
    if settings.range_m is None:
        return settings.power_dbm
    for power in POWERS_DBM:
        if reach_m(power, mode_of(settings), common) >= settings.range_m:
            return power
    return POWERS_DBM[-1]


def check(settings: Hc12Settings, common: StationSettings) -> Iterator[Problem]:
    """Yield the problems between fields: path below the adapter, message, fix."""
    yield from check_framing(settings.framing, common)
    is_module_channel = isinstance(settings.mapping, ModuleChannel)
    if is_module_channel and not FIRST_CHANNEL <= common.channel <= LAST_CHANNEL:
        problem = f"{common.channel} is not a valid HC-12 channel (mapping module_channel)"
        yield "channel", problem, "use 1 to 127, or mapping: {by: header}"
    if common.baudRate not in RATES:
        yield unsupported(common.baudRate, RATES)
        return
    mode = mode_of(settings)
    if common.baudRate > FASTEST[mode]:
        problem = f"{mode} supports at most {FASTEST[mode]} baud on the UART"
        yield "baudRate", problem, f"use {FASTEST[mode]}, or another mode"
    by_command = settings.set_line != "manual"
    if settings.command_rate == "9600" and by_command and common.baudRate != 9600:
        problem = f"commands are at 9600 baud, but the line stays at {common.baudRate}"
        yield "command_rate", problem, "use baudRate 9600, or set_line: manual"
    if settings.power_dbm is not None and settings.range_m is not None:
        yield "range_m", "contradicts power_dbm", "remove one of them"
    if settings.range_m is not None:
        most = reach_m(POWERS_DBM[-1], mode, common)
        if settings.range_m > most:
            problem = f"is more than full power reaches in free space, {most:.0f} m"
            yield "range_m", problem, "use less, or a lower baudRate (in FU3)"
    if settings.set_line == "rts" and common.rtscts:
        yield "rtscts", "RTS is already the SET line", "remove rtscts"
