"""The requests that a control socket takes, each with its answer.

A request is a dataclass here, `Request[ITS ANSWER]`; the key `do` is the name of its class. What
is wrong in a request is found by `decode_request` from the types alone. `disarm` is the one that
every version accepts, with whatever else it has: it stops robots.
"""

from __future__ import annotations

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
    """No further keys."""


@record
class PoseFound:
    """Metres, and the rows of the rotation matrix; null: the pose is unknown."""

    position: Row | None
    rotation: tuple[Row, Row, Row] | None


@record
class RemoteValue:
    """address: of the module that answered. value: hexadecimal."""

    address: str
    value: bytes


@record
class Identity:
    """pid: the process."""

    pid: int


@record
class Found:
    """found: those of the names that are here. fix: what to do about the others."""

    found: list[str]
    fix: str


@record
class RobotState:
    """mode: simulation, remote or shadow. bodies: "up" or "down" by "body" and "remote"."""

    robot: str
    mode: str
    bodies: dict[str, str]


@record
class MayMove:
    """robots: those that are armed. notes: what keeps one from moving. down: of all robots, those
    that are not armed, as their bodies are down."""

    robots: list[str]
    notes: dict[str, str] = field(default_factory=dict)
    down: list[str] = field(default_factory=list)


@record
class LeaseState:
    """ended: why the robots of this connection are disarmed, a word and a text; absent: they are
    armed. not_sent: those to which no stop was sent, with the reason."""

    ended: str = ""
    text: str = ""
    robots: list[str] = field(default_factory=list)
    not_sent: dict[str, str] = field(default_factory=dict)


@record
class Disarmed:
    """robots: those that are disarmed. not_sent: those of them to which no stop was sent, with the
    reason. unknown: names that are not here, with an `error` and a `fix`."""

    robots: list[str]
    not_sent: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    fix: str = ""


@record
class PortReleased:
    """path: of the device. note: for the user, what became of the robot on it."""

    path: str
    note: str


@record
class Recorded:
    """file: that is written now. bytes, lost: events so far. error: why events are lost now.
    poses_left_out: those beyond the rate of `record:`."""

    file: str
    bytes: int = 0
    lost: int = 0
    error: str = ""
    poses_left_out: int = 0


@record
class StatusMade:
    """status: as of `hilgw status --json`."""

    status: dict[str, Any]


@record
class NetworkMade:
    """network: as of `hilgw status --network --json`."""

    network: dict[str, Any]


@record
class ReportMade:
    """report: as of `--report`."""

    report: dict[str, Any]


# --- requests -------------------------------------------------------------------------------------

A = TypeVar("A")


class Request(Generic[A]):
    """A request with the answer A."""

    __slots__ = ()


@record
class Send(Request[Done]):
    """Transmits one packet through an Emitter or a station. data: hexadecimal. channel: null: the
    one that it has."""

    station: str
    data: bytes
    channel: Channel | None = None


@record
class Place(Request[Done]):
    """Moves an object of the scene. position: metres; null: unknown from now on. rotation: axis and
    angle."""

    object: str
    position: Row | None
    rotation: Rotation | None = None


@record
class Set(Request[Done]):
    """Sets channel or range of an Emitter or a Receiver."""

    device: str
    channel: int | None = None
    range: float | None = None


@record
class Pose(Request[PoseFound]):
    """Asks where an object is."""

    object: str


@record
class Charge(Request[Done]):
    """Charges the battery of a robot to this energy."""

    robot: str
    energy_j: float


@record
class Command(Request[RemoteValue]):
    """Sends an AT command to another module of a station's network. value: without one it reads."""

    station: str
    address: Address
    name: AtCommand
    value: AtValue = b""


@record
class Identify(Request[Identity]):
    """Asks for the process and the configuration."""


@record
class Find(Request[Found]):
    """Asks which of these names are here."""

    kind: Kind
    names: list[str]


@record
class Mode(Request[RobotState]):
    """Sets the mode of a robot. mode: null: leaves it."""

    robot: str
    mode: ModeWord | None = None


@record
class Key(Request[Done]):
    """Presses keys of a robot's keyboard, for so long of simulated time."""

    robot: str
    keys: Codes
    hold_s: HoldS = 0.5


@record
class Say(Request[Done]):
    """Sends a controller a text, as from its robot window."""

    robot: str
    text: str


@record
class Arm(Request[MayMove]):
    """Lets motors move, of these robots or of all. accept_positions: motors whose position counts,
    though their zero was lost."""

    robots: list[str] = field(default_factory=list)
    all: bool = False
    accept_positions: list[str] = field(default_factory=list)


@record
class Hold(Request[MayMove]):
    """As arm, while this connection sends renew in time. limit_s: and for so long at most."""

    robots: list[str] = field(default_factory=list)
    all: bool = False
    limit_s: LeaseS | None = None
    accept_positions: list[str] = field(default_factory=list)


@record
class Renew(Request[LeaseState]):
    """Keeps the robots armed that this connection holds."""


@record
class EndHold(Request[LeaseState]):
    """Disarms the robots that this connection holds."""


@record
class Disarm(Request[Disarmed]):
    """Stops the motors of these robots, or of all, until they are armed. Of any version, and with
    any further keys."""

    robots: list[str] = field(default_factory=list)
    all: bool = False


@record
class ReleasePort(Request[PortReleased]):
    """Hands a port to another program, until this connection ends. command, pid: of that program,
    as others are shown it."""

    port: str
    command: str
    pid: int


@record
class Watch(Request[Done]):
    """The events of these kinds and names follow on this connection; without any: all. lost: only
    packets and requests that were lost. states: first the newest of each part.
    per_second: of packets, deliveries, frames and bytes, about so many of each kind are enough."""

    kinds: list[EventKind] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    lost: bool = False
    states: bool = False
    per_second: PerSecond = RATE


@record
class Record(Request[Recorded]):
    """Begins a recording, in the folder of `record:`."""

    name: RecordingName


@record
class EndRecord(Request[Recorded]):
    """Ends a recording; its file is complete soon after."""

    name: RecordingName


@record
class Note(Request[Done]):
    """A remark of the user, for recordings and logs."""

    text: str


@record
class Status(Request[StatusMade]):
    """Asks for the state of ports and robots, clients, memory, losses, queues and latencies."""


@record
class Network(Request[NetworkMade]):
    """Adds up the ledgers of all gateways of the federation."""


@record
class Report(Request[ReportMade]):
    """Asks for the report so far."""


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
    """The class of the answer to this request."""
    (base,) = kind.__orig_bases__  # type: ignore[attr-defined]
    found: type[A] = get_args(base)[0]
    return found


def encode_request(request: Request[Any]) -> bytes:
    """The line of a request. `disarm` has no version, which every gateway accepts."""
    kind = type(request)
    version = {} if kind is Disarm else {"version": VERSION}
    return encode({"do": name_of(kind), **version, **keys_of(request)})


def decode_request(line: bytes) -> Request[Any]:
    """The request of this line. UsageError for what is none, VersionError for one of another
    version."""
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
    """Of what any version may send, also a single name."""
    match message:
        case {"all": True}:
            return Disarm(all=True)
        case {"robot": str(robot)}:
            return Disarm([robot])
        case {"robots": [*names]} if names and all(type(name) is str for name in names):
            return Disarm(names)
    raise UsageError("robots must be a list of names")


def robots_in(request: Arm | Hold) -> list[str] | None:
    """The robots that it names; None: all."""
    if not request.robots and not request.all:
        raise UsageError("robots must be a list of names")
    return request.robots or None
