"""Bodies that move: where packets leave from, who is reached, and motion capture over a socket."""

import asyncio
import math
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence

import pytest
from hypothesis import given, strategies as st

from hilgw.devices.steps import StepClock
from hilgw.engine.observer import Observers
from hilgw.engine.robot.schedule import Schedule
from hilgw.engine.scene import FOLLOW_NS, UNKNOWN_SHOWN, Mocap, Scene
from hilgw.errors import PortError
from hilgw.medium.ledger import Ledger
from hilgw.medium.listeners import Listener
from hilgw.medium.medium import Medium, Missed
from hilgw.medium.mocap import encode
from hilgw.medium.motion import Circle, Waypoints
from hilgw.medium.obstacles import Obstacle, Sphere
from hilgw.medium.packet import Copy, Packet
from hilgw.medium.pose import Mount, Pose
from hilgw.reasons import NotReceivedReason
from hilgw.testing.sim import Clock, Recorder, until
from tests.cases import cases
from tests.engine.fakes import Poses
from tests.scenarios import scenario_of

S = 1_000_000_000
MS = 1_000_000


class World:
    """Receivers that note what they receive; packets from any body at any time."""

    def __init__(self, step_ms: int = 0) -> None:
        self.receptions: list[tuple[str, Copy]] = []
        self.why: str | None = None
        self.missed: Mapping[str, str] = {}
        self.scheduler = Clock()
        self.poses = Observers()
        self.start = self.scheduler.now()
        self.medium = Medium(Ledger(), observer=self)
        steps = StepClock(self.start, step_ms * MS)
        schedule = Schedule(self.scheduler, steps)
        self.scene = Scene(self.medium, self.scheduler, 2, schedule, self.poses)

    def transmitted(
        self, packet: Packet, names: Sequence[str], reason: NotReceivedReason | None, missed: Missed
    ) -> None:
        self.why, self.missed = reason, missed()

    def notice(self, source: str, text: str) -> None:
        return

    def receiver(self, robot: str, mount: Pose | None = None) -> None:
        count = self.medium.ledger.station(f"{robot}.rx")

        def deliver(copy: Copy) -> None:
            count.deliver()
            self.receptions.append((robot, copy))

        listener = Listener(name=f"{robot}.rx", type="infra-red", deliver=deliver, owner=robot)
        if mount is not None:
            listener.mount = mount
        self.medium.attach(listener)

    def send(self, robot: str, after_s: float, range: float = -1.0) -> list[str]:
        """Who receives a packet that this robot sends so long after the start."""
        self.receptions.clear()
        self.scheduler.time = self.start + round(after_s * S)
        packet = Packet(
            data=b"x",
            channel=1,
            type="infra-red",
            source=f"{robot}.tx",
            owner=robot,
            range=range,
            sent_ns=self.scheduler.time,
        )
        self.scene.transmit(packet, Mount(robot))
        return [name for name, _ in self.receptions]


def still(x: float, y: float = 0.0) -> Pose:
    return Pose((x, y, 0.0))


def test_the_receiver_may_be_the_one_that_moves_and_turns() -> None:
    world = World()
    world.scene.add("post", still(0))
    world.scene.add("rover", Circle(center=(0, 0, 0), radius=2, period_s=8))
    world.receiver("rover", mount=Pose((0.0, 0.0, 1.0)))
    world.send("post", 2)  # the rover is at (0, 2), looks along -x, its receiver one metre above
    copy = world.receptions[0][1]
    assert math.isclose(copy.signal_strength, 1 / 5)
    assert math.dist(copy.direction, (0, 2 / math.sqrt(5), -1 / math.sqrt(5))) < 1e-9


def test_an_obstacle_drives_along_with_its_robot_and_blocks_all_but_it() -> None:
    world = World()
    world.scene.add("rover", Waypoints(points=((0, 0, 0), (0, 4, 0)), speed=1, closed=False))
    world.scene.add("a", still(-5))
    world.scene.add("b", still(5))
    for robot in ("b", "rover"):
        world.receiver(robot)
    world.medium.obstruct(Obstacle(Sphere(1.0), owner="rover", attached_to="rover"))
    assert world.send("a", 0) == ["rover"]
    assert world.missed == {"b.rx": "obstacle"}
    assert world.send("rover", 0) == ["b"]
    assert world.send("a", 3) == ["b", "rover"]


def test_placed_from_outside_a_body_leaves_its_motion() -> None:
    world = World()
    world.scene.add("rover", Circle(center=(0, 0, 0), radius=2, period_s=8))
    world.scene.add("post", still(3))
    world.receiver("post")
    assert world.scene.place("rover", still(100))
    assert not world.scene.place("rover", still(50))
    assert world.send("rover", 0, range=10) == []
    assert world.scene.place("post", still(45)) is False
    assert world.send("rover", 8, range=10) == ["post"]
    assert world.scene.pose_of("rover") == still(50)
    world.scene.place("rover", None)
    assert world.send("rover", 9, range=1) == ["post"]  # unknown: in range
    assert math.isnan(world.receptions[0][1].signal_strength)


def test_with_a_step_bodies_stand_still_between_step_ends() -> None:
    world = World(step_ms=500)
    world.scene.add("rover", Waypoints(points=((1, 0, 0), (11, 0, 0)), speed=1, closed=False))
    world.scene.add("post", still(0))
    world.receiver("post")
    for after_s, distance in ((0.49, 1.0), (0.5, 1.5), (0.999, 1.5), (1.0, 2.0)):
        world.send("rover", after_s)
        copy = world.receptions[0][1]
        assert math.isclose(copy.signal_strength, 1 / distance**2)
        assert copy.direction == (1.0, 0.0, 0.0)
    assert world.send("rover", 1.0, range=1.9) == [] and world.why == "range"


def test_who_follows_a_moving_body_is_notified_and_who_follows_a_still_one_once() -> None:
    world = World()
    reported: dict[str, list[Pose]] = {"mover": [], "stayer": []}
    world.scene.add("mover", Waypoints(points=((0, 0, 0), (10, 0, 0)), speed=1, closed=False))
    world.scene.add("stayer", still(7))
    for body, poses in reported.items():
        world.scene.follow(body, Pose((0.0, 0.0, 1.0)), poses.append)
    world.scheduler.run_until(world.start + 2 * S)
    assert len(reported["mover"]) > 2 * S // FOLLOW_NS
    assert math.dist(reported["mover"][-1].position, (2, 0, 1)) <= FOLLOW_NS / S + 1e-9
    assert [pose.position for pose in reported["stayer"]] == [(7, 0, 1)]
    world.scene.place("stayer", still(8))
    assert reported["stayer"][-1].position == (8, 0, 1)
    world.scene.place("mover", still(0))
    count = len(reported["mover"])
    world.scheduler.run_until(world.start + 4 * S)
    assert len(reported["mover"]) == count
    assert world.scheduler.waiting == 0
    world.scene.add("other", Circle(center=(0, 0, 0), radius=1))
    world.scene.follow("other", Pose(), lambda pose: None)
    assert world.scheduler.waiting == 1
    world.scene.close()
    assert world.scheduler.waiting == 0


@given(st.integers(-(10**12), 10**12), st.integers(1, 10**10), st.integers(-(10**12), 10**15))
def test_steps_are_a_grid(origin: int, step: int, when: int) -> None:
    steps = StepClock(origin, step)
    last, end = steps.last(when), steps.end(when)
    assert last <= when <= end < last + 2 * step
    assert (last - origin) % step == (end - origin) % step == 0
    assert when - last < step
    assert end - when < step
    assert StepClock(origin).last(when) == StepClock(origin).end(when) == when


def test_changes_of_pose_are_events_and_only_changes() -> None:
    world, seen = World(step_ms=32), Poses()
    world.scene.add("rover", Circle(center=(0, 0, 0), radius=2, period_s=8))
    world.scene.add("post", still(3))
    world.poses.add(seen)
    world.scene.place("post", still(3))
    assert seen.events == []  # it was there
    world.scene.place("post", still(4))
    world.scene.place("post", None)
    changes = [(event.name, event.pose, event.now - world.start) for event in seen.events]
    assert changes == [("post", still(4), 0), ("post", None, 0)]
    world.send("rover", 2.01)
    world.send("rover", 2.012)  # the same step: it has not moved
    (moved,) = seen.events[2:]
    assert (moved.name, moved.now - world.start) == ("rover", 62 * 32 * MS)
    assert moved.pose is not None and moved.pose.position[1] == pytest.approx(2, abs=0.1)
    world.poses.remove(seen)
    world.send("rover", 4)
    assert len(seen.events) == 3


class CapturedScene:
    def __init__(self, host: str = "127.0.0.1") -> None:
        scheduler = Clock()
        medium = Medium(Ledger())
        self.notes = Recorder()
        schedule = Schedule(scheduler, StepClock(0))
        self.scene = Scene(medium, scheduler, 2, schedule, self.notes)
        self.scene.add("rover", None)
        self.scene.add("driver", Circle(center=(0, 0, 0), radius=1))
        self.mocap = Mocap((host, 0), self.scene, self.notes)

    def count(self, *words: str) -> tuple[int, ...]:
        return tuple(self.mocap.report()[word] for word in words)


Scenario = Callable[[CapturedScene, Callable[[bytes], object]], Awaitable[None]]


def run(scenario: Scenario, host: str = "127.0.0.1") -> None:
    async def main() -> None:
        bench = CapturedScene(host)
        await bench.mocap.start()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as sender:
                sender.connect(bench.mocap.address)
                async with asyncio.timeout(60):
                    await scenario(bench, sender.send)
        finally:
            bench.mocap.close()

    asyncio.run(main())


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_body_is_where_the_datagram_places_it(host: str) -> None:
    async def scenario(bench: CapturedScene, send: Callable[[bytes], object]) -> None:
        send(encode({"rover": (1, 2, 3, 0, 0, 1, 0), "driver": (4, 5, 6, 0, 0, 0, 1)}))
        await until(lambda: bench.count("poses") == (2,))
        rover = bench.scene.pose_of("rover")
        assert rover == Pose.from_quaternion((1, 2, 3), (0, 0, 1, 0))
        assert bench.scene.pose_of("driver") == Pose((4.0, 5.0, 6.0))
        assert bench.notes.notices[1:] == [
            "motion capture sets the pose of driver from now on; its motion ends"
        ]
        listening = f"listening on {'[::1]' if ':' in host else host}:"
        assert bench.notes.notices[0].startswith(listening)
        send(encode({"rover": None}))
        await until(lambda: bench.count("poses") == (3,))
        assert bench.scene.pose_of("rover") is None

    run(scenario, host)


@scenario_of(run)
async def test_what_is_not_a_datagram_is_counted_and_changes_nothing(
    bench: CapturedScene, send: Callable[[bytes], object], /
) -> None:
    numbers = ("1, 2, 3", "1, 2, 3, 0, 0, 0, 0")
    numbers += tuple(f"{wrong}, 2, 3, 0, 0, 0, 1" for wrong in ("NaN", "1e12", "true"))
    bad = [b"", b"hello", b"\xff\xfe\x00", b"[1, 2, 3]", b'{"rover": ' + b"[" * 60_000]
    bad += [f'{{"rover": [{each}]}}'.encode() for each in numbers]
    bad += [b'{"rover": [9, 9, 9, 0, 0, 0, 1], "driver": 7}']
    for number, datagram in enumerate(bad, 1):
        send(datagram)
        await until(lambda number=number: bench.count("malformed") == (number,))  # type: ignore[misc]
    assert bench.scene.pose_of("rover") is None
    assert [reason for _, reason, _ in bench.notes.refusals] == ["malformed"] * len(bad)
    send(encode({"rover": (1, 1, 1, 0, 0, 0, 1)}))
    await until(lambda: bench.count("datagrams", "poses") == (len(bad) + 1, 1))


@scenario_of(run)
async def test_strangers_are_passed_over_and_reported_once(
    bench: CapturedScene, send: Callable[[bytes], object], /
) -> None:
    for _ in range(3):
        send(encode({"hat": (0, 0, 0, 0, 0, 0, 1), "rover": (1, 0, 0, 0, 0, 0, 1)}))
    await until(lambda: bench.count("unknown", "poses") == (3, 3))
    assert bench.notes.notices[1:] == ["no object 'hat' here, ignored"]
    send(encode({f"stranger{n}": (0, 0, 0, 0, 0, 0, 1) for n in range(500)}))
    await until(lambda: bench.count("unknown") == (503,))
    assert len(bench.notes.notices) == 1 + UNKNOWN_SHOWN


@cases(4)
@given(st.binary(max_size=200))
def test_no_datagram_raises(data: bytes) -> None:
    bench = CapturedScene()
    bench.mocap.datagram_received(data, ("127.0.0.1", 1))
    assert bench.count("datagrams", "malformed") in ((1, 1), (1, 0))


async def test_an_address_that_is_taken_is_a_port_error() -> None:
    first = CapturedScene()
    await first.mocap.start()
    second = Mocap(first.mocap.address, first.scene, first.notes)
    try:
        with pytest.raises(PortError, match=r"mocap 127\.0\.0\.1:\d+: cannot listen") as caught:
            await second.start()
        assert caught.value.fix == "choose another port in medium.mocap.listen"
    finally:
        first.mocap.close()
        second.close()
