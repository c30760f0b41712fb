"""Sessions of adapters and firmware mocks, two readings of the same pages, joined by an air."""

from __future__ import annotations

from typing import Any

from hilgw.adapters.base import Transmission
from hilgw.medium.packet import Packet
from tests import cosimulation


class Side(cosimulation.Side):
    def transmit(self, packet: Packet) -> Any:
        """What the session makes of a packet; the bytes of a transmission go to the mock."""
        sent = self.session.send(packet, self.world.now)
        if isinstance(sent, Transmission):
            self.put(sent.data)
        return sent
