"""The poses of objects (robots, modules, obstacles): from a motion, a call, or motion capture.

A motion is evaluated at each transmission for that instant, which is exact and costs nothing
while there is no traffic. The last source wins: a pose set from outside ends the object's motion.

A datagram comes from the network: a malformed one is refused and counted, and an unknown name is
ignored, as a capture volume may hold other objects, too.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from hilgw.engine.observer import Observer, PoseEvent
from hilgw.engine.robot.schedule import Schedule
from hilgw.errors import FrameError, HilgwError, PortError, suggest
from hilgw.medium import mocap
from hilgw.medium.medium import Medium
from hilgw.medium.motion import Motion
from hilgw.medium.obstacles import Obstacle
from hilgw.medium.packet import Packet
from hilgw.medium.pose import Mount, Pose
from hilgw.transports.base import Scheduler, Wakeup
from hilgw.units import NS_PER_MS

FOLLOW_NS = 32 * NS_PER_MS
"""How often followers of a moving object (mocks in their air) get its pose."""

Follower = Callable[[Pose], None]


class Scene:
    """The objects of one gateway.

    up: the axis that points up. schedule: what is due by now is done before a packet comes from
    outside or a pose is set from outside. obstacles: by name.

    Motions begin when the scene is made. With a step, objects rest between step ends, as in
    Webots.
    """

    def __init__(
        self,
        medium: Medium,
        scheduler: Scheduler,
        up: int,
        schedule: Schedule,
        observer: Observer,
    ) -> None:
        self._medium = medium
        self._scheduler = scheduler
        self.up = up
        self._steps = schedule.steps
        self._catch_up = schedule.catch_up
        self._observer = observer
        self._origin_ns = scheduler.now()
        self.obstacles: dict[str, Obstacle] = {}
        self._objects: dict[str, None] = {}
        self._motions: dict[str, Motion] = {}
        self._followers: dict[str, list[tuple[Pose, Follower]]] = {}
        self._moved_ns: int | None = None
        self._wakeup = Wakeup(scheduler, lambda due: self._call_followers())

    # --- the objects --------------------------------------------------------------------------

    def add(self, name: str, where: Pose | Motion | None) -> None:
        """Add an object at a fixed pose, in motion, or at an unknown pose."""
        self._objects[name] = None
        if where is None or isinstance(where, Pose):
            self._put(name, where, self._origin_ns)
        else:
            self._motions[name] = where
            self._moved_ns = None
            self._put(name, where.at(0, self.up), self._origin_ns)

    def follow(self, name: str, mount: Pose, follower: Follower) -> None:
        """Call `follower` with the pose of a device mounted there: now, and after each move."""
        self._followers.setdefault(name, []).append((mount, follower))
        pose = self._medium.pose_of(name, mount)
        if pose is not None:
            follower(pose)
        if self._wakeup.at is None:
            self._call_followers()

    @property
    def objects(self) -> Iterable[str]:
        """The names `place` takes."""
        return self._objects.keys()

    # --- what happens ------------------------------------------------------------------------

    def place(self, name: str, pose: Pose | None) -> bool:
        """Set the pose of an object from now on (None: unknown).

        Return whether that ended its motion. Raises HilgwError for a name that is not an object
        here.
        """
        if name not in self._objects:
            raise HilgwError(f"no object {name!r} here", fix=suggest(name, self._objects))
        self._catch_up()
        ended = self._motions.pop(name, None) is not None
        self._put(name, pose, self._scheduler.now())
        return ended

    def move(self) -> None:
        """Move the objects in motion to where they are now, which is reported as their poses."""
        self._move(self._scheduler.now())

    def pose_of(self, name: str) -> Pose | None:
        """Return the present pose of an object; None when it is unknown."""
        self.move()
        return self._medium.pose_of(name)

    def transmit(self, packet: Packet, mount: Mount) -> None:
        """Put a packet on the medium, from a device mounted there.

        All poses are those at the time it was sent; packets that departed before it come first.
        """
        self._catch_up()
        if self._motions:
            self._move(packet.sent_ns)
        name, pose = mount
        self._medium.transmit(packet, self._medium.pose_of(name, pose), mounted_on=name)

    def transmit_from(self, packet: Packet, pose: Pose | None, on: str | None, now: int) -> None:
        """Put a packet of another gateway on the medium, which arrives now.

        Sent from this pose (None: unknown) by a device on the object `on`.
        """
        self._catch_up()
        if self._motions:
            self._move(packet.sent_ns)
        self._medium.transmit(packet, pose, now, on)

    def close(self) -> None:
        """Stop calling the followers."""
        self._wakeup.set(None)

    # --- inside ------------------------------------------------------------------------------

    def _move(self, now: int) -> None:
        now = self._steps.last(now)
        if now == self._moved_ns:
            return
        self._moved_ns = now
        elapsed_ns = max(now - self._origin_ns, 0)
        for name, motion in self._motions.items():
            self._put(name, motion.at(elapsed_ns, self.up), now)

    def _put(self, name: str, pose: Pose | None, now: int) -> None:
        report = self._observer.pose_change
        if report is not None and pose == self._medium.pose_of(name):
            report = None
        self._medium.place(name, pose)
        if report is not None:
            report(PoseEvent(name, pose, now))
        if pose is not None:
            for mount, follower in self._followers.get(name, ()):
                follower(pose.compose(mount))

    def _call_followers(self) -> None:
        now = self._scheduler.now()
        self._move(now)
        if not self._motions.keys().isdisjoint(self._followers):
            self._wakeup.set(now + FOLLOW_NS)


NAME = "mocap"
UNKNOWN_SHOWN = 64  # unknown names shown, each once


class Mocap(asyncio.DatagramProtocol):
    """The port of the motion capture.

    `start` it in a running event loop; port 0 is any free one.
    """

    def __init__(self, address: tuple[str, int], scene: Scene, observer: Observer) -> None:
        self.address = address
        self._scene = scene
        self._observer = observer
        self._transport: asyncio.BaseTransport | None = None
        self._shown: set[str] = set()
        self._datagrams = self._poses = self._malformed = self._unknown = 0

    async def start(self) -> None:
        """Start to listen. PortError when it cannot listen on the address."""
        loop = asyncio.get_running_loop()
        try:
            self._transport, _ = await loop.create_datagram_endpoint(
                lambda: self, local_addr=self.address
            )
        except OSError as error:
            raise PortError(
                f"cannot listen: {error.strerror or error}",
                reason=PortError.BUSY,
                where=f"{NAME} {self._address_text()}",
                fix="choose another port in medium.mocap.listen",
            ) from None
        self.address = self._transport.get_extra_info("sockname")[:2]
        self._observer.notice(NAME, f"listening on {self._address_text()}")

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
            self._transport = None

    def datagram_received(self, data: bytes, addr: object) -> None:
        self._datagrams += 1
        try:
            poses = mocap.decode(data)
        except FrameError as error:
            self._malformed += 1
            self._observer.refused(NAME, "malformed", error.what)
            return
        for name, pose in poses.items():
            try:
                ended = self._scene.place(name, pose)
            except HilgwError:
                self._unknown += 1
                if name not in self._shown and len(self._shown) < UNKNOWN_SHOWN:
                    self._shown.add(name)
                    self._observer.notice(NAME, f"no object {name[:64]!r} here, ignored")
                continue
            self._poses += 1
            if ended:
                self._observer.notice(
                    NAME, f"motion capture sets the pose of {name} from now on; its motion ends"
                )

    def error_received(self, exc: Exception) -> None:
        """Ignore the answers to datagrams of ours, which do not exist."""

    def report(self) -> dict[str, Any]:
        """Return the counts, for `--report`."""
        return {
            "listen": self._address_text(),
            "datagrams": self._datagrams,
            "malformed": self._malformed,
            "poses": self._poses,
            "unknown": self._unknown,
        }

    def _address_text(self) -> str:
        host, port = self.address
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
