"""Settings of a USB IR Toy, and the checks that take more than one field."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from hilgw import framing as framings
from hilgw.adapters._common.framing_settings import FramingSettings, framing_problem, patient
from hilgw.adapters.declaration import Framed, HasMapping, HasTable, Problem, StationSettings
from hilgw.errors import ConfigError
from hilgw.framing.length import LengthSettings
from hilgw.protocols.ir import CODECS, Traits
from hilgw.protocols.ir.base import WHOLE_FRAME
from hilgw.protocols.ir.payload import codes_per_byte
from hilgw.settings import setting

RAW = "raw"
RAW_CARRIER_HZ = 38_000
NO_FRAMING = "none"
SLOWEST_BAUD = 57_600
LOWEST_HZ, HIGHEST_HZ = 15_000, 500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OneChannel:
    """Mapping of all packets to one channel, `channel`.

    A packet is a whole code: its address, then its command. With `framing` a packet is bytes, and
    `channel` is the address.
    """

    by: Literal["channel"] = "channel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Address and carrier of one Webots channel."""

    address: int = setting("address of the codes", ge=0, example=4, le=65_535)
    carrier_hz: int | None = setting(
        "carrier of the codes; not set: that of the adapter",
        None,
        ge=LOWEST_HZ,
        le=HIGHEST_HZ,
        unit="Hz",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ByAddress(HasTable):
    """Each Webots channel is an address, and a packet is only the command.

    With `framing` a packet is bytes. Codes of other addresses are dropped.
    """

    by: Literal["address"] = "address"
    table: dict[int, Target] = setting(
        "Webots channel -> address and carrier; empty: the channel is the address",
        default_factory=dict,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class IrToySettings(Framed, HasMapping):
    """Settings of an IR Toy, besides those of every adapter."""

    code: str = setting("code of the packets; raw: bare timings", "nec", choices=(*CODECS, RAW))
    mapping: OneChannel | ByAddress = setting(
        "how a Webots channel maps to infra-red", OneChannel()
    )
    framing: str | FramingSettings = setting(
        "none: a packet is one code; else packets are bytes in the commands of successive codes, "
        "separated by this framing (docs/framing.md)",
        NO_FRAMING,
        example="cobs-crc16",
    )
    carrier_hz: int | None = setting(
        "carrier; not set: that of the code (raw: 38000)",
        None,
        ge=LOWEST_HZ,
        le=HIGHEST_HZ,
        unit="Hz",
    )
    sends: int | None = setting(
        "frames sent for each code, as by a held key; not set: the least that remote controls "
        "of this code send (SIRC 3, others 1)",
        None,
        ge=1,
        le=10,
    )
    held_keys: str = setting(
        "a held key of a remote control is one packet (repeats are counted), or one packet per "
        "frame",
        "once",
        choices=("once", "every"),
    )
    raw_gap_ms: float = setting(
        "time without light that ends a packet of code raw", 8.0, ge=1, le=1000, unit="ms"
    )
    mock: dict[str, Any] = setting(
        "parameters of the mock IR Toy (`hilgw mock ir_toy --list`)",
        default_factory=dict,
    )

    @property
    def is_framed(self) -> bool:
        """True if a packet may take several bursts."""
        return self.framing != NO_FRAMING


def traits_of(settings: IrToySettings) -> Traits | None:
    """Return the code's traits; None for raw."""
    return None if settings.code == RAW else CODECS[settings.code].traits


def carrier_of(settings: IrToySettings) -> int:
    traits = traits_of(settings)
    return settings.carrier_hz or (traits.carrier_hz if traits else RAW_CARRIER_HZ)


BYTES_APART = 3  # the shortest timeout of a length framing, in times of a byte


def byte_ms(settings: IrToySettings, traits: Traits) -> float:
    """Return duration of one byte in this code, or of a repeated byte where that takes longer."""
    codes = codes_per_byte(traits.command_bits)
    code_us = (settings.sends or traits.sends) * traits.period_us
    if codes == 1 and traits.held == WHOLE_FRAME:
        code_us += traits.repeat_window_us
    return codes * code_us / 1000


def check(settings: IrToySettings, common: StationSettings) -> Iterator[Problem]:
    """Yield the problems between fields: path below the adapter, message, fix."""
    if common.baudRate < SLOWEST_BAUD:
        problem = (
            f"{common.baudRate} is slower than the infra-red code: an IR Toy on USB accepts any "
            "rate, but the gateway paces its packets by this one"
        )
        yield "baudRate", problem, "use 115200"
    traits = traits_of(settings)
    if traits is None:
        yield from _check_raw(settings)
        return
    if settings.is_framed:
        yield from _check_framing(settings, traits)
        if isinstance(settings.mapping, OneChannel):
            yield from _fits("channel", common.channel, traits)
    if isinstance(settings.mapping, ByAddress):
        yield from _check_table(settings.mapping, traits)


def _check_raw(settings: IrToySettings) -> Iterator[Problem]:
    if settings.is_framed:
        yield "framing", "raw timings carry no bytes", "use none, or another code"
    if isinstance(settings.mapping, ByAddress):
        yield "mapping", "raw timings have no address", "use {by: channel}, or another code"


def _check_framing(settings: IrToySettings, traits: Traits) -> list[Problem]:
    try:
        parsed = patient(settings.framing, BYTES_APART * byte_ms(settings, traits))
        framing = framings.create(parsed)
    except ConfigError as error:
        return [framing_problem(settings.framing, error)]
    byte, least = byte_ms(settings, traits), 2 * byte_ms(settings, traits)
    if 0 < framing.pause_ns < least * 1e6:
        problem = f"a gap of {framing.pause_ns / 1e6:g} ms ends a packet between two of its bytes"
    elif isinstance(parsed, LengthSettings) and parsed.timeout_ms < least:
        problem = f"the timeout of {parsed.timeout_ms:g} ms ends a packet between two of its bytes"
    else:
        return []
    problem += f": a byte takes {byte:g} ms in {traits.title}"
    return [("framing", problem, f"use {least:g} ms or more")]


def _check_table(mapping: ByAddress, traits: Traits) -> Iterator[Problem]:
    seen: dict[int, int] = {}
    for channel, target in mapping.table.items():
        path = f"mapping.table.{channel}"
        if channel < 0:
            yield path, f"{channel} is not a valid channel", "use 0 or more"
        yield from _fits(f"{path}.address", target.address, traits)
        if target.address in seen:
            problem = f"channel {seen[target.address]} has address {target.address} too"
            yield f"{path}.address", problem, "use an address only once"
        seen.setdefault(target.address, channel)


def _fits(path: str, address: int, traits: Traits) -> list[Problem]:
    last = (1 << traits.address_bits) - 1
    if 0 <= address <= last:
        return []
    return [(path, f"{address} is not a valid address of {traits.title}", f"use 0 to {last}")]
