"""The listeners that receive a packet, the signal of the copy, the reasons: one fact per row."""

import math
from collections.abc import Sequence
from operator import mul
from typing import Any

import pytest
from hypothesis import assume, example, given, strategies as st

from hilgw.errors import ConfigError
from hilgw.medium.ledger import Ledger
from hilgw.medium.listeners import Listener, OutOfRange, exclusion, within_cone
from hilgw.medium.medium import Medium, Missed
from hilgw.medium.obstacles import Obstacle, Sphere
from hilgw.medium.packet import Copy, Packet
from hilgw.medium.pose import Pose, Vector
from hilgw.reasons import NotReceivedReason

ORIGIN = Pose()


class MediumBench:
    """A medium, its ledger, and what each listener was handed."""

    def __init__(self, **settings: Any) -> None:
        self.ledger = Ledger()
        self.notices: list[str] = []
        self.seen: list[tuple[bytes, list[str], str | None]] = []
        self.medium = Medium(self.ledger, observer=self, **settings)
        self.received: list[tuple[str, Copy]] = []
        self.missed: dict[str, str] = {}  # of the last packet

    def notice(self, source: str, text: str) -> None:
        assert source == "medium" or text.startswith("fault: ")
        self.notices.append(text)

    def transmitted(
        self, sent: Packet, names: Sequence[str], reason: str | None, missed: Missed
    ) -> None:
        self.seen.append((sent.data, list(names), reason))
        self.missed = missed()

    def listener(self, name: str, **fields: Any) -> Listener:
        count = self.ledger.station(name)

        def deliver(copy: Copy) -> None:
            count.deliver()
            self.received.append((name, copy))

        usual: dict[str, Any] = {"type": "radio", "deliver": deliver, "pose": Pose((1.0, 0.0, 0.0))}
        listener = Listener(name=name, **(usual | fields))
        self.medium.attach(listener)
        return listener

    def depart(self, source: str) -> None:
        """Count a packet of this Emitter."""
        count = self.ledger.emitter(source)
        count.offer(None)
        count.depart()

    def send(self, packet: Packet, pose: Pose | None = ORIGIN) -> list[str]:
        """Who received it, in order."""
        if packet.air is None:
            self.depart(packet.source)
        else:
            self.ledger.station(packet.source).receive()
        before = len(self.received)
        self.medium.transmit(packet, pose)
        assert self.ledger.violations() == []
        return [name for name, _ in self.received[before:]]

    def why(self, packet: Packet, pose: Pose | None = ORIGIN) -> str:
        """Why no listener received it."""
        before = self.ledger.source(packet.source).not_received.copy()
        assert self.send(packet, pose) == []
        (reason,) = self.ledger.source(packet.source).not_received - before
        return reason


def packet(**fields: Any) -> Packet:
    usual = {"data": b"x", "channel": 1, "type": "radio", "source": "a.tx", "owner": "a"}
    return Packet(**(usual | fields))  # type: ignore[arg-type]


def facing(angle: float, position: Vector = (0.0, 0.0, 0.0), axis: str = "z") -> Pose:
    """Turned by an angle, with z (or y) up."""
    up = (0, 0, 1) if axis == "z" else (0, 1, 0)
    return Pose.from_axis_angle(position, (*up, angle))


ONE = frozenset([1])


@pytest.mark.parametrize(
    ("listener", "sent", "receives"),
    [
        ({"channels": ONE}, {}, True),
        ({"channels": ONE}, {"channel": 2}, False),
        ({"channels": None}, {"channel": 2}, True),  # a Receiver on channel -1
        ({"channels": frozenset([-1])}, {"channel": 2}, True),
        ({"channels": ONE}, {"channel": -1}, True),  # broadcast
        ({"channels": frozenset([1, 2])}, {"channel": -1}, True),  # once
        ({"channels": ONE, "type": "serial"}, {}, False),
        ({"channels": ONE, "type": "serial"}, {"type": "serial"}, True),
        ({"channels": ONE, "owner": "a"}, {}, False),  # never to the own robot
        ({"channels": ONE, "owner": "b"}, {}, True),
        ({"channels": ONE, "owner": None}, {"owner": None}, True),  # no owner is not a common owner
        ({"channels": ONE, "enabled": False}, {}, False),
        ({"channels": ONE}, {"range": 1.0}, True),  # at the very end of the range
        ({"channels": ONE}, {"range": 0.999}, False),
        ({"channels": ONE}, {"range": 0.0}, False),
        ({"channels": ONE, "pose": ORIGIN}, {"range": 0.0}, True),
        ({"channels": ONE, "pose": None}, {"range": 0.1}, True),  # unknown: in range
        ({"channels": ONE, "aperture": 0.1}, {"aperture": 0.1}, True),  # no cones but infra-red
        ({"channels": ONE, "air": "x"}, {}, True),
        ({"channels": ONE, "air": "x"}, {"air": "x", "source": "m"}, False),
        ({"channels": ONE, "air": "x"}, {"air": "y", "source": "m"}, False),
        ({"channels": ONE, "air": "x", "relay": True}, {"air": "y", "source": "m"}, True),
        ({"channels": ONE, "air": "x", "relay": True}, {"air": "x", "source": "m"}, False),
        ({"channels": ONE, "owner": "a"}, {"air": "x", "source": "m"}, False),  # from `sources`
    ],
)
def test_who_receives(listener: dict[str, Any], sent: dict[str, Any], receives: bool) -> None:
    bench = MediumBench()
    bench.listener("rx", **listener)
    assert bench.send(packet(**sent)) == (["rx"] if receives else [])


INFRA_RED = {"type": "infra-red", "channels": ONE}


@pytest.mark.parametrize("webots", ["R2025a", "R2021b"])
@pytest.mark.parametrize(
    ("aperture", "turned", "receives"),
    [
        (-1.0, math.pi, True),
        (math.tau, math.pi, True),
        (math.pi / 2, math.pi / 4, True),  # the edge belongs to the cone
        (math.pi / 2, math.pi / 4 + 1e-6, False),
        (math.pi / 2, -math.pi / 4 - 1e-6, False),
        (0.0, 0.0, True),
        (0.0, 0.001, False),
    ],
)
def test_cones_on_both_sides(webots: str, aperture: float, turned: float, receives: bool) -> None:
    """The axis is x with z up since R2022a, z with y up before."""
    new = webots == "R2025a"
    ahead: Vector = (2.0, 0.0, 0.0) if new else (0.0, 0.0, 2.0)
    turned_pose = facing(turned, axis="z" if new else "y")
    sent = packet(type="infra-red", aperture=aperture)
    bench = MediumBench(webots=webots)
    bench.listener("rx", **INFRA_RED, pose=Pose(ahead))
    assert bool(bench.send(sent, turned_pose)) == receives
    bench = MediumBench(webots=webots)
    back = Pose(tuple(-each for each in ahead), turned_pose.rows)  # type: ignore[arg-type]
    bench.listener("rx", **INFRA_RED, pose=back, aperture=aperture)
    assert bool(bench.send(packet(type="infra-red"), ORIGIN)) == receives
    assert bench.why(packet(type="infra-red", range=0.5), ORIGIN) == "range"


NUMBERS = st.floats(-3, 3)
POINT = st.tuples(NUMBERS, NUMBERS, NUMBERS)


@example((0, 0, 0), (0, 1, 1), (1, 0, 0), -math.pi / 4, 2, 0.1)
@example((0, 0, 0), (1, 0, 1), (0, 1, 0), math.pi / 4, 2, 0.1)
@example((0, 0, 0), (1, 1, 0), (0, 0, 1), math.pi / 4, 0, 0.1)
@given(POINT, POINT, POINT, st.floats(-3, 3), st.sampled_from(range(3)), st.floats(0, 6.28))
def test_a_cone_is_around_its_axis_in_each_direction(
    place: Vector, point: Vector, turned: Vector, angle: float, axis: int, aperture: float
) -> None:
    x, y, z = turned
    assume(math.hypot(x, y, z) > 0.1 and math.dist(place, point) > 0.1)
    apex = Pose.from_axis_angle(place, (x, y, z, angle))
    ahead, way = apex.axis(axis), [b - a for a, b in zip(place, point, strict=True)]
    cosine = sum(map(mul, ahead, way)) / math.dist(place, point)
    off = math.acos(min(1.0, max(-1.0, cosine)))
    assume(abs(off - aperture / 2) > 1e-5)
    assert within_cone(apex, axis, aperture, point) is (off < aperture / 2)


def test_infra_red_stops_at_obstacles_and_radio_does_not() -> None:
    bench = MediumBench()
    bench.listener("ir", **INFRA_RED, owner="b", pose=Pose((4.0, 0.0, 0.0)))
    bench.listener("radio", channels=ONE, owner="b", pose=Pose((4.0, 0.0, 0.0)))
    bench.medium.obstruct(Obstacle(Sphere(0.5), Pose((2.0, 0.0, 0.0)), owner="b"))
    infra_red = packet(type="infra-red")
    assert bench.send(infra_red) == ["ir"]  # the receiver's own structure
    bench.medium.obstruct(Obstacle(Sphere(0.5), Pose((2.0, 0.0, 0.0)), owner="c"))
    assert bench.why(infra_red) == "obstacle"
    assert bench.send(packet()) == ["radio"]
    assert bench.send(infra_red, None) == ["ir"]  # unknown pose: nothing in the way


def test_a_module_receives_and_sends_past_the_structure_it_rides_on() -> None:
    bench = MediumBench()
    bench.medium.place("rover", Pose((4.0, 0.0, 0.0)))
    bench.medium.obstruct(Obstacle(Sphere(0.5), Pose((-1.0, 0.0, 0.0)), "rover", "rover"))
    bench.listener("irda", **INFRA_RED, air="light", pose=None, mounted_on="rover")
    bench.listener("b.eye", **INFRA_RED, owner="b", pose=ORIGIN)
    assert bench.send(packet(type="infra-red")) == ["irda", "b.eye"]
    incoming = packet(type="infra-red", source="irda", owner=None, air="light")
    bench.ledger.station("irda").receive()
    bench.medium.transmit(incoming, bench.medium.pose_of("rover"), mounted_on="rover")
    assert bench.received[-1][0] == "b.eye"
    assert bench.why(incoming, Pose((4.0, 0.0, 0.0))) == "obstacle"  # of another's it is in the way


def test_bodies_carry_their_devices_and_obstacles() -> None:
    bench = MediumBench()
    bench.medium.place("b", Pose((4.0, 0.0, 0.0)))
    bench.listener("b.rx", **INFRA_RED, owner="b", pose=None, mount=Pose((0.0, 1.0, 0.0)))
    bench.medium.obstruct(Obstacle(Sphere(0.2), owner="c", attached_to="c"))
    assert bench.medium.pose_of("b", Pose((0.0, 1.0, 0.0))) == Pose((4.0, 1.0, 0.0))
    assert bench.medium.pose_of("c") is None
    sent = packet(type="infra-red", range=5.0)
    assert bench.send(sent) == ["b.rx"]
    bench.medium.place("c", Pose((2.0, 0.5, 0.0)))
    assert bench.why(sent) == "obstacle"
    bench.medium.place("b", facing(math.pi / 2, (0.0, 3.0, 0.0)))
    assert bench.send(sent) == ["b.rx"]
    assert bench.received[-1][1].signal_strength == pytest.approx(1 / 10)  # at (-1, 3)
    bench.medium.place("b", Pose((50.0, 0.0, 0.0)))
    assert bench.why(sent) == "range"
    bench.medium.place("b", None)
    assert bench.medium.pose_of("b", Pose((0.0, 1.0, 0.0))) is None
    assert bench.send(sent) == ["b.rx"]


@pytest.mark.parametrize(
    ("listeners", "reason"),
    [
        ([], "no_listener"),
        ([{"type": "serial"}], "no_listener"),
        ([{"owner": "a"}], "no_listener"),
        ([{"owner": "a", "channels": frozenset([2])}], "no_listener"),
        ([{"channels": frozenset([2])}], "channel"),
        ([{"owner": "a"}, {"channels": frozenset([2])}], "channel"),
        ([{"enabled": False}, {"channels": frozenset([2])}], "disabled"),
        ([{"pose": Pose((9.0, 0.0, 0.0))}, {"enabled": False}], "range"),
        ([{"pose": Pose((9.0, 0.0, 0.0))}, {"aperture": 0.1}], "cone"),
        ([{"pose": Pose((3.0, 0.0, 0.0))}, {"aperture": 0.1}], "obstacle"),
        ([{"pose": Pose((9.0, 0.0, 0.0)), "owner": "a"}] * 40, "no_listener"),
        ([{"pose": Pose((9.0, 0.0, 0.0)), "enabled": False}] * 40, "disabled"),
        ([{"pose": Pose((9.0, 0.0, 0.0))}] * 40, "range"),
        ([{"pose": Pose((9.0, 0.0, 0.0))}] * 40 + [{"pose": Pose((3.0, 0.0, 0.0))}], "obstacle"),
    ],
)
def test_why_no_listener_received_is_the_reason_nearest_to_success(
    listeners: list[dict[str, Any]], reason: str
) -> None:
    bench = MediumBench()
    bench.medium.obstruct(Obstacle(Sphere(0.5), Pose((2.0, 0.0, 0.0))))
    for index, fields in enumerate(listeners):
        bench.listener(f"rx{index}", **(INFRA_RED | {"owner": "b"} | fields))
    assert bench.why(packet(type="infra-red", range=5.0)) == reason


@pytest.mark.parametrize(
    ("listener", "sent", "reason"),
    [
        ({"air": "x", "relay": True}, {"source": "rx", "air": "y"}, "air"),
        ({"air": "x"}, {"source": "m1", "air": "x"}, "air"),
        ({"air": "x", "relay": True}, {"source": "m1", "air": "y", "is_own": True}, "air"),
        ({"is_neighbour": True}, {"gateway": "lab2"}, "channel"),  # it gave it to all others
        ({"air": "x"}, {"gateway": "lab2", "served": frozenset("x")}, "other_module"),
    ],
)
def test_who_is_left_out(listener: dict[str, Any], sent: dict[str, Any], reason: str) -> None:
    bench = MediumBench()
    bench.listener("rx", channels=ONE, **listener)
    assert bench.why(packet(owner=None, **sent)) == reason


def test_one_module_per_air_the_one_whose_mapping_fits_else_the_first_named() -> None:
    bench = MediumBench()
    bench.listener("first", air="x")
    bench.listener("second", air="x", channels=frozenset({1, 2}))
    bench.listener("third", air="x", channels=frozenset({2, 3}))
    bench.listener("other", air="y")
    bench.listener("rx", channels=None)
    chosen = {0: "first", 1: "second", 2: "second", 3: "third", -1: "first"}
    for channel, module in chosen.items():
        assert bench.send(packet(channel=channel)) == [module, "other", "rx"]
    bench.medium.place("second", Pose((99.0, 0.0, 0.0)))  # only those in range are candidates
    assert bench.send(packet(channel=2, range=5.0)) == ["third", "other", "rx"]


@pytest.mark.parametrize(
    ("sent", "pose", "strength", "direction"),
    [
        ({}, Pose((0.0, 0.0, 0.0)), 1 / 4, (-1.0, 0.0, 0.0)),
        ({}, Pose((2.0, 0.0, 3.0)), 1 / 9, (0.0, 0.0, 1.0)),
        ({}, Pose((2.0, 0.0, 0.0)), math.inf, None),
        ({}, None, math.nan, None),
        ({"rssi_dbm": -40.0}, None, 1.0, None),
        ({"rssi_dbm": -60.0}, Pose((0.0, 0.0, 0.0)), 0.01, (-1.0, 0.0, 0.0)),
        ({"rssi_dbm": -60.0, "rssi_at_1m_dbm": -50.0}, None, 0.1, None),
        ({"rssi_dbm": 1e308}, None, 1e300, None),
        ({"rssi_dbm": -1e308}, None, 0.0, None),
    ],
)
def test_what_the_copy_contains(
    sent: dict[str, Any], pose: Pose | None, strength: float, direction: Vector | None
) -> None:
    bench = MediumBench()
    bench.listener("rx", channels=ONE, pose=Pose((2.0, 0.0, 0.0)))
    given = packet(sent_ns=5, data=bytes(range(256)), **sent)
    assert bench.send(given, pose) == ["rx"]
    copy = bench.received[0][1]
    assert copy.packet is given
    assert copy.signal_strength == pytest.approx(strength, nan_ok=True)
    expected = (math.nan,) * 3 if direction is None else direction
    assert copy.direction == pytest.approx(expected, nan_ok=True)
    assert (copy.arrived_ns, copy.packet.sent_ns) == (5, 5)
    bench.medium.transmit(given, pose, now=32)  # a step-driven caller determines when it arrives
    assert bench.received[1][1].arrived_ns == 32


def test_direction_is_in_the_receivers_frame() -> None:
    bench = MediumBench()
    bench.listener("rx", channels=ONE, pose=facing(math.pi / 2, (2.0, 0.0, 0.0)))
    bench.send(packet())
    assert bench.received[0][1].direction == pytest.approx((0.0, 1.0, 0.0))


def noisy(seed: int, distance: float, **fields: Any) -> list[Copy]:
    bench = MediumBench(seed=seed)
    bench.listener("rx", channels=ONE, pose=Pose((distance, 0.0, 0.0)), **fields)
    for _ in range(4000):
        bench.send(packet())
    return [copy for _, copy in bench.received]


def test_noise_of_the_signal_strength_is_relative_and_never_below_zero() -> None:
    for distance in (1.0, 10.0):
        ratios = [
            copy.signal_strength * distance**2
            for copy in noisy(1, distance, signal_strength_noise=0.1)
        ]
        mean = math.fsum(ratios) / len(ratios)
        spread = math.sqrt(math.fsum((each - mean) ** 2 for each in ratios) / len(ratios))
        assert mean == pytest.approx(1.0, abs=0.01)
        assert spread == pytest.approx(0.1, rel=0.05)
    strengths = [copy.signal_strength for copy in noisy(1, 1.0, signal_strength_noise=2.0)]
    assert min(strengths) == 0.0
    assert strengths.count(0.0) / len(strengths) == pytest.approx(0.3085, abs=0.03)  # P(N < -0.5)


def test_noise_of_the_direction_does_not_depend_on_the_distance() -> None:
    for distance in (0.5, 50.0):
        copies = noisy(1, distance, direction_noise=0.01)
        assert all(math.isclose(math.hypot(*copy.direction), 1.0) for copy in copies)
        for axis in (1, 2):
            squares = math.fsum(copy.direction[axis] ** 2 for copy in copies)
            assert math.sqrt(squares / len(copies)) == pytest.approx(0.01, rel=0.05)
        assert all(copy.signal_strength == pytest.approx(distance**-2) for copy in copies)


def test_noise_is_the_same_for_the_same_seed_whichever_else_listens() -> None:
    def strengths(seed: int, *others: str) -> list[float]:
        bench = MediumBench(seed=seed)
        for name in (*others, "rx"):
            bench.listener(name, channels=ONE, signal_strength_noise=0.5, direction_noise=0.1)
        for _ in range(20):
            bench.send(packet())
        return [copy.signal_strength for name, copy in bench.received if name == "rx"]

    assert strengths(1) == strengths(1, "another")
    assert strengths(1) != strengths(2)


def test_an_unknown_position_is_reported_once() -> None:
    bench = MediumBench()
    bench.listener("rx", channels=ONE, pose=None)
    for pose in (ORIGIN, ORIGIN, None, None):
        bench.send(packet(), pose)
    assert [notice.split(":")[0] for notice in bench.notices] == ["rx", "a.tx"]


def test_retuning_and_leaving() -> None:
    bench = MediumBench()
    bench.listener("rx", channels=ONE)
    bench.medium.retune("rx", frozenset([2]))
    assert bench.why(packet()) == "channel"
    assert bench.send(packet(channel=2)) == ["rx"]
    bench.medium.retune("rx", None)
    assert bench.send(packet()) == ["rx"]
    bench.medium.detach("rx")
    assert bench.why(packet()) == "no_listener"
    bench.medium.detach("rx")
    bench.medium.retune("rx", ONE)
    bench.medium.place("rx", ORIGIN)
    bench.listener("rx", channels=ONE)
    assert bench.send(packet()) == ["rx"]
    with pytest.raises(ConfigError):
        bench.listener("rx")


def test_two_that_answer_each_other_do_not_recurse_and_keep_their_order() -> None:
    bench = MediumBench()
    order: list[str] = []

    def answering(name: str, other: str, limit: int) -> None:
        count = bench.ledger.station(f"{name}.rx")

        def deliver(copy: Copy) -> None:
            count.deliver()
            order.append(copy.packet.data.decode())
            if len(order) < limit:
                data = f"{name}{len(order)}".encode()
                answer = packet(source=f"{name}.tx", owner=name, data=data)
                bench.depart(answer.source)
                bench.medium.transmit(answer, ORIGIN)
                assert bench.ledger.violations() == []

        bench.medium.attach(
            Listener(name=f"{name}.rx", type="radio", owner=name, deliver=deliver, channels=ONE)
        )

    answering("a", "b", 20_000)
    answering("b", "a", 20_000)
    bench.send(packet(data=b"start"))
    assert len(order) == 20_000
    assert order[:4] == ["start", "b1", "a2", "b3"]


def test_a_fault_in_one_station_stays_there_and_is_counted() -> None:
    bench = MediumBench()
    broken = bench.listener("broken", channels=ONE)
    bench.listener("rx", channels=ONE)
    count = bench.ledger.station("broken")

    def raises_before(copy: Copy) -> None:
        raise OSError("no")

    def raises_after(copy: Copy) -> None:
        count.deliver()
        raise ValueError("no")

    for deliver in (raises_before, raises_after):
        broken.deliver = deliver
        assert bench.send(packet()) == ["rx"]
    assert bench.notices == ["fault: OSError('no')", "fault: ValueError('no')"]
    faults: list[Exception] = []
    broken.on_fault = faults.append
    assert bench.send(packet()) == ["rx"]
    assert [str(error) for error in faults] == ["no"] and len(bench.notices) == 2
    assert (count.delivered, dict(count.refused)) == (2, {"fault": 1})


def test_a_stop_passes_through_and_leaves_the_rest_for_the_next() -> None:
    bench = MediumBench()
    stopping = bench.listener("stopping", channels=ONE)
    bench.listener("rx", channels=ONE)
    usual = stopping.deliver

    def stop(copy: Copy) -> None:
        raise KeyboardInterrupt

    stopping.deliver = stop
    with pytest.raises(KeyboardInterrupt):
        bench.send(packet())
    assert bench.received == []
    assert bench.ledger.violations() == []
    stopping.deliver = usual
    assert bench.send(packet()) == ["rx", "stopping", "rx"]


def test_a_copy_in_flight_to_one_who_left_is_counted() -> None:
    bench = MediumBench()

    def leave(copy: Copy) -> None:
        bench.ledger.station("first").deliver()
        bench.medium.detach("second")

    bench.listener("first", channels=ONE, deliver=leave)
    bench.listener("second", channels=ONE)
    assert bench.send(packet()) == []
    assert dict(bench.ledger.station("second").refused) == {"detached": 1}


def test_the_observer_gets_each_packet_and_why_others_missed_it() -> None:
    bench = MediumBench()
    assert bench.why(packet(data=b"1")) == "no_listener"
    bench.listener("rx", channels=ONE)
    bench.listener("far", channels=ONE, pose=Pose((9.0, 0.0, 0.0)))
    bench.send(packet(data=b"2", range=5.0))
    assert bench.seen == [(b"1", [], "no_listener"), (b"2", ["rx"], None)]
    reason = bench.missed["far"]
    assert isinstance(reason, OutOfRange) and reason == "range"
    assert (reason.limit, reason.distance) == (5.0, 9.0)


@pytest.mark.parametrize(
    ("air", "beside", "rx", "missed"),
    [
        (None, {"owner": "a"}, {}, {}),
        ("x", {"air": "x"}, {}, {}),
        (None, {"air": "y", "channels": None}, {"air": "y"}, {"beside": "other_module"}),
        (None, {"enabled": False}, {}, {"beside": "disabled"}),
        ("z", {"air": "y", "relay": False}, {}, {"beside": "air"}),
    ],
    ids=["own robot", "own air", "other module", "disabled", "no relay"],
)
def test_listeners_are_looked_at_again_only_where_one_missed_the_packet(
    air: str | None,
    beside: dict[str, Any],
    rx: dict[str, Any],
    missed: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[str] = []

    def count(packet: Packet, listener: Listener) -> NotReceivedReason | None:
        looked.append(listener.name)
        return exclusion(packet, listener)

    monkeypatch.setattr("hilgw.medium.medium.exclusion", count)
    bench = MediumBench()
    bench.listener("beside", **{"channels": ONE, **beside})
    bench.listener("rx", channels=ONE, **rx)
    assert bench.send(packet(air=air), pose=None) == ["rx"]
    assert bench.missed == missed
    assert looked == ["beside", "rx"] + ["beside"] * bool(missed)


def test_a_packet_to_one_listener_alone_follows_its_channels_only() -> None:
    bench = MediumBench()
    bench.listener("m1", channels=ONE, air="x", owner="a", pose=Pose((99.0, 0.0, 0.0)))
    bench.listener("rx", channels=ONE)
    for channel, reason in ((1, None), (-1, None), (2, "channel"), (1 << 31, "channel")):
        bench.depart("a.tx")
        assert bench.medium.send_to(packet(channel=channel, range=1.0), "m1") == reason
    assert [name for name, _ in bench.received] == ["m1", "m1"]
    assert bench.seen == [(b"x", ["m1"], None)] * 2 + [(b"x", [], "channel")] * 2
    assert bench.ledger.violations() == []
