"""Sessions of adapters and firmware mocks, two readings of the same pages, joined by an air."""

from __future__ import annotations

from typing import Any

from hilgw.adapters.base import Transmission
from hilgw.medium.packet import Packet
from hilgw.testing import co_simulation
from hilgw.testing.co_simulation import CoSimulation


class Side(co_simulation.Side):
    """writes: of the session, each by itself."""

    def __init__(self, world: CoSimulation, session: Any = None, mock: Any = None) -> None:
        self.writes: list[bytes] = []
        super().__init__(world, session, mock)

    def put(self, data: bytes) -> None:
        self.writes.append(data)
        super().put(data)

    def transmit(self, packet: Packet) -> Any:
        """What the session makes of a packet; the bytes of a transmission go to the mock."""
        sent = self.session.send(packet, self.world.now)
        if isinstance(sent, Transmission):
            self.put(sent.data)
        return sent
