"""The ends that a control loop connects, and the context that its parts share."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hilgw.bodies.base import BodySession
from hilgw.control.events import (
    Command,
    DeviceSettings,
    Event,
    Notice,
    Outcome,
    PacketIn,
    PacketOut,
    ProtocolFailure,
    RefusedRequest,
)
from hilgw.control.modes import RobotMode
from hilgw.control.safety import SafetyState
from hilgw.devices.kinds import Device, Devices, Refusal
from hilgw.engine.control_loop.peer_link import PeerLink
from hilgw.engine.control_loop.stepping import Stepping
from hilgw.engine.control_loop.watchdog import Watchdog
from hilgw.engine.observer import Observer
from hilgw.engine.reporting.statistics import ControlLoopStatistics, NoticeFilter
from hilgw.reasons import RequestRefused
from hilgw.transports.base import Scheduler

LOGGED_BYTES = 64


class Notices:
    """The notices of one control loop for the user. A notice that repeats is shown once."""

    def __init__(self, name: str, observer: Observer) -> None:
        self._name = name
        self._observer = observer
        self._filter = NoticeFilter()

    def add(self, text: str, key: str = "") -> None:
        """Show this text about the robot. key: texts with the same key are shown once."""
        if self._filter.is_due(key, once=bool(key)):
            self._observer.notice(self._name, text)

    def show(self, name: str, event: Event) -> None:
        """Show an event of the link of this name: refusals, notices and failures, no others."""
        match event:
            case RefusedRequest(_, reason, text):
                self._observer.refused(name, reason, text)
            case Notice(text, once):
                if self._filter.is_due(text, once):
                    self._observer.notice(name, text)
            case ProtocolFailure(error, tail) if tail:
                more = "..." if len(tail) > LOGGED_BYTES else ""
                self._observer.notice(name, f"{error.what}: {tail[:LOGGED_BYTES].hex(' ')}{more}")


@dataclass(frozen=True, slots=True)
class LoopContext:
    """name: of the robot. scheduler: of the gateway's time, which may be simulated."""

    name: str
    scheduler: Scheduler
    observer: Observer
    watchdog: Watchdog
    statistics: ControlLoopStatistics = field(default_factory=ControlLoopStatistics)
    notices: Notices = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "notices", Notices(self.name, self.observer))

    def refuse(self, reason: str, text: str) -> None:
        """Count and show a refused request of the controller.

        text: empty where the text of an earlier refusal was shown.
        """
        self.statistics.refused[reason] += 1
        if text:
            self.observer.refused(self.name, reason, text)


_NO_BODY = Refusal(RequestRefused.NO_BODY, "this robot has no body")


@dataclass(frozen=True, slots=True)
class LoopBody:
    """A body, whose link has no connection yet, with the state of its safety.

    is_guarded: it is real, so the guardian stops it when this process cannot. has_watchdog: the
    robot stops by itself when nothing comes from here. named: the devices that its settings name.
    """

    link: PeerLink[BodySession]
    safety: SafetyState
    is_guarded: bool = field(default=False, kw_only=True)
    has_watchdog: bool = field(default=False, kw_only=True)
    named: frozenset[str] = field(default=frozenset(), kw_only=True)


@dataclass(frozen=True, slots=True)
class RemoteBody(LoopBody):
    """The second body of a robot. mode: the robot's mode at the start."""

    mode: RobotMode


@dataclass(frozen=True, slots=True)
class LoopController:
    """A controller, whose link has no connection yet.

    clock: of its deadlines, which is real for another process also while time is simulated. advice:
    how the user gets a controller where none is connected, empty for one that is always there;
    None: as the supervisor of the link has it. stepping: of a controller that asks for steps, else
    None.
    """

    link: PeerLink[Any]
    clock: Scheduler
    advice: str | None = None
    stepping: Stepping | None = None


def no_body(context: LoopContext, safety: SafetyState) -> LoopBody:
    """Return an absent end for a missing body: it never connects, and refuses all requests."""
    return LoopBody(_absent(context.name, _NoBodySession(), context), safety)


def no_controller(context: LoopContext, advice: str = "") -> LoopController:
    """Return an absent end for a controller that is not a peer: it never connects."""
    link = _absent(f"{context.name}.controller", _NoControllerSession(), context)
    return LoopController(link, context.scheduler, advice)


def _absent(name: str, session: Any, context: LoopContext) -> PeerLink[Any]:
    return _AbsentLink(name, session, context.scheduler, context.watchdog)


class _AbsentLink(PeerLink[Any]):
    is_absent = True


class _NoBodySession:
    """The part of a `hilgw.bodies.base.BodySession` that is used without a connection."""

    def __init__(self) -> None:
        self.devices = Devices()
        self.counts: Counter[str] = Counter()

    def command(self, command: Command, now: int) -> tuple[Outcome, list[Event]]:
        self.counts[f"refused_{_NO_BODY.reason}"] += 1
        return _NO_BODY, []

    def tune(self, request: PacketOut | DeviceSettings, now: int) -> list[Event]:
        self.counts[f"refused_{_NO_BODY.reason}"] += 1
        return [RefusedRequest(request.index, _NO_BODY.reason, _NO_BODY.text)]

    send = tune

    def faults(self) -> list[str]:
        return []

    def is_idle(self) -> bool:
        return True

    def simulated_s(self) -> None:
        return None


class _NoControllerSession:
    """The part of a `hilgw.controllers.base.PeerSession` that is used without a connection."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def register(self, device: Device) -> list[Event]:
        return []

    def forget(self) -> None:
        return

    forget_values = forget

    def deliver(self, packet: PacketIn) -> list[Event]:
        self.counts[f"refused_{RequestRefused.NO_CONTROLLER}"] += 1
        return []
