"""A body: settings, and a pure session with the robot behind a connection."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from hilgw.control.events import (
    Command,
    DeviceSettings,
    Event,
    Outcome,
    PacketOut,
    StopPlan,
    StopReason,
)
from hilgw.control.forwarding import Forwarding
from hilgw.control.safety import MotorMode
from hilgw.control.session import LinkSession
from hilgw.devices.properties import DeviceFields
from hilgw.errors import ConfigError
from hilgw.settings import MockSpec, Problem

if TYPE_CHECKING:
    from hilgw.control.declared import LineLoad, StopFrame
    from hilgw.framing.base import Framing


class BodySession(LinkSession, Protocol):
    """Session with a robot. `devices` are those it has registered.

    missing: settings of motors that the robot lacks (`hilgw.control.missing`); the session ignores
    them in a command that sets more.

    The session never stops motors by itself: after Disconnected or ProtocolFailure the control loop
    calls `stop`, which still writes while the connection is open.
    """

    @property
    def missing(self) -> Collection[str]: ...

    def command(self, command: Command, now: int) -> tuple[Outcome, list[Event]]:
        """Execute a command to a motor.

        Returns SENT or DROPPED, or a Refusal where the robot cannot execute it; and the events,
        which are the bytes that leave now, if any, and notices. The control loop has checked the
        command (`hilgw.control.limits`), and that it can be stopped. The session counts its
        refusals; the control loop shows them.
        """

    def switch(self, index: int, period_ms: float | None, now: int) -> list[Event]:
        """Set the period of a sensor; None: every step, 0: off."""

    def own_period(self, index: int) -> float | None:
        """Return the period of a sensor that no controller has set; None: every step, 0: off."""

    def send(self, packet: PacketOut, now: int) -> list[Event]:
        """Send one packet through an Emitter of the robot itself."""

    def tune(self, settings: DeviceSettings, now: int) -> list[Event]:
        """Set a device of the robot itself that moves no motor.

        Returns the bytes for it, or Refused where the robot does not have it. The control loop has
        checked the value of an LED or a brake.
        """

    def can_stop(self, index: int, mode: MotorMode | None) -> bool:
        """Return whether a stop of this motor exists in this mode now.

        Otherwise the control loop refuses every command that selects the mode. None: as it is;
        False also of a motor that has no power, such as a servo without torque.
        """

    def stop(self, reason: StopReason, now: int) -> StopPlan:
        """Set every motor to its default.

        The control loop decides when a stop is due: the session writes each, also to a robot that
        it has never commanded.
        """

    def stop_again(self, motors: Collection[int] | None, now: int) -> list[Event]:
        """Write the last stop once more: the same bytes, also where it holds a position.

        motors: the indices of those that it still holds; None: all.
        """

    def stop_motor(self, index: int, now: int) -> StopPlan | None:
        """Stop one motor as `stop` does.

        None: the robot has no such motor, and nothing is done. The session writes goals only
        (velocity 0, or the last position), never torque or a mode, and never refuses: this has to
        work when the motor refuses every command.
        """

    def emergency(self) -> bytes:
        """Return the bytes that stop every motor now, whatever was cut before them.

        They are for a thread and for the guardian, need no answer, and may end the use of the
        connection. Changes nothing.
        """

    def leave(self, now: int) -> list[Event]:
        """Leave the robot, as the gateway ends: what is written after the last stop."""

    def faults(self) -> list[str]:
        """Return the hardware faults that the robot has reported and still has, in words."""

    def is_idle(self) -> bool:
        """Return whether nothing waits in the session to be written.

        No stop, no repetition of one, and no goodbye; the gateway ends a little later for it. A
        session that may write only when the robot has answered keeps them, and reports `StopSent`
        where `stop` has written nothing.
        """
        return True

    def simulated_s(self) -> float | None:
        """Return the time of the simulation that the robot is in.

        None: it is in none, or does not show its time.
        """
        return None


class EarlierSession:
    """A session that has the stops of version 1 of the interface, with those of today."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self.missing: Collection[str] = getattr(session, "missing", ())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def can_stop(self, index: int, mode: MotorMode | None) -> bool:
        return self._session.stop_command(index, mode or MotorMode.VELOCITY) is not None

    def stop(self, reason: StopReason, now: int) -> StopPlan:
        commands, copies = tuple(self._session.stop_commands()), self._session.stop_copies
        return StopPlan(self._session.stop(reason, now), commands, copies)

    def stop_motor(self, index: int, now: int) -> StopPlan | None:
        commands = [each for each in self._session.stop_commands() if each.index == index]
        events = self._session.stop_motor(index, now)
        if events is None:
            return None
        return StopPlan(events, tuple(commands), self._session.stop_copies)

    def emergency(self) -> bytes:
        return bytes(self._session.stop_bytes())


def current(session: Any) -> Any:
    """Return this session with the stops of today, if it is that of a body of version 1."""
    return EarlierSession(session) if hasattr(session, "stop_bytes") else session


class Body(Protocol):
    """A kind of body, which `hilgw.bodies.NAME` exports as `BODY`.

    A kind inherits this class, or declares all of it.

    Settings inherit `Connects` for a robot on TCP, and `OnLine` for one on a serial line
    (`hilgw.control.parts`); one of connect and port is set. They have `limits`, `mock` and
    `simulated`, which is true, false, or None where it is not set. simulated: what holds for this
    kind of body then; a mock is always simulated. retry_s: the pause between tries to connect.
    framing: the short name of the framing on a serial line, "" for none.
    """

    kind: ClassVar[str]
    summary: ClassVar[str]
    Settings: ClassVar[type[Any]]
    simulated: ClassVar[bool] = False
    retry_s: ClassVar[float] = 1.0
    framing: ClassVar[str] = ""

    def mock(self, settings: Any, version: str) -> MockSpec:
        """Return the firmware mock that behaves like the robot of these settings."""

    def mocked_devices(self, settings: Any, devices: Mapping[str, DeviceFields]) -> dict[str, Any]:
        """Return the parameters with which the mock has the devices that the file lists.

        Fields by name, without Emitters and Receivers. Those of a mock are made by
        `hilgw.devices.properties.mocked`.
        """
        return {}

    def check(self, settings: Any) -> list[Problem]:
        """Return the errors that span fields."""
        return []

    def doubts(self, settings: Any) -> list[Problem]:
        """Return warnings about settings that are legal and probably not meant."""
        return []

    def line_load(self, settings: Any) -> LineLoad | None:
        """Return the load of one period on a serial line.

        None where it is not known before the robot has connected, or there is no line.
        """
        return None

    def stop_frame(self, settings: Any) -> StopFrame:
        """Return what stops the motors of the robot, and what the robot does alone."""

    def session(self, settings: Any, version: str, framing: Framing | None) -> BodySession:
        """Create a session under this Webots version.

        framing: for a serial line, None on TCP.
        """

    def forwarding(self, settings: Any) -> Forwarding:
        """Return which packets of the robot go to the medium, and the other way."""
        return Forwarding()

    def default_positions(self, settings: Any) -> Mapping[str, float]:
        """Linear motor -> its position after a stop, of a robot that reports its devices."""
        return MappingProxyType({})


DECLARED = ("simulated", "retry_s", "framing", "forwarding", "default_positions", "mocked_devices")
"""What a kind of another distribution could lack that loads."""


def check_kind(body: Any) -> None:
    """Raise ConfigError for a kind of another distribution that does not declare what it is."""
    if missing := [name for name in DECLARED if name not in dir(body)]:
        fix = "inherit hilgw.bodies.base.Body, or write what it lacks"
        raise ConfigError(f"it does not declare {', '.join(missing)}", fix=fix)
