"""A controller: settings, and a pure session that decides. `now` is integer nanoseconds.

A kind of controller declares its `role`, by the class of this module that it inherits. A
`ControllerSession` runs inside the gateway and decides what the Emitters of a robot send. A
`PeerSession` serves a peer behind a connection, which reads sensors and moves motors: it is one end
of a control loop; the other end is a body (`hilgw.bodies.base`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from hilgw.control.session import LinkSession
from hilgw.errors import ConfigError
from hilgw.reasons import PacketRefused

if TYPE_CHECKING:
    from hilgw.control.events import Event, PacketIn
    from hilgw.devices.kinds import Device, Value
    from hilgw.framing.base import Framing
    from hilgw.medium.packet import Copy
    from hilgw.settings import MockSpec, Problem


@dataclass(frozen=True, slots=True)
class Send:
    """Put `data` into the queue of the Emitter with this device name."""

    emitter: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Notice:
    """A line for the user."""

    text: str


Action = Send | Notice


class PacketQueue(Protocol):
    """The queue of a Receiver.

    As in Webots, a packet takes up room in bufferSize until the controller takes it; a packet that
    arrives and does not fit is lost.
    """

    def queue_length(self) -> int:
        """Return the number of packets that can be read."""

    def head(self) -> Copy | None:
        """Return the packet that `next_packet` would take; None when there is none."""

    def next_packet(self) -> Copy | None:
        """Take the oldest packet out of the queue; return None when there is none."""


class ControllerSession(Protocol):
    """A controller that runs inside the gateway."""

    def start(self, now: int, receivers: Mapping[str, PacketQueue]) -> list[Action]:
        """Start the session.

        Args:
            receivers: those of the robot, by device name. The session may read them at any time.
        """

    def readable(self, receiver: str, now: int) -> list[Action]:
        """Act on new packets in the queue of the Receiver with this device name."""

    def sent(self, accepted: bool) -> None:
        """Note the result of the last Send: queued, or refused by the Emitter."""

    def next_deadline(self) -> int | None: ...

    def expire(self, now: int) -> list[Action]: ...

    def summary(self) -> str:
        """Return the counts in one line."""


class Role(Enum):
    """Role of a kind of controller; each has the class of this module that a kind inherits."""

    INSIDE = "InsideController"
    PEER = "PeerController"
    STEPPED = "SteppedController"
    PROGRAM = "ProgramController"
    PROXY = "ProxyController"


STEPPED = (Role.STEPPED, Role.PROGRAM)
"""Roles of controllers that ask for steps."""
PEERS = (Role.PEER, *STEPPED)
"""Roles of controllers that are one end of a control loop, on a connection."""


class Controller(Protocol):
    """A kind of controller, which `hilgw.controllers.NAME` exports as `CONTROLLER`.

    A kind inherits the class of its role below, or declares `role` and has all of that class.
    """

    kind: ClassVar[str]
    summary: ClassVar[str]
    Settings: ClassVar[type[Any]]
    role: ClassVar[Role]

    def check(self, settings: Any) -> list[Problem]:
        """Return the errors that span fields."""
        return []


def check_kind(controller: Any) -> None:
    """Raise ConfigError for a kind of another distribution that does not declare its role."""
    if not ("role" in dir(controller) and isinstance(controller.role, Role)):
        names = ", ".join(role.value for role in Role)
        fix = f"inherit one of {names} of hilgw.controllers.base, or write `role = Role.INSIDE`"
        raise ConfigError("it does not declare its `role`", fix=fix)


class InsideController(Controller, Protocol):
    """A kind of controller that decides inside the gateway."""

    role: ClassVar[Role] = Role.INSIDE

    def session(self, settings: Any) -> ControllerSession:
        """Return the session of one robot."""

    def period_ms(self, settings: Any) -> float | None:
        """Return the period at which it acts; None: it has none."""
        return None


class PeerSession(LinkSession, Protocol):
    """A peer that controls a body.

    `devices` are those of the control loop; `close` brings Stop, too, when a peer was there.
    """

    def register(self, device: Device) -> list[Event]:
        """Add a device that the control loop has; repeating a registration does nothing."""

    def forget(self) -> None:
        """Forget the devices of a body that is gone. Only while no peer is there."""

    def forget_values(self) -> None:
        """Forget all values: another body takes the place of the one that reported them."""

    def report(self, values: Iterable[tuple[int, Value]], now: int) -> list[Event]:
        """Report values of sensors, (index, value) each, in one write.

        A value that the protocol cannot carry is refused.
        """

    def feedback(self, index: int, value: float, now: int) -> list[Event]:
        """Report the force or torque that a motor applies, after FeedbackSwitch."""

    def deliver(self, packet: PacketIn) -> list[Event]:
        """Deliver one packet that a Receiver received."""

    def fault(self, index: int) -> list[Event]:
        """Report that a device failed, or refused a request."""


class SteppedSession(PeerSession, Protocol):
    """A peer that asks for steps: it reports StepRequest, and waits for the answer.

    local: the peer of the next connection is on a local socket, image_files: the paths of its
    images there, by device; set before `open`. armed: whether the motors may move; set before each
    `answer`.
    """

    local: bool
    image_files: Mapping[str, str]
    armed: bool

    def next_sample(self) -> int | None:
        """Return the simulation time at which something that the peer enabled is due next.

        It may be past. None: nothing is enabled.
        """

    def sample(self, time_ns: int) -> None:
        """Sample at the end of a basic step, at this simulation time, within the peer's step."""

    def answer(self, time_ns: int, delay_ms: int = 0) -> list[Event]:
        """Answer the peer: the step is over, at this simulation time.

        Args:
            delay_ms: by how much the request was late.
        """

    def images(self) -> Mapping[str, bytes]:
        """Return the images that a peer on a local socket finds in files, by device."""

    def quit(self) -> list[Event]:
        """End the peer; always before its connection is closed."""

    def press(self, keys: Sequence[int], hold_ns: int) -> list[Event]:
        """Hold keys of the keyboard (`hilgw.devices.keys`) down for `hold_ns` of simulated time.

        Raises:
            HilgwError: the peer takes no keys.
        """

    def say(self, text: str) -> list[Event]:
        """Send a text to the peer, as from its robot window.

        Raises:
            HilgwError: the peer takes none.
        """

    def charge(self, energy_j: float) -> list[Event]:
        """Set the energy of the battery.

        Raises:
            HilgwError: the battery cannot have it.
        """

    def show_paths(self, project: str, world: str) -> None:
        """Set the project and world paths that the next peer gets."""

    def robot_report(self) -> dict[str, Any]:
        """Return the robot's own values for the report, JSON types."""


class PeerController(Controller, Protocol):
    """A kind of controller that is a peer.

    Settings inherit `Listens` for a peer on TCP, and `OnLine` for one on a serial line
    (`hilgw.control.parts`); one of listen and port is set. framing: the short name of the framing
    on a serial line, "" for none.
    """

    role: ClassVar[Role] = Role.PEER
    framing: ClassVar[str] = ""

    def mock(self, settings: Any, version: str) -> MockSpec:
        """Return the mock that behaves like the peer of these settings and Webots version."""

    def session(self, settings: Any, version: str, framing: Framing | None) -> PeerSession:
        """Return a session under this Webots version.

        Args:
            framing: for a serial line, None on TCP.
        """

    def carries_packets(self, settings: Any) -> bool:
        """Return whether the peer of these settings can use the robot's Emitters and Receivers."""
        return True


class SteppedController(PeerController, Protocol):
    """A kind of controller that asks for steps, of robots that it names: several share an address.

    Settings have `listen`, `ipc` and `synchronization`. Its own library paces and queues packets.
    """

    role: ClassVar[Role] = Role.STEPPED

    def robot_session(
        self, settings: Any, version: str, robot: str, step_ms: int
    ) -> SteppedSession:
        """Return the session of the robot of this name.

        Args:
            version: of its library, empty where the file does not have it.
            step_ms: the basic time step.
        """


class Sent(NamedTuple):
    """An Emitter of the robot sent a packet; range in metres, -1 for infinite."""

    device: str
    channel: int
    range: float
    data: bytes


class Enabled(NamedTuple):
    """The controller set the sampling period of a Receiver; 0 disables it."""

    device: str
    period_ms: int


class Tuned(NamedTuple):
    """A Receiver listens to this channel, -1 to all."""

    device: str
    channel: int


class DeliveredCopies(NamedTuple):
    """Copies that went to the controller."""

    device: str
    copies: tuple[Copy, ...]


class Lost(NamedTuple):
    """Copies that waited for a Receiver whose controller is gone."""

    device: str
    copies: tuple[Copy, ...]


ProxyEvent = Sent | Enabled | Tuned | DeliveredCopies | Lost | Notice
"""What passes through a proxy and concerns the devices that the configuration names."""
Passed = tuple[bytes, "Sequence[ProxyEvent]"]
"""Bytes for the other end, and what they mean for the named devices."""


class ProxySession(Protocol):
    """A connection between a controller and the simulator of its robot.

    left: the controller has sent its last bytes. `from_controller` and `from_webots` raise
    PeerError for bytes that are not the protocol.
    """

    left: bool

    def from_controller(self, data: bytes) -> Passed:
        """Return the bytes for the simulator that these bytes of the controller become."""

    def from_webots(self, data: bytes) -> Passed:
        """Return the bytes for the controller that these bytes of the simulator become."""

    def cut(self) -> bytes:
        """Return the bytes that end the controller: the simulator is gone."""

    def answer_last(self, data: bytes) -> bytes:
        """Return the answers to the controller's last requests, after `cut`."""

    def hold(self, receiver: str, copy: Copy) -> PacketRefused | None:
        """Keep a copy for this Receiver until it is due; return None, or why not."""

    def close(self) -> Sequence[ProxyEvent]:
        """End the session: the connection is gone."""


class ProxyController(Controller, Protocol):
    """A kind of controller that is a peer whose robot is in a simulator behind hilgw.

    It passes on what they exchange, and uses the devices that the configuration names.

    Settings inherit `Listens` and `InWebots` (`hilgw.control.parts`), and have `only` (names of
    devices).
    """

    role: ClassVar[Role] = Role.PROXY

    def mock(self, settings: Any, name: str, version: str) -> MockSpec:
        """Return the mock of the controller.

        Args:
            name: of the robot in the simulator.
        """

    def simulator(
        self,
        settings: Any,
        names: Collection[str],
        version: str,
        radios: Mapping[str, Any] | None = None,
    ) -> MockSpec:
        """Return the mock of the simulator.

        Args:
            names: of its robots.
            radios: the fields of their Emitters and Receivers, for settings that name no devices.
        """

    def proxy(
        self, settings: Any, version: str, emitters: Collection[str], receivers: Mapping[str, int]
    ) -> ProxySession:
        """Return the session of one connection.

        Args:
            receivers: name -> channel in the configuration.
        """


class ProgramController(SteppedController, Protocol):
    """A kind of controller that hilgw starts, and whose connection is its own.

    Settings inherit `RunsProgram`, and have `restart` and `synchronization`.
    """

    role: ClassVar[Role] = Role.PROGRAM

    def command(self, settings: Any) -> list[str]:
        """Return the program to run, with its arguments."""
