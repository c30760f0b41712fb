"""The medium: takes packets, decides who hears them, hands out copies in order.

It knows Webots' rules and no radio, no simulator, no clock. Deliveries run to completion from
one queue, so a listener may transmit while it is being handed a copy.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from functools import partial
from random import Random

from hilgw.devices.nodes import cone_axis, upright_axis
from hilgw.medium.ledger import Ledger
from hilgw.medium.listeners import Listener, Listeners
from hilgw.medium.matching import admitted, direction, nearer, signal_strength, within_cone
from hilgw.medium.obstacles import Obstacle, Obstacles
from hilgw.medium.packet import Copy, Packet
from hilgw.medium.pose import IDENTITY, Pose

Missed = Callable[[], dict[str, str]]


class Medium:
    """Where Emitters and Receivers, simulated or real, meet.

    webots: the version whose cone axis counts. seed: of the noise, drawn per listener.
    on_fault: told (listener, exception) when a listener's `deliver` raised.
    on_notice: told a line for the user, each once.
    on_transmit: told each packet, the names of those who hear it, if nobody does, why, and what
    to call meanwhile to learn who on the channel missed it.
    """

    def __init__(
        self,
        ledger: Ledger,
        webots: str = "R2025a",
        seed: int = 0,
        on_fault: Callable[[str, Exception], None] = lambda name, error: None,
        on_notice: Callable[[str], None] = lambda text: None,
        on_transmit: Callable[[Packet, list[str], str, Missed], None] | None = None,
    ) -> None:
        self.ledger = ledger
        self._axis = cone_axis(webots)
        self._seed = seed
        self._on_fault = on_fault
        self._on_notice = on_notice
        self._on_transmit = on_transmit
        self._listeners = Listeners()
        self._obstacles = Obstacles(upright_axis(webots))
        self._bodies: dict[str, Pose] = {}
        self._in_flight: deque[tuple[Listener, Copy]] = deque()
        self._delivering = False
        self._said: set[str] = set()
        self._unsaid: list[str] = []  # until the packet at hand is counted

    # --- who is there, and where ----------------------------------------------------------------

    def attach(self, listener: Listener) -> None:
        """From now on it hears. Its station is `ledger.station(listener.name)`.

        Without a pose of its own it is where its body is. ConfigError when the name is taken.
        """
        if listener.pose is None:
            listener.pose = self.pose_of(listener.body, listener.mount)
        listener.noise = Random(f"{self._seed}/{listener.name}")
        listener.count = self.ledger.station(listener.name)
        self._listeners.add(listener)

    def detach(self, name: str) -> None:
        """From now on it does not; copies in flight to it are refused "detached"."""
        self._listeners.remove(name)

    def retune(self, name: str, channels: frozenset[int] | None) -> None:
        """Changes the channels a listener hears, None is all; nothing when it is not attached."""
        listener = self._listeners.get(name)
        if listener is not None:
            self._listeners.retune(listener, channels)

    def move(self, name: str, pose: Pose | None) -> None:
        """Changes where one listener is, None is unknown; nothing when it is not attached."""
        listener = self._listeners.get(name)
        if listener is not None:
            self._listeners.move(listener, pose)

    def place(self, body: str, pose: Pose | None) -> None:
        """A robot or module is there now (None: unknown), and all that is mounted on it."""
        if pose is None:
            self._bodies.pop(body, None)
        else:
            self._bodies[body] = pose
        for listener in self._listeners.on_body(body):
            self._listeners.move(listener, pose.compose(listener.mount) if pose else None)
        self._obstacles.place(body, pose)

    def pose_of(self, body: str, mount: Pose = IDENTITY) -> Pose | None:
        """Where something mounted on this body is; None when the body's place is unknown."""
        pose = self._bodies.get(body)
        return pose.compose(mount) if pose else None

    def obstruct(self, obstacle: Obstacle) -> None:
        """Puts up an obstacle to infra-red signals."""
        self._obstacles.add(obstacle, self._bodies.get(obstacle.body or ""))

    # --- packets --------------------------------------------------------------------------------

    def transmit(
        self,
        packet: Packet,
        pose: Pose | None = None,
        now: int | None = None,
        body: str | None = None,
    ) -> None:
        """Gives the packet, which left from `pose` (None: unknown), to all who hear it.

        body: what carries the sender; its structure is not in the way. It arrives at `now`, by
        default when it was sent. Counted before anybody runs; delivered before this returns,
        unless called from within a delivery: then by the outermost call.
        """
        arrived_ns = packet.sent_ns if now is None else now
        hearing, reason = self._hearing(packet, pose, body)
        self.ledger.source(packet.source).enter(len(hearing), reason)
        for listener, distance in hearing:
            towards = direction(listener, pose, distance)
            strength = signal_strength(packet, distance, listener)
            listener.count.accept()
            self._in_flight.append((listener, Copy(packet, arrived_ns, strength, towards)))
        if self._unsaid:
            self._say_unknown()
        if self._on_transmit is not None:
            names = [each.name for each, _ in hearing]
            missed = partial(self._missed, packet, pose, body, names)
            self._on_transmit(packet, names, reason, missed)
        if not self._delivering:
            self._deliver_all()

    def _hearing(
        self, packet: Packet, pose: Pose | None, body: str | None
    ) -> tuple[list[tuple[Listener, float]], str]:
        """Who hears the packet, with the distance (NaN: unknown); and if nobody, why."""
        limited = pose is not None and packet.range >= 0.0
        near = self._listeners.near(packet, pose) if pose is not None and limited else None
        hearing: list[tuple[Listener, float]] = []
        gates: dict[str, int] = {}  # place in `hearing` of the module of each air
        reason = self._listeners.without_listener(packet)
        for listener in self._listeners.on_channel(packet) if near is None else near:
            distance = math.nan
            why = admitted(packet, listener)
            if not why:
                distance, why = self._reach(packet, pose, body, listener)
            if why:
                reason = nearer(why, reason)
            elif listener.air is None:
                hearing.append((listener, distance))
            elif listener.air not in gates:
                gates[listener.air] = len(hearing)
                hearing.append((listener, distance))
            elif _fits_better(listener, hearing[gates[listener.air]][0], packet.channel):
                hearing[gates[listener.air]] = (listener, distance)
        if near is not None and not hearing:
            reason = self._why_nobody(packet, reason)
        return hearing, reason

    def _missed(
        self, packet: Packet, pose: Pose | None, body: str | None, heard: list[str]
    ) -> dict[str, str]:
        """Everybody else on the channel who might have heard the packet, and why they do not.

        Left out: the sender's own robot, and the modules of the air it came from.
        """
        missed: dict[str, str] = {}
        for listener in self._listeners.on_channel(packet):
            name, air = listener.name, listener.air
            if name not in heard and (air is None or air != packet.air):
                why = admitted(packet, listener) or self._reach(packet, pose, body, listener)[1]
                missed[name] = why or "other_module"
        return {name: why for name, why in missed.items() if why != "own_robot"}

    def _why_nobody(self, packet: Packet, reason: str) -> str:
        """The nearest reason when those out of range, not looked at before, count too."""
        for listener in self._listeners.on_channel(packet):
            if nearer("range", reason) == reason:
                break
            reason = nearer(admitted(packet, listener) or "range", reason)
        return reason

    def _reach(
        self, packet: Packet, pose: Pose | None, body: str | None, listener: Listener
    ) -> tuple[float, str]:
        """Distance, and "" or why the signal does not get there. Unknown poses are in range."""
        there = listener.pose
        if pose is None or there is None:
            self._note_unknown(packet.source if pose is None else listener.name)
            return math.nan, ""
        distance = math.dist(pose.position, there.position)
        if 0.0 <= packet.range < distance:
            return distance, "range"
        if packet.type != "infra-red":
            return distance, ""
        if not (
            within_cone(pose, self._axis, packet.aperture, there.position)
            and within_cone(there, self._axis, listener.aperture, pose.position)
        ):
            return distance, "cone"
        reach = packet.range if packet.range >= 0.0 else math.inf
        owners = (packet.owner, body, listener.owner, listener.body)
        blocked = self._obstacles.block(pose.position, there.position, owners, reach)
        return distance, "obstacle" if blocked else ""

    def _note_unknown(self, name: str) -> None:
        if name not in self._said:
            self._said.add(name)
            self._unsaid.append(name)

    def _say_unknown(self) -> None:
        names, self._unsaid = self._unsaid, []
        for name in names:
            self._on_notice(f"{name}: position unknown, so in range of all, without direction")

    # --- copies ---------------------------------------------------------------------------------

    def _deliver_all(self) -> None:
        self._delivering = True
        try:
            while self._in_flight:
                self._deliver(*self._in_flight.popleft())
        finally:
            self._delivering = False

    def _deliver(self, listener: Listener, copy: Copy) -> None:
        count = listener.count
        count.arrive()
        if self._listeners.get(listener.name) is not listener:
            count.refuse("detached")
            return
        try:
            listener.deliver(copy)
        except Exception as error:  # noqa: BLE001 - one station's fault must not stop the others
            self._lose(listener, "fault")
            self._on_fault(listener.name, error)
        except BaseException:  # the program is being stopped: leave the counts in order
            self._lose(listener, "fault")
            raise

    def _lose(self, listener: Listener, reason: str) -> None:
        """Counts what the listener took and had not counted when it raised."""
        missing = listener.count.unaccounted()
        if missing > 0:
            listener.count.refuse(reason, missing)


def _fits_better(listener: Listener, chosen: Listener, channel: int) -> bool:
    return listener.fits_explicitly(channel) and not chosen.fits_explicitly(channel)
