"""Settings of an HC-12, and the checks that take more than one field.

Source: HC-12 user manuals V2.3 and V2.4, which contradict each other here and there: where they
do, there is a setting, or both readings are taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from hilgw.adapters._common.framed_line import FramingSettings, check_framing
from hilgw.adapters._common.routes import ByHeader
from hilgw.adapters.base import Problem, StationSettings
from hilgw.settings import setting

RATES = (1200, 2400, 4800, 9600, 19200, 38400, 57600, 115200)
FIRST_CHANNEL, LAST_CHANNEL = 1, 127
POWERS_DBM = (-1, 2, 5, 8, 11, 14, 17, 20)  # AT+P1 to AT+P8
MODES = ("FU1", "FU2", "FU3", "FU4")
FACTORY_MODE = "FU3"
LONGEST = {"FU1": 256, "FU2": 64, "FU3": 256, "FU4": 50}  # bytes of one packet
FU4_FRAME = 60  # bytes that go at once in FU4, framing and all; the module loses what is beyond
PAUSE_S = {"FU1": 0.0, "FU2": 0.5, "FU3": 0.0, "FU4": 2.0}  # between packets
FASTEST = {"FU1": 115200, "FU2": 4800, "FU3": 115200, "FU4": 1200}
SENSITIVITY_DBM = {500: -124, 5_000: -116, 15_000: -111, 58_000: -106, 236_000: -100}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleChannel:
    """The module's radio channel (AT+C) is the Webots channel: 1 to 127; above 100 the maker
    guarantees nothing."""

    by: Literal["module_channel"] = "module_channel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hc12Settings:
    """What an HC-12 needs beside what every station has."""

    framing: str | FramingSettings = setting(
        "where packets begin and end: the module passes on a stream of bytes (docs/framing.md)",
        "cobs-crc16",
        example="cobs-crc16",
    )
    mapping: ModuleChannel | ByHeader = setting(
        "how a Webots channel maps to the radio", ModuleChannel()
    )
    set_line: str = setting(
        "how the module's SET pin is pulled low for its commands: dtr or rts, by that line of the "
        "port; held, by hand while hilgw starts: its settings are read and compared, none is "
        "changed; manual: not at all, nothing can be set or checked",
        "manual",
        choices=("manual", "held", "dtr", "rts"),
    )
    set_low: str = setting(
        "state of that modem line that pulls SET low: on, as the inverted lines of USB adapters "
        "do, or off",
        "on",
        choices=("on", "off"),
    )
    command_rate: str = setting(
        "rate of the module's commands: current, baudRate; or 9600, as one manual says (baudRate "
        "must be 9600 then, unless set_line is manual)",
        "current",
        choices=("current", "9600"),
    )
    mode: str | None = setting(
        "transmission mode, the same at both ends; not set: left as it is", None, choices=MODES
    )
    power_dbm: int | None = setting(
        "transmit power (AT+P); not set: left as it is", None, choices=POWERS_DBM, unit="dBm"
    )
    range_m: float | None = setting(
        "instead of power_dbm: the least power that reaches so far in free space, by "
        "rssi_at_1m_dbm (at 20 dBm) and the sensitivity of the air rate",
        None,
        gt=0,
        unit="m",
    )
    mock: dict[str, Any] = setting(
        "parameters of the module that stands in with backend mock (`hilgw mock hc12 --list`)",
        default_factory=dict,
    )


def mode_of(settings: Hc12Settings) -> str:
    """What the adapter takes the module's mode for."""
    return settings.mode or FACTORY_MODE


def air_rate(mode: str, baudRate: int) -> int:
    """bit/s on the air: in FU3 the UART's rate decides."""
    if mode == "FU4":
        return 500
    if mode != "FU3":
        return 236_000  # 250000, with the same sensitivity
    return {0: 5_000, 1: 15_000, 2: 58_000, 3: 236_000}[RATES.index(baudRate) // 2]


def reach_m(power_dbm: int, mode: str, common: StationSettings) -> float:
    """How far this power reaches in free space."""
    sensitivity = SENSITIVITY_DBM[air_rate(mode, common.baudRate)]
    loss = common.rssi_at_1m_dbm + power_dbm - POWERS_DBM[-1] - sensitivity
    return math.pow(10.0, loss / 20)


def power_of(settings: Hc12Settings, common: StationSettings) -> int | None:
    """The power the settings ask for, dBm; None: none."""
    if settings.range_m is None:
        return settings.power_dbm
    for power in POWERS_DBM:
        if reach_m(power, mode_of(settings), common) >= settings.range_m:
            return power
    return POWERS_DBM[-1]


def check(settings: Hc12Settings, common: StationSettings) -> list[Problem]:
    """What is wrong between fields, each with its place and its cure."""
    problems = check_framing(settings.framing, common)
    is_module_channel = isinstance(settings.mapping, ModuleChannel)
    if is_module_channel and not FIRST_CHANNEL <= common.channel <= LAST_CHANNEL:
        what = f"{common.channel} is no HC-12 channel, which mapping module_channel takes it for"
        problems.append(("channel", what, "use 1 to 127, or mapping: {by: header}"))
    if common.baudRate not in RATES:
        what = f"the module has no {common.baudRate} baud"
        problems.append(("baudRate", what, f"use {', '.join(map(str, RATES))}"))
        return problems
    mode = mode_of(settings)
    if common.baudRate > FASTEST[mode]:
        what = f"{mode} takes at most {FASTEST[mode]} baud on the UART"
        problems.append(("baudRate", what, f"use {FASTEST[mode]}, or another mode"))
    by_command = settings.set_line != "manual"
    if settings.command_rate == "9600" and by_command and common.baudRate != 9600:
        what = "the commands are at 9600 baud, the line is not, and its rate is not changed"
        problems.append(("command_rate", what, "use baudRate 9600, or set_line: manual"))
    if settings.power_dbm is not None and settings.range_m is not None:
        problems.append(("range_m", "contradicts power_dbm", "leave one of them out"))
    if settings.range_m is not None:
        most = reach_m(POWERS_DBM[-1], mode, common)
        if settings.range_m > most:
            what = f"full power reaches {most:.0f} m in free space"
            problems.append(("range_m", what, "give less, or a lower baudRate (in FU3)"))
    if settings.set_line == "rts" and common.rtscts:
        problems.append(("rtscts", "RTS is the SET line", "leave rtscts out"))
    return problems
