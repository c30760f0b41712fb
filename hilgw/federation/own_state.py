"""State that a gateway publishes: its listeners, its robots, and the poses that it lacks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from hilgw import __version__
from hilgw.federation import wire

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hilgw.engine.gateway import Gateway
    from hilgw.federation.member import Member
    from hilgw.federation.session import Query, ZenohSession
    from hilgw.federation.shared import SharedAirs, SharedPoses


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
