"""The watchdog: when the event loop counts as late."""

from __future__ import annotations

import threading

import pytest

from hilgw.engine.control_loop.control_loops import ControlLoops
from hilgw.engine.control_loop.watchdog import Watchdog
from hilgw.engine.simulated.clock import SimulatedClock
from hilgw.testing.sim import Clock

MS = 1_000_000


class Watched:
    def __init__(self, late_ms: int) -> None:
        self.late_ns = late_ms * MS
        self.checks = self.late = self.emergencies = 0

    def in_time(self) -> None:
        self.checks += 1

    def was_late(self, now: int) -> None:
        self.late += 1

    def emergency(self) -> None:
        self.emergencies += 1


def test_an_event_loop_in_time_is_never_late() -> None:
    scheduler = Clock()
    watchdog, watched = Watchdog(scheduler), Watched(200)
    watchdog.watch(watched)
    watchdog.start()
    scheduler.run_until(scheduler.time + 10_000 * MS)
    watchdog.stop()
    assert watched.late == 0
    assert watched.checks == pytest.approx(200, abs=2)


def test_each_control_loop_has_its_own_late_limit() -> None:
    scheduler = Clock()
    watchdog, quick, patient = Watchdog(scheduler), Watched(100), Watched(500)
    watchdog.watch(quick)
    watchdog.watch(patient)
    scheduler.time += 300 * MS
    watchdog.check(scheduler.time)
    assert (quick.late, patient.late) == (1, 0)
    watchdog.check(scheduler.time)
    scheduler.time += 600 * MS
    watchdog.check(scheduler.time)
    assert (quick.late, patient.late) == (2, 1)


def test_in_simulated_time_no_thread_watches_the_jumps() -> None:
    clock = SimulatedClock()
    watchdog, watched = Watchdog(clock, threaded=False), Watched(200)
    watchdog.watch(watched)
    before = threading.active_count()
    watchdog.start()
    assert threading.active_count() == before
    while clock.step(clock.time + 3600 * 1000 * MS) and watched.checks < 1000:
        pass
    watchdog.stop()
    assert (watched.late, watched.emergencies, watched.checks) == (0, 0, 1000)


def test_a_gateway_in_simulated_time_has_such_a_watchdog() -> None:
    assert ControlLoops(SimulatedClock(), simulated=True).watchdog.threaded is False
    assert ControlLoops(Clock()).watchdog.threaded is True


def test_without_control_loops_the_watchdog_costs_nothing() -> None:
    scheduler = Clock()
    watchdog = Watchdog(scheduler)
    watchdog.start()
    assert scheduler.waiting == 0
    watchdog.stop()
