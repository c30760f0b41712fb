"""The packets a station's hardware receives.

Echoes and duplicates are dropped, the others go to the medium.
"""

from collections.abc import Callable

from hilgw.adapters.base import Received, StationSettings
from hilgw.engine.reporting.statistics import StationStatistics
from hilgw.medium.airs import Airs, Origin, normal
from hilgw.medium.packet import Packet
from hilgw.medium.pose import Mount
from hilgw.reasons import PacketDropped


class ReceiveFilter:
    """The receiving half of one station.

    type: of its packets on the medium. air, airs: where its module transmits. mount: the object
    that carries the module.
    """

    def __init__(
        self,
        type: str,
        air: str,
        airs: Airs,
        common: StationSettings,
        statistics: StationStatistics,
        mount: Mount,
        transmit: Callable[[Packet, Mount], object],
    ) -> None:
        self.type = type
        self.air = air
        self.airs = airs
        self.mount = mount
        self._common = common
        self._statistics = statistics
        self._transmit = transmit
        self._sources = {normal(address): robot for address, robot in common.sources.items()}

    def _owner(self, address: str | None) -> str | None:
        return self._sources.get(normal(address)) if address else None

    def receive(self, event: Received, now: int) -> None:
        """Put a received packet on the medium, unless it is an unwanted echo or a duplicate."""
        airs, air, name = self.airs, self.air, self._statistics.name
        origin, owner = airs.origin(air, name, event.address, event.data, now)
        if (travelled_ns := airs.travelled_ns) is not None:
            self._statistics.air.add(travelled_ns)
        if origin is Origin.ECHO and self._common.own_echo == "drop":
            self._statistics.echo()
            return
        if airs.is_duplicate(air, name, event.address, event.data, now):
            self._statistics.drop(PacketDropped.DUPLICATE, "another module here received it first")
            return
        self._statistics.count.receive()
        self._transmit(
            Packet(
                data=event.data,
                channel=event.channel,
                type=self.type,
                source=name,
                owner=owner or (self._owner(event.address) if self._sources else None),
                air=air,
                rssi_dbm=event.rssi_dbm,
                rssi_at_1m_dbm=self._common.rssi_at_1m_dbm,
                address=event.address,
                sent_ns=now,
                rssi_uncertain=event.rssi_uncertain,
                is_own=origin is not Origin.FOREIGN,
            ),
            self.mount,
        )
