"""Packets of a control loop: between the body, the controller and the radios of the gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hilgw.control.events import PacketIn, PacketOut
    from hilgw.controllers.base import PeerSession
    from hilgw.engine.control_loop.bodies.body_ends import BodyEnds
    from hilgw.engine.control_loop.bodies.forwarder import Forwarder
    from hilgw.engine.control_loop.context import LoopContext
    from hilgw.engine.control_loop.devices.radios import Radios
    from hilgw.engine.control_loop.peer_link import PeerLink
    from hilgw.medium.packet import Copy


class Packets:
    """The packets that arrive. A packet that nothing takes is refused and counted."""

    def __init__(
        self,
        context: LoopContext,
        bodies: BodyEnds,
        controller: PeerLink[PeerSession],
        radios: Radios,
        forwarder: Forwarder,
    ) -> None:
        self._bodies = bodies
        self._controller = controller
        self._radios = radios
        self._forwarder = forwarder
        self._refused = context.statistics.refused
        self._scheduler = context.scheduler

    def from_body(self, packet: PacketIn, now: int) -> None:
        """A packet that a Receiver of the body received."""
        if self._forwarder.takes(packet.index):
            self._forwarder.to_medium(packet)  # the Emitter counts a rejected packet
        elif packet.index not in self._radios:
            self._deliver(packet, now)
        elif (reason := self._radios.carry(packet)) is not None:
            self._refused[reason] += 1

    def from_medium(self, receiver: str, copy: Copy) -> None:
        """A packet that a Receiver of the gateway's own has read."""
        if self._forwarder.is_from_medium(receiver):
            for packet in self._forwarder.to_body(receiver, copy):
                self._to_body(packet)
            return
        event = self._radios.packet_in(receiver, copy)
        if event is not None:
            self._deliver(event, self._scheduler.now())

    def _to_body(self, packet: PacketOut | str) -> None:
        """packet: the reason, when the body does not get it."""
        if isinstance(packet, str):
            self._refused[packet] += 1
            return
        self._forwarder.counts["to_body"] += 1
        body, now = self._bodies.link, self._scheduler.now()
        body.call(now, body.session.send, packet, now)

    def _deliver(self, packet: PacketIn, now: int) -> None:
        self._controller.call(now, self._controller.session.deliver, packet)
