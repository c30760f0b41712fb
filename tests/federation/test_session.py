"""The thread that sends, beside an event loop, without a network: when it is woken."""

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
    MOST_AHEAD,
    MOST_LEAVING,
    MOST_WAITING_S,
    YIELD_S,
    ZenohSession,
)
from hilgw.testing.sim import wait_until

pytestmark = pytest.mark.wall_clock("a thread sends")


class Zenoh:
    """Keeps what is put: with the key, and whether nothing waited behind it, so that it left at
    once. open: cleared, it blocks."""

    def __init__(self) -> None:
        self.puts: list[tuple[str, bool, bytes]] = []
        self.open = threading.Event()
        self.open.set()

    def declare_publisher(self, key: str, *, express: bool, **_: Any) -> Any:
        zenoh = self

        class Publisher:
            def put(self, payload: bytes, attachment: bytes | None) -> None:
                zenoh.open.wait()
                zenoh.puts.append((key, express, payload))

        return Publisher()

    def close(self) -> None:
        """Nothing is open."""


class Bench:
    """now: the time of the event loop. wakes: how often the thread got something to do; yields: and
    the event loop gave way to it."""

    def __init__(self, patches: pytest.MonkeyPatch) -> None:
        self.zenoh, self.now, self.wakes, self.yields = Zenoh(), 0.0, 0, 0
        bench = self

        class Counted(SimpleQueue[Any]):
            def put(self, *given: Any) -> None:
                bench.wakes += 1
                super().put(*given)

        patches.setattr(session, "SimpleQueue", Counted)
        self.session = ZenohSession(zenoh.Config())

    async def open(self, patches: pytest.MonkeyPatch) -> None:
        patches.setattr(zenoh, "open", lambda config: self.zenoh)
        await self.session.open()
        patches.setattr(asyncio.get_running_loop(), "time", lambda: self.now)
        wait = threading.Event.wait

        def counted(event: threading.Event, timeout: float | None = None) -> bool:
            self.yields += timeout == YIELD_S
            return wait(event, timeout)

        patches.setattr(threading.Event, "wait", counted)

    def put(self, number: int) -> None:
        self.session.put("key", str(number).encode())

    def sent(self) -> list[int]:
        return [int(payload) for _, _, payload in self.zenoh.puts]


@asynccontextmanager
async def running() -> AsyncIterator[Bench]:
    with pytest.MonkeyPatch.context() as patches:
        made = Bench(patches)
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
