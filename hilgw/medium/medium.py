"""The medium: takes packets, decides who hears them, hands out copies in order.

It knows Webots' rules and no radio, no simulator, no clock. Deliveries run to completion from
one queue, so a listener may transmit while it is being handed a copy.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from random import Random

from hilgw.devices.nodes import cone_axis
from hilgw.medium.ledger import Ledger
from hilgw.medium.listener import Listener, Listeners
from hilgw.medium.matching import admitted, direction, nearest, signal_strength, within_cone
from hilgw.medium.packet import Copy, Packet
from hilgw.medium.pose import Pose


class Medium:
    """Where Emitters and Receivers, simulated or real, meet.

    webots: the version whose cone axis counts. seed: of the noise, drawn per listener.
    on_fault: told (listener, exception) when a listener's `deliver` raised.
    on_notice: told a line for the user, each once.
    on_transmit: told each packet, the names of those who hear it, and if nobody does, why.
    """

    def __init__(
        self,
        ledger: Ledger,
        webots: str = "R2025a",
        seed: int = 0,
        on_fault: Callable[[str, Exception], None] = lambda name, error: None,
        on_notice: Callable[[str], None] = lambda text: None,
        on_transmit: Callable[[Packet, list[str], str], None] | None = None,
    ) -> None:
        self.ledger = ledger
        self._axis = cone_axis(webots)
        self._seed = seed
        self._on_fault = on_fault
        self._on_notice = on_notice
        self._on_transmit = on_transmit
        self._listeners = Listeners()
        self._noise: dict[str, Random] = {}
        self._in_flight: deque[tuple[Listener, Copy]] = deque()
        self._delivering = False
        self._said: set[str] = set()

    def attach(self, listener: Listener) -> None:
        """From now on it hears. Its station is `ledger.station(listener.name)`."""
        self._listeners.add(listener)
        self._noise[listener.name] = Random(f"{self._seed}/{listener.name}")
        self.ledger.station(listener.name)

    def detach(self, name: str) -> None:
        """From now on it does not; copies in flight to it are refused "detached"."""
        self._listeners.remove(name)

    def retune(self, name: str, channels: frozenset[int] | None) -> None:
        """Changes the channels a listener hears; None is all."""
        self._listeners.retune(name, channels)

    def move(self, name: str, pose: Pose | None) -> None:
        """Changes where a listener is; None is unknown."""
        listener = self._listeners.get(name)
        if listener is not None:
            listener.pose = pose

    def transmit(self, packet: Packet, pose: Pose | None = None, now: int | None = None) -> None:
        """Gives the packet, which left from `pose` (None: unknown), to all who hear it.

        It arrives at `now`, by default when it was sent. Counted before anybody runs; delivered
        before this returns, unless called from within a delivery: then by the outermost call.
        """
        arrived_ns = packet.sent_ns if now is None else now
        hearing, reason = self._hearing(packet, pose)
        self.ledger.source(packet.source).enter(len(hearing), reason)
        for listener, distance in hearing:
            noise = self._noise[listener.name]
            towards = direction(listener, pose, noise)
            strength = signal_strength(packet, distance, listener, noise)
            self.ledger.station(listener.name).accept()
            self._in_flight.append((listener, Copy(packet, arrived_ns, strength, towards)))
        if self._on_transmit is not None:
            self._on_transmit(packet, [one.name for one, _ in hearing], reason)
        if not self._delivering:
            self._deliver_all()

    def _hearing(
        self, packet: Packet, pose: Pose | None
    ) -> tuple[list[tuple[Listener, float]], str]:
        """Who hears the packet, with the distance (NaN: unknown); and if nobody, why."""
        hearing: list[tuple[Listener, float]] = []
        gates: dict[str, int] = {}  # place in `hearing` of the module of each air
        reason = self._listeners.without_listener(packet)
        for listener in self._listeners.on_channel(packet):
            why = admitted(packet, listener)
            distance = math.nan
            if not why:
                distance, why = self._reach(packet, pose, listener)
            if why:
                reason = nearest(why, reason)
            elif listener.air is None:
                hearing.append((listener, distance))
            elif listener.air not in gates:
                gates[listener.air] = len(hearing)
                hearing.append((listener, distance))
            elif _fits_better(listener, hearing[gates[listener.air]][0], packet.channel):
                hearing[gates[listener.air]] = (listener, distance)
        return hearing, reason

    def _reach(self, packet: Packet, pose: Pose | None, listener: Listener) -> tuple[float, str]:
        """Distance, and "" or why the signal does not get there. Unknown poses are in range."""
        if pose is None or listener.pose is None:
            self._say_unknown(packet.source if pose is None else listener.name)
            return math.nan, ""
        distance = math.dist(pose.position, listener.pose.position)
        if packet.range >= 0.0 and distance > packet.range:
            return distance, "range"
        if packet.type != "infra-red":
            return distance, ""
        cones = within_cone(pose, self._axis, packet.aperture, listener.pose.position)
        if not cones or not within_cone(
            listener.pose, self._axis, listener.aperture, pose.position
        ):
            return distance, "cone"
        return distance, ""

    def _say_unknown(self, name: str) -> None:
        if name not in self._said:
            self._said.add(name)
            self._on_notice(f"{name}: position unknown, so in range of all, without direction")

    def _deliver_all(self) -> None:
        self._delivering = True
        try:
            while self._in_flight:
                self._deliver(*self._in_flight.popleft())
        finally:
            self._delivering = False

    def _deliver(self, listener: Listener, copy: Copy) -> None:
        count = self.ledger.station(listener.name)
        count.arrive()
        if self._listeners.get(listener.name) is not listener:
            count.refuse("detached")
            return
        try:
            listener.deliver(copy)
        except Exception as error:  # noqa: BLE001 - one station's fault must not stop the others
            self._on_fault(listener.name, error)
        finally:
            missing = count.unaccounted()
            if missing > 0:
                count.refuse("fault", missing)


def _fits_better(listener: Listener, chosen: Listener, channel: int) -> bool:
    return listener.fits_explicitly(channel) and not chosen.fits_explicitly(channel)
