"""The state that a gateway publishes, and the network as it shows it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from hilgw import __version__
from hilgw.config.model import FederationConfig
from hilgw.devices.fields import TYPES
from hilgw.engine.gateway import Gateway
from hilgw.engine.neighbour import Federated
from hilgw.federation import wire
from hilgw.federation.incoming import Incoming
from hilgw.federation.member import Member
from hilgw.federation.roster import MOST_MEMBERS
from hilgw.federation.session import Query, ZenohSession
from hilgw.federation.shared import SharedAirs, SharedPoses
from hilgw.protocols.gateway.messages import keys_of


class OwnState:
    """The state of this gateway, and its subscriptions to what its listeners receive.

    newest: as it was published last.
    """

    def __init__(
        self,
        id: int,
        gateway: Gateway,
        airs: SharedAirs,
        poses: SharedPoses,
        keys: wire.Keys,
        members: Mapping[str, Member],
        uptime_ms: Callable[[], int],
    ) -> None:
        self._gateway, self._airs, self._poses = gateway, airs, poses
        self._keys, self._members, self._uptime_ms = keys, members, uptime_ms
        self.newest = wire.GatewayState(wire.id_text(id), __version__)
        self._subscribed: set[str] = set()
        self._is_announcing = False
        self._session: ZenohSession | None = None
        self._take: Any = None

    def begin(self, session: ZenohSession, take: Callable[[str, bytes, bytes], None]) -> None:
        """Publish the state; from now on `take` has the packets of the listeners."""
        self._session, self._take = session, take
        self._announce()

    def changed(self) -> None:
        """Publish the state once the event loop has no other change of it to handle."""
        if not self._is_announcing:
            self._is_announcing = True
            asyncio.get_running_loop().call_soon(self._announce)

    def withdraw(self) -> None:
        """End the subscriptions."""
        if self._session is not None:
            for key in self._subscribed:
                self._session.withdraw(key)

    def leave(self) -> None:
        """Publish the last state, with the packets that came from each other gateway."""
        self.newest = self._made(leaving=True)
        self._put()

    def on_query(self, query: Query) -> None:
        """Answer a query for the state of this gateway."""
        state = self.newest
        if not state.leaving:
            state = self._made(revision=state.revision)
        query.reply(self._keys.own("state"), lambda: wire.encode_json(state))

    def _put(self) -> None:
        if self._session is not None:
            self._session.put(self._keys.own("state"), wire.encode_json(self.newest))

    def _announce(self) -> None:
        self._is_announcing = False
        session, state = self._session, self._made()
        if session is None:
            return
        wanted = wire.wanted_keys(self._keys, state.listeners.values())
        for key in wanted - self._subscribed:
            session.subscribe(key, self._take)
        before = self.newest
        if _published(state) != _published(before) or not before.revision:
            self.newest = state
            self._put()
        for key in self._subscribed - wanted:
            session.withdraw(key)
        self._subscribed = wanted

    def _made(self, *, revision: int | None = None, leaving: bool = False) -> wire.GatewayState:
        gateway = self._gateway
        listeners = {
            each.name: wire.ListenerState(
                each.type,
                None if each.channels is None else sorted(each.channels),
                self._airs.shared(each.air),
                self._airs.addresses(each.air, each.name),
            )
            for each in gateway.medium.listeners
            if not each.is_neighbour
        }
        return wire.GatewayState(
            id=self.newest.id,
            hilgw=__version__,
            uptime_ms=self._uptime_ms(),
            revision=self.newest.revision + 1 if revision is None else revision,
            listeners=listeners,
            robots={name: robot.devices() for name, robot in gateway.robots.items()},
            unknown=self._poses.unknown(),
            leaving=leaving,
            acknowledged={
                wire.id_text(each.id): each.acknowledged() for each in self._members.values()
            }
            if leaving
            else {},
        )


def _published(state: wire.GatewayState) -> tuple[Any, ...]:
    return state.listeners, state.unknown, state.robots


NAME = "federation"
LONGEST_S = 2.0


class NetworkView(Federated):
    """The gateway in its network, as shown to others. members: the other gateways by name."""

    _own: OwnState
    _incoming: Incoming

    def __init__(
        self, config: FederationConfig, gateway: Gateway, members: dict[str, Member]
    ) -> None:
        super().__init__(NAME, gateway.lines, ", ".join((*config.endpoints, *config.connect)))
        self.members = members
        self._member_name = config.name
        self._keys = wire.Keys(config.network, config.name)
        self._gateway = gateway
        self._session: ZenohSession | None = None
        self._refused: Counter[str] = Counter()
        self._named: set[str] = set()  # gateways that only others reach

    def counts(self) -> dict[str, Any]:
        """Return the counts of this gateway, for `hilgw status --network`."""
        ledger = self._gateway.ledger
        return {
            "name": self._member_name,
            "id": self._own.newest.id,
            "ledger": ledger.as_dict()["medium"],
            "losses": ledger.losses(),
            "violations": ledger.violations(),
            "members": {name: each.counts() for name, each in self.members.items()},
        }

    async def network(self) -> dict[str, Any]:
        session, live = self._session, [each for each in self.members.values() if each.is_live]
        others = {} if session is None else await counts_of(session, self._keys, live)
        return {self._member_name: self.counts(), **others}

    def status(self) -> dict[str, Any]:
        return {
            "network": self._keys.base.partition("/")[2],
            "name": self._member_name,
            "id": self._own.newest.id,
            "version": wire.VERSION,
            "robots": self._own.newest.robots,
            "listeners": {name: keys_of(each) for name, each in self._own.newest.listeners.items()},
            "gateways": {name: each.status() for name, each in self.members.items()},
            "unreached": self._unreached(),
            "outside": {"entered": self._incoming.entered, "dropped": dict(self._incoming.dropped)},
        }

    # --- whom it reaches --------------------------------------------------------------------------

    def _reached(self) -> list[str]:
        return [e.name for e in self.members.values() if e.is_live and e.state is not None]

    def _compare_reach(self, member: Member, names: list[str]) -> None:
        """Compare the gateways that a member reaches: this one must reach them, too."""
        here = {self._member_name, *(each.name for each in self.members.values() if each.is_live)}
        new = member.reaches(frozenset(names) - here) - self._named
        if new and len(self.members) + len(self._named) < MOST_MEMBERS:
            self._named |= new
            first, *others = sorted(new)
            more = f" and {len(others)} more" if others else ""
            self.notify(
                f"{member.name} reaches {first}{more}, and this gateway does not: no packet passes "
                "between the two; connect them, or all to one router"
            )

    def _unreached(self) -> dict[str, list[str]]:
        unreached: dict[str, list[str]] = {}
        live = [each for each in self.members.values() if each.is_live]
        for member in live:
            for name in sorted(member.unreached.difference(each.name for each in live)):
                unreached.setdefault(name, []).append(member.name)
        return unreached

    # --- for others -------------------------------------------------------------------------------

    def packets(self) -> dict[str, tuple[int, int]]:
        return {
            each.neighbour.name: (
                sum(stream.received for stream in each.incoming.values()),
                sum(stream.delivered for stream in each.outgoing.values()),
            )
            for each in self.members.values()
        }

    def parts(self) -> Iterator[str]:
        for name, member in self.members.items():
            state = member.state or wire.GatewayState("")
            devices = [f"{robot}.{each}" for robot, its in state.robots.items() for each in its]
            yield from (f"{each}@{name}" for each in (*devices, *state.listeners, *TYPES))

    def summary(self) -> dict[str, Any]:
        session = self._session
        return {
            "name": self._member_name,
            "gateways": {name: each.counts() for name, each in self.members.items()},
            "outside": {"entered": self._incoming.entered, "dropped": dict(self._incoming.dropped)},
            "refused": dict(self._refused),
            "arrivals_lost": 0 if session is None else session.inbox.lost,
        }


async def counts_of(
    session: ZenohSession, keys: wire.Keys, members: Iterable[Member]
) -> dict[str, Any]:
    """Return the counts of each of these gateways by name; None: it did not answer."""
    queries = [_Counts(each) for each in members]
    for query in queries:
        session.get(keys.of("status", query.member.name), None, query.take)
    if queries:
        await asyncio.wait([each.ended for each in queries], timeout=LONGEST_S)
    return {each.member.name: each.counts for each in queries}


class _Counts:
    """The counts of one gateway. ended: set when no more answers come."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self.counts: dict[str, Any] | None = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def take(self, data: bytes | None, asked: int, got: int) -> None:
        if data is None:
            if not self.ended.done():
                self.ended.set_result(None)
            return
        with suppress(wire.Malformed):
            counts = wire.decode_json(wire.NetworkCounts, data)
            if counts.id == wire.id_text(self.member.id):
                self.counts = keys_of(counts)
