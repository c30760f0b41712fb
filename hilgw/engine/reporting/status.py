"""The status of a gateway at one instant, for `hilgw status` and `hilgw metrics`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hilgw import __version__
from hilgw.engine.observer import State
from hilgw.engine.reporting.latency import BOUNDS_S
from hilgw.units import ns_to_s

if TYPE_CHECKING:
    from hilgw.engine.gateway import Gateway


def status_of(gateway: Gateway, config: str, clients: int) -> dict[str, Any]:
    """In plain JSON types. config: the file that the gateway runs. clients: of its control
    socket."""
    loops, history = gateway.control_loops, gateway.history
    listening = {each.where: each.clients for each in gateway.listening if each.where}
    return {
        "version": __version__,
        "config": config,
        "pid": os.getpid(),
        "uptime_s": history.age_s(history.began_ns),
        "memory_bytes": resident_bytes(),
        "ports": _ports(gateway),
        "robots": {name: loops[name].state() for name in loops},
        "topology": {
            "robots": {name: robot.devices() for name, robot in gateway.robots.items()},
            "stations": {name: station.air for name, station in gateway.stations.items()},
            "mocks": [mock.name for host in gateway.hosts for mock in host.mocks],
        },
        "clients": {"control socket": clients, **listening},
        "losses": gateway.ledger.losses(),
        "queues": gateway.ledger.queues(),
        "mono_ns": gateway.real_timer.now(),
        "clocks_s": {
            "gateway": ns_to_s(gateway.timer.now()),
            **{port: each for name in loops for port, each in loops[name].clocks_s().items()},
        },
        "latency_bounds_s": BOUNDS_S,
        "latency": {
            hop: {name: each.histogram() for name, each in named.items()}
            for hop, named in gateway.hops().items()
        },
    }


def _ports(gateway: Gateway) -> dict[str, Any]:
    """down: it is not up, and the gateway needs it."""
    now, counts, needed = gateway.timer.now(), gateway.counters(), gateway.required()
    return {
        name: {
            "state": port.state.value,
            "reason": port.reason,
            "identity": port.identity,
            "port": port.where,
            "down": port in needed and (not port.ready or port.state is State.FAILED),
            "last_byte_s": port.passed.age_s(now),
            **gateway.history.of(name, counts[name]),
        }
        for name, port in gateway.supervisors.items()
    }


def resident_bytes() -> int | None:
    """The memory that this process has now; None where the system does not show it."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
