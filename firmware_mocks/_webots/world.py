"""The world of the Webots simulator mock: robots, time in basic steps, and packets (section 3.4).

Times are in ms of the simulation.
"""

from collections.abc import Callable
from typing import Any

from firmware_mocks import parameters as values
from firmware_mocks._room import RADIUS_M, CartRoom
from firmware_mocks._webots.radio import Emitter, Receiver
from firmware_mocks._webots.robot import Parts, Robot, device_list
from firmware_mocks._webots.settings import Settings

SPACING_M = 0.4  # of robots in a row


class Controlled:
    """A robot and what its controller waits for.

    until_ms: the end of the step requested, None without a request. delay_ms: what the answer
    reports: how much longer than requested the time between the last two requests was.
    """

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.answer: Callable[[], None] | None = None  # None: no controller
        self.until_ms: float | None = None
        self.delay_ms = 0
        self._requested_ms = 0
        self._asked_at_ms: float | None = None

    def connect(self, answer: Callable[[], None]) -> None:
        self.robot.connect()
        self.answer = answer
        self.until_ms = self._asked_at_ms = None
        self.delay_ms = 0

    def disconnect(self) -> None:
        self.answer = self.until_ms = None

    def request(self, step_ms: int, now_ms: float) -> None:
        late = 0.0
        if self._asked_at_ms is not None and not self.robot.synchronization:
            late = now_ms - self._asked_at_ms - self._requested_ms
        self.delay_ms = max(0, round(late))
        self._asked_at_ms, self._requested_ms = now_ms, step_ms
        self.until_ms = now_ms + step_ms


class World:
    """Robots in one room. ValueError names the parameter with a wrong value."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.step_ms = settings.step_ms
        self._parts = device_list(settings.devices)
        self.time_ms = 0.0
        self.steps = 0
        self.robots: dict[str, Controlled] = {}
        self._begun = False
        self._build()

    def _build(self) -> None:
        settings = self.settings
        self._begun = settings.wait == "no"
        names = _names(settings.robots)
        poses = _poses(settings, len(names))
        self.robots = {
            name: Controlled(self._robot(name, pose, self._parts))
            for name, pose in zip(names, poses, strict=True)
        }

    def _robot(self, name: str, pose: tuple[float, float, float], given: Parts) -> Robot:
        room = CartRoom(self.settings.width, self.settings.depth, *pose)
        return Robot(name, room, given, self.settings)

    def find(self, name: str | None) -> Controlled | None:
        """Return the robot of this name; without a name, the only robot."""
        if name is None:
            return next(iter(self.robots.values())) if len(self.robots) == 1 else None
        return self.robots.get(name)

    def reset(self) -> None:
        self.time_ms = 0.0
        self._build()

    @property
    def controlled(self) -> list[Controlled]:
        return [each for each in self.robots.values() if each.answer is not None]

    def may_step(self, patient: bool) -> bool:
        """Return whether no controller holds the world.

        A patient world waits for those without synchronization, too; a world that is not paced has
        no other clock.
        """
        self._begun = self._begun or len(self.controlled) == len(self.robots)
        return (
            self._begun
            and bool(self.controlled)
            and all(
                each.until_ms is not None or not (patient or each.robot.synchronization)
                for each in self.controlled
            )
        )

    def step(self) -> None:
        """Simulate one basic step, then answer the controllers whose step it completes."""
        self._carry()
        for controlled in self.robots.values():
            controlled.robot.body.move(self.step_ms / 1000)
        self.time_ms += self.step_ms
        self.steps += 1
        for controlled in self.controlled:
            if controlled.until_ms is not None:  # of a controller that computes, nothing is sampled
                controlled.robot.sample(self.time_ms)
        for controlled in self.controlled:
            if (
                controlled.until_ms is not None
                and controlled.until_ms <= self.time_ms
                and controlled.answer
            ):
                controlled.until_ms = None
                controlled.answer()

    def _carry(self) -> None:
        # Packets of the requests go to the Receivers, in order of the senders.
        robots = [each.robot for each in self.robots.values()]
        for sender in robots:
            for emitter in sender.devices:
                if isinstance(emitter, Emitter):
                    for receiver in (each for each in robots if each is not sender):
                        _deliver(sender, emitter, receiver)
                    emitter.sent = []


def _deliver(sender: Robot, emitter: Emitter, robot: Robot) -> None:
    place = sender.body.room
    far_m, direction = robot.body.room.towards(place.x, place.y)
    for packet in emitter.sent:
        for device in robot.devices:
            if isinstance(device, Receiver) and device.receives(emitter, packet, far_m):
                device.receive(packet, direction, far_m)


def _names(given: Any) -> list[str]:
    names = given.split(",") if isinstance(given, str) else given
    if not isinstance(names, list | tuple):
        raise ValueError(f"robots: {given!r} is not a list of names")
    names = [str(name).strip() for name in names]
    if not names or not all(names) or len(set(names)) < len(names):
        raise ValueError(f"robots: {given!r} is not a list of different names")
    return names


def _poses(settings: Settings, count: int) -> list[tuple[float, float, float]]:
    # x, y, heading of each robot; without `poses`, a row along y from the middle.
    width, depth, given = settings.width, settings.depth, settings.poses
    if given == "":
        rows = [min(depth / 2 + SPACING_M * each, depth - RADIUS_M) for each in range(count)]
        return [(width / 2, y, 0.0) for y in rows]
    parts = given.split(";") if isinstance(given, str) else given
    if not isinstance(parts, list | tuple) or len(parts) != count:
        raise ValueError(f"poses: {given!r} is not x,y,heading of each of {count} robots")
    poses = [values.position("poses", part) for part in parts]
    for x, y, _ in poses:
        if not (RADIUS_M <= x <= width - RADIUS_M and RADIUS_M <= y <= depth - RADIUS_M):
            raise ValueError(f"poses: {x:g}, {y:g} is not inside the room")
    return poses
