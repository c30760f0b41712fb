"""The ledger: every packet is accounted for, and every loss has a reason.

All counts are kept here. Each owner counts its own actions; `queued` is read from the queue
itself, so the equations are checks and not definitions:

    emitter   offered = accepted + rejected;  accepted = departed + queued + expired
    medium    departed = received + not received, per source;  all copies = all copies at stations
    station   accepted = delivered + queued + refused + expired  (in flight counts as queued)

`accepted` includes a module's own echoes and the packets that a robot's body reported: neither is a
copy of the medium.

Each kind of loss has its reasons (`hilgw.reasons`); a word that is not among them is a ValueError.
An owner counts before it calls any other code, so the equations hold at any instant.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hilgw.reasons import (
    DroppedReason,
    ExpiredReason,
    NotReceivedReason,
    PacketRefused,
    RefusedReason,
    RejectedReason,
)

MOST_PAIRS = 65_536  # of a source and a listener
OTHERS = "others"
C = TypeVar("C")


class _QueueCount:
    def __init__(self, name: str) -> None:
        self.name = name
        self.queued: Callable[[], int] = int  # 0 until it is set
        self.accepted = 0
        self.expired: Counter[str] = Counter()

    def expire(self, count: int, reason: ExpiredReason) -> None:
        """Count what was in a queue that was discarded."""
        if count:
            self.expired[ExpiredReason.check(reason)] += count


class EmitterCount(_QueueCount):
    """Counts of the packets offered to one emitter."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.offered = 0
        self.departed = 0
        self.rejected: Counter[str] = Counter()

    def offer(self, reason: RejectedReason | None) -> None:
        """Count one offered packet: accepted when there is no reason, else rejected for it."""
        self.offered += 1
        if reason is None:
            self.accepted += 1
        else:
            self.rejected[RejectedReason.check(reason)] += 1

    def depart(self) -> None:
        """Count one packet that leaves the queue and enters the medium next."""
        self.departed += 1

    def violations(self) -> list[str]:
        wrong = []
        rejected, expired, queued = self.rejected.total(), self.expired.total(), self.queued()
        if self.offered != self.accepted + rejected:
            wrong.append(
                f"emitter {self.name}: offered {self.offered} != "
                f"accepted {self.accepted} + rejected {rejected}"
            )
        if self.accepted != self.departed + queued + expired:
            wrong.append(
                f"emitter {self.name}: accepted {self.accepted} != "
                f"departed {self.departed} + queued {queued} + expired {expired}"
            )
        return wrong

    def as_dict(self) -> dict[str, Any]:
        return {
            "offered": self.offered,
            "accepted": self.accepted,
            "rejected": dict(self.rejected),
            "departed": self.departed,
            "queued": self.queued(),
            "expired": self.expired.total(),
            "expired_by": dict(self.expired),
        }


class SourceCount:
    """Counts of the packets that one source put on the medium.

    by_listener: the copies for each, in bounded memory.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.packets = 0
        self.received = 0
        self.copies = 0
        self.by_listener: dict[str, int] = {}
        self.not_received: Counter[str] = Counter()

    def violations(self) -> list[str]:
        not_received = self.not_received.total()
        if self.packets == self.received + not_received:
            return []
        return [
            f"medium: packets of {self.name} {self.packets} != "
            f"received {self.received} + not received {not_received}"
        ]

    def as_dict(self) -> dict[str, Any]:
        return {
            "received": self.received,
            "copies": self.copies,
            "not_received": dict(self.not_received),
        }


class StationCount(_QueueCount):
    """Counts of the copies for one receiver or hardware station.

    `inbound` counts the packets its hardware received: each enters the medium, is our own echo or
    is dropped. An echo is accepted and refused at once, so the equation holds it with its reason.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.in_flight = 0  # matched by the medium, not handed over yet
        self.delivered = 0
        self.refused: Counter[str] = Counter()
        self.from_body = 0  # reported by the robot's body, so never on the medium
        self.inbound = 0
        self.echoes = 0
        self.dropped: Counter[str] = Counter()  # received, and not a valid packet

    def accept(self) -> None:
        """Count a copy that the medium matched to this station."""
        self.accepted += 1
        self.in_flight += 1

    def carry(self) -> None:
        """Count a packet that the robot's body reported for this Receiver."""
        self.accepted += 1
        self.from_body += 1

    def arrive(self) -> None:
        """Count a copy that is handed over; from now on its owner counts it."""
        self.in_flight -= 1

    def deliver(self) -> None:
        """Count a copy that was read, sent completely or acknowledged."""
        self.delivered += 1

    def refuse(self, reason: str, count: int = 1) -> None:
        """Count copies lost for this reason."""
        self.refused[RefusedReason.check(reason)] += count

    def receive(self) -> None:
        """Count a packet from the hardware that enters the medium next."""
        self.inbound += 1

    def echo(self) -> None:
        """Count a packet from the hardware that another of our modules had sent."""
        self.inbound += 1
        self.echoes += 1
        self.accepted += 1
        self.refused[PacketRefused.OWN_ECHO] += 1

    def drop(self, reason: str, count: int = 1) -> None:
        """Count input from the hardware that is not a valid packet."""
        self.inbound += count
        self.dropped[DroppedReason.check(reason)] += count

    def unaccounted(self) -> int:
        """Return the accepted copies that no counter holds; 0 when the counts are consistent."""
        known = self.delivered + self.in_flight + self.queued()
        return self.accepted - known - self.refused.total() - self.expired.total()

    def violations(self) -> list[str]:
        if self.unaccounted() == 0:
            return []
        return [
            f"station {self.name}: accepted {self.accepted} != delivered {self.delivered} + "
            f"queued {self.queued() + self.in_flight} + refused {self.refused.total()} + "
            f"expired {self.expired.total()}"
        ]

    def as_dict(self) -> dict[str, Any]:
        return {
            "accepted": self.accepted,
            "delivered": self.delivered,
            "queued": self.queued() + self.in_flight,
            "refused": dict(self.refused),
            "expired": self.expired.total(),
            "expired_by": dict(self.expired),
            "inbound": self.inbound,
            "dropped": dict(self.dropped),
            **({"from_body": self.from_body} if self.from_body else {}),
        }


class _ByName(dict[str, C]):
    def __init__(self, make: Callable[[str], C]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, name: str) -> C:
        made = self[name] = self._make(name)
        return made


class Ledger:
    """Counts of one gateway."""

    def __init__(self) -> None:
        self._emitters = _ByName(EmitterCount)
        self._stations = _ByName(StationCount)
        self._sources = _ByName(SourceCount)
        self._pairs = self._other_copies = (
            0  # of a source and a listener; of pairs beyond the limit
        )

    def emitter(self, name: str, queued: Callable[[], int] | None = None) -> EmitterCount:
        """Return the counts of this emitter; `queued` returns the length of its queue."""
        count = self._emitters[name]
        if queued is not None:
            count.queued = queued
        return count

    def station(self, name: str, queued: Callable[[], int] | None = None) -> StationCount:
        """Return the counts of this receiver or hardware station; `queued` as above."""
        count = self._stations[name]
        if queued is not None:
            count.queued = queued
        return count

    def source(self, name: str) -> SourceCount:
        """Return the medium's counts of the packets from this emitter or hardware station."""
        return self._sources[name]

    def enter(
        self, source: str, listeners: Sequence[str], reason: NotReceivedReason | None
    ) -> None:
        """Count one packet on the medium: received by these listeners, or lost for this reason."""
        count = self._sources[source]
        count.packets += 1
        if reason is not None:
            count.not_received[NotReceivedReason.check(reason)] += 1
            return
        count.received += 1
        count.copies += len(listeners)
        by_listener = count.by_listener
        for name in listeners:
            if name in by_listener:
                by_listener[name] += 1
            elif self._pairs < MOST_PAIRS:
                by_listener[name] = 1
                self._pairs += 1
            else:
                self._other_copies += 1

    def violations(self) -> list[str]:
        """Return all equations that do not hold, as text; empty when the counts are consistent."""
        tables = self._emitters, self._sources, self._stations
        wrong = [
            line for table in tables for count in table.values() for line in count.violations()
        ]
        for name, emitter in self._emitters.items():
            wrong += self._entered(f"emitter {name}: departed", emitter.departed, name)
        for name, station in self._stations.items():
            became = station.inbound - station.echoes - station.dropped.total()
            wrong += self._entered(f"station {name}: inbound that became packets", became, name)
        copies = sum(source.copies for source in self._sources.values())
        accepted = sum(
            count.accepted - count.echoes - count.from_body for count in self._stations.values()
        )
        if copies != accepted:
            wrong.append(f"medium: copies {copies} != accepted at the stations {accepted}")
        return wrong

    def as_dict(self) -> dict[str, Any]:
        """Return the report's `emitters`, `stations`, `medium` and `received_by`."""
        sources = list(self._sources.values())
        return {
            "emitters": {
                name: count.as_dict() | self._entered_dict(name)
                for name, count in self._emitters.items()
            },
            "stations": {
                name: count.as_dict() | self._entered_dict(name)
                for name, count in self._stations.items()
            },
            "medium": {
                "packets": sum(source.packets for source in sources),
                "copies": sum(source.copies for source in sources),
                "not_received": dict(sum((each.not_received for each in sources), Counter())),
            },
            "received_by": self._received_by(),
        }

    def _received_by(self) -> dict[str, dict[str, int]]:
        counts = {e.name: dict(e.by_listener) for e in self._sources.values() if e.by_listener}
        if self._other_copies:
            counts[OTHERS] = {OTHERS: self._other_copies}
        return counts

    def losses(self) -> dict[str, dict[str, int]]:
        """Return all losses: kind -> reason -> packets."""
        emitters, stations = self._emitters.values(), self._stations.values()
        kinds = {
            "rejected": [each.rejected for each in emitters],
            "not_received": [each.not_received for each in self._sources.values()],
            "refused": [each.refused for each in stations],
            "dropped": [each.dropped for each in stations],
            "expired": [*(each.expired for each in emitters), *(each.expired for each in stations)],
        }
        return {kind: dict(sum(counts, Counter())) for kind, counts in kinds.items()}

    def queues(self) -> dict[str, int]:
        """Return the packets that wait now at each Emitter, Receiver and hardware station."""
        queued = {name: each.queued() for name, each in self._emitters.items()}
        return queued | {name: each.queued() for name, each in self._stations.items()}

    def _entered(self, subject: str, sent: int, name: str) -> list[str]:
        source = self._sources.get(name)
        packets = source.packets if source else 0
        return [] if sent == packets else [f"{subject} {sent} != entered the medium {packets}"]

    def _entered_dict(self, name: str) -> dict[str, Any]:
        return self._sources.get(name, SourceCount(name)).as_dict()
