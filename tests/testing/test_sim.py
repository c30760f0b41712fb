"""The simulated time that tests run in: never early, in order, and exact about absence."""

import asyncio

import pytest

from hilgw.testing import sim
from hilgw.units import NS_PER_S


def test_a_callback_that_never_waits_is_an_error() -> None:
    clock = sim.Clock()

    def again() -> None:
        clock.call_at(clock.now(), again)

    again()
    with pytest.raises(sim.StuckError):
        clock.run(1)


def test_an_event_loop_jumps_to_its_deadlines_and_no_further() -> None:
    loop = sim.SimEventLoop(sim.Clock(0))
    seen: list[float] = []
    loop.call_later(3600, lambda: seen.append(loop.time()))
    loop.clock.call_at(NS_PER_S, lambda: seen.append(loop.time()))
    loop.until(lambda: seen)
    assert (seen, loop.clock.time) == ([1.0], NS_PER_S)
    loop.advance(3598)
    assert (len(seen), loop.clock.time) == (1, 3599 * NS_PER_S)
    loop.until(lambda: len(seen) == 2)
    assert seen[1] == pytest.approx(3600)
    with pytest.raises(AssertionError, match="not within 5 s: the answer"):
        loop.until(lambda: False, "the answer", 5)
    loop.close()


def test_an_error_without_owner_fails_the_run() -> None:
    async def scenario() -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        await asyncio.sleep(0)

    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        sim.run(scenario)
