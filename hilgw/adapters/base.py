"""What an adapter is: settings, a sans-I/O session, limits.

An adapter turns packets into hardware bytes and hardware bytes into events. It never opens a
port, never reads a clock, never retries: the station around it owns the queue, the window of
outstanding frames and the ledger, the supervisor above owns reconnection. `now` is integer
nanoseconds of a monotonic clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from hilgw.errors import ConfigError, HilgwError
from hilgw.medium.packet import Packet
from hilgw.settings import MockSpec as MockSpec
from hilgw.settings import setting
from hilgw.transports.base import RS485_MODES, LineSettings

# --- settings every adapter shares ---------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class UsbId:
    """A USB serial port by its descriptors instead of its path."""

    written_as: ClassVar[str] = "usb"  # in the file: port: {usb: {vid: ...}}

    vid: int = setting("USB vendor id", ge=0, le=0xFFFF, example=0x0403)
    pid: int = setting("USB product id", ge=0, le=0xFFFF, example=0x6015)
    serial: str = setting("USB serial number; empty: any", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class StationSettings:
    """What the station around every adapter needs, whatever its kind."""

    port: str | UsbId = setting(
        "device path (a by-id link is best), or the USB ids",
        example="/dev/serial/by-id/usb-Digi_XBee-if00-port0",
    )
    baudRate: int = setting("UART rate", 9600, ge=50, le=4_000_000, unit="bit/s")
    byteSize: int | None = setting(
        "cost of one byte on the wire, start + data + parity + stop; "
        "not set: from the line settings",
        None,
        ge=8,
        le=12,
        unit="bit",
    )
    bufferSize: int = setting("send queue; -1: 16 MiB", 4096, ge=0, also=(-1,), unit="byte")
    parity: str = setting("parity of the UART line", "none", choices=("none", "even", "odd"))
    stop_bits: int = setting("stop bits of the UART line", 1, choices=(1, 2))
    rtscts: bool = setting("hardware flow control by RTS and CTS", False)
    rs485: str = setting(
        "the driver switches an RS-485 transceiver by RTS: on (half-duplex) or off "
        "(half-duplex-inverted) while it sends",
        "none",
        choices=RS485_MODES,
    )
    dtr: bool | None = setting("DTR on opening; not set: left alone", None)
    rts: bool | None = setting("RTS on opening; not set: left alone", None)
    channel: int = setting("Webots channel the hardware stands for", 0, ge=0)
    air: str = setting("the space its signals share; default: one per kind", "", refers="air")
    relay: bool = setting("pass packets that came from another air", False)
    position: tuple[float, float, float] | None = setting("x, y, z", None, unit="m")
    rotation: tuple[float, float, float, float] | None = setting(
        "Webots rotation: axis x, y, z and angle", None, unit="rad"
    )
    attached_to: str | None = setting(
        "robot it moves with; position and rotation are on that robot", None, refers="robot"
    )
    rssi_at_1m_dbm: float = setting("RSSI measured at 1 m", -40.0, unit="dBm")
    sources: dict[str, str] = setting(
        "source address -> robot here that is behind it", default_factory=dict, refers="robot"
    )


def line_of(common: StationSettings) -> tuple[LineSettings, str]:
    """The UART line these settings ask for, and a notice for the user ("" if none).

    byteSize is the cost of one byte on the wire: 10 = 8N1, 11 = 8E1, 8O1 or 8N2, 12 = 8E2 or 8O2.
    8, Webots' default, pasted from a world file, means 8N1. ConfigError when it contradicts
    parity and stop bits, or when RTS is asked for two things.
    """
    line = LineSettings(
        baudRate=common.baudRate,
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
            f"RTS cannot serve both rs485 and {other}",
            where="rs485",
            fix=f"leave one of them out: rs485 or {other}",
        )
    if common.byteSize is None or common.byteSize == line.byteSize:
        return line, ""
    if common.byteSize == 8 and line.byteSize == 10:
        return line, "byteSize 8 taken as 8N1: the wire takes 10 bits per byte"
    raise ConfigError(
        f"byteSize {common.byteSize} contradicts the line: 8 data bits, parity {common.parity}, "
        f"{common.stop_bits} stop make {line.byteSize}",
        where="byteSize",
        fix=f"write {line.byteSize}, leave it out, or change parity and stop_bits",
    )


# --- events an adapter reports, in the order they happened -------------------------------------


@dataclass(frozen=True, slots=True)
class Write:
    """Send these bytes to the hardware now (handshake, answers; not packets)."""

    data: bytes


@dataclass(frozen=True, slots=True)
class SetLine:
    """Switch a modem line of the port now: "dtr" or "rts", on or off."""

    name: str
    on: bool


@dataclass(frozen=True, slots=True)
class Ready:
    """The hardware is found, checked and set: packets may pass. `identity` is said to the user.

    addresses: the module's own source addresses, to recognise our own echo.
    """

    identity: str
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotReady:
    """The session broke (module reset): no packets until the next Ready. The port stays open.

    Frames outstanding at that moment are reported as Refused before it.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The session cannot go on: MismatchError (stay down, exit 6 at start) or PeerError (retry)."""

    error: HilgwError


@dataclass(frozen=True, slots=True)
class Received:
    """One packet came in from the hardware. rssi_uncertain: its RSSI was asked for afterwards,
    so it is of the last hop, and possibly of another packet."""

    data: bytes
    channel: int
    rssi_dbm: float | None = None
    address: str | None = None
    rssi_uncertain: bool = False


@dataclass(frozen=True, slots=True)
class Dropped:
    """Something came in from the hardware that cannot become a packet: counted by this reason.

    count: how many of them, all of one reason.
    """

    reason: str
    text: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Delivered:
    """The frame with this token reached its end: acknowledged, or sent where nothing is."""

    token: int


@dataclass(frozen=True, slots=True)
class Refused:
    """The frame with this token is lost, for this reason (a word for the ledger)."""

    token: int
    reason: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A line for the user. `once` lines are said a single time per station."""

    text: str
    once: bool = True


# --- events of a search of the module's network ----


@dataclass(frozen=True, slots=True)
class Node:
    """Another module of the network. network: its short address, role: its part; "" where there
    is none. rssi_dbm: how loud it was heard, None where that is not said."""

    address: str
    network: str = ""
    name: str = ""
    role: str = ""
    rssi_dbm: int | None = None


@dataclass(frozen=True, slots=True)
class SearchEnded:
    """All nodes that answered in time were named. problem: why not; "" when all is well."""

    problem: str = ""


@dataclass(frozen=True, slots=True)
class RemoteAnswer:
    """The answer of another module to a command. address: of that module; command: the AT command;
    asked: the address the command was sent to. problem: "" when the command was carried out."""

    address: str
    command: str
    value: bytes = b""
    problem: str = ""
    asked: str = field(default="", compare=False)


Event = (
    Write
    | SetLine
    | Ready
    | NotReady
    | Failed
    | Received
    | Dropped
    | Delivered
    | Refused
    | Notice
    | Node
    | SearchEnded
    | RemoteAnswer
)

# --- answers to send() --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Transmission:
    """Bytes for the wire. token: named again by Delivered or Refused; None when the hardware
    gives no answer (the station then counts delivery by its own line's reckoning).

    air_time_ns: how long it takes in the air, where that is long: so late may another module of
    ours hear it, and know it for our own."""

    data: bytes
    token: int | None = None
    air_time_ns: int = 0


@dataclass(frozen=True, slots=True)
class CannotSend:
    """This packet can never go out, for this reason (a word for the ledger) and in words."""

    reason: str
    text: str


NOT_YET = None  # the adapter cannot take a packet now; ask again after its next event or deadline

# --- limits and mapping -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mapped:
    """How one Webots field maps to the hardware, for the generated page and `hilgw adapters`."""

    field: str
    maps: str  # "exact", "approximate", "cannot"
    how: str


@dataclass(frozen=True, slots=True)
class Limits:
    """What the hardware can carry. payload: bytes; window: frames outstanding at once."""

    payload: int
    window: int
    channels: str
    rates: tuple[int, ...]
    mapping: tuple[Mapped, ...] = ()
    notes: tuple[str, ...] = ()  # further paragraphs of the adapter's page, Markdown


@dataclass(frozen=True, slots=True)
class Probe:
    """How `hilgw scan` looks for this hardware: settings with which a handshake only reads, and
    the rates worth trying, likeliest first. usb: (vid, pid) pairs it can be behind; (): any."""

    settings: Any
    rates: tuple[int, ...]
    usb: tuple[tuple[int, int], ...] = ()


class AdapterSession(Protocol):
    """One adapter's protocol. `channels`: the medium channels it listens to, None = all."""

    channels: frozenset[int] | None

    def open(self, now: int) -> list[Event]:
        """The port is up: begin the handshake."""

    def close(self) -> list[Event]:
        """The port is gone: forget all, report outstanding frames as Refused 'down'."""

    def receive(self, data: bytes, now: int) -> list[Event]:
        """Bytes from the hardware, in any chunks."""

    def send(self, packet: Packet, now: int) -> Transmission | CannotSend | None:
        """A packet to go out; NOT_YET when the session cannot take one now."""

    def next_deadline(self) -> int | None:
        """When `expire` wants to be called, or None."""

    def expire(self, now: int) -> list[Event]:
        """The deadline has come (calls before it are harmless)."""

    def describe(self, frame: bytes) -> str:
        """A frame in words, for people; never raises."""


@runtime_checkable
class NetworkSession(AdapterSession, Protocol):
    """A session that can also search the network of its module and configure other modules."""

    def discover(self, now: int) -> list[Event]:
        """Starts a search: a Node for each module that answers, then SearchEnded. No events when
        the session is not ready or a search is in progress."""

    def command(self, address: str, name: str, value: bytes, now: int) -> list[Event]:
        """Sends an AT command to the module at `address` (16 or 4 hexadecimal digits); an empty
        value reads. A RemoteAnswer follows. No events when the session is not ready."""


Problem = tuple[str, str, str]  # path below the adapter, what is wrong, what to do
SettingsClass = type[Any]


class Adapter(Protocol):
    """What `hilgw.adapters.NAME` exports as `ADAPTER`.

    Hardware that can be found without being changed has `probes: ClassVar[tuple[Probe, ...]]`
    too.
    """

    kind: ClassVar[str]
    type: ClassVar[str]  # Webots' Emitter.type this hardware is
    summary: ClassVar[str]
    Settings: ClassVar[SettingsClass]
    limits: ClassVar[Limits]

    def check(self, settings: Any, common: Any) -> list[Problem]:
        """What the limits of single settings cannot say."""

    def session(self, settings: Any, common: Any) -> AdapterSession:
        """A session for these settings; `common` is the StationSettings all adapters share."""

    def mock(self, settings: Any, common: Any) -> MockSpec:
        """The mock for `backend: mock`."""
