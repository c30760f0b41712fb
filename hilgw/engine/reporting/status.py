"""The status of a gateway at one instant, for `hilgw status` and `hilgw metrics`."""

import asyncio
import os
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any

from hilgw import __version__
from hilgw.engine.gateway import Gateway
from hilgw.engine.observer import State
from hilgw.engine.reporting.latency import BOUNDS_S
from hilgw.engine.reporting.parts import TOGETHER, Parts, plain, texts
from hilgw.engine.robot.ports import EmitterPort
from hilgw.events.kinds import StatusJson
from hilgw.medium.pose import Pose
from hilgw.units import ns_to_s

StatusSteps = Iterator[StatusJson | None]
"""Makes the status event, a few parts in each step: None until it is complete."""


def status_of(gateway: Gateway, config: str, clients: int) -> dict[str, Any]:
    """Return the status of the gateway in plain JSON types and `Parts`.

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
        **_changing(gateway),
        "clients": {"control socket": clients, **listening},
        **({"federation": gateway.federation.status()} if gateway.federation else {}),
    }


def status_steps(gateway: Gateway, more: dict[str, Any]) -> StatusSteps:
    """Make the status event of what changes, and `more`: its JSON, which is not encoded again."""
    made = texts((_changing(gateway) | more).items(), plain)
    status = ""
    while some := "".join(islice(made, TOGETHER)):
        status += some
        yield None
    yield StatusJson(status)


def make_in_turns(steps: StatusSteps, then: Callable[[StatusJson], None]) -> None:
    """Make the status event, a step in each turn of the event loop from now on; then pass it on."""
    for made in islice(steps, 1):
        if made is None:
            asyncio.get_running_loop().call_soon(make_in_turns, steps, then)
        else:
            then(made)


def _changing(gateway: Gateway) -> dict[str, Any]:
    loops, now_s = gateway.control_loops, ns_to_s(gateway.timer.now())
    clocks = (each for name in loops for each in loops[name].clocks_s().items())
    return {
        "memory_bytes": resident_bytes(),
        "ports": _ports(gateway),
        "robots": ((name, loops[name].state()) for name in loops),
        "losses": gateway.ledger.losses(),
        "queues": gateway.ledger.queues(),
        "mono_ns": gateway.real_timer.now(),
        "clocks_s": chain([("gateway", now_s)], clocks),
        "ranges": ((each.name, each.emitter.range) for each in _emitters(gateway)),
        "latency_bounds_s": BOUNDS_S,
        "latency": (
            (hop, ((name, each.histogram()) for name, each in named.items()))
            for hop, named in gateway.hops().items()
        ),
    }


def _emitters(gateway: Gateway) -> Iterator[EmitterPort]:
    return (each for robot in gateway.robots.values() for each in robot.emitters.values())


def layout_of(gateway: Gateway) -> dict[str, Any]:
    """Return what the gateway's parts are, and where, in plain JSON types and `Parts`.

    The part of `status_of` that has no counts.
    """
    topology = {
        "robots": ((name, robot.devices()) for name, robot in gateway.robots.items()),
        "stations": {name: station.air for name, station in gateway.stations.items()},
        "mocks": [mock.name for host in gateway.hosts for mock in host.mocks],
    }
    return {"topology": iter(topology.items()), "scene": iter(_scene(gateway).items())}


def _ports(gateway: Gateway) -> Parts:
    """Yield the status of each port. down: it is not up, and the gateway needs it."""
    now, counts, needed = gateway.timer.now(), gateway.counters(), gateway.required()
    for name, port in list(gateway.supervisors.items()):
        yield (
            name,
            {
                "state": port.state.value,
                "reason": port.reason,
                "identity": port.identity,
                "port": port.where,
                "down": port in needed and (not port.ready or port.state is State.FAILED),
                "last_byte_s": port.passed.age_s(now),
                **gateway.history.of(name, counts[name]),
            },
        )


def _scene(gateway: Gateway) -> dict[str, Any]:
    """Return what is where, and how far it sends.

    mono_ns: when it was so, as events have it. up: the axis that points up; cone: the one of a
    device that is the axis of its cone. objects: what can be placed, null: at an unknown pose.
    Emitters, listeners and obstacles: the object that each is on, and its pose there; half: of an
    obstacle, half extents along its axes.
    """
    scene, medium = gateway.scene, gateway.medium
    poses = ((name, scene.pose_of(name)) for name in scene.objects)
    return {
        "mono_ns": gateway.real_timer.now(),
        "up": scene.up,
        "cone": medium.cone_axis,
        "objects": ((name, None if pose is None else _pose(pose)) for name, pose in poses),
        "emitters": (
            (
                each.name,
                {
                    "on": each.mount.object,
                    **_pose(each.mount.pose),
                    "type": each.emitter.fields.type,
                    "range": each.emitter.range,
                    "aperture": each.emitter.fields.aperture,
                },
            )
            for each in _emitters(gateway)
        ),
        "listeners": (
            (
                each.name,
                {
                    "on": each.mounted_on,
                    **_pose(each.mount),
                    "type": each.type,
                    "aperture": each.aperture,
                },
            )
            for each in list(medium.listeners)
        ),
        "obstacles": (
            (
                name,
                {
                    "on": each.attached_to,
                    **_pose(each.mount),
                    "shape": type(each.solid).__name__.lower(),
                    "half": each.solid.half,
                },
            )
            for name, each in scene.obstacles.items()
        ),
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
