"""The ends that a control loop connects, and what stands for an end that a robot does not have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hilgw.control.events import Event, Outcome, Refused
from hilgw.devices.kinds import Devices, Refusal
from hilgw.engine.control_loop.peer_link import PeerLink
from hilgw.reasons import RequestRefused

if TYPE_CHECKING:
    from hilgw.bodies.base import BodySession
    from hilgw.control.events import Command, DeviceSettings, PacketIn, PacketOut, StopReason
    from hilgw.control.modes import RobotMode
    from hilgw.control.safety import Mode, SafetyState
    from hilgw.devices.kinds import Device, Value
    from hilgw.engine.control_loop.context import LoopContext
    from hilgw.engine.control_loop.stepping import Stepping
    from hilgw.transports.base import Scheduler

_NO_BODY = Refusal(RequestRefused.NO_BODY, "this robot has no body")


@dataclass(frozen=True, slots=True)
class LoopBody:
    """A body, whose link has no connection yet, with the state of its safety."""

    link: PeerLink[BodySession]
    safety: SafetyState


@dataclass(frozen=True, slots=True)
class RemoteBody(LoopBody):
    """The second body of a robot. mode: the robot's mode at the start."""

    mode: RobotMode


def no_advice() -> str:
    """The controller is a part of the gateway, and always there."""
    return ""


@dataclass(frozen=True, slots=True)
class LoopController:
    """A controller, whose link has no connection yet. clock: of its deadlines, which is real for
    another process also while time is simulated. advice: returns how the user gets a controller
    where none is connected. stepping: of a controller that asks for steps, else None."""

    link: PeerLink[Any]
    clock: Scheduler
    advice: Callable[[], str] = no_advice
    stepping: Stepping | None = None


def no_body(context: LoopContext, safety: SafetyState) -> LoopBody:
    """Stands for the body of a robot that has none: it never connects, and refuses all requests."""
    link: PeerLink[BodySession] = _AbsentLink(
        context.name, _NoBodySession(), context.scheduler, context.watchdog
    )
    return LoopBody(link, safety)


def no_controller(context: LoopContext, advice: Callable[[], str] = no_advice) -> LoopController:
    """Stands for a controller that is no peer: it never connects."""
    name = f"{context.name}.controller"
    link = _AbsentLink(name, _NoControllerSession(), context.scheduler, context.watchdog)
    return LoopController(link, context.scheduler, advice)


class _AbsentLink(PeerLink[Any]):
    is_absent = True


class _NoSession:
    """The session of an end that never connects. See `hilgw.control.session.LinkSession`."""

    def __init__(self) -> None:
        self.devices = Devices()
        self.counts: Counter[str] = Counter()

    def open(self, now: int) -> list[Event]:
        return []

    def close(self) -> list[Event]:
        return []

    def receive(self, data: bytes, now: int) -> list[Event]:
        return []

    def next_deadline(self) -> int | None:
        return None

    def expire(self, now: int) -> list[Event]:
        return []

    def describe(self, data: bytes, *, received: bool) -> str:
        return ""


class _NoBodySession(_NoSession):
    """See `hilgw.bodies.base.BodySession`."""

    def _count(self) -> Refusal:
        self.counts[f"refused_{_NO_BODY.reason}"] += 1
        return _NO_BODY

    def _refuse(self, index: int) -> list[Event]:
        refusal = self._count()
        return [Refused(index, refusal.reason, refusal.text)]

    def command(self, command: Command, now: int) -> tuple[Outcome, list[Event]]:
        return self._count(), []

    def switch(self, index: int, period_ms: float | None, now: int) -> list[Event]:
        return []

    def own_period(self, index: int) -> float | None:
        return None

    def send(self, packet: PacketOut, now: int) -> list[Event]:
        return self._refuse(packet.index)

    def tune(self, settings: DeviceSettings, now: int) -> list[Event]:
        return self._refuse(settings.index)

    def stop_command(self, index: int, mode: Mode) -> Command | None:
        return None

    def stop_commands(self) -> list[Command]:
        return []

    def stop(self, reason: StopReason, now: int) -> list[Event]:
        return []

    def stop_motor(self, index: int, now: int) -> list[Event] | None:
        return None

    def stop_bytes(self) -> bytes:
        return b""

    def faults(self) -> list[str]:
        return []

    def is_idle(self) -> bool:
        return True


class _NoControllerSession(_NoSession):
    """See `hilgw.controllers.base.PeerSession`."""

    def register(self, device: Device) -> list[Event]:
        return []

    def forget(self) -> None:
        return

    def forget_values(self) -> None:
        return

    def report(self, values: Iterable[tuple[int, Value]], now: int) -> list[Event]:
        return []

    def feedback(self, index: int, value: float, now: int) -> list[Event]:
        return []

    def deliver(self, packet: PacketIn) -> list[Event]:
        self.counts[f"refused_{RequestRefused.NO_CONTROLLER}"] += 1
        return []

    def fault(self, index: int) -> list[Event]:
        return []
