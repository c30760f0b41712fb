"""The federation: the gateways on one network, from the start of the session to its end."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hilgw.config.model import FederationConfig
from hilgw.engine.gateway import Gateway
from hilgw.engine.neighbour import Neighbour
from hilgw.engine.observer import State
from hilgw.errors import PortError
from hilgw.federation import wire
from hilgw.federation.incoming import Incoming, Refusing
from hilgw.federation.member import Member
from hilgw.federation.network import NAME, NetworkView, OwnState
from hilgw.federation.outgoing import Outgoing
from hilgw.federation.refused import TLS, refusal
from hilgw.federation.roster import Namesakes, Roster
from hilgw.federation.session import Query, ZenohSession
from hilgw.federation.shared import SharedAirs, SharedPoses
from hilgw.reasons import PacketRefused
from hilgw.transports.base import Wakeup
from hilgw.units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    import zenoh


TICK_NS = 100 * NS_PER_MS
IDLE_NS = NS_PER_S  # between two queries of a link where no packet waits to be confirmed
FORGET_NS = 30 * NS_PER_S  # packets that a lost gateway has not confirmed are lost
SETTLE_S, CLOSE_S = 0.4, 0.4  # longest waits at the end
REFUSAL_S = 2.0
ASK_NS = 2 * NS_PER_S  # longest time that a query is under way


class Federation(NetworkView):
    """A gateway among the others of its federation.

    settings: Zenoh's own. members: the others by name.
    """

    def __init__(
        self,
        config: FederationConfig,
        settings: zenoh.Config,
        gateway: Gateway,
        airs: SharedAirs,
    ) -> None:
        name, now = config.name, gateway.real_timer.now
        self._roster = Roster(now)
        super().__init__(config, gateway, self._roster.members)
        self._ros2 = config.ros2
        self._config, self._refusal = config, ""
        # The time comes first: of two gateways of one name that start at once, the later one ends.
        self.id = (time.time_ns() >> 20 & 0xFFFF_FFFF) << 32 | secrets.randbits(32)
        self._token = self._keys.own("member", wire.id_text(self.id), str(wire.VERSION))
        self._settings = settings
        self._timer = gateway.real_timer
        self._airs = airs
        self._poses = SharedPoses(gateway.scene, self._keys)
        self._incoming = Incoming(name, self.id, self.members, gateway.scene, airs, now, self._ask)
        self._roster.begin, self._roster.end = self._comes, self._goes
        self._roster.doubt = self._doubt
        self._roster.forget, self._roster.refused = self._forget, self._refuse
        self._namesakes = Namesakes(self.id, 0)
        self._outgoing: Outgoing | None = None
        self._own = OwnState(
            self.id, gateway, airs, self._poses, self._keys, self.members, self._uptime_ms
        )
        self._refusing = Refusing(self._refused)
        self._began_ns = self._links_ns = self._left_bytes = 0
        self._tick = Wakeup(self._timer, lambda _: self._on_tick())
        self._failed: asyncio.Future[None] | None = None

    @property
    def ready(self) -> bool:
        """True when it listens and connects; it does not wait for other gateways."""
        return self._session is not None and self.was_up

    # --- life -----------------------------------------------------------------------------------

    async def run(self, on_up: Callable[[], None], *, is_needed: bool = True) -> None:
        """Run the federation.

        Raises PortError if it cannot listen, or another gateway has its name.
        """
        self._enter(State.OPENING, "")
        session = ZenohSession(self._settings)
        looking = asyncio.ensure_future(self._look_for_refusal())  # also while a client opens
        try:
            await session.open()
            self._begin(session)
            on_up()
            self._failed = asyncio.get_running_loop().create_future()
            await self._failed
        finally:
            looking.cancel()
            await self._end(session)

    def _begin(self, session: ZenohSession) -> None:
        self.was_up, self.opened = True, 1
        self._session, self._airs.session = session, session
        self._began_ns = self._timer.now()
        self._namesakes = Namesakes(self.id, self._began_ns)
        self._airs.key = self._keys.own("sent")
        loop = asyncio.get_running_loop()
        self._outgoing = Outgoing(
            self._keys,
            self.id,
            session,
            self.members,
            self._gateway.medium,
            self._airs,
            loop.call_soon,
        )
        keys = self._keys
        session.answer(keys.own("link"), self._on_link_query)
        session.answer(keys.own("state"), self._own.on_query)
        session.answer(keys.own("status"), self._on_status_query)
        session.subscribe(keys.of("state", "*"), self._contained(self._on_state))
        session.subscribe(keys.of("sent", "*"), self._contained(self._on_air_sent))
        self._poses.begin(session, self._contained(self._on_pose))
        self._own.begin(session, self._incoming.sample)
        session.watch(keys.of("member", "*/*/*"), self._on_token)
        session.live(self._token)
        self._gateway.medium.on_listeners = self._airs.own.on_own = self._changed
        if self._ros2 is not None:
            from hilgw.federation.ros2 import Ros2Topics

            self._gateway.observer.add(Ros2Topics(self._ros2, self._member_name, session))
        self._show()
        self._on_tick()

    async def _end(self, session: ZenohSession) -> None:
        """Confirm the packets of others, count those that they confirmed, and leave."""
        self._gateway.medium.on_listeners = self._airs.own.on_own = lambda: None
        self._tick.set(None)
        for member in self.members.values():
            for outlet in member.neighbour.outlets.values():
                outlet.detach()
        if self._session is not None:
            if self._outgoing is not None:
                self._outgoing.flush()
            self._own.withdraw()
            deadline = asyncio.get_running_loop().time() + SETTLE_S
            while self._unsettled() and asyncio.get_running_loop().time() < deadline:
                for member in self._unsettled():
                    self._ask(member)
                await asyncio.sleep(0.01)
            self._incoming.is_open = False  # what comes now is not in the last state
            self._own.leave()
            session.withdraw(f"token {self._token}")
        await session.close(CLOSE_S)
        for member in self.members.values():
            for outlet in member.neighbour.outlets.values():
                outlet.expire()
            member.leave(State.CLOSED, "", self._timer.now())
        self._enter(State.CLOSED, "")

    def _unsettled(self) -> list[Member]:
        return [each for each in self.members.values() if each.is_live and each.unsettled]

    def _on_tick(self) -> None:
        now = self._timer.now()
        if self._session is not None and self._session.failure:
            self._show()
        if self._namesakes.ids:
            self._ask_namesakes()
        for member in [*self.members.values()]:
            if not member.is_live:
                if member.unsettled and now - member.left_ns >= FORGET_NS:
                    member.give_up()
            elif member.doubted_ns is not None and now - member.doubted_ns >= IDLE_NS:
                self._doubt(member)
            elif self._roster.late(member):
                if now - member.answered_ns >= IDLE_NS:
                    member.answered_ns = now
                    self._ask_state(member)
            elif member.state is None or member.is_stale:
                self._ask_state(member)
            elif member.unsettled or now - member.answered_ns >= IDLE_NS:
                self._ask(member)
        if now >= self._links_ns:
            self._links_ns = now + NS_PER_S
            left = 0 if self._session is None else self._session.left_bytes
            for member in self.members.values():
                member.judge(now, left - self._left_bytes)
                if (report := self._observer.link) is not None:
                    report(member.neighbour.name, member.status())
            self._left_bytes = left
        self._tick.set(now + TICK_NS)

    # --- who is there -----------------------------------------------------------------------------

    def _on_token(self, key: str, is_there: bool) -> None:
        try:
            member_key = wire.member_key(key)
        except wire.Malformed:
            self._refused["malformed"] += 1
            return
        if member_key.name != self._member_name:
            self._roster.token(member_key, is_there)
            return
        if self._namesakes.token(member_key.id, is_there):
            self._ask_namesakes()

    def _comes(self, key: wire.MemberKey, member: Member | None) -> None:
        now = self._timer.now()
        if member is None or member.key != key:
            if member is not None:
                member.is_live = False
                member.give_up()
            neighbour = self._neighbour(key.name) if member is None else member.neighbour
            member = self.members[key.name] = Member(key, neighbour, now)
        member.is_live, member.came_ns = True, now
        if key.version != wire.VERSION:
            reason = f"speaks version {key.version} of the federation, this gateway {wire.VERSION}"
            member.leave(State.FAILED, reason, now)
            return
        member.state = member.last_state = None
        self._ask_state(member)

    def _doubt(self, member: Member) -> None:
        """Ask a member whether it is gone: anyone can withdraw its token."""
        is_there = False

        def answered(data: bytes | None, asked: int, got: int) -> None:
            nonlocal is_there
            if data is None:
                if not is_there and member.is_live and member.doubted_ns is not None:
                    self._roster.gone(member)
                return
            with self._refusing:
                state = wire.decode_json(wire.GatewayState, data)
                is_there |= state.id == wire.id_text(member.id) and not state.leaving

        member.doubted_ns = self._timer.now()
        if self._session is not None:
            self._session.get(self._keys.of("state", member.name), None, answered)

    def _goes(self, member: Member) -> None:
        if member.last_state is not None:
            self._part(member, member.last_state)
        elif member.neighbour.state is not State.CLOSED:
            self._leave(member, State.WAITING, "; ".join(filter(None, ("lost", member.full))))

    def _forget(self, member: Member) -> None:
        self._gateway.supervisors.pop(member.neighbour.name, None)

    def _refuse(self) -> None:
        self._refused["too_many_gateways"] += 1

    def _neighbour(self, name: str) -> Neighbour:
        assert self._outgoing is not None
        carry = self._outgoing.carry
        made = Neighbour(name, self.lines, self.where, carry, self._gateway.medium)
        self._gateway.supervisors[made.name] = made
        return made

    def _leave(self, member: Member, state: State, reason: str) -> None:
        member.leave(state, reason, self._timer.now())
        self._airs.know(member.name, {})
        self._poses.forget(member.name)
        self._show()

    def _show(self) -> None:
        if self._outgoing is not None:
            self._outgoing.changed()
        up = sum(each.neighbour.is_up for each in self.members.values())
        if self._session is not None and self._session.failure:
            problem = f"Zenoh does not do what it was asked for: {self._session.failure}"
            self._enter(State.FAILED, f"{problem}; restart the gateway")
        elif up:
            self._enter(State.UP, f"{up} other gateway{'s' * (up > 1)}")
        else:
            self._enter(State.WAITING, self._refusal or "no other gateway is there")

    async def _look_for_refusal(self) -> None:
        ends = *self._config.connect, *self._config.endpoints
        while any(each.startswith(TLS) for each in ends):
            await asyncio.sleep(REFUSAL_S)
            if not any(each.neighbour.is_up for each in self.members.values()):
                self._refusal = await asyncio.to_thread(refusal, self._config)
                self._show()

    def _ask_namesakes(self) -> None:
        """Ask gateways with this name for their state: the one that joined last ends."""
        if self._session is not None:
            self._session.get(self._keys.own("state"), None, self._on_namesake)

    def _on_namesake(self, data: bytes | None, asked: int, got: int) -> None:
        with self._refusing:
            if data is not None and self._namesakes.answered(data, asked, got):
                self._end_as_second()

    def _end_as_second(self) -> None:
        if self._failed is not None and not self._failed.done():
            problem = f"another gateway of this network has the name {self._member_name!r}"
            fix = "give this one another name in `federation`"
            error = PortError(problem, reason=PortError.BUSY, where=NAME, fix=fix)
            self._failed.set_exception(error)

    def _uptime_ms(self) -> int:
        return (self._timer.now() - self._began_ns) // NS_PER_MS

    # --- what they have ---------------------------------------------------------------------------

    def _may_ask(self, member: Member) -> bool:
        now = self._timer.now()
        if self._session is None or (member.asked_ns or -ASK_NS) > now - ASK_NS:
            return False
        member.asked_ns = now
        return True

    def _asked(self, member: Member) -> None:
        member.asked_ns = None
        if member.is_stale:
            self._ask_state(member)

    def _ask_state(self, member: Member) -> None:
        other: wire.GatewayState | None = None

        def answered(data: bytes | None, asked: int, got: int) -> None:
            nonlocal other
            if data is None:
                self._asked(member)
                if member.state is not None:
                    self._ask(member)
                elif other is not None and self.members.get(member.name) is member:
                    self._roster.other(member, int(other.id, 16))
            else:
                with self._refusing:
                    state = wire.decode_json(wire.GatewayState, data)
                    self._learn(member, state)
                    if not state.leaving and wire.id_text(int(state.id, 16)) == state.id:
                        other = other or state

        if self._may_ask(member) and self._session is not None:
            member.is_stale = False
            self._session.get(self._keys.of("state", member.name), None, answered)

    def _on_state(self, key: str, payload: bytes, attachment: bytes) -> None:
        """Take a new state of a gateway, and ask the gateway for it: anyone can publish one.

        A gateway that ends does so when its token is gone, too, which may come before its last
        state.
        """
        member = self.members.get(key.rpartition("/")[2])
        if member is None:
            return
        state = wire.decode_json(wire.GatewayState, payload)
        if state.id != wire.id_text(member.id):
            return
        if not state.leaving:
            member.is_stale = member.is_live
            if member.is_live:
                self._ask_state(member)
        elif member.is_live:
            member.last_state = state
        elif member.neighbour.state is not State.CLOSED:
            self._part(member, state)

    def _learn(self, member: Member, state: wire.GatewayState) -> None:
        before = member.state
        if state.id != wire.id_text(member.id) or not member.is_live or state.leaving:
            return
        if before is not None and state.revision <= before.revision:
            return
        member.state, member.learned_ns = state, self._timer.now()
        member.neighbour.listen(wire.channels_of(state.listeners.values()))
        self._airs.know(member.name, state.listeners)
        self._poses.want(member.name, state.unknown)
        self._show()

    def _part(self, member: Member, state: wire.GatewayState) -> None:
        member.last_state = None
        with suppress(ValueError):
            member.settle(state.acknowledged.get(wire.id_text(self.id), {}))
        member.give_up(PacketRefused.LINK)
        self._leave(member, State.CLOSED, "it ended")

    # --- what is here -----------------------------------------------------------------------------

    def _changed(self) -> None:
        if self._outgoing is not None:
            self._outgoing.changed()
        self._own.changed()

    # --- packets, airs, poses ---------------------------------------------------------------------

    def _on_air_sent(self, key: str, payload: bytes, attachment: bytes) -> None:
        sent = wire.decode_json(wire.AirSent, attachment, wire.LONGEST_HEAD)
        self._airs.transmitted(key.rpartition("/")[2], sent, payload)

    def _on_pose(self, key: str, payload: bytes, attachment: bytes) -> None:
        gateway = key.split("/")[-2]
        member = self.members.get(gateway)
        if member is not None and member.is_live:
            self._poses.placed(gateway, payload)

    def _contained(self, handler: Callable[[str, bytes, bytes], None]) -> Any:
        def handle(key: str, payload: bytes, attachment: bytes) -> None:
            with self._refusing:
                handler(key, payload, attachment)

        return handle

    # --- links ------------------------------------------------------------------------------------

    def _ask(self, member: Member) -> None:
        """Ask a gateway for what it received; its answer shows the clock and the way, too."""
        if self._outgoing is None or not self._may_ask(member) or self._session is None:
            return
        self._outgoing.flush()
        id = wire.id_text(self.id)
        reaches = member.asks_reach(self._timer.now())
        made = wire.LinkQuery(self._member_name, id, member.sent(), self._uptime_ms(), reaches)
        query = wire.encode_json(made)

        def answered(data: bytes | None, asked: int, got: int) -> None:
            if data is None:
                self._asked(member)
            else:
                with self._refusing:
                    self._on_link_answer(member, data, asked, got)

        self._session.get(self._keys.of("link", member.name), lambda: query, answered)

    def _on_link_answer(self, member: Member, data: bytes, asked: int, got: int) -> None:
        answer = wire.decode_json(wire.LinkAnswer, data, wire.LONGEST_ANSWER)
        if answer.id == wire.id_text(member.id) and member.is_live:  # not after its last state
            member.answered_ns = self._timer.now()
            if answer.namesake:
                other = int(answer.namesake, 16), answer.namesake_uptime_ms
                if self._namesakes.is_first(*other, asked, got):
                    self._end_as_second()
            member.reach(answer.sent)
            member.settle(answer.streams)
            member.compare_clocks(asked, answer.received_ns, answer.sent_ns, got)
            if answer.reaches is not None and member.is_reach_asked:
                member.is_reach_asked = False  # once
                self._compare_reach(member, answer.reaches)

    def _on_link_query(self, query: Query) -> None:
        with self._refusing:
            asked = wire.decode_json(wire.LinkQuery, query.payload, wire.LONGEST_HEAD)
            member = self.members.get(asked.name)
            streams, sent, namesake = {}, {}, ("", 0)
            if member is not None and member.is_live and wire.id_text(member.id) != asked.id:
                now = self._timer.now()
                namesake = member.rival(asked.id, now)
                if self._roster.has(asked.name, asked.id):
                    member.meet(asked.id, asked.uptime_ms, now)
                self._ask(member)
            elif member is not None and wire.id_text(member.id) == asked.id:
                if self._outgoing is not None:
                    self._outgoing.flush()
                streams, sent = member.acknowledged(), member.sent()
                namesake = member.met(self._timer.now())
                if member.lacks(asked.sent):
                    self._ask(member)
            received_ns, id = query.received_ns, wire.id_text(self.id)
            reaches = self._reached() if asked.reaches else None

            def make() -> bytes:
                now = time.monotonic_ns()
                answer = wire.LinkAnswer(id, received_ns, now, streams, sent, *namesake, reaches)
                return wire.encode_json(answer)

            query.reply(self._keys.own("link"), make)

    def _on_status_query(self, query: Query) -> None:
        counts = wire.encode_json(wire.NetworkCounts(**self.counts()))
        query.reply(self._keys.own("status"), lambda: counts)
