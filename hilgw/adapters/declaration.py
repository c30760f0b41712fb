"""Declarations of an adapter, without its sessions: settings, limits, mapping, and how it is found.

Checking a configuration needs this part of the adapter interface alone; `base` has the rest.
"""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

from hilgw.errors import ConfigError
from hilgw.records import dataclass
from hilgw.settings import MockSpec as MockSpec, Problem as Problem, boot_setting, setting
from hilgw.transports.base import HELD_BACK, RS485_MODES, LineSettings

SettingsClass = type[Any]

# --- settings every adapter shares ----------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class UsbId:
    """A USB serial port by its descriptors instead of its path."""

    written_as: ClassVar[str] = "usb"  # in the file: port: {usb: {vid: ...}}
    in_editors: ClassVar[dict[str, Any]] = {  # more of its JSON Schema
        "if": {"not": {"required": ["location"]}},
        "then": {"required": ["vid", "pid"]},
    }

    vid: int | None = setting("USB vendor id", None, ge=0, le=0xFFFF, example=0x0403)
    pid: int | None = setting("USB product id", None, ge=0, le=0xFFFF, example=0x6015)
    serial: str = setting("USB serial number; empty: any", "")
    location: str = setting(
        "USB socket, as `hilgw ports` shows it: for devices without serial numbers; empty: any. "
        "Alone it needs no vid and pid",
        "",
        pattern=r"([0-9]+-[0-9]+(\.[0-9]+)*(:[0-9]+\.[0-9]+)?)?",
        example="1-1.3",
    )

    def __str__(self) -> str:
        ids = "" if self.vid is None or self.pid is None else f"{self.vid:04x}:{self.pid:04x}"
        return " ".join(filter(None, ("USB", ids, self.serial, self.location)))


NETWORK_GAP_NS = 10_000_000_000  # longer than a connection without acknowledgements lives


@dataclass(frozen=True, slots=True, kw_only=True)
class StationSettings:
    """Settings of every adapter, whatever its kind."""

    port: str | UsbId = setting(
        "device path (a by-id link is best), or the USB ids",
        example="/dev/serial/by-id/usb-Digi_XBee-if00-port0",
    )
    baudRate: int = setting("UART rate", 9600, ge=50, le=4_000_000, unit="bit/s")
    byteSize: int | None = setting(
        "bits on the wire per byte: start + data + parity + stop; "
        "not set: from parity and stop_bits",
        None,
        ge=8,
        le=12,
        unit="bit",
    )
    bufferSize: int = setting(
        "transmit queue; -1: 16 MiB", 4096, ge=0, also=(-1,), unit="byte", le=2_147_483_647
    )
    data_bits: int = setting(
        "data bits of the UART line; 7 only where the hardware is a line of text", 8, choices=(7, 8)
    )
    parity: str = setting("parity of the UART line", "none", choices=("none", "even", "odd"))
    stop_bits: int = setting("stop bits of the UART line", 1, choices=(1, 2))
    rtscts: bool = setting("hardware flow control by RTS and CTS", False)
    rs485: str = setting(
        "RS-485: the driver switches the transceiver by RTS, which is on (half-duplex) or off "
        "(half-duplex-inverted) while it sends",
        "none",
        choices=RS485_MODES,
    )
    dtr: bool | None = setting("DTR after opening; not set: on, as Linux raises it", None)
    rts: bool | None = setting("RTS after opening; not set: on, as Linux raises it", None)
    boot_s: float = boot_setting()
    channel: int = setting("Webots channel of the hardware", 0, ge=0, le=2_147_483_647)
    air: str = setting(
        "air (space) that its signals share with other stations; default: one air per kind",
        "",
        refers="air",
    )
    relay: bool = setting("send packets that came from another air, too", False)
    own_echo: str = setting(
        "packets that another module of this gateway sent in the same air: drop; keep: deliver "
        "them to Receivers. In no case are they sent again",
        "drop",
        choices=("drop", "keep"),
    )
    position: tuple[float, float, float] | None = setting(
        "x, y, z", None, unit="m", ge=-1_000_000_000, le=1_000_000_000
    )
    rotation: tuple[float, float, float, float] | None = setting(
        "Webots rotation: axis x, y, z and angle",
        None,
        unit="rad",
        ge=-1_000_000_000,
        le=1_000_000_000,
    )
    attached_to: str | None = setting(
        "robot it moves with; position and rotation are relative to that robot",
        None,
        refers="robot",
    )
    rssi_at_1m_dbm: float = setting("RSSI measured at 1 m", -40.0, unit="dBm", ge=-200, le=100)
    sources: dict[str, str] = setting(
        "source address -> robot of this configuration that sends from it",
        default_factory=dict,
        refers="robot",
    )

    def gap_ns(self, line_ns: int) -> int:
        """Return how long a pause within a frame may be.

        `line_ns`, more on a slow line, which holds bytes back, and on TCP, where a lost segment
        delays the rest of the frame.
        """
        held_ns = line_of(self)[0].duration_ns(HELD_BACK)
        return max(line_ns, NETWORK_GAP_NS if "://" in str(self.port) else held_ns)


class Framed:
    """Base of settings with a `framing`: how packets are separated on the line."""

    __slots__ = ()
    framing: Any

    @property
    def is_framed(self) -> bool:
        """True if the framing is in use."""
        return True


class HasMapping:
    """Base of settings with a `mapping`: how Webots' channels map to the hardware."""

    __slots__ = ()
    mapping: Any


class HasTable:
    """Base of a mapping with a `table`: Webots channel -> address."""

    __slots__ = ()
    table: Any


def line_of(common: StationSettings) -> tuple[LineSettings, str]:
    """Return the UART line of these settings, and a notice for the user ("" if none).

    byteSize is the number of bits on the wire per byte: 10 = 8N1, 7E1 or 7O1, 11 = 8E1, 8O1 or
    8N2, 12 = 8E2 or 8O2. 8, Webots' default, pasted from a world file, means 8N1. Raises
    ConfigError when byteSize contradicts parity and stop bits, or when RTS has two uses.
    """
    line = LineSettings(
        baudRate=common.baudRate,
        data_bits=common.data_bits,
        parity=common.parity[0].upper(),
        stop_bits=common.stop_bits,
        rtscts=common.rtscts,
        dtr=common.dtr,
        rts=common.rts,
        rs485=common.rs485,
    )
    if common.rs485 != "none" and (common.rtscts or common.rts is not None):
        other = "rtscts" if common.rtscts else "rts"
        raise ConfigError(
            f"RTS cannot be used for both rs485 and {other}",
            where="rs485",
            fix=f"remove one of them: rs485 or {other}",
        )
    if common.byteSize is None or common.byteSize == line.byteSize:
        return line, ""
    if common.byteSize == 8 and line.byteSize == 10:
        return line, "byteSize 8 means 8N1: 10 bits on the wire per byte"
    raise ConfigError(
        f"byteSize {common.byteSize} contradicts the line: {common.data_bits} data bits, parity "
        f"{common.parity} and {common.stop_bits} stop bits make {line.byteSize}",
        where="byteSize",
        fix=f"write {line.byteSize}, remove it, or change data_bits, parity and stop_bits",
    )


# --- limits and mapping ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mapped:
    """Mapping of one Webots field to the hardware, for the generated page and `hilgw adapters`."""

    field: str
    maps: str  # "exact", "approximate", "cannot"
    how: str


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the hardware.

    payload: bytes of one packet; window: frames outstanding at once. silence: what to check where
    packets go out and none comes back; "": the line itself. answers: it acknowledges each packet,
    so that silence is noticed without a Receiver. data_bits: those that its line may have.
    """

    payload: int
    window: int
    channels: str
    rates: tuple[int, ...]
    mapping: tuple[Mapped, ...] = ()
    silence: str = ""
    answers: bool = False
    data_bits: tuple[int, ...] = (8,)
    notes: tuple[str, ...] = ()  # further paragraphs of the adapter's page, Markdown


@dataclass(frozen=True, slots=True)
class Probe:
    """Probe of `hilgw scan` for this hardware.

    Settings with which the handshake only reads, and the rates to try, most likely first. usb:
    (vid, pid) pairs of its USB port; (): any. variant: how it differs from the other probes of the
    adapter, in words.
    """

    settings: Any
    rates: tuple[int, ...]
    usb: tuple[tuple[int, int], ...] = ()
    variant: str = ""


# --- how Webots fields map, where it is the same for several kinds of hardware --------------------

RADIO = Mapped("type", "exact", "radio")
INFRA_RED = Mapped("type", "exact", "infra-red")
STRENGTH_FROM_POSES = Mapped(
    "signalStrength", "cannot", "1/distance^2 when both poses are known, else NaN"
)
DIRECTION_FROM_POSES = Mapped("direction", "cannot", "only from poses, when both are known")
NOISE = Mapped(
    "signalStrengthNoise, directionNoise", "exact", "added where the simulated device receives"
)
ALL_AROUND = Mapped("aperture", "cannot", "a radio sends and receives in all directions")
BYTE_SIZE = Mapped(
    "byteSize",
    "exact",
    "bits on the wire per byte: 10 is 8N1 (7E1 with data_bits: 7), 11 is 8E1, 8O1 or 8N2, 12 is "
    "8E2 or 8O2; 8 means 8N1",
)
ALLOWED_CHANNELS = Mapped(
    "allowedChannels", "approximate", "the simulated device obeys it; the radio has no such list"
)

# --- baud rates that a module does not support ----------------------------------------------------

NEAR = 0.02  # of a rate: closer than any two rates in use


def near_rate(baudRate: int, rates: Sequence[int]) -> int | None:
    """Return the rate of the table that a mistyped rate probably means; None if none is near."""
    nearest = min(rates, key=lambda rate: abs(rate - baudRate))
    return nearest if 0 < abs(nearest - baudRate) <= NEAR * nearest else None


def unsupported(baudRate: int, rates: Sequence[int], more: str = "") -> Problem:
    """Return the problem of a rate outside the module's table; it takes `more` besides."""
    near = near_rate(baudRate, rates)
    use = f"use {', '.join(map(str, rates))}{more}"
    fix = f"did you mean {near}?" if near is not None else use
    return "baudRate", f"the module does not support {baudRate} baud", fix


# --- the channel map: how Webots channels map to a line, or to the addresses of a module ----------

LAST_HEADER = 254


@dataclass(frozen=True, slots=True, kw_only=True)
class OneChannel:
    """Mapping of all packets to one Webots channel, `channel`; nothing is added to them."""

    by: Literal["channel"] = "channel"


@dataclass(frozen=True, slots=True, kw_only=True)
class ByDestination(HasTable):
    """Each Webots channel is one module's address.

    A packet from an address of the table comes in on its channel (the first one listed), a packet
    from any other address on `channel`. Packets on `channel`, when it is not in the table, go to
    `destination`.
    """

    by: Literal["destination"] = "destination"
    table: dict[int, str] = setting(
        "Webots channel -> address of the module", default_factory=dict, example={7: "50"}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHeader:
    """The first payload byte is the Webots channel, 0 to 254; 255 is -1."""

    by: Literal["header"] = "header"


def check_mapping(mapping: object, channel: int) -> Iterator[Problem]:
    """Yield the problems of the table, or of `channel` in a header byte."""
    if isinstance(mapping, ByDestination):
        if not mapping.table:
            yield "mapping.table", "has no destination", 'add one, such as {7: "50"}'
        for key in mapping.table:
            if key < 0:
                yield f"mapping.table.{key}", f"{key} is not a valid channel", "use 0 or more"
    elif isinstance(mapping, ByHeader) and channel > LAST_HEADER:
        yield "channel", f"{channel} does not fit into the header byte", "use 0 to 254"
