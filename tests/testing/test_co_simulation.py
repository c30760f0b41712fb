"""The clock that a session, its mock and what else waits have in common."""

from typing import Any

import pytest

from hilgw.testing.co_simulation import CoSimulation, Side
from hilgw.testing.sim import StuckError
from hilgw.units import NS_PER_MS, NS_PER_S


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
