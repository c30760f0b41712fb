"""The line of a station: its pace, its frames for observers, and the packets it receives.

Echoes and duplicates are dropped, the others go to the medium.
"""

from collections.abc import Callable, Iterable

from hilgw.adapters.base import Event, Received, StationSettings, Write
from hilgw.engine.observer import Direction
from hilgw.engine.reporting.statistics import StationStatistics
from hilgw.medium.airs import Airs, Origin, normal
from hilgw.medium.packet import Packet
from hilgw.medium.pose import Mount
from hilgw.reasons import PacketDropped
from hilgw.units import NS_PER_S

LONGEST = 512  # bytes without an event that are reported together

OnFrame = Callable[[Direction, bytes], None]


class FrameTap:
    """The frames that a session sends, and the bytes that it receives up to the next event.

    They are reported by on_frame.
    """

    def __init__(self, on_frame: OnFrame) -> None:
        self.on_frame = on_frame
        self._received = b""

    def received(self, data: bytes) -> None:
        """Take bytes that the session gets now."""
        self._received += data

    def answered(self, events: Iterable[Event]) -> None:
        """Take what the session answers."""
        if events or len(self._received) >= LONGEST:
            self.flush()
        for event in events:
            if isinstance(event, Write):
                self.on_frame(Direction.SENT, event.data)

    def flush(self) -> None:
        """Report the received bytes without an event."""
        if self._received:
            data, self._received = self._received, b""
            self.on_frame(Direction.RECEIVED, data)


class LinePacer:
    """A serial line as a server: `bits_per_byte` bits a byte at `baudRate` bit/s.

    Keeps the instant it falls free as a whole number of nanoseconds and a remainder in
    1/baudRate ns, so that rounding never adds up over a long run.
    """

    __slots__ = ("_bits", "_free", "_rest", "baudRate")

    def __init__(self, baudRate: int, bits_per_byte: int) -> None:
        self.baudRate = baudRate
        self._bits = bits_per_byte
        self._free = 0
        self._rest = 0

    @property
    def free_ns(self) -> int:
        """The first whole nanosecond at which all written bytes have left."""
        return self._free + (self._rest > 0)

    def is_free(self, now: int) -> bool:
        return now >= self.free_ns

    def duration_ns(self, size: int) -> int:
        """Return how long the line takes for `size` bytes, rounded down."""
        return size * self._bits * NS_PER_S // self.baudRate

    def occupy(self, size: int, now: int, *, backlog: bool = False) -> int:
        """Take `size` bytes as written; return when the last one has left, in nanoseconds.

        They start when the line is free. With `backlog` they were waiting for that moment, so a
        late timer does not delay the schedule.
        """
        if now > self.free_ns and not backlog:
            self._free, self._rest = now, 0
        whole, self._rest = divmod(size * self._bits * NS_PER_S + self._rest, self.baudRate)
        self._free += whole
        return self.free_ns

    def reset(self) -> None:
        """Forget the bytes under way, which are gone: the port was closed."""
        self._free = self._rest = 0


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
