"""Another gateway of the federation: its state, the streams to and from it, its clock."""

from collections import Counter, deque
from collections.abc import Mapping
from itertools import islice
from typing import Any, TypeVar

from hilgw.devices.fields import TYPES
from hilgw.engine.neighbour import Neighbour
from hilgw.engine.observer import State
from hilgw.federation import wire
from hilgw.protocols.gateway.messages import keys_of
from hilgw.reasons import PacketRefused
from hilgw.units import NS_PER_MS, NS_PER_S, ns_to_ms, ns_to_s

T = TypeVar("T")

CLOCK_SAMPLES = 8
REACH_NS = 2 * NS_PER_S
FULL_NS = 3 * NS_PER_S  # without an answer, of which it gives one a second at least
MET_NS = 3 * NS_PER_S  # a gateway asks once a second, at least
MOST_DOUBTS = 4  # reports in a row that are not about a stream: one may have come late
MOST_SHOWN, LONGEST_SHOWN = 256, 256  # names of a gateway in its status, and their characters
LARGEST_GAP = 1024
"""Packets that a packet may skip: beyond it, only the report of the sending end counts."""
EPOCH_BITS, EPOCHS = 40, 1 << 20
_COUNT = (1 << EPOCH_BITS) - 1


class Member:
    """A gateway of this name.

    key: its token. id: of its run; with another one it has started anew, and its streams start at
    0. version: the protocol version. doubted_ns: when it was asked whether it is there, since its
    token is not; None: the token is. neighbour: its place in the engine. state: the state that it
    reported; None: not known yet. is_stale: it may have another one by now. last_state: its last
    state, of a gateway that ends. entered: its packets that are on the medium here; dropped: why
    others are not. unconfirmed: packets to it that were given up: it may have received them. full:
    why it answers nothing though it is there, with the rate of its packets; else empty. unreached:
    gateways that it reaches, and this one does not, so that no packet passes. heavy: the stream and
    number of the last long packet to it; None: it is known to have taken that. offset_ns: this
    clock minus its clock; round_trip_ns: of the query from which this was read; None: not known.
    """

    def __init__(self, key: wire.MemberKey, neighbour: Neighbour, now: int) -> None:
        self.key = key
        self.name = key.name
        self.id = key.id
        self.version = key.version
        self.neighbour = neighbour
        self.state: wire.GatewayState | None = None
        self.is_stale = False
        self.last_state: wire.GatewayState | None = None
        self.is_live = True
        self.came_ns = self.left_ns = self.learned_ns = now
        self.outgoing: dict[str, OutStream] = {}
        self.incoming: dict[str, InStream] = {}
        self.entered = self.unconfirmed = 0
        self.dropped: Counter[str] = Counter()
        self._doubts: Counter[str] = Counter()  # by type of the stream
        self.asked_ns: int | None = None  # the last query; None: none is under way
        self.answered_ns = 0
        self.full = ""
        self._received_bytes = 0  # when the link was judged last
        self.doubted_ns: int | None = None
        self.heavy: tuple[OutStream, int] | None = None
        self.unreached: frozenset[str] = frozenset()
        self._missing: frozenset[str] = frozenset()
        self._reaches_ns = -REACH_NS
        self.is_reach_asked = False
        self._rival = "", 0
        self._met = "", 0, 0
        self.offset_ns: int | None = None
        self.round_trip_ns: int | None = None
        self._clocks: deque[tuple[int, int]] = deque(maxlen=CLOCK_SAMPLES)

    def out(self, type: str) -> "OutStream":
        """Return the stream of this type to it."""
        return self.outgoing.setdefault(type, OutStream())

    def into(self, type: str) -> "InStream":
        """Return the stream of this type from it."""
        return self.incoming.setdefault(type, InStream())

    @property
    def unsettled(self) -> int:
        """Packets to it whose fate it has not reported."""
        return sum(each.unsettled for each in self.outgoing.values())

    def is_light(self) -> bool:
        """Return True if no long packet is under way to it."""
        if self.heavy is not None:
            stream, number = self.heavy
            if stream.delivered + stream.lost < number:
                return False
            self.heavy = None
        return True

    # --- what it reports ------------------------------------------------------------------------

    def settle(self, streams: Mapping[str, tuple[int, int]]) -> None:
        """Count the packets of each type that it has received and lost, or raise ValueError."""
        for type, counts in streams.items():
            if (stream := self.outgoing.get(type)) is not None:
                doubts = self._doubts.pop(type, 0)
                if doubts >= MOST_DOUBTS:
                    self.give_up(only=type)
                    self.heavy = None
                    stream.restart(counts[0])
                    continue
                self._doubts[type] = doubts + 1
                delivered, lost = stream.settle(*counts)
                del self._doubts[type]
                reason = PacketRefused.LINK if lost >= 0 else PacketRefused.UNCONFIRMED
                self.neighbour.outlet(type).settle(delivered, lost, reason)

    def give_up(
        self, reason: PacketRefused = PacketRefused.UNCONFIRMED, only: str | None = None
    ) -> None:
        """Count unconfirmed packets as lost, if given `only` those of this type."""
        for type in self.outgoing if only is None else (only,):
            count = self.outgoing[type].give_up()
            self.unconfirmed += count * (reason is PacketRefused.UNCONFIRMED)
            self.neighbour.outlet(type).settle(0, count, reason)

    def reach(self, sent: Mapping[str, int]) -> None:
        """Count packets that it has sent, by type, and that did not arrive as lost."""
        for type, count in sent.items():
            if count and type in TYPES:
                self.into(type).reach(count)

    def lacks(self, sent: Mapping[str, int]) -> bool:
        """Return True if some of the packets sent have neither arrived nor been counted as lost."""
        return any(
            count and (type not in self.incoming or self.incoming[type].lacks(count))
            for type, count in sent.items()
            if type in TYPES
        )

    def sent(self) -> dict[str, int]:
        """Return the number of the last packet to it, by type."""
        return {type: each.base + each.sent for type, each in self.outgoing.items()}

    def acknowledged(self) -> dict[str, tuple[int, int]]:
        """Return received and lost packets from it so far, by type."""
        return {type: each.acknowledged() for type, each in self.incoming.items()}

    def compare_clocks(self, asked: int, received: int, answered: int, got: int) -> None:
        """Compare the clocks by the times of a query and its answer.

        The times `asked` and `got` are by this clock, `received` and `answered` by its clock.
        """
        trip = (got - asked) - (answered - received)
        if trip >= 0:
            self._clocks.append((trip, ((asked - received) + (got - answered)) // 2))
            # Take the query with the shortest way: it was delayed least.
            self.round_trip_ns, self.offset_ns = min(self._clocks)

    def asks_reach(self, now: int) -> bool:
        """Return True when it is time to ask it which gateways it reaches."""
        if now - self._reaches_ns < REACH_NS:
            return False
        self._reaches_ns, self.is_reach_asked = now, True
        return True

    def reaches(self, missing: frozenset[str]) -> frozenset[str]:
        """Note the gateways that it reaches and this one does not; return those newly confirmed.

        A gateway is confirmed once it was missing twice in a row.
        """
        before, self.unreached = self.unreached, missing & self._missing
        self._missing = missing
        return self.unreached - before

    def rival(self, id: str, now: int) -> tuple[str, int]:
        """Return ID and uptime in ms of the member, if it answered since the rival came.

        Else return ("", 0): it may be gone. The rival is another gateway with its name.
        """
        if self._rival[0] != id:
            self._rival = id, now
        if self.state is None or self.answered_ns <= self._rival[1]:
            return "", 0
        return self.state.id, self.state.uptime_ms + (now - self.learned_ns) // NS_PER_MS

    def meet(self, id: str, uptime_ms: int, now: int) -> None:
        """Note a question from another gateway with its name, which joined this long ago."""
        self._met = id, uptime_ms, now

    def met(self, now: int) -> tuple[str, int]:
        """Return that gateway, see `rival`: the two may not reach each other.

        Return ("", 0) if it is gone, or has not asked for long.
        """
        id, uptime_ms, met_ns = self._met
        if not id or now - met_ns > MET_NS:
            return "", 0
        return id, uptime_ms + (now - met_ns) // NS_PER_MS

    # --- as others see it -------------------------------------------------------------------------

    def leave(self, state: State, reason: str, now: int) -> None:
        """Note that it is gone, or cannot be used."""
        self.is_live = False
        self.left_ns = now
        self.asked_ns = None
        self._missing = self.unreached = frozenset()
        self.neighbour.leave(state, reason)

    def judge(self, now: int, left: int) -> None:
        """Find whether the link to it is full, once a second.

        `left` is the number of bytes of packets that were sent in it, to all gateways.
        """
        received = self.neighbour.passed.received
        silent_ns = now - max(self.answered_ns, self.came_ns)
        self.full = (
            f"no answer for {ns_to_s(silent_ns):.0f} s: the link is full, or it hangs; "
            f"{left / 1000:.3g} kB/s are offered with {self.unsettled} packets not confirmed, "
            f"{(received - self._received_bytes) / 1000:.3g} kB/s come"
            if self.is_live and silent_ns > FULL_NS
            else ""
        )
        self._received_bytes = received

    def counts(self) -> dict[str, Any]:
        """Return the packets to it and from it: plain JSON types."""
        out, into = self.outgoing.values(), self.incoming.values()
        return {
            "id": wire.id_text(self.id),
            "sent": sum(each.sent for each in out),
            "delivered": sum(each.delivered for each in out),
            "lost": sum(each.lost for each in out),
            "unsettled": self.unsettled,
            "unconfirmed": self.unconfirmed,
            "received": sum(each.received for each in into),
            "missed": sum(each.lost for each in into),
            "late": sum(each.late for each in into),
            "entered": self.entered,
            "dropped": dict(self.dropped),
        }

    def status(self) -> dict[str, Any]:
        """Return the counts, with its state and the link to it."""
        offset, trip, state = (
            self.offset_ns,
            self.round_trip_ns,
            self.state or wire.GatewayState(""),
        )
        return {
            "state": str(self.neighbour.state),
            "reason": self.neighbour.reason or self.full,
            **self.counts(),
            "latency": self.neighbour.latency.as_dict(),
            "round_trip_ms": None if trip is None else ns_to_ms(trip),
            "clock_offset_s": None if offset is None else ns_to_s(offset),
            "version": self.version,
            "hilgw": state.hilgw,
            "robots": _shown(state.robots),
            "listeners": {name: keys_of(e) for name, e in _shown(state.listeners).items()},
        }


def _shown(named: Mapping[str, T]) -> dict[str, T]:
    return {name[:LONGEST_SHOWN]: each for name, each in islice(named.items(), MOST_SHOWN)}


# --- the numbers of packets: nothing twice, and each loss counted at both ends --------------------
#
# A stream is the packets of one type from one gateway to another, numbered from 1. The receiving
# end takes a number once, in order; numbers that it skips are lost. It reports how many it received
# and lost, and the sending end counts the same numbers.
#
# The highest bits of a number are the epoch of its stream, 0 at first. If the other end repeatedly
# reports counts that cannot be of this stream, such as after it has forgotten this end, a new epoch
# starts; the other end takes it up once it has asked for it.


class OutStream:
    """The sending end.

    base: the epoch, in a number. sent: packets of it; delivered, lost: packets of these, as the
    other end reported. given_up: lost packets of which it reported nothing.
    """

    __slots__ = ("base", "delivered", "given_up", "lost", "sent")

    def __init__(self) -> None:
        self.base = self.sent = self.delivered = self.lost = self.given_up = 0

    @property
    def unsettled(self) -> int:
        """Packets of which the other end has reported nothing."""
        return self.sent - self.delivered - self.lost

    def next(self) -> int:
        """Return the number of one more packet."""
        self.sent += 1
        return self.base + self.sent

    def settle(self, received: int, lost: int) -> tuple[int, int]:
        """Store the totals that the other end received and lost; return the increase of each.

        The increase of `lost` is negative if it reports on packets that were given up.

        Raises:
          ValueError: the totals are impossible.
        """
        received -= self.base
        delivered, missing = received - self.delivered, lost - self.lost
        if delivered < 0 or missing < -self.given_up or received + lost > self.sent:
            raise ValueError("counts that go back, or more than was sent")
        self.delivered, self.lost, self.given_up = received, lost, 0
        return delivered, missing

    def restart(self, received: int) -> None:
        """Start the epoch after this one, and after that of the report."""
        epoch = max(self.base, received) >> EPOCH_BITS
        self.base = (epoch + 1) % EPOCHS << EPOCH_BITS
        self.sent = self.delivered = self.lost = self.given_up = 0

    def give_up(self) -> int:
        """Count unsettled packets as lost, until the other end reports on them; return how many."""
        count = self.unsettled
        self.lost += count
        self.given_up += count
        return count


class InStream:
    """The receiving end.

    last: the largest number. received, lost: of its epoch. late: packets that came again, or after
    they were counted as lost.
    """

    __slots__ = ("last", "late", "lost", "received")

    def __init__(self) -> None:
        self.last = self.received = self.lost = self.late = 0

    def accept(self, number: int) -> bool:
        """Return True for a new number.

        Raises:
            ValueError: The number is too far beyond the last.
        """
        if number == self.last + 1:  # as nearly always
            self.last = number
            self.received += 1
            return True
        if number <= self.last and not self._is_other(number):
            self.late += 1
            return False
        if number - self.last > LARGEST_GAP or self._is_other(number):
            raise ValueError("a number far beyond the last one")
        self.reach(number)
        self.lost -= 1
        self.received += 1
        return True

    def reach(self, sent: int) -> None:
        """Count packets up to this number, the last one sent, as lost if they did not arrive."""
        if self._is_other(sent):
            self.last, self.received, self.lost = sent & ~_COUNT, 0, 0
        if sent > self.last:
            self.lost += sent - self.last
            self.last = sent

    def lacks(self, sent: int) -> bool:
        """Return True if a packet up to this number neither arrived nor is counted as lost."""
        return self.last < sent or self._is_other(sent)

    def acknowledged(self) -> tuple[int, int]:
        """Return the counts for `OutStream.settle`."""
        return (self.last & ~_COUNT) + self.received, self.lost

    def _is_other(self, number: int) -> bool:
        return number >> EPOCH_BITS != self.last >> EPOCH_BITS
