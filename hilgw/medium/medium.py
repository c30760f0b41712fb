"""The medium: takes packets, matches listeners, delivers copies in order.

It applies Webots' rules and depends on no radio, simulator or clock. Deliveries run to completion
from one queue, so a listener may transmit while it takes a copy.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Protocol

from hilgw.devices.fields import CHANNEL_MAX
from hilgw.devices.nodes import cone_axis, upright_axis
from hilgw.medium.ledger import Ledger
from hilgw.medium.listeners import (
    Listener,
    Listeners,
    OutOfRange,
    direction,
    exclusion,
    later,
    signal_strength,
    within_cone,
)
from hilgw.medium.obstacles import Obstacle, Obstacles
from hilgw.medium.packet import BROADCAST, Copy, Packet
from hilgw.medium.pose import IDENTITY, Pose
from hilgw.reasons import NotReceivedReason, PacketRefused

Missed = Callable[[], Mapping[str, str]]
Transmitted = Callable[[Packet, Sequence[str], NotReceivedReason | None, Missed], None]


class MediumObserver(Protocol):
    """Receiver of a medium's events."""

    @property
    def transmitted(self) -> Transmitted | None:
        """Function that is called with each packet; None: no observer takes them.

        It gets the names of the listeners that receive the packet, the reason when there are none,
        and a function that returns the listeners on the channel that do not receive it, with their
        reasons; it calls that before it returns, or never.
        """

    def notice(self, source: str, text: str) -> None:
        """Show a line to the user."""


class Unobserved:
    """An observer that ignores everything."""

    transmitted: Transmitted | None = None

    def notice(self, source: str, text: str) -> None:
        return


class Medium:
    """Connects Emitters and Receivers, simulated or real.

    webots: the version that defines the cone axis, of a device. seed: of the noise, drawn per
    listener. on_listeners: called after a listener was attached, detached or retuned.
    """

    def __init__(
        self,
        ledger: Ledger,
        webots: str = "R2025a",
        seed: int = 0,
        observer: MediumObserver = Unobserved(),  # noqa: B008 - it has no state
    ) -> None:
        self.ledger = ledger
        self.cone_axis = cone_axis(webots)
        self._seed = seed
        self._observer = observer
        self._listeners = Listeners()
        self._obstacles = Obstacles(upright_axis(webots))
        self._poses: dict[str, Pose] = {}
        self._in_flight: deque[tuple[Listener, Copy]] = deque()
        self._delivering = False
        self._noticed: set[str] = set()
        self._notices: list[str] = []  # names, until the current packet is counted
        self.on_listeners: Callable[[], object] = lambda: None

    # --- listeners and objects ------------------------------------------------------------------

    @property
    def listeners(self) -> Iterable[Listener]:
        """Names of the attached listeners."""
        return self._listeners.by_name.values()

    def attach(self, listener: Listener) -> None:
        """Add a listener, which has its counts in `ledger.station(listener.name)`.

        Without a pose of its own it takes that of the object it is mounted on.

        Raises:
            ConfigError: the name is in use.
        """
        if listener.pose is None:
            listener.pose = self.pose_of(listener.mounted_on, listener.mount)
        listener.noise = Random(f"{self._seed}/{listener.name}")
        listener.count = self.ledger.station(listener.name)
        self._listeners.add(listener)
        self.on_listeners()

    def detach(self, name: str) -> None:
        """Remove a listener; copies in flight to it are refused "detached"."""
        self._listeners.remove(name)
        self.on_listeners()

    def retune(self, name: str, channels: frozenset[int] | None) -> None:
        """Change the channels of a listener, None: all; does nothing when it is not attached."""
        listener = self._listeners.by_name.get(name)
        if listener is not None:
            self._listeners.retune(listener, channels)
            self.on_listeners()

    def place(self, name: str, pose: Pose | None) -> None:
        """Change the pose of an object (None: unknown), and of all that is mounted on it."""
        if pose is None:
            self._poses.pop(name, None)
        else:
            self._poses[name] = pose
        for listener in self._listeners.on_object(name):
            self._listeners.move(listener, pose.compose(listener.mount) if pose else None)
        self._obstacles.place(name, pose)

    def pose_of(self, name: str, mount: Pose = IDENTITY) -> Pose | None:
        """Return the pose of a device mounted on this object.

        None when the object's pose is unknown.
        """
        pose = self._poses.get(name)
        return pose if pose is None or mount is IDENTITY else pose.compose(mount)

    def obstruct(self, obstacle: Obstacle) -> None:
        """Add an obstacle to infra-red signals."""
        self._obstacles.add(obstacle, self._poses.get(obstacle.attached_to or ""))

    # --- packets --------------------------------------------------------------------------------

    def transmit(
        self,
        packet: Packet,
        pose: Pose | None = None,
        now: int | None = None,
        mounted_on: str | None = None,
    ) -> None:
        """Deliver a packet, sent from `pose` (None: unknown), to all listeners in reach.

        The packet arrives at `now`, by default when it was sent. All copies are counted before the
        first is delivered, and delivered before this returns; a call from within a delivery leaves
        them to the outermost call.

        Args:
            mounted_on: the object that carries the sender; its own obstacles do not block.
        """
        arrived_ns = packet.sent_ns if now is None else now
        receivers, reason, listeners = self._match(packet, pose, mounted_on)
        names = [each.name for each, _ in receivers]
        self.ledger.enter(packet.source, names, reason)
        is_plain = packet.rssi_dbm is None
        for listener, distance in receivers:
            if listener.is_neighbour:
                copy = Copy(packet, arrived_ns, origin=pose, mounted_on=mounted_on)
            elif is_plain and math.isnan(distance) and not listener.signal_strength_noise:
                copy = Copy(packet, arrived_ns)  # all unknown, and no noise is drawn
            else:
                towards = direction(listener, pose, distance)
                strength = signal_strength(packet, distance, listener)
                copy = Copy(packet, arrived_ns, strength, towards)
            listener.count.accept()
            self._in_flight.append((listener, copy))
        if self._notices:
            self._send_notices()
        if (transmitted := self._observer.transmitted) is not None:
            of = packet, pose, mounted_on, names, listeners
            transmitted(
                packet, names, reason, dict if listeners == () else partial(self._missed, *of)
            )
        if not self._delivering:
            self._deliver_all()

    def send_to(self, packet: Packet, name: str) -> NotReceivedReason | None:
        """Deliver a packet to this listener alone, whatever its owner, air and pose.

        Returns:
            The reason why it does not receive the packet, or None.

        Raises:
            KeyError: the listener is not attached.
        """
        listener, reason, names = self._listeners.by_name[name], None, [name]
        channels, channel = listener.channels, packet.channel
        if channel > CHANNEL_MAX or not (
            channels is None or channel == BROADCAST or channel in channels
        ):
            reason, names = NotReceivedReason.CHANNEL, []
        self.ledger.enter(packet.source, names, reason)
        if reason is None:
            listener.count.accept()
            self._in_flight.append((listener, Copy(packet, packet.sent_ns)))
        if (transmitted := self._observer.transmitted) is not None:
            transmitted(packet, names, reason, dict)
        if not self._delivering:
            self._deliver_all()
        return reason

    def _match(
        self, packet: Packet, pose: Pose | None, mounted_on: str | None
    ) -> tuple[list[tuple[Listener, float]], NotReceivedReason | None, Sequence[Listener] | None]:
        """Return the listeners that receive the packet, with the distance (NaN: unknown).

        Then the reason when there are none; then all on the channel, () where nothing is to be
        reported of the others, and None where the index checked only some of them.
        """
        near = (
            self._listeners.near(packet, pose) if pose is not None and packet.range >= 0.0 else None
        )
        receivers: list[tuple[Listener, float]] = []
        modules: dict[str, int] = {}  # index in `receivers` of the module of each air
        reason, unmentioned = NotReceivedReason.NO_LISTENER, 0
        listeners = self._listeners.on_channel(packet) if near is None else None
        for listener in near or listeners or ():
            distance = math.nan
            excluded = exclusion(packet, listener)
            if excluded is None:
                distance, excluded = self._reach(packet, pose, mounted_on, listener)
            if excluded is not None:
                reason = later(excluded, reason)
                is_own_air = listener.air is not None and listener.air == packet.air
                unmentioned += is_own_air or excluded is NotReceivedReason.NO_LISTENER
            elif listener.air is None:
                receivers.append((listener, distance))
            elif listener.air not in modules:
                modules[listener.air] = len(receivers)
                receivers.append((listener, distance))
            elif _fits_better(listener, receivers[modules[listener.air]][0], packet.channel):
                receivers[modules[listener.air]] = (listener, distance)
        if receivers:
            is_whole = listeners is not None and len(receivers) + unmentioned == len(listeners)
            return receivers, None, () if is_whole else listeners
        reason = later(reason, self._listeners.reason_without_listener(packet))
        if near is not None:
            reason = self._reason_with_far_listeners(packet, reason)
        return receivers, reason, listeners

    def _missed(
        self,
        packet: Packet,
        pose: Pose | None,
        mounted_on: str | None,
        receivers: list[str],
        listeners: Sequence[Listener] | None,
    ) -> dict[str, str]:
        """Return the other listeners on the channel, and why they do not receive the packet.

        The sender's own robot, and the modules of the air it came from, are left out.
        """
        missed: dict[str, str] = {}
        for listener in self._listeners.on_channel(packet) if listeners is None else listeners:
            name, air = listener.name, listener.air
            if name not in receivers and (air is None or air != packet.air):
                reason = exclusion(packet, listener)
                if reason is not NotReceivedReason.NO_LISTENER:
                    missed[name] = reason or self._not_reached(packet, pose, mounted_on, listener)
        return missed

    def _not_reached(
        self, packet: Packet, pose: Pose | None, mounted_on: str | None, listener: Listener
    ) -> str:
        """Return why the signal does not arrive, with numbers; else that another module has it."""
        distance, reason = self._reach(packet, pose, mounted_on, listener)
        if reason is NotReceivedReason.RANGE:
            return OutOfRange.of(packet.range, distance)
        return reason or NotReceivedReason.OTHER_MODULE

    def _reason_with_far_listeners(
        self, packet: Packet, reason: NotReceivedReason
    ) -> NotReceivedReason:
        """Return the latest reason, with the listeners out of range that the index left out."""
        for listener in self._listeners.on_channel(packet):
            if later(NotReceivedReason.RANGE, reason) == reason:
                break
            reason = later(exclusion(packet, listener) or NotReceivedReason.RANGE, reason)
        return reason

    def _reach(
        self, packet: Packet, pose: Pose | None, mounted_on: str | None, listener: Listener
    ) -> tuple[float, NotReceivedReason | None]:
        """Return the distance, and None or why the signal does not arrive.

        Listeners with unknown poses are in range.
        """
        there = listener.pose
        if pose is None or there is None:
            name = packet.source if pose is None else listener.name
            if name not in self._noticed and not listener.is_neighbour:  # it has poses of its own
                self._noticed.add(name)
                self._notices.append(name)
            return math.nan, None
        distance = math.dist(pose.position, there.position)
        if 0.0 <= packet.range < distance:
            return distance, NotReceivedReason.RANGE
        if packet.type != "infra-red":
            return distance, None
        if not (
            within_cone(pose, self.cone_axis, packet.aperture, there.position)
            and within_cone(there, self.cone_axis, listener.aperture, pose.position)
        ):
            return distance, NotReceivedReason.CONE
        reach = packet.range if packet.range >= 0.0 else math.inf
        owners = (packet.owner, mounted_on, listener.owner, listener.mounted_on)
        blocked = self._obstacles.block(pose.position, there.position, owners, reach)
        return distance, NotReceivedReason.OBSTACLE if blocked else None

    def _send_notices(self) -> None:
        names, self._notices = self._notices, []
        for name in names:
            self._observer.notice(
                "medium", f"{name}: position unknown, in range of all stations, without direction"
            )

    # --- copies ---------------------------------------------------------------------------------

    def _deliver_all(self) -> None:
        self._delivering = True
        by_name, in_flight = self._listeners.by_name, self._in_flight
        try:
            while in_flight:
                listener, copy = in_flight.popleft()
                count = listener.count
                count.arrive()
                if by_name.get(listener.name) is not listener:
                    count.refuse(PacketRefused.DETACHED)
                    continue
                try:
                    listener.deliver(copy)
                except Exception as error:  # noqa: BLE001 - that of one station must not stop others
                    self._lose(listener)
                    if listener.on_fault is not None:
                        listener.on_fault(error)
                    else:
                        self._observer.notice(listener.name, f"fault: {error!r:.200}")
                except BaseException:  # the program is being stopped: keep the counts consistent
                    self._lose(listener)
                    raise
        finally:
            self._delivering = False

    def _lose(self, listener: Listener) -> None:
        """Count the copies that the listener took and had not counted when it raised."""
        missing = listener.count.unaccounted()
        if missing > 0:
            listener.count.refuse(PacketRefused.FAULT, missing)


def _fits_better(listener: Listener, chosen: Listener, channel: int) -> bool:
    """Return whether its mapping, and not that of the chosen one, names this channel explicitly."""
    return channel in (listener.channels or ()) and channel not in (chosen.channels or ())
