"""Parts that several gateways share: airs, and the poses of objects.

Airs with modules of several gateways: one module sends a packet, and no packet comes twice. The
transmissions and receptions of other gateways' modules are known here, so that `Airs` recognises
their echoes and duplicates as those of the own modules.

Poses of objects that one gateway simulates and of which another one only carries a radio: an object
whose pose is unknown here gets that of the gateway that has it; this gateway publishes the poses
that others want. A pose that came from a neighbour is not published again.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from hilgw.engine.scene import Scene
from hilgw.federation import wire
from hilgw.federation.session import OnSample, ZenohSession
from hilgw.federation.wire import AirSent, Head, Keys, ListenerState
from hilgw.medium.airs import Airs
from hilgw.medium.pose import IDENTITY, Pose

MOST_MODULES = 1024  # of other gateways


class SharedAirs:
    """The airs of this gateway.

    own: of the modules here. local: modules -> airs that no other gateway can share: a line of
    their own. Other airs of the same name are the same.
    """

    def __init__(self, airs: Airs, name: str, local: Iterable[str], now: Callable[[], int]) -> None:
        self.own = airs
        self._name = name
        self._local = frozenset(local)
        self._now = now
        self._others: dict[str, set[str]] = {}  # air -> gateways with modules in it
        self._owned: dict[tuple[str, str], tuple[str, ...]] = {}
        self.session: ZenohSession | None = None
        self.key = ""
        airs.on_sent = self._sent

    def shared(self, air: str | None) -> str | None:
        """Return the air if other gateways may be in it; else None."""
        return None if air is None or air in self._local else air

    def outside(self, air: str | None) -> str | None:
        """Return the name of the air of a packet for other gateways."""
        return f"{air}@{self._name}" if air in self._local else air

    def inside(self, air: str | None, gateway: str) -> str | None:
        """Return the name of the air of a packet of another gateway."""
        return f"{air}@{gateway}" if air in self._local else air

    def addresses(self, air: str | None, station: str) -> list[str]:
        """Return the source addresses of a module here, for others."""
        shared = self.shared(air)
        return [] if shared is None else sorted(self.own.addresses(shared, station))

    # --- what others have -----------------------------------------------------------------------

    def know(self, gateway: str, listeners: Mapping[str, ListenerState]) -> None:
        """Store the listeners of a gateway; empty: it is gone, or has none."""
        for names in self._others.values():
            names.discard(gateway)
        for name, state in listeners.items():
            if state.air is None or state.air in self._local:
                continue
            self._others.setdefault(state.air, set()).add(gateway)
            module, addresses = f"{name}@{gateway}", tuple(state.addresses)
            is_full = len(self._owned) >= MOST_MODULES and (state.air, module) not in self._owned
            if not is_full and self._owned.get((state.air, module)) != addresses:
                self._owned[state.air, module] = addresses
                self.own.own(state.air, module, addresses)

    def is_duplicate(self, gateway: str, head: Head, data: bytes, now: int) -> bool:
        """Return True if a module of another gateway has received it in the same air before."""
        air, module = head.air, f"{head.source}@{gateway}"
        if air is None or (air, module) not in self._owned:
            return False
        return self.own.is_duplicate(air, module, head.address, data, now)

    def transmitted(self, gateway: str, sent: AirSent, data: bytes) -> None:
        """Note a transmission of another gateway's module."""
        module = f"{sent.station}@{gateway}"
        if (sent.air, module) in self._owned:
            self.own.sent(
                sent.air, data, self._now(), module, sent.air_time_ns, sent.owner, sent.line_ns
            )

    # --- what is here ---------------------------------------------------------------------------

    def _sent(
        self, air: str, data: bytes, station: str, air_time_ns: int, owner: str | None, line_ns: int
    ) -> None:
        if self.session is not None and self._others.get(air) and "@" not in station:
            sent = wire.AirSent(air, station, owner, air_time_ns, line_ns)
            self.session.put(self.key, data, wire.encode_json(sent))


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
