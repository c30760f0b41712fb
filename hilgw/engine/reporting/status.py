"""The status of a gateway at one instant, for `hilgw status` and `hilgw metrics`."""

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from hilgw import __version__
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import State
from hilgw.engine.reporting.latency import BOUNDS_S
from hilgw.events.kinds import Status
from hilgw.medium.pose import Pose
from hilgw.units import ns_to_s

TOGETHER = 5
"""Parts of the status event that are made in one step, at most."""
_ENCODE, _DECODE = json.JSONEncoder().encode, json.JSONDecoder(parse_constant=str).decode
StatusSteps = Iterator[Status | None]
"""Makes the status event, a few parts in each step: None until it is complete."""


def status_of(gateway: Gateway, config: str, clients: int) -> dict[str, Any]:
    """Return the status of the gateway in plain JSON types.

    config: the file that the gateway runs. clients: of its control socket.
    """
    history, counts = gateway.history, dict[str, Any]()
    for keys, part in _changing(gateway):
        _put(counts, keys, part)
    listening = {each.where: each.clients for each in gateway.listening if each.where}
    return {
        "version": __version__,
        "config": config,
        "pid": os.getpid(),
        "uptime_s": history.age_s(history.began_ns),
        **layout_of(gateway),
        **counts,
        "clients": {"control socket": clients, **listening},
        **({"federation": gateway.federation.status()} if gateway.federation else {}),
    }


def status_steps(gateway: Gateway, more: dict[str, Any]) -> StatusSteps:
    """Make the status event of what changes, and `more`, in plain types."""
    counts: dict[str, Any] = {}
    parts = chain(_changing(gateway), (((key,), more[key]) for key in more))
    while some := list(islice(parts, TOGETHER)):
        for keys, part in _DECODE(_ENCODE(some)):
            _put(counts, keys, part)
        yield None
    yield Status(counts)


def make_in_turns(steps: StatusSteps, then: Callable[[Status], None]) -> None:
    """Make the status event, a step in each turn of the event loop from now on; then pass it on."""
    for made in islice(steps, 1):
        if made is None:
            asyncio.get_running_loop().call_soon(make_in_turns, steps, then)
        else:
            then(made)


def _changing(gateway: Gateway) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield what changes in parts, and the keys of each: memory, ports, robots and so on."""
    loops = gateway.control_loops
    yield ("memory_bytes",), resident_bytes()
    yield from _ports(gateway)
    yield ("robots",), {}
    yield from ((("robots", name), loops[name].state()) for name in loops)
    yield ("losses",), gateway.ledger.losses()
    yield ("queues",), gateway.ledger.queues()
    yield ("mono_ns",), gateway.real_timer.now()
    yield (
        ("clocks_s",),
        {
            "gateway": ns_to_s(gateway.timer.now()),
            **{port: each for name in loops for port, each in loops[name].clocks_s().items()},
        },
    )
    yield (
        ("ranges",),
        {
            each.name: each.emitter.range
            for robot in gateway.robots.values()
            for each in robot.emitters.values()
        },
    )
    yield ("latency_bounds_s",), BOUNDS_S
    for hop, named in gateway.hops().items():
        yield ("latency", hop), {}
        yield from ((("latency", hop, name), each.histogram()) for name, each in named.items())


def _put(counts: dict[str, Any], keys: Sequence[str], part: Any) -> None:
    *outer, last = keys
    for key in outer:
        counts = counts.setdefault(key, {})
    counts[last] = part


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


def _ports(gateway: Gateway) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the status of each port. down: it is not up, and the gateway needs it."""
    now, counts, needed = gateway.timer.now(), gateway.counters(), gateway.required()
    yield ("ports",), {}
    for name, port in list(gateway.supervisors.items()):
        state = {
            "state": port.state.value,
            "reason": port.reason,
            "identity": port.identity,
            "port": port.where,
            "down": port in needed and (not port.ready or port.state is State.FAILED),
            "last_byte_s": port.passed.age_s(now),
            **gateway.history.of(name, counts[name]),
        }
        yield ("ports", name), state


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
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - it is read each second
            pages = int(file.read().split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
