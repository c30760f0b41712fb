"""The thread that sends, beside an event loop, without a network: when it is woken."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from hilgw.federation.session import MOST_AHEAD, MOST_LEAVING, MOST_WAITING_S, ZenohSession
from hilgw.testing.sim import wait_until

pytestmark = pytest.mark.wall_clock("a thread sends")


class Zenoh:
    """Keeps what is put: with the key, and whether it left at once. open: cleared, it blocks."""

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
    """wakes: how often the thread was woken; now: the time of the event loop."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.zenoh, self.wakes, self.now, self.yields = Zenoh(), 0, 0.0, 0
        self.session = session = ZenohSession(None)  # type: ignore[arg-type]
        session._session = self.zenoh  # type: ignore[assignment]
        monkeypatch.setattr(session._loop, "time", lambda: self.now)
        wake, wait = session._awake.put, session._all_left.wait

        class Awake:
            get = staticmethod(session._awake.get)

            def put(_, goes_on: bool) -> None:
                self.wakes += 1
                wake(goes_on)

        def yields(timeout: float) -> bool:
            self.yields += 1
            return wait(timeout)

        session._awake = Awake()  # type: ignore[assignment]
        monkeypatch.setattr(session._all_left, "wait", yields)
        session._thread.start()

    def put(self, number: int) -> None:
        self.session.put("key", str(number).encode())

    def sent(self) -> list[int]:
        return [int(payload) for _, _, payload in self.zenoh.puts]


@asynccontextmanager
async def running() -> AsyncIterator[Bench]:
    with pytest.MonkeyPatch.context() as patches:
        made = Bench(patches)
        yield made
        made.zenoh.open.set()
    await made.session.close(10)


async def test_a_lone_packet_leaves_at_once() -> None:
    """Without another turn of the event loop, and not in a batch."""
    async with running() as bench:
        bench.put(1)
        wait_until(lambda: bench.zenoh.puts == [("key", True, b"1")])


async def test_packets_of_many_turns_wake_the_thread_a_few_times_and_keep_their_order() -> None:
    """Else each one costs two switches between threads, and that is more than to send it."""
    async with running() as bench:
        for number in range(5 * MOST_AHEAD):
            bench.put(number)
            if number % 10 == 9:
                await asyncio.sleep(0)
        for _ in range(3):  # the burst is over
            await asyncio.sleep(0)
        assert bench.wakes <= 8
        wait_until(lambda: len(bench.zenoh.puts) == 5 * MOST_AHEAD)
        assert bench.sent() == list(range(5 * MOST_AHEAD))


async def test_packets_of_many_turns_wait_for_each_other_a_short_time() -> None:
    async with running() as bench:
        for number in range(20):
            bench.put(number)
            bench.now += MOST_WAITING_S / 4
            await asyncio.sleep(0)
        assert 4 <= bench.wakes <= 6
        wait_until(lambda: len(bench.sent()) >= 16)  # although the burst goes on
        assert bench.session._is_burst


async def test_what_blocks_the_thread_does_not_block_the_event_loop() -> None:
    """It gives way a few times until the queue is full."""
    async with running() as bench:
        bench.zenoh.open.clear()
        number = 0
        while not bench.session.is_full:
            bench.put(number)
            number += 1
        assert MOST_LEAVING <= number <= MOST_LEAVING + 1
        assert bench.yields <= 7
        bench.zenoh.open.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        wait_until(lambda: len(bench.zenoh.puts) == number)
        assert bench.sent() == list(range(number))
