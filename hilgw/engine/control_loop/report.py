"""A control loop in `--report`, and in the status for observers."""

import dataclasses
from typing import Any

from hilgw.control.divergence import Comparison
from hilgw.control.events import StopReason
from hilgw.control.safety import SafetyState
from hilgw.engine.control_loop.bodies.body_end import BodyEnd
from hilgw.engine.control_loop.bodies.body_ends import BodyEnds
from hilgw.engine.control_loop.bodies.mode_switch import ModeSwitch
from hilgw.engine.control_loop.bodies.shadow import divergence_report
from hilgw.engine.control_loop.devices.radios import Forwarder
from hilgw.engine.control_loop.parts import LoopContext
from hilgw.engine.control_loop.peer_link import PeerLink
from hilgw.engine.control_loop.presence import Presence
from hilgw.engine.control_loop.safety import Safety
from hilgw.engine.reporting.statistics import ControlLoopStatistics, finite, merged, refusals
from hilgw.transports.base import Wakeup
from hilgw.units import NS_PER_S, ns_to_s

BY_HAND = (
    StopReason.LEASE_ENDED,
    StopReason.LEASE_EXPIRED,
    StopReason.LEASE_OVER,
    StopReason.ESTOP,
    StopReason.RELEASED,
)
STATUS_NS = NS_PER_S  # between two reports to the observer


def report_of(
    body: PeerLink[Any],
    controller: PeerLink[Any],
    statistics: ControlLoopStatistics,
    safety: Safety,
    forwarder: Forwarder,
) -> dict[str, Any]:
    """Return the report, in plain JSON types and `Parts`, and without NaN."""
    links = {"body": body, "controller": controller}
    counts = {
        end: dict(link.session.counts)
        | {f"frames_{reason}": count for reason, count in link.dropped.items()}
        for end, link in links.items()
    }
    motors, units = statistics.last_motors().items(), dict[str, Any]()
    return {
        **{end: None if link.is_absent else link.identity for end, link in links.items()},
        "sensors": ((name, finite(value)) for name, value in statistics.named_values(units)),
        "units": (each for of in [units] for each in of.items()),  # once all sensors are made
        "motors": ((name, finite(each)) for name, each in motors),
        **dict(statistics.counts),
        "refused": merged(
            statistics.refused,
            *map(refusals, counts.values()),
            *(link.refused for link in links.values()),
        ),
        "stops": dict(safety.state.stops),
        "armed": safety.state.armed,
        "latched": safety.state.latched,
        **_disarmed(safety.state),
        "emergency_stops": safety.emergency_stop.triggered,
        "sensor_to_motor": statistics.latency.as_dict(),
        "counts": {end: counts[end] for end, link in links.items() if not link.is_absent},
        **({"forwarded": dict(forwarder.counts)} if forwarder.is_used else {}),
    }


def _disarmed(state: SafetyState) -> dict[str, str]:
    by = state.disarmed_by
    return {"disarmed_by": by} if by in BY_HAND and by is not None else {}


def mode_report(bodies: BodyEnds, comparison: Comparison) -> dict[str, Any]:
    """Return what a robot with two bodies adds; empty for any other robot."""
    if bodies.remote is None:
        return {}
    shadow = bodies.shadow
    return {
        "mode": bodies.mode,
        "bodies": {end.link.name.rpartition(".")[2]: _body(end) for end in bodies},
        **({} if shadow is None else {"shadow": _shadow(shadow.statistics)}),
        "divergence": divergence_report(comparison),
    }


def _shadow(statistics: ControlLoopStatistics) -> dict[str, Any]:
    return {
        "commands_out": statistics.counts["commands_out"],
        "refused": dict(statistics.refused),
    }


def _body(end: BodyEnd) -> dict[str, Any]:
    return {
        "identity": end.link.identity,
        "up": end.is_up,
        "stops": dict(end.safety.state.stops),
        "armed": end.safety.state.armed,
        "latched": end.safety.state.latched,
        "emergency_stops": end.safety.emergency_stop.triggered,
    }


def state_of(bodies: BodyEnds, presence: Presence) -> dict[str, Any]:
    """Return the present state, for `hilgw status`.

    down: the bodies that get commands and are not there.
    """
    safety, statistics = bodies.safety.state, bodies.safety.statistics
    ends = {end.link.name.rpartition(".")[2]: end for end in bodies if not end.link.is_absent}
    absence, late = presence.absence(), statistics.lateness.as_dict()
    return {
        "armed": safety.armed,
        "latched": safety.latched,
        **_disarmed(safety),
        "mode": bodies.mode if bodies.remote is not None else None,
        "bodies": {key: "up" if end.is_up else "down" for key, end in ends.items()},
        "down": [
            key for key, end in ends.items() if not end.is_up and end.safety in bodies.commanded
        ],
        "controller": {"runs": not absence, "text": absence},
        "late_steps": late,
    }


class StatusTimer:
    """Reports the control loop to the observer once a second."""

    def __init__(
        self, context: LoopContext, bodies: BodyEnds, modes: ModeSwitch, presence: Presence
    ) -> None:
        self._context = context
        self._bodies = bodies
        self._modes = modes
        self._presence = presence
        self._wakeup = Wakeup(context.scheduler, self._show)
        self._shown_ns = 0

    def start(self) -> None:
        self._shown_ns = now = self._context.scheduler.now()
        self._wakeup.set(now + STATUS_NS)

    def stop(self) -> None:
        self._wakeup.set(None)

    def _show(self, due: int) -> None:
        context, now = self._context, self._context.scheduler.now()
        seconds, self._shown_ns = ns_to_s(now - self._shown_ns), now
        end = self._bodies.active
        status = dataclasses.replace(
            context.statistics.status(seconds, armed=self._bodies.safety.state.armed),
            body_down_s=ns_to_s(now - end.lost_ns) if end.was_lost else None,
            controller=not self._presence.absence(),
        )
        if self._bodies.remote is not None:
            mode, divergences = self._modes.status(now)
            status = dataclasses.replace(status, mode=mode, divergences=divergences)
        context.observer.control_loop(context.name, status)
        self._wakeup.set(now + STATUS_NS)
