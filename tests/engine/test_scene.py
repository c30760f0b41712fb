"""Bodies that move: where packets leave from, who is reached, who is notified."""

import math
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, strategies as st

from hilgw.devices.steps import StepClock
from hilgw.engine.observer import Observers
from hilgw.engine.robot.schedule import Schedule
from hilgw.engine.scene import FOLLOW_NS, Scene
from hilgw.medium.ledger import Ledger
from hilgw.medium.listeners import Listener
from hilgw.medium.medium import Medium, Missed
from hilgw.medium.motion import Circle, Waypoints
from hilgw.medium.obstacles import Obstacle, Sphere
from hilgw.medium.packet import Copy, Packet
from hilgw.medium.pose import Mount, Pose
from hilgw.reasons import NotReceivedReason
from hilgw.testing.sim import Clock
from tests.engine.fakes import Poses

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
    at = [(event.name, event.pose, event.now - world.start) for event in seen.events]
    assert at == [("post", still(4), 0), ("post", None, 0)]
    world.send("rover", 2.01)
    world.send("rover", 2.012)  # the same step: it has not moved
    (moved,) = seen.events[2:]
    assert (moved.name, moved.now - world.start) == ("rover", 62 * 32 * MS)
    assert moved.pose is not None and moved.pose.position[1] == pytest.approx(2, abs=0.1)
    world.poses.remove(seen)
    world.send("rover", 4)
    assert len(seen.events) == 3
