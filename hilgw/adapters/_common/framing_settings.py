"""The framing of a framed line as an adapter's setting."""

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from hilgw.adapters.declaration import Problem, StationSettings, line_of
from hilgw.errors import ConfigError
from hilgw.framing import SHORT_NAMES, crc, create, parse
from hilgw.framing.base import Framing
from hilgw.framing.cobs import CobsSettings
from hilgw.framing.gap import GapSettings
from hilgw.framing.hdlc import HdlcSettings
from hilgw.framing.length import DEFAULTS, LengthSettings
from hilgw.framing.lines import LinesSettings
from hilgw.framing.slip import SlipSettings
from hilgw.units import NS_PER_MS, ns_to_ms

FramingSettings = (
    CobsSettings | GapSettings | HdlcSettings | LengthSettings | LinesSettings | SlipSettings
)

SHORTEST_GAP = 1.5  # byte times; bytes sent without a pause are one byte time apart


def patient(framing: Any, least_ms: float, *, is_on_network: bool = False) -> Any:
    """Return the settings of the framing.

    The timeout of a length framing is at least `least_ms` where it is the default one, or on TCP.

    Raises:
        ConfigError: there is no such framing.
    """
    parsed = parse(framing) if isinstance(framing, str) else framing
    is_length = isinstance(parsed, LengthSettings)
    if is_length and (is_on_network or parsed.timeout_ms == DEFAULTS.timeout_ms):
        return replace(parsed, timeout_ms=max(parsed.timeout_ms, least_ms))
    return parsed


def new_framing(framing: str | FramingSettings, common: StationSettings) -> Callable[[], Framing]:
    """Return what makes this framing for this line."""
    settings = patient(framing, ns_to_ms(common.gap_ns(0)), is_on_network="://" in str(common.port))
    return partial(create, settings)


def check_framing(framing: str | FramingSettings, common: StationSettings) -> list[Problem]:
    """Return the problems of the framing, and of its gap at this line's rate."""
    try:
        made = create(framing)
    except ConfigError as error:
        return [framing_problem(framing, error)]
    try:
        byte_ns = line_of(common)[0].duration_ns(1)
    except ConfigError:
        return []  # the line settings are wrong: reported elsewhere
    timeout_ms = framing.timeout_ms if isinstance(framing, LengthSettings) else 0.0
    ends_ns = timeout_ms * NS_PER_MS or made.pause_ns
    if 0 < ends_ns < (least := SHORTEST_GAP * byte_ns):
        problem = (
            f"a {'timeout' if timeout_ms else 'gap'} of {ends_ns / 1e6:g} ms ends a packet between "
            f"two of its bytes: a byte takes {byte_ns / 1e6:.3g} ms at "
            f"{common.baudRate} baud"
        )
        return [("framing", problem, f"give {least / 1e6:.3g} ms or more")]
    return []


def framing_problem(framing: str | FramingSettings, error: ConfigError) -> Problem:
    """Return the problem of a framing that cannot be created."""
    is_crc = not isinstance(framing, str) and "CRC" in error.what
    return ("framing.crc" if is_crc else "framing", error.what, error.fix)


def name_of(framing: str | FramingSettings) -> str:
    return framing.strip().lower() if isinstance(framing, str) else framing.framing


def short_name_of(framing: str | FramingSettings) -> str:
    """Return the short name of these settings but for the longest packet, "" where none has one."""
    if isinstance(framing, str):
        return framing
    longest = framing.max_payload
    return next((n for n in SHORT_NAMES if replace(parse(n), max_payload=longest) == framing), "")


def in_full(framing: str | FramingSettings) -> dict[str, Any]:
    """Return all settings of the framing by value, with the CRC as its polynomial."""
    settings = parse(framing) if isinstance(framing, str) else framing
    values = asdict(settings)
    if values.get("crc", crc.NONE) != crc.NONE:
        named = crc.named(values["crc"])
        values["crc"] = (
            f"poly={named.poly:#x},init={named.start ^ named.xor_out:#x},"
            f"rev={str(named.reversed).lower()},xorOut={named.xor_out:#x}"
        )
    return values
