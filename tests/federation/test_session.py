"""What leaves from a thread beside an event loop, or from the event loop, without a network."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest
import zenoh

from hilgw.federation import session
from hilgw.federation.session import (
    LONGEST_KEY,
    MOST_AHEAD,
    MOST_LEAVING,
    MOST_ROUTES,
    YIELD_S,
    ZenohSession,
)
from hilgw.testing.sim import wait_until
from tests.transports.rig import turns

pytestmark = pytest.mark.wall_clock("a thread sends")


class Zenoh:
    """Keeps what is put: with the key, and whether nothing waited behind it, so that it left at
    once. open: cleared, it blocks who may be blocked. senders: the threads. blocked: puts that are,
    or were."""

    def __init__(self) -> None:
        self.senders: list[threading.Thread] = []
        self.blocked = 0
        self.declared: list[str] = []
        self.take: Callable[[Any], None] | None = None
        self.info = self
        self._see: Callable[[Any], None] = print
        self.puts: list[tuple[str, bool, bytes]] = []
        self.open = threading.Event()
        self.open.set()

    def declare_keyexpr(self, key: str) -> str:
        self.declared.append(key)
        return key

    def declare_subscriber(self, key: str, handler: Any, **_: Any) -> None:
        self.take = handler.callback

    def declare_publisher(
        self,
        key: str,
        *,
        congestion_control: zenoh.CongestionControl,
        express: bool = False,
        **_: Any,
    ) -> Any:
        assert threading.current_thread() is not threading.main_thread()  # it may block
        blocks, zenoh_ = congestion_control == zenoh.CongestionControl.BLOCK, self

        class Publisher:
            def put(self, payload: bytes, attachment: bytes | None) -> None:
                if blocks and not zenoh_.open.is_set():
                    zenoh_.blocked += 1
                    zenoh_.open.wait()
                zenoh_.senders.append(threading.current_thread())
                zenoh_.puts.append((key, express, payload))

        return Publisher()

    def declare_transport_events_listener(self, handler: Any, *, history: bool) -> None:
        assert history
        self._see = handler.callback

    def see(self, zid: str, kind: zenoh.WhatAmI, *, is_there: bool) -> None:
        """Another session connects, or goes."""
        what = zenoh.SampleKind.PUT if is_there else zenoh.SampleKind.DELETE
        self._see(SimpleNamespace(kind=what, transport=SimpleNamespace(zid=zid, whatami=kind)))

    def close(self) -> None:
        """Nothing is open."""


class SessionOnFakeZenoh:
    """now: the time. wakes: how often the thread got something to do; yields: and
    the event loop gave way to it."""

    def __init__(self, patches: pytest.MonkeyPatch, settings: Mapping[str, Any]) -> None:
        self.zenoh, self.now, self.wakes, self.yields = Zenoh(), 0.0, 0, 0
        bench = self

        class Counted(SimpleQueue[Any]):
            def put(self, *given: Any) -> None:
                bench.wakes += 1
                super().put(*given)

        patches.setattr(session, "SimpleQueue", Counted)
        config = zenoh.Config()
        for key, value in settings.items():
            config.insert_json5(key, json.dumps(value))
        self.session = ZenohSession(config)

    async def open(self, patches: pytest.MonkeyPatch) -> None:
        patches.setattr(zenoh, "open", lambda config: self.zenoh)
        await self.session.open()
        patches.setattr(session, "monotonic", lambda: self.now)
        wait = threading.Event.wait

        def counted(event: threading.Event, timeout: float | None = None) -> bool:
            self.yields += timeout == YIELD_S
            return wait(event, timeout)

        patches.setattr(threading.Event, "wait", counted)

    def put(self, number: int, *, is_light: bool = False) -> None:
        self.session.put("key", str(number).encode(), is_light=is_light)

    def from_loop(self) -> list[int]:
        """The numbers of what left from the event loop."""
        own = threading.main_thread()
        return [n for n, by in zip(self.sent(), self.zenoh.senders, strict=True) if by is own]

    def sent(self) -> list[int]:
        return [int(payload) for _, _, payload in self.zenoh.puts]


@asynccontextmanager
async def running(settings: Mapping[str, Any] = {}) -> AsyncIterator[SessionOnFakeZenoh]:
    with pytest.MonkeyPatch.context() as patches:
        made = SessionOnFakeZenoh(patches, settings)
        await made.open(patches)
        yield made
        made.zenoh.open.set()
    await made.session.close(10)


async def calm(bench: SessionOnFakeZenoh) -> int:
    """Sends light packets, far apart, until one leaves from the event loop: the thread has nothing
    to do. Returns how many there are now. The first one of all finds nothing declared, and to
    declare it may block."""
    before, count = bench.from_loop(), len(bench.zenoh.puts)
    while bench.from_loop() == before:
        bench.now += 1
        bench.put(count, is_light=True)
        count += 1
        wait_until(lambda sent=count: len(bench.zenoh.puts) == sent)  # type: ignore[misc]
    bench.now += 1
    return count


@pytest.mark.parametrize("bar", [{"mode": "router"}, {"transport/unicast/lowlatency": True}])
async def test_the_event_loop_sends_nothing_where_zenoh_may_block_it(bar: dict[str, Any]) -> None:
    """A router waits where what it sends for others blocks; with low latency a put is a write."""
    async with running(bar) as bench:
        for number in range(5):
            bench.now += 1
            bench.put(number, is_light=True)
            wait_until(lambda made=number: len(bench.zenoh.puts) == made + 1)  # type: ignore[misc]
        assert not bench.from_loop()


async def test_the_event_loop_of_a_peer_sends_nothing_while_it_has_clients() -> None:
    """It sends for them, as a router does."""
    async with running() as bench:
        bench.zenoh.see("other", zenoh.WhatAmI.PEER, is_there=True)
        count = await calm(bench)
        bench.zenoh.see("bench", zenoh.WhatAmI.CLIENT, is_there=True)
        bench.zenoh.see("other", zenoh.WhatAmI.PEER, is_there=False)
        bench.put(count, is_light=True)
        wait_until(lambda: len(bench.zenoh.puts) == count + 1)
        assert count not in bench.from_loop()
        bench.zenoh.see("bench", zenoh.WhatAmI.CLIENT, is_there=False)
        await calm(bench)


async def test_zenoh_keeps_the_routes_of_a_bounded_number_of_keys() -> None:
    """Of what leaves and arrives: else it looks for the subscribers of each sample anew."""
    async with running() as bench:
        bench.session.subscribe("hilgw/*", lambda *sample: None)
        wait_until(lambda: bench.zenoh.take is not None)
        take, payload = bench.zenoh.take, SimpleNamespace(to_bytes=lambda: b"x")
        assert take is not None
        far = [f"hilgw/{'x' * LONGEST_KEY}{number}" for number in range(3)]
        for key in [*far, *(f"hilgw/{number}" for number in range(2 * MOST_ROUTES))] * 2:
            take(SimpleNamespace(payload=payload, attachment=None, key_expr=key))
        bench.put(0)
        wait_until(lambda: bench.sent() == [0])
        assert bench.zenoh.declared == [f"hilgw/{number}" for number in range(MOST_ROUTES)]
    async with running() as bench:
        bench.put(0)
        wait_until(lambda: bench.sent() == [0])
        assert bench.zenoh.declared == ["key"]


async def test_packets_of_many_turns_leave_in_few_batches_and_keep_their_order() -> None:
    """Else each one costs two switches between threads, and that is more than to send it."""
    async with running() as bench:
        for number in range(5 * MOST_AHEAD):
            bench.put(number)
            if number % 10 == 9:
                await turns(1)
        await turns(3)  # the burst is over
        assert bench.wakes <= 8
        wait_until(lambda: len(bench.zenoh.puts) == 5 * MOST_AHEAD)
        assert bench.sent() == list(range(5 * MOST_AHEAD))


async def test_what_blocks_the_thread_does_not_block_the_event_loop() -> None:
    """It gives way a few times until the queue is full."""
    async with running() as bench:
        bench.zenoh.open.clear()
        number = 0
        while not bench.session.is_full:
            bench.put(number)
            number += 1
        assert MOST_LEAVING <= number <= MOST_LEAVING + 1
        assert 1 <= bench.yields <= 7
        bench.zenoh.open.set()
        await turns(3)
        wait_until(lambda: len(bench.zenoh.puts) == number)
        assert bench.sent() == list(range(number))
        before = bench.yields  # and later it gives way as often as ever
        for further in range(3 * MOST_AHEAD):
            bench.put(number + further)
        assert bench.yields > before


async def test_what_zenoh_refuses_beside_packets_is_the_failure_of_the_session() -> None:
    async with running() as bench:
        bench.session.answer("a/key", print)  # this Zenoh declares no queryables
        await asyncio.to_thread(wait_until, lambda: bench.session.failure)
        assert "declare_queryable" in bench.session.failure
        assert bench.session.failed_puts == 1
