"""The adapter interface: settings, events of a session, limits, and the protocols themselves.

An adapter turns packets into hardware bytes and hardware bytes into events. It never opens a
port, never reads a clock, never reconnects. The station owns the transmit queue and the ledger,
the supervisor owns reconnection. `now` is integer nanoseconds of a monotonic clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from hilgw.errors import ConfigError, HilgwError
from hilgw.medium.packet import Packet
from hilgw.reasons import DroppedReason, RefusedReason
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
    parity: str = setting("parity of the UART line", "none", choices=("none", "even", "odd"))
    stop_bits: int = setting("stop bits of the UART line", 1, choices=(1, 2))
    rtscts: bool = setting("hardware flow control by RTS and CTS", False)
    rs485: str = setting(
        "RS-485: the driver switches the transceiver by RTS, which is on (half-duplex) or off "
        "(half-duplex-inverted) while it sends",
        "none",
        choices=RS485_MODES,
    )
    dtr: bool | None = setting("DTR on opening; not set: unchanged", None)
    rts: bool | None = setting("RTS on opening; not set: unchanged", None)
    channel: int = setting("Webots channel of the hardware", 0, ge=0, le=2_147_483_647)
    air: str = setting(
        "air (space) that its signals share with other stations; default: one air per kind",
        "",
        refers="air",
    )
    relay: bool = setting("send packets that came from another air, too", False)
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


def line_of(common: StationSettings) -> tuple[LineSettings, str]:
    """The UART line of these settings, and a notice for the user ("" if none).

    byteSize is the number of bits on the wire per byte: 10 = 8N1, 11 = 8E1, 8O1 or 8N2,
    12 = 8E2 or 8O2. 8, Webots' default, pasted from a world file, means 8N1. ConfigError when
    byteSize contradicts parity and stop bits, or when RTS has two uses.
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
            f"RTS cannot be used for both rs485 and {other}",
            where="rs485",
            fix=f"remove one of them: rs485 or {other}",
        )
    if common.byteSize is None or common.byteSize == line.byteSize:
        return line, ""
    if common.byteSize == 8 and line.byteSize == 10:
        return line, "byteSize 8 means 8N1: 10 bits on the wire per byte"
    raise ConfigError(
        f"byteSize {common.byteSize} contradicts the line: 8 data bits, parity {common.parity} "
        f"and {common.stop_bits} stop bits make {line.byteSize}",
        where="byteSize",
        fix=f"write {line.byteSize}, remove it, or change parity and stop_bits",
    )


# --- events of a session, in the order they happened ----------------------------------------------


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
    """The hardware is found, checked and configured: packets may pass.

    identity: the hardware, for the user. addresses: the module's own source addresses, by which
    the gateway recognises its own packets.
    """

    identity: str
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotReady:
    """The session was interrupted (module reset): no packets until the next Ready.

    The port stays open. Frames outstanding at that moment are reported as Refused first.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The session has failed: MismatchError (stay down, exit 6 at start) or PeerError (retry)."""

    error: HilgwError


@dataclass(frozen=True, slots=True)
class Received:
    """One packet came in from the hardware. rssi_uncertain: the RSSI was read afterwards, so it
    is that of the last hop and may be another packet's."""

    data: bytes
    channel: int
    rssi_dbm: float | None = None
    address: str | None = None
    rssi_uncertain: bool = False


@dataclass(frozen=True, slots=True)
class Dropped:
    """Received data that is not a packet, counted by this reason. count: how many."""

    reason: str
    text: str
    count: int = 1

    def __post_init__(self) -> None:
        DroppedReason.check(self.reason)


@dataclass(frozen=True, slots=True)
class Delivered:
    """The frame with this token was acknowledged, or sent where there is no acknowledgement."""

    token: int


@dataclass(frozen=True, slots=True)
class Refused:
    """The frame with this token is lost, for this reason (a word for the ledger)."""

    token: int
    reason: str

    def __post_init__(self) -> None:
        RefusedReason.check(self.reason)


@dataclass(frozen=True, slots=True)
class Notice:
    """A line for the user. once: the station shows the same line a single time."""

    text: str
    once: bool = True


# --- events of a network search and of remote commands --------------------------------------------


@dataclass(frozen=True, slots=True)
class Node:
    """Another module of the network. network: its short address, role: its role there; "" where
    there is none. rssi_dbm: its RSSI, None where the answer has none."""

    address: str
    network: str = ""
    name: str = ""
    role: str = ""
    rssi_dbm: int | None = None


@dataclass(frozen=True, slots=True)
class SearchEnded:
    """The search is over; each node that answered in time was reported. problem: why it failed,
    "" for success."""

    problem: str = ""


@dataclass(frozen=True, slots=True)
class RemoteAnswer:
    """Another module's answer to a command. address: of that module; command: the AT command;
    asked: the address the command was sent to. problem: why it failed, "" for success."""

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
    """Bytes for the wire. token: repeated by Delivered or Refused; None when the hardware does
    not acknowledge (the station then counts the packet as delivered when the line has sent it).

    air_time_ns: time on the air, where it is long. Another module of this gateway may receive the
    packet that late and still recognises it as our own."""

    data: bytes
    token: int | None = None
    air_time_ns: int = 0


@dataclass(frozen=True, slots=True)
class CannotSend:
    """This packet can never be sent. reason: a word for the ledger; text: for the user."""

    reason: str
    text: str

    def __post_init__(self) -> None:
        RefusedReason.check(self.reason)


NOT_YET = None  # the adapter cannot take a packet now; try again after its next event or deadline

# --- limits and mapping -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mapped:
    """How one Webots field maps to the hardware, for the generated page and `hilgw adapters`."""

    field: str
    maps: str  # "exact", "approximate", "cannot"
    how: str


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the hardware. payload: bytes of one packet; window: frames outstanding at once."""

    payload: int
    window: int
    channels: str
    rates: tuple[int, ...]
    mapping: tuple[Mapped, ...] = ()
    notes: tuple[str, ...] = ()  # further paragraphs of the adapter's page, Markdown


@dataclass(frozen=True, slots=True)
class Probe:
    """How `hilgw scan` finds this hardware: settings with which the handshake only reads, and the
    rates to try, most likely first. usb: (vid, pid) pairs of its USB port; (): any."""

    settings: Any
    rates: tuple[int, ...]
    usb: tuple[tuple[int, int], ...] = ()


class AdapterSession(Protocol):
    """The protocol of one piece of hardware, sans-I/O.

    channels: the medium channels whose packets it sends, None: all.
    """

    channels: frozenset[int] | None

    def open(self, now: int) -> list[Event]:
        """The port is open: begin the handshake."""

    def close(self) -> list[Event]:
        """The port is closed: reset, report outstanding frames as Refused 'down'."""

    def receive(self, data: bytes, now: int) -> list[Event]:
        """Bytes from the hardware, in any chunks."""

    def send(self, packet: Packet, now: int) -> Transmission | CannotSend | None:
        """One packet to send; NOT_YET when the session cannot take one now."""

    def next_deadline(self) -> int | None:
        """When `expire` wants to be called, or None."""

    def expire(self, now: int) -> list[Event]:
        """The deadline has come (calls before it are harmless)."""

    def describe(self, frame: bytes) -> str:
        """A frame as text for the user; never raises."""


@runtime_checkable
class NetworkSession(AdapterSession, Protocol):
    """A session that can also search the network of its module and configure other modules."""

    def discover(self, now: int) -> list[Event]:
        """Start a search: a Node for each module that answers, then SearchEnded. No events when
        the session is not ready or a search is in progress."""

    def command(self, address: str, name: str, value: bytes, now: int) -> list[Event]:
        """Send an AT command to the module at `address` (16 or 4 hexadecimal digits); an empty
        value reads. A RemoteAnswer follows. No events when the session is not ready."""


@runtime_checkable
class SearchableAdapter(Protocol):
    """An `Adapter` of hardware that `hilgw scan` can find without changing its settings."""

    kind: ClassVar[str]
    probes: ClassVar[tuple[Probe, ...]]

    def session(self, settings: Any, common: Any) -> AdapterSession:
        """As in `Adapter`."""


Problem = tuple[str, str, str]  # path below the adapter, message, fix
SettingsClass = type[Any]


class Adapter(Protocol):
    """`hilgw.adapters.NAME` exports one as `ADAPTER`."""

    kind: ClassVar[str]
    type: ClassVar[str]  # Webots' Emitter.type this hardware is
    summary: ClassVar[str]
    Settings: ClassVar[SettingsClass]
    limits: ClassVar[Limits]

    def check(self, settings: Any, common: Any) -> list[Problem]:
        """Problems between fields; the limits of single fields are checked elsewhere."""

    def session(self, settings: Any, common: Any) -> AdapterSession:
        """A session for these settings; common: the StationSettings of this adapter."""

    def mock(self, settings: Any, common: Any) -> MockSpec:
        """The mock for `backend: mock`."""
