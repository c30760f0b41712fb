"""The status of a gateway at one instant, for `hilgw status` and `hilgw metrics`.

Ports and control loops keep counters. They are sampled once a second: a rate is the difference
between now and a sample that is one to two seconds old, so nothing is computed for each byte.
"""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hilgw import __version__
from hilgw.engine.latency import BOUNDS_S
from hilgw.engine.observer import Observer, State
from hilgw.units import NS_PER_S, ns_to_s

if TYPE_CHECKING:
    from hilgw.engine.gateway import Gateway
    from hilgw.engine.supervisor import ObservedPort
    from hilgw.transports.base import Handle

SAMPLE_NS = NS_PER_S
COUNTED = ("received_bytes", "sent_bytes", "received_packets", "sent_packets")

Sample = dict[str, tuple[int, ...]]


class GatewayStatus(Observer):
    """Observes since when each port is in its state, and what it lost last."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._now = gateway.real_timer.now
        self._since: dict[str, tuple[State, int]] = {}
        self._losses: dict[str, tuple[int, str, str]] = {}
        self._samples: deque[tuple[int, Sample]] = deque(maxlen=2)
        self._timer: Handle | None = None
        gateway.observer.add(self)

    def start(self) -> None:
        """Begins to sample."""
        self._samples.append((self._now(), self._sample()))
        self._timer = self._gateway.real_timer.call_at(self._now() + SAMPLE_NS, self.start)

    def close(self) -> None:
        """Samples nothing any more."""
        if self._timer is not None:
            self._timer.cancel()

    # --- events of the gateway --------------------------------------------------------------------

    def state(self, station: str, state: State, reason: str) -> None:
        before, _ = self._since.get(station, (State.CLOSED, 0))
        if state is not before:
            self._since[station] = state, self._now()
        if before is State.UP and state is not State.CLOSED:
            self._losses[station] = self._now(), "port", reason

    def refused(self, station: str, reason: str, text: str) -> None:
        self._losses[station] = self._now(), "packet", str(reason)

    # --- the answer -------------------------------------------------------------------------------

    def answer(self, config: str, clients: int) -> dict[str, Any]:
        """All of it, in plain JSON types. config: the file that the gateway runs. clients: of the
        control socket."""
        gateway, sample = self._gateway, self._sample()
        required = gateway.required()
        listening = {each.where: each.clients for each in gateway.listening if each.where}
        return {
            "version": __version__,
            "config": config,
            "pid": os.getpid(),
            "uptime_s": round(ns_to_s(gateway.uptime_ns), 3),
            "memory_bytes": resident_bytes(),
            "ports": {
                name: self._port(port, sample, is_needed=port in required)
                for name, port in gateway.supervisors.items()
            },
            "robots": {name: gateway.control_loops[name].state() for name in gateway.control_loops},
            "clients": {"control socket": clients, **listening},
            "losses": gateway.ledger.losses(),
            "latency_bounds_s": BOUNDS_S,
            "latency": {
                hop: {name: each.histogram() for name, each in named.items()}
                for hop, named in gateway.hops().items()
            },
        }

    def _port(self, port: ObservedPort, sample: Sample, *, is_needed: bool) -> dict[str, Any]:
        now, name = self._now(), port.name
        counts = sample[name]
        _, since_ns = self._since.get(name, (port.state, now))
        loss_ns, what, reason = self._losses.get(name, (now, "", ""))
        passed = port.passed
        last_ns = None if passed is None else passed.last_ns
        idle_ns = None if last_ns is None else self._gateway.timer.now() - last_ns
        return {
            "state": port.state.value,
            "reason": port.reason,
            "identity": port.identity,
            "port": port.where,
            "since_s": round(ns_to_s(now - since_ns), 3),
            "down": is_needed and (not port.ready or port.state is State.FAILED),
            **dict(zip(COUNTED, counts, strict=True)),
            **self._rates(name, counts, now),
            "last_byte_s": None if idle_ns is None else round(ns_to_s(idle_ns), 3),
            "last_loss": {"what": what, "reason": reason, "age_s": round(ns_to_s(now - loss_ns), 3)}
            if what
            else None,
        }

    def _rates(self, name: str, counts: tuple[int, ...], now: int) -> dict[str, float]:
        """What passed in a second, of the last one to two seconds."""
        then_ns, then = self._samples[0] if self._samples else (now, {name: counts})
        seconds = ns_to_s(now - then_ns)
        before = then.get(name, (0,) * len(COUNTED))
        return {
            f"{what}_per_s": round((new - old) / seconds, 1) if seconds else 0.0
            for what, new, old in zip(COUNTED, counts, before, strict=True)
        }

    def _sample(self) -> Sample:
        """The counters of each port: those of COUNTED."""
        gateway = self._gateway
        packets: dict[str, tuple[int, int]] = {}
        for robot in gateway.control_loops:
            packets |= gateway.control_loops[robot].messages()
        for name, station in gateway.stations.items():
            count = station.statistics.count
            packets[name] = count.inbound - count.dropped.total(), count.delivered
        found: Sample = {}
        for name, port in gateway.supervisors.items():
            passed = port.passed
            data = (0, 0) if passed is None else (passed.received, passed.sent)
            found[name] = (*data, *packets.get(name, (0, 0)))
        return found


def resident_bytes() -> int | None:
    """The memory that this process has now; None where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
