"""The adapter interface: events of a session, and the protocols; `declaration` has the settings.

An adapter turns packets into hardware bytes and hardware bytes into events. It never opens a
port, never reads a clock, never reconnects. The station owns the transmit queue and the ledger,
the supervisor owns reconnection. `now` is integer nanoseconds of a monotonic clock.
"""

from typing import Any, ClassVar, Protocol, runtime_checkable

from hilgw.adapters.declaration import (
    Limits as Limits,
    Mapped as Mapped,
    MockSpec as MockSpec,
    Probe as Probe,
    Problem as Problem,
    SettingsClass as SettingsClass,
    StationSettings as StationSettings,
    UsbId as UsbId,
    line_of as line_of,
)
from hilgw.errors import HilgwError
from hilgw.medium.packet import Packet
from hilgw.reasons import DroppedReason, RefusedReason
from hilgw.records import record

# --- events of a session, in the order they happened ----------------------------------------------


@record
class Write:
    """Send these bytes to the hardware now (handshake, answers; not packets)."""

    data: bytes


@record
class SetLine:
    """Switch a modem line of the port now: "dtr" or "rts", on or off."""

    name: str
    on: bool


@record
class Ready:
    """The hardware is found, checked and configured: packets may pass.

    identity: the hardware, for the user. addresses: the module's own source addresses, by which
    the gateway recognises its own packets.
    """

    identity: str
    addresses: tuple[str, ...] = ()


@record
class NotReady:
    """The session was interrupted (module reset): no packets until the next Ready.

    The port stays open. Frames outstanding at that moment are reported as Refused first.
    """

    reason: str


@record
class Failed:
    """The session has failed: MismatchError (stay down, exit 6 at start) or PeerError (retry)."""

    error: HilgwError


@record
class Received:
    """A packet that came in from the hardware.

    rssi_uncertain: the RSSI was read afterwards, so it is that of the last hop and may be another
    packet's.
    """

    data: bytes
    channel: int
    rssi_dbm: float | None = None
    address: str | None = None
    rssi_uncertain: bool = False


@record
class Dropped:
    """Received data that is not a packet, counted by this reason. count: how many."""

    reason: str
    text: str
    count: int = 1

    def __post_init__(self) -> None:
        DroppedReason.check(self.reason)


@record
class Delivered:
    """The frame with this token was acknowledged, or sent where there is no acknowledgement."""

    token: int


@record
class Refused:
    """The frame with this token is lost, for this reason (a word for the ledger)."""

    token: int
    reason: str

    def __post_init__(self) -> None:
        RefusedReason.check(self.reason)


@record
class Notice:
    """A line for the user. once: the station shows the same line a single time."""

    text: str
    once: bool = True


# --- events of a network search and of remote commands --------------------------------------------


@record
class Node:
    """Another module of the network.

    network: its short address, role: its role there; "" where there is none. rssi_dbm: its RSSI,
    None where the answer has none.
    """

    address: str
    network: str = ""
    name: str = ""
    role: str = ""
    rssi_dbm: int | None = None


@record
class SearchEnded:
    """The search is over; each node that answered in time was reported.

    problem: why it failed, "" for success.
    """

    problem: str = ""


@record
class RemoteAnswer:
    """Another module's answer to a command.

    address: of that module; command: the AT command; token: that of the request. problem: why it
    failed, "" for success.
    """

    address: str
    command: str
    value: bytes = b""
    problem: str = ""
    token: int = 0


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


@record
class Transmission:
    """Bytes for the wire.

    token: repeated by Delivered or Refused; None when the hardware does not acknowledge (the
    station then counts the packet as delivered when the line has sent it).

    air_time_ns: time on the air, where it is long. Another module of this gateway may receive the
    packet that late and still recognises it as our own.

    lost: without a token, the reason to count the packet as refused when the line has sent it: the
    other end probably does not read it.
    """

    data: bytes
    token: int | None = None
    air_time_ns: int = 0
    lost: RefusedReason | None = None


@record
class CannotSend:
    """Error: this packet can never be sent. reason: a word for the ledger; text: for the user."""

    reason: str
    text: str

    def __post_init__(self) -> None:
        RefusedReason.check(self.reason)


NOT_YET = None  # the adapter cannot take a packet now; try again after its next event or deadline


class AdapterSession(Protocol):
    """The protocol of one piece of hardware, sans-I/O.

    channels: the medium channels whose packets it sends, None: all.
    """

    channels: frozenset[int] | None

    def open(self, now: int) -> list[Event]:
        """Begin the handshake: the port is open."""

    def close(self) -> list[Event]:
        """Reset and report outstanding frames as Refused 'down': the port is closed."""

    def receive(self, data: bytes, now: int) -> list[Event]:
        """Process bytes from the hardware, in any chunks."""

    def send(self, packet: Packet, now: int) -> Transmission | CannotSend | None:
        """Begin to send one packet; NOT_YET when the session cannot take one now."""

    def next_deadline(self) -> int | None:
        """Return the time of the next call of `expire`, or None."""

    def expire(self, now: int) -> list[Event]:
        """Act on the deadline that has come; calls before it are harmless."""

    def describe(self, frame: bytes) -> str:
        """Return a frame as text for the user; never raises."""


@runtime_checkable
class AcknowledgedSession(Protocol):
    """A session that may know what arrived.

    acknowledges: a packet is delivered when the other module has it, not when it left.
    """

    acknowledges: bool


@runtime_checkable
class NetworkSession(AdapterSession, Protocol):
    """A session that can also search the network of its module and configure other modules."""

    def discover(self, now: int) -> list[Event]:
        """Start a search: a Node for each module that answers, then SearchEnded.

        No events when the session is not ready or a search is in progress.
        """

    def command(self, address: str, name: str, value: bytes, token: int, now: int) -> list[Event]:
        """Send an AT command to the module at `address` (16 or 4 hexadecimal digits).

        An empty value reads. A RemoteAnswer with this token follows. No events when the session is
        not ready.
        """


class Adapter(Protocol):
    """`hilgw.adapters.NAME` exports one as `ADAPTER`."""

    kind: ClassVar[str]
    type: ClassVar[str]  # Webots' Emitter.type this hardware is
    summary: ClassVar[str]
    Settings: ClassVar[SettingsClass]
    limits: ClassVar[Limits]

    def check(self, settings: Any, common: Any) -> list[Problem]:
        """Return the problems between fields; the limits of single fields are checked elsewhere."""

    def session(self, settings: Any, common: Any) -> AdapterSession:
        """Return a session for these settings; `common` are the StationSettings of this adapter."""

    def mock(self, settings: Any, common: Any) -> MockSpec:
        """Return the mock for `backend: mock`."""


@runtime_checkable
class SearchableAdapter(Adapter, Protocol):
    """An `Adapter` of hardware that `hilgw scan` can find without changing its settings."""

    probes: ClassVar[tuple[Probe, ...]]
