"""A loop: what a controller wants reaches a body's motors, what its sensors show the controller.

Any of the one with any of the other, each behind a `Side`. The loop knows no protocol, no port
and no limits of motors: those are the body session's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hilgw.engine.control_loop.drive import FAULT, Safety
from hilgw.engine.control_loop.figures import finite, merged, refusals
from hilgw.engine.control_loop.sensing import Sensing
from hilgw.engine.control_loop.wishes import Wishes

if TYPE_CHECKING:
    from hilgw.control.safety import SafetyState
    from hilgw.engine.control_loop.brake import EmergencyStop
    from hilgw.engine.control_loop.parts import Parts
    from hilgw.medium.packet import Copy
    from hilgw.transports.base import Handle

STATUS_NS = 1_000_000_000


class ControlLoop:
    """One robot's loop, as `hilgw.config` put its parts together."""

    def __init__(self, parts: Parts, failsafe: SafetyState, brake: EmergencyStop) -> None:
        self.name = parts.name
        self.failsafe = failsafe
        self.drive = Safety(parts, failsafe, brake)
        self._parts = parts
        self._brake = brake
        self._sensing = Sensing(parts, self.drive)
        self._wishes = Wishes(parts, self.drive)
        self._tick: Handle | None = None
        self._ticked_ns = 0
        if (body := parts.body) is not None:
            body.lock = brake.lock
            body.take = self._sensing.take
            body.attached = brake.hold
            body.gone = self._body_gone
            body.faulted = self.drive.body_fault
        if (controller := parts.controller) is not None:
            controller.take = self._wishes.take
            controller.gone = self._controller_gone
            controller.faulted = lambda now: self.drive.stop(FAULT, now)
            controller.drained = self._sensing.show_held
            controller.swamped = self.drive.swamped

    def start(self) -> None:
        now = self._ticked_ns = self._parts.scheduler.now()
        self._sensing.start(now)
        self._tick = self._parts.scheduler.call_at(now + STATUS_NS, self._show)

    def end(self) -> None:
        """The motors stop, and stay so; the connections are closed a little later, by others."""
        self.drive.end(self._parts.scheduler.now())

    def has_drained(self) -> bool:
        """Whether the body's connection has taken all that was written."""
        return self._parts.body is None or self._parts.body.has_drained()

    def close(self) -> None:
        if self._tick is not None:
            self._tick.cancel()
        self._sensing.close()
        self._brake.release()

    def packet(self, receiver: str, copy: Copy) -> None:
        """A Receiver that the configuration lists has read a packet."""
        self._sensing.heard(receiver, copy)

    def _body_gone(self, now: int) -> None:
        self._brake.release()
        self._sensing.gone("the connection is closed", now)

    def _controller_gone(self, now: int) -> None:
        self.drive.stop("disconnected", now)
        self._wishes.let_go(now)
        self._sensing.controller_gone()

    def _show(self) -> None:
        """Once a second: what the loop does, for whoever watches."""
        parts = self._parts
        now = parts.scheduler.now()
        seconds, self._ticked_ns = (now - self._ticked_ns) / 1e9, now
        parts.observer.control_loop(self.name, parts.figures.status(seconds))
        self._tick = parts.scheduler.call_at(now + STATUS_NS, self._show)

    def report(self) -> dict[str, Any]:
        """The loop in figures: plain JSON types, no NaN."""
        parts, figures = self._parts, self._parts.figures
        body, controller = parts.body, parts.controller
        counts = {
            side: dict(part.session.counts)
            | {f"frames_{reason}": count for reason, count in part.dropped.items()}
            for side, part in (("body", body), ("controller", controller))
            if part is not None
        }
        return {
            "body": None if body is None else body.identity,
            "controller": None if controller is None else controller.identity,
            "sensors": finite(figures.sensors),
            "motors": finite(figures.motors),
            **dict(figures.counts),
            "refused": merged(
                figures.refused,
                *map(refusals, counts.values()),
                *(side.refused for side in (body, controller) if side is not None),
            ),
            "stops": dict(self.failsafe.stops),
            "latched": self.failsafe.latched or None,
            "emergency_stops": self._brake.pulled,
            "sensor_to_motor": figures.latency.as_dict(),
            "counts": counts,
        }
