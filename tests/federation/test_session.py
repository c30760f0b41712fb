"""What leaves from a thread beside an event loop, or from the event loop, without a network."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from queue import SimpleQueue
from typing import Any

import pytest
import zenoh

from hilgw.federation import session
from hilgw.federation.session import (
    APART_S,
    MOST_AHEAD,
    MOST_ALONE_BYTES,
    MOST_LEAVING,
    MOST_WAITING_S,
    YIELD_S,
    ZenohSession,
)
from hilgw.testing.sim import wait_until

pytestmark = pytest.mark.wall_clock("a thread sends")


class Zenoh:
    """Keeps what is put: with the key, and whether nothing waited behind it, so that it left at
    once. open: cleared, it blocks who may be blocked. senders: the threads."""

    def __init__(self) -> None:
        self.senders: list[threading.Thread] = []
        self.puts: list[tuple[str, bool, bytes]] = []
        self.open = threading.Event()
        self.open.set()

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
                if blocks:
                    zenoh_.open.wait()
                zenoh_.senders.append(threading.current_thread())
                zenoh_.puts.append((key, express, payload))

        return Publisher()

    def close(self) -> None:
        """Nothing is open."""


class Bench:
    """now: the time. wakes: how often the thread got something to do; yields: and
    the event loop gave way to it."""

    def __init__(self, patches: pytest.MonkeyPatch, mode: str) -> None:
        self.zenoh, self.now, self.wakes, self.yields = Zenoh(), 0.0, 0, 0
        bench = self

        class Counted(SimpleQueue[Any]):
            def put(self, *given: Any) -> None:
                bench.wakes += 1
                super().put(*given)

        patches.setattr(session, "SimpleQueue", Counted)
        config = zenoh.Config()
        config.insert_json5("mode", f'"{mode}"')
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

    def put(self, number: int, *, is_light: bool = False, size: int = 0) -> None:
        payload = str(number).encode().rjust(size)
        self.session.put("key", payload, is_light=is_light)

    def from_loop(self) -> list[int]:
        """The numbers of what left from the event loop."""
        own = threading.main_thread()
        return [n for n, by in zip(self.sent(), self.zenoh.senders, strict=True) if by is own]

    def sent(self) -> list[int]:
        return [int(payload) for _, _, payload in self.zenoh.puts]


@asynccontextmanager
async def running(mode: str = "peer") -> AsyncIterator[Bench]:
    with pytest.MonkeyPatch.context() as patches:
        made = Bench(patches, mode)
        await made.open(patches)
        yield made
        made.zenoh.open.set()
    await made.session.close(10)


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_lone_packet_leaves_at_once() -> None:
    """Without another turn of the event loop, and not in a batch."""
    async with running() as bench:
        bench.put(1)
        wait_until(lambda: bench.zenoh.puts == [("key", True, b"1")])


async def light_packets(bench: Bench, count: int = 0) -> int:
    """Sends light ones, far apart, until one leaves from the event loop; returns how many. The
    first one finds nothing declared, and to declare it may block."""
    while not bench.from_loop():
        bench.now += 1
        bench.put(count, is_light=True)
        count += 1
        wait_until(lambda made=count: len(bench.sent()) == made)  # type: ignore[misc]
    assert count > 1
    bench.now += 1
    return count


async def test_a_light_packet_leaves_from_the_event_loop() -> None:
    """No thread is woken for it."""
    async with running() as bench:
        count = await light_packets(bench)
        before = bench.wakes
        bench.zenoh.open.clear()  # what may block, would do so
        for number in range(count, count + 3):
            bench.put(number, is_light=True)
            assert bench.from_loop()[-1] == number
            bench.now += APART_S * 1.01
        assert bench.wakes == before
        assert bench.sent() == list(range(count + 3))


async def test_a_packet_leaves_from_the_thread_if_it_might_wait_or_costs_more_so() -> None:
    """Where it is not light, long, soon after another one, or in a burst."""
    async with running() as bench:
        count = await light_packets(bench)
        bench.put(count)
        bench.now += 1
        bench.put(count + 1, is_light=True, size=MOST_ALONE_BYTES + 1)
        bench.now += APART_S / 2
        bench.put(count + 2, is_light=True)
        for number in range(3, 10):
            bench.now += MOST_WAITING_S / 2
            bench.put(count + number, is_light=True)
        await turns(3)
        wait_until(lambda: bench.sent() == list(range(count + 10)))
        assert bench.from_loop() == [count - 1]


async def test_a_light_packet_passes_none_that_waits() -> None:
    """Zenoh has blocked the thread: what follows waits behind it, and the event loop does not."""
    async with running() as bench:
        count = await light_packets(bench)
        bench.zenoh.open.clear()
        bench.put(count)
        for number in range(count + 1, count + 4):
            bench.now += 1
            bench.put(number, is_light=True)
            await turns(2)
        assert bench.sent() == list(range(count))
        bench.zenoh.open.set()
        wait_until(lambda: bench.sent() == list(range(count + 4)))


async def test_a_router_may_wait_where_others_block_so_all_leaves_from_the_thread() -> None:
    async with running("router") as bench:
        for number in range(5):
            bench.now += 1
            bench.put(number, is_light=True)
            wait_until(lambda made=number: bench.sent() == list(range(made + 1)))
        assert not bench.from_loop()


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


async def test_packets_of_many_turns_wait_for_each_other_a_short_time() -> None:
    """They leave although the burst goes on."""
    async with running() as bench:
        for number in range(20):
            bench.put(number)
            bench.now += MOST_WAITING_S / 4
            await turns(1)
        wait_until(lambda: len(bench.sent()) >= 15)
        assert 4 <= bench.wakes <= 8
        await turns(3)
        wait_until(lambda: bench.sent() == list(range(20)))


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
