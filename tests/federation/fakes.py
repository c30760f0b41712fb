"""Gateways of a federation in one process, on an in-memory network that loses what a test wants."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from hilgw.config.model import FederationConfig
from hilgw.devices.steps import StepClock
from hilgw.engine.lines import Lines
from hilgw.engine.observer import Observer
from hilgw.engine.robot.schedule import Schedule
from hilgw.engine.scene import Scene
from hilgw.federation import federation as module, wire
from hilgw.federation.federation import Federation
from hilgw.federation.shared import SharedAirs
from hilgw.medium.airs import Airs
from hilgw.medium.ledger import Ledger
from hilgw.medium.listeners import Listener
from hilgw.medium.medium import Medium
from hilgw.medium.packet import Copy, Packet
from hilgw.medium.pose import Pose
from hilgw.testing.sim import Clock, Recorder
from hilgw.units import NS_PER_MS

TICK = 110 * NS_PER_MS


def matches(pattern: str, key: str) -> bool:
    """Whether a key is in a key expression whose only wild card is *."""
    parts, given = pattern.split("/"), key.split("/")
    return len(parts) == len(given) and all(
        each in ("*", other) for each, other in zip(parts, given, strict=True)
    )


class Network:
    """What waits for each session, in order. lost, doubled, swapped: probabilities, of packets
    alone. partitions: pairs of sessions that do not reach each other."""

    def __init__(self, seed: int = 0) -> None:
        self.sessions: list[FakeSession] = []
        self.lost = self.doubled = self.swapped = 0.0
        self.puts: list[str] = []
        self._partitions: set[frozenset[int]] = set()
        self._random = Random(seed)

    def reach(self, one: FakeSession, other: FakeSession) -> bool:
        return frozenset({id(one), id(other)}) not in self._partitions and other in self.sessions

    def others(self, session: FakeSession) -> list[FakeSession]:
        return [e for e in self.sessions if e is not session and self.reach(session, e)]

    def part(self, one: FakeSession, other: FakeSession) -> None:
        """They lose each other at once; what was under way between them is lost, too."""
        self._partitions.add(frozenset({id(one), id(other)}))
        for here, there in ((one, other), (other, one)):
            here.waiting = deque(each for each in here.waiting if each[0] is not there)
            for token in there.tokens:
                here.see(there, token, is_there=False)

    def heal(self, one: FakeSession, other: FakeSession) -> None:
        self._partitions.discard(frozenset({id(one), id(other)}))
        for here, there in ((one, other), (other, one)):
            for token in there.tokens:
                here.see(there, token, is_there=True)

    def send(self, to: FakeSession, sender: FakeSession, call: Callable[[], None]) -> None:
        """A packet."""
        if self._random.random() < self.lost:
            return
        to.waiting.append((sender, call))
        if self._random.random() < self.doubled:
            to.waiting.append((sender, call))
        if len(to.waiting) > 1 and self._random.random() < self.swapped:
            to.waiting[-1], to.waiting[-2] = to.waiting[-2], to.waiting[-1]


class FakeQuery:
    def __init__(self, payload: bytes, answer: Callable[[bytes], None]) -> None:
        self.received_ns = time.monotonic_ns()
        self.payload = payload
        self._answer = answer

    def reply(self, key: str, make: Callable[[], bytes]) -> None:
        self._answer(make())


class FakeSession:
    """As `ZenohSession`, and for a program that is none of hilgw."""

    def __init__(self, network: Network, now: Callable[[], int]) -> None:
        self.now = now
        self.failed_puts = self.left_bytes = 0
        self.inbox = SimpleNamespace(lost=0)
        self.failure = ""
        self.is_full = False
        self.network = network
        self.id = f"{id(self):x}"
        self.waiting: deque[tuple[FakeSession, Callable[[], None]]] = deque()
        self.subscribers: dict[str, Callable[..., None]] = {}
        self.queryables: dict[str, Callable[..., None]] = {}
        self.watchers: dict[str, Callable[[str, bool], None]] = {}
        self.tokens: set[str] = set()

    async def open(self) -> None:
        self.network.sessions.append(self)

    async def close(self, timeout_s: float) -> None:
        self.vanish()

    def vanish(self) -> None:
        """As of a process that is killed."""
        for other in self.network.others(self):
            for token in self.tokens:
                other.see(self, token, is_there=False)
        if self in self.network.sessions:
            self.network.sessions.remove(self)

    def see(self, sender: FakeSession, token: str, *, is_there: bool) -> None:
        for pattern, watcher in self.watchers.items():
            if matches(pattern, token):
                self.waiting.append((sender, partial(watcher, token, is_there)))

    def put(
        self, key: str, payload: bytes, attachment: bytes | None = None, *, is_light: bool = False
    ) -> None:
        self.network.puts.append(key)
        for other in self.network.others(self):
            for pattern, handler in other.subscribers.items():
                if matches(pattern, key):
                    call = partial(handler, key, payload, attachment or b"")
                    if "/packet/" in key:
                        self.network.send(other, self, call)
                    else:
                        other.waiting.append((self, call))

    def later(self, call: Callable[[], object]) -> None:
        call()

    def get(self, key: str, make: Callable[[], bytes] | None, on_reply: Any) -> None:
        payload = b"" if make is None else make()
        open_queries, asked = 0, self.now()

        def end() -> None:
            nonlocal open_queries
            open_queries -= 1
            if open_queries == 0:
                self.waiting.append((self, lambda: on_reply(None, asked, self.now())))

        def ask(other: FakeSession, handler: Callable[..., None]) -> None:
            def answer(data: bytes) -> None:
                if self.network.reach(other, self):
                    self.waiting.append((other, lambda: on_reply(data, asked, self.now())))

            handler(FakeQuery(payload, answer))
            end()

        for other in self.network.others(self):
            for pattern, handler in other.queryables.items():
                if matches(pattern, key):
                    open_queries += 1
                    other.waiting.append((self, partial(ask, other, handler)))
        open_queries += 1
        end()

    def subscribe(self, key: str, handler: Callable[..., None]) -> None:
        self.subscribers.setdefault(key, handler)

    def answer(self, key: str, handler: Callable[..., None]) -> None:
        self.queryables[key] = handler

    def watch(self, key: str, handler: Callable[[str, bool], None]) -> None:
        self.watchers[key] = handler
        for other in self.network.others(self):
            for token in other.tokens:
                self.see(other, token, is_there=True)

    def live(self, key: str) -> None:
        self.tokens.add(key)
        for other in self.network.others(self):
            other.see(self, key, is_there=True)

    def withdraw(self, key: str) -> None:
        self.subscribers.pop(key, None)
        token = key.removeprefix("token ")
        if token in self.tokens:
            self.tokens.remove(token)
            for other in self.network.others(self):
                other.see(self, token, is_there=False)


class Node:
    """A gateway with nothing but a medium, and its federation. notices: lines for the user."""

    def __init__(
        self,
        network: Network,
        clock: Clock,
        name: str,
        local: Iterable[str] = (),
        version: int = 1,
        connect: tuple[str, ...] = (),
        listen: tuple[str, ...] | None = None,
    ) -> None:
        self.name, self.clock = name, clock
        self.ledger = Ledger()
        self.medium = Medium(self.ledger)
        schedule = Schedule(clock, StepClock(clock.now(), 0))
        self.scene = Scene(self.medium, clock, 2, schedule, Observer())
        self.airs = Airs()
        self.shared_airs = SharedAirs(self.airs, name, local, clock.now)
        self.got: dict[str, list[Copy]] = {}
        observer = Recorder()
        self.notices = observer.notices
        self.gateway: Any = SimpleNamespace(
            lines=Lines(observer, clock.now),
            real_timer=clock,
            scene=self.scene,
            medium=self.medium,
            robots={},
            supervisors={},
            ledger=self.ledger,
        )
        self.session = FakeSession(network, clock.now)
        with patch.object(wire, "VERSION", version):
            config = FederationConfig(name=name, connect=connect, listen=listen)
            settings: Any = self.session  # see `lab`
            self.federation = Federation(config, settings, self.gateway, self.shared_airs)
        self.task: asyncio.Task[None] | None = None

    @property
    def id(self) -> str:
        """The ID of the gateway, as it is in keys and messages."""
        return wire.id_text(self.federation.id)

    def start(self) -> None:
        self.task = asyncio.ensure_future(self.federation.run(lambda: None))

    def kill(self) -> None:
        """It does nothing more, and its session is gone."""
        self.session.vanish()
        self.session.waiting.clear()

    def listen(self, name: str, **more: Any) -> Listener:
        """A Receiver or a module, which notes what it gets."""
        copies, count = self.got.setdefault(name, []), self.ledger.station(name)

        def deliver(copy: Copy) -> None:
            copies.append(copy)
            count.deliver()

        given = {"type": "radio", "channels": frozenset({1}), **more}
        listener = Listener(name=name, deliver=deliver, **given)
        self.medium.attach(listener)
        return listener

    def send(
        self,
        data: bytes,
        channel: int = 1,
        *,
        source: str = "tx",
        pose: Pose | None = None,
        on: str | None = None,
        **more: Any,
    ) -> None:
        if source in self.got:
            self.ledger.station(source).receive()
        else:
            emitter = self.ledger.emitter(source)
            emitter.offer(None)
            emitter.depart()
        given = {"type": "radio", **more}
        packet = Packet(data, channel, source=source, sent_ns=self.clock.now(), **given)
        self.medium.transmit(packet, pose, mounted_on=on)

    def data(self, name: str) -> list[bytes]:
        return [each.packet.data for each in self.got[name]]

    def member(self, name: str) -> Any:
        return self.federation.members[name]

    def counts(self, other: str) -> dict[str, Any]:
        """Of the copies for another gateway."""
        return self.ledger.station(f"radio@{other}").as_dict()


class Lab:
    """Gateways, their network and their time; `run` makes all of it happen."""

    def __init__(self, *names: str, seed: int = 0, **local: Iterable[str]) -> None:
        self.network = Network(seed)
        self.clock = Clock()
        self.nodes = {
            name: Node(self.network, self.clock, name, local.get(name, ())) for name in names
        }

    def __getitem__(self, name: str) -> Node:
        return self.nodes[name]

    def add(self, name: str, key: str = "", version: int = 1) -> Node:
        """One more gateway; key: of this lab, where it has the name of another one."""
        node = self.nodes[key or name] = Node(self.network, self.clock, name, version=version)
        return node

    async def settle(self) -> None:
        """All that is under way arrives."""
        idle = 0
        while idle < 4:
            await asyncio.sleep(0)
            moved = False
            for session in [*self.network.sessions]:
                for _ in range(len(session.waiting)):
                    if session.waiting:
                        moved = True
                        session.waiting.popleft()[1]()
            idle = 0 if moved else idle + 1

    async def run(self, ticks: int = 1) -> None:
        """Time passes, until links were asked so often."""
        await self.settle()
        for _ in range(ticks):
            self.clock.run(TICK)
            await self.settle()

    async def begin(self) -> None:
        for node in self.nodes.values():
            node.start()
        await self.run(2)

    async def end(self) -> None:
        for node in self.nodes.values():
            if node.task is not None:
                node.task.cancel()
        for node in self.nodes.values():
            if node.task is not None:
                with suppress(asyncio.CancelledError, Exception):
                    await node.task

    def check(self) -> None:
        """The equations of every ledger hold."""
        assert {n: node.ledger.violations() for n, node in self.nodes.items()} == {
            name: [] for name in self.nodes
        }


def lab(make: Callable[[Lab], Any], *names: str, seed: int = 0, **local: Iterable[str]) -> None:
    """Runs a test with a lab of these gateways."""

    async def main() -> None:
        bench = Lab(*names, seed=seed, **local)
        try:
            await make(bench)
            bench.check()
        finally:
            await bench.end()

    with patch.object(module, "ZenohSession", lambda settings: settings):
        asyncio.run(main())
