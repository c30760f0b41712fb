"""The status of a gateway at one instant, for `hilgw status` and `hilgw metrics`."""

import json
import os
from pathlib import Path
from typing import Any

from hilgw import __version__
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import State
from hilgw.engine.reporting.latency import BOUNDS_S
from hilgw.events.kinds import Status
from hilgw.medium.pose import Pose
from hilgw.units import ns_to_s


def status_of(gateway: Gateway, config: str, clients: int) -> dict[str, Any]:
    """Return the status of the gateway in plain JSON types.

    config: the file that the gateway runs. clients: of its control socket.
    """
    history = gateway.history
    listening = {each.where: each.clients for each in gateway.listening if each.where}
    return {
        "version": __version__,
        "config": config,
        "pid": os.getpid(),
        "uptime_s": history.age_s(history.began_ns),
        **layout_of(gateway),
        **counts_of(gateway),
        "clients": {"control socket": clients, **listening},
        **({"federation": gateway.federation.status()} if gateway.federation else {}),
    }


def counts_of(gateway: Gateway) -> dict[str, Any]:
    """Return what changes of the status: memory, ports, robots, losses, latencies and so on."""
    loops = gateway.control_loops
    return {
        "memory_bytes": resident_bytes(),
        "ports": _ports(gateway),
        "robots": {name: loops[name].state() for name in loops},
        "losses": gateway.ledger.losses(),
        "queues": gateway.ledger.queues(),
        "mono_ns": gateway.real_timer.now(),
        "clocks_s": {
            "gateway": ns_to_s(gateway.timer.now()),
            **{port: each for name in loops for port, each in loops[name].clocks_s().items()},
        },
        "ranges": {
            each.name: each.emitter.range
            for robot in gateway.robots.values()
            for each in robot.emitters.values()
        },
        "latency_bounds_s": BOUNDS_S,
        "latency": {
            hop: {name: each.histogram() for name, each in named.items()}
            for hop, named in gateway.hops().items()
        },
    }


def status_event(counts: dict[str, Any]) -> Status:
    """Return the event with these counts, in plain types."""
    return Status(json.loads(json.dumps(counts), parse_constant=str))


def layout_of(gateway: Gateway) -> dict[str, Any]:
    """Return what the gateway's parts are, and where, in plain JSON types.

    The part of `status_of` that has no counts.
    """
    return {
        "topology": {
            "robots": {name: robot.devices() for name, robot in gateway.robots.items()},
            "stations": {name: station.air for name, station in gateway.stations.items()},
            "mocks": [mock.name for host in gateway.hosts for mock in host.mocks],
        },
        "scene": _scene(gateway),
    }


def _ports(gateway: Gateway) -> dict[str, Any]:
    """Return the status of each port. down: it is not up, and the gateway needs it."""
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


def _scene(gateway: Gateway) -> dict[str, Any]:
    """Return what is where, and how far it sends.

    mono_ns: when it was so, as events have it. up: the axis that points up; cone: the one of a
    device that is the axis of its cone. objects: what can be placed, null: at an unknown pose.
    Emitters, listeners and obstacles: the object that each is on, and its pose there; half: of an
    obstacle, half extents along its axes.
    """
    scene, medium = gateway.scene, gateway.medium
    poses = {name: scene.pose_of(name) for name in scene.objects}
    return {
        "mono_ns": gateway.real_timer.now(),
        "up": scene.up,
        "cone": medium.cone_axis,
        "objects": {name: None if pose is None else _pose(pose) for name, pose in poses.items()},
        "emitters": {
            each.name: {
                "on": each.mount.object,
                **_pose(each.mount.pose),
                "type": each.emitter.fields.type,
                "range": each.emitter.range,
                "aperture": each.emitter.fields.aperture,
            }
            for robot in gateway.robots.values()
            for each in robot.emitters.values()
        },
        "listeners": {
            each.name: {
                "on": each.mounted_on,
                **_pose(each.mount),
                "type": each.type,
                "aperture": each.aperture,
            }
            for each in medium.listeners
        },
        "obstacles": {
            name: {
                "on": each.attached_to,
                **_pose(each.mount),
                "shape": type(each.solid).__name__.lower(),
                "half": each.solid.half,
            }
            for name, each in scene.obstacles.items()
        },
    }


def _pose(pose: Pose) -> dict[str, Any]:
    return {"position": pose.position, "rotation": pose.rows}


def resident_bytes() -> int | None:
    """Return the memory that this process has now; None where the system does not show it."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
