"""A control loop in `--report`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hilgw.engine.statistics import ControlLoopStatistics, finite, merged, refusals

if TYPE_CHECKING:
    from hilgw.engine.control_loop.forwarder import Forwarder
    from hilgw.engine.control_loop.peer_link import PeerLink
    from hilgw.engine.control_loop.safety import Safety


def report_of(
    body: PeerLink[Any] | None,
    controller: PeerLink[Any] | None,
    statistics: ControlLoopStatistics,
    safety: Safety,
    forwarder: Forwarder | None = None,
) -> dict[str, Any]:
    """Plain JSON types, no NaN."""
    ends = {"body": body, "controller": controller}
    links = {end: link for end, link in ends.items() if link is not None}
    counts = {
        end: dict(link.session.counts)
        | {f"frames_{reason}": count for reason, count in link.dropped.items()}
        for end, link in links.items()
    }
    return {
        **{end: None if link is None else link.identity for end, link in ends.items()},
        "sensors": finite(statistics.named_values()),
        "units": statistics.units(),
        "motors": finite(statistics.motors),
        **dict(statistics.counts),
        "refused": merged(
            statistics.refused,
            *map(refusals, counts.values()),
            *(link.refused for link in links.values()),
        ),
        "stops": dict(safety.state.stops),
        "armed": safety.state.armed,
        "latched": safety.state.latched,
        "emergency_stops": safety.emergency_stop.triggered,
        "sensor_to_motor": statistics.latency.as_dict(),
        "counts": counts,
        **({} if forwarder is None else {"forwarded": dict(forwarder.counts)}),
    }
