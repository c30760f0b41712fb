"""Simulated time, for tests and for a session with its mock: in order, never early, exact."""

import asyncio
from typing import Any

import pytest

from hilgw.testing import sim
from hilgw.testing.co_simulation import CoSimulation, Side
from hilgw.testing.sim import StuckError
from hilgw.units import NS_PER_MS, NS_PER_S


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


def test_time_that_is_not_simulated_does_not_elapse() -> None:
    with pytest.raises(AssertionError, match="not in simulated time"):
        asyncio.run(sim.elapse(0))


def test_an_error_without_owner_fails_the_run() -> None:
    async def scenario() -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        await asyncio.sleep(0)

    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        sim.run(scenario)


class Alarm:
    """A session that only waits for these times."""

    def __init__(self, times: list[int], rang: list[Any]) -> None:
        self.times = times
        self.rang = rang

    def next_deadline(self) -> int | None:
        return self.times[0] if self.times else None

    def expire(self, now: int) -> list[Any]:
        self.rang.append(now)
        self.times.pop(0)
        return []


def test_a_side_and_the_clock_act_in_the_order_of_their_times() -> None:
    world, rang = CoSimulation(now=0), list[Any]()
    world.sides.append(Side(world, Alarm([10, 30], rang)))
    for time in (20, 40):
        world.clock.call_at(time, lambda: rang.append(f"clock {world.now}"))
    assert not world.run(35 / NS_PER_S)
    assert rang == [10, "clock 20", 30] and world.now == 35
    assert world.run(1, lambda: len(rang) == 4) and world.now == 40


def test_a_deadline_that_does_not_advance_fails() -> None:
    world = CoSimulation()
    alarm = Alarm([NS_PER_MS] * 30_000, [])
    world.sides.append(Side(world, alarm))
    with pytest.raises(StuckError, match="deadlines at one instant"):
        world.run(1)
