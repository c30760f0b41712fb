"""Drawing of a gateway on Scene: objects, how far they send, and where packets arrived.

A point of the plan is a complex number: metres to the right, and down, as seen from above.
"""

import cmath
import math
from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple

from hilgw.events.words import in_words as words
from hilgw.medium.listeners import stage
from hilgw.medium.pose import IDENTITY, Pose, Vector
from hilgw.units import NS_PER_S
from hilgw.view.gateway import NO_SCENE, NO_TOPOLOGY, Event, GatewayView
from hilgw.web.pages.packets import Filter

MOST_THINGS, MOST_FLIGHTS, MOST_COPIES = 300, 25, 4000
SIGNALS = {"emitters": "emitter", "listeners": "receiver"}
ALL_AROUND = [cmath.rect(1, math.tau * n / 36) for n in range(36)]


class Thing(NamedTuple):
    """An object of the plan.

    kind: robot, module or obstacle, which can be placed; emitter or receiver; else the shape of an
    obstacle. size: of an emitter or a receiver, range (inf: unlimited) and aperture (-1: all
    around); of a shape, half extents along its own axes; else none.
    """

    name: str
    kind: str
    pose: Pose
    size: tuple[float, ...] = ()


class Flight(NamedTuple):
    """The packets of the last second that took one way.

    The way: source, listener, and why it did not receive them, or "". Without a listener on the
    channel, both ends are the source. objects: those that the ends are on.
    """

    way: tuple[str, str, str]
    packets: int
    ends: tuple[Vector, Vector]
    objects: frozenset[str]


class Drawing(NamedTuple):
    """Content of the plan.

    up: the axis that points up; cone: the axis of a device that is that of its cone, and of a robot
    the direction that it faces. nowhere: objects whose pose is unknown, with their packets of the
    last second. left_out: what there is more than is drawn, in words.
    """

    up: int
    cone: int
    things: list[Thing]
    flights: list[Flight]
    nowhere: dict[str, int]
    left_out: str

    @property
    def objects(self) -> dict[str, Thing]:
        return {each.name: each for each in self.things if not each.size}

    @property
    def labels(self) -> list[tuple[str, Vector, str]]:
        """Labels, one for each pair of objects: in the middle, why packets were lost."""
        texts: dict[frozenset[str], tuple[Vector, dict[str, None]]] = {}
        for (_, _, why), _, ((a, b, c), (x, y, z)), pair in self.flights:
            if why:
                middle = ((a + x) / 2, (b + y) / 2, (c + z) / 2)
                texts.setdefault(pair, (middle, {}))[1][words(why)] = None
        return [(" ".join(sorted(pair)), at, ", ".join(whys)) for pair, (at, whys) in texts.items()]

    @property
    def down(self) -> tuple[int, int]:
        """The axis of the world that is the second one of the plan, and whether it points down."""
        return 3 - self.up, -1 if self.up == 2 else 1

    def flat(self, point: Vector) -> complex:
        """Return the point in the plan."""
        axis, sign = self.down
        return complex(point[0], sign * point[axis])

    def moved(self, name: str, to: complex) -> tuple[list[float], tuple[float, ...]]:
        """Return position and rotation (axis, angle) of an object moved to a point of the plan."""
        pose, (axis, sign) = self.objects.get(name, Thing("", "", IDENTITY)).pose, self.down
        i, j, k, w = pose.quaternion()
        where = [to.real, *pose.position[1:]]
        where[axis] = sign * to.imag
        return where, (i, j, k or not (i or j), 2 * math.acos(min(w, 1.0)))

    def outline(self, solid: Thing) -> list[complex]:
        """Return the corners of what a shape covers in the plan.

        They are the farthest points of its core, and around these a disc (of a cylinder) or a ball.
        """
        half, up, points = solid.size, self.up, []
        radius = 0.0 if solid.kind == "box" else half[up - 1]
        axes = [self.flat(solid.pose.axis(n)) for n in range(3)]
        inset = radius if solid.kind != "cylinder" else 0.0
        arms = [axes[n] * (half[n] - inset) for n in ((0, 1, 2) if solid.kind == "box" else (up,))]
        lean = axes[up] if solid.kind == "cylinder" else 0j
        for to in ALL_AROUND:
            along = _dot(lean, to)
            rim = radius / math.sqrt(max(1 - along * along, 1e-9)) * (to - along * lean)
            points.append(rim + sum(math.copysign(1, _dot(arm, to)) * arm for arm in arms))
        return [self.flat(solid.pose.position) + each for each in points]


def _dot(a: complex, b: complex) -> float:
    return (a * b.conjugate()).real


def drawing_of(view: GatewayView, now: int, name: str = "") -> Drawing:
    """Return all of it as it is now, as far as the page has it.

    With a `name`, ranges and ways of packets are only of the objects and devices with this in their
    names.
    """
    known, ranges = view.status.get("scene", NO_SCENE), view.status.get("ranges", {})
    emitters = {
        n: {**each, "range": ranges.get(n, each["range"])} for n, each in known["emitters"].items()
    }
    known = {**known, "emitters": emitters}
    known_poses = known["objects"] | view.newest["placed"]
    poses = {name: _pose(each) for name, each in known_poses.items() if each and each["position"]}
    robots = view.status.get("topology", NO_TOPOLOGY)["robots"]
    kinds = dict.fromkeys(known["obstacles"], "obstacle") | dict.fromkeys(robots, "robot")
    things = [Thing(name, kinds.get(name, "module"), pose) for name, pose in poses.items()]
    parts = [
        Thing(name, kind or each["shape"], poses[each["on"]].compose(_pose(each)), _size(each))
        for part, kind in (SIGNALS | {"obstacles": ""}).items()
        for name, each in known[part].items()
        if each["on"] in poses
    ]
    spots = poses | {each.name: each.pose for each in parts if each.kind in SIGNALS.values()}
    on = {name: each["on"] for part in SIGNALS for name, each in known[part].items()}
    chosen = Filter(name)
    hidden = {name for name, object in on.items() if not chosen.is_of([name, object])}
    things += [each for each in parts if each.size != (math.inf, -1) and each.name not in hidden]
    nowhere, flights = Counter(dict.fromkeys(known_poses.keys() - poses.keys(), 0)), []
    recent = (e for e in reversed(view.packets.since(0)) if now - e["mono_ns"] <= NS_PER_S)
    ways = (way for packet in recent for way in _ways(packet))
    for way, count in Counter(islice(ways, MOST_COPIES)).items():
        ends = {name: on.get(name, name.partition(".")[0]) for name in way[:2] if name}
        nowhere.update({each: count for each in ends.values() if each in nowhere})
        where = [
            spots[n if n in spots else o].position
            for n, o in ends.items()
            if n in spots or o in spots
        ]
        if len(where) == len(ends) and chosen.is_of([*ends, *ends.values()]):
            flights.append(Flight(way, count, (where[0], where[-1]), frozenset(ends.values())))
    flights.sort(key=lambda each: -stage(each.way[2]))  # those that came nearest to a listener
    shown = [
        each
        for lost in (False, True)
        for each in [one for one in flights if bool(one.way[2]) is lost][:MOST_FLIGHTS]
    ]
    more = {"parts": len(things) - MOST_THINGS, "ways of packets": len(flights) - len(shown)}
    left_out = ", ".join(f"{count} {name}" for name, count in more.items() if count > 0)
    some = things[:MOST_THINGS], shown
    return Drawing(known["up"], known["cone"], *some, dict(nowhere), left_out)


def _pose(shown: Mapping[str, Any]) -> Pose:
    (x, y, z), (a, b, c) = shown["position"], map(tuple, shown["rotation"])
    return Pose((x, y, z), (a, b, c))


def _size(part: Mapping[str, Any]) -> tuple[float, ...]:
    if "half" in part:
        return tuple(part["half"])
    reach, aperture = part.get("range", -1), part["aperture"]
    has_cone = part["type"] == "infra-red" and 0 <= aperture < math.tau
    return math.inf if reach < 0 else reach, aperture if has_cone else -1


def _ways(packet: Event) -> list[tuple[str, str, str]]:
    ends = [*((to, "") for to in packet["received_by"]), *packet["missed"].items()]
    return [(packet["source"], *end) for end in ends or [("", packet["not_received"])]]
