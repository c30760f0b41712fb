"""The requests that a control socket takes, each with its answer.

A request is a dataclass here, `Request[ITS ANSWER]`; the key `do` is the name of its class.
`decode_request` finds errors of a request from the types alone. `disarm` is the one that every
version accepts, with any other keys: it stops robots.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, Generic, TypeVar, get_args

from hilgw.devices.fields import BROADCAST, CHANNEL_MAX
from hilgw.devices.keys import is_code
from hilgw.errors import UsageError, suggest
from hilgw.events.kinds import LIVE
from hilgw.forms import Must, decode, name_of
from hilgw.protocols.gateway.messages import VERSION, VersionError, encode, keys_of, version_of
from hilgw.records import record

LONGEST_HOLD_S = 60.0
LONGEST_LEASE_S = 86_400.0
RATE = 2000
"""Events of each kind and second that pass: full rate is 2,000 packets a second."""
COMMAND_BYTES = 64

MODES = ("simulation", "remote", "shadow")
NAMED = ("robot", "station", "device", "hardware station", "object", "port", "controller", "part")
"""The kinds of names. controller: ROBOT and the address that its controller connected from, or the
local socket. part: whatever events are about."""

Channel = Annotated[
    int,
    Must(
        f"a whole number from {BROADCAST} to {CHANNEL_MAX}", lambda n: BROADCAST <= n <= CHANNEL_MAX
    ),
]
HoldS = Annotated[float, Must(f"0 to {LONGEST_HOLD_S:g} s", lambda s: 0 <= s <= LONGEST_HOLD_S)]
LeaseS = Annotated[float, Must(f"up to {LONGEST_LEASE_S:g} s", lambda s: 0 < s <= LONGEST_LEASE_S)]
PerSecond = Annotated[int, Must(f"1 to {RATE}", lambda n: 1 <= n <= RATE)]
Address = Annotated[
    str,
    Must(
        "an address of 16 or 4 hexadecimal digits",
        re.compile(r"[0-9A-Fa-f]{16}|[0-9A-Fa-f]{4}").fullmatch,
    ),
]
AtCommand = Annotated[
    str, Must("an AT command of two characters", re.compile(r"[A-Z%][A-Z0-9]").fullmatch)
]
AtValue = Annotated[
    bytes,
    Must(f"pairs of hexadecimal digits, up to {COMMAND_BYTES}", lambda v: len(v) <= COMMAND_BYTES),
]
Codes = Annotated[
    list[int], Must("codes of Webots' keyboard", lambda codes: codes and all(map(is_code, codes)))
]
ModeWord = Annotated[str, Must(f"one of {', '.join(MODES)}", MODES.__contains__)]
Kind = Annotated[str, Must(f"one of {', '.join(NAMED)}", NAMED.__contains__)]
EventKind = Annotated[str, Must(f"one of {', '.join(LIVE)}", LIVE.__contains__)]
RecordingName = Annotated[
    str,
    Must(
        "a name of 1 to 64 of A-Z a-z 0-9 . _ -, which begins with no point",
        re.compile(r"(?!\.)[A-Za-z0-9._-]{1,64}").fullmatch,
    ),
]
Row = tuple[float, float, float]
Rotation = tuple[float, float, float, float]


# --- answers --------------------------------------------------------------------------------------


@record
class Done:
    """An answer without further keys."""


@record
class PoseFound:
    """The position in metres, and the rows of the rotation matrix; null: the pose is unknown."""

    position: Row | None
    rotation: tuple[Row, Row, Row] | None


@record
class RemoteValue:
    """The address of the module that answered, and the value in hexadecimal."""

    address: str
    value: bytes


@record
class Identity:
    """The number of the process."""

    pid: int


@record
class Found:
    """The names that are here, and the fix for the others."""

    found: list[str]
    fix: str


@record
class RobotState:
    """The mode (simulation, remote or shadow), and "up" or "down" by "body" and "remote"."""

    robot: str
    mode: str
    bodies: dict[str, str]


@record
class MayMove:
    """The result of `arm`.

    robots: the robots that are armed. notes: per robot, why it cannot move yet. down: robots that
    are not armed, as their bodies are down.
    """

    robots: list[str]
    notes: dict[str, str] = field(default_factory=dict)
    down: list[str] = field(default_factory=list)


@record
class LeaseState:
    """The state of a lease.

    ended: why the robots of this connection are disarmed, a word and a text; absent: they are
    armed. not_sent: robots to which no stop was sent, with the reason.
    """

    ended: str = ""
    text: str = ""
    robots: list[str] = field(default_factory=list)
    not_sent: dict[str, str] = field(default_factory=dict)


@record
class Disarmed:
    """The result of `disarm`.

    robots: the robots that are disarmed. not_sent: robots of these to which no stop was sent, with
    the reason. unknown: names that are not here, with an `error` and a `fix`.
    """

    robots: list[str]
    not_sent: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    fix: str = ""


@record
class PortReleased:
    """The path of the device, and for the user the effect on its robot."""

    path: str
    note: str


@record
class Recorded:
    """The state of a recording.

    file: the file that is written now. bytes, lost: events so far. error: why events are lost now.
    poses_left_out: poses beyond the rate of `record:`.
    """

    file: str
    bytes: int = 0
    lost: int = 0
    error: str = ""
    poses_left_out: int = 0


@record
class StatusMade:
    """The object that `hilgw status --json` prints."""

    status: dict[str, Any]


@record
class NetworkMade:
    """The object that `hilgw status --network --json` prints."""

    network: dict[str, Any]


@record
class ReportMade:
    """The object that `--report` writes."""

    report: dict[str, Any]


# --- requests -------------------------------------------------------------------------------------

A = TypeVar("A")


class Request(Generic[A]):
    """A request with the answer A."""

    __slots__ = ()


@record
class Send(Request[Done]):
    """Transmit one packet through an Emitter or a station.

    data: hexadecimal. channel: null: the current one.
    """

    station: str
    data: bytes
    channel: Channel | None = None


@record
class Place(Request[Done]):
    """Move an object. position: metres; null: unknown from now on. rotation: axis and angle."""

    object: str
    position: Row | None
    rotation: Rotation | None = None


@record
class Set(Request[Done]):
    """Set channel or range of an Emitter or a Receiver."""

    device: str
    channel: int | None = None
    range: float | None = None


@record
class Pose(Request[PoseFound]):
    """Ask for the pose of an object."""

    object: str


@record
class Charge(Request[Done]):
    """Charge the battery of a robot to this energy."""

    robot: str
    energy_j: float


@record
class Command(Request[RemoteValue]):
    """Send an AT command to another module of a station's network. Without a value it reads."""

    station: str
    address: Address
    name: AtCommand
    value: AtValue = b""


@record
class Identify(Request[Identity]):
    """Ask for the process and the configuration."""


@record
class Find(Request[Found]):
    """Ask which of these names are here."""

    kind: Kind
    names: list[str]


@record
class Mode(Request[RobotState]):
    """Set the mode of a robot. mode: null: leaves it unchanged."""

    robot: str
    mode: ModeWord | None = None


@record
class Key(Request[Done]):
    """Press keys of a robot's keyboard, for this long of simulated time."""

    robot: str
    keys: Codes
    hold_s: HoldS = 0.5


@record
class Say(Request[Done]):
    """Send a controller a text, as from its robot window."""

    robot: str
    text: str


@record
class Arm(Request[MayMove]):
    """Let motors move, of these robots or of all.

    accept_positions: motors whose position counts, though their zero was lost.
    """

    robots: list[str] = field(default_factory=list)
    all: bool = False
    accept_positions: list[str] = field(default_factory=list)


@record
class Hold(Request[MayMove]):
    """Arm robots while this connection sends renew in time. limit_s: the longest time."""

    robots: list[str] = field(default_factory=list)
    all: bool = False
    limit_s: LeaseS | None = None
    accept_positions: list[str] = field(default_factory=list)


@record
class Renew(Request[LeaseState]):
    """Keep the robots armed that this connection holds."""


@record
class EndHold(Request[LeaseState]):
    """Disarm the robots that this connection holds."""


@record
class Disarm(Request[Disarmed]):
    """Stop the motors of these robots, or of all, until they are armed; any version may send it."""

    robots: list[str] = field(default_factory=list)
    all: bool = False


@record
class ReleasePort(Request[PortReleased]):
    """Hand a port to another program, until this connection ends.

    command, pid: of that program, as shown to others.
    """

    port: str
    command: str
    pid: int


@record
class Watch(Request[Done]):
    """Subscribe this connection to events of these kinds and names; without any: all.

    lost: only packets and requests that were lost. states: first the newest of each part.
    per_second: of packets, deliveries, frames and bytes, about this many of each kind are enough.
    """

    kinds: list[EventKind] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    lost: bool = False
    states: bool = False
    per_second: PerSecond = RATE


@record
class Record(Request[Recorded]):
    """Start a recording, in the folder of `record:`."""

    name: RecordingName


@record
class EndRecord(Request[Recorded]):
    """End a recording; its file is complete soon after."""

    name: RecordingName


@record
class Note(Request[Done]):
    """A remark of the user, for recordings and logs."""

    text: str


@record
class Status(Request[StatusMade]):
    """Ask for the state of ports and robots, clients, memory, losses, queues and latencies."""


@record
class Network(Request[NetworkMade]):
    """Add up the ledgers of all gateways of the federation."""


@record
class Report(Request[ReportMade]):
    """Ask for the report so far."""


REQUESTS: dict[str, type[Request[Any]]] = {
    name_of(kind): kind
    for kind in (
        Send,
        Place,
        Set,
        Pose,
        Charge,
        Command,
        Identify,
        Find,
        Mode,
        Key,
        Say,
        Arm,
        Hold,
        Renew,
        EndHold,
        Disarm,
        ReleasePort,
        Watch,
        Record,
        EndRecord,
        Note,
        Status,
        Network,
        Report,
    )
}


def answer_of(kind: type[Request[A]]) -> type[A]:
    """Return the class of the answer to this request."""
    (base,) = kind.__orig_bases__  # type: ignore[attr-defined]
    answer: type[A] = get_args(base)[0]
    return answer


def encode_request(request: Request[Any]) -> bytes:
    """Return the line of a request; every gateway accepts `disarm`, which has no version."""
    kind = type(request)
    version = {} if kind is Disarm else {"version": VERSION}
    return encode({"do": name_of(kind), **version, **keys_of(request)})


def decode_request(line: bytes) -> Request[Any]:
    """Parse one request line.

    Raises:
      UsageError: it is not a request.
      VersionError: its protocol version differs.
    """
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not a valid request: {error}") from None
    if not isinstance(message, dict):
        raise UsageError("unknown request", fix="it must be a JSON object")
    do = message.pop("do", None)
    if do == "disarm":
        return _disarm(message)
    if (version := version_of(message)) != VERSION:
        raise VersionError(version, VERSION)
    del message["version"]
    if type(do) is not str or do not in REQUESTS:
        name = do if type(do) is str else ""
        raise UsageError("unknown request", fix=suggest(name, REQUESTS))
    return decode(REQUESTS[do], message)


def _disarm(message: Mapping[str, Any]) -> Disarm:
    """Return the request for what any version may send, also a single name."""
    match message:
        case {"all": True}:
            return Disarm(all=True)
        case {"robot": str(robot)}:
            return Disarm([robot])
        case {"robots": [*names]} if names and all(type(name) is str for name in names):
            return Disarm(names)
    raise UsageError("robots must be a list of names")


def robots_in(request: Arm | Hold) -> list[str] | None:
    """Return the robots that it names; None for all."""
    if not request.robots and not request.all:
        raise UsageError("robots must be a list of names")
    return request.robots or None
