"""What an adapter is: settings, a sans-I/O session, limits.

An adapter turns packets into hardware bytes and hardware bytes into events. It never opens a
port, never reads a clock, never retries: the station around it owns the queue, the window of
outstanding frames and the ledger, the supervisor above owns reconnection. `now` is integer
nanoseconds of a monotonic clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from hilgw.adapters._station import StationSettings as StationSettings
from hilgw.adapters._station import UsbId as UsbId
from hilgw.adapters._station import line_of as line_of
from hilgw.adapters._survey import Found
from hilgw.errors import HilgwError
from hilgw.medium.packet import Packet
from hilgw.settings import MockSpec as MockSpec

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
    | Found
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
