"""Calls in threads: results, errors, and late results."""

from __future__ import annotations

import asyncio
import threading

import pytest

from hilgw.transports.threads import run_in_thread
from tests.transports.rig import call_threads, turns, until


class Port:
    """Takes its time to open; remembers whether it was closed, and in which thread."""

    def __init__(self) -> None:
        self.may_open = threading.Event()
        self.closed_in: list[threading.Thread] = []

    def open(self) -> Port:
        self.may_open.wait(5)
        return self

    def close(self) -> None:
        self.closed_in.append(threading.current_thread())


async def test_a_result_and_an_error() -> None:
    port = Port()
    port.may_open.set()
    assert await run_in_thread(port.open, deadline_s=5, undo=Port.close) is port
    await until(lambda: not call_threads())
    assert not port.closed_in
    with pytest.raises(ZeroDivisionError):
        await run_in_thread(lambda: 1 // 0, deadline_s=5, undo=lambda result: None)


async def test_a_result_after_the_deadline_is_undone() -> None:
    port = Port()
    with pytest.raises(TimeoutError):
        await run_in_thread(port.open, deadline_s=0.01, undo=Port.close)
    port.may_open.set()
    await until(lambda: not call_threads())
    assert len(port.closed_in) == 1


async def test_a_result_that_was_there_when_the_waiter_was_cancelled_is_undone() -> None:
    port = Port()
    task = asyncio.create_task(run_in_thread(port.open, deadline_s=5, undo=Port.close))
    await turns()
    port.may_open.set()
    (thread,) = call_threads()
    thread.join(5)  # the loop does not run: the result waits in its queue
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    await until(lambda: not call_threads())
    assert len(port.closed_in) == 1
    assert port.closed_in[0] is not threading.main_thread()


def test_a_result_for_a_loop_that_is_closed_is_undone() -> None:
    port = Port()

    async def main() -> None:
        task = asyncio.create_task(run_in_thread(port.open, deadline_s=5, undo=Port.close))
        await turns()
        task.cancel()

    asyncio.run(main())
    port.may_open.set()
    for thread in call_threads():
        thread.join(5)
    assert len(port.closed_in) == 1
