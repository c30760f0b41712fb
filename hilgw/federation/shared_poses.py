"""Poses of objects that one gateway simulates and of which another one only carries a radio.

An object whose pose is unknown here gets that of the gateway that has it; this gateway publishes
the poses that others want. A pose that came from a neighbour is not published again.
"""

from collections.abc import Iterable
from functools import partial

from hilgw.engine.scene import Scene
from hilgw.federation import wire
from hilgw.federation.session import OnSample, ZenohSession
from hilgw.federation.wire import Keys
from hilgw.medium.pose import IDENTITY, Pose


class SharedPoses:
    """The poses of the objects of one scene."""

    def __init__(self, scene: Scene, keys: Keys) -> None:
        self._scene = scene
        self._keys = keys
        self._session: ZenohSession | None = None
        self._wanted: dict[str, frozenset[str]] = {}  # by gateway
        self._followed: set[str] = set()
        self._from: dict[str, str] = {}  # object -> the gateway that has its pose
        self._last: dict[str, bytes] = {}

    def begin(self, session: ZenohSession, on_pose: OnSample) -> None:
        """Ask for the poses of the objects that have none; `on_pose` gets their samples."""
        self._session = session
        for name in self.unknown():
            session.subscribe(self._keys.poses(name), on_pose)

    def unknown(self) -> list[str]:
        """Return the objects here whose pose another gateway may have."""
        scene = self._scene
        return [each for each in scene.objects if each in self._from or scene.pose_of(each) is None]

    def want(self, gateway: str, objects: Iterable[str]) -> None:
        """Store the objects whose poses a gateway wants, if they are known here."""
        wanted = frozenset(objects) & set(self._scene.objects)
        if self._wanted.get(gateway, frozenset()) == wanted:
            return
        self._wanted[gateway] = wanted
        for name in wanted:
            if name not in self._followed:
                self._followed.add(name)
                self._scene.follow(name, IDENTITY, partial(self._publish, name))
            elif (data := self._last.get(name)) is not None and self._session is not None:
                self._session.put(self._keys.pose(name), data)

    def forget(self, gateway: str) -> None:
        """Forget a gateway that is gone: its poses are unknown."""
        self._wanted.pop(gateway, None)
        for name in [each for each, its in self._from.items() if its == gateway]:
            del self._from[name]
            self._scene.place(name, None)

    def _publish(self, name: str, pose: Pose) -> None:
        wanted = any(name in each for each in self._wanted.values())
        if self._session is not None and wanted and name not in self._from:
            message = wire.PoseMessage(name, pose.position, pose.quaternion())
            data = self._last[name] = wire.encode_json(message)
            self._session.put(self._keys.pose(name), data)

    def placed(self, gateway: str, payload: bytes) -> None:
        """Take the pose that a gateway reports; of several, the first one counts.

        Raises:
          Malformed, ConfigError: the message is invalid.
        """
        message = wire.decode_json(wire.PoseMessage, payload, wire.LONGEST_HEAD)
        name, pose = message.object, wire.pose_of(message)
        if name not in self._scene.objects or self._from.get(name, gateway) != gateway:
            return
        if name in self._from or self._scene.pose_of(name) is None:
            self._from[name] = gateway
            self._scene.place(name, pose)
