"""Where bodies are: by a motion, by a call, by motion capture.

Motions are asked at each transmission for that very instant, which is exact and costs nothing
while nobody sends. Whoever says last where a body is, is believed: a place given from outside
ends the motion of that body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from hilgw.engine.steps import Steps
from hilgw.errors import HilgwError
from hilgw.medium.pose import IDENTITY, Pose

if TYPE_CHECKING:
    from hilgw.medium.medium import Medium
    from hilgw.medium.motion import Motion
    from hilgw.medium.packet import Packet
    from hilgw.transports.base import Handle, Scheduler

FOLLOW_NS = 32_000_000
"""How often those who follow a moving body and ask nobody (mocks in their air) are told."""

Follower = Callable[[Pose], None]


class Scene:
    """The bodies of one gateway. up: the axis that points up.

    Motions begin at origin_ns; with a step they stand still between step ends, as in Webots.
    """

    def __init__(self, medium: Medium, scheduler: Scheduler, up: int, steps: Steps) -> None:
        self._medium = medium
        self._scheduler = scheduler
        self._up = up
        self._steps = steps
        self._origin_ns = scheduler.now()
        self._bodies: dict[str, None] = {}
        self._motions: dict[str, Motion] = {}
        self._followers: dict[str, list[tuple[Pose, Follower]]] = {}
        self._moved_ns: int | None = None
        self._timer: Handle | None = None

    # --- who there is ------------------------------------------------------------------------

    def add(self, body: str, where: Pose | Motion | None) -> None:
        """A body that can be placed: it stands, moves, or is nobody knows where."""
        self._bodies[body] = None
        if where is None or isinstance(where, Pose):
            self._put(body, where)
        else:
            self._motions[body] = where
            self._moved_ns = None
            self._put(body, where.at(0, self._up))

    def follow(self, body: str, mount: Pose, tell: Follower) -> None:
        """`tell` gets the pose of what is mounted there, now and whenever the body has moved."""
        self._followers.setdefault(body, []).append((mount, tell))
        pose = self._medium.pose_of(body, mount)
        if pose is not None:
            tell(pose)
        if self._timer is None:
            self._keep_telling()

    @property
    def bodies(self) -> Iterable[str]:
        """The names `place` takes."""
        return self._bodies.keys()

    # --- what happens ------------------------------------------------------------------------

    def place(self, body: str, pose: Pose | None) -> bool:
        """The body is there from now on (None: nobody knows where); True when that ended its
        motion. Raises HilgwError for a name that is no body."""
        if body not in self._bodies:
            raise HilgwError(f"no body {body!r} here", fix="bodies: " + ", ".join(self._bodies))
        ended = self._motions.pop(body, None) is not None
        self._put(body, pose)
        return ended

    def pose_of(self, body: str) -> Pose | None:
        """Where the body is at this moment; None when that is unknown."""
        self._move(self._scheduler.now())
        return self._medium.pose_of(body)

    def transmit(self, packet: Packet, body: str, mount: Pose = IDENTITY) -> None:
        """The packet enters the medium from what is mounted on this body, everybody being where
        they are when it is sent."""
        self._move(packet.sent_ns)
        self._medium.transmit(packet, self._medium.pose_of(body, mount), mounted_on=body)

    def close(self) -> None:
        """Nobody is told any more."""
        if self._timer is not None:
            self._timer.cancel()

    # --- inside ------------------------------------------------------------------------------

    def _move(self, now: int) -> None:
        now = self._steps.last(now)
        if now == self._moved_ns:
            return
        self._moved_ns = now
        elapsed_ns = max(now - self._origin_ns, 0)
        for body, motion in self._motions.items():
            self._put(body, motion.at(elapsed_ns, self._up))

    def _put(self, body: str, pose: Pose | None) -> None:
        self._medium.place(body, pose)
        if pose is not None:
            for mount, tell in self._followers.get(body, ()):
                tell(pose.compose(mount))

    def _keep_telling(self) -> None:
        """As long as anybody follows a body in motion."""
        self._timer = None
        now = self._scheduler.now()
        self._move(now)
        if not self._motions.keys().isdisjoint(self._followers):
            self._timer = self._scheduler.call_at(now + FOLLOW_NS, self._keep_telling)
