"""What the page Scene draws: poses, reaches, shapes, ways of packets; and what it leaves out."""

import math
from typing import Any

import pytest

from hilgw.medium.obstacles import Box, Capsule, Cylinder, Solid, Sphere
from hilgw.medium.pose import Pose
from hilgw.reasons import NotReceivedReason
from hilgw.view.gateway import GatewayView
from hilgw.web.model import Bench
from hilgw.web.pages.drawing import (
    MOST_COPIES,
    MOST_FLIGHTS,
    MOST_THINGS,
    Drawing,
    Thing,
    drawing_of,
)
from hilgw.web.pages.scene import box_of, forms, lost, plan

EVIL = "<img src=x onerror=alert(1)>"
S = 1_000_000_000
NO_TURN = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
QUARTER = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]  # about z


def pose(*position: float, rotation: Any = NO_TURN) -> dict[str, Any]:
    return {"position": list(position), "rotation": rotation}


def device(on: str, type: str = "radio", aperture: float = -1, **more: Any) -> dict[str, Any]:
    return {"on": on, **pose(0.5, 0, 0), "type": type, "aperture": aperture, **more}


def scene(**more: Any) -> dict[str, Any]:
    known = {
        "objects": {"a": pose(1, 2, 3, rotation=QUARTER), "b": pose(4, 2, 0), "lost": None},
        "emitters": {"a.tx": device("a", range=2)},
        "listeners": {"b.rx": device("b"), "lost.rx": device("lost")},
        "obstacles": {},
    }
    return {"mono_ns": S, "up": 2, "cone": 0, **known, **more}


def packet(
    *received_by: str, source: str = "a.tx", at_ns: int = S, **missed: str
) -> dict[str, Any]:
    """missed: for `__` a dot."""
    why = {name.replace("__", "."): reason for name, reason in missed.items()}
    known = {"event": "packet", "mono_ns": at_ns, "source": source, "data": "00", "type": "radio"}
    more = {"received_by": list(received_by), "missed": why, "rssi_dbm": None, "channel": 1}
    return known | more | {"not_received": "" if received_by else "no_listener"}


def view(*events: dict[str, Any], **more: Any) -> GatewayView:
    gateway_view = Bench(lambda: S).opened("/run/1.sock", "/lab/arm.yaml", 11)
    topology = {"robots": {"a": ["tx"]}, "stations": {}, "mocks": []}
    gateway_view.set_status({"topology": topology, "ports": {}, "scene": scene(**more)}, S)
    for event in events:
        gateway_view.take(event, S)
    return gateway_view


def drawn(*events: dict[str, Any], **more: Any) -> Drawing:
    return drawing_of(view(*events, **more), S)


def test_the_newest_pose_counts() -> None:
    placed = {"event": "placed", "name": "a", "mono_ns": S, **pose(7, 7, 7)}
    assert drawn().objects["a"].pose.position == (1, 2, 3)
    assert drawn(placed).objects["a"].pose.position == (7, 7, 7)
    gone = drawn(placed | {"position": None, "rotation": None})
    assert "a" not in gone.objects
    assert gone.nowhere == {"a": 0, "lost": 0}


def test_packets_of_the_last_second_by_their_way() -> None:
    old, new, lost_there = packet("b.rx", at_ns=-1), packet("b.rx"), packet("lost.rx")
    drawing = drawn(old, new, new, packet(b__rx="cone"), packet(), lost_there)
    ends = {each.way: (each.packets, each.ends[1]) for each in drawing.flights}
    assert ends == {
        ("a.tx", "b.rx", ""): (2, (4.5, 2, 0)),
        ("a.tx", "b.rx", "cone"): (1, (4.5, 2, 0)),
        ("a.tx", "", "no_listener"): (1, (1, 2.5, 3)),
    }
    assert drawing.nowhere == {"lost": 1}
    text = lost(drawing)
    assert "<td>cone</td>" in text
    assert NotReceivedReason.known("cone").doc in text


@pytest.mark.parametrize(
    ("solid", "turn", "half"),
    [
        (Sphere(2), (0, 0, 1, 0), (2, 2)),
        (Box((2, 4, 6)), (0, 0, 1, math.pi / 2), (2, 1)),
        (Box((2, 4, 6)), (0, 1, 0, math.pi / 2), (3, 2)),
        (Cylinder(1, 6, 2), (0, 1, 0, math.pi / 2), (3, 1)),
        (Cylinder(1, 6, 2), (0, 1, 0, math.pi / 4), (4 / math.sqrt(2), 1)),
        (Capsule(1, 6, 2), (0, 1, 0, math.pi / 2), (4, 1)),
    ],
)
def test_the_outline_of_a_shape(solid: Solid, turn: Any, half: tuple[float, float]) -> None:
    where = Pose.from_axis_angle((10, 20, 5), turn)
    thing = Thing("o", type(solid).__name__.lower(), where, solid.half)
    corners = [each - (10 - 20j) for each in drawn().outline(thing)]
    size = max(each.real for each in corners), max(each.imag for each in corners)
    assert size == pytest.approx(half, abs=1e-3)
    alone = Drawing(2, 0, [thing], [], {}, "")
    made = [form for form, *_ in forms(alone, 10)]
    assert len(made) == (3 if isinstance(solid, Capsule | Sphere) else 1)


def test_what_is_moved_keeps_its_height_and_its_turn() -> None:
    where, (x, y, z, angle) = drawn().moved("a", 5 - 6j)
    assert where == [5, 6, 3]
    assert (x, y) == (0, 0)
    assert z * angle == pytest.approx(math.sin(angle / 2) * angle)
    assert angle == pytest.approx(math.pi / 2)
    assert drawn().moved("lost", 1 - 1j) == ([1, 1, 0], (0, 0, 1, 0))


def test_devices_are_where_their_robot_carries_them() -> None:
    things = {each.name: each for each in drawn().things}
    assert things["a.tx"].pose.position == (1, 2.5, 3)  # ahead of a robot that faces y
    assert (things["a"].kind, things["b"].kind) == ("robot", "module")
    assert "b.rx" not in things  # it has neither range nor cone


def test_the_plan_rests_while_objects_move_within_it() -> None:
    first = box_of(drawn(), [])
    nearer = drawn(objects={"a": pose(1, 2, 3), "b": pose(2, 2, 0)})
    assert box_of(nearer, first) == first
    assert box_of(drawn(objects={"a": pose(99, 2, 3)}), first)[1].real > 99


def test_where_y_points_up_the_plan_shows_x_and_z() -> None:
    drawing = drawn(up=1, cone=2)
    assert drawing.flat((1, 2, 3)) == 1 + 3j
    assert drawing.moved("b", 8 + 9j)[0] == [8, 2, 9]


def test_the_plan_shows_cones_ranges_names_and_why() -> None:
    wide = device("a", "infra-red", 2.0, range=3)
    drawing = drawn(packet(b__rx="obstacle"), emitters={"a.tx": wide, "b.tx": device("b", range=2)})
    html = plan(drawing, box_of(drawing, []))
    for text in ('"cone emitter"', "<circle", 'data-object="a"', ">obstacle<", 'class="missed"'):
        assert text in html, text
    made = [form[1] for form, *_ in forms(drawing, 10)]
    assert made.count("line") == 1
    assert made.count("text") == 3  # two names, and why


def test_a_pair_of_objects_has_one_label_with_all_reasons_in_plan_and_in_3d() -> None:
    back = {"source": "b.tx", "received_by": [], "missed": {"a.rx": "range"}}
    events = packet(b__rx="cone"), packet(b__rx="cone", source="a.ir"), packet() | back, packet()
    drawing = drawn(*events)
    assert len(drawing.flights) == 4
    assert {why for name, _, why in drawing.labels if name == "a b"} == {"cone, range"}
    assert [name for name, *_ in drawing.labels] == ["a b", "a"]  # the last one has no listener
    assert plan(drawing, box_of(drawing, [])).count('class="why"') == 2
    assert [form[2][0] for form, *_ in forms(drawing, 10) if form[4] == 1 and form[0] == "a b"] == [
        "cone, range"
    ]


def test_a_range_that_is_set_is_that_of_the_newest_status() -> None:
    status = {"event": "status", "mono_ns": S, "status": {"ranges": {"a.tx": 7.0}}}
    things = {each.name: each for each in drawn(status).things}
    assert things["a.tx"].size == (7.0, -1)
    assert things["a.tx"].pose.position == (1, 2.5, 3)  # ahead of a robot that faces y


def test_a_filter_leaves_the_ways_and_ranges_of_these_objects_and_all_objects() -> None:
    more = {"b.tx": device("b", range=2)}
    events = packet("b.rx"), packet(b__rx="cone"), packet(source="b.tx")
    gateway_view = view(*events, emitters=scene()["emitters"] | more)
    whole, some, none = (drawing_of(gateway_view, S, name) for name in ("", " A.", "nobody"))
    assert [each.way[0] for each in some.flights] == ["a.tx", "a.tx"]
    assert len(whole.flights) == 3
    assert [each.name for each in some.things if each.size] == ["a.tx"]
    assert some.objects == whole.objects == none.objects
    assert some.nowhere == whole.nowhere
    assert none.flights == []
    on_b = scene()["emitters"] | {"xbee0": device("b", range=2)}
    gateway_view = view(packet("b.rx"), packet("a.rx", source="xbee0"), emitters=on_b)
    carried = drawing_of(gateway_view, S, "b")
    assert [each.name for each in carried.things if each.size] == ["xbee0"]
    assert {each.way[0] for each in carried.flights} == {"a.tx", "xbee0"}
    ends = [each.ends for each in whole.flights if each.way[0] == "a.tx"]
    assert [each.ends for each in some.flights] == ends  # at the devices that are not drawn, too


def test_texts_of_others_are_text() -> None:
    names = {EVIL: pose(0, 0, 0), "b": pose(1, 1, 0)}
    drawing = drawn(packet(EVIL, source=EVIL), packet(source=EVIL, b=EVIL), objects=names)
    html = plan(drawing, box_of(drawing, [])) + lost(drawing)
    assert "<img" not in html
    assert html.count("&lt;img") >= 3


def test_it_is_bounded_and_shows_how_much_is_left_out() -> None:
    many = {f"o{n}": pose(n, 0, 0) for n in range(MOST_THINGS + 9)}
    listeners = {f"{name}.rx": device(name) for name in many}
    missed: Any = dict.fromkeys(many, "cone")
    events = [packet(*listeners, source="o0.tx"), packet(source="o0.tx", **missed)]
    drawing = drawn(*events, objects=many, listeners=listeners, emitters={})
    assert len(drawing.things) == MOST_THINGS
    assert len(drawing.flights) == 2 * MOST_FLIGHTS
    assert drawing.left_out.startswith("9 parts, ")
    drawing = drawn(*[packet("b.rx")] * 1000, packet(*["b.rx"] * (MOST_COPIES - 900)))
    assert sum(each.packets for each in drawing.flights) == MOST_COPIES
